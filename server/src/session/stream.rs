//! Text that streams out of a step: collected by the step, taken by the session.
//!
//! Bounded and never waits; a session that is slow gets larger pieces.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::machine::input::Report;
use adjutant_core::machine::step::Step;
use adjutant_core::prompt::Delta;

use super::mailbox::{Mailbox, Message};

/// Streamed text is written to the log at most this often, and at the latest after this time (`ReplyPartial`).
const PARTIAL: Duration = Duration::from_secs(1);
/// Output of a command that waits to be shown; of more, the latest.
const MAX_WAITING: usize = 64 * 1024;

/// What has come since it was last taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamDelta {
    pub text: String,
    pub reasoning: String,
}

/// The stream of one step; clones share it.
#[derive(Clone)]
pub struct Stream {
    step: Step,
    mailbox: Mailbox,
    state: Arc<Mutex<StreamState>>,
}

#[derive(Default)]
struct StreamState {
    taken: StreamDelta,
    whole: StreamDelta,
    started: bool,
    last_partial: Option<Instant>,
    partial_len: usize,
    /// The session was told of a partial and has not taken it yet; it takes the newest.
    partial_waits: bool,
    /// When the model sent something last; none before its first word.
    heard: Option<Instant>,
    /// The session was told that nothing comes.
    silent: bool,
}

impl Stream {
    pub fn new(step: Step, mailbox: Mailbox) -> Self {
        Self { step, mailbox, state: Arc::default() }
    }

    /// Takes a piece of a reply.
    pub fn reply(&self, delta: Delta) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut state.started, true) {
            self.report(Report::ReplyStarted);
            state.last_partial = Some(Instant::now());
        }
        state.heard = Some(Instant::now());
        if std::mem::take(&mut state.silent) {
            self.report(Report::Heard);
        }
        let was_empty = state.taken == StreamDelta::default();
        match delta {
            Delta::Text(text) => {
                state.taken.text.push_str(&text);
                state.whole.text.push_str(&text);
            }
            Delta::Reasoning(text) => {
                state.taken.reasoning.push_str(&text);
                state.whole.reasoning.push_str(&text);
            }
            Delta::ToolCall { .. } => {}
        }
        if was_empty && state.taken != StreamDelta::default() {
            self.mailbox.post(Message::Streamed { step: self.step.clone() });
        }
        if state.last_partial.is_some_and(|last| last.elapsed() >= PARTIAL) {
            self.partial(&mut state);
        }
    }

    /// Records what has streamed also while nothing more comes, until it is dropped: text that stands on the
    /// screen must be there after a kill.
    pub async fn keep_partials(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(PARTIAL).await;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.started {
                self.partial(&mut state);
            }
        }
    }

    /// Tells the session each time the model has sent nothing for so long, until it is dropped.
    pub async fn report_silence(&self, limit: Duration) -> std::convert::Infallible {
        let mut since = Instant::now();
        loop {
            tokio::time::sleep_until((since + limit).into()).await;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let heard = state.heard.unwrap_or(since).max(since);
            if heard > since {
                since = heard;
            } else {
                if !std::mem::replace(&mut state.silent, true) {
                    let ago = u64::try_from(since.elapsed().as_millis()).unwrap_or(0);
                    self.report(Report::Silent { since: crate::clock::now_ms().saturating_sub(ago) });
                }
                // Looked at again then: it may have been heard and gone silent anew.
                since = Instant::now();
            }
        }
    }

    /// Takes a piece of a command's output.
    pub fn output(&self, text: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = state.taken.text.is_empty();
        state.taken.text.push_str(text);
        if state.taken.text.len() > MAX_WAITING {
            let mut cut = state.taken.text.len() - MAX_WAITING;
            while !state.taken.text.is_char_boundary(cut) {
                cut += 1;
            }
            state.taken.text.drain(..cut);
        }
        if was_empty && !text.is_empty() {
            self.mailbox.post(Message::Streamed { step: self.step.clone() });
        }
    }

    /// Records what has streamed before the attempt is given up, so that it is kept.
    pub fn broke_off(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.started {
            self.partial(&mut state);
        }
    }

    pub fn take_delta(&self) -> StreamDelta {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).taken)
    }

    /// Takes what has streamed so far, for the log; none when nothing is new.
    pub fn take_partial(&self) -> Option<Report> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::take(&mut state.partial_waits) {
            return None;
        }
        let StreamDelta { text, reasoning } = &state.whole;
        let report = Report::ReplyPartial { text: text.clone(), reasoning: reasoning.clone() };
        state.partial_len = text.len() + reasoning.len();
        Some(report)
    }

    fn partial(&self, state: &mut StreamState) {
        let len = state.whole.text.len() + state.whole.reasoning.len();
        if len > state.partial_len && !std::mem::replace(&mut state.partial_waits, true) {
            self.mailbox.post(Message::Partial { step: self.step.clone() });
        }
        state.last_partial = Some(Instant::now());
    }

    fn report(&self, report: Report) {
        self.mailbox.post(Message::Report { step: self.step.clone(), report });
    }
}
