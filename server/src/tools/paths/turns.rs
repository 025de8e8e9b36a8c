//! Turns at writing one file, between all servers of a user, and what a server that was killed in its
//! turn left beside the file.
//!
//! Never puts a lock into the workspace, and never removes a file while somebody holds its turn.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// How often a turn is tried, and the pause between: a write takes milliseconds.
const TRIES: u32 = 250;
const PAUSE: Duration = Duration::from_millis(20);
/// The longest path a turn says of what it leaves.
const MOST_PATH: u64 = 8 * 1024;

/// The folder of turns; without one nobody is waited for.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    folder: Option<PathBuf>,
}

/// Somebody has the turn and does not end it.
#[derive(Debug)]
pub struct Busy;

/// The turn at one file, up to its drop.
#[derive(Debug)]
pub struct Turn {
    held: Option<(File, PathBuf)>,
}

impl Turns {
    /// Turns are taken in a folder of the state directory.
    pub fn in_state(state: &Path) -> Self {
        Self { folder: Some(state.join("writing")) }
    }

    /// Waits for the turn at a file. Where no lock can be made, as on a full disk, there is none.
    pub fn take(&self, target: &Path) -> Result<Turn, Busy> {
        let free = Turn { held: None };
        let Some(folder) = &self.folder else { return Ok(free) };
        let path = folder.join(name_of(target));
        for _ in 0..TRIES {
            let file = match open(&path).or_else(|_| made(folder).and_then(|()| open(&path))) {
                Ok(file) => file,
                Err(error) => {
                    tracing::warn!(%error, "a file is written without a lock");
                    return Ok(free);
                }
            };
            match lock(&file) {
                Ok(()) if is_at(&file, &path) => return Ok(Turn { held: Some((file, path)) }),
                // Its holder has removed it meanwhile.
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
                Err(_) => return Ok(free),
            }
        }
        Err(Busy)
    }

    /// Removes what servers that are no more left beside files they wrote.
    pub fn sweep(&self) {
        let Some(entries) = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok()) else {
            return;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let Ok(file) = open(&path) else { continue };
            if lock(&file).is_err() || !is_at(&file, &path) {
                continue;
            }
            let mut left = Vec::new();
            let read = (&file).take(MOST_PATH).read_to_end(&mut left);
            if read.is_ok() && !left.is_empty() {
                remove_left(&PathBuf::from(std::ffi::OsString::from_vec(left)));
            }
            drop(Turn { held: Some((file, path)) });
        }
    }
}

impl Turn {
    /// Notes which file the next server has to remove if this one is killed now.
    pub(super) fn leaves(&self, beside: &Path) {
        let Some((file, _)) = &self.held else { return };
        let mut writer: &File = file;
        if let Err(error) = writer.write_all(beside.as_os_str().as_bytes()) {
            tracing::warn!(%error, "what a write would leave behind is not noted");
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.held {
            // While it is still locked, so that nobody else has taken it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn name_of(target: &Path) -> String {
    let sum = Sha256::digest(target.as_os_str().as_bytes());
    sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn made(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path)
}

fn lock(file: &File) -> Result<(), Errno> {
    rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive)
}

fn is_at(file: &File, path: &Path) -> bool {
    let key = |about: std::fs::Metadata| (about.dev(), about.ino());
    let there = std::fs::symlink_metadata(path).map(key);
    matches!((file.metadata().map(key), there), (Ok(held), Ok(there)) if held == there)
}

/// Removes a file that has such a name as only this program gives.
fn remove_left(path: &Path) {
    let random = |name: &OsStr| {
        let rest = name.to_str()?.strip_prefix(".adjutant-")?.strip_suffix(".tmp")?;
        (rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(())
    };
    let is_ours = path.file_name().and_then(random).is_some();
    let plain = std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    if is_ours && plain && std::fs::remove_file(path).is_ok() {
        tracing::info!(path = %path.display(), "removed what a killed server left");
    }
}
