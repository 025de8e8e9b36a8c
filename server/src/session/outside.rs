//! Compares the files that the model knows with what they have now, before each turn.
//!
//! Never decides what is told of a change, and never opens a file that is as it was at the last look.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use adjutant_core::machine::accept::outside_moment;
use adjutant_core::machine::input::{Input, OutsideLook, Report};
use adjutant_core::record::{ChangedFile, FileRead};
use adjutant_core::session::{KnownRead, Reads};
use adjutant_core::text::freshness::{KnownLines, line_hashes};
use adjutant_git::Repository;

use super::edits::present_file;
use super::mailbox::Message;
use super::{SessionTask, SessionWorld};
use crate::aside::aside;
use crate::documents::Text;
use crate::tools::paths::ResolvedPath;
use crate::uri;

/// After this time the files that are left are not looked at before the next turn.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// How long a turn waits for the look at most: a file system may not answer.
const LOOK_WAIT: Duration = Duration::from_secs(5);
/// A file that was written so shortly before a look may be written again without another time.
const COARSE: Duration = Duration::from_millis(100);
/// How many digits of a commit are shown.
const COMMIT_DIGITS: usize = 12;

/// What the last looks found, by the targets of the files.
pub type FileLooks = HashMap<String, FileLook>;

/// What the last look at a file found.
pub struct FileLook {
    stamp: FileStamp,
    /// The number of the record that changed last what is known of the file.
    seq: u64,
    found: FoundFile,
}

/// Whether a file has the lines that the model knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FoundFile {
    Same,
    Changed {
        /// Whether it is open in the editor.
        open: bool,
    },
    Gone,
    /// It cannot be read as text.
    Unknown,
}

/// A cheap value that changes when a file does.
#[derive(Clone, PartialEq, Eq)]
enum FileStamp {
    /// The number of its opening in the editor, and its version.
    Open(Option<u64>, Option<i32>),
    /// Device, inode, size, and the times of the last changes of its content and of its inode.
    Disk([u64; 3], [i64; 4]),
    Missing,
}

/// Returns the lines of a file that a call showed, as the log keeps them.
pub async fn reads_of(
    place: &Arc<SessionWorld>,
    file: Option<ResolvedPath>,
    known: &[KnownLines],
) -> Vec<FileRead> {
    let Some(at) = file.filter(|_| !known.is_empty()) else { return Vec::new() };
    let here = place.clone();
    let head = aside(move || head_of(&here)).await;
    let target = uri::of_path(&at.absolute);
    let read = |lines: &KnownLines| FileRead {
        path: at.display.clone(),
        target: target.clone(),
        lines: lines.clone(),
        head: head.clone(),
    };
    known.iter().map(read).collect()
}

/// Compares the files that the model knows with their text of now.
pub async fn look(place: &Arc<SessionWorld>, reads: Reads) -> Report {
    Report::LookedOutside(look_now(place, reads).await)
}

async fn look_now(place: &Arc<SessionWorld>, reads: Reads) -> Option<OutsideLook> {
    let here = place.clone();
    tokio::time::timeout(LOOK_WAIT, aside(move || looked(&here, &reads))).await.ok()
}

/// The looks of a session while the model answers: one at a time.
#[derive(Default)]
pub struct LooksBetween {
    is_looking: bool,
    /// Whether files were reported since the look began.
    again: bool,
}

impl SessionTask {
    /// Looks at the files that the model knows, because the client reports that files changed.
    pub(super) fn files_changed(&mut self) {
        let Some(moment) = outside_moment(&self.session) else { return };
        if self.outside.is_looking {
            self.outside.again = true;
            return;
        }
        self.outside = LooksBetween { is_looking: true, again: false };
        let (place, reads) = (self.place.clone(), self.session.reads.clone());
        tokio::spawn(async move {
            let look = look_now(&place, reads).await;
            place.mailbox.post(Message::LookedOutside { look, moment });
        });
    }

    /// Records what a look has found, unless more has happened since it began.
    pub(super) async fn looked_outside(&mut self, look: Option<OutsideLook>, moment: (u32, u64)) {
        let LooksBetween { again, .. } = std::mem::take(&mut self.outside);
        if let Some(look) = look {
            let _ = self.input(Input::Outside { look, moment }).await;
        }
        if again {
            self.files_changed();
        }
    }
}

/// Blocks.
fn looked(place: &SessionWorld, reads: &Reads) -> OutsideLook {
    let deadline = Instant::now() + LOOK_TIME;
    let mut look = OutsideLook { head: head_of(place), ..OutsideLook::default() };
    let files = reads.by_file();
    place
        .looks
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .retain(|target, _| files.contains_key(target.as_str()));
    for (target, known) in files {
        let Some(path) = known.first().map(|read| read.path.clone()) else { continue };
        let found = if Instant::now() < deadline { found(place, target, &known) } else { FoundFile::Unknown };
        let target = target.to_owned();
        match found {
            FoundFile::Same => {}
            FoundFile::Unknown => look.unknown.push(target),
            FoundFile::Changed { open } => {
                look.changed.push(ChangedFile { path, target, gone: false, open });
            }
            FoundFile::Gone => look.changed.push(ChangedFile { path, target, gone: true, open: false }),
        }
    }
    look
}

fn found(place: &SessionWorld, target: &str, known: &[Arc<KnownRead>]) -> FoundFile {
    let Ok(path) = uri::to_path(target) else { return FoundFile::Unknown };
    // Before the text is read, so that a later write is seen by the next look.
    let Some((stamp, is_settled)) = stamp_of(place, &path) else { return FoundFile::Unknown };
    let seq = known.iter().map(|read| read.seq).max().unwrap_or_default();
    let looks = || place.looks.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = looks().get(target).filter(|last| last.stamp == stamp && last.seq == seq) {
        return last.found;
    }
    let found = match (&stamp, known.first().map(|read| present_file(place, &read.path, target))) {
        (FileStamp::Missing, _) => FoundFile::Gone,
        // A new document that is open and still empty is there, although no file is.
        (FileStamp::Disk(..), Some(Ok(now))) if !now.exists() => FoundFile::Gone,
        (_, Some(Ok(now))) => {
            let now = line_hashes(now.shown_text());
            let stands = known.iter().all(|read| read.lines.stand_in(&now));
            if stands {
                FoundFile::Same
            } else {
                FoundFile::Changed { open: matches!(stamp, FileStamp::Open(..)) }
            }
        }
        (_, Some(Err(_)) | None) => FoundFile::Unknown,
    };
    if is_settled {
        looks().insert(target.to_owned(), FileLook { stamp, seq, found });
    } else {
        looks().remove(target);
    }
    found
}

/// Returns the stamp of a file, and whether a later change of it has another; `None` if it cannot be looked at.
fn stamp_of(place: &SessionWorld, path: &Path) -> Option<(FileStamp, bool)> {
    let documents = &place.world.documents;
    match documents.text(path) {
        Text::Open(snapshot) => {
            return Some((FileStamp::Open(documents.opening(path), snapshot.version), true));
        }
        Text::Unsynced(_) => return None,
        Text::Closed => {}
    }
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some((FileStamp::Missing, true));
        }
        Err(_) => return None,
    };
    let age = metadata.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    let numbers = [metadata.dev(), metadata.ino(), metadata.len()];
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    Some((FileStamp::Disk(numbers, times), age.is_some_and(|age| age >= COARSE)))
}

/// Returns what is checked out in the repository of the first folder: a branch, or `commit` with the beginning of its id.
/// `None` if there is no repository, or it cannot be read.
fn head_of(place: &SessionWorld) -> Option<String> {
    let folder = place.roots.paths().next()?;
    Repository::find(folder).ok()??.head().ok()?.name(COMMIT_DIGITS)
}
