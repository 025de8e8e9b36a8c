//! Messages, thoughts, tool calls and change sets of one session.
//!
//! Holds the text that streamed only until its item is finished.

use std::collections::BTreeMap;

use adjutant_protocol::update::{
    ChangeSetView, HunkState, SessionUpdateParams, ToolCallView, ToolStatus, TurnPhase, Update,
};
use adjutant_protocol::{ChangeSetId, MessageId, ToolCallId};

use super::{World, plain_uri};
use crate::editor::options::Chunks;
use crate::editor::violation::{Rule, Violation};

/// What an item is.
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
    /// Whether chunks may have been sent before the client was there.
    missed: bool,
}

struct ChangeSeen {
    call: ToolCallId,
    uri: String,
    /// Whether it was open in the editor when the change was proposed.
    open: bool,
    applied: bool,
}

#[derive(Default)]
pub struct Items {
    /// The last update from before the client was there.
    pub missed_until: Option<u64>,
    /// The update that told the present attempt.
    attempt_told: Option<u64>,
    /// Edits received when the turn began.
    edits_before: BTreeMap<String, u32>,
    streams: BTreeMap<(MessageId, Kind), Stream>,
    calls: BTreeMap<ToolCallId, ToolStatus>,
    changes: BTreeMap<ChangeSetId, ChangeSeen>,
}

fn is_over(status: ToolStatus) -> bool {
    !matches!(status, ToolStatus::Pending | ToolStatus::InProgress)
}

/// The item that a chunk belongs to.
fn chunk_of(update: &Update) -> Option<((MessageId, Kind), &str)> {
    match update {
        Update::AgentMessageChunk { message_id, text } => Some(((message_id.clone(), Kind::Message), text)),
        Update::AgentThoughtChunk { message_id, text } => Some(((message_id.clone(), Kind::Thought), text)),
        _ => None,
    }
}

impl Items {
    /// Judges that chunks come after their item began and before it ended, and calls likewise.
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
                self.missed_until.is_some_and(|until| self.attempt_told.is_none_or(|told| told <= until));
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

    /// Judges that chunks add up to their item (S14).
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
            // What was kept of a cut item may lag behind what was shown of it.
            _ if cut => whole.starts_with(&streamed) || streamed.starts_with(whole.as_str()),
            Chunks::Equal => streamed.is_empty() || *whole == streamed,
            Chunks::Prefix => whole.starts_with(&streamed),
        };
        if !adds_up {
            let what = format!("message {}: the chunks say {streamed:?}, the item {whole:?}", id.0);
            faults.push(Violation::new(Rule::ChunksDiffer, what));
        }
    }

    /// Judges that an open document is edited through the editor, and before the call completes.
    pub fn change_sets(&mut self, params: &SessionUpdateParams, world: &World, faults: &mut Vec<Violation>) {
        match &params.update {
            Update::ChangeSet(view) => self.change_set(view, params.seq, world),
            Update::Turn(view) if view.phase == TurnPhase::Started => self.edits_before = world.edits.clone(),
            Update::ToolCallUpdate(view) if view.status == ToolStatus::Completed => {
                // One edit may serve all calls of a turn, because all of them are one ask.
                let untouched = |uri: &String| world.edits.get(uri) == self.edits_before.get(uri);
                let ours = |change: &&ChangeSeen| change.call == view.tool_call_id && change.applied;
                for change in self.changes.values().filter(ours) {
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
            call: view.tool_call_id.clone(),
            open: live && world.open.contains(&uri),
            uri,
            applied: false,
        });
        change.applied = view.hunks.iter().any(|hunk| hunk.state == HunkState::Applied);
    }

    /// An attempt begins, or is over: what streamed before belongs to no item any more.
    pub fn attempt(&mut self, seq: u64) {
        self.attempt_told = Some(seq);
        for stream in self.streams.values_mut().filter(|stream| !stream.finished) {
            *stream = Stream::default();
        }
    }

    /// Judges that a run leaves no call open (S43).
    pub fn run_ended(&mut self, seq: u64, faults: &mut Vec<Violation>) {
        self.attempt(seq);
        for (id, _) in self.calls.iter().filter(|(_, status)| !is_over(**status)) {
            faults.push(Violation::new(Rule::CallOrder, format!("tool call {id} is left open by its run")));
        }
    }
}
