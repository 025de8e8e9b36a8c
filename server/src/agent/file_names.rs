//! The names of the workspace's files for completions: gathered in the background, and again when they may be old.
//!
//! Never waits longer than a moment for the walk: the first answers come from the names that it has found so far.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use adjutant_core::config::Settings;

use crate::session::World;
use crate::tools::Stop;
use crate::tools::exclusions::Exclusions;
use crate::tools::names::{FileNames, RankedName, gather, name_of};
use crate::tools::paths::Roots;

/// How long an answer waits for the first walk, which is over by then in a small workspace.
const MOMENT: Duration = Duration::from_millis(10);
/// The longest walk.
const LONGEST_WALK: Duration = Duration::from_secs(60);
/// Names are gathered again after this time at the earliest, and after this many times what the walk took.
const FRESH: Duration = Duration::from_secs(3);
const TIMES_WALK: u32 = 20;
/// The last used files that come first.
const MAX_RECENT: usize = 20;

/// The names of the present workspace folders.
#[derive(Default)]
pub struct NameIndex {
    state: Mutex<IndexState>,
    /// Wakes those who wait for the first walk.
    walked: Condvar,
}

#[derive(Default)]
struct IndexState {
    /// What the names are of; other folders or settings begin anew, because a rule may deny some.
    of: Option<IndexKey>,
    names: Arc<RwLock<FileNames>>,
    /// When the last walk began, how long it took, and how many reports of changed files there were before it.
    last: Option<(Instant, Duration, u64)>,
    is_walking: bool,
}

#[derive(Clone)]
struct IndexKey {
    folders: Vec<PathBuf>,
    settings: Arc<Settings>,
}

impl IndexKey {
    fn is_same(&self, other: &Self) -> bool {
        self.folders == other.folders && Arc::ptr_eq(&self.settings, &other.settings)
    }
}

/// The names that fit, and whether some may be missing.
pub struct FoundNames {
    pub names: Vec<RankedName>,
    pub is_partial: bool,
}

impl NameIndex {
    fn lock(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the names that fit what was typed, the best first. Blocks for a moment at most.
    pub fn ranked(
        self: &Arc<Self>,
        world: &Arc<World>,
        folders: Vec<PathBuf>,
        typed: &str,
        most: usize,
    ) -> FoundNames {
        let (roots, _) = Roots::open(&folders);
        let names = self.names(world, folders, &roots);
        let recent = recent(world, &roots);
        let is_partial = {
            let state = self.lock();
            state.last.is_none() && state.is_walking
        };
        let names = names.read().unwrap_or_else(PoisonError::into_inner);
        FoundNames { names: names.ranked(typed, &recent, most), is_partial }
    }

    /// Returns the names, and begins a walk if they may be old.
    fn names(
        self: &Arc<Self>,
        world: &Arc<World>,
        folders: Vec<PathBuf>,
        roots: &Roots,
    ) -> Arc<RwLock<FileNames>> {
        let key = IndexKey { folders, settings: world.settings() };
        let reports = *world.file_reports.borrow();
        let mut state = self.lock();
        if !state.of.as_ref().is_some_and(|of| of.is_same(&key)) {
            *state = IndexState { of: Some(key.clone()), ..IndexState::default() };
        }
        let is_old = state.last.is_none_or(|(began, took, seen)| {
            seen != reports || began.elapsed() > FRESH.max(took.saturating_mul(TIMES_WALK))
        });
        if is_old && !state.is_walking && !roots.is_empty() {
            state.is_walking = true;
            // The first walk fills the names that are read meanwhile; a later one makes new ones.
            let target = if state.last.is_none() { state.names.clone() } else { Arc::default() };
            let (index, world, roots) = (self.clone(), world.clone(), roots.clone());
            let walk = move || index.walk(&world, &roots, &key, &target, reports);
            if std::thread::Builder::new().name("names".to_owned()).spawn(walk).is_err() {
                state.is_walking = false;
            }
        }
        let is_first = |state: &mut IndexState| state.last.is_none() && state.is_walking;
        let waited = self.walked.wait_timeout_while(state, MOMENT, is_first);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.names.clone()
    }

    fn walk(
        &self,
        world: &World,
        roots: &Roots,
        key: &IndexKey,
        target: &Arc<RwLock<FileNames>>,
        reports: u64,
    ) {
        let began = Instant::now();
        let exclusions = Exclusions::new(roots, key.settings.deny.clone(), world.own(roots));
        gather(roots, &exclusions, &Stop::after(LONGEST_WALK), target);
        let mut state = self.lock();
        // Otherwise the folders or the settings have changed meanwhile.
        if state.of.as_ref().is_some_and(|of| of.is_same(key)) {
            state.names = target.clone();
            state.last = Some((began, began.elapsed(), reports));
            state.is_walking = false;
        }
        drop(state);
        self.walked.notify_all();
    }
}

/// Returns the files that were opened or mentioned last, the newest first, as the names have them.
fn recent(world: &World, roots: &Roots) -> Vec<String> {
    let used = world.documents.used_last(MAX_RECENT);
    let named = |path: &PathBuf| {
        let resolved = path.canonicalize();
        name_of(roots, resolved.as_deref().unwrap_or(path as &Path))
    };
    used.iter().filter_map(named).collect()
}
