//! How each record changes a session.
//!
//! Never decides: a recorded event has happened.

mod attempts;
mod context;
mod outside;
mod parent;
mod review;

use std::collections::VecDeque;
use std::sync::Arc;

use super::{
    Call, CallPhase, ContextFill, EndedRun, OpenAsk, REMEMBERED, Run, RunEdits, Session, Turn, TurnPhase,
    UsedKey,
};
use crate::machine::retry::FailureClass;
use crate::policy::observation::ObservedPath;
use crate::prompt::image::{Image, Picture};
use crate::prompt::message::{ModelMessage, Reply, Usage};
use crate::record::{AskGroup, AskKind, CallEnd, ChangeSetId, EditCheck, Event, Payload, Record, ToolCallId};
use crate::session::compactions::SentPrefix;
use crate::session::hunks::{self, HunkState};
use crate::session::maker::{Maker, split_words};
use crate::session::rewind::RanCommand;
use crate::session::run::{RunEnd, names_of_files};
use crate::session::spending::Spent;
use crate::tool::Effect;

impl Session {
    /// Folds one record into the session; only `apply` calls it.
    pub(super) fn fold(&mut self, record: &Record) {
        match &record.event {
            Event::SessionCreated { session, roots, title, choices, parent } => {
                self.parent.clone_from(parent);
                self.inherits = parent.is_some();
                self.choices = choices.clone();
                self.id = session.clone();
                self.roots = roots.clone();
                self.title = title.clone();
                self.created = true;
                self.created_at = record.at;
            }
            Event::Titled { title, .. } => self.title.clone_from(title),
            Event::Forked { title, choices, .. } => self.end_inheritance(title, choices),
            Event::SessionOpened { epoch } => {
                self.epoch = *epoch;
                self.applied.fold(record);
            }
            Event::RuleAdded { rule } => {
                if !self.rules.contains(rule) {
                    self.rules.push(rule.clone());
                }
            }
            Event::ConfigChanged { chosen, .. } => self.apply_choice(chosen),
            Event::RulesChanged { run, deny, unattended } => {
                if let Some(open) = self.run.as_mut().filter(|open| open.id == *run) {
                    open.policy.deny.clone_from(deny);
                    open.policy.unattended = *unattended;
                }
            }
            Event::RunStarted { .. } | Event::Prompted { .. } | Event::RunEnded { .. } => {
                self.fold_run(record)
            }
            // `RunEnded` follows in the same batch and has the summary.
            Event::Completed { .. } => {}
            Event::AskOpened { .. } | Event::AskReobserved { .. } | Event::AskClosed { .. } => {
                self.fold_ask(record);
            }
            Event::TurnStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::ReplyStarted { .. }
            | Event::ReplyPartial { .. }
            | Event::WentSilent { .. }
            | Event::Heard { .. }
            | Event::ModelReplaced { .. }
            | Event::AttemptFailed { .. }
            | Event::Replied { .. }
            | Event::TurnFailed { .. } => self.fold_turn(record),
            Event::CallOpened { .. }
            | Event::CallPrepared { .. }
            | Event::ChangeProposed { .. }
            | Event::OperationProposed { .. }
            | Event::HunkDecided { .. }
            | Event::ApplyStarted { .. }
            | Event::Applied { .. }
            | Event::ToolStarted { .. }
            | Event::ToolFinished { .. }
            | Event::Settled { .. } => self.fold_call(record),
            Event::ReviewStarted { .. }
            | Event::Reviewed { .. }
            | Event::ReviewFailed { .. }
            | Event::Commented { .. }
            | Event::CommentsSent { .. } => self.fold_review(record),
            Event::OutsideChanged { .. } => self.fold_outside(record),
            Event::ContextRead { .. }
            | Event::InstructionsFound { .. }
            | Event::OutputsCleared { .. }
            | Event::CompactionWanted { .. }
            | Event::Compacted { .. }
            | Event::SummaryFailed { .. } => self.fold_context(&record.event),
        }
    }

    fn fold_run(&mut self, record: &Record) {
        match &record.event {
            Event::RunStarted {
                run,
                model,
                policy,
                generation_settings,
                not_before,
                follows,
                title,
                origin,
                toolset,
                continues,
                only_compacts,
            } => {
                let continued = self.ended.iter().rev().find(|ended| Some(&ended.run) == continues.as_ref());
                let prompts = continued.map(|ended| ended.prompts.clone().continued()).unwrap_or_default();
                self.run = Some(Run {
                    id: run.clone(),
                    started_at: record.at,
                    model: model.clone(),
                    fallback: None,
                    generation_settings: *generation_settings,
                    not_before: *not_before,
                    wait_ms: None,
                    policy: policy.clone(),
                    follows: *follows,
                    next_mode: None,
                    title: title.clone(),
                    prompts,
                    origin: origin.clone(),
                    toolset: toolset.clone(),
                    turn: None,
                    pending: Vec::new(),
                    spent: Spent::default(),
                    mistakes: 0,
                    has_context: false,
                    only_compacts: *only_compacts,
                    compact_wanted: *only_compacts,
                    overflows: 0,
                });
                self.compacted.useless = 0;
                self.drop_unread_changes();
            }
            Event::Prompted { run, text, images, steer, added, key, .. } => {
                if let Some(used) = key {
                    remember(
                        &mut self.keys,
                        UsedKey { used: used.clone(), run: run.clone(), steer: *steer, at: record.at },
                    );
                }
                if let Some(open) = &mut self.run {
                    let picture = |image: &Image| Picture { image: image.clone(), withheld: None };
                    let pictures = images.iter().map(picture).collect();
                    let words = split_words(text, *added).0;
                    open.prompts.note(words);
                    open.pending.push(ModelMessage::User {
                        text: text.clone(),
                        pictures,
                        words: words.len(),
                    });
                }
            }
            Event::RunEnded { .. } => self.end_run(record),
            _ => {}
        }
    }

    fn fold_ask(&mut self, record: &Record) {
        match &record.event {
            Event::AskOpened { ask } => {
                let observed = self.epoch;
                for call in &ask.calls {
                    if ask.kind == AskKind::CommandOutput {
                        self.with_call(call, |call| call.output_asked = true);
                    } else if ask.kind.group() == AskGroup::Interactive {
                        self.with_call(call, |call| call.phase = CallPhase::Asking { epoch: observed });
                    }
                }
                self.asks.insert(
                    ask.id.clone(),
                    OpenAsk { ask: (**ask).clone(), seq: record.seq, observed, since: record.at },
                );
            }
            Event::AskReobserved { ask, epoch } => {
                let calls = self.asks.get_mut(ask).map(|open| {
                    open.observed = *epoch;
                    open.since = record.at;
                    open.ask.calls.clone()
                });
                for call in calls.into_iter().flatten() {
                    self.with_call(&call, |call| {
                        if !call.is_finished() {
                            call.phase = CallPhase::Asking { epoch: *epoch };
                        }
                    });
                }
            }
            Event::AskClosed { ask, resolution } => {
                self.asks.remove(ask);
                remember(&mut self.closed_asks, (ask.clone(), resolution.clone()));
            }
            _ => {}
        }
    }

    fn fold_turn(&mut self, record: &Record) {
        let event = &record.event;
        if let Event::AttemptStarted { .. }
        | Event::AttemptFailed { cut: None, .. }
        | Event::TurnFailed { .. } = event
        {
            self.spend_broken();
        }
        let Some(run) = &mut self.run else { return };
        if matches!(event, Event::TurnStarted { .. } | Event::AttemptStarted { .. }) {
            run.use_next_mode();
        }
        if let Event::TurnStarted { turn, compacts, .. } = event {
            let left = run.turn.iter_mut().flat_map(results_left);
            self.history.extend(left);
            self.turns = *turn;
            // The messages that a compaction replaces are counted from the beginning, so prompts that came since wait for the turn
            // after it.
            if compacts.is_none() {
                self.history.append(&mut run.pending);
            }
            let failures = self.compacted.failures;
            let summary_model = compacts.as_ref().and_then(|of| run.summary_model(of, failures));
            let next = SentPrefix {
                model: run.current_model().to_owned(),
                mode: run.policy.mode,
                toolset: run.toolset.clone(),
                texts: self.texts.clone(),
                history: self.compacted.number,
            };
            // The provider of the work keeps its cache while another model is asked for a summary.
            let mut cache_break = None;
            if summary_model.is_none() {
                cache_break = self.sent.as_ref().and_then(|sent| sent.broken_by(&next));
                self.sent = Some(next);
            }
            run.begin_turn(*turn, compacts.clone(), summary_model, cache_break);
            self.spend(&Spent { requests: 1, ..Spent::default() });
            self.drop_unread_changes();
            return;
        }
        let Some(turn) = &mut run.turn else { return };
        // Every other event of the turn ends a silence. `ReplyPartial` does not: a timer records it, also during a
        // silence.
        if !matches!(event, Event::ReplyPartial { .. }) {
            turn.silent_since = None;
        }
        match event {
            Event::WentSilent { since, .. } => turn.silent_since = Some(*since),
            Event::ModelReplaced { to, .. } => {
                run.fallback = Some(to.clone());
                turn.tries = turn.tries.of_next_model();
            }
            Event::AttemptStarted { attempt, .. } => {
                turn.attempt = *attempt;
                turn.phase = TurnPhase::Calling;
                turn.streaming = false;
            }
            Event::ReplyStarted { message, .. } => {
                turn.message = Some(message.clone());
                turn.streaming = true;
                turn.partial.clear();
            }
            Event::ReplyPartial { text, .. } => turn.partial.clone_from(text),
            Event::AttemptFailed { .. } => self.fold_failed_attempt(record),
            Event::Replied { reply, message, .. } => {
                turn.message = Some(message.clone());
                turn.streaming = false;
                turn.partial.clear();
                turn.phase = TurnPhase::Acting;
                run.overflows = 0;
                // A reply that was cut, and that counts after all, was counted when it was cut.
                let was_counted = turn.cut.take().is_some();
                let counted = || self.tokens.estimated(&self.history, Some(reply));
                let estimated = || if was_counted { Usage::default() } else { counted() };
                let spent = Spent::of_reply(&run.policy.budget, run.current_model(), reply.usage, estimated);
                if let Some(usage) = reply.usage.filter(Usage::is_counted) {
                    self.tokens.counted(usage, &self.history);
                    let model = run.fallback.as_ref().unwrap_or(&run.model).clone();
                    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
                    self.context = Some(ContextFill { tokens, model });
                }
                self.history.push(ModelMessage::Assistant { reply: reply.clone() });
                self.spend(&spent);
            }
            Event::TurnFailed { failure, .. } => {
                turn.streaming = false;
                if failure.class == FailureClass::ContextExceeded {
                    run.overflows = run.overflows.saturating_add(1);
                }
                run.wait_ms = failure.retry_after_ms;
            }
            _ => {}
        }
    }

    fn fold_call(&mut self, record: &Record) {
        match &record.event {
            Event::CallOpened { call, index, tool, title, effect, .. } => {
                let effect = effect.unwrap_or_else(|| Effect::in_0_1(tool));
                self.open_call(call, *index as usize, tool, effect, title);
            }
            Event::CallPrepared { call, payload, seen } => {
                // Logs of 0.1 have no observed path. A call that waits is prepared again before it runs.
                let inferred = || match payload {
                    Payload::Read { path, everywhere: false } => Some(ObservedPath::inside(path)),
                    _ => None,
                };
                let seen = seen.clone().or_else(inferred);
                self.with_call(call, |call| {
                    call.payload = Some(payload.clone());
                    call.seen = seen;
                });
            }
            Event::ChangeProposed { call, change, seen, .. }
            | Event::OperationProposed { call, change, seen, .. } => {
                let inferred = || ObservedPath {
                    overtaken: change.always_ask.clone(),
                    ..ObservedPath::inside(&change.path)
                };
                let seen = seen.clone().unwrap_or_else(inferred);
                hunks::fold(&mut self.changes, &record.event);
                if let Some(state) = self.changes.get_mut(&change.change_set) {
                    state.maker = self.run.as_ref().map(|run| Arc::new(Maker::of(run)));
                    state.seen = Some(seen.clone());
                }
                for id in self.calls_of(&change.change_set, call) {
                    self.with_call(&id, |call| {
                        call.change_set = Some(change.change_set.clone());
                        call.seen = Some(seen.clone());
                    });
                }
            }
            Event::ApplyStarted { call, change_set, .. } => {
                hunks::fold(&mut self.changes, &record.event);
                for id in self.calls_of(change_set, call) {
                    // A call whose own hunks were decided before may have ended.
                    self.with_call(&id, |call| {
                        if !call.is_finished() {
                            call.phase = CallPhase::Started { at: record.at };
                        }
                    });
                }
            }
            Event::HunkDecided { .. } => hunks::fold(&mut self.changes, &record.event),
            Event::Applied { change_set, .. } => {
                let before = self.changes.get(change_set).cloned();
                hunks::fold(&mut self.changes, &record.event);
                self.note_applied(record, before);
            }
            Event::ToolStarted { call, saves, .. } => {
                self.with_call(call, |call| {
                    call.phase = CallPhase::Started { at: record.at };
                    call.saves.clone_from(saves);
                });
                let payload = self.call(call).and_then(|call| call.payload.as_ref());
                if let Some((Payload::Command { line, .. }, run)) = payload.zip(self.run.as_ref()) {
                    let ran = RanCommand::new(run.id.clone(), line);
                    remember(&mut self.commands, ran);
                }
            }
            Event::ToolFinished { call, result } => {
                if let Some(steps) = self.planned(call, result.end) {
                    self.plan = steps.to_vec();
                }
                let mut counts_now = false;
                self.with_call(call, |call| {
                    call.phase = CallPhase::Finished { end: result.end };
                    call.output = Some(result.output.clone());
                    counts_now = !call.was_prepared();
                });
                if counts_now && let Some(run) = &mut self.run {
                    run.mistakes = mistakes_after(run.mistakes, result.end);
                }
                self.reads.note(&result.reads, record.seq);
                self.note_unsettled(call);
                self.append_results();
            }
            Event::Settled { change_set, found, .. } => {
                let before = self.changes.get(change_set).cloned();
                self.settle(&record.event, change_set, *found);
                self.note_applied(record, before);
            }
            _ => {}
        }
    }

    fn open_call(&mut self, id: &ToolCallId, index: usize, tool: &str, effect: Effect, title: &str) {
        // If the record of the reply was lost, a call must not get the arguments of an older reply.
        let turn = self.run.as_ref().and_then(|run| run.turn.as_ref());
        if turn.is_none_or(|turn| turn.phase != TurnPhase::Acting) {
            return;
        }
        let Some(ModelMessage::Assistant { reply }) =
            self.history.iter().rev().find(|message| matches!(message, ModelMessage::Assistant { .. }))
        else {
            return;
        };
        let Some(requested) = reply.calls.get(index) else { return };
        let call = Call {
            id: id.clone(),
            index,
            tool: tool.to_owned(),
            effect,
            reply: reply.clone(),
            provider_id: requested.id.as_str().into(),
            title: title.to_owned(),
            phase: CallPhase::Opened,
            payload: None,
            seen: None,
            change_set: None,
            names: if effect == Effect::OwnEdit { names_of_files(reply, index) } else { Vec::new() },
            output_asked: false,
            saves: Vec::new(),
            output: None,
        };
        if let Some(turn) = self.run.as_mut().and_then(|run| run.turn.as_mut()) {
            turn.calls.push(call);
        }
    }

    /// Appends results to the history in the order of the calls, whatever the order in which they finish.
    fn append_results(&mut self) {
        let Some(run) = &mut self.run else { return };
        let Some(turn) = &mut run.turn else { return };
        while let Some(call) = turn.calls.get_mut(turn.appended)
            && let CallPhase::Finished { end } = call.phase
        {
            let (call_id, output) = (call.provider_id.clone(), call.output.take().unwrap_or_default());
            context::note_output(&mut self.outputs, call);
            self.history.push(ModelMessage::Tool { call_id, output });
            if call.was_prepared() {
                run.mistakes = mistakes_after(run.mistakes, end);
            }
            turn.appended += 1;
        }
    }

    /// Drops the change sets that nothing reads any more. Only calls of the open turn and `Settle` steps read one.
    fn drop_unread_changes(&mut self) {
        let turn = self.run.as_ref().and_then(|run| run.turn.as_ref());
        let has = |id: &ToolCallId| turn.is_some_and(|turn| turn.calls.iter().any(|call| call.id == *id));
        self.changes.retain(|_, state| state.unsettled || state.calls().any(has));
    }

    fn settle(&mut self, event: &Event, id: &ChangeSetId, found: EditCheck) {
        // This change set stays until the next drop, because the update of this event still shows it.
        self.drop_unread_changes();
        hunks::fold(&mut self.changes, event);
        let Some(state) = self.changes.get_mut(id) else { return };
        let unsettled = std::mem::take(&mut state.unsettled);
        // While its call is open, the result of the call reports the outcome, so no note is needed.
        if !unsettled {
            return;
        }
        let note = match &state.change.operation {
            None => {
                let outcome = match found {
                    EditCheck::Landed => "is in the file",
                    EditCheck::NotLanded => "is not in the file",
                    EditCheck::Unclear => "may or may not be in the file; read it before you go on",
                };
                format!("[note] The edit of \"{}\" that was cut short {outcome}.", state.change.path)
            }
            Some(_) => {
                let outcome = match found {
                    EditCheck::Landed => "was done",
                    EditCheck::NotLanded => "was not done",
                    EditCheck::Unclear => "may or may not have been done; list the folder before you go on",
                };
                format!("[note] {} that was cut short {outcome}.", state.change.in_words())
            }
        };
        self.tell_model(note);
    }

    /// Tells the model something at its next turn.
    fn tell_model(&mut self, note: String) {
        match &mut self.run {
            Some(run) => run.pending.push(ModelMessage::user(note)),
            None => self.history.push(ModelMessage::user(note)),
        }
    }

    /// Notes the changes that were on their way when their last call ended.
    fn note_unsettled(&mut self, ended: &ToolCallId) {
        let turn = self.run.as_ref().and_then(|run| run.turn.as_ref());
        let is_open = |id: &ToolCallId| {
            turn.is_some_and(|turn| turn.calls.iter().any(|call| call.id == *id && !call.is_finished()))
        };
        for state in self.changes.values_mut().filter(|state| state.is_of(ended)) {
            let is_applying = |id: &str| state.hunks.get(id) == Some(&HunkState::Applying);
            let waits = |id: &&ToolCallId| is_open(id) && state.waited_for(id).into_iter().any(is_applying);
            state.unsettled = state.is_applying() && state.calls().find(waits).is_none();
        }
    }

    /// Returns the calls that made a change; `first` alone if the change is not known.
    fn calls_of(&self, change_set: &ChangeSetId, first: &ToolCallId) -> Vec<ToolCallId> {
        match self.changes.get(change_set) {
            Some(state) => state.calls().cloned().collect(),
            None => vec![first.clone()],
        }
    }

    fn end_run(&mut self, record: &Record) {
        let Event::RunEnded { outcome, stop, summary, .. } = &record.event else { return };
        self.spend_broken();
        let Some(mut run) = self.run.take() else { return };
        self.history.extend(run.turn.iter_mut().flat_map(results_left));
        let uncompacted = run.turn.as_mut().filter(|turn| turn.phase != TurnPhase::Acting);
        let uncompacted = uncompacted.and_then(|turn| Some((turn.number, turn.compacts.take()?)));
        let cut = run.turn.and_then(|turn| Some((turn.message?, turn.partial)));
        let cut = cut.filter(|(_, text)| !text.is_empty());
        if let Some((_, text)) = &cut {
            // The user has read this text, so the model must know that it wrote it.
            let reply = Reply { text: text.clone(), ..Reply::default() };
            self.history.push(ModelMessage::Assistant { reply: Arc::new(reply) });
        }
        self.history.extend(run.pending);
        let end = RunEnd {
            ended_at: record.at,
            outcome: *outcome,
            stop_reason: *stop,
            summary: summary.clone(),
            spent: run.spent,
            // They are the parent's to review.
            edits: if self.inherits { RunEdits::default() } else { self.applied.edits_of(&run.id) },
        };
        let ended = EndedRun {
            run: run.id,
            started_at: run.started_at,
            model: run.model,
            generation_settings: run.generation_settings,
            wait_ms: run.wait_ms,
            policy: run.policy,
            follows: run.follows,
            title: run.title,
            prompts: run.prompts,
            origin: run.origin,
            end,
            cut,
            uncompacted,
        };
        remember(&mut self.ended, ended);
        self.drop_unread_changes();
    }

    fn with_call(&mut self, id: &ToolCallId, change: impl FnOnce(&mut Call)) {
        if let Some(turn) = self.run.as_mut().and_then(|run| run.turn.as_mut())
            && let Some(call) = turn.calls.iter_mut().find(|call| call.id == *id)
        {
            change(call);
        }
    }
}

/// Returns the results that still wait for a call before them. Only a log with missing records has such results.
fn results_left(turn: &mut Turn) -> impl Iterator<Item = ModelMessage> {
    let left = turn.calls.iter_mut().skip(turn.appended);
    left.filter_map(|call| {
        Some(ModelMessage::Tool { call_id: call.provider_id.clone(), output: call.output.take()? })
    })
}

/// Returns the number of failed calls in a row after a call that ended with `end` (S26).
pub(crate) fn mistakes_after(before: u32, end: CallEnd) -> u32 {
    match end {
        CallEnd::Failed => before.saturating_add(1),
        CallEnd::Completed => 0,
        CallEnd::Denied | CallEnd::Cancelled | CallEnd::Interrupted => before,
    }
}

fn remember<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == REMEMBERED {
        queue.pop_front();
    }
    queue.push_back(item);
}
