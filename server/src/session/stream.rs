//! The streamed text of a step: the step collects it, and the session removes it.
//!
//! Bounded, and never waits: a slow session gets larger pieces.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::machine::input::Report;
use adjutant_core::machine::step::Step;
use adjutant_core::prompt::Delta;

use super::mailbox::{Mailbox, Message};

/// Streamed text is written to the log (`ReplyPartial`) at most this often, and at the latest after this time.
const PARTIAL: Duration = Duration::from_secs(1);
/// Bytes of command output that wait to be published. Of more, only the end is published.
const MAX_WAITING: usize = 64 * 1024;

/// The text since the last `take_delta`.
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
    delta: StreamDelta,
    whole: StreamDelta,
    started: bool,
    last_partial: Option<Instant>,
    partial_len: usize,
    /// Whether a `Partial` message is posted and not yet handled. The session then reads the newest text.
    partial_waits: bool,
    /// When the model last sent something; `None` before its first piece.
    heard: Option<Instant>,
    /// Whether the silence of the model is reported to the session.
    silent: bool,
}

impl Stream {
    pub fn new(step: Step, mailbox: Mailbox) -> Self {
        Self { step, mailbox, state: Arc::default() }
    }

    /// Adds a piece of a reply.
    pub fn reply(&self, piece: Delta) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut state.started, true) {
            self.report(Report::ReplyStarted);
            state.last_partial = Some(Instant::now());
        }
        state.heard = Some(Instant::now());
        if std::mem::take(&mut state.silent) {
            self.report(Report::Heard);
        }
        let was_empty = state.delta == StreamDelta::default();
        match piece {
            Delta::Text(text) => {
                state.delta.text.push_str(&text);
                state.whole.text.push_str(&text);
            }
            Delta::Reasoning(text) => {
                state.delta.reasoning.push_str(&text);
                state.whole.reasoning.push_str(&text);
            }
            Delta::ToolCall { .. } => {}
        }
        if was_empty && state.delta != StreamDelta::default() {
            self.mailbox.post(Message::Streamed { step: self.step.clone() });
        }
        if state.last_partial.is_some_and(|last| last.elapsed() >= PARTIAL) {
            self.partial(&mut state);
        }
    }

    /// Has the streamed text recorded every second, also while the model is silent, until the future is
    /// dropped. Text that the user has seen must be there after a kill.
    pub async fn keep_partials(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(PARTIAL).await;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.started {
                self.partial(&mut state);
            }
        }
    }

    /// Reports to the session when the model has sent nothing for `limit`, until the future is dropped.
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
                // Checks again after `limit`: the model may have continued and become silent again.
                since = Instant::now();
            }
        }
    }

    /// Adds a piece of a command's output.
    pub fn output(&self, text: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = state.delta.text.is_empty();
        state.delta.text.push_str(text);
        if state.delta.text.len() > MAX_WAITING {
            let mut cut = state.delta.text.len() - MAX_WAITING;
            while !state.delta.text.is_char_boundary(cut) {
                cut += 1;
            }
            state.delta.text.drain(..cut);
        }
        if was_empty && !text.is_empty() {
            self.mailbox.post(Message::Streamed { step: self.step.clone() });
        }
    }

    /// Has the streamed text recorded before the attempt is given up.
    pub fn broke_off(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.started {
            self.partial(&mut state);
        }
    }

    pub fn take_delta(&self) -> StreamDelta {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).delta)
    }

    /// Returns a report of all text so far, for the log; `None` if no partial waits.
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
