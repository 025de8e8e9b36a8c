//! A process without the rights of root: what holds for root alone proves nothing.
//!
//! Never changes anything but the owner of a test's own directory.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user whom tests become: no file of the machine belongs to it.
pub const NOBODY: u32 = 65_534;
/// A third user, neither root nor the one who runs the server.
pub const STRANGER: u32 = 65_533;

/// Returns whether the tests run as root, so that there are rights to give up.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Returns who an unprivileged process is: nobody where the tests are root, else the user who runs them.
pub fn unprivileged_id() -> u32 {
    if is_root() { NOBODY } else { fs::metadata("/proc/self").map_or(NOBODY, |own| own.uid()) }
}

/// Lets a command run without the rights of root, as `setpriv --reuid --regid --clear-groups` does.
pub fn as_nobody(command: &mut Command) {
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
}

/// The words that start a program without the rights of root, for a shell line that mounts something first.
pub const SETPRIV: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";

/// Gives a file, or a directory with all that is in it, to a user; links are not followed.
pub fn give(path: &Path, user: u32) {
    if !is_root() {
        return;
    }
    lchown(path, Some(user), Some(user)).unwrap_or_else(|error| panic!("give {path:?} away: {error}"));
    let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let entries = is_directory.then(|| fs::read_dir(path).ok()).flatten();
    entries.into_iter().flatten().flatten().for_each(|entry| give(&entry.path(), user));
}
