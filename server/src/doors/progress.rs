//! The progress of one run: which step it is at, in words, and when it may be
//! said again.
//!
//! Pure. Never says anything twice, and nothing oftener than once a second.

use std::time::{Duration, Instant};

use adjutant_core::tool::one_line;
use adjutant_protocol::session::RunEnd;
use adjutant_protocol::state::{Outcome, State, StateView, SubState};
use adjutant_protocol::update::{ToolStatus, TurnPhase, Update};

/// Progress text changes at most this often (decision 16).
const EVERY: Duration = Duration::from_secs(1);
/// Characters of a message; a status line has no more room.
const MAX_MESSAGE: usize = 80;

/// The words of one run, and which of them were said.
#[derive(Clone, Debug)]
pub struct Progress {
    said: String,
    said_at: Instant,
    /// What holds now.
    now: String,
    /// The step the run is at when nothing is asked and the model is not waited for.
    tool: Option<String>,
}

impl Progress {
    /// Begins with a message that is said at once.
    pub fn begin(message: &str, at: Instant) -> Self {
        let message = one_line(message, MAX_MESSAGE);
        Self { said: message.clone(), said_at: at, now: message, tool: None }
    }

    pub fn message(&self) -> &str {
        &self.now
    }

    /// Folds in one update; `now_ms` is in milliseconds since the Unix epoch.
    pub fn told(&mut self, update: &Update, now_ms: u64) {
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
            self.now = one_line(&step, MAX_MESSAGE);
        }
    }

    fn of_state(&self, view: &StateView) -> Option<String> {
        match (view.state, view.sub) {
            (State::Running, Some(SubState::Model | SubState::Streaming)) => Some(state_words(view)),
            // The failed attempt has said why and how long.
            (State::Running, Some(SubState::Retrying)) => None,
            (State::Running, _) => self.tool.clone(),
            (State::None | State::Idle, _) => None,
            (State::RequiresAction | State::Resumable, _) => Some(state_words(view)),
        }
    }

    /// When the words that were not said yet may be said.
    pub fn due(&self) -> Option<Instant> {
        (self.said != self.now).then(|| self.said_at + EVERY)
    }

    /// Returns what is to be said now, and takes it as said.
    pub fn take(&mut self, at: Instant) -> Option<&str> {
        if self.due().is_none_or(|due| due > at) {
            return None;
        }
        self.said.clone_from(&self.now);
        self.said_at = at;
        Some(&self.said)
    }
}

/// What a state means for somebody who looks at a status line.
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

#[cfg(test)]
mod tests;
