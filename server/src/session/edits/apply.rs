//! Brings an approved change into the text, by the editor wherever there is one.
//!
//! Never believes a reply without the text, never sends again what may still
//! come, and never saves text that is the user's own.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use adjutant_core::cause::Cause;
use adjutant_core::edit::{split_bom, text_edits};
use adjutant_core::event::{CallEnd, CallResult, Change, Found};
use adjutant_core::input::Report;
use adjutant_core::review::{Placement, apply_hunks, follow, hunks, placement};
use adjutant_core::session::Call;
use adjutant_core::tool::one_line;

use super::sight::{Shown, Sight, Tried};
use super::{BY_ACTION, Now, Place, SETTLE, found, no_way, now, on_disk, put_blob, said_first};
use crate::documents::{Awaited, Misplaced, Text};
use crate::editor::{DocumentEdit, NoAnswer, Way};
use crate::faults::point;
use crate::tools::paths::{Grounded, ReplaceRefusal, Replaced, ground, replace_file};
use crate::uri;

/// Times an edit is placed anew and sent again after the first.
const MORE_TRIES: u32 = 2;
/// What is told of an edit that stands where nobody approved it.
const MISPLACED: &str = "the editor made it at the wrong place, because the text had changed meanwhile, and it \
                         could not be taken back; tell the user to undo the last change of the file";

/// Where a change is when it has landed.
enum Kept {
    /// On disk.
    Saved,
    /// In a document the user has open; it is the user's to save.
    Open,
    /// In a buffer that was not saved, for this reason if there is one.
    Unsaved(Option<String>),
    /// Its path leads to this other file by now.
    Elsewhere(String),
}

/// Brings an approved change into the text: at most three placements, each against the text as it
/// is then, each believed only when the text shows it.
pub async fn apply(place: &Place, call: &Call, change: &Change) -> Report {
    let started = Instant::now();
    // Up to the save: another edit in between would be saved with this one, or look like a save that failed.
    let target = uri::to_path(&change.target).unwrap_or_default();
    let _turn = place.world.editor.turn(&target).await;
    let mut stale = String::new();
    for _ in 0..=MORE_TRIES {
        // Before each: what made an edit stale is the user's text.
        let saves = ours_to_save(place, change);
        match attempt(place, call, change).await {
            Tried::Landed { exact, text } => {
                let saves = saves && exact && text.is_none_or(|text| shows_only(place, change, &text));
                let kept = keep(place, change, saves).await;
                return match kept {
                    Kept::Elsewhere(path) => elsewhere(change, &path, started),
                    kept => landed(change, (kept, exact), started),
                };
            }
            Tried::Undone => return undone(change, started),
            Tried::Stale(why) => stale = why,
            Tried::Overtaken(why) => return show_anew(place, change, &why, started).await,
            Tried::Partly(hunks) => return partly(change, hunks, started),
            Tried::Failed { why, in_doubt } => return not_applied(change, &why, in_doubt, started),
        }
    }
    show_anew(place, change, &format!("the text kept changing ({stale})"), started).await
}

/// The change as it would be made in the text as it is now, for the user to decide again; where it has
/// no place there any more, the model is told.
async fn show_anew(place: &Place, change: &Change, why: &str, started: Instant) -> Report {
    let failed = |why: String| not_applied(change, &why, false, started);
    let at = match ground(&place.roots, &change.path) {
        Ok(at) => at,
        Err(why) => return failed(why.to_string()),
    };
    let now = match now(place, &at) {
        Ok(now) => now,
        Err(why) => return failed(why.text),
    };
    let wanted = match apply_hunks(&now.text, &change.hunks) {
        Ok(wanted) if wanted != now.text || !now.exists => wanted,
        Ok(_) => return landed(change, (Kept::Open, false), started),
        Err(conflict) => return failed(format!("{why}; {conflict}; read the file again")),
    };
    let before = match now.exists {
        true => put_blob(place, now.bytes_of(&now.text)).await.map(Some),
        false => Ok(None),
    };
    let before = match before {
        Ok(before) => before,
        Err(why) => return failed(why),
    };
    let changed = format!("{why}, so this is the edit as it would be made now");
    let way = place.world.abilities().way(now.open.is_some(), now.exists, now.mark);
    let warning = said_first(way, &at).map(|why| why.text);
    let anew = Change {
        open: now.open.is_some(),
        existed: now.exists,
        always_ask: Some([Some(changed), warning].into_iter().flatten().collect::<Vec<_>>().join("; ")),
        cause: Some(Cause::Changed),
        before,
        hunks: hunks(&now.text, &wanted).into(),
        ..change.clone()
    };
    let text = format!("The edit of {} was not applied: {why}; read the file and try again.", change.path);
    let result = failed_result(text, &format!("not applied: {}", one_line(why, 60)), started);
    Report::Overtaken { change: Box::new(anew), result }
}

/// The user's undo is an answer too.
fn undone(change: &Change, started: Instant) -> Report {
    let result = failed_result(
        format!(
            "The edit of {} was applied and taken back at once, most likely by the user's undo. Do not make it \
             again unless the user wants it.",
            change.path
        ),
        "applied and undone at once",
        started,
    );
    // It was made, and the user said what to think of it: nothing to warn of.
    let result = CallResult { cause: None, ..result };
    Report::NotApplied { result, in_doubt: false, landed: Vec::new() }
}

/// The editor made it, and the path that was allowed leads to another file.
fn elsewhere(change: &Change, path: &str, started: Instant) -> Report {
    let result = failed_result(
        format!(
            "The edit of {} was made, but {}. Look at both files before you go on.",
            change.path,
            leads_elsewhere(path)
        ),
        "landed in another file",
        started,
    );
    let landed = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    Report::NotApplied { result, in_doubt: false, landed }
}

fn leads_elsewhere(path: &str) -> String {
    format!("the path leads elsewhere since it was allowed: the editor may have written \"{path}\"")
}

/// Whether the change is saved once it is there: when nothing of the file is unsaved now, so that only the
/// change is written.
fn ours_to_save(place: &Place, change: &Change) -> bool {
    let Ok(at) = ground(&place.roots, &change.path) else { return false };
    match place.world.documents.text(&at.absolute) {
        Text::Closed => true,
        Text::Unsynced(_) => false,
        Text::Open(snapshot) => match now(place, &at) {
            Ok(now) if now.blank.is_some() => true,
            _ => on_disk(&at).is_ok_and(|disk| disk.exists && same_text(&snapshot.string(), &disk.text)),
        },
    }
}

/// Whether the document is as it was sent: typing between edit and save makes it the user's to save.
fn shows_only(place: &Place, change: &Change, text: &str) -> bool {
    let Ok(at) = ground(&place.roots, &change.path) else { return false };
    match place.world.documents.text(&at.absolute) {
        Text::Open(snapshot) => same_text(&snapshot.string(), text),
        Text::Unsynced(_) | Text::Closed => false,
    }
}

fn landed(change: &Change, (kept, exact): (Kept, bool), started: Instant) -> Report {
    let removed: usize = change.hunks.iter().map(|hunk| hunk.removed.len()).sum();
    let inserted: usize = change.hunks.iter().map(|hunk| hunk.inserted.len()).sum();
    let verb = if change.existed { "Edited" } else { "Created" };
    let mut output = format!("{verb} {}: +{inserted} -{removed} lines.", change.path);
    let unsaved = matches!(kept, Kept::Unsaved(Some(_)));
    match kept {
        Kept::Saved | Kept::Elsewhere(_) => {}
        Kept::Open => output.push_str(" The file is open in the editor and not saved yet."),
        Kept::Unsaved(None) => {
            output.push_str(" The editor has the change in a buffer that is not saved yet.");
        }
        Kept::Unsaved(Some(why)) => {
            output.push_str(&format!(" The editor has the change in a buffer, but did not save it: {why}."));
        }
    }
    if !exact {
        output.push_str(
            " The file was changed otherwise at the same time; read the file before the next edit.",
        );
    }
    Report::Applied(CallResult {
        end: CallEnd::Completed,
        output: output.into(),
        summary: format!("+{inserted} -{removed} lines{}", if unsaved { ", not saved" } else { "" }),
        elapsed_ms: started.elapsed().as_millis() as u64,
        cause: unsaved.then_some(Cause::NotSaved),
        whole: None,
        unsaved: Vec::new(),
    })
}

fn not_applied(change: &Change, why: &str, in_doubt: bool, started: Instant) -> Report {
    let doubt = if in_doubt { " It may still appear; read the file before you go on." } else { "" };
    let result = failed_result(
        format!("The edit of {} was not applied: {why}.{doubt}", change.path),
        &format!("not applied: {}", one_line(why, 60)),
        started,
    );
    Report::NotApplied { result, in_doubt, landed: Vec::new() }
}

/// What the editor left out, the user may have left out on purpose; so it is not sent again.
fn partly(change: &Change, landed: Vec<String>, started: Instant) -> Report {
    let (all, made) = (change.hunks.len(), landed.len());
    let left = change.hunks.iter().filter(|hunk| !landed.contains(&hunk.id));
    let lines: Vec<String> = left.take(10).map(|hunk| (hunk.line + 1).to_string()).collect();
    let result = failed_result(
        format!(
            "The edit of {} was applied only in part: {made} of {all} changes are in the text. The editor left out \
             what was at line {} before; perhaps the user did not want it. Read the file before you go on.",
            change.path,
            lines.join(", ")
        ),
        &format!("{made} of {all} changes applied"),
        started,
    );
    Report::NotApplied { result, in_doubt: false, landed }
}

fn failed_result(output: String, summary: &str, started: Instant) -> CallResult {
    CallResult {
        end: CallEnd::Failed,
        output: output.into(),
        summary: summary.to_owned(),
        elapsed_ms: started.elapsed().as_millis() as u64,
        // An allowed edit that is not made as it was said is told to the user, too.
        cause: Some(Cause::NotMade),
        whole: None,
        unsaved: Vec::new(),
    }
}

async fn attempt(place: &Place, call: &Call, change: &Change) -> Tried {
    let failed = |why: String| Tried::Failed { why, in_doubt: false };
    let at = match ground(&place.roots, &change.path) {
        Ok(at) if !at.inside || uri::of_path(&at.absolute) != change.target => {
            return failed("the path leads elsewhere than when it was shown".to_owned());
        }
        Ok(at) if at.has_other_names() => {
            return failed("the file has other names (hard links) since it was shown".to_owned());
        }
        Ok(at) => at,
        Err(why) => return failed(why.to_string()),
    };
    let now = match now(place, &at) {
        Ok(now) => now,
        Err(why) => return failed(why.text),
    };
    if change.existed && !now.exists {
        return failed("the file is gone since it was shown".to_owned());
    }
    let change = match placed(place, change, &now.text) {
        Ok(change) => change,
        Err(tried) => return tried,
    };
    let wanted = match apply_hunks(&now.text, &change.hunks) {
        Ok(text) => Arc::<str>::from(text),
        Err(conflict) => return failed(format!("{conflict}; read the file again")),
    };
    // An empty file that is open and not there yet has only to be saved.
    if *wanted == *now.text && (now.exists || now.blank.is_some()) {
        return Tried::Landed { exact: true, text: None };
    }
    match place.world.abilities().way(now.open.is_some(), now.exists, now.mark) {
        Way::Editor => send(place, call, &change, (&at, &now, &wanted)).await,
        // No action carries it there.
        Way::Action if matches!(change, Cow::Owned(_)) => {
            Tried::Overtaken("the lines around it changed since it was shown".to_owned())
        }
        Way::Action => come_by_action(place, &change, (&at, &now, &wanted)).await,
        Way::DiskIfSaved if change.open => {
            Tried::Overtaken("the editor does not have the file open any more".to_owned())
        }
        Way::Disk | Way::DiskIfSaved => write(place, at, &now, &wanted).await,
        Way::Nowhere => failed(no_way(&change.path)),
    }
}

/// Replaces the file on disk.
async fn write(place: &Place, at: Grounded, now: &Now, wanted: &str) -> Tried {
    let failed = |why: String| Tried::Failed { why, in_doubt: false };
    let (turns, expected, bytes) = (place.world.turns.clone(), now.disk, now.bytes_of(wanted));
    point("edit-sent");
    let written = tokio::task::spawn_blocking(move || replace_file(&turns, &at, expected, &bytes)).await;
    point("edit-answered");
    match written {
        Ok(Ok(replaced)) => {
            if let Replaced::Unsynced(error) = replaced {
                tracing::warn!(%error, "the folder of an edited file could not be synced");
            }
            point("edit-landed");
            point("edit-saved");
            Tried::Landed { exact: true, text: None }
        }
        // Somebody else wrote it meanwhile; the change may have its place in the new text, too.
        Ok(Err(why @ ReplaceRefusal::Changed(_))) => Tried::Stale(why.to_string()),
        Ok(Err(why)) => failed(why.to_string()),
        Err(_) => failed("writing it broke inside Adjutant".to_owned()),
    }
}

/// Sends the edit to the editor and looks at the text for what became of it.
async fn send(
    place: &Place,
    call: &Call,
    change: &Change,
    (at, now, wanted): (&Grounded, &Now, &Arc<str>),
) -> Tried {
    let (documents, editor) = (&place.world.documents, &place.world.editor);
    let uri = documents.name_of(&at.absolute);
    let edits: Arc<[_]> =
        text_edits(now.blank.as_ref().unwrap_or(&now.text), wanted, documents.encoding()).into();
    let awaited = Awaited { text: wanted.clone(), version: now.open, edits: edits.clone() };
    let expectation = documents.expect(&uri, awaited);
    let mut edit = DocumentEdit {
        label: format!("Adjutant: {}", call.title),
        uri,
        version: now.open,
        unversioned: false,
        edits,
    };
    let sight = Sight { place, change, at, before: now, wanted, expectation };
    let mut watch = documents.watch();
    point("edit-sent");
    let mut reply = sight.reply(editor.apply(edit.clone()), documents.watch()).await;
    point("edit-answered");
    let mut shown = sight.shows(watch, &reply).await;
    // The form it says nothing about was refused or passed over, and the text is still the one the edit was
    // made for.
    if shown.is_none() && !editor.abilities.document_changes && sight.is_ignored(&reply) {
        edit.unversioned = true;
        watch = documents.watch();
        reply = sight.reply(editor.apply(edit), documents.watch()).await;
        shown = sight.shows(watch, &reply).await;
    }
    let exact = match shown {
        Some(Shown::Exactly) => true,
        Some(Shown::Otherwise) => false,
        Some(Shown::Undone) => return Tried::Undone,
        Some(Shown::Misplaced(misplaced)) => return take_back(place, call, at, misplaced).await,
        None if reply == Err(NoAnswer::Unknown) && editor.abilities().takes_by_action() => {
            return Tried::Overtaken("the editor takes no edits that are sent to it".to_owned());
        }
        None => {
            return match settled_place(place, change, Kept::Open) {
                Kept::Elsewhere(path) => Tried::Failed { why: leads_elsewhere(&path), in_doubt: false },
                _ => sight.disbelieved(reply),
            };
        }
    };
    point("edit-landed");
    if now.open.is_none() {
        documents.opened_by_us(&at.absolute);
    }
    Tried::Landed { exact, text: Some(wanted.clone()) }
}

/// Waits for the edit that the chosen code action carries: nothing is sent, so nothing is made twice.
async fn come_by_action(
    place: &Place,
    change: &Change,
    (at, now, wanted): (&Grounded, &Now, &Arc<str>),
) -> Tried {
    let documents = &place.world.documents;
    let uri = documents.name_of(&at.absolute);
    let edits: Arc<[_]> = text_edits(&now.text, wanted, documents.encoding()).into();
    let expectation = documents.expect(&uri, Awaited { text: wanted.clone(), version: now.open, edits });
    let sight = Sight { place, change, at, before: now, wanted, expectation };
    let failed = |why: &str| Tried::Failed { why: why.to_owned(), in_doubt: false };
    match sight.shows(documents.watch(), &Err(NoAnswer::Unknown)).await {
        Some(Shown::Exactly) => Tried::Landed { exact: true, text: Some(wanted.clone()) },
        Some(Shown::Otherwise) => Tried::Landed { exact: false, text: Some(wanted.clone()) },
        Some(Shown::Undone) => Tried::Undone,
        Some(Shown::Misplaced(_)) => failed(MISPLACED),
        None => failed(BY_ACTION),
    }
}

/// The editor ignored the version and made the edit where nobody approved it: our own doing is taken back,
/// and the user's typing stays.
async fn take_back(place: &Place, call: &Call, at: &Grounded, misplaced: Misplaced) -> Tried {
    let failed = || Tried::Failed { why: MISPLACED.to_owned(), in_doubt: false };
    let (documents, editor) = (&place.world.documents, &place.world.editor);
    let Ok(now) = now(place, at) else { return failed() };
    if now.text != misplaced.after {
        return failed();
    }
    let uri = documents.name_of(&at.absolute);
    let edits: Arc<[_]> = text_edits(&now.text, &misplaced.before, documents.encoding()).into();
    let awaited = Awaited { text: misplaced.before.into(), version: now.open, edits: edits.clone() };
    let expectation = documents.expect(&uri, awaited);
    let label = format!("Adjutant: taken back, {}", call.title);
    let edit = DocumentEdit { label, uri, version: now.open, unversioned: false, edits };
    let mut watch = documents.watch();
    let _ = editor.apply(edit).await;
    let deadline = tokio::time::Instant::now() + SETTLE;
    while !expectation.seen() {
        match tokio::time::timeout_at(deadline, watch.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return failed(),
        }
    }
    Tried::Stale("the editor made the edit for an older text, which was taken back".to_owned())
}

/// An approval binds each hunk with its context (decision 15). Where that changed, the hunk goes with the
/// lines it replaces if these are untouched and there once; anything else was not approved.
fn placed<'a>(place: &Place, change: &'a Change, text: &str) -> Result<Cow<'a, Change>, Tried> {
    let places: Vec<Placement> = change.hunks.iter().map(|hunk| placement(text, hunk)).collect();
    let holds = |place: &Placement| {
        matches!(place, Placement::At { unchanged: true, .. } | Placement::AlreadyThere { .. })
    };
    if places.iter().all(holds) {
        return Ok(Cow::Borrowed(change));
    }
    let before = change.before.as_deref().and_then(|hash| place.blobs.get(hash).ok()).unwrap_or_default();
    let before = String::from_utf8(before).unwrap_or_default();
    if let Some(hunks) = follow(split_bom(&before).1, text, &change.hunks) {
        return Ok(Cow::Owned(Change { hunks: hunks.into(), ..change.clone() }));
    }
    match places.iter().any(|place| matches!(place, Placement::At { unchanged: false, .. })) {
        true => Err(Tried::Overtaken("the lines around it changed since it was shown".to_owned())),
        // What stands in the way is said by those who make it.
        false => Ok(Cow::Borrowed(change)),
    }
}

/// Saves what is ours to save; says where the change is then.
async fn keep(place: &Place, change: &Change, saves: bool) -> Kept {
    let Ok(at) = ground(&place.roots, &change.path) else { return Kept::Elsewhere(change.path.clone()) };
    if !matches!(place.world.documents.text(&at.absolute), Text::Open(_)) {
        return settled_place(place, change, Kept::Saved);
    }
    if !saves {
        let ours = place.world.documents.is_ours(&at.absolute);
        return if ours { Kept::Unsaved(None) } else { Kept::Open };
    }
    if !place.world.editor.abilities.save {
        // Some editors save by themselves what a server has changed.
        if shows_only_disk(place, &at) {
            return settled_place(place, change, Kept::Saved);
        }
        return if change.open { Kept::Open } else { Kept::Unsaved(None) };
    }
    let uri = place.world.documents.name_of(&at.absolute);
    let kept = match place.world.editor.save(&uri, "nothing else in the file was unsaved").await {
        Ok(()) => {
            point("edit-saved");
            saved(place, change, &at)
        }
        Err(why) => Kept::Unsaved(Some(why.to_string())),
    };
    settled_place(place, change, kept)
}

/// An editor writes by the name it has, whatever that leads to by then: a file that landed elsewhere is
/// told.
fn settled_place(place: &Place, change: &Change, kept: Kept) -> Kept {
    match ground(&place.roots, &change.path) {
        Ok(at) if at.inside && uri::of_path(&at.absolute) == change.target => kept,
        Ok(at) => Kept::Elsewhere(at.display),
        Err(_) => Kept::Elsewhere(change.path.clone()),
    }
}

/// The file decides whether it was saved; one that is kept in another encoding is not compared.
fn saved(place: &Place, change: &Change, at: &Grounded) -> Kept {
    let shows = |buffer: &str, disk: &str| same_text(buffer, disk) || found(disk, change) == Found::Landed;
    match (place.world.documents.text(&at.absolute), on_disk(at)) {
        (Text::Open(buffer), Ok(disk)) if !disk.exists || !shows(&buffer.string(), &disk.text) => {
            Kept::Unsaved(Some("the editor said it was saved, but the file does not show it".to_owned()))
        }
        _ => Kept::Saved,
    }
}

/// Whether the document is what is on disk.
fn shows_only_disk(place: &Place, at: &Grounded) -> bool {
    match (place.world.documents.text(&at.absolute), on_disk(at)) {
        (Text::Open(buffer), Ok(disk)) => disk.exists && same_text(&buffer.string(), &disk.text),
        _ => false,
    }
}

/// A byte order mark is no part of the text, and most editors do not show it.
fn same_text(one: &str, other: &str) -> bool {
    split_bom(one).1 == split_bom(other).1
}
