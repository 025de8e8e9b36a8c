//! What the status line of the loop says of the run that works: time, tokens, share of the window.
//!
//! Never draws, and never guesses: what is not known is left out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use adjutant_protocol::model::ModelView;
use adjutant_protocol::update::{RunView, TurnPhase, Update};

/// How often the status is drawn.
const STEP: Duration = Duration::from_millis(125);
const SPINNER: [char; 8] = ['⠋', '⠙', '⠹', '⠼', '⠴', '⠦', '⠧', '⠏'];

/// The work of one run after another.
#[derive(Debug, Default)]
pub(super) struct WorkStatus {
    /// `None` while no run works.
    since: Option<Instant>,
    next: Option<Instant>,
    step: usize,
    windows: BTreeMap<String, u64>,
    window: Option<u64>,
    /// Tokens of the last reply: what the conversation has now.
    used: Option<u64>,
}

impl WorkStatus {
    pub(super) fn know(&mut self, models: &[ModelView]) {
        let known = models.iter().filter(|model| model.known);
        self.windows = known.map(|model| (model.model.clone(), model.context_window.into())).collect();
    }

    pub(super) fn begin(&mut self, now: Instant) {
        (self.since, self.next) = (Some(now), Some(now + STEP));
    }

    pub(super) fn end(&mut self) {
        (self.since, self.next) = (None, None);
    }

    pub(super) fn update(&mut self, update: &Update) {
        match update {
            Update::Run(RunView::Started { model, .. }) => self.window = self.windows.get(model).copied(),
            Update::Run(RunView::Ended { .. }) => self.end(),
            Update::Turn(turn) if turn.phase == TurnPhase::Ended => {
                if let Some(usage) = turn.usage {
                    let all = usage.input_tokens.saturating_add(usage.output_tokens);
                    self.used = Some(all).filter(|used| *used > 0);
                }
            }
            _ => {}
        }
    }

    /// Returns when the status is drawn next.
    pub(super) fn draws_at(&self) -> Option<Instant> {
        self.next
    }

    /// Returns the status now; `None` if no run works.
    pub(super) fn status(&mut self, waits_for: Option<&str>, now: Instant) -> Option<String> {
        let since = self.since?;
        self.next = Some(now + STEP);
        self.step += 1;
        let spinner = SPINNER[self.step % SPINNER.len()];
        let mut parts = vec![format!("{spinner} {} s", now.saturating_duration_since(since).as_secs())];
        if let Some(used) = self.used {
            let share = self.window.filter(|window| *window > 0);
            let share =
                share.map(|window| format!(" ({} % of the window)", used.saturating_mul(100) / window));
            parts.push(format!("{used} tokens{}", share.unwrap_or_default()));
        }
        parts.extend(waits_for.map(str::to_owned));
        Some(parts.join(" · "))
    }
}
