//! Which changes a place of the command line means, and what is decided about them.
//!
//! Never reports more than the answer says, and never keeps or undoes a change that `show` would not print for the same place.

use adjutant_core::text::display::shown_path;
use adjutant_core::wire::deciding::in_decisions;
use adjutant_protocol::methods;
use adjutant_protocol::review::{
    DecidedHunk, ReviewAction, ReviewDecideParams, ReviewDecideResult, ReviewHunk, ReviewListParams,
    ReviewListResult, ReviewTarget,
};
use adjutant_protocol::update::HunkState;

use super::{Place, is_open, place_of};
use crate::cli::Exit;
use crate::cli::client::Client;
use crate::cli::folder::Folder;
use crate::cli::page::{Printer, note};
use crate::cli::signals::{ProcessSignal, Signals};

/// What the command line decides about the changes of places.
#[derive(Clone, Copy)]
pub struct PlaceDecision<'a> {
    /// Of all files if it is empty.
    pub places: &'a [String],
    pub action: ReviewAction,
    /// An undo takes what the user wrote into them, too.
    pub mine: bool,
}

/// Returns the changes at these places that an action is about, or of all files without a place. Prints a note and returns
/// `None` if a place is no file.
pub fn chosen<'a>(
    folder: &Folder,
    hunks: &'a [ReviewHunk],
    places: &[String],
    action: ReviewAction,
) -> Option<Vec<&'a ReviewHunk>> {
    let is_meant = |hunk: &&ReviewHunk| match action {
        ReviewAction::Restore => hunk.state == HunkState::Undone,
        _ => is_open(hunk),
    };
    if places.is_empty() {
        return Some(hunks.iter().filter(is_meant).collect());
    }
    let mut all: Vec<&ReviewHunk> = Vec::new();
    for text in places {
        let place = Place::named(folder, text, hunks)?;
        let mut meant: Vec<&ReviewHunk> =
            hunks.iter().filter(is_meant).filter(|hunk| place.has(hunk)).collect();
        // A change that is kept goes only if its line is named and no other change is there.
        if action == ReviewAction::Undo && meant.is_empty() {
            meant.extend(kept_at(hunks, &place));
        }
        let is_new = |hunk: &&ReviewHunk| !all.iter().any(|one| std::ptr::eq(*one, *hunk));
        let new: Vec<&ReviewHunk> = meant.into_iter().filter(is_new).collect();
        all.extend(new);
    }
    Some(all)
}

/// Returns the newest kept change with the line of a place.
fn kept_at<'a>(hunks: &'a [ReviewHunk], place: &Place) -> Option<&'a ReviewHunk> {
    let is_kept =
        |hunk: &&ReviewHunk| hunk.state == HunkState::Kept && place.line.is_some() && place.has(hunk);
    hunks.iter().filter(is_kept).max_by_key(|hunk| hunk.made_by.as_ref().map(|made| made.at))
}

/// Decides about the changes of places, and says what became of them.
pub async fn decide(
    folder: &Folder,
    client: &Client,
    hunks: &[ReviewHunk],
    decision: PlaceDecision<'_>,
) -> anyhow::Result<Exit> {
    let PlaceDecision { places, action, mine } = decision;
    let Some(chosen) = chosen(folder, hunks, places, action) else { return Ok(Exit::Usage) };
    if chosen.is_empty() {
        note(match action {
            ReviewAction::Restore => {
                "no change was undone there, as far as the files on disk show; what an editor has not saved is restored there"
            }
            _ => "there is no change to decide about there",
        });
        return Ok(Exit::Usage);
    }
    if action == ReviewAction::Undo && !mine && chosen.iter().any(|hunk| hunk.text.is_some()) {
        note(
            "you changed some of it since: `adjutant review show FILE:LINE` prints your lines, and `--mine` takes them out, too",
        );
    }
    let mut signals = Signals::new()?;
    let (mut decided, mut failed) = (Vec::new(), None);
    for (session, hunks) in in_decisions(action, chosen.iter().copied()) {
        let target = |hunk: &&ReviewHunk| {
            let text = hunk.text.iter().filter(|_| mine);
            ReviewTarget {
                change_set_id: hunk.change_set_id.clone(),
                hunk_ids: vec![hunk.hunk_id.clone()],
                seen: text.map(|text| (hunk.hunk_id.clone(), text.clone())).collect(),
            }
        };
        let targets = hunks.iter().map(target).collect();
        let params = ReviewDecideParams { session_id: session.clone(), targets, action, reason: None };
        let result = client.request_unless(&mut signals, methods::REVIEW_DECIDE, &params).await;
        match result {
            Ok(Ok(ReviewDecideResult { hunks })) => decided.extend(hunks),
            Ok(Err(failure)) => {
                failed = Some(Exit::Failed);
                note(&format!("{failure}"));
            }
            Err(signal) => {
                failed = Some(interrupted(signal));
                break;
            }
        }
    }
    if decided.is_empty()
        && let Some(failed) = failed
    {
        return Ok(failed);
    }
    let done: Vec<&ReviewHunk> = chosen.into_iter().filter(|hunk| is_done(hunk, &decided, action)).collect();
    let exit = put_decided(&decided, hunks, action)?;
    if action != ReviewAction::Keep && !done.is_empty() {
        say_unsaved(client, &done, action).await?;
    }
    if action == ReviewAction::Undo && !done.is_empty() {
        say_way_back(&done);
    }
    Ok(failed.unwrap_or(exit))
}

/// Says that a signal ended the wait for a decision. The server says what became of it, if another process has it.
pub fn interrupted(signal: ProcessSignal) -> Exit {
    note(
        "interrupted before the answer, so it may or may not be done; `adjutant review` shows what is left to review",
    );
    match signal {
        ProcessSignal::Interrupt => Exit::Interrupted,
        ProcessSignal::Terminate => Exit::Terminated,
    }
}

/// Whether a state is what an action leads to.
fn leads_to(action: ReviewAction, state: HunkState) -> bool {
    match action {
        ReviewAction::Undo => state == HunkState::Undone,
        ReviewAction::Restore => matches!(state, HunkState::Applied | HunkState::Amended),
        _ => state == HunkState::Kept,
    }
}

fn is_done(hunk: &ReviewHunk, decided: &[DecidedHunk], action: ReviewAction) -> bool {
    let is_it = |one: &&DecidedHunk| one.change_set_id == hunk.change_set_id && one.hunk_id == hunk.hunk_id;
    let answer = decided.iter().find(is_it);
    answer.is_some_and(|one| one.why.is_none() && leads_to(action, one.state))
}

/// Prints how many changes were decided, and why others were not.
pub fn put_decided(
    decided: &[DecidedHunk],
    hunks: &[ReviewHunk],
    action: ReviewAction,
) -> anyhow::Result<Exit> {
    let verb = match action {
        ReviewAction::Undo => "undone",
        ReviewAction::Restore => "restored",
        _ => "kept",
    };
    let (done, left): (Vec<&DecidedHunk>, Vec<&DecidedHunk>) =
        decided.iter().partition(|one| one.why.is_none() && leads_to(action, one.state));
    for one in &left {
        let is_it =
            |hunk: &&ReviewHunk| hunk.change_set_id == one.change_set_id && hunk.hunk_id == one.hunk_id;
        let place = hunks.iter().find(is_it).map_or_else(|| "a change".to_owned(), place_of);
        let why = one.why.as_deref().unwrap_or("it is in another state now; look at it again");
        note(&format!("{place} was not {verb}: {why}"));
    }
    let mut page = Printer::of_stdout();
    page.line(&format!("{} {verb}", done.len()));
    page.written()?;
    Ok(if left.is_empty() { Exit::Fine } else { Exit::Failed })
}

/// Says which files an editor has not saved, so that the disk does not have the decision yet.
async fn say_unsaved(client: &Client, done: &[&ReviewHunk], action: ReviewAction) -> anyhow::Result<()> {
    let params = ReviewListParams { all: true, ..ReviewListParams::default() };
    let listed: ReviewListResult = client.request(methods::REVIEW_LIST, &params).await?;
    let mut files: Vec<&str> = Vec::new();
    for hunk in done.iter().filter(|hunk| hunk.operation.is_none()) {
        let now = listed
            .hunks
            .iter()
            .find(|one| one.change_set_id == hunk.change_set_id && one.hunk_id == hunk.hunk_id);
        let is_so = now.is_none_or(|now| leads_to(action, now.state));
        if !is_so && !files.contains(&hunk.path.as_str()) {
            files.push(&hunk.path);
        }
    }
    for file in files {
        note(&format!(
            "{} is not saved yet: the editor that has it open shows it, the file on disk does not",
            shown_path(file)
        ));
    }
    Ok(())
}

/// Says how the changes that were undone come back.
fn say_way_back(undone: &[&ReviewHunk]) {
    let mut files: Vec<&str> = undone.iter().map(|hunk| hunk.path.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let (place, them) = match (undone, &files[..]) {
        ([hunk], _) if hunk.operation.is_none() => {
            (format!("{}:{}", shown_path(&hunk.path), hunk.line + 1), "it")
        }
        ([hunk], _) => (shown_path(&hunk.path).into_owned(), "it"),
        (_, [file]) => (shown_path(file).into_owned(), "them"),
        _ => ("FILE".to_owned(), "them"),
    };
    note(&format!("`adjutant review restore {place}` brings {them} back"));
}
