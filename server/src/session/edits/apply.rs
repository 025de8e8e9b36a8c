//! Brings an approved change into the text, by the editor wherever there is one.
//!
//! Never believes a reply without the text, sends again only what a client has refused or has ignored for 3 s,
//! and never saves text that is the user's own.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use adjutant_core::machine::input::Report;
use adjutant_core::policy::cause::Cause;
use adjutant_core::policy::observation::{EditRoute, ObservedPath};
use adjutant_core::policy::permission::BY_ACTION;
use adjutant_core::record::{CallEnd, CallResult, FileChange};
use adjutant_core::session::Call;
use adjutant_core::text::display::one_line;
use adjutant_core::text::edit::{TextEdit, replaced, split_bom, text_edits};
use adjutant_core::text::review::{Placement, apply_hunks, follow, hunks, placement_all};
use tokio::sync::OwnedMutexGuard;

use super::landed::{LandedIn, keep, ours_to_save, settled_place, shows_only};
use super::verify::{ApplyAttempt, EditVerifier, HunkCheck, SentEdit, is_called_applied};
use super::{Now, SETTLE, SessionWorld, no_way, now, put_blob};
use crate::aside::{self, aside};
use crate::documents::{Expectation, ExpectedText, MisplacedEdit};
use crate::editor::{DocumentEdit, NoAnswer};
use crate::faults::point;
use crate::tools::paths::{ReplaceOutcome, ReplaceRefusal, ResolvedPath, replace_file, resolve};
use crate::uri;

/// The turn at one file.
type Turn = OwnedMutexGuard<()>;

/// Times an edit is placed anew and sent again after the first.
const MORE_TRIES: u32 = 2;
/// What the model has to do before it tries again.
const READ_AGAIN: &str = "; read the file again";
/// What is told of an edit that stands where nobody approved it.
const MISPLACED: &str = "the editor made it at the wrong place, because the text had changed meanwhile, and it \
                         could not be taken back; tell the user to undo the last change of the file";

/// Brings an approved change into the text: at most three placements, each against the text as it
/// is then, each believed only when the text shows it.
pub async fn apply(place: &Arc<SessionWorld>, call: &Call, change: &FileChange) -> Report {
    let started = Instant::now();
    // Up to the save: another edit in between would be saved with this one, or look like a save that failed.
    let target = uri::to_path(&change.target).unwrap_or_default();
    let turn = Arc::new(place.world.edit_turns.turn(&target).await);
    let mut stale = String::new();
    for _ in 0..=MORE_TRIES {
        match attempt(place, call, (change, &turn)).await {
            ApplyAttempt::Landed { exact, text, saves } => {
                let (here, of) = (place.clone(), change.clone());
                let only = move || text.is_none_or(|text| shows_only(&here, &of, &text));
                let saves = saves && exact && aside(only).await;
                return finished(place, change, (saves, exact), started).await;
            }
            ApplyAttempt::Undone => return undone(change, started),
            ApplyAttempt::Misplaced => return misplaced(change, started),
            ApplyAttempt::Stale(why) => stale = why,
            ApplyAttempt::Overtaken(why) => return show_anew(place, (call, change), why, started).await,
            ApplyAttempt::Partly(hunks) => return partly(change, hunks, started),
            ApplyAttempt::Failed { why, in_doubt } => return not_applied(change, &why, in_doubt, started),
        }
    }
    show_anew(place, (call, change), format!("the text kept changing ({stale})"), started).await
}

/// Saves what is ours to save, and says where the change is then.
async fn finished(
    place: &Arc<SessionWorld>,
    change: &FileChange,
    (saves, exact): (bool, bool),
    started: Instant,
) -> Report {
    match keep(place, change, saves).await {
        LandedIn::Elsewhere(path) => {
            let summary = format!("landed in another file: {}", one_line(&path, 50));
            strayed(change, (&leads_elsewhere(&path), &summary), started)
        }
        LandedIn::Unknown(why) => {
            let summary = format!("made, but where it is now is not known: {}", one_line(&why, 40));
            strayed(change, (&format!("where it is now is not known: {why}"), &summary), started)
        }
        kept => landed(change, (kept, exact), started),
    }
}

/// The change as it would be made in the text as it is now, for the user to decide again; where it has
/// no place there any more, the model is told.
async fn show_anew(
    place: &Arc<SessionWorld>,
    (call, change): (&Call, &FileChange),
    why: String,
    started: Instant,
) -> Report {
    let (here, seen, of) = (place.clone(), call.seen.clone(), change.clone());
    match aside(move || anew(&here, (seen, &of), &why, started)).await {
        Some(report) => report,
        None => finished(place, change, (false, false), started).await,
    }
}

/// Makes the change for the text as it is now; nothing where that has it already. Blocks.
fn anew(
    place: &SessionWorld,
    (seen, change): (Option<ObservedPath>, &FileChange),
    why: &str,
    started: Instant,
) -> Option<Report> {
    let failed = |why: String| Some(not_applied(change, &why, false, started));
    let at = match resolve(&place.roots, &change.path) {
        Ok(at) => at,
        Err(why) => return failed(why.to_string()),
    };
    let now = match now(place, &at) {
        Ok(now) => now,
        Err(why) => return failed(why.text),
    };
    let wanted = match apply_hunks(&now.text, &change.hunks) {
        Ok(wanted) if wanted != now.text || !now.exists => wanted,
        Ok(_) => return None,
        Err(conflict) => return failed(format!("{why}; {conflict}{READ_AGAIN}")),
    };
    let before = now.exists.then(|| put_blob(place, &now.bytes_of(&now.text))).transpose();
    let before = match before {
        Ok(before) => before,
        Err(why) => return failed(why),
    };
    let seen = ObservedPath {
        overtaken: Some(why.to_owned()),
        way: place.world.abilities().way(now.open.is_some(), now.exists, now.mark),
        ..seen.unwrap_or_else(|| ObservedPath::inside(&change.path))
    };
    let anew = FileChange {
        open: now.open.is_some(),
        existed: now.exists,
        before,
        hunks: hunks(&now.text, &wanted).into(),
        ..change.clone()
    };
    let text = format!("The edit of {} was not applied: {why}; read the file and try again.", change.path);
    let result = failed_result(text, &format!("not applied: {}", one_line(why, 60)), started);
    Some(Report::Overtaken { change: Box::new(anew), seen: Box::new(seen), result })
}

/// The user's undo is an answer too.
fn undone(change: &FileChange, started: Instant) -> Report {
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
fn strayed(change: &FileChange, (why, summary): (&str, &str), started: Instant) -> Report {
    let output =
        format!("The edit of {} was made, but {why}. Look at what is there before you go on.", change.path);
    let result = failed_result(output, summary, started);
    let landed = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    Report::NotApplied { result, in_doubt: false, landed }
}

fn leads_elsewhere(path: &str) -> String {
    format!("the path leads elsewhere since it was allowed: the editor may have written \"{path}\"")
}

fn landed(change: &FileChange, (kept, exact): (LandedIn, bool), started: Instant) -> Report {
    let removed: usize = change.hunks.iter().map(|hunk| hunk.removed.len()).sum();
    let inserted: usize = change.hunks.iter().map(|hunk| hunk.inserted.len()).sum();
    let verb = if change.existed { "Edited" } else { "Created" };
    let mut output = format!("{verb} {}: +{inserted} -{removed} lines.", change.path);
    let unsaved = match &kept {
        LandedIn::Unsaved(Some(why)) => format!(", not saved: {}", one_line(why, 50)),
        _ => String::new(),
    };
    match kept {
        LandedIn::Saved | LandedIn::Elsewhere(_) | LandedIn::Unknown(_) => {}
        LandedIn::Open => output.push_str(" The file is open in the editor and not saved yet."),
        LandedIn::Unsaved(None) => {
            output.push_str(" The editor has the change in a buffer that is not saved yet.");
        }
        LandedIn::Unsaved(Some(why)) => {
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

fn not_applied(change: &FileChange, why: &str, in_doubt: bool, started: Instant) -> Report {
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
fn misplaced(change: &FileChange, started: Instant) -> Report {
    let output = format!("The edit of {} was not applied: {MISPLACED}.", change.path);
    let summary = "made at the wrong place; undo the last change of the file";
    let result = failed_result(output, summary, started);
    Report::NotApplied { result, in_doubt: false, landed: Vec::new() }
}

/// What the editor left out, the user may have left out on purpose; so it is not sent again.
fn partly(change: &FileChange, landed: Vec<String>, started: Instant) -> Report {
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

/// What is left of one try once the text was looked at.
enum Plan {
    Over(ApplyAttempt),
    /// The editor is sent an edit.
    Send(Box<PendingEdit>),
    /// The chosen code action carries the edit.
    Await(Box<PendingEdit>),
    /// The file is replaced on disk.
    Write {
        at: ResolvedPath,
        now: Now,
        wanted: Arc<str>,
    },
}

/// An edit that the editor makes, and what is looked at for it.
struct PendingEdit {
    sight: EditVerifier,
    edit: DocumentEdit,
    at: Arc<ResolvedPath>,
    wanted: Arc<str>,
    /// It is saved once it is there.
    saves: bool,
}

async fn attempt(
    place: &Arc<SessionWorld>,
    call: &Call,
    (change, turn): (&FileChange, &Arc<Turn>),
) -> ApplyAttempt {
    let (here, title, of) = (place.clone(), call.title.clone(), change.clone());
    match aside(move || plan(&here, &title, &of)).await {
        Plan::Over(tried) => tried,
        Plan::Send(sending) => send(place, call, (change, *sending)).await,
        Plan::Await(sending) => come_by_action(place, *sending).await,
        Plan::Write { at, now, wanted } => write(place, at, (now, wanted), turn.clone()).await,
    }
}

/// Looks at the text and decides how the change gets there. Blocks.
fn plan(place: &Arc<SessionWorld>, title: &str, change: &FileChange) -> Plan {
    let failed = |why: String| Plan::Over(ApplyAttempt::Failed { why, in_doubt: false });
    let at = match resolve(&place.roots, &change.path) {
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
        Err(tried) => return Plan::Over(tried),
    };
    let wanted = match apply_hunks(&now.text, &change.hunks) {
        Ok(text) => Arc::<str>::from(text),
        Err(conflict) => return failed(format!("{conflict}{READ_AGAIN}")),
    };
    // An empty file that is open and not there yet has only to be saved.
    if *wanted == *now.text && (now.exists || now.blank.is_some()) {
        return Plan::Over(ApplyAttempt::Landed { exact: true, text: None, saves: ours_to_save(&at, &now) });
    }
    let overtaken = |why: &str| Plan::Over(ApplyAttempt::Overtaken(why.to_owned()));
    match place.world.abilities().way(now.open.is_some(), now.exists, now.mark) {
        EditRoute::Editor => {
            Plan::Send(Box::new(sending(place, title, change.into_owned(), (at, now, wanted))))
        }
        // No action carries it there.
        EditRoute::Action if matches!(change, Cow::Owned(_)) => {
            overtaken("the lines around it changed since it was shown")
        }
        EditRoute::Action => {
            Plan::Await(Box::new(sending(place, title, change.into_owned(), (at, now, wanted))))
        }
        EditRoute::DiskIfSaved if change.open => overtaken("the editor does not have the file open any more"),
        EditRoute::Disk | EditRoute::DiskIfSaved => Plan::Write { at, now, wanted },
        EditRoute::Nowhere => failed(no_way(&change.path)),
    }
}

/// Makes the edit for the editor, and looks from now on at each text of its document. Blocks.
fn sending(
    place: &Arc<SessionWorld>,
    title: &str,
    change: FileChange,
    (at, now, wanted): (ResolvedPath, Now, Arc<str>),
) -> PendingEdit {
    let documents = &place.world.documents;
    // By the text that the edit is made for: what the user types from here on makes that text another one.
    let saves = ours_to_save(&at, &now);
    let uri = documents.name_of(&at.absolute);
    let text = now.blank.as_ref().unwrap_or(&now.text);
    let (edits, expectation) = expected(place, &uri, text, (&wanted, now.open));
    let version = now.open;
    let edit = DocumentEdit { label: format!("Adjutant: {title}"), uri, version, unversioned: false, edits };
    let (at, before) = (Arc::new(at), Arc::new(now));
    let sent = SentEdit {
        place: place.clone(),
        change,
        at: at.clone(),
        before,
        wanted: wanted.clone(),
        expectation,
    };
    PendingEdit { sight: EditVerifier::of(sent), edit, at, wanted, saves }
}

/// The edits that make one text of another, and the wait for their outcome. Blocks.
fn expected(
    place: &SessionWorld,
    uri: &str,
    text: &str,
    (wanted, version): (&Arc<str>, Option<i32>),
) -> (Arc<[TextEdit]>, Expectation) {
    let documents = &place.world.documents;
    let edits: Arc<[_]> = text_edits(text, wanted, documents.encoding()).into();
    let replaced = replaced(text, &edits, documents.encoding());
    let awaited = ExpectedText { text: wanted.clone(), replaced, version, edits: edits.clone() };
    (edits, documents.expect(uri, awaited))
}

/// Replaces the file on disk. A cancel ends the wait and not the write, which keeps the turn until its end: so
/// whoever looks for the edit afterwards finds it whole or not at all.
async fn write(
    place: &SessionWorld,
    at: ResolvedPath,
    (now, wanted): (Now, Arc<str>),
    turn: Arc<Turn>,
) -> ApplyAttempt {
    let failed = |why: String| ApplyAttempt::Failed { why, in_doubt: false };
    let turns = place.world.turns.clone();
    point("edit-sent");
    let replace = move || {
        let _turn = turn;
        replace_file(&turns, &at, now.disk, &now.bytes_of(&wanted))
    };
    let written = aside::attempt(replace).await;
    point("edit-answered");
    match written {
        Ok(Ok(replaced)) => {
            if let ReplaceOutcome::Unsynced(error) = replaced {
                tracing::warn!(%error, "the folder of an edited file could not be synced");
            }
            point("edit-landed");
            point("edit-saved");
            ApplyAttempt::Landed { exact: true, text: None, saves: false }
        }
        // Somebody else wrote it meanwhile; the change may have its place in the new text, too.
        Ok(Err(why @ ReplaceRefusal::Changed(_))) => ApplyAttempt::Stale(why.to_string()),
        // It may have the name of the file.
        Ok(Err(why @ ReplaceRefusal::Crossed(..))) => {
            ApplyAttempt::Failed { why: why.to_string(), in_doubt: true }
        }
        Ok(Err(why)) => failed(why.to_string()),
        Err(_) => failed("writing it broke inside Adjutant".to_owned()),
    }
}

/// Sends the edit to the editor and looks at the text for what became of it.
async fn send(
    place: &Arc<SessionWorld>,
    call: &Call,
    (change, sending): (&FileChange, PendingEdit),
) -> ApplyAttempt {
    let (documents, link) = (&place.world.documents, &place.world.link);
    let PendingEdit { sight, mut edit, at, wanted, saves } = sending;
    let was_open = edit.version.is_some();
    let mut watch = documents.watch();
    point("edit-sent");
    let mut reply = sight.reply(link.edit(edit.clone()), documents.watch()).await;
    point("edit-answered");
    let mut shown = sight.shows(watch, &reply).await;
    // The form it says nothing about was refused or passed over, and the text is still the one the edit was
    // made for.
    let other_form = !link.surfaces().abilities.document_changes;
    if shown.is_none() && other_form && is_called_applied(&reply) {
        // It may be slow to tell of its change: an edit that is sent again comes twice then.
        shown = sight.shows(documents.watch(), &reply).await;
    }
    if shown.is_none() && other_form && sight.is_ignored(&reply).await {
        edit.unversioned = true;
        watch = documents.watch();
        reply = sight.reply(link.edit(edit), documents.watch()).await;
        shown = sight.shows(watch, &reply).await;
    }
    let exact = match shown {
        Some(HunkCheck::Exactly) => true,
        Some(HunkCheck::Otherwise) => false,
        Some(HunkCheck::Undone) => return ApplyAttempt::Undone,
        Some(HunkCheck::Misplaced(misplaced)) => return revert(place, call, (at, misplaced)).await,
        None if reply == Err(NoAnswer::Unknown) && link.abilities().edits_by_action() => {
            return ApplyAttempt::Overtaken("the editor takes no edits that are sent to it".to_owned());
        }
        None => {
            let (here, of) = (place.clone(), change.clone());
            return match aside(move || settled_place(&here, &of, LandedIn::Open)).await {
                LandedIn::Elsewhere(path) => {
                    ApplyAttempt::Failed { why: leads_elsewhere(&path), in_doubt: false }
                }
                LandedIn::Unknown(why) => ApplyAttempt::Failed { why, in_doubt: true },
                _ => sight.disbelieved(reply).await,
            };
        }
    };
    point("edit-landed");
    if !was_open {
        let documents = documents.clone();
        aside(move || documents.opened_by_us(&at.absolute)).await;
    }
    ApplyAttempt::Landed { exact, text: Some(wanted), saves }
}

/// Waits for the edit that the chosen code action carries: nothing is sent, so nothing is made twice.
async fn come_by_action(place: &SessionWorld, sending: PendingEdit) -> ApplyAttempt {
    let PendingEdit { sight, wanted, saves, .. } = sending;
    match sight.shows(place.world.documents.watch(), &Err(NoAnswer::Unknown)).await {
        Some(HunkCheck::Exactly) => ApplyAttempt::Landed { exact: true, text: Some(wanted), saves },
        Some(HunkCheck::Otherwise) => ApplyAttempt::Landed { exact: false, text: Some(wanted), saves },
        Some(HunkCheck::Undone) => ApplyAttempt::Undone,
        Some(HunkCheck::Misplaced(_)) => ApplyAttempt::Misplaced,
        None => ApplyAttempt::Failed { why: BY_ACTION.to_owned(), in_doubt: false },
    }
}

/// The editor ignored the version and made the edit where nobody approved it: our own doing is taken back,
/// and the user's typing stays.
async fn revert(
    place: &Arc<SessionWorld>,
    call: &Call,
    (at, misplaced): (Arc<ResolvedPath>, MisplacedEdit),
) -> ApplyAttempt {
    let (documents, link) = (&place.world.documents, &place.world.link);
    let (here, label) = (place.clone(), format!("Adjutant: taken back, {}", call.title));
    let Some((edit, expectation)) = aside(move || way_back(&here, label, (&at, misplaced))).await else {
        return ApplyAttempt::Misplaced;
    };
    let mut watch = documents.watch();
    let _ = link.edit(edit).await;
    let deadline = tokio::time::Instant::now() + SETTLE;
    while !expectation.seen() {
        match tokio::time::timeout_at(deadline, watch.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return ApplyAttempt::Misplaced,
        }
    }
    ApplyAttempt::Stale("the editor made the edit for an older text, which was taken back".to_owned())
}

/// The edit that takes a misplaced one back; none once the text has moved on. Blocks.
fn way_back(
    place: &SessionWorld,
    label: String,
    (at, misplaced): (&ResolvedPath, MisplacedEdit),
) -> Option<(DocumentEdit, Expectation)> {
    let now = now(place, at).ok().filter(|now| now.text == misplaced.after)?;
    let uri = place.world.documents.name_of(&at.absolute);
    let text = misplaced.before.into();
    let (edits, expectation) = expected(place, &uri, &now.text, (&text, now.open));
    Some((DocumentEdit { label, uri, version: now.open, unversioned: false, edits }, expectation))
}

/// An approval binds each hunk with its context (decision 15). Where that changed, the hunk goes with the
/// lines it replaces if these are untouched and there once; anything else was not approved.
fn placed<'a>(
    place: &SessionWorld,
    change: &'a FileChange,
    text: &str,
) -> Result<Cow<'a, FileChange>, ApplyAttempt> {
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
        return Ok(Cow::Owned(FileChange { hunks: hunks.into(), ..change.clone() }));
    }
    match places.iter().any(|place| matches!(place, Placement::At { unchanged: false, .. })) {
        true => Err(ApplyAttempt::Overtaken("the lines around it changed since it was shown".to_owned())),
        // What stands in the way is said by those who make it.
        false => Ok(Cow::Borrowed(change)),
    }
}
