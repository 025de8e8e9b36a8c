//! How the review of applied hunks begins and goes on, and what the model is told of it.
//!
//! Never decides: a recorded event has happened.

use crate::prompt::message::ModelMessage;
use crate::record::{AmendedTexts, Event, FileOperation, Record, ReviewState, ReviewedBy};
use crate::session::hunks::ChangeState;
use crate::session::{AppliedChange, Session};
use crate::text::review::Hunk;
use crate::text::start_of;

/// How the sentence about an undo in the editor begins.
const UNDID_IN_EDITOR: &str = "The user undid in the editor ";

impl Session {
    /// Begins the review of the hunks that this record has brought into the text.
    pub(super) fn note_applied(&mut self, record: &Record, before: Option<ChangeState>) {
        // 0.1 had no review, and its batches have no ids of their own.
        let had_review = |state: &ChangeState| !state.allowed_by.is_empty();
        let Some(before) = before.filter(had_review) else { return };
        self.note_own_edit(record, &before);
        self.applied.note_applied(record, &before, &self.changes);
    }

    pub(super) fn fold_review(&mut self, record: &Record) {
        let as_one = self.is_as_one(&record.event);
        self.note_decision(record);
        self.applied.fold(record);
        if let Event::Reviewed { change_set, .. } = &record.event {
            let change = self.applied.get(change_set);
            let note = match as_one {
                true => note_of_run(&record.event),
                false => change.and_then(|change| note_for_model(change, &record.event)),
            };
            let undone =
                change.filter(|_| !as_one).and_then(|change| note_of_the_undo(change, &record.event));
            if undone.is_some_and(|undone| self.take_back(&undone)) {
                return;
            }
            if let Some(note) = note.filter(|note| !as_one || !self.was_told(note)) {
                self.tell_model(note);
            }
        }
    }

    /// Whether an event ends a decision about a whole run.
    fn is_as_one(&self, event: &Event) -> bool {
        let Event::Reviewed { change_set, hunks, .. } = event else { return false };
        let change = self.applied.get(change_set);
        let mut hunks = hunks.iter().filter_map(|id| change?.hunk(id)?.pending.as_ref());
        hunks.any(|pending| pending.as_one)
    }

    /// Takes back the note about an undo in the editor that the model has not read; returns whether there was one. Only other such
    /// notes may be after it, because any other may be about the same hunks.
    fn take_back(&mut self, undone: &str) -> bool {
        let told = match &mut self.run {
            Some(run) => &mut run.pending,
            None => &mut self.history,
        };
        let text_of = |message: &ModelMessage| match message {
            ModelMessage::User { text, .. } => {
                let said = text.strip_prefix("[note] ")?;
                said.starts_with(UNDID_IN_EDITOR).then(|| text.clone())
            }
            _ => None,
        };
        let last_first = told.iter().rev().map_while(text_of).position(|text| *text == *undone);
        let found = last_first.map(|at| told.len() - 1 - at);
        found.map(|at| told.remove(at)).is_some()
    }

    /// Whether this note is the last message for the model.
    fn was_told(&self, note: &str) -> bool {
        let last = match &self.run {
            Some(run) => run.pending.last(),
            None => self.history.last(),
        };
        matches!(last, Some(ModelMessage::User { text, .. }) if &**text == note)
    }
}

/// Returns the note to the model about an undo in the editor, if this event is the redo of that undo.
fn note_of_the_undo(change: &AppliedChange, event: &Event) -> Option<String> {
    let Event::Reviewed { change_set, hunks, state: ReviewState::Applied, by: ReviewedBy::Editor, .. } =
        event
    else {
        return None;
    };
    let undo = Event::Reviewed {
        change_set: change_set.clone(),
        hunks: hunks.clone(),
        state: ReviewState::Undone,
        by: ReviewedBy::Editor,
        amended: AmendedTexts::new(),
        reason: None,
        on: None,
    };
    note_for_model(change, &undo)
}

/// Returns the sentence that tells the model of a decision about a whole run. It is the same for all changes of it.
fn note_of_run(event: &Event) -> Option<String> {
    let Event::Reviewed { state, reason, .. } = event else { return None };
    let said = reason.as_ref().map(|reason| format!(" The user says: {}", cut(reason))).unwrap_or_default();
    let what = match state {
        ReviewState::Undone => "undid your edits of a whole run. Do not make them again unless asked.",
        ReviewState::Applied => "restored the edits of a whole run that were undone.",
        ReviewState::Kept => return None,
    };
    Some(format!("[note] The user {what} Read a file again before you edit it.{said}"))
}

/// Returns the sentence that tells the model of a decision of the user; `None` if it need not know.
fn note_for_model(change: &AppliedChange, event: &Event) -> Option<String> {
    let Event::Reviewed { hunks, state, by, amended, reason, .. } = event else { return None };
    if let Some(operation) = &change.operation {
        return note_on_operation(&change.path, operation, *state, reason.as_deref());
    }
    let own = || hunks.iter().filter_map(|id| change.hunk(id));
    let path = &change.path;
    let text = match state {
        ReviewState::Undone => {
            let part = format!("this part of your edit of \"{path}\"");
            let what = match by {
                ReviewedBy::Decision | ReviewedBy::Commit => format!("The user undid {part}"),
                ReviewedBy::Editor => format!("{UNDID_IN_EDITOR}{part}"),
                ReviewedBy::Close => format!("Not applied: {part}, which the user closed without saving"),
            };
            let lines = own().filter_map(|hunk| change.lines_of(hunk)).map(block).collect::<String>();
            let said = reason.as_ref().map(|reason| format!(" The user says: {}", cut(reason)));
            let said = said.unwrap_or_default();
            format!("[note] {what}. Do not make it again unless asked.{said}\n{lines}")
        }
        ReviewState::Applied if matches!(by, ReviewedBy::Editor | ReviewedBy::Close) => {
            format!("[note] A part of your edit of \"{path}\" that was undone is in the file again.")
        }
        ReviewState::Applied => {
            format!("[note] The user restored a part of your edit of \"{path}\" that was undone.")
        }
        ReviewState::Kept if amended.is_empty() => return None,
        ReviewState::Kept => {
            let texts: String = amended.values().map(|text| cut(text)).collect();
            format!(
                "[note] The user changed your edit of \"{path}\" and kept it. Its lines are now:\n{texts}"
            )
        }
    };
    Some(text)
}

/// Returns the sentence for the model when the user undoes or restores a deletion or a move.
fn note_on_operation(
    path: &str,
    operation: &FileOperation,
    state: ReviewState,
    reason: Option<&str>,
) -> Option<String> {
    let (deed, undone, again) = match operation {
        FileOperation::Delete { .. } => {
            ("deletion", format!("\"{path}\" is there again"), format!("\"{path}\" is deleted again"))
        }
        FileOperation::Move { path: to, .. } => {
            let at = |place: &str| format!("the file is at \"{place}\" again");
            ("move", at(path), at(to))
        }
    };
    match state {
        ReviewState::Undone => {
            let said = reason.map(|reason| format!(" The user says: {}", cut(reason))).unwrap_or_default();
            Some(format!(
                "[note] The user undid your {deed} of \"{path}\": {undone}. Do not do it again unless asked.{said}"
            ))
        }
        ReviewState::Applied => Some(format!("[note] The user restored your {deed} of \"{path}\": {again}.")),
        ReviewState::Kept => None,
    }
}

/// The most bytes of one text in a note.
const NOTE_BYTES: usize = 2_000;

fn block(hunk: &Hunk) -> String {
    let signed = |sign: char, lines: &[String]| {
        lines
            .iter()
            .map(|line| format!("{sign}{}\n", line.trim_end_matches(['\r', '\n'])))
            .collect::<String>()
    };
    cut(&(signed('-', &hunk.removed) + &signed('+', &hunk.inserted)))
}

fn cut(text: &str) -> String {
    if text.len() <= NOTE_BYTES {
        return text.to_owned();
    }
    format!("{}\n[cut; read the file for the rest]\n", start_of(text, NOTE_BYTES))
}
