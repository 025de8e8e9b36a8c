//! Edits: prepared against the text as it is now, and settled by the text when
//! their run was cut short (N05, D8); `apply` brings them into it.
//!
//! Never writes an open document and never repeats what is already there.

mod apply;
mod landed;
mod verify;

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::config::Denials;
use adjutant_core::machine::input::{Preparation, Prospect, Report};
use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::policy::observation::{EditRoute, ObservedPath};
use adjutant_core::policy::permission::{Act, forbidden_by};
use adjutant_core::record::{EditCheck, FileChange};
use adjutant_core::text::display::shown;
use adjutant_core::text::edit::{BOM, split_bom};
use adjutant_core::text::review::{Hunk, Presence, hunks, present_all};
use adjutant_core::tool::Arguments;

pub use apply::apply;

use super::SessionWorld;
use super::mailbox::Message;
use crate::aside::aside;
use crate::documents::Text;
use crate::faults::point;
use crate::tools::Before;
use crate::tools::paths::{OpenRefusal, PathRefusal, PathType, ResolvedPath, hash_of, open_read, resolve};
use crate::tools::protected::{class_of, held_by};
use crate::uri;

/// How long the text may take to follow the editor's reply (protocol section 9.2).
const SETTLE: Duration = Duration::from_millis(1_500);
/// The largest file that is edited.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Bytes of all hunks of one change: a file of 8 MiB written anew. More does not fit a review.
const MAX_CHANGE: usize = 16 * 1024 * 1024;
/// Lines of all hunks of one change: each costs memory beside its text.
const MAX_CHANGED_LINES: usize = 500_000;
/// Hunks of one change times lines of its file: each hunk is looked for in all of them.
const MAX_PLACES_BY_LINES: usize = 400_000_000;

/// How a tool makes the new text of a file.
type After = for<'a> fn(&'a Arguments, &Before<'_>) -> Result<Cow<'a, str>, Reason>;

/// A file as it is now.
struct Now {
    /// The text that counts: the buffer's, or the disk's without a byte order mark, which editors do
    /// not count to it.
    text: String,
    /// A byte order mark stands before it on disk.
    mark: bool,
    open: Option<i32>,
    exists: bool,
    /// It is open, has no file yet, and its buffer holds only this: nothing of the user's. Editors show a
    /// line without text there, which is no part of the text.
    blank: Option<String>,
    /// Hash of the bytes on disk, where those count.
    disk: Option<[u8; 32]>,
}

impl Now {
    /// The bytes of a file that has this text instead.
    fn bytes_of(&self, text: &str) -> Vec<u8> {
        match self.mark {
            true => format!("{BOM}{}", split_bom(text).1).into_bytes(),
            false => text.as_bytes().to_vec(),
        }
    }
}

/// Grounds, reads and locates; what comes out is what was seen, and the change to be judged. A cancel leaves at
/// most the text before the edit among the blobs.
pub async fn prepare(
    place: &Arc<SessionWorld>,
    (tool, given, after): (&str, Arguments, After),
    rules: Denials,
) -> Preparation {
    let (place, tool) = (place.clone(), tool.to_owned());
    aside(move || prepared(&place, (&tool, &given, after), &rules)).await
}

fn prepared(
    place: &SessionWorld,
    (tool, given, after): (&str, &Arguments, After),
    rules: &Denials,
) -> Preparation {
    let (seen, at) = match observe(place, given.text("path")) {
        Ok(looked) => looked,
        Err(why) => return Preparation::refused(why),
    };
    let folders: Vec<String> = place.roots.paths().map(|root| root.to_string_lossy().into_owned()).collect();
    let Some(at) = at.filter(|_| forbidden_by(rules, &folders, tool, Act::Edit(&seen)).is_none()) else {
        // Neither read nor kept: it will be denied.
        return Preparation { seen: Some(seen), prospect: Prospect::Forbidden, unsaved: Vec::new() };
    };
    let Proposal { mut change, before, way } = match propose(place, (given, after), &at) {
        Ok(proposal) => proposal,
        Err(prospect) => return Preparation { seen: Some(seen), prospect, unsaved: Vec::new() },
    };
    let prospect = match before.map(|bytes| put_blob(place, &bytes)).transpose() {
        Ok(hash) => {
            change.before = hash;
            Prospect::Change(Box::new(change))
        }
        Err(why) => refused(Reason::new(Cause::NotMade, why)),
    };
    Preparation { seen: Some(ObservedPath { way, ..seen }), prospect, unsaved: Vec::new() }
}

/// A change that can be made.
struct Proposal {
    change: FileChange,
    /// The bytes of the file as they are; none where it is new.
    before: Option<Vec<u8>>,
    way: EditRoute,
}

/// Why a change cannot be made, which tells nothing of the text.
fn refused(why: Reason) -> Prospect {
    Prospect::Refused { why, quotes: false }
}

/// Keeps the text before an edit and returns its hash. Blocks.
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
                // The same disk as the log's: a run that went on would fail at each edit, and end as done.
                place.mailbox.post(Message::BlobFailed { why: why.clone() });
            }
            Err(why)
        }
    }
}

/// The file of an edit as its names show it, and where it is; nowhere where nobody has allowed to look.
fn observe(place: &SessionWorld, path: &str) -> Result<(ObservedPath, Option<ResolvedPath>), Reason> {
    // By the name that was given.
    let outside = || Ok((ObservedPath::outside(shown(path)), None));
    let at = match resolve(&place.roots, path) {
        Ok(at) if at.inside => at,
        Ok(_) | Err(PathRefusal::Outside { .. }) => return outside(),
        Err(why) => return Err(why.into()),
    };
    let own = place.world.own(&place.roots);
    let (class, holds) = (class_of(&at, &own), held_by(&at, &own));
    Ok((ObservedPath { class, holds, ..ObservedPath::inside(&at.display) }, Some(at)))
}

/// Reads the text as it is, and changes it; an error says why that cannot be done.
fn propose(
    place: &SessionWorld,
    (given, after): (&Arguments, After),
    at: &ResolvedPath,
) -> Result<Proposal, Prospect> {
    let now = now(place, at).map_err(refused)?;
    let way = place.world.abilities().way(now.open.is_some(), now.exists, now.mark);
    if way == EditRoute::Nowhere {
        // Before anybody is asked to allow what cannot be made.
        return Err(refused(Reason::new(Cause::NotMade, no_way(&at.display))));
    }
    let before = Before { path: &at.display, text: &now.text, exists: now.exists, has_mark: now.mark };
    let after = after(given, &before)
        .and_then(|after| match now.exists && after == now.text {
            true => {
                let text = format!("\"{}\" has this content already; nothing to change", at.display);
                Err(Reason::new(Cause::NothingToChange, text))
            }
            false => Ok(after),
        })
        .map_err(|why| Prospect::Refused { why, quotes: now.exists })?;
    point("change-compared");
    let hunks = hunks(&now.text, &after);
    fits_review(&hunks, &now.text, &at.display).map_err(refused)?;
    let change = FileChange {
        change_set: "".into(),
        path: at.display.clone(),
        uri: place.world.documents.name_of(&at.absolute),
        target: uri::of_path(&at.absolute),
        open: now.open.is_some(),
        existed: now.exists,
        always_ask: None,
        mark: None,
        before: None,
        hunks: hunks.into(),
    };
    let before = now.exists.then(|| now.bytes_of(&now.text));
    Ok(Proposal { change, before, way })
}

/// Refuses what nobody could look through, and what would cost more than a session has.
fn fits_review(hunks: &[Hunk], before: &str, path: &str) -> Result<(), Reason> {
    let changed = || hunks.iter().flat_map(|hunk| hunk.removed.iter().chain(&hunk.inserted));
    let too_large = |size: usize, what: &str, limit: usize| {
        let text = format!(
            "the change of \"{path}\" has {size} {what}; at most {limit} fit one review, so split it"
        );
        Reason::new(Cause::TooLarge, text)
    };
    let (bytes, lines) = (changed().map(String::len).sum::<usize>(), changed().count());
    if bytes > MAX_CHANGE {
        return Err(too_large(bytes, "bytes", MAX_CHANGE));
    }
    if lines > MAX_CHANGED_LINES {
        return Err(too_large(lines, "lines", MAX_CHANGED_LINES));
    }
    let places = MAX_PLACES_BY_LINES / adjutant_core::text::edit::lines(before).count().max(1);
    if hunks.len() > places {
        return Err(too_large(hunks.len(), "separate places", places));
    }
    Ok(())
}

/// What is told where no way is left to make an edit.
fn no_way(path: &str) -> String {
    format!(
        "\"{path}\" cannot be edited: it is open in the editor, which takes no edits from Adjutant; close the file \
         there and try again"
    )
}

/// The text of a file as it is now: the buffer before the disk. Blocks.
fn now(place: &SessionWorld, at: &ResolvedPath) -> Result<Now, Reason> {
    match place.world.documents.text(&at.absolute) {
        Text::Open(snapshot) => {
            let (text, open) = (snapshot.string(), snapshot.version);
            if at.kind.is_none() && matches!(text.as_str(), "" | "\n" | "\r\n") {
                let blank = Some(text);
                return Ok(Now { open, text: String::new(), mark: false, exists: false, blank, disk: None });
            }
            Ok(Now { open, text, mark: false, exists: true, blank: None, disk: None })
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

fn on_disk(at: &ResolvedPath) -> Result<Now, Reason> {
    let name = &at.display;
    if at.kind == Some(PathType::Directory) {
        return Err(Reason::new(Cause::Directory, format!("\"{name}\" is a directory")));
    }
    let file = match open_read(at) {
        Ok(file) => file,
        Err(OpenRefusal::Missing) => {
            let (text, blank) = (String::new(), None);
            return Ok(Now { text, mark: false, open: None, exists: false, blank, disk: None });
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
            let (mark, text) = split_bom(&text);
            Ok(Now { text: text.to_owned(), mark, open: None, exists: true, blank: None, disk })
        }
        Err(_) => Err(Reason::new(Cause::NotText, format!("\"{name}\" is not UTF-8 text and is not edited"))),
    }
}

/// What a text says about a change.
fn found(text: &str, change: &FileChange) -> EditCheck {
    let presences = present_all(text, &change.hunks);
    let all = |wanted| presences.iter().all(|presence| *presence == wanted);
    if all(Presence::Landed) {
        EditCheck::Landed
    } else if all(Presence::NotLanded) {
        EditCheck::NotLanded
    } else {
        EditCheck::Unclear
    }
}

/// Finds out by the text what became of an edit whose run was cut short: an edit that was sent
/// may still land, so it gets its time.
pub async fn settle(place: &Arc<SessionWorld>, change: &FileChange) -> Report {
    let target = uri::to_path(&change.target).unwrap_or_default();
    // A write that was under way when its run was cut short goes on to its end.
    let _turn = place.world.edit_turns.turn(&target).await;
    let mut watch = place.world.documents.watch();
    let deadline = tokio::time::Instant::now() + SETTLE;
    let mut over = false;
    loop {
        let (here, of) = (place.clone(), change.clone());
        let look = aside(move || check_edit(&here, &of)).await;
        if look == EditCheck::Landed || over {
            return Report::Settled(look);
        }
        // No notification tells of a file on disk, so it is looked at again at the end.
        over = !matches!(tokio::time::timeout_at(deadline, watch.changed()).await, Ok(Ok(())));
    }
}

/// What the text shows of a change now. Blocks.
fn check_edit(place: &SessionWorld, change: &FileChange) -> EditCheck {
    let Ok(at) = resolve(&place.roots, &change.path) else { return EditCheck::Unclear };
    if uri::of_path(&at.absolute) != change.target {
        return EditCheck::Unclear;
    }
    let closed = matches!(place.world.documents.text(&at.absolute), Text::Closed);
    if change.open && closed {
        // It was open at the intent, so the disk is no evidence.
        return EditCheck::Unclear;
    }
    match now(place, &at) {
        Ok(now) if !now.exists => EditCheck::NotLanded,
        Ok(now) => found(&now.text, change),
        Err(_) => EditCheck::Unclear,
    }
}

#[cfg(test)]
mod tests;
