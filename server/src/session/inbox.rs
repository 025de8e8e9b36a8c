//! Letters that another process leaves for a session: answers to its asks, and requests about its changes. They are files in a
//! folder next to its log.
//!
//! Never judges a letter, and never trusts a file by its name. A file is removed
//! unless it is regular, small, private to this user and strictly of that form.

mod attend;
mod left;
mod letter;
#[cfg(test)]
mod tests;
mod watch;

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::storage::UNFINISHED;
use crate::faults::point;
use letter::{Letter, LetterReply};

pub use attend::Inbox;
pub use left::{LeftLetter, leave, leave_request};
pub use letter::ReviewRequest;
pub use watch::Watch;

/// The name of the inbox in the folder of the session.
pub const INBOX: &str = "inbox";
/// The surface of answers from the inbox.
pub const SURFACE: &str = adjutant_core::policy::ask::INBOX;
/// The largest letter, in bytes; a larger file is removed.
pub const MAX_MESSAGE: u64 = 256 << 10;
/// The largest reply, in bytes: a preview names every file of a run.
const MAX_REPLY: u64 = 16 << 20;
/// Files that one scan reads; the next scan reads the next ones.
const MAX_AT_ONCE: usize = 64;
/// Names that one scan looks at.
const MAX_NAMES: usize = 100_000;
/// The age of an unfinished file, and of a request about changes, whose writer must have died.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// One letter in the inbox.
#[derive(Debug)]
pub struct InboxMessage {
    name: CString,
    /// Its name in the inbox before it was taken; `None` if it still has it.
    taken_from: Option<CString>,
    inode: u64,
    letter: Letter,
}

/// The result of one scan.
#[derive(Debug, Default)]
pub struct InboxScan {
    pub messages: Vec<InboxMessage>,
    /// The number of files that were no letters and were removed.
    pub junk: usize,
    /// Whether there are more files than one scan reads.
    pub more: bool,
}

/// Reads the letters in an inbox, and removes all other files. Blocks.
pub fn scan(inbox: &Path) -> io::Result<InboxScan> {
    let mut scan = InboxScan::default();
    let Some(folder) = open_folder(inbox)? else { return Ok(scan) };
    let names = names(&folder, &mut scan.more)?;
    for name in names {
        match read(&folder, &name) {
            Ok(message) => scan.messages.push(message),
            // The process that left the letter has withdrawn it.
            Err(NotALetter { gone: true, .. }) => {}
            Err(error) => {
                let removed = unlink(&folder, &name);
                let name = name.to_string_lossy();
                tracing::warn!(%name, why = %error.why, ?removed, "removed from the inbox: no letter");
                scan.junk += usize::from(removed.is_ok());
            }
        }
    }
    if !scan.messages.is_empty() {
        point("letters-read");
    }
    Ok(scan)
}

/// Takes the requests about changes among these letters out of the inbox, and returns all letters but those that were withdrawn.
/// From then on the process that left one knows that it is being carried out. Blocks.
fn take(inbox: &Path, messages: Vec<InboxMessage>) -> io::Result<Vec<InboxMessage>> {
    let Some(folder) = open_folder(inbox)? else { return Ok(Vec::new()) };
    let mut taken = Vec::new();
    for mut message in messages {
        let name = message.name.to_str().ok().and_then(taken_name).filter(|_| message.has_waiting_writer());
        if let Some(name) = name.and_then(|name| CString::new(name).ok()) {
            match rustix::fs::renameat(&folder, &message.name, &folder, &name) {
                Ok(()) => message.taken_from = Some(std::mem::replace(&mut message.name, name)),
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        taken.push(message);
    }
    Ok(taken)
}

/// Puts a letter that was not judged back into the inbox, for the next process that opens the session. Blocks.
fn put_back(inbox: &Path, message: &InboxMessage) -> io::Result<()> {
    let (Some(folder), Some(name)) = (open_folder(inbox)?, &message.taken_from) else { return Ok(()) };
    Ok(rustix::fs::renameat(&folder, &message.name, &folder, name)?)
}

/// Leaves the reply to a letter, for the process that waits for it. Nobody reads it after some seconds, so it is not made
/// durable, and a later scan removes it. Blocks.
fn reply_to(inbox: &Path, message: &InboxMessage, reply: &LetterReply) -> io::Result<()> {
    let Some(folder) = open_folder(inbox)? else { return Ok(()) };
    let own = message.taken_from.as_ref().unwrap_or(&message.name);
    let Some(name) = own.to_str().ok().and_then(reply_name) else { return Ok(()) };
    let part = format!("{name}.part");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, part.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
    File::from(file).write_all(&serde_json::to_vec(reply)?)?;
    Ok(rustix::fs::renameat(&folder, part.as_str(), &folder, name.as_str())?)
}

/// Returns the name of the reply to a letter of this name. Like an unfinished file, it is no letter itself.
fn reply_name(letter: &str) -> Option<String> {
    Some(format!("{UNFINISHED}{}.reply", letter.strip_suffix(".json")?))
}

/// Returns the name of a letter of this name once its reader has taken it.
fn taken_name(letter: &str) -> Option<String> {
    Some(format!("{UNFINISHED}{}.taken", letter.strip_suffix(".json")?))
}

impl InboxMessage {
    /// Whether it is a request about changes: its writer waits for a reply.
    fn has_waiting_writer(&self) -> bool {
        matches!(self.letter, Letter::Request(_))
    }
}

/// Removes a letter that was judged, unless another file has its name now. Blocks.
pub fn remove(inbox: &Path, message: &InboxMessage) -> io::Result<()> {
    let Some(folder) = open_folder(inbox)? else { return Ok(()) };
    match rustix::fs::statat(&folder, &message.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if found.st_ino == message.inode => Ok(unlink(&folder, &message.name)?),
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens the folder; `None` if there is none, an error if other users can access it.
fn open_folder(inbox: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::open(inbox, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let found = rustix::fs::fstat(&folder)?;
    if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o077 != 0 {
        let why = format!("\"{}\" is not for its owner alone", inbox.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(Some(folder))
}

/// Returns the names of the files to read, and removes unfinished files that are old.
fn names(folder: &OwnedFd, more: &mut bool) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    let mut left_behind = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)?.take(MAX_NAMES) {
        let entry = entry?;
        let name = entry.file_name();
        match name.to_bytes() {
            b"." | b".." => {}
            unfinished if unfinished.starts_with(UNFINISHED.as_bytes()) => {
                if left_behind.len() < MAX_AT_ONCE && is_left_behind(folder, name) {
                    left_behind.push(name.to_owned());
                }
            }
            // Adjutant makes no folders here, so a folder belongs to the user and stays.
            _ if entry.file_type() == FileType::Directory => {}
            _ if names.len() >= MAX_AT_ONCE => {
                *more = true;
                break;
            }
            _ => names.push(name.to_owned()),
        }
    }
    for name in left_behind {
        // If it fails, the next scan tries again.
        let _ = unlink(folder, &name);
    }
    Ok(names)
}

fn is_left_behind(folder: &OwnedFd, name: &CStr) -> bool {
    let Ok(found) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let written = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(found.st_mtime).unwrap_or(0));
    written.elapsed().is_ok_and(|age| age >= LEFT_BEHIND)
}

fn unlink(folder: &OwnedFd, name: &CStr) -> rustix::io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        removed => removed,
    }
}

/// Why a file is no letter; `gone` if it no longer exists.
struct NotALetter {
    why: String,
    gone: bool,
}

impl From<&str> for NotALetter {
    fn from(why: &str) -> Self {
        NotALetter { why: why.to_owned(), gone: false }
    }
}

impl From<Errno> for NotALetter {
    fn from(error: Errno) -> Self {
        let why = if error == Errno::LOOP { "it is a link".to_owned() } else { error.to_string() };
        NotALetter { why, gone: error == Errno::NOENT }
    }
}

fn read(folder: &OwnedFd, name: &CStr) -> Result<InboxMessage, NotALetter> {
    let (inode, bytes) = read_private(folder, name, MAX_MESSAGE)?;
    let letter = Letter::read(&bytes).map_err(|why| NotALetter { why, gone: false })?;
    if matches!(letter, Letter::Request(_)) && is_left_behind(folder, name) {
        return Err(NotALetter::from("it is a request that nobody waits for any more"));
    }
    Ok(InboxMessage { name: name.to_owned(), taken_from: None, inode, letter })
}

/// Returns the inode and the content of a file that is only this user's and has at most `most` bytes.
fn read_private(folder: &OwnedFd, name: &CStr, most: u64) -> Result<(u64, Vec<u8>), NotALetter> {
    // Checked before it is opened, because opening a pipe or a device could wait or have an effect.
    let seen = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    check(&seen, most)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&file)?;
    check(&found, most)?;
    let mut bytes = Vec::new();
    let read = File::from(file).take(most + 1).read_to_end(&mut bytes);
    if read.is_err() || bytes.len() as u64 > most {
        return Err(NotALetter::from("it cannot be read as a whole"));
    }
    Ok((found.st_ino, bytes))
}

/// Refuses every file except a regular one that only its owner can read or write.
fn check(found: &rustix::fs::Stat, most: u64) -> Result<(), NotALetter> {
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(NotALetter::from("it is not a regular file"));
    }
    if found.st_uid != rustix::process::geteuid().as_raw() {
        return Err(NotALetter::from("it belongs to another user"));
    }
    if found.st_mode & 0o077 != 0 {
        return Err(NotALetter::from("others may read or write it"));
    }
    if found.st_nlink != 1 {
        return Err(NotALetter::from("it has a second name"));
    }
    if u64::try_from(found.st_size).map_or(true, |size| size > most) {
        return Err(NotALetter::from("it is too large"));
    }
    Ok(())
}
