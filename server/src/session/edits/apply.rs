//! Brings an approved change into the text, by the editor wherever there is one.
//!
//! Never believes a reply without the text, never sends again what may still
//! come, and never saves what the user has not.

use std::time::{Duration, Instant};

use adjutant_core::edit::text_edits;
use adjutant_core::event::{CallEnd, CallResult, Change, Found};
use adjutant_core::input::Report;
use adjutant_core::review::{Placement, Presence, apply_hunks, placement, present_all};
use adjutant_core::session::Call;
use adjutant_core::tool::one_line;
use tokio::sync::watch;

use super::{Now, Place, SETTLE, found, now, on_disk};
use crate::documents::{Expectation, Text};
use crate::editor::{Applied, DocumentEdit, NoAnswer};
use crate::faults::point;
use crate::tools::paths::{Grounded, ground, replace_file};
use crate::uri;

/// Times an edit is placed anew and sent again after the first.
const MORE_TRIES: u32 = 2;
/// How long the text of an edit is waited for that the editor has refused.
const REFUSED: Duration = Duration::from_millis(50);

/// What one try to bring the hunks into the text came to.
enum Tried {
    /// They are there.
    Landed {
        /// The text is otherwise what was sent.
        exact: bool,
    },
    /// The text moved on; place them anew.
    Stale(String),
    /// These are there, and the editor left the others out.
    Partly(Vec<String>),
    /// It cannot be done.
    Failed { why: String, in_doubt: bool },
}

/// Where a change is when it has landed.
enum Kept {
    /// On disk.
    Saved,
    /// In a document the user has open; it is the user's to save.
    Open,
    /// In a buffer that was not saved, for this reason if there is one.
    Unsaved(Option<String>),
}

/// Brings an approved change into the text: at most three placements, each against the text as it
/// is then, each believed only when the text shows it.
pub async fn apply(place: &Place, call: &Call, change: &Change) -> Report {
    let started = Instant::now();
    let saves = ours_to_save(place, change);
    let mut stale = String::new();
    for _ in 0..=MORE_TRIES {
        match attempt(place, call, change).await {
            Tried::Landed { exact } => {
                let kept = keep(place, change, saves && exact).await;
                return landed(change, (kept, exact), started);
            }
            Tried::Stale(why) => stale = why,
            Tried::Partly(hunks) => return partly(change, hunks, started),
            Tried::Failed { why, in_doubt } => return not_applied(change, &why, in_doubt, started),
        }
    }
    not_applied(
        change,
        &format!("the text kept changing ({stale}); read the file and try again"),
        false,
        started,
    )
}

/// Whether the change is saved once it is there: when the user does not have the file open, or has it open
/// only because an edit of ours opened it and nothing in it is unsaved.
fn ours_to_save(place: &Place, change: &Change) -> bool {
    let Ok(at) = ground(&place.roots, &change.path) else { return false };
    match place.world.documents.text(&at.absolute) {
        Text::Closed => true,
        Text::Unsynced(_) => false,
        Text::Open(snapshot) => {
            let same = |disk: Now| disk.exists && snapshot.text == disk.text.as_str();
            place.world.documents.is_ours(&at.absolute) && on_disk(&at).is_ok_and(same)
        }
    }
}

fn landed(change: &Change, (kept, exact): (Kept, bool), started: Instant) -> Report {
    let removed: usize = change.hunks.iter().map(|hunk| hunk.removed.len()).sum();
    let inserted: usize = change.hunks.iter().map(|hunk| hunk.inserted.len()).sum();
    let verb = if change.existed { "Edited" } else { "Created" };
    let mut output = format!("{verb} {}: +{inserted} -{removed} lines.", change.path);
    match kept {
        Kept::Saved => {}
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
        summary: format!("+{inserted} -{removed} lines"),
        elapsed_ms: started.elapsed().as_millis() as u64,
        whole: None,
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
        whole: None,
    }
}

async fn attempt(place: &Place, call: &Call, change: &Change) -> Tried {
    let failed = |why: String| Tried::Failed { why, in_doubt: false };
    let at = match ground(&place.roots, &change.path) {
        Ok(at) if at.inside && uri::of_path(&at.absolute) == change.target => at,
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
        return Tried::Landed { exact: true };
    }
    let abilities = place.world.editor.abilities;
    if !abilities.apply_edit || (create && !abilities.create_files) {
        let known = abilities.complete && place.world.documents.are_complete();
        return match (now.open, known || create) {
            (None, true) => match replace_file(&at, now.disk, wanted.as_bytes()) {
                Ok(()) => Tried::Landed { exact: true },
                Err(why) => failed(why.to_string()),
            },
            _ => failed("the editor does not take edits".to_owned()),
        };
    }
    let uri = place.world.documents.name_of(&at.absolute);
    let expectation = place.world.documents.expect(&uri, &wanted);
    let edit = DocumentEdit {
        label: format!("Adjutant: {}", call.title),
        uri,
        version: now.open,
        create,
        edits: text_edits(&now.text, &wanted, place.world.documents.encoding()),
    };
    let watch = place.world.documents.watch();
    point("edit-sent");
    let reply = place.world.editor.apply(edit).await;
    point("edit-answered");
    let sight = Sight { place, change, at: &at, wanted: &wanted, expectation };
    let Some(exact) = sight.shows(watch, &reply).await else {
        return sight.disbelieved(&now, reply);
    };
    point("edit-landed");
    if now.open.is_none() {
        place.world.documents.opened_by_us(&at.absolute);
    }
    Tried::Landed { exact }
}

/// An approval binds the hunk with its context (decision 15): one that is found only with less of
/// it was not approved.
fn moved_context(text: &str, change: &Change) -> Option<String> {
    let moved = change
        .hunks
        .iter()
        .any(|hunk| matches!(placement(text, hunk), Placement::At { unchanged: false, .. }));
    moved.then(|| "the lines around it changed since it was shown; read the file again".to_owned())
}

/// What is looked at after an edit was sent.
struct Sight<'a> {
    place: &'a Place,
    change: &'a Change,
    at: &'a Grounded,
    wanted: &'a str,
    expectation: Expectation,
}

impl Sight<'_> {
    /// Waits, bounded, until the text shows or has shown every hunk; says whether it is the text that was wanted.
    async fn shows(
        &self,
        mut watch: watch::Receiver<u64>,
        reply: &Result<Applied, NoAnswer>,
    ) -> Option<bool> {
        // A client that has refused has nothing more to send; one that has not is given time.
        let patience = match reply {
            Ok(Applied { applied: false, .. }) => REFUSED,
            _ => SETTLE,
        };
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            if let Ok(now) = now(self.place, self.at)
                && now.exists
            {
                let exact = now.text == self.wanted;
                if exact || self.expectation.seen() || found(&now.text, self.change) == Found::Landed {
                    return Some(exact);
                }
            }
            match tokio::time::timeout_at(deadline, watch.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return None,
            }
        }
    }

    /// The editor answered and the text does not show the change.
    fn disbelieved(&self, before: &Now, reply: Result<Applied, NoAnswer>) -> Tried {
        let now = now(self.place, self.at).ok();
        let moved = now.as_ref().is_some_and(|now| now.text != before.text || now.open != before.open);
        let landed = now.map(|now| self.new_hunks(&before.text, &now.text)).unwrap_or_default();
        if !landed.is_empty() {
            return Tried::Partly(landed);
        }
        match reply {
            Ok(Applied { applied: false, reason }) if moved => {
                Tried::Stale(reason.unwrap_or_else(|| "the editor refused a stale version".to_owned()))
            }
            Ok(Applied { applied: true, .. }) if moved => {
                Tried::Stale("the text was changed meanwhile".to_owned())
            }
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

    /// The hunks in the text, if the edit brought any of them there.
    fn new_hunks(&self, before: &str, now: &str) -> Vec<String> {
        let hunks = &self.change.hunks;
        let (then, now) = (present_all(before, hunks), present_all(now, hunks));
        let landed = |presence: &Presence| *presence == Presence::Landed;
        if !then.iter().zip(&now).any(|(then, now)| !landed(then) && landed(now)) {
            return Vec::new();
        }
        let there = hunks.iter().zip(&now).filter(|(_, now)| landed(now));
        there.map(|(hunk, _)| hunk.id.clone()).collect()
    }
}

/// Saves what is ours to save; says where the change is then.
async fn keep(place: &Place, change: &Change, saves: bool) -> Kept {
    let Ok(at) = ground(&place.roots, &change.path) else { return Kept::Unsaved(None) };
    if !matches!(place.world.documents.text(&at.absolute), Text::Open(_)) {
        return Kept::Saved;
    }
    if !saves {
        let ours = place.world.documents.is_ours(&at.absolute);
        return if ours { Kept::Unsaved(None) } else { Kept::Open };
    }
    if !place.world.editor.abilities.save {
        return Kept::Unsaved(None);
    }
    let uri = place.world.documents.name_of(&at.absolute);
    match place.world.editor.save(&uri, "the file was not open before the edit").await {
        Ok(()) => {
            point("edit-saved");
            saved(place, &at)
        }
        Err(why) => Kept::Unsaved(Some(why.to_string())),
    }
}

/// The file decides whether it was saved; one that is kept in another encoding is not compared.
fn saved(place: &Place, at: &Grounded) -> Kept {
    match (place.world.documents.text(&at.absolute), on_disk(at)) {
        (Text::Open(buffer), Ok(disk)) if buffer.text != disk.text.as_str() => {
            Kept::Unsaved(Some("the editor said it was saved, but the file does not show it".to_owned()))
        }
        _ => Kept::Saved,
    }
}
