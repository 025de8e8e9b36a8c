//! The changes of one question, decided one by one by the person at the terminal.
//!
//! Never decides by itself: what is left when it ends is asked as a whole again.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use adjutant_protocol::AskId;
use adjutant_protocol::ask::AskView;
use adjutant_protocol::methods;
use adjutant_protocol::review::{
    ReviewAction, ReviewDecideParams, ReviewDecideResult, ReviewHunk, ReviewListParams, ReviewListResult,
    ReviewTarget,
};

use adjutant_protocol::update::HunkState;

use super::{Conversation, LeaveReason};
use crate::cli::asks::{READING_TIME, hint, put, put_diff};
use crate::cli::client::Failure;
use crate::cli::page::Ink;

/// What can be typed at a change.
const HELP: [&str; 6] = [
    "y  apply this change",
    "n  reject this change",
    "a  apply this change and all later ones of its file",
    "d  reject this change and all later ones of its file",
    "q  decide the rest as a whole",
    "any other text rejects this change with it as the reason",
];

/// The changes of the question on the desk that are not decided yet.
pub(super) struct Changes {
    ask: AskId,
    pub(super) left: VecDeque<ReviewHunk>,
    all: usize,
    /// When the first of them was shown.
    shown: Instant,
    /// A decision is on its way.
    is_sending: bool,
}

/// What a line means at a change.
enum TypedDecision<'a> {
    /// For the first change, or for all of its file.
    Decide {
        action: ReviewAction,
        whole_file: bool,
        reason: Option<&'a str>,
    },
    Help,
    Whole,
}

fn read(line: &str) -> TypedDecision<'_> {
    let decide = |action, whole_file| TypedDecision::Decide { action, whole_file, reason: None };
    match line.trim() {
        "y" | "yes" => decide(ReviewAction::Apply, false),
        "n" | "no" => decide(ReviewAction::Reject, false),
        "a" => decide(ReviewAction::Apply, true),
        "d" => decide(ReviewAction::Reject, true),
        "q" => TypedDecision::Whole,
        "" | "?" => TypedDecision::Help,
        reason => {
            TypedDecision::Decide { action: ReviewAction::Reject, whole_file: false, reason: Some(reason) }
        }
    }
}

impl Conversation {
    /// Whether the question on the desk is being decided change by change.
    pub(super) fn decides_changes(&self) -> bool {
        let current = self.desk.current().map(|ask| &ask.ask_id);
        self.changes.as_ref().is_some_and(|changes| Some(&changes.ask) == current)
    }

    /// Shows the changes of a question one by one.
    pub(super) async fn begin_changes(&mut self, ask: AskView) -> Result<(), LeaveReason> {
        let params =
            ReviewListParams { session_id: Some(ask.session_id.clone()), ..ReviewListParams::default() };
        let listed: ReviewListResult = self.request(methods::REVIEW_LIST, &params).await?;
        let of_ask = |hunk: &ReviewHunk| {
            hunk.ask_id.as_ref() == Some(&ask.ask_id) && hunk.state == HunkState::Proposed
        };
        let left: VecDeque<ReviewHunk> = listed.hunks.into_iter().filter(of_ask).collect();
        let (all, shown) = (left.len(), Instant::now());
        self.changes = Some(Changes { ask: ask.ask_id, left, all, shown, is_sending: false });
        self.put_change();
        Ok(())
    }

    /// Prints the next change, or the question again if there is none.
    fn put_change(&mut self) {
        let Some(changes) = &mut self.changes else { return };
        changes.shown = Instant::now();
        let Some(hunk) = changes.left.front() else {
            // The last decision closes the question; with nothing to decide here, it is asked as a whole.
            if changes.all == 0 {
                self.ask_as_a_whole();
            }
            return;
        };
        let (number, all, diff) = (changes.all - changes.left.len() + 1, changes.all, hunk.diff.clone());
        self.on_page(|page| {
            put_diff(page, &diff);
            let line = format!("change {number} of {all}: apply it? y · n · a · d · q · ? = help");
            page.line_in(Ink::Dim, &line);
        });
        self.listen(true);
    }

    /// Handles a line that was typed at a change.
    pub(super) async fn change_typed(&mut self, line: &str, at: Instant) -> Result<(), LeaveReason> {
        let Some(changes) = &self.changes else { return Ok(()) };
        if changes.is_sending || at.saturating_duration_since(changes.shown) < READING_TIME {
            let text = "that was typed before the change could be read; please answer again";
            self.on_page(|page| page.line_in(Ink::Dim, text));
            self.listen(true);
            return Ok(());
        }
        match read(line) {
            TypedDecision::Help => {
                self.on_page(|page| HELP.iter().for_each(|line| page.line(&format!("  {line}"))));
                self.listen(true);
                Ok(())
            }
            TypedDecision::Whole => {
                self.ask_as_a_whole();
                Ok(())
            }
            TypedDecision::Decide { action, whole_file, reason } => {
                self.decide_change(action, whole_file, reason.map(str::to_owned)).await
            }
        }
    }

    /// Asks about everything that is left with one answer.
    fn ask_as_a_whole(&mut self) {
        self.changes = None;
        let Some(ask) = self.desk.current().cloned() else { return };
        self.on_page(|page| {
            put(page, &ask);
            page.line_in(Ink::Dim, "An answer now is for what is not decided yet.");
            page.line_in(Ink::Dim, &hint(&ask));
        });
        self.listen(true);
    }

    async fn decide_change(
        &mut self,
        action: ReviewAction,
        whole_file: bool,
        reason: Option<String>,
    ) -> Result<(), LeaveReason> {
        let (Some(changes), Some(session_id)) = (&mut self.changes, self.session.clone()) else {
            return Ok(());
        };
        let Some(first) = changes.left.front().cloned() else { return Ok(()) };
        let is_of = |hunk: &ReviewHunk| {
            hunk.change_set_id == first.change_set_id && (whole_file || hunk.hunk_id == first.hunk_id)
        };
        let hunk_ids =
            changes.left.iter().filter(|hunk| is_of(hunk)).map(|hunk| hunk.hunk_id.clone()).collect();
        changes.left.retain(|hunk| !is_of(hunk));
        changes.is_sending = true;
        let (change_set_id, seen) = (first.change_set_id.clone(), BTreeMap::new());
        let targets = vec![ReviewTarget { change_set_id, hunk_ids, seen }];
        let params = ReviewDecideParams { session_id, targets, action, reason };
        let decided: Result<ReviewDecideResult, LeaveReason> =
            self.request(methods::REVIEW_DECIDE, &params).await;
        if let Some(changes) = &mut self.changes {
            changes.is_sending = false;
        }
        match decided {
            Ok(_) => self.put_change(),
            // Another client was faster, or the text changed.
            Err(LeaveReason::Failed(Failure::Refused { message, .. })) => {
                self.on_page(|page| page.line_in(Ink::Dim, &format!("({message})")));
                self.ask_as_a_whole();
            }
            Err(left) => return Err(left),
        }
        Ok(())
    }
}
