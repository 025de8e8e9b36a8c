//! What a command runs with and in, fixed when it is approved, checked when it starts (A1, A3).
//!
//! Never looks a program up by the caller's search path.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::paths::{PathType, ResolvedPath};

/// The shell that commands run in, known by more than its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedShell {
    /// Resolved.
    pub path: PathBuf,
    /// Whether it is bash, and takes bash's arguments.
    pub bash: bool,
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, i64),
}

/// Pins bash, or the system's shell where there is none.
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

    /// Returns what stands between the program and the command line: no start-up
    /// files, and no reading of the command as an option.
    pub fn arguments(&self) -> &'static [&'static str] {
        match self.bash {
            true => &["--norc", "--noprofile", "-c", "--"],
            false => &["-c", "--"],
        }
    }
}

/// The directory a command runs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedDirectory {
    pub path: PathBuf,
    pub device: u64,
    pub inode: u64,
}

/// Pins a grounded directory.
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
    /// Opens the directory if it is still the one that was pinned; then it cannot be exchanged any more.
    pub(super) fn hold(&self) -> Result<OwnedFd, String> {
        let failed = |why: String| format!("run in \"{}\": {why}", self.path.display());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::open(&self.path, flags, Mode::empty());
        let held = held.map_err(|error| failed(std::io::Error::from(error).to_string()))?;
        let found = rustix::fs::fstat(&held).map_err(|error| failed(error.to_string()))?;
        if (found.st_dev, found.st_ino) != (self.device, self.inode) {
            return Err(failed("it was exchanged since the command was approved".into()));
        }
        Ok(held)
    }
}
