//! Processes without the rights of root: a test that only root can pass proves nothing.
//!
//! Never changes more than the owner of a test's own directory.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user that tests run commands as: it owns no file of the machine.
pub const NOBODY: u32 = 65_534;
/// A third user: neither root nor the user who runs the server.
pub const STRANGER: u32 = 65_533;

/// Returns whether the tests run as root.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Returns the user of an unprivileged process: nobody if the tests run as root, else their own user.
pub fn unprivileged_id() -> u32 {
    if is_root() { NOBODY } else { fs::metadata("/proc/self").map_or(NOBODY, |own| own.uid()) }
}

/// Lets a command run without the rights of root, as `setpriv --reuid --regid --clear-groups` does.
pub fn as_nobody(command: &mut Command) {
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
}

/// The command prefix that drops the rights of root, for a shell line that mounts something first.
pub const SETPRIV: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";

/// Makes a user the owner of a file, or of a directory and its content. Does not follow links.
pub fn give(path: &Path, user: u32) {
    if !is_root() {
        return;
    }
    lchown(path, Some(user), Some(user)).unwrap_or_else(|error| panic!("give {path:?} away: {error}"));
    let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let entries = is_directory.then(|| fs::read_dir(path).ok()).flatten();
    entries.into_iter().flatten().flatten().for_each(|entry| give(&entry.path(), user));
}
