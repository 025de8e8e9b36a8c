//! What is Adjutant's own: the folder of the settings, the state, and the files that the settings name (finding B5); and
//! whose home it is.
//!
//! Known by resolved names, and by what the disk says they are: neither a link, a second name nor a second
//! mount of a folder leads around it. Never reads what is in them.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::folded;
use crate::Stop;
use crate::paths::leads_to;
use crate::walk::{LINKS_TIME, walk_all};

/// The most files of one folder whose second names are looked for.
const MAX_LINKED: usize = 1_000;

/// Which file or folder of a file system something is.
pub(crate) type FileId = (u64, u64);

/// Files and folders of Adjutant's own.
#[derive(Clone, Debug, Default)]
pub struct Own {
    names: Vec<Vec<String>>,
    folders: Vec<FileId>,
    files: Vec<FileId>,
    /// Where sessions lie, whose files may have second names as well ..
    sessions: Vec<PathBuf>,
    /// .. and those that have; none where there was no time to look at all.
    linked: Arc<OnceLock<Option<HashSet<FileId>>>>,
    home: Option<PathBuf>,
}

impl Own {
    /// Of files and folders, which need not exist.
    pub fn of(places: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut own = Self::default();
        for place in places {
            let place = leads_to(&place);
            match place.metadata() {
                Ok(found) if found.is_dir() => {
                    own.folders.push(id_of(&found));
                    let entries = std::fs::read_dir(&place).into_iter().flatten().flatten().take(MAX_LINKED);
                    let linked =
                        entries.filter_map(|entry| entry.metadata().ok()).filter(|file| file.is_file());
                    own.files.extend(linked.map(|file| id_of(&file)));
                    own.sessions.push(leads_to(&place.join("sessions")));
                }
                Ok(found) => own.files.push(id_of(&found)),
                Err(_) => {}
            }
            own.names.push(folded(&place));
        }
        own
    }

    /// The same for a user who has this home.
    pub fn at_home(self, home: Option<PathBuf>) -> Self {
        Self { home: home.filter(|home| home.is_absolute()).map(|home| leads_to(&home)), ..self }
    }

    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether a resolved path is in the folder of the user's own programs, or is that folder.
    pub(super) fn runs_by_name(&self, path: &Path) -> bool {
        self.home().is_some_and(|home| folded(path).starts_with(&folded(&home.join("bin"))))
    }

    /// Whether a resolved path is one of them or lies in one.
    pub fn holds(&self, path: &Path) -> bool {
        let in_folder =
            |above: &Path| above.metadata().is_ok_and(|found| self.folders.contains(&id_of(&found)));
        self.has_name(path)
            || path.metadata().is_ok_and(|found| found.is_file() && self.files.contains(&id_of(&found)))
            || path.ancestors().any(in_folder)
    }

    /// The same for a file that may have other names anywhere. The first one that has takes a walk through all
    /// sessions.
    pub(crate) fn holds_by_any_name(&self, path: &Path) -> bool {
        self.holds(path) || path.metadata().is_ok_and(|found| self.is_file(&found))
    }

    /// The same by its name alone.
    pub(crate) fn has_name(&self, path: &Path) -> bool {
        let names = folded(path);
        self.names.iter().any(|own| names.starts_with(own))
    }

    /// Whether this is a folder of Adjutant's own, whatever it is called here.
    pub(crate) fn is_folder(&self, found: &std::fs::Metadata) -> bool {
        self.folders.contains(&id_of(found))
    }

    /// Whether this is a file of Adjutant's own, whatever it is called here.
    pub(crate) fn is_file(&self, found: &std::fs::Metadata) -> bool {
        let is_linked = || self.linked().is_none_or(|linked| linked.contains(&id_of(found)));
        self.files.contains(&id_of(found)) || found.is_file() && found.nlink() > 1 && is_linked()
    }

    fn linked(&self) -> Option<&HashSet<FileId>> {
        let look = || {
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
        self.linked.get_or_init(look).as_ref()
    }
}

pub(crate) fn id_of(found: &std::fs::Metadata) -> FileId {
    (found.dev(), found.ino())
}
