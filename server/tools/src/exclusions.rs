//! What listing, finding and searching leave out: what a rule of the settings keeps from being read, and
//! Adjutant's own files.
//!
//! Decides nothing itself: the rules are core's. A file with a second name is known by every one of them.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use adjutant_core::config::Denials;
use ignore::DirEntry;

use super::paths::{ResolvedPath, Roots};
use super::protected::{FileId, Own, id_of};
use super::walk::{LINKS_TIME, walk_all};
use super::{Stop, counted};

/// Files that are left out of a walk.
pub struct Exclusions {
    own: Own,
    denials: Denials,
    folders: Vec<PathBuf>,
    /// As text, for the rules.
    shown: Vec<String>,
    /// The user was asked about Adjutant's own files, because the walk begins in them.
    own_allowed: bool,
    /// Files with several names, one of which a rule keeps from being read.
    linked: OnceLock<LinkedFolder>,
}

#[derive(Default)]
struct LinkedFolder {
    kept: HashMap<FileId, String>,
    /// Not everything was looked at in time.
    partly: bool,
}

/// How many were left out, and why.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeftOut {
    pub denied: usize,
    pub own: usize,
}

impl LeftOut {
    /// Sentences for the model; none where nothing was left out.
    pub(super) fn notes(self, done: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if self.denied > 0 {
            let what = counted(self.denied, "name");
            notes.push(format!("[not {done}: {what} that a deny rule of the user's settings keeps]"));
        }
        if self.own > 0 {
            notes.push(format!("[not {done}: {} of Adjutant's own]", counted(self.own, "name")));
        }
        notes
    }

    /// Counts one that is left out.
    pub(super) fn count(&mut self, why: Why) {
        match why {
            Why::Rule => self.denied += 1,
            Why::Own => self.own += 1,
        }
    }
}

/// Why something is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Rule,
    Own,
}

impl Exclusions {
    /// What a walk through these folders leaves out.
    pub fn new(roots: &Roots, denials: Denials, own: Own) -> Self {
        let folders: Vec<PathBuf> = roots.paths().map(Path::to_owned).collect();
        let shown = folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        Self { own, denials, folders, shown, own_allowed: false, linked: OnceLock::new() }
    }

    /// The same for a walk that begins at a place about which the user was asked if need be.
    pub fn beginning_at(mut self, at: Option<&ResolvedPath>) -> Self {
        self.own_allowed = at.is_some_and(|at| self.own.holds(&at.absolute));
        self
    }

    /// Returns what is Adjutant's own.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// Returns why a name of a walk is left out.
    pub(super) fn of_name(&self, path: &Path) -> Option<Why> {
        if !self.own_allowed && self.own.has_name(path) {
            return Some(Why::Own);
        }
        let kept = self.denials.keep_files() && self.rule_for(path);
        kept.then_some(Why::Rule)
    }

    /// Returns which folders a walk enters: not those of Adjutant's own, whatever they are called there.
    pub(super) fn folders(&self) -> impl Fn(&DirEntry) -> bool + Send + Sync + 'static {
        let own = (!self.own_allowed).then(|| self.own.clone());
        move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_own = |own: &Own| entry.metadata().is_ok_and(|found| own.is_folder(&found));
            !(is_folder && own.as_ref().is_some_and(is_own))
        }
    }

    /// Returns why an opened file is left out: by another of its names.
    pub(super) fn of_file(&self, found: &Metadata) -> Option<Why> {
        if found.nlink() < 2 {
            return None;
        }
        if !self.own_allowed && self.own.is_file(found) {
            return Some(Why::Own);
        }
        let linked = self.denials.keep_files().then(|| self.linked())?;
        (linked.partly || linked.kept.contains_key(&id_of(found))).then_some(Why::Rule)
    }

    /// Returns the other names of a file that rules have to be asked about; none where there was no time to look
    /// for them all.
    pub fn other_names(&self, at: &ResolvedPath) -> Option<Vec<String>> {
        let Ok(found) = at.absolute.metadata() else { return Some(Vec::new()) };
        if !at.has_other_names() || !self.denials.keep_files() {
            return Some(Vec::new());
        }
        let linked = self.linked();
        let known: Vec<String> = linked.kept.get(&id_of(&found)).cloned().into_iter().collect();
        (!known.is_empty() || !linked.partly).then_some(known)
    }

    fn rule_for(&self, path: &Path) -> bool {
        self.denials.denial_of_file("read_file", &path.to_string_lossy(), &self.shown).is_some()
    }

    /// Where files may lie that a rule keeps: the workspace, and the folders that rules name as a whole.
    fn walked(&self) -> Vec<PathBuf> {
        let named = self.denials.folders_named_whole().map(PathBuf::from).filter(|folder| folder.is_dir());
        self.folders.iter().cloned().chain(named).collect()
    }

    /// Looks through those once, ignored files too.
    fn linked(&self) -> &LinkedFolder {
        self.linked.get_or_init(|| {
            let (stop, mut linked) = (Stop::after(LINKS_TIME), LinkedFolder::default());
            for entry in self.walked().iter().flat_map(|folder| walk_all(folder)).flatten() {
                if stop.reached() {
                    linked.partly = true;
                    break;
                }
                if !entry.file_type().is_some_and(|kind| kind.is_file()) || !self.rule_for(entry.path()) {
                    continue;
                }
                if let Ok(found) = entry.metadata()
                    && found.nlink() > 1
                {
                    linked.kept.insert(id_of(&found), entry.path().to_string_lossy().into_owned());
                }
            }
            linked
        })
    }
}
