//! Edits: prepared against the text as it is now, applied by the editor,
//! believed only when the text shows them (N05, D8).
//!
//! Never writes an open document and never repeats what is already there.

use std::time::{Duration, Instant};

use adjutant_core::edit::{rewritten, text_edits};
use adjutant_core::event::{CallEnd, CallResult, Change, Found, Payload, Report};
use adjutant_core::locate;
use adjutant_core::review::{Placement, Presence, apply_hunks, hunks, placement, present};
use adjutant_core::session::Call;
use adjutant_core::tool::Arguments;

use super::Place;
use super::prepare::refused;
use crate::documents::{Text, uri_of};
use crate::editor::{Applied, DocumentEdit, NoAnswer};
use crate::faults::point;
use crate::tools::paths::{Grounded, Kind, OpenRefusal, ground, hash_of, open_read, replace_file};
use crate::tools::protected::{ReadClass, WriteClass, read_class, write_class};

/// How long the text may take to follow the editor's reply (protocol section 9.2).
const SETTLE: Duration = Duration::from_millis(1_500);
/// Times an edit is placed anew and sent again after the first.
const MORE_TRIES: u32 = 2;
/// The largest file that is edited.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Bytes of all hunks of one change; more does not fit a review.
const MAX_CHANGE: usize = 2 * 1024 * 1024;

/// A file as it is now.
struct Now {
    /// The text that counts: the buffer's, or the disk's.
    text: String,
    open: Option<i32>,
    exists: bool,
    /// Hash of the bytes on disk, where those count.
    disk: Option<[u8; 32]>,
}

/// Grounds, reads and locates; what comes out is the change to be judged.
pub async fn prepare(place: &Place, arguments: Arguments) -> Report {
    match propose(place, arguments) {
        Ok((mut change, before)) => {
            if let Some(bytes) = before {
                match put_blob(place, bytes).await {
                    Ok(hash) => change.before = Some(hash),
                    Err(why) => return Report::Prepared(refused(why)),
                }
            }
            Report::PreparedChange(Box::new(change))
        }
        Err(payload) => Report::Prepared(payload),
    }
}

async fn put_blob(place: &Place, bytes: Vec<u8>) -> Result<String, String> {
    let blobs = place.blobs.clone();
    let put = tokio::task::spawn_blocking(move || blobs.put(&bytes));
    match put.await {
        Ok(Ok(blob)) => {
            point("before-image-kept");
            Ok(blob.hash)
        }
        Ok(Err(error)) => Err(format!("keep the text as it was before: {error}; nothing was changed")),
        Err(_) => Err("keep the text as it was before; nothing was changed".to_owned()),
    }
}

fn propose(place: &Place, arguments: Arguments) -> Result<(Change, Option<Vec<u8>>), Payload> {
    let path = match &arguments {
        Arguments::EditFile { path, .. } | Arguments::WriteFile { path, .. } => path,
        _ => return Err(refused("this is not an edit".to_owned())),
    };
    let at = ground(&place.roots, path).map_err(|why| refused(why.to_string()))?;
    if !at.inside {
        let reason = format!("\"{}\" is outside the workspace, where nothing is written", at.display);
        return Err(Payload::Denied { reason });
    }
    let always_ask = match write_class(&at, &place.world.own) {
        WriteClass::Plain => None,
        WriteClass::Marked(_) => None,
        WriteClass::Ask(why) => Some(format!("\"{}\" {why}", at.display)),
        WriteClass::Denied(why) => {
            return Err(Payload::Denied { reason: format!("\"{}\" is protected: it {why}", at.display) });
        }
    };
    let now = now(place, &at).map_err(refused)?;
    let secret = matches!(read_class(&at), ReadClass::Secret(_));
    let after = after(&arguments, &now, &at)
        .and_then(|after| match now.exists && after == now.text {
            true => Err(format!("\"{}\" has this content already; nothing to change", at.display)),
            false => Ok(after),
        })
        // Nobody has allowed this text to be read, and the reasons quote it (P5).
        .map_err(|why| refused(if secret && now.exists { untold(&at) } else { why }))?;
    let hunks = hunks(&now.text, &after);
    let size: usize = hunks.iter().flat_map(|hunk| hunk.removed.iter().chain(&hunk.inserted)).map(String::len).sum();
    if size > MAX_CHANGE {
        return Err(refused(format!(
            "the change of \"{}\" is {size} bytes; at most {MAX_CHANGE} fit one review, so split it",
            at.display
        )));
    }
    let change = Change {
        change_set: "".into(),
        path: at.display.clone(),
        uri: place.world.documents.name_of(&at.absolute),
        target: uri_of(&at.absolute),
        open: now.open.is_some(),
        existed: now.exists,
        always_ask,
        before: None,
        hunks,
    };
    Ok((change, now.exists.then(|| now.text.into_bytes())))
}

/// Why a change of a secret file cannot be made, with nothing of its text.
fn untold(at: &Grounded) -> String {
    format!(
        "\"{}\" was not changed: it may hold secrets, so nothing is told of its text here, and the edit does not fit \
         it; read the file first, which asks the user",
        at.display
    )
}

/// The whole new text.
fn after(arguments: &Arguments, now: &Now, at: &Grounded) -> Result<String, String> {
    match arguments {
        Arguments::EditFile { old_text, new_text, replace_all, .. } => {
            if !now.exists {
                return Err(format!("\"{}\" does not exist; write_file creates it", at.display));
            }
            locate::replace(&now.text, old_text, new_text, *replace_all)
                .map_err(|why| format!("\"{}\" was not changed: {why}", at.display))
        }
        Arguments::WriteFile { content, .. } => Ok(rewritten(&now.text, content)),
        _ => Err("this is not an edit".to_owned()),
    }
}

/// The text of a file as it is now: the buffer before the disk.
fn now(place: &Place, at: &Grounded) -> Result<Now, String> {
    match place.world.documents.text(&at.absolute) {
        Text::Open(snapshot) => Ok(Now {
            open: snapshot.version,
            text: snapshot.string(),
            exists: true,
            disk: None,
        }),
        Text::Unsynced(why) => Err(format!(
            "\"{}\" is open in the editor, but its text is not known ({why}); it is neither read nor edited \
             until the editor sends it whole",
            at.display
        )),
        Text::Closed => on_disk(at),
    }
}

fn on_disk(at: &Grounded) -> Result<Now, String> {
    if at.kind == Some(Kind::Directory) {
        return Err(format!("\"{}\" is a directory", at.display));
    }
    let file = match open_read(at) {
        Ok(file) => file,
        Err(OpenRefusal::Missing) => {
            return Ok(Now { text: String::new(), open: None, exists: false, disk: None });
        }
        Err(why) => return Err(format!("\"{}\" cannot be edited: {why}", at.display)),
    };
    let mut bytes = Vec::new();
    use std::io::Read;
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("\"{}\" cannot be read: {error}", at.display))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("\"{}\" is larger than {MAX_FILE} bytes and is not edited", at.display));
    }
    let disk = Some(hash_of(&bytes));
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Now { text, open: None, exists: true, disk }),
        Err(_) => Err(format!("\"{}\" is not UTF-8 text and is not edited", at.display)),
    }
}

/// What one try to bring the hunks into the text came to.
enum Tried {
    /// They are there.
    Landed { saved: Result<bool, String> },
    /// The text moved on; place them anew.
    Stale(String),
    /// It cannot be done.
    Failed { why: String, in_doubt: bool },
}

/// Brings an approved change into the text: at most three placements, each against the text as it
/// is then, each believed only when the text shows it.
pub async fn apply(place: &Place, call: &Call, change: &Change) -> Report {
    let started = Instant::now();
    let mut stale = String::new();
    for _ in 0..=MORE_TRIES {
        match attempt(place, call, change).await {
            Tried::Landed { saved } => return landed(change, saved, started),
            Tried::Stale(why) => stale = why,
            Tried::Failed { why, in_doubt } => return not_applied(change, &why, in_doubt, started),
        }
    }
    not_applied(change, &format!("the text kept changing ({stale})"), false, started)
}

fn landed(change: &Change, saved: Result<bool, String>, started: Instant) -> Report {
    let removed: usize = change.hunks.iter().map(|hunk| hunk.removed.len()).sum();
    let inserted: usize = change.hunks.iter().map(|hunk| hunk.inserted.len()).sum();
    let verb = if change.existed { "Edited" } else { "Created" };
    let where_now = match (change.open, saved) {
        (true, _) => " The file is open in the editor and not saved yet.".to_owned(),
        (false, Ok(true)) => String::new(),
        (false, Ok(false)) => " The editor has the change in a buffer that is not saved yet.".to_owned(),
        (false, Err(why)) => format!(" The editor has the change in a buffer, but did not save it: {why}."),
    };
    Report::Applied(CallResult {
        end: CallEnd::Completed,
        output: format!("{verb} {}: +{inserted} -{removed} lines.{where_now}", change.path).into(),
        summary: format!("+{inserted} -{removed} lines"),
        elapsed_ms: started.elapsed().as_millis() as u64,
        whole: None,
    })
}

fn not_applied(change: &Change, why: &str, in_doubt: bool, started: Instant) -> Report {
    let doubt = if in_doubt { " It may still appear; read the file before you go on." } else { "" };
    let result = CallResult {
        end: CallEnd::Failed,
        output: format!("The edit of {} was not applied: {why}.{doubt}", change.path).into(),
        summary: format!("not applied: {}", adjutant_core::tool::one_line(why, 60)),
        elapsed_ms: started.elapsed().as_millis() as u64,
        whole: None,
    };
    Report::NotApplied { result, in_doubt }
}

async fn attempt(place: &Place, call: &Call, change: &Change) -> Tried {
    let failed = |why: String| Tried::Failed { why, in_doubt: false };
    let at = match ground(&place.roots, &change.path) {
        Ok(at) if at.inside && uri_of(&at.absolute) == change.target => at,
        Ok(_) => return failed("the path leads elsewhere than when it was shown".to_owned()),
        Err(why) => return failed(why.to_string()),
    };
    let now = match now(place, &at) {
        Ok(now) => now,
        Err(why) => return failed(why),
    };
    let create = !now.exists;
    if let Some(why) = moved_context(&now.text, change) {
        return failed(why);
    }
    let wanted = match apply_hunks(&now.text, &change.hunks) {
        Ok(text) => text,
        Err(conflict) => return failed(format!("{conflict}; read the file again")),
    };
    if wanted == now.text && !create {
        return Tried::Landed { saved: save(place, change, &at, true).await };
    }
    let abilities = place.world.editor.abilities;
    if !abilities.apply_edit || (create && !abilities.create_files) {
        return match (now.open, abilities.complete || create) {
            (None, true) => match replace_file(&at, now.disk, wanted.as_bytes()) {
                Ok(()) => Tried::Landed { saved: Ok(true) },
                Err(why) => failed(why.to_string()),
            },
            _ => failed("the editor does not take edits".to_owned()),
        };
    }
    let edit = DocumentEdit {
        label: format!("Adjutant: {}", call.title),
        uri: place.world.documents.name_of(&at.absolute),
        version: now.open,
        create,
        edits: text_edits(&now.text, &wanted, place.world.documents.encoding()),
    };
    let watch = place.world.documents.watch();
    point("edit-sent");
    let reply = place.world.editor.apply(edit).await;
    point("edit-answered");
    if shows(place, change, &at, &wanted, watch, &reply).await {
        point("edit-landed");
        return Tried::Landed { saved: save(place, change, &at, false).await };
    }
    disbelieved(place, &at, &now, reply)
}

/// An approval binds the hunk with its context (decision 15): one that is found only with less of
/// it was not approved.
fn moved_context(text: &str, change: &Change) -> Option<String> {
    let moved = change.hunks.iter().any(|hunk| {
        matches!(placement(text, hunk), Placement::At { unchanged: false, .. })
    });
    moved.then(|| "the lines around it changed since it was shown; read the file again".to_owned())
}

/// The editor answered and the text does not show the change.
fn disbelieved(place: &Place, at: &Grounded, before: &Now, reply: Result<Applied, NoAnswer>) -> Tried {
    let moved = self::now(place, at).is_ok_and(|now| now.text != before.text || now.open != before.open);
    match reply {
        Ok(Applied { applied: false, reason }) if moved => {
            Tried::Stale(reason.unwrap_or_else(|| "the editor refused a stale version".to_owned()))
        }
        Ok(Applied { applied: true, .. }) if moved => Tried::Stale("the text was changed meanwhile".to_owned()),
        Ok(Applied { applied: false, reason }) => Tried::Failed {
            why: reason.unwrap_or_else(|| "the editor refused it without a reason".to_owned()),
            in_doubt: false,
        },
        Ok(Applied { applied: true, .. }) => Tried::Failed {
            why: "the editor said it was applied, but the text does not show it".to_owned(),
            in_doubt: true,
        },
        Err(why) => Tried::Failed { why: why.to_string(), in_doubt: true },
    }
}

/// Waits, bounded, until the text shows every hunk.
async fn shows(
    place: &Place,
    change: &Change,
    at: &Grounded,
    wanted: &str,
    mut watch: tokio::sync::watch::Receiver<u64>,
    reply: &Result<Applied, NoAnswer>,
) -> bool {
    // A client that has refused has nothing more to send; one that has not is given time.
    let patience = match reply {
        Ok(Applied { applied: false, .. }) => Duration::from_millis(50),
        _ => SETTLE,
    };
    let deadline = tokio::time::Instant::now() + patience;
    loop {
        if let Ok(now) = now(place, at)
            && now.exists
            && (now.text == wanted || found(&now.text, change) == Found::Landed)
        {
            return true;
        }
        match tokio::time::timeout_at(deadline, watch.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return false,
        }
    }
}

/// What a text says about a change.
fn found(text: &str, change: &Change) -> Found {
    let all = |wanted| change.hunks.iter().all(|hunk| present(text, hunk) == wanted);
    if all(Presence::Landed) {
        Found::Landed
    } else if all(Presence::NotLanded) {
        Found::NotLanded
    } else {
        Found::Unclear
    }
}

/// Saves a file that was not open before; an open one is the user's to save.
async fn save(place: &Place, change: &Change, at: &Grounded, was_there: bool) -> Result<bool, String> {
    let in_buffer = matches!(place.world.documents.text(&at.absolute), Text::Open(_));
    if change.open || !in_buffer {
        return Ok(!in_buffer || was_there);
    }
    if !place.world.editor.abilities.save {
        return Ok(false);
    }
    let uri = place.world.documents.name_of(&at.absolute);
    match place.world.editor.save(&uri, "the file was not open before the edit").await {
        Ok(()) => {
            point("edit-saved");
            Ok(true)
        }
        Err(why) => Err(why.to_string()),
    }
}

/// Finds out by the text what became of an edit whose run was cut short: an edit that was sent
/// may still land, so it gets its time.
pub async fn settle(place: &Place, change: &Change) -> Report {
    let Ok(at) = ground(&place.roots, &change.path) else { return Report::Settled(Found::Unclear) };
    let mut watch = place.world.documents.watch();
    let deadline = tokio::time::Instant::now() + SETTLE;
    loop {
        let look = look(place, change, &at);
        if look == Found::Landed {
            return Report::Settled(look);
        }
        match tokio::time::timeout_at(deadline, watch.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Report::Settled(look),
        }
    }
}

fn look(place: &Place, change: &Change, at: &Grounded) -> Found {
    if uri_of(&at.absolute) != change.target {
        return Found::Unclear;
    }
    let closed = matches!(place.world.documents.text(&at.absolute), Text::Closed);
    if change.open && closed {
        // It was open at the intent, so the disk is no evidence.
        return Found::Unclear;
    }
    match now(place, at) {
        Ok(now) if !now.exists => Found::NotLanded,
        Ok(now) => found(&now.text, change),
        Err(_) => Found::Unclear,
    }
}
