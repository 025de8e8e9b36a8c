//! Brings an approved change into the text, by the editor wherever there is one.
//!
//! Never believes a reply without the text, sends again only what a client has refused or has ignored for 3 s,
//! and never saves text that is the user's own.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use adjutant_core::cause::Cause;
use adjutant_core::display::one_line;
use adjutant_core::edit::{replaced, split_bom, text_edits};
use adjutant_core::event::{CallEnd, CallResult, Change};
use adjutant_core::input::Report;
use adjutant_core::observation::{Seen, Way};
use adjutant_core::permission::BY_ACTION;
use adjutant_core::review::{Placement, apply_hunks, follow, hunks, placement_all};
use adjutant_core::session::Call;

use super::kept::{Kept, keep, ours_to_save, settled_place, shows_only};
use super::sight::{Shown, Sight, Tried};
use super::{Now, Place, SETTLE, no_way, now, put_blob};
use crate::documents::{Awaited, Misplaced};
use crate::editor::{DocumentEdit, NoAnswer};
use crate::faults::point;
use crate::tools::paths::{Grounded, ReplaceRefusal, Replaced, ground, replace_file};
use crate::uri;

/// Times an edit is placed anew and sent again after the first.
const MORE_TRIES: u32 = 2;
/// What the model has to do before it tries again.
const READ_AGAIN: &str = "; read the file again";
/// What is told of an edit that stands where nobody approved it.
const MISPLACED: &str = "the editor made it at the wrong place, because the text had changed meanwhile, and it \
                         could not be taken back; tell the user to undo the last change of the file";

/// Brings an approved change into the text: at most three placements, each against the text as it
/// is then, each believed only when the text shows it.
pub async fn apply(place: &Place, call: &Call, change: &Change) -> Report {
    let started = Instant::now();
    // Up to the save: another edit in between would be saved with this one, or look like a save that failed.
    let target = uri::to_path(&change.target).unwrap_or_default();
    let _turn = place.world.editor.turn(&target).await;
    let mut stale = String::new();
    for _ in 0..=MORE_TRIES {
        match attempt(place, call, change).await {
            Tried::Landed { exact, text, saves } => {
                let saves = saves && exact && text.is_none_or(|text| shows_only(place, change, &text));
                return finished(place, change, (saves, exact), started).await;
            }
            Tried::Undone => return undone(change, started),
            Tried::Misplaced => return misplaced(change, started),
            Tried::Stale(why) => stale = why,
            Tried::Overtaken(why) => return show_anew(place, (call, change), &why, started).await,
            Tried::Partly(hunks) => return partly(change, hunks, started),
            Tried::Failed { why, in_doubt } => return not_applied(change, &why, in_doubt, started),
        }
    }
    show_anew(place, (call, change), &format!("the text kept changing ({stale})"), started).await
}

/// Saves what is ours to save, and says where the change is then.
async fn finished(place: &Place, change: &Change, (saves, exact): (bool, bool), started: Instant) -> Report {
    match keep(place, change, saves).await {
        Kept::Elsewhere(path) => {
            let summary = format!("landed in another file: {}", one_line(&path, 50));
            strayed(change, (&leads_elsewhere(&path), &summary), started)
        }
        Kept::Unknown(why) => {
            let summary = format!("made, but where it is now is not known: {}", one_line(&why, 40));
            strayed(change, (&format!("where it is now is not known: {why}"), &summary), started)
        }
        kept => landed(change, (kept, exact), started),
    }
}

/// The change as it would be made in the text as it is now, for the user to decide again; where it has
/// no place there any more, the model is told.
async fn show_anew(place: &Place, (call, change): (&Call, &Change), why: &str, started: Instant) -> Report {
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
        Ok(_) => return finished(place, change, (false, false), started).await,
        Err(conflict) => return failed(format!("{why}; {conflict}{READ_AGAIN}")),
    };
    let before = match now.exists {
        true => put_blob(place, now.bytes_of(&now.text)).await.map(Some),
        false => Ok(None),
    };
    let before = match before {
        Ok(before) => before,
        Err(why) => return failed(why),
    };
    let seen = Seen {
        overtaken: Some(why.to_owned()),
        way: place.world.abilities().way(now.open.is_some(), now.exists, now.mark),
        ..call.seen.clone().unwrap_or_else(|| Seen::inside(&change.path))
    };
    let anew = Change {
        open: now.open.is_some(),
        existed: now.exists,
        before,
        hunks: hunks(&now.text, &wanted).into(),
        ..change.clone()
    };
    let text = format!("The edit of {} was not applied: {why}; read the file and try again.", change.path);
    let result = failed_result(text, &format!("not applied: {}", one_line(why, 60)), started);
    Report::Overtaken { change: Box::new(anew), seen: Box::new(seen), result }
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

/// It was made, and the path that was allowed leads to another file, or nobody knows where.
fn strayed(change: &Change, (why, summary): (&str, &str), started: Instant) -> Report {
    let output =
        format!("The edit of {} was made, but {why}. Look at what is there before you go on.", change.path);
    let result = failed_result(output, summary, started);
    let landed = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    Report::NotApplied { result, in_doubt: false, landed }
}

fn leads_elsewhere(path: &str) -> String {
    format!("the path leads elsewhere since it was allowed: the editor may have written \"{path}\"")
}

fn landed(change: &Change, (kept, exact): (Kept, bool), started: Instant) -> Report {
    let removed: usize = change.hunks.iter().map(|hunk| hunk.removed.len()).sum();
    let inserted: usize = change.hunks.iter().map(|hunk| hunk.inserted.len()).sum();
    let verb = if change.existed { "Edited" } else { "Created" };
    let mut output = format!("{verb} {}: +{inserted} -{removed} lines.", change.path);
    let unsaved = match &kept {
        Kept::Unsaved(Some(why)) => format!(", not saved: {}", one_line(why, 50)),
        _ => String::new(),
    };
    match kept {
        Kept::Saved | Kept::Elsewhere(_) | Kept::Unknown(_) => {}
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
        cause: (!unsaved.is_empty()).then_some(Cause::NotSaved),
        summary: format!("+{inserted} -{removed} lines{unsaved}"),
        elapsed_ms: started.elapsed().as_millis() as u64,
        whole: None,
        unsaved: Vec::new(),
    })
}

fn not_applied(change: &Change, why: &str, in_doubt: bool, started: Instant) -> Report {
    let (doubt, what) = match in_doubt {
        true => (" It may still appear; read the file before you go on.", "may still appear"),
        false => ("", "not applied"),
    };
    let result = failed_result(
        format!("The edit of {} was not applied: {why}.{doubt}", change.path),
        &format!("{what}: {}", one_line(why.strip_suffix(READ_AGAIN).unwrap_or(why), 60)),
        started,
    );
    Report::NotApplied { result, in_doubt, landed: Vec::new() }
}

/// It stands where nobody approved it.
fn misplaced(change: &Change, started: Instant) -> Report {
    let output = format!("The edit of {} was not applied: {MISPLACED}.", change.path);
    let summary = "made at the wrong place; undo the last change of the file";
    let result = failed_result(output, summary, started);
    Report::NotApplied { result, in_doubt: false, landed: Vec::new() }
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
        Err(conflict) => return failed(format!("{conflict}{READ_AGAIN}")),
    };
    // An empty file that is open and not there yet has only to be saved.
    if *wanted == *now.text && (now.exists || now.blank.is_some()) {
        return Tried::Landed { exact: true, text: None, saves: ours_to_save(&at, &now) };
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
            Tried::Landed { exact: true, text: None, saves: false }
        }
        // Somebody else wrote it meanwhile; the change may have its place in the new text, too.
        Ok(Err(why @ ReplaceRefusal::Changed(_))) => Tried::Stale(why.to_string()),
        // It may have the name of the file.
        Ok(Err(why @ ReplaceRefusal::Crossed(..))) => Tried::Failed { why: why.to_string(), in_doubt: true },
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
    let text = now.blank.as_ref().unwrap_or(&now.text);
    let edits: Arc<[_]> = text_edits(text, wanted, documents.encoding()).into();
    let replaced = replaced(text, &edits, documents.encoding());
    let awaited = Awaited { text: wanted.clone(), replaced, version: now.open, edits: edits.clone() };
    let expectation = documents.expect(&uri, awaited);
    let mut edit = DocumentEdit {
        label: format!("Adjutant: {}", call.title),
        uri,
        version: now.open,
        unversioned: false,
        edits,
    };
    let sight = Sight { place, change, at, before: now, wanted, expectation };
    // By the text that the edit is made for: what the user types from here on makes that text another one.
    let saves = ours_to_save(at, now);
    let mut watch = documents.watch();
    point("edit-sent");
    let mut reply = sight.reply(editor.apply(edit.clone()), documents.watch()).await;
    point("edit-answered");
    let mut shown = sight.shows(watch, &reply).await;
    // The form it says nothing about was refused or passed over, and the text is still the one the edit was
    // made for.
    let other_form = !editor.abilities.document_changes;
    if shown.is_none() && other_form && sight.is_called_applied(&reply) {
        // It may be slow to tell of its change: an edit that is sent again comes twice then.
        shown = sight.shows(documents.watch(), &reply).await;
    }
    if shown.is_none() && other_form && sight.is_ignored(&reply) {
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
                Kept::Unknown(why) => Tried::Failed { why, in_doubt: true },
                _ => sight.disbelieved(reply),
            };
        }
    };
    point("edit-landed");
    if now.open.is_none() {
        documents.opened_by_us(&at.absolute);
    }
    Tried::Landed { exact, text: Some(wanted.clone()), saves }
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
    let replaced = replaced(&now.text, &edits, documents.encoding());
    let awaited = Awaited { text: wanted.clone(), replaced, version: now.open, edits };
    let expectation = documents.expect(&uri, awaited);
    let sight = Sight { place, change, at, before: now, wanted, expectation };
    let saves = ours_to_save(at, now);
    match sight.shows(documents.watch(), &Err(NoAnswer::Unknown)).await {
        Some(Shown::Exactly) => Tried::Landed { exact: true, text: Some(wanted.clone()), saves },
        Some(Shown::Otherwise) => Tried::Landed { exact: false, text: Some(wanted.clone()), saves },
        Some(Shown::Undone) => Tried::Undone,
        Some(Shown::Misplaced(_)) => Tried::Misplaced,
        None => Tried::Failed { why: BY_ACTION.to_owned(), in_doubt: false },
    }
}

/// The editor ignored the version and made the edit where nobody approved it: our own doing is taken back,
/// and the user's typing stays.
async fn take_back(place: &Place, call: &Call, at: &Grounded, misplaced: Misplaced) -> Tried {
    let (documents, editor) = (&place.world.documents, &place.world.editor);
    let Ok(now) = now(place, at) else { return Tried::Misplaced };
    if now.text != misplaced.after {
        return Tried::Misplaced;
    }
    let uri = documents.name_of(&at.absolute);
    let edits: Arc<[_]> = text_edits(&now.text, &misplaced.before, documents.encoding()).into();
    let replaced = replaced(&now.text, &edits, documents.encoding());
    let text = misplaced.before.into();
    let awaited = Awaited { text, replaced, version: now.open, edits: edits.clone() };
    let expectation = documents.expect(&uri, awaited);
    let label = format!("Adjutant: taken back, {}", call.title);
    let edit = DocumentEdit { label, uri, version: now.open, unversioned: false, edits };
    let mut watch = documents.watch();
    let _ = editor.apply(edit).await;
    let deadline = tokio::time::Instant::now() + SETTLE;
    while !expectation.seen() {
        match tokio::time::timeout_at(deadline, watch.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Tried::Misplaced,
        }
    }
    Tried::Stale("the editor made the edit for an older text, which was taken back".to_owned())
}

/// An approval binds each hunk with its context (decision 15). Where that changed, the hunk goes with the
/// lines it replaces if these are untouched and there once; anything else was not approved.
fn placed<'a>(place: &Place, change: &'a Change, text: &str) -> Result<Cow<'a, Change>, Tried> {
    let places = placement_all(text, &change.hunks);
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
