//! Answers that another process leaves for a session: files in a folder next to
//! its log. Each has the params of one `agent/ask/respond`.
//!
//! Never judges an answer, and never trusts a file by its name. A file is removed
//! unless it is regular, small, private to this user and strictly of that form.

mod attend;
#[cfg(test)]
mod tests;
mod watch;

use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use adjutant_core::machine::input::Choice;
use adjutant_protocol::AskId;
use adjutant_protocol::ask::AskRespondParams;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::log::LogPlace;
use super::storage::{Open, UNFINISHED, append_all};
use crate::faults::point;

pub use attend::Inbox;
pub use watch::Watch;

/// The name of the inbox in the folder of the session.
pub const INBOX: &str = "inbox";
/// The surface of answers from the inbox.
pub const SURFACE: &str = adjutant_core::policy::ask::INBOX;
/// The largest answer, in bytes; a larger file is removed.
pub const MAX_MESSAGE: u64 = 256 << 10;
/// Files that one scan reads; the next scan reads the next ones.
const MAX_AT_ONCE: usize = 64;
/// Names that one scan looks at.
const MAX_NAMES: usize = 100_000;
/// The age of an unfinished file whose writer must have died.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// One answer in the inbox.
#[derive(Debug)]
pub struct InboxMessage {
    name: CString,
    inode: u64,
    pub ask: AskId,
    pub choice: Choice,
}

/// The result of one scan.
#[derive(Debug, Default)]
pub struct InboxScan {
    pub messages: Vec<InboxMessage>,
    /// The number of files that were not answers and were removed.
    pub junk: usize,
    /// Whether there are more files than one scan reads.
    pub more: bool,
}

/// Reads the answers in an inbox, and removes all other files. Blocks.
pub fn scan(inbox: &Path) -> io::Result<InboxScan> {
    let mut scan = InboxScan::default();
    let Some(folder) = open_folder(inbox)? else { return Ok(scan) };
    let names = names(&folder, &mut scan.more)?;
    for name in names {
        match read(&folder, &name) {
            Ok(message) => scan.messages.push(message),
            // The process that left the answer has withdrawn it.
            Err(NotAnAnswer { gone: true, .. }) => {}
            Err(error) => {
                let removed = unlink(&folder, &name);
                let name = name.to_string_lossy();
                tracing::warn!(%name, why = %error.why, ?removed, "removed from the inbox: not an answer");
                scan.junk += usize::from(removed.is_ok());
            }
        }
    }
    if !scan.messages.is_empty() {
        point("letters-read");
    }
    Ok(scan)
}

/// Removes an answer that was judged, unless another file has its name now. Blocks.
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

/// Why a file is not an answer; `gone` if it no longer exists.
struct NotAnAnswer {
    why: String,
    gone: bool,
}

impl From<&str> for NotAnAnswer {
    fn from(why: &str) -> Self {
        NotAnAnswer { why: why.to_owned(), gone: false }
    }
}

impl From<Errno> for NotAnAnswer {
    fn from(error: Errno) -> Self {
        let why = if error == Errno::LOOP { "it is a link".to_owned() } else { error.to_string() };
        NotAnAnswer { why, gone: error == Errno::NOENT }
    }
}

fn read(folder: &OwnedFd, name: &CStr) -> Result<InboxMessage, NotAnAnswer> {
    // Checked before it is opened, because opening a pipe or a device could wait or have an effect.
    let seen = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    check(&seen)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&file)?;
    check(&found)?;
    let mut bytes = Vec::new();
    let read = File::from(file).take(MAX_MESSAGE + 1).read_to_end(&mut bytes);
    if read.is_err() || bytes.len() as u64 > MAX_MESSAGE {
        return Err(NotAnAnswer::from("it cannot be read as a whole"));
    }
    let params: AskRespondParams = serde_json::from_slice(&bytes)
        .map_err(|error| NotAnAnswer { why: format!("it is no answer: {error}"), gone: false })?;
    if params.unattended {
        return Err(NotAnAnswer::from(
            "it gives consent, which only the process that has the session open can give",
        ));
    }
    let choice = Choice::of(params.option_id, params.answer, params.reason)
        .ok_or_else(|| NotAnAnswer::from("it must give either an option or a text"))?;
    Ok(InboxMessage { name: name.to_owned(), inode: found.st_ino, ask: params.ask_id, choice })
}

/// Refuses every file except a regular one that only its owner can read or write.
fn check(found: &rustix::fs::Stat) -> Result<(), NotAnAnswer> {
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(NotAnAnswer::from("it is not a regular file"));
    }
    if found.st_uid != rustix::process::geteuid().as_raw() {
        return Err(NotAnAnswer::from("it belongs to another user"));
    }
    if found.st_mode & 0o077 != 0 {
        return Err(NotAnAnswer::from("others may read or write it"));
    }
    if found.st_nlink != 1 {
        return Err(NotAnAnswer::from("it has a second name"));
    }
    if u64::try_from(found.st_size).map_or(true, |size| size > MAX_MESSAGE) {
        return Err(NotAnAnswer::from("it is too large"));
    }
    Ok(())
}

/// An answer that this process has left in an inbox.
pub struct LeftAnswer {
    place: LogPlace,
    path: PathBuf,
}

/// Leaves an answer in the inbox of a session that another process has open. The file appears whole or not at
/// all. Blocks on syncs.
pub fn leave(place: &LogPlace, answer: &AskRespondParams) -> io::Result<LeftAnswer> {
    let bytes = serde_json::to_vec(answer)?;
    if bytes.len() as u64 > MAX_MESSAGE {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("an answer has at most {MAX_MESSAGE} bytes"),
        ));
    }
    let inbox = place.dir.join(INBOX);
    place.storage.create_dir(&inbox)?;
    let name = unguessable()?;
    let unfinished = inbox.join(format!("{UNFINISHED}{name}"));
    let path = inbox.join(format!("{name}.json"));
    let written = place.storage.open(&unfinished, Open::New).and_then(|file| {
        append_all(&*file, &bytes)?;
        file.sync()
    });
    point("letter-written");
    if let Err(error) = written.and_then(|()| place.storage.rename(&unfinished, &path)) {
        let _ = place.storage.remove(&unfinished);
        return Err(error);
    }
    point("letter-left");
    // An error is ignored: the answer counts only once its reader has recorded it.
    let _ = place.storage.sync_dir(&inbox);
    Ok(LeftAnswer { place: place.clone(), path })
}

fn unguessable() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut name = String::with_capacity(32);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}

impl LeftAnswer {
    /// Whether the answer is still in the inbox.
    pub fn is_there(&self) -> bool {
        self.place.storage.stat(&self.path).is_ok()
    }

    /// Withdraws the answer; returns `false` if it is no longer in the inbox.
    pub fn withdraw(&self) -> io::Result<bool> {
        match self.place.storage.remove(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}
