//! The fresh folder of one attempt, outside of every project.
//!
//! Never removes a folder that `adjutant eval` did not make.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// How the names of such folders begin.
const PREFIX: &str = "adjutant-eval-";

/// A folder with the workspace of an attempt and room beside it. A drop removes it.
pub struct AttemptFolder {
    folder: PathBuf,
    /// A file of the output folder that names it while it exists, so that the next start finds what a killed one left.
    note: PathBuf,
}

impl AttemptFolder {
    /// Makes the folder, and notes its path in `notes` under this name.
    pub fn make(notes: &Path, name: &str) -> anyhow::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("draw a random name: {error}"))?;
        let folder = std::env::temp_dir().join(format!("{PREFIX}{:016x}", u64::from_le_bytes(random)));
        let context = || format!("make the folder \"{}\"", folder.display());
        let note = notes.join(name);
        fs::create_dir_all(notes).with_context(context)?;
        // Before the folder exists, so that no kill leaves one without its note.
        fs::write(&note, folder.to_string_lossy().as_bytes()).with_context(context)?;
        DirBuilder::new().mode(0o700).create(&folder).with_context(context)?;
        let folder = folder.canonicalize().with_context(context)?;
        Ok(AttemptFolder { folder, note })
    }

    /// Makes a folder in it.
    pub fn make_inner(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(name);
        fs::create_dir(&path).with_context(|| format!("make the folder \"{}\"", path.display()))?;
        Ok(path)
    }
}

impl Drop for AttemptFolder {
    fn drop(&mut self) {
        // If it cannot be removed, it is in the system's folder for temporary files, and its note stays.
        if fs::remove_dir_all(&self.folder).is_ok() {
            let _ = fs::remove_file(&self.note);
        }
    }
}

/// Removes the folders that the attempts of a killed process left.
pub fn remove_left_folders(notes: &Path) {
    for entry in fs::read_dir(notes).into_iter().flatten().flatten() {
        let folder = fs::read_to_string(entry.path()).map(PathBuf::from).unwrap_or_default();
        if is_attempt_folder(&folder) && fs::remove_dir_all(&folder).is_err() {
            continue;
        }
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether a path from a note is a folder of this user that has the name of one.
fn is_attempt_folder(folder: &Path) -> bool {
    let named = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let owned = folder
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw());
    folder.is_absolute() && named && owned
}
