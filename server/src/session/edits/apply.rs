//! Makes an approved edit: through the editor where that is possible, else on disk.
//!
//! Never believes a reply without the text. Sends an edit again only
//! if the client has refused it, or has ignored it for 3 s.

use std::borrow::Cow;
use std::sync::Arc;

use adjutant_core::machine::accept::{READ_AGAIN, leads_elsewhere};
use adjutant_core::machine::input::{EditLocation, EditOutcome};
use adjutant_core::policy::observation::{EditRoute, ObservedPath};
use adjutant_core::policy::permission::BY_ACTION;
use adjutant_core::policy::saving::SaveAfter;
use adjutant_core::record::{CallPart, FileChange};
use adjutant_core::text::edit::{TextEdit, replaced, split_bom, text_edits};
use adjutant_core::text::review::{Hunk, Placement, apply_hunks, follow, hunks, placement_all};
use adjutant_core::text::trace::Formatting;

use super::burst::{DiskWrite, Turns, approved_place, write_all};
use super::file_act::{self, FileAct};
use super::landed::{before_text, check_location, save, save_after, settled};
use super::verify::{ApplyAttempt, EditVerifier, HunkCheck, SentEdit, is_called_applied};
use super::{CurrentFile, SETTLE, SessionWorld, current_file, has_exactly, no_way, put_blob};
use crate::aside::aside;
use crate::documents::{Expectation, ExpectedText, MisplacedEdit};
use crate::editor::{DocumentEdit, NoAnswer};
use crate::faults::point;
use crate::tools::paths::ResolvedPath;
use crate::uri;

/// How often an edit is placed and sent again after the first try.
const MORE_TRIES: u32 = 2;

/// An approved edit of one file, with what its calls observed.
pub struct BatchEdit {
    /// The title of its first call, for the editor's undo list.
    pub title: String,
    pub seen: Option<ObservedPath>,
    pub change: FileChange,
}

/// Makes an approved edit in at most three tries. Each try places the hunks in the present text, and counts
/// only if the text has them afterwards.
pub async fn apply_edit(place: &Arc<SessionWorld>, edit: &BatchEdit) -> EditOutcome {
    let change = &edit.change;
    if let Some(act) = FileAct::of(change) {
        return file_act::apply(place, &edit.title, act).await;
    }
    // Held until the save: another edit in between would be saved too, or look like a save that failed.
    let target = uri::to_path(&change.target).unwrap_or_default();
    let turn = Arc::new(vec![place.world.edit_turns.turn(&target).await]);
    let mut stale = String::new();
    for _ in 0..=MORE_TRIES {
        match attempt(place, &edit.title, change, &turn).await {
            ApplyAttempt::Landed { exact, text, saves } => {
                return settled(place, change, exact, text, saves).await;
            }
            ApplyAttempt::Undone => return EditOutcome::Undone,
            ApplyAttempt::Misplaced => return EditOutcome::Misplaced,
            ApplyAttempt::Stale(why) => stale = why,
            ApplyAttempt::Overtaken(why) => return ask_again(place, edit, why).await,
            ApplyAttempt::Partly(landed) => return EditOutcome::Partly { landed },
            ApplyAttempt::Failed { why, in_doubt } => return EditOutcome::NotApplied { why, in_doubt },
        }
    }
    ask_again(place, edit, format!("the text kept changing ({stale})")).await
}

/// Returns the change as it would be made in the present text, so that the user decides again. If it has no
/// place there any more, returns a failure.
async fn ask_again(place: &Arc<SessionWorld>, edit: &BatchEdit, why: String) -> EditOutcome {
    let (here, seen, owned) = (place.clone(), edit.seen.clone(), edit.change.clone());
    match aside(move || overtaken(&here, seen, &owned, &why)).await {
        Some(outcome) => outcome,
        None => {
            let location = save(place, &edit.change, false).await;
            EditOutcome::Landed { location, exact: false, formatted: Formatting::default() }
        }
    }
}

/// Makes the change for the present text; `None` if the text has it already. Blocks.
fn overtaken(
    place: &SessionWorld,
    seen: Option<ObservedPath>,
    change: &FileChange,
    why: &str,
) -> Option<EditOutcome> {
    let failed = |why: String| Some(EditOutcome::NotApplied { why, in_doubt: false });
    let at = match approved_place(place, &change.path, &change.target) {
        Ok(at) => at,
        Err(why) => return failed(why),
    };
    let now = match current_file(place, &at) {
        Ok(now) => now,
        Err(why) => return failed(why.text),
    };
    let wanted = match apply_hunks(&now.text, &change.hunks) {
        Ok(wanted) if wanted != now.text || !now.exists => wanted,
        Ok(_) => return None,
        Err(conflict) => return failed(format!("{why}; {conflict}{READ_AGAIN}")),
    };
    let seen = ObservedPath {
        overtaken: Some(why.to_owned()),
        route: place.world.abilities().way(now.open.is_some(), now.exists, now.has_bom),
        ..seen.unwrap_or_else(|| ObservedPath::inside(&change.path))
    };
    let change = match updated_change(place, change, &now, &wanted) {
        Ok(change) => Box::new(change),
        Err(why) => return failed(why),
    };
    Some(EditOutcome::Overtaken { change, seen: Box::new(seen), why: why.to_owned() })
}

/// Returns a change with the hunks that lead from the present text to `wanted`. Blocks.
pub(super) fn updated_change(
    place: &SessionWorld,
    change: &FileChange,
    now: &CurrentFile,
    wanted: &str,
) -> Result<FileChange, String> {
    let before = now.exists.then(|| put_blob(place, &now.bytes_of(&now.text))).transpose()?;
    let hunks = hunks(&now.text, wanted);
    Ok(FileChange {
        open: now.open.is_some(),
        existed: now.exists,
        before,
        parts: parts_after(change, &hunks),
        hunks: hunks.into(),
        ..change.clone()
    })
}

/// Returns the parts of a change whose hunks were made again. A hunk that says the same as one before, in order, has the
/// same makers; any other counts for all calls.
fn parts_after(change: &FileChange, hunks: &[Hunk]) -> Vec<CallPart> {
    let mut left: Vec<&Hunk> = change.hunks.iter().collect();
    let mut before: Vec<Option<&String>> = Vec::new();
    for hunk in hunks {
        let same = |old: &&Hunk| old.removed == hunk.removed && old.inserted == hunk.inserted;
        before.push(left.iter().position(same).map(|at| &left.remove(at).id));
    }
    let part = |part: &CallPart| {
        let is_of = |old: &Option<&String>| old.is_none_or(|id| part.hunks.contains(id));
        let own = hunks.iter().zip(&before).filter(|(_, old)| is_of(old));
        let own: Vec<String> = own.map(|(hunk, _)| hunk.id.clone()).collect();
        (!own.is_empty() || part.hunks.is_empty()).then(|| CallPart { call: part.call.clone(), hunks: own })
    };
    change.parts.iter().filter_map(part).collect()
}

/// How one try continues after a look at the present text.
enum Plan {
    Over(ApplyAttempt),
    /// Sends the edit to the editor.
    Send(Box<PendingEdit>),
    /// Waits for the edit of the chosen code action.
    Await(Box<PendingEdit>),
    /// Replaces the file on disk.
    Write(Box<DiskWrite>),
}

/// An edit that the editor makes, and its verifier.
struct PendingEdit {
    verifier: EditVerifier,
    edit: DocumentEdit,
    at: Arc<ResolvedPath>,
    wanted: Arc<str>,
    saves: SaveAfter,
}

async fn attempt(place: &Arc<SessionWorld>, title: &str, change: &FileChange, turn: &Turns) -> ApplyAttempt {
    let (here, label, owned) = (place.clone(), title.to_owned(), change.clone());
    match aside(move || plan(&here, &label, &owned)).await {
        Plan::Over(attempt) => attempt,
        Plan::Send(pending) => send(place, title, change, *pending).await,
        Plan::Await(pending) => await_action(place, *pending).await,
        Plan::Write(write) => {
            let written = write_all(place, vec![*write], turn.clone()).await;
            written
                .into_iter()
                .next()
                .unwrap_or_else(|| ApplyAttempt::Stale("nothing was written".to_owned()))
        }
    }
}

/// An approved edit that has a place in the present text.
struct PlacedEdit<'a> {
    /// With the hunks at their present lines.
    change: Cow<'a, FileChange>,
    at: ResolvedPath,
    now: CurrentFile,
    wanted: Arc<str>,
    route: EditRoute,
}

/// Reads the present text and places the edit in it. Blocks.
///
/// # Errors
///
/// Returns the attempt that is over: it failed, or nothing is left to do.
fn placed<'a>(place: &SessionWorld, change: &'a FileChange) -> Result<PlacedEdit<'a>, ApplyAttempt> {
    let failed = |why: String| ApplyAttempt::Failed { why, in_doubt: false };
    let at = approved_place(place, &change.path, &change.target).map_err(failed)?;
    let now = current_file(place, &at).map_err(|why| failed(why.text))?;
    if change.existed && !now.exists {
        return Err(failed("the file is gone since it was shown".to_owned()));
    }
    let landed = || ApplyAttempt::Landed { exact: true, text: None, saves: save_after(place, &at, &now) };
    let Some(change) = place_hunks(place, change, &now.text)? else { return Err(landed()) };
    let wanted = match apply_hunks(&now.text, &change.hunks) {
        Ok(text) => Arc::<str>::from(text),
        Err(conflict) => return Err(failed(format!("{conflict}{READ_AGAIN}"))),
    };
    // An empty new file that is open needs only the save.
    if *wanted == *now.text && (now.exists || now.blank.is_some()) {
        return Err(landed());
    }
    let route = place.world.abilities().way(now.open.is_some(), now.exists, now.has_bom);
    match route {
        EditRoute::DiskIfSaved if change.open => {
            Err(ApplyAttempt::Overtaken("the editor does not have the file open any more".to_owned()))
        }
        EditRoute::Nowhere => Err(failed(no_way(&change.path))),
        _ => Ok(PlacedEdit { change, at, now, wanted, route }),
    }
}

/// Returns the write of an edit, if it is made on disk in the first try. Blocks.
pub(super) fn disk_write(place: &SessionWorld, change: &FileChange) -> Option<DiskWrite> {
    let placed = placed(place, change).ok()?;
    matches!(placed.route, EditRoute::Disk | EditRoute::DiskIfSaved).then(|| placed.into_write())
}

/// Reads the present text and decides how the edit is made. Blocks.
fn plan(place: &Arc<SessionWorld>, title: &str, change: &FileChange) -> Plan {
    let placed = match placed(place, change) {
        Ok(placed) => placed,
        Err(attempt) => return Plan::Over(attempt),
    };
    match placed.route {
        // The code action has the hunks at their old lines.
        EditRoute::Action if matches!(placed.change, Cow::Owned(_)) => {
            Plan::Over(ApplyAttempt::Overtaken("the lines around it changed since it was shown".to_owned()))
        }
        EditRoute::Action => Plan::Await(Box::new(pending_edit(place, title, placed))),
        EditRoute::Editor => Plan::Send(Box::new(pending_edit(place, title, placed))),
        EditRoute::Disk | EditRoute::DiskIfSaved | EditRoute::Nowhere => {
            Plan::Write(Box::new(placed.into_write()))
        }
    }
}

impl PlacedEdit<'_> {
    fn into_write(self) -> DiskWrite {
        let bytes = self.now.bytes_of(&self.wanted);
        let FileChange { path, target, .. } = self.change.into_owned();
        DiskWrite { path, target, at: self.at, expected: self.now.disk, bytes: Some(bytes) }
    }
}

/// Makes the edit for the editor, and begins to check each new text of its document. Blocks.
fn pending_edit(place: &Arc<SessionWorld>, title: &str, placed: PlacedEdit<'_>) -> PendingEdit {
    let PlacedEdit { change, at, now, wanted, .. } = placed;
    let change = change.into_owned();
    let documents = &place.world.documents;
    // Decided by the text that the edit is made for; if the user types later, that text no longer matches.
    let saves = save_after(place, &at, &now);
    let uri = documents.name_of(&at.absolute);
    let text = now.blank.as_ref().unwrap_or(&now.text);
    let (edits, expectation) = edits_to(place, &uri, text, &wanted, now.open);
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
    PendingEdit { verifier: EditVerifier::of(sent), edit, at, wanted, saves }
}

/// Returns the edits that turn `text` into `wanted`, and the expectation of their outcome. Blocks.
fn edits_to(
    place: &SessionWorld,
    uri: &str,
    text: &str,
    wanted: &Arc<str>,
    version: Option<i32>,
) -> (Arc<[TextEdit]>, Expectation) {
    let documents = &place.world.documents;
    let edits: Arc<[_]> = text_edits(text, wanted, documents.encoding()).into();
    let replaced = replaced(text, &edits, documents.encoding());
    let awaited = ExpectedText { text: wanted.clone(), replaced, version, edits: edits.clone() };
    (edits, documents.expect(uri, awaited))
}

/// Sends the edit to the editor and waits until the text has it.
async fn send(
    place: &Arc<SessionWorld>,
    title: &str,
    change: &FileChange,
    pending: PendingEdit,
) -> ApplyAttempt {
    let (documents, link) = (&place.world.documents, &place.world.link);
    let PendingEdit { verifier, mut edit, at, wanted, saves } = pending;
    let was_open = edit.version.is_some();
    let mut watch = documents.watch();
    point("edit-sent");
    let mut reply = verifier.await_reply(link.edit(edit.clone()), documents.watch()).await;
    point("edit-answered");
    let mut check = verifier.await_hunks(watch, &reply).await;
    // A client that does not announce `documentChanges` may know only `changes`. If it refused or ignored the
    // edit, and the text has not changed, the edit is sent again in that form.
    let other_form = !link.surfaces().abilities.document_changes;
    if check.is_none() && other_form && is_called_applied(&reply) {
        // The editor may be slow to send its change; an edit that is sent again would then be made twice.
        check = verifier.await_hunks(documents.watch(), &reply).await;
    }
    if check.is_none() && other_form && verifier.is_ignored(&reply).await {
        edit.unversioned = true;
        watch = documents.watch();
        reply = verifier.await_reply(link.edit(edit), documents.watch()).await;
        check = verifier.await_hunks(watch, &reply).await;
    }
    let exact = match check {
        Some(HunkCheck::Exactly) => true,
        Some(HunkCheck::Otherwise) => false,
        Some(HunkCheck::Undone) => return ApplyAttempt::Undone,
        Some(HunkCheck::Misplaced(misplaced)) => return revert(place, title, &at, misplaced).await,
        None if reply == Err(NoAnswer::Unknown) && link.abilities().edits_by_action() => {
            return ApplyAttempt::Overtaken("the editor accepts no edits that are sent to it".to_owned());
        }
        None => {
            let (here, owned) = (place.clone(), change.clone());
            return match aside(move || check_location(&here, &owned, EditLocation::Open)).await {
                EditLocation::Elsewhere(path) => {
                    ApplyAttempt::Failed { why: leads_elsewhere(&path), in_doubt: false }
                }
                EditLocation::Unknown(why) => ApplyAttempt::Failed { why, in_doubt: true },
                _ => verifier.not_landed(reply).await,
            };
        }
    };
    point("edit-landed");
    if !was_open {
        let documents = documents.clone();
        aside(move || documents.note_opened_by_edit(&at.absolute)).await;
    }
    ApplyAttempt::Landed { exact, text: Some(wanted), saves }
}

/// Waits for the edit of the chosen code action. Nothing is sent, so the edit is not made twice.
async fn await_action(place: &SessionWorld, pending: PendingEdit) -> ApplyAttempt {
    let PendingEdit { verifier, wanted, saves, .. } = pending;
    match verifier.await_hunks(place.world.documents.watch(), &Err(NoAnswer::Unknown)).await {
        Some(HunkCheck::Exactly) => ApplyAttempt::Landed { exact: true, text: Some(wanted), saves },
        Some(HunkCheck::Otherwise) => ApplyAttempt::Landed { exact: false, text: Some(wanted), saves },
        Some(HunkCheck::Undone) => ApplyAttempt::Undone,
        Some(HunkCheck::Misplaced(_)) => ApplyAttempt::Misplaced,
        None => ApplyAttempt::Failed { why: BY_ACTION.to_owned(), in_doubt: false },
    }
}

/// Reverts an edit that an editor made at the wrong place because it ignores versions. The user's typing stays.
async fn revert(
    place: &Arc<SessionWorld>,
    title: &str,
    at: &Arc<ResolvedPath>,
    misplaced: MisplacedEdit,
) -> ApplyAttempt {
    let (documents, link) = (&place.world.documents, &place.world.link);
    let (here, at, label) = (place.clone(), at.clone(), format!("Adjutant: taken back, {title}"));
    let Some((edit, expectation)) = aside(move || reverting_edit(&here, label, &at, misplaced)).await else {
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

/// Returns the edit that reverts a misplaced one; `None` if the text has changed since. Blocks.
fn reverting_edit(
    place: &SessionWorld,
    label: String,
    at: &ResolvedPath,
    misplaced: MisplacedEdit,
) -> Option<(DocumentEdit, Expectation)> {
    let now = current_file(place, at).ok().filter(|now| now.text == misplaced.after)?;
    let uri = place.world.documents.name_of(&at.absolute);
    let text = misplaced.before.into();
    let (edits, expectation) = edits_to(place, &uri, &now.text, &text, now.open);
    Some((DocumentEdit { label, uri, version: now.open, unversioned: false, edits }, expectation))
}

/// Places the hunks of a change in the present text. An approval binds each hunk with its context (design 15).
/// If the context changed, a hunk still follows the lines that it replaces, if these are unchanged and unique.
/// Anything else was not approved. Returns `None` if the text is exactly what the change makes: a server that was killed
/// has made it.
fn place_hunks<'a>(
    place: &SessionWorld,
    change: &'a FileChange,
    text: &str,
) -> Result<Option<Cow<'a, FileChange>>, ApplyAttempt> {
    let places = placement_all(text, &change.hunks);
    let is_in_its_line = |(found, hunk): (&Placement, &Hunk)| matches!(found, Placement::At { line, unchanged: true } if *line == hunk.line);
    if places.iter().zip(change.hunks.iter()).all(is_in_its_line) {
        return Ok(Some(Cow::Borrowed(change)));
    }
    let before = before_text(place, change).unwrap_or_default();
    if has_exactly(text, &before, change) {
        return Ok(None);
    }
    let holds = |place: &Placement| {
        matches!(place, Placement::At { unchanged: true, .. } | Placement::AlreadyThere { .. })
    };
    if places.iter().all(holds) {
        return Ok(Some(Cow::Borrowed(change)));
    }
    if let Some(hunks) = follow(split_bom(&before).1, text, &change.hunks) {
        return Ok(Some(Cow::Owned(FileChange { hunks: hunks.into(), ..change.clone() })));
    }
    if places.iter().any(|place| matches!(place, Placement::At { unchanged: false, .. })) {
        return Err(ApplyAttempt::Overtaken("the lines around it changed since it was shown".to_owned()));
    }
    // The caller finds the conflict when it applies the hunks.
    Ok(Some(Cow::Borrowed(change)))
}
