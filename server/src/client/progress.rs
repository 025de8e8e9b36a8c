//! The progress of one run: its step in words, and when it may be sent again.
//!
//! Pure. Never sends the same text twice in a row, and never more than one text a second.

use std::time::{Duration, Instant};

use adjutant_core::text::display::{Surface, display, one_line};
use adjutant_core::wire::plan;
use adjutant_protocol::session::RunEnd;
use adjutant_protocol::state::{Outcome, State, StateView, SubState};
use adjutant_protocol::update::{ToolStatus, TurnPhase, Update};

/// Progress text changes at most this often (design 16).
const EVERY: Duration = Duration::from_secs(1);
/// Steps in which the length of a wait is shown.
const WAITED: Duration = Duration::from_secs(10);
/// Characters of a message; a status line has no more room.
const MAX_MESSAGE: usize = 80;

/// The text of one run's progress, and the last text that was sent.
#[derive(Clone, Debug)]
pub struct Progress {
    sent: String,
    sent_at: Instant,
    /// The current step, without the length of the wait.
    now: String,
    /// When the wait for the model began, if there is one. The text has its length, so that a wait does
    /// not look like a hang.
    waits: Option<Instant>,
    /// The length of the wait when the model was reported silent. It is shown at once, also if it is no
    /// whole step.
    silent: Duration,
    /// The last tool call: the step of the run when it waits neither for an answer nor for the model.
    tool: Option<String>,
    /// How many steps of the plan are done, and how many there are.
    plan: Option<(usize, usize)>,
}

impl Progress {
    /// Begins with a message that the caller sends at once.
    pub fn begin(message: &str, at: Instant) -> Self {
        let message = in_status(message);
        Self {
            sent: message.clone(),
            sent_at: at,
            now: message,
            waits: None,
            silent: Duration::ZERO,
            tool: None,
            plan: None,
        }
    }

    pub fn message(&self) -> &str {
        &self.now
    }

    /// Folds in one update; `now_ms` is the moment `at` in milliseconds since the Unix epoch.
    pub fn update(&mut self, update: &Update, at: Instant, now_ms: u64) {
        if let Update::StateUpdate(view) = update {
            let waits = matches!(view.sub, Some(SubState::Model | SubState::Stalled));
            let waited = Duration::from_millis(now_ms.saturating_sub(view.since));
            self.waits =
                (waits && view.state == State::Running).then(|| at.checked_sub(waited).unwrap_or(at));
            let silent = view.sub == Some(SubState::Stalled);
            self.silent = if silent { waited } else { Duration::ZERO };
        }
        if let Update::PlanUpdate { entries } = update {
            self.plan = plan::position(entries);
        }
        let step = match update {
            Update::ToolCallUpdate(call) => match call.status {
                ToolStatus::Pending | ToolStatus::InProgress => {
                    self.tool = Some(call.title.clone());
                    Some(call.title.clone())
                }
                _ => None,
            },
            Update::StateUpdate(view) => self.of_state(view),
            Update::Turn(turn) if turn.phase == TurnPhase::AttemptFailed => {
                let why = turn.message.as_deref().unwrap_or("the model did not answer");
                let wait = turn.retry_at.unwrap_or(now_ms).saturating_sub(now_ms).div_ceil(1000);
                Some(format!("retrying in {wait} s: {why}"))
            }
            Update::Turn(turn) if turn.phase == TurnPhase::Started => {
                Some(words_of(SubState::Model).to_owned())
            }
            _ => None,
        };
        if let Some(step) = step {
            self.now = in_status(&step);
        }
    }

    fn of_state(&self, view: &StateView) -> Option<String> {
        match (view.state, view.sub) {
            (
                State::Running,
                Some(SubState::Model | SubState::Streaming | SubState::Compacting | SubState::Stalled),
            ) => Some(state_words(view)),
            // The failed attempt has already given the reason and the time.
            (State::Running, Some(SubState::Retrying)) => None,
            (State::Running, _) => self.tool.clone(),
            (State::None | State::Idle, _) => None,
            (State::RequiresAction | State::Resumable, _) => Some(state_words(view)),
        }
    }

    /// Returns when the next text may be sent.
    pub fn due(&self) -> Option<Instant> {
        let changed = self.words(self.sent_at) != self.sent;
        let waited = || {
            let since = self.waits?;
            let waited = self.sent_at.saturating_duration_since(since);
            Some(since + waited + (WAITED - remainder(waited)))
        };
        if changed { Some(self.sent_at + EVERY) } else { waited() }
    }

    /// Returns the text to send now, if one is due, and counts it as sent.
    pub fn next_message(&mut self, at: Instant) -> Option<&str> {
        if self.due().is_none_or(|due| due > at) {
            return None;
        }
        self.sent = self.words(at);
        self.sent_at = at;
        Some(&self.sent)
    }

    /// Returns the current step, with the length of the wait in whole steps.
    fn words(&self, at: Instant) -> String {
        let waited = self.waits.map_or(Duration::ZERO, |since| at.saturating_duration_since(since));
        let step = match (waited - remainder(waited)).max(self.silent).as_secs() {
            0 => self.now.clone(),
            seconds => format!("{} ({seconds} s)", self.now),
        };
        // No percentage: an editor may ignore one that the beginning did not have, and a plan comes later.
        self.plan.map_or(step.clone(), |(done, all)| format!("{done}/{all} · {step}"))
    }
}

fn in_status(text: &str) -> String {
    display(text, Surface::Status(MAX_MESSAGE)).text.into_owned()
}

/// Returns the part of a wait after its last whole step.
fn remainder(waited: Duration) -> Duration {
    Duration::from_secs(waited.as_secs() % WAITED.as_secs())
        + Duration::from_nanos(u64::from(waited.subsec_nanos()))
}

/// Returns the words for a state in a status line.
pub fn state_words(view: &StateView) -> String {
    match (view.state, view.sub) {
        (State::RequiresAction, _) => "waits for your answer".to_owned(),
        (State::Resumable, _) => "was interrupted: resume it or discard it".to_owned(),
        (_, Some(sub)) => words_of(sub).to_owned(),
        _ => "at work".to_owned(),
    }
}

fn words_of(sub: SubState) -> &'static str {
    match sub {
        SubState::Model => "waiting for the model",
        SubState::Streaming => "the model answers",
        SubState::Stalled => "the model sends nothing",
        SubState::Compacting => "compacts the conversation",
        SubState::Retrying => "waits to try again",
        SubState::Preparing | SubState::Tools => "at work",
        SubState::Completed | SubState::Stopped => "done",
        SubState::Failed => "failed",
        SubState::Limit => "stopped at a limit",
        SubState::Cancelled => "cancelled",
    }
}

/// Returns how a run ended, in words.
pub fn end_words(end: &RunEnd) -> String {
    let outcome = match end.outcome {
        Outcome::Completed | Outcome::Stopped => "done",
        Outcome::Failed => "failed",
        Outcome::Limit => "stopped at a limit",
        Outcome::Cancelled => "cancelled",
    };
    match (&end.summary, end.outcome) {
        (Some(why), Outcome::Failed | Outcome::Limit) => one_line(&format!("{outcome}: {why}"), 200),
        _ => outcome.to_owned(),
    }
}

/// Returns that a run was done, and how the answer of the model begins, in quotation marks: those are its words, not Adjutant's.
pub fn answer_words(end: &RunEnd) -> String {
    let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let first = end.summary.as_deref().and_then(|answer| answer.lines().find(has_words));
    // A heading of Markdown is a sentence here.
    let line = first.map(|line| one_line(line.trim_start_matches('#').trim(), 200));
    line.map_or_else(|| "done.".to_owned(), |line| format!("done. The answer begins: “{line}”"))
}

#[cfg(test)]
mod tests;
