//! Edits: finds out by the text what became of an edit whose run was cut short (N05, D8). `propose` prepares edits of
//! the present text, and `apply` makes them.
//!
//! Never writes an open document, and never makes an edit that the text already has.

mod apply;
mod burst;
pub mod file_act;
mod landed;
mod operation;
mod propose;
mod reobserve;
mod together;
mod unseen;
mod verify;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::machine::input::Report;
use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::record::{EditCheck, FileChange};
use adjutant_core::text::edit::{BOM, split_bom};
use adjutant_core::text::review::{Presence, presence_of_cut_short, present_together, text_after};

use file_act::FileAct;

pub use apply::{BatchEdit, apply_edit};
pub use propose::{EditAct, EditPart, GivenEdit, prepare};
pub use reobserve::{WaitingChange, reobserve};
pub use together::{DiskEdit, apply_all, groups, is_for_disk, write_together};

use super::SessionWorld;
use super::blobs::Blobs;
use super::mailbox::Message;
use crate::aside::aside;
use crate::documents::{Documents, Text};
use crate::faults::point;
use crate::tools::paths::{OpenRefusal, PathType, ResolvedPath, hash_of, open_read, remove_file, resolve};
use crate::uri;

/// How long the text may take to follow the editor's reply (docs/protocol.md, Edits).
const SETTLE: Duration = Duration::from_millis(1_500);
/// The largest file that is edited, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// A file as it is now.
pub struct CurrentFile {
    /// The text of the buffer if the file is open, else the text on disk. Without a byte order mark, which
    /// editors do not count to the text.
    text: String,
    /// Whether the file on disk begins with a byte order mark.
    has_bom: bool,
    /// The version of the open document.
    open: Option<i32>,
    exists: bool,
    /// The text of an open buffer without a file and without text of the user. Editors show an empty line
    /// there, which does not count as text.
    blank: Option<String>,
    /// Hash of the bytes on disk, if the text is from the disk.
    disk: Option<[u8; 32]>,
}

impl CurrentFile {
    /// Returns its text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text as the model read it: a new document that is open may show an empty line.
    pub fn shown_text(&self) -> &str {
        self.blank.as_deref().unwrap_or(&self.text)
    }

    /// Whether the file exists, or has text of the user in the editor.
    pub fn exists(&self) -> bool {
        self.exists
    }

    /// Returns the hash of its bytes on disk, if its text is from the disk.
    pub fn disk(&self) -> Option<[u8; 32]> {
        self.disk
    }

    /// Whether it is open in the editor.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the bytes of this file with `text` in place of its own.
    fn bytes_of(&self, text: &str) -> Vec<u8> {
        if self.has_bom {
            format!("{BOM}{}", split_bom(text).1).into_bytes()
        } else {
            text.as_bytes().to_vec()
        }
    }
}

/// Returns a file as it is now, if its path still leads to `target`. Blocks.
pub fn present_file(place: &SessionWorld, path: &str, target: &str) -> Result<CurrentFile, String> {
    let at = resolve(&place.roots, path).map_err(|why| why.to_string())?;
    if !at.inside || uri::of_path(&at.absolute) != target {
        return Err(format!("\"{path}\" leads to another file now"));
    }
    current_file(place, &at).map_err(|why| why.text)
}

/// Removes a file that has these bytes on disk, if its path still leads to `target`. Blocks.
pub fn remove(place: &SessionWorld, path: &str, target: &str, disk: [u8; 32]) -> Result<(), String> {
    let at = resolve(&place.roots, path).map_err(|why| why.to_string())?;
    if !at.inside || uri::of_path(&at.absolute) != target {
        return Err(format!("\"{path}\" leads to another file now"));
    }
    remove_file(&place.world.write_locks, &at, disk).map_err(|why| why.to_string())
}

/// Saves the text of a file as a blob and returns its hash. Blocks.
pub fn put_before(place: &SessionWorld, now: &CurrentFile) -> Result<String, String> {
    put_blob(place, &now.bytes_of(&now.text))
}

/// Saves the text before an edit as a blob and returns its hash. Blocks.
fn put_blob(place: &SessionWorld, bytes: &[u8]) -> Result<String, String> {
    match place.blobs.put(bytes) {
        Ok(blob) => {
            point("before-image-kept");
            Ok(blob.hash)
        }
        Err(error) => {
            let passes = error.passes();
            let why =
                format!("nothing was changed, because the text before the edit cannot be kept: {error}");
            if !passes {
                // The log is on the same disk: if the run continued, each edit would fail and the run end as done.
                place.mailbox.post(Message::BlobFailed { why: why.clone() });
            }
            Err(why)
        }
    }
}

/// The reason for an edit that has no route.
fn no_way(path: &str) -> String {
    format!(
        "\"{path}\" cannot be edited: it is open in the editor, which accepts no edits from Adjutant; close the file \
         there and try again"
    )
}

/// Reads a file as it is now: the buffer if it is open, else the disk. Blocks.
fn current_file(place: &SessionWorld, at: &ResolvedPath) -> Result<CurrentFile, Reason> {
    match place.world.documents.text(&at.absolute) {
        Text::Open(snapshot) => {
            let (text, open) = (snapshot.string(), snapshot.version);
            if at.kind.is_none() && matches!(text.as_str(), "" | "\n" | "\r\n") {
                let (text, blank) = (String::new(), Some(text));
                return Ok(CurrentFile { open, text, has_bom: false, exists: false, blank, disk: None });
            }
            Ok(CurrentFile { open, text, has_bom: false, exists: true, blank: None, disk: None })
        }
        Text::Unsynced(why) => {
            let text = format!(
                "\"{}\" is open in the editor, but its text is not known ({why}); it is neither read nor edited \
                 until the editor sends it whole",
                at.display
            );
            Err(Reason::new(Cause::Unreadable, text))
        }
        Text::Closed => on_disk(at),
    }
}

fn on_disk(at: &ResolvedPath) -> Result<CurrentFile, Reason> {
    let name = &at.display;
    if at.kind == Some(PathType::Directory) {
        return Err(Reason::new(Cause::Directory, format!("\"{name}\" is a directory")));
    }
    let file = match open_read(at) {
        Ok(file) => file,
        Err(OpenRefusal::Missing) => {
            let (text, blank) = (String::new(), None);
            return Ok(CurrentFile { text, has_bom: false, open: None, exists: false, blank, disk: None });
        }
        Err(why) => return Err(Reason::new(why.cause(), format!("\"{name}\" cannot be edited: {why}"))),
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Reason::new(Cause::Unreadable, format!("\"{name}\" cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_FILE {
        let text = format!("\"{name}\" is larger than {MAX_FILE} bytes and is not edited");
        return Err(Reason::new(Cause::TooLarge, text));
    }
    let disk = Some(hash_of(&bytes));
    match String::from_utf8(bytes) {
        Ok(text) => {
            let (has_bom, text) = split_bom(&text);
            Ok(CurrentFile { text: text.to_owned(), has_bom, open: None, exists: true, blank: None, disk })
        }
        Err(_) => Err(Reason::new(Cause::NotText, format!("\"{name}\" is not UTF-8 text and is not edited"))),
    }
}

/// Whether a text has all hunks of a change, none of them, or neither is clear.
fn check_text(text: &str, change: &FileChange) -> EditCheck {
    present_together(text, &change.hunks).into()
}

/// Whether a text is exactly what a change makes of the text for which it was made. Where lines repeat, nothing else tells
/// whether it was made.
fn has_exactly(text: &str, before: &str, change: &FileChange) -> bool {
    text_after(split_bom(before).1, &change.hunks).is_some_and(|after| after == text)
}

/// Finds out by the text what became of an edit whose run was cut short. An edit that was sent may still
/// land, so this waits for it, at most `SETTLE`. Several edits of one file wait at the same time.
pub async fn settle(place: &Arc<SessionWorld>, change: &FileChange) -> Report {
    let deadline = tokio::time::Instant::now() + SETTLE;
    let target = uri::to_path(&change.target).unwrap_or_default();
    // Waits for a write that began before the run was cut short, because it continues to its end.
    let _turn = place.world.edit_turns.turn(&target).await;
    let mut watch = place.world.documents.watch();
    // What is written on disk is there, because its write is over.
    let mut over = is_for_disk(place, change);
    loop {
        let (here, owned) = (place.clone(), change.clone());
        let check = aside(move || check_edit(&here, &owned)).await;
        if check == EditCheck::Landed || over {
            return Report::Settled(check);
        }
        // A file on disk sends no notification, so it is checked again at the end.
        over = !matches!(tokio::time::timeout_at(deadline, watch.changed()).await, Ok(Ok(())));
    }
}

/// Whether the text of now, in the open document or else on disk, shows beyond doubt that an edit was made. Blocks.
pub fn is_made_by_text(documents: &Documents, blobs: &Blobs, change: &FileChange) -> bool {
    let Ok(path) = uri::to_path(&change.target) else { return false };
    let text = match documents.text(&path) {
        Text::Open(snapshot) => snapshot.string(),
        Text::Unsynced(_) => return false,
        Text::Closed => {
            // A pipe is not opened: that would wait for whoever writes it.
            let is_text = path.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_FILE);
            match is_text.then(|| std::fs::read_to_string(&path)) {
                Some(Ok(text)) => text,
                Some(Err(_)) | None => return false,
            }
        }
    };
    let before = match change.before.as_deref() {
        None => Some(String::new()),
        Some(hash) => blobs.get(hash).ok().and_then(|before| String::from_utf8(before).ok()),
    };
    let before = before.as_deref().map(|before| split_bom(before).1);
    !change.hunks.is_empty()
        && presence_of_cut_short(split_bom(&text).1, before, &change.hunks) == Presence::Landed
}

/// Checks the present text for a change. Blocks.
fn check_edit(place: &SessionWorld, change: &FileChange) -> EditCheck {
    if let Some(act) = FileAct::of(change) {
        return act.check(place);
    }
    let Ok(at) = resolve(&place.roots, &change.path) else { return EditCheck::Unclear };
    if uri::of_path(&at.absolute) != change.target {
        return EditCheck::Unclear;
    }
    let closed = matches!(place.world.documents.text(&at.absolute), Text::Closed);
    if change.open && closed {
        // The file was open when the edit began, so the disk proves that it was made and saved, and never that it was not.
        let is_made = is_made_by_text(&place.world.documents, &place.blobs, change);
        return if is_made { EditCheck::Landed } else { EditCheck::Unclear };
    }
    match current_file(place, &at) {
        Ok(now) if !now.exists => EditCheck::NotLanded,
        Ok(now) => {
            let before = landed::before_text(place, change);
            let before = before.as_deref().map(|before| split_bom(before).1);
            presence_of_cut_short(&now.text, before, &change.hunks).into()
        }
        Err(_) => EditCheck::Unclear,
    }
}
