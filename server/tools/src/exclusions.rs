//! The files that listing, finding and searching leave out: those that a deny rule of the settings covers, and
//! Adjutant's own files.
//!
//! Never decides by itself: core evaluates the rules. A file with several names (hard links) is left out if a rule
//! covers any of them.

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

/// The files that a walk leaves out.
pub struct Exclusions {
    own: Own,
    denials: Denials,
    folders: Vec<PathBuf>,
    /// The same folders as text, for the rules.
    folder_names: Vec<String>,
    /// Whether the walk begins in Adjutant's own files; then the user was already asked about them.
    own_allowed: bool,
    /// Files with several names, one of which a rule denies.
    linked: OnceLock<DeniedLinks>,
}

/// Files with several names, each with a name that a rule denies.
#[derive(Default)]
struct DeniedLinks {
    names: HashMap<FileId, String>,
    /// Whether the time was over before every folder was searched. Then every file with several names is left out.
    partly: bool,
}

/// How many names were left out, by reason.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeftOut {
    pub denied: usize,
    pub own: usize,
}

impl LeftOut {
    /// Returns notes for the model; `done` is the verb, such as `listed`. Empty if nothing was left out.
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

    /// Counts a name that is left out.
    pub(super) fn count(&mut self, why: Why) {
        match why {
            Why::Rule => self.denied += 1,
            Why::Own => self.own += 1,
        }
    }
}

/// Why a name is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Rule,
    Own,
}

impl Exclusions {
    /// Returns what a walk through these folders leaves out.
    pub fn new(roots: &Roots, denials: Denials, own: Own) -> Self {
        let folders: Vec<PathBuf> = roots.paths().map(Path::to_owned).collect();
        let folder_names = folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        Self { own, denials, folders, folder_names, own_allowed: false, linked: OnceLock::new() }
    }

    /// Returns the same for a walk that begins at an allowed path: the user was asked about it if necessary.
    pub fn beginning_at(mut self, at: Option<&ResolvedPath>) -> Self {
        self.own_allowed = at.is_some_and(|at| self.own.holds(&at.absolute));
        self
    }

    /// Returns the set of Adjutant's own files.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// Returns why a walk leaves a name out; none if it does not.
    pub(super) fn of_name(&self, path: &Path) -> Option<Why> {
        if !self.own_allowed && self.own.has_name(path) {
            return Some(Why::Own);
        }
        let denied = self.denials.keep_files() && self.is_denied(path);
        denied.then_some(Why::Rule)
    }

    /// Returns a filter for the folders that a walk enters. It refuses Adjutant's own folders under any name.
    pub(super) fn folders(&self) -> impl Fn(&DirEntry) -> bool + Send + Sync + 'static {
        let own = (!self.own_allowed).then(|| self.own.clone());
        move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_own = |own: &Own| entry.metadata().is_ok_and(|metadata| own.is_folder(&metadata));
            !(is_folder && own.as_ref().is_some_and(is_own))
        }
    }

    /// Returns why an opened file is left out because of another of its names; none if it is not.
    pub(super) fn of_file(&self, metadata: &Metadata) -> Option<Why> {
        if metadata.nlink() < 2 {
            return None;
        }
        if !self.own_allowed && self.own.is_file(metadata) {
            return Some(Why::Own);
        }
        let linked = self.denials.keep_files().then(|| self.linked())?;
        (linked.partly || linked.names.contains_key(&id_of(metadata))).then_some(Why::Rule)
    }

    /// Returns the other names of a file that a rule denies; none if there was no time to look for all of them.
    pub fn other_names(&self, at: &ResolvedPath) -> Option<Vec<String>> {
        let Ok(metadata) = at.absolute.metadata() else { return Some(Vec::new()) };
        if !at.has_other_names() || !self.denials.keep_files() {
            return Some(Vec::new());
        }
        let linked = self.linked();
        let known: Vec<String> = linked.names.get(&id_of(&metadata)).cloned().into_iter().collect();
        (!known.is_empty() || !linked.partly).then_some(known)
    }

    fn is_denied(&self, path: &Path) -> bool {
        self.denials.denial_of_file("read_file", &path.to_string_lossy(), &self.folder_names).is_some()
    }

    /// Returns the folders that may have denied files: the workspace, and the folders that rules name as a whole.
    fn folders_with_denials(&self) -> Vec<PathBuf> {
        let named = self.denials.folders_named_whole().map(PathBuf::from).filter(|folder| folder.is_dir());
        self.folders.iter().cloned().chain(named).collect()
    }

    /// Returns the denied files with several names. Searches the folders once, ignored files included.
    fn linked(&self) -> &DeniedLinks {
        self.linked.get_or_init(|| {
            let (stop, mut linked) = (Stop::after(LINKS_TIME), DeniedLinks::default());
            for entry in self.folders_with_denials().iter().flat_map(|folder| walk_all(folder)).flatten() {
                if stop.reached() {
                    linked.partly = true;
                    break;
                }
                if !entry.file_type().is_some_and(|kind| kind.is_file()) || !self.is_denied(entry.path()) {
                    continue;
                }
                if let Ok(metadata) = entry.metadata()
                    && metadata.nlink() > 1
                {
                    linked.names.insert(id_of(&metadata), entry.path().to_string_lossy().into_owned());
                }
            }
            linked
        })
    }
}
