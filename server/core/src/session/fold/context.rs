//! How the texts of the prompt and the compactions of the conversation change a session.
//!
//! Never decides when to compact; `prompt::compact` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Session;
use crate::prompt::message::{ModelMessage, Usage};
use crate::record::{ClearedOutput, Compaction, ContextKind, ContextText, Event, SummaryTurn, ToolCallId};
use crate::session::spending::Spent;
use crate::session::{Call, TurnPhase};

impl Session {
    pub(super) fn fold_context(&mut self, event: &Event) {
        match event {
            Event::ContextRead { run, texts, .. } => {
                if let Some(open) = self.run.as_mut().filter(|open| open.id == *run) {
                    open.has_context = true;
                }
                if let Some(texts) = texts {
                    self.texts = self.with_first_surroundings(texts);
                }
            }
            Event::InstructionsFound { texts, .. } => {
                for text in texts {
                    let note = format!(
                        "[note] The folder of {0} has instructions for the work in it. {0}:\n{1}",
                        text.source, text.text
                    );
                    self.tell_model(note);
                    self.nested.push(text.clone());
                }
            }
            Event::OutputsCleared { outputs, before, after, .. } => self.clear(outputs, *before, *after),
            Event::CompactionWanted { run, .. } => {
                if let Some(open) = self.run.as_mut().filter(|open| open.id == *run) {
                    open.compact_wanted = true;
                }
            }
            Event::Compacted { compaction, text, summary, by, after, .. } => {
                self.compact(compaction, text, *after);
                let most = self.run.as_ref().and_then(|run| run.window_limit());
                self.compacted.note(compaction.before, *after, most);
                self.compacted.summary = Some(summary.clone());
                self.compacted.tried = false;
                if let Some(SummaryTurn { usage, .. }) = by {
                    self.compacted.failures = 0;
                    self.end_summary(*usage);
                }
                if let Some(run) = &mut self.run {
                    run.compact_wanted = false;
                }
            }
            Event::SummaryFailed { usage, .. } => {
                self.compacted.failures = self.compacted.failures.saturating_add(1);
                self.compacted.tried = true;
                self.end_summary(*usage);
            }
            _ => {}
        }
    }

    /// Returns the session as a run would find it that begins now, for which these texts were read.
    #[must_use]
    pub fn with_texts(self, texts: &[ContextText]) -> Self {
        Self { texts: self.with_first_surroundings(texts), ..self }
    }

    /// Returns the texts with the surroundings of the beginning of the session: the reminder has what changed since, so that the
    /// beginning of the requests stays the same.
    fn with_first_surroundings(&self, texts: &[ContextText]) -> Arc<[ContextText]> {
        let is_surroundings = |text: &&ContextText| text.kind == ContextKind::Surroundings;
        let first = self.texts.iter().find(is_surroundings);
        let of_now = texts.iter().find(is_surroundings);
        let others = texts.iter().filter(|text| !is_surroundings(text));
        first.or(of_now).into_iter().chain(others).cloned().collect()
    }

    fn clear(&mut self, outputs: &[ClearedOutput], before: u64, after: u64) {
        for cleared in outputs {
            if let Some(ModelMessage::Tool { call_id, output }) = self.history.get_mut(cleared.at)
                && *call_id == cleared.call
            {
                *output = cleared.text.clone();
            }
        }
        self.compacted.number += 1;
        self.tokens.replaced(before, before.saturating_sub(after), &self.history);
    }

    /// Replaces a part of the history by one message, with the images of its prompts.
    fn compact(&mut self, compaction: &Compaction, text: &Arc<str>, after: u64) {
        let to = compaction.to.min(self.history.len());
        let from = compaction.from.min(to);
        let mut pictures = Vec::new();
        for message in &self.history[from..to] {
            self.compacted.prompts.extend(message.own_words().map(Arc::from));
            match message {
                ModelMessage::User { pictures: of_message, .. } => pictures.extend_from_slice(of_message),
                ModelMessage::Assistant { .. } => self.compacted.replies += 1,
                ModelMessage::Tool { .. } => {}
            }
        }
        let message = ModelMessage::User { text: text.clone(), pictures, words: 0 };
        self.history.splice(from..to, [message]);
        self.compacted.number += 1;
        self.tokens.replaced(compaction.before, compaction.before.saturating_sub(after), &self.history);
    }

    /// Ends the turn that asked for a summary.
    fn end_summary(&mut self, usage: Option<Usage>) {
        let Some(run) = &mut self.run else { return };
        let estimated = || self.tokens.estimated(&self.history, None);
        let spent = Spent::of_reply(&run.policy.budget, run.called_model(), usage, estimated);
        if let Some(turn) = &mut run.turn {
            turn.phase = TurnPhase::Acting;
            turn.streaming = false;
            turn.silent_since = None;
            turn.partial.clear();
        }
        self.spend(&spent);
    }
}

/// Notes that the output of a command is saved.
pub(super) fn note_output(outputs: &mut BTreeMap<Arc<str>, Option<ToolCallId>>, call: &Call) {
    if call.is_command() {
        // A provider may use an id again; then nobody can say which output is meant.
        let saved = outputs.entry(call.provider_id.clone());
        saved.and_modify(|known| *known = None).or_insert_with(|| Some(call.id.clone()));
    }
}
