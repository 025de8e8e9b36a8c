//! The side that leaves a letter for a session that another process has open.
//!
//! Never believes that a letter counts: its reader says so.

use std::ffi::CString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_protocol::ask::AskRespondParams;
use serde_json::Value;

use super::letter::{LetterReply, ReviewRequest};
use super::{INBOX, MAX_MESSAGE, MAX_REPLY, open_folder, read_private, reply_name, taken_name, unlink};
use crate::faults::point;
use crate::session::log::LogPlace;
use crate::session::mailbox::ClientError;
use crate::session::storage::{Open, UNFINISHED, append_all};

/// A letter that this process has left in an inbox.
pub struct LeftLetter {
    place: LogPlace,
    pub(super) path: PathBuf,
}

/// Leaves an answer in the inbox of a session that another process has open. The file appears whole or not at
/// all. Blocks on syncs.
pub fn leave(place: &LogPlace, answer: &AskRespondParams) -> io::Result<LeftLetter> {
    left(place, serde_json::to_vec(answer)?)
}

/// Leaves a request about changes in the inbox of a session that another process has open, as [`leave`] does.
pub fn leave_request(place: &LogPlace, request: &ReviewRequest) -> io::Result<LeftLetter> {
    left(place, serde_json::to_vec(request)?)
}

fn left(place: &LogPlace, bytes: Vec<u8>) -> io::Result<LeftLetter> {
    if bytes.len() as u64 > MAX_MESSAGE {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("a letter to a session has at most {MAX_MESSAGE} bytes"),
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
    // An error is ignored: the letter counts only once its reader has recorded it.
    let _ = place.storage.sync_dir(&inbox);
    Ok(LeftLetter { place: place.clone(), path })
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

impl LeftLetter {
    /// Whether the letter is still in the inbox, or its reader has it.
    pub fn is_there(&self) -> bool {
        let is_at = |path: &Path| self.place.storage.stat(path).is_ok();
        // A reader may put it back between two looks.
        is_at(&self.path) || self.taken().is_some_and(|path| is_at(&path)) || is_at(&self.path)
    }

    /// Withdraws the letter; returns `false` if it is no longer in the inbox. Then its reader has it, or has judged it.
    pub fn withdraw(&self) -> io::Result<bool> {
        self.remove(&self.path)
    }

    /// Withdraws the letter, also from a reader that has gone; returns `false` if it was judged.
    pub fn withdraw_from_gone(&self) -> io::Result<bool> {
        Ok(self.withdraw()? || self.taken().map_or(Ok(false), |path| self.remove(&path))?)
    }

    fn remove(&self, path: &Path) -> io::Result<bool> {
        match self.place.storage.remove(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the path of the letter once its reader has taken it.
    fn taken(&self) -> Option<PathBuf> {
        Some(self.path.with_file_name(taken_name(self.path.file_name()?.to_str()?)?))
    }

    /// Returns the reply of the process that has the session open, once, if there is one. Blocks.
    pub fn reply(&self) -> Option<Result<Value, ClientError>> {
        let name = reply_name(self.path.file_name()?.to_str()?)?;
        let folder = open_folder(self.path.parent()?).ok()??;
        let name = CString::new(name).ok()?;
        let bytes = read_private(&folder, &name, MAX_REPLY).ok()?.1;
        let _ = unlink(&folder, &name);
        Some(serde_json::from_slice::<LetterReply>(&bytes).ok()?.into())
    }
}
