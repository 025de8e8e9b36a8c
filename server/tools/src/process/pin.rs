//! The shell and the directory of a command: fixed when it is approved, checked when it starts (A1, A3).
//!
//! Never looks for a program in the caller's search path.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::paths::{PathType, ResolvedPath};

/// The shell that runs commands, identified by more than its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedShell {
    /// The resolved path.
    pub path: PathBuf,
    /// Whether it is bash and accepts bash's arguments.
    pub bash: bool,
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// The time of the last change, in seconds and nanoseconds.
    pub modified: (i64, i64),
}

/// Pins bash, or the system's shell if there is no bash.
pub fn pin_shell() -> io::Result<PinnedShell> {
    match Path::new("/bin/bash").canonicalize() {
        Ok(path) => pin(&path, true),
        Err(_) => pin(&Path::new("/bin/sh").canonicalize()?, false),
    }
}

fn pin(path: &Path, bash: bool) -> io::Result<PinnedShell> {
    let found = path.symlink_metadata()?;
    if !found.is_file() {
        return Err(io::Error::other(format!("\"{}\" is not a program", path.display())));
    }
    Ok(PinnedShell {
        path: path.to_owned(),
        bash,
        device: found.dev(),
        inode: found.ino(),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
    })
}

impl PinnedShell {
    /// Checks that the shell is still the one that was pinned.
    pub fn verify(&self) -> Result<(), String> {
        match pin(&self.path, self.bash) {
            Ok(now) if now == *self => Ok(()),
            Ok(_) => Err(format!(
                "run the shell \"{}\": it was changed since the command was approved",
                self.path.display()
            )),
            Err(error) => Err(format!("run the shell \"{}\": {error}", self.path.display())),
        }
    }

    /// Returns the arguments between the program and the command line. They disable start-up files, and a command
    /// line that begins with `-` is not an option.
    pub fn arguments(&self) -> &'static [&'static str] {
        if self.bash { &["--norc", "--noprofile", "-c", "--"] } else { &["-c", "--"] }
    }
}

/// The directory in which a command runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedDirectory {
    pub path: PathBuf,
    pub device: u64,
    pub inode: u64,
}

/// Pins a resolved directory.
pub fn pin_directory(at: &ResolvedPath) -> Result<PinnedDirectory, String> {
    match at.kind {
        Some(PathType::Directory) => {}
        Some(_) => return Err(format!("run in \"{}\": it is not a directory", at.display)),
        None => return Err(format!("run in \"{}\": it does not exist", at.display)),
    }
    let found = at.absolute.symlink_metadata();
    let found = found.map_err(|error| format!("run in \"{}\": {error}", at.display))?;
    Ok(PinnedDirectory { path: at.absolute.clone(), device: found.dev(), inode: found.ino() })
}

impl PinnedDirectory {
    /// Opens the directory if it is still the pinned one. An open directory cannot be exchanged.
    pub(super) fn open(&self) -> Result<OwnedFd, String> {
        let failed = |why: String| format!("run in \"{}\": {why}", self.path.display());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&self.path, flags, Mode::empty());
        let directory = directory.map_err(|error| failed(std::io::Error::from(error).to_string()))?;
        let found = rustix::fs::fstat(&directory).map_err(|error| failed(error.to_string()))?;
        if (found.st_dev, found.st_ino) != (self.device, self.inode) {
            return Err(failed("it was exchanged since the command was approved".into()));
        }
        Ok(directory)
    }
}
