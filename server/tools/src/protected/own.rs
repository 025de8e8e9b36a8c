//! Adjutant's own files: the folder of the settings, the state, and the files that the settings name (finding B5). Also
//! the user's home.
//!
//! They are identified by resolved names and by device and inode, so that no link, second name or second mount avoids
//! the check. Never reads their content.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::folded;
use crate::Stop;
use crate::paths::leads_to;
use crate::walk::{LINKS_TIME, walk_all};

/// The most files of one folder whose other names are found.
const MAX_LINKED: usize = 1_000;

/// Identifies a file or folder: its device and inode.
pub(crate) type FileId = (u64, u64);

/// Adjutant's own files and folders.
#[derive(Clone, Debug, Default)]
pub struct Own {
    names: Vec<Vec<String>>,
    folders: Vec<FileId>,
    files: Vec<FileId>,
    /// The folders of sessions, whose files may also have other names.
    sessions: Vec<PathBuf>,
    /// The files of sessions that have other names; none if there was not enough time for the search.
    /// Then every file with other names counts as Adjutant's own.
    linked: Arc<OnceLock<Option<HashSet<FileId>>>>,
    home: Option<PathBuf>,
}

impl Own {
    /// Returns the set for these files and folders, which need not exist.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut own = Self::default();
        for path in paths {
            let path = leads_to(&path);
            match path.metadata() {
                Ok(found) if found.is_dir() => {
                    own.folders.push(id_of(&found));
                    let entries = std::fs::read_dir(&path).into_iter().flatten().flatten().take(MAX_LINKED);
                    let linked =
                        entries.filter_map(|entry| entry.metadata().ok()).filter(|file| file.is_file());
                    own.files.extend(linked.map(|file| id_of(&file)));
                    own.sessions.push(leads_to(&path.join("sessions")));
                }
                Ok(found) => own.files.push(id_of(&found)),
                Err(_) => {}
            }
            own.names.push(folded(&path));
        }
        own
    }

    /// Sets the home of the user; a relative path is ignored.
    pub fn at_home(self, home: Option<PathBuf>) -> Self {
        Self { home: home.filter(|home| home.is_absolute()).map(|home| leads_to(&home)), ..self }
    }

    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether a resolved path is `bin` in the user's home, or is inside: programs there run by their name.
    pub(super) fn runs_by_name(&self, path: &Path) -> bool {
        self.home().is_some_and(|home| folded(path).starts_with(&folded(&home.join("bin"))))
    }

    /// Whether a resolved path is one of these files or folders, or is inside one.
    pub fn holds(&self, path: &Path) -> bool {
        let in_folder =
            |above: &Path| above.metadata().is_ok_and(|found| self.folders.contains(&id_of(&found)));
        self.has_name(path)
            || path.metadata().is_ok_and(|found| found.is_file() && self.files.contains(&id_of(&found)))
            || path.ancestors().any(in_folder)
    }

    /// Does the same, also for a file with other names anywhere. The first such file starts a search of all sessions.
    pub(crate) fn holds_by_any_name(&self, path: &Path) -> bool {
        self.holds(path) || path.metadata().is_ok_and(|found| self.is_file(&found))
    }

    /// Does the same by the name alone.
    pub(crate) fn has_name(&self, path: &Path) -> bool {
        let names = folded(path);
        self.names.iter().any(|own| names.starts_with(own))
    }

    /// Whether this is one of Adjutant's own folders, whatever its name is.
    pub(crate) fn is_folder(&self, found: &std::fs::Metadata) -> bool {
        self.folders.contains(&id_of(found))
    }

    /// Whether this is one of Adjutant's own files, whatever its name is.
    pub(crate) fn is_file(&self, found: &std::fs::Metadata) -> bool {
        let is_linked = || self.linked().is_none_or(|linked| linked.contains(&id_of(found)));
        self.files.contains(&id_of(found)) || found.is_file() && found.nlink() > 1 && is_linked()
    }

    fn linked(&self) -> Option<&HashSet<FileId>> {
        let search = || {
            let (stop, mut linked) = (Stop::after(LINKS_TIME), HashSet::new());
            for entry in self.sessions.iter().flat_map(|folder| walk_all(folder)).flatten() {
                if stop.reached() {
                    return None;
                }
                let found = entry.metadata().ok().filter(|found| found.is_file() && found.nlink() > 1);
                linked.extend(found.map(|found| id_of(&found)));
            }
            Some(linked)
        };
        self.linked.get_or_init(search).as_ref()
    }
}

pub(crate) fn id_of(found: &std::fs::Metadata) -> FileId {
    (found.dev(), found.ino())
}
