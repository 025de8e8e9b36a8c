//! What is Adjutant's own: the folder of the settings, the state, and the files that the settings name (B5); and
//! whose home it is.
//!
//! Known by resolved names, and by what the disk says they are: neither a link, a second name nor a second
//! mount of a folder leads around it. Never reads what is in them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::folded;

/// The most files of one folder whose second names are looked for.
const MAX_LINKED: usize = 1_000;

/// Which file or folder of a file system something is.
pub(in crate::tools) type FileId = (u64, u64);

/// Files and folders of Adjutant's own.
#[derive(Clone, Debug, Default)]
pub struct Own {
    names: Vec<Vec<String>>,
    folders: Vec<FileId>,
    files: Vec<FileId>,
    home: Option<PathBuf>,
}

impl Own {
    /// Of files and folders, which need not exist.
    pub fn of(places: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut own = Self::default();
        for place in places {
            let place = resolved(&place);
            match place.metadata() {
                Ok(found) if found.is_dir() => {
                    own.folders.push(id_of(&found));
                    let entries = std::fs::read_dir(&place).into_iter().flatten().flatten().take(MAX_LINKED);
                    let linked =
                        entries.filter_map(|entry| entry.metadata().ok()).filter(|file| file.is_file());
                    own.files.extend(linked.map(|file| id_of(&file)));
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
        Self { home: home.filter(|home| home.is_absolute()).map(|home| resolved(&home)), ..self }
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

    /// The same by its name alone.
    pub(in crate::tools) fn has_name(&self, path: &Path) -> bool {
        let names = folded(path);
        self.names.iter().any(|own| names.starts_with(own))
    }

    /// Whether this is a folder of Adjutant's own, whatever it is called here.
    pub(in crate::tools) fn is_folder(&self, found: &std::fs::Metadata) -> bool {
        self.folders.contains(&id_of(found))
    }

    /// Whether this is a file of Adjutant's own, whatever it is called here.
    pub(in crate::tools) fn is_file(&self, found: &std::fs::Metadata) -> bool {
        self.files.contains(&id_of(found))
    }
}

pub(in crate::tools) fn id_of(found: &std::fs::Metadata) -> FileId {
    (found.dev(), found.ino())
}

/// They may lie behind links and may not exist yet.
fn resolved(place: &Path) -> PathBuf {
    for ancestor in place.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), place.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    place.to_owned()
}
