//! The messages, thoughts, tool calls and change sets of one session.
//!
//! Never keeps streamed text after its item is finished.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_protocol::update::{
    ChangeSetView, HunkState, SessionUpdateParams, ToolCallView, ToolStatus, TurnPhase, Update,
};
use adjutant_protocol::{ChangeSetId, MessageId, ToolCallId};

use super::{World, plain_uri};
use crate::editor::options::Chunks;
use crate::editor::violation::{Rule, Violation};

/// The kind of an item with text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Message,
    Thought,
}

/// One message or thought.
#[derive(Default)]
struct Stream {
    text: String,
    finished: bool,
    /// Whether the server may have sent chunks before the client was attached.
    missed: bool,
}

struct ChangeSeen {
    /// The calls that made it.
    calls: BTreeSet<ToolCallId>,
    uri: String,
    /// Whether the document was open in the editor at the proposal of the change.
    open: bool,
    applied: bool,
}

#[derive(Default)]
pub struct Items {
    /// The number of the last update before the client was attached.
    pub missed_until: Option<u64>,
    /// The number of the turn update that began the current attempt.
    attempt_seq: Option<u64>,
    /// The number of edits for each document at the begin of the turn.
    edits_before: BTreeMap<String, u32>,
    streams: BTreeMap<(MessageId, Kind), Stream>,
    calls: BTreeMap<ToolCallId, ToolStatus>,
    changes: BTreeMap<ChangeSetId, ChangeSeen>,
}

fn is_over(status: ToolStatus) -> bool {
    !matches!(status, ToolStatus::Pending | ToolStatus::InProgress)
}

/// Returns the item of a chunk, and its text.
fn chunk_of(update: &Update) -> Option<((MessageId, Kind), &str)> {
    match update {
        Update::AgentMessageChunk { message_id, text } => Some(((message_id.clone(), Kind::Message), text)),
        Update::AgentThoughtChunk { message_id, text } => Some(((message_id.clone(), Kind::Thought), text)),
        _ => None,
    }
}

impl Items {
    /// Judges the order: chunks come after the begin of their item and before its end, for calls too.
    pub fn update(
        &mut self,
        params: &SessionUpdateParams,
        turn: Option<bool>,
        whole: bool,
        faults: &mut Vec<Violation>,
    ) {
        let mut fault = |rule, what: String| faults.push(Violation::new(rule, what));
        if let Some((id, text)) = chunk_of(&params.update) {
            // A message begins with its first chunk, and it can begin only within a turn.
            if turn == Some(false) || (turn.is_none() && whole) {
                fault(Rule::ChunkBeforeItem, format!("{text:?} of message {} outside of a turn", id.0));
            }
            let missed =
                self.missed_until.is_some_and(|until| self.attempt_seq.is_none_or(|seq| seq <= until));
            let stream = self.streams.entry(id.clone()).or_insert(Stream { missed, ..Stream::default() });
            if stream.finished {
                fault(Rule::ChunkAfterItem, format!("{text:?} of message {}", id.0));
            }
            return;
        }
        match &params.update {
            Update::ToolCallContentChunk { tool_call_id, text } => match self.calls.get(tool_call_id) {
                None if whole => {
                    fault(Rule::ChunkBeforeItem, format!("{text:?} of tool call {tool_call_id}"))
                }
                Some(status) if is_over(*status) => {
                    fault(Rule::ChunkAfterItem, format!("{text:?} of tool call {tool_call_id}"));
                }
                _ => {}
            },
            Update::ToolCallUpdate(view) => self.call(view, faults),
            _ => {}
        }
    }

    fn call(&mut self, view: &ToolCallView, faults: &mut Vec<Violation>) {
        let id = &view.tool_call_id;
        let before = self.calls.insert(id.clone(), view.status);
        let what = match before {
            Some(before) if is_over(before) => format!("{:?} after {before:?}", view.status),
            Some(ToolStatus::InProgress) if view.status == ToolStatus::Pending => "pending again".to_owned(),
            _ => return,
        };
        faults.push(Violation::new(Rule::CallOrder, format!("tool call {id} is {what}")));
    }

    /// Judges the sums: chunks add up to their item (S14).
    pub fn sums(&mut self, params: &SessionUpdateParams, chunks: Chunks, faults: &mut Vec<Violation>) {
        if let Some((id, text)) = chunk_of(&params.update) {
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.text.push_str(text);
            }
            return;
        }
        let (id, whole, cut) = match &params.update {
            Update::AgentMessage { message_id, text, interrupted } => {
                ((message_id.clone(), Kind::Message), text, *interrupted)
            }
            Update::AgentThought { message_id, text } => ((message_id.clone(), Kind::Thought), text, false),
            _ => return,
        };
        let stream = self.streams.entry(id.clone()).or_default();
        let streamed = std::mem::take(&mut stream.text);
        let missed = std::mem::take(&mut stream.missed);
        stream.finished = !cut;
        let adds_up = match chunks {
            _ if missed => whole.contains(&streamed),
            // The kept text of a cut item may be shorter than its streamed text.
            _ if cut => whole.starts_with(&streamed) || streamed.starts_with(whole.as_str()),
            Chunks::Equal => streamed.is_empty() || *whole == streamed,
            Chunks::Prefix => whole.starts_with(&streamed),
        };
        if !adds_up {
            let what = format!("message {}: the chunks say {streamed:?}, the item {whole:?}", id.0);
            faults.push(Violation::new(Rule::ChunksDiffer, what));
        }
    }

    /// Judges the way of edits: the editor changes an open document before the call completes.
    pub fn change_sets(&mut self, params: &SessionUpdateParams, world: &World, faults: &mut Vec<Violation>) {
        match &params.update {
            Update::ChangeSet(view) => self.change_set(view, params.seq, world),
            Update::Turn(view) if view.phase == TurnPhase::Started => self.edits_before = world.edits.clone(),
            Update::ToolCallUpdate(view) if view.status == ToolStatus::Completed => {
                // One edit may contain the changes of all calls of a turn, because one ask covers them.
                let untouched = |uri: &String| world.edits.get(uri) == self.edits_before.get(uri);
                let of_this_call =
                    |change: &&ChangeSeen| change.calls.contains(&view.tool_call_id) && change.applied;
                for change in self.changes.values().filter(of_this_call) {
                    if change.open && untouched(&change.uri) {
                        let what = format!("{} is open and was not edited through the editor", change.uri);
                        faults.push(Violation::new(Rule::BehindTheEditor, what));
                    }
                }
            }
            _ => {}
        }
    }

    fn change_set(&mut self, view: &ChangeSetView, seq: u64, world: &World) {
        let uri = plain_uri(&view.uri);
        let live = self.missed_until.is_none_or(|until| seq > until);
        let change = self.changes.entry(view.change_set_id.clone()).or_insert_with(|| ChangeSeen {
            calls: std::iter::once(&view.tool_call_id).chain(&view.tool_call_ids).cloned().collect(),
            open: live && world.open.contains(&uri),
            uri,
            applied: false,
        });
        change.applied = view.hunks.iter().any(|hunk| hunk.state == HunkState::Applied);
    }

    /// Handles the begin or the end of an attempt: earlier chunks of unfinished items no longer count.
    pub fn attempt(&mut self, seq: u64) {
        self.attempt_seq = Some(seq);
        for stream in self.streams.values_mut().filter(|stream| !stream.finished) {
            *stream = Stream::default();
        }
    }

    /// Judges the end of a run: it leaves no call open (S43).
    pub fn run_ended(&mut self, seq: u64, faults: &mut Vec<Violation>) {
        self.attempt(seq);
        for (id, _) in self.calls.iter().filter(|(_, status)| !is_over(**status)) {
            faults.push(Violation::new(Rule::CallOrder, format!("tool call {id} is left open by its run")));
        }
    }
}
