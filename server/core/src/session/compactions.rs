//! What a session remembers of its compactions, and what its last request began with.
//!
//! Plain data; only `Session::apply` changes it.

use std::sync::Arc;

use crate::record::{Compaction, CompactionReach, ContextText, Mode};
use crate::session::Run;

/// Failed summaries in a row after which no model is asked for the next one. The number is that of seed 001.
const MAX_FAILURES: u32 = 3;

/// Useless compactions in a row after which the user is asked.
const MAX_USELESS: u32 = 3;

/// The compactions of a session so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compactions {
    /// The prompts of all replaced messages, oldest first.
    pub prompts: Vec<Arc<str>>,
    /// How many replies were replaced.
    pub replies: usize,
    /// The last summary.
    pub summary: Option<Arc<str>>,
    /// Summaries that failed in a row.
    pub failures: u32,
    /// Whether one failed since the last compaction.
    pub tried: bool,
    /// Compactions in a row after which the conversation was as long as before or still too long for its model.
    pub useless: u32,
    /// How often the history was changed in its middle.
    pub(crate) number: u32,
}

impl Compactions {
    /// Notes what a compaction has done. `most` is from where on the conversation is too long for its model, in tokens.
    pub(crate) fn note(&mut self, before: u64, after: u64, most: Option<u64>) {
        let has_freed = after.saturating_mul(10) <= before.saturating_mul(9);
        let fits = most.is_none_or(|most| after < most);
        self.useless = if has_freed && fits { 0 } else { self.useless.saturating_add(1) };
    }

    /// Whether compactions do not help any more: the window is too small for this work.
    pub fn is_hopeless(&self) -> bool {
        self.useless >= MAX_USELESS
    }

    /// Whether the next compaction is done without a model, because a model has failed too often. After it, a model gets one
    /// more try each time.
    pub fn is_mechanical(&self) -> bool {
        self.failures >= MAX_FAILURES && self.tried
    }
}

/// The part of the window that the reply may need.
pub(crate) const RESERVE_PERCENT: u64 = 10;

impl Run {
    /// Returns from where on a conversation is too long for the model of the work, in tokens; `None` if its window is not known.
    pub(super) fn window_limit(&self) -> Option<u64> {
        let context = self.policy.context.as_ref()?;
        let window = u64::from(*context.windows.get(self.current_model())?);
        Some(window.saturating_mul(context.compact.all_percent.into()) / 100)
    }

    /// Returns the model that writes the summary of a compaction, if it is not the model of the work. After a summary that failed, after
    /// a refused length, for a conversation that does not fit it, and where its money cannot be counted, the model of the work does it.
    pub(super) fn summary_model(&self, compaction: &Compaction, failures: u32) -> Option<String> {
        let context = self.policy.context.as_ref()?;
        let model = context.summary_model.as_ref().filter(|model| *model != self.current_model())?;
        let window = u64::from(*context.windows.get(model)?);
        let fits = compaction.before.saturating_add(window * RESERVE_PERCENT / 100) <= window;
        let budget = &self.policy.budget;
        let is_counted = !budget.limits_cost() || budget.prices.contains_key(model);
        let may = failures == 0 && compaction.reach != CompactionReach::Most && fits && is_counted;
        may.then(|| model.clone())
    }
}

/// What a request begins with: what a provider can have in its cache.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SentPrefix {
    pub model: String,
    pub mode: Mode,
    pub toolset: String,
    pub texts: Arc<[ContextText]>,
    /// `Compactions::number`.
    pub history: u32,
}

/// The part of a request that is not as in the request before, although it stands before the end (S70).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheBreak {
    Model,
    Tools,
    Mode,
    Instructions,
    History,
}

impl SentPrefix {
    /// Returns the first part of a request that differs from the request before.
    pub fn broken_by(&self, next: &SentPrefix) -> Option<CacheBreak> {
        let parts = [
            (self.model != next.model, CacheBreak::Model),
            (self.toolset != next.toolset, CacheBreak::Tools),
            (self.mode != next.mode, CacheBreak::Mode),
            (self.texts != next.texts, CacheBreak::Instructions),
            (self.history != next.history, CacheBreak::History),
        ];
        parts.into_iter().find_map(|(differs, part)| differs.then_some(part))
    }
}
