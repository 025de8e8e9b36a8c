//! How many tokens the next request has: what the provider counted last, and an estimate of what came since.
//!
//! Never asks a tokenizer. It learns from each count of the provider (S72).

use std::sync::Arc;

use crate::prompt::estimate;
use crate::prompt::message::{ModelMessage, Reply, Usage};

/// How much of what was learned counts again after each further reply.
const MEMORY: f64 = 0.8;
/// The factor between counts and estimates is never outside this range: a provider that counts wrong must not make every
/// conversation look empty or full.
const FACTORS: std::ops::RangeInclusive<f64> = 0.2..=5.0;
/// The least part of an estimate that a count has. Real tokenizers are never so far from it (`tests/tokenizers.rs`).
const LEAST_BELIEVED: f64 = 0.35;
/// A difference of fewer tokens than this teaches nothing: the reminder at the end of each request differs by as much.
const LEAST_LEARNED: f64 = 200.0;
/// About how many tokens the system prompt and the tools have, until the provider has counted them.
const BEGINNING: f64 = 2_100.0;

/// Counts and estimates of one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenCount {
    /// Tokens of the last counted request; `None` before the first.
    input: Option<u64>,
    /// How many messages of the history that request had.
    at: usize,
    /// Estimated tokens of these messages, as they are without a correction.
    estimated: f64,
    /// Whether `input` is a count. After a compaction it is an estimate, which teaches nothing.
    is_counted: bool,
    /// Counted and estimated tokens of what was added between two requests; older ones count less.
    learned: (f64, f64),
}

impl TokenCount {
    /// Returns the factor between what the provider counts and what the estimate says.
    pub fn factor(&self) -> f64 {
        let (counted, estimated) = self.learned;
        if estimated < LEAST_LEARNED {
            return 1.0;
        }
        (counted / estimated).clamp(*FACTORS.start(), *FACTORS.end())
    }

    /// Returns about how many tokens these messages have.
    pub fn of<'a>(&self, messages: impl IntoIterator<Item = &'a ModelMessage>) -> u64 {
        (messages.into_iter().map(estimate::of_message).sum::<f64>() * self.factor()) as u64
    }

    /// Returns about how many tokens a request with this history has, with the system prompt and the tools.
    pub fn fill(&self, history: &[ModelMessage]) -> u64 {
        match self.input {
            Some(input) => input.saturating_add(self.of(history.get(self.at..).unwrap_or_default())),
            None => (BEGINNING as u64).saturating_add(self.of(history)),
        }
    }

    /// Returns the fill if the provider has counted a request of this session, or a compaction has estimated one.
    pub fn counted_fill(&self, history: &[ModelMessage]) -> Option<u64> {
        self.input.map(|_| self.fill(history))
    }

    /// Returns about how many tokens a request with this history had, and its reply.
    pub(super) fn estimated(&self, history: &[ModelMessage], reply: Option<&Arc<Reply>>) -> Usage {
        let reply = reply.map(|reply| ModelMessage::Assistant { reply: reply.clone() });
        Usage { input_tokens: self.fill(history), output_tokens: self.of(&reply), ..Usage::default() }
    }

    /// Notes what the provider counted for a request with this history. A count far below the estimate is not believed: some servers count
    /// only what they did not have, and the conversation would never be too long.
    pub(super) fn counted(&mut self, usage: Usage, history: &[ModelMessage]) {
        let added: f64 = history.get(self.at..).unwrap_or_default().iter().map(estimate::of_message).sum();
        self.estimated += added;
        let input = usage.input_tokens.max((self.estimated * LEAST_BELIEVED) as u64);
        if let (Some(before), true) = (self.input, self.is_counted) {
            let counted = input as f64 - before as f64;
            if added >= LEAST_LEARNED && counted > 0.0 {
                let (all_counted, all_estimated) = self.learned;
                self.learned = (all_counted * MEMORY + counted, all_estimated * MEMORY + added);
            }
        }
        (self.input, self.at, self.is_counted) = (Some(input), history.len(), true);
    }

    /// Notes that the history was made smaller, from this fill to that of now.
    pub(super) fn replaced(&mut self, before: u64, freed: u64, history: &[ModelMessage]) {
        self.input = Some(before.saturating_sub(freed));
        self.at = history.len();
        self.estimated = history.iter().map(estimate::of_message).sum();
        self.is_counted = false;
    }
}

#[cfg(test)]
mod tests;
