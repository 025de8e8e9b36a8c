//! The parts of a session: run, turn, call, open ask, change set.
//!
//! Plain data; only `Session::apply` changes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::machine::retry::Tries;
use crate::policy::choices::Follows;
use crate::policy::observation::ObservedPath;
use crate::prompt::message::{GenerationSettings, ModelMessage, Reply, Usage};
use crate::record::{
    Ask, CallEnd, ChangeSetId, FileChange, KeyUse, MessageId, Mode, Outcome, Payload, Policy, RunId,
    RunOrigin, StopReason, ToolCallId,
};
use crate::tool::Effect;

/// The open run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub started_at: u64,
    /// The model it was given; see `current_model`.
    pub model: String,
    /// The model that took over, for the rest of the run.
    pub stand_in: Option<String>,
    pub manner: GenerationSettings,
    /// The first call of the model waits until then.
    pub not_before: Option<u64>,
    /// How long the provider of the call that failed last asked to wait.
    pub wait_ms: Option<u64>,
    /// Its mode is that of the last model call; see `next_mode`.
    pub policy: Policy,
    pub follows: Follows,
    /// The mode from the next model call on.
    pub next_mode: Option<Mode>,
    pub title: String,
    pub origin: Option<RunOrigin>,
    /// The hash of its tools.
    pub toolset: String,
    pub turn: Option<Turn>,
    /// Prompts and notes no turn has taken up yet.
    pub pending: Vec<ModelMessage>,
    pub turns: u32,
    pub usage: Usage,
    /// Failed calls in a row (S26).
    pub mistakes: u32,
}

/// One model call with its consequences.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub number: u32,
    pub attempt: u32,
    pub phase: TurnPhase,
    /// The message the reply becomes; kept over attempts, so that a new one replaces it.
    pub message: Option<MessageId>,
    pub streaming: bool,
    /// Since when the model has sent nothing, if that is long enough to be told.
    pub silent_since: Option<u64>,
    pub partial: String,
    /// Its calls in the order the model asked for them.
    pub calls: Vec<Call>,
    /// How many of them, from the front, have given their results to the conversation.
    pub told: usize,
    pub tries: Tries,
}

/// How far a turn is; times are milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnPhase {
    /// An attempt is under way.
    Calling,
    /// An attempt failed, and the next one waits.
    Backoff { since: u64, retry_at: u64 },
    /// The model replied, and its calls are worked on.
    Acting,
}

/// One tool call of the open turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: ToolCallId,
    /// Its place in the reply.
    pub index: usize,
    pub tool: String,
    pub effect: Effect,
    /// The reply it is part of.
    pub reply: Arc<Reply>,
    pub provider_id: Arc<str>,
    pub title: String,
    pub phase: CallPhase,
    pub payload: Option<Payload>,
    /// The file or folder it is about, as it was seen.
    pub seen: Option<ObservedPath>,
    pub change_set: Option<ChangeSetId>,
    pub output_asked: bool,
    /// What it gave, until its turn has come to tell the model.
    pub output: Option<Arc<str>>,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPhase {
    /// Nobody has judged it yet.
    Opened,
    /// Judged, and waits for an answer; `epoch` is when the world was last looked at.
    Asking {
        epoch: u64,
    },
    /// Its intent is in the log since then; milliseconds since the Unix epoch.
    Started {
        at: u64,
    },
    Finished {
        end: CallEnd,
    },
}

/// An ask that waits for its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAsk {
    pub ask: Ask,
    pub seq: u64,
    pub observed: u64,
    /// When it was opened, or looked at again after a restart.
    pub since: u64,
}

/// A change set and what became of its hunks.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeState {
    pub call: ToolCallId,
    pub change: FileChange,
    pub hunks: BTreeMap<String, HunkState>,
    /// Sent, its run is over, and nobody has looked yet whether it landed.
    pub unsettled: bool,
}

/// A run that is over, with what a run that goes on from it takes along.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    pub run: RunId,
    pub started_at: u64,
    /// The model it was given, whichever stood in.
    pub model: String,
    pub manner: GenerationSettings,
    pub policy: Policy,
    pub follows: Follows,
    pub title: String,
    pub origin: Option<RunOrigin>,
    pub end: RunEnd,
    /// How long to wait before its last call is made again, where its provider said so.
    pub wait_ms: Option<u64>,
    /// Text that had streamed when the run was cut short.
    pub cut: Option<(MessageId, String)>,
}

/// A key of a request that was accepted, with what answers the same request again.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedKey {
    pub used: KeyUse,
    pub run: RunId,
    pub steer: bool,
    pub at: u64,
}

impl Run {
    /// The model that is called now.
    pub fn current_model(&self) -> &str {
        self.stand_in.as_deref().unwrap_or(&self.model)
    }

    pub(crate) fn begin_turn(&mut self, number: u32) {
        self.turns += 1;
        self.turn = Some(Turn {
            number,
            attempt: 1,
            phase: TurnPhase::Calling,
            message: None,
            streaming: false,
            silent_since: None,
            partial: String::new(),
            calls: Vec::new(),
            told: 0,
            tries: Tries::default(),
        });
    }

    /// A model call begins: a mode that was chosen meanwhile counts from here on (S11).
    pub(crate) fn calls_model(&mut self) {
        if let Some(mode) = self.next_mode.take() {
            self.policy.mode = mode;
        }
    }
}

/// How many reads of one turn go side by side: a bound for open files, walks and questions, not a measured optimum.
const MOST_AT_ONCE: usize = 8;

impl Turn {
    /// The calls that may go on now. Reads go side by side; whatever has an effect goes alone, behind all that was
    /// asked before it, so that a read sees the effects it was asked behind and no others.
    pub fn calls_now(&self) -> impl Iterator<Item = &Call> {
        let mut open = self.calls.iter().filter(|call| !call.is_finished());
        let first = open.next();
        let beside = first.is_some_and(Call::is_read).then_some(open);
        let reads = beside.into_iter().flatten().take_while(|call| call.is_read()).take(MOST_AT_ONCE - 1);
        first.into_iter().chain(reads)
    }

    /// The ends of its calls in their order, from the first that the conversation lacks up to the first that has
    /// none yet; `id` counts as ended so. What was refused with the reply is left out: it was counted then.
    pub(crate) fn ends_from<'a>(
        &'a self,
        id: &'a ToolCallId,
        end: CallEnd,
    ) -> impl Iterator<Item = (&'a Call, CallEnd)> {
        let ends = self.calls.iter().skip(self.told).map_while(move |call| match call.phase {
            _ if call.id == *id => Some((call, end)),
            CallPhase::Finished { end } => Some((call, end)),
            _ => None,
        });
        ends.filter(move |(call, _)| call.id == *id || call.was_prepared())
    }
}

impl Call {
    /// Its arguments as the model wrote them.
    pub fn arguments(&self) -> &str {
        self.reply.calls.get(self.index).map_or("", |requested| &requested.arguments)
    }

    /// Whether it has its one result.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, CallPhase::Finished { .. })
    }

    /// Whether the world was looked at for it; a call that was refused with its reply never was.
    pub fn was_prepared(&self) -> bool {
        self.payload.is_some() || self.change_set.is_some()
    }

    /// Whether it changes nothing, so that it may go beside others.
    pub fn is_read(&self) -> bool {
        self.effect == Effect::Read
    }

    /// Whether it was prepared as a command.
    pub fn is_command(&self) -> bool {
        matches!(self.payload, Some(Payload::Command { .. }))
    }
}

/// How far a hunk is, from its proposal to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HunkState {
    Proposed,
    /// Allowed and on its way.
    Applying,
    /// In the text.
    Applied,
    Rejected,
    /// Sent, and not found in the text afterwards.
    NotApplied,
}

/// How a run ended (S18).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// Milliseconds since the Unix epoch.
    pub ended_at: u64,
    pub outcome: Outcome,
    pub stop_reason: StopReason,
    pub summary: Option<String>,
    pub usage: Usage,
    /// Model calls answered or given up.
    pub turns: u32,
}

/// The state of a session (L13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// Nobody has prompted yet.
    None,
    Running,
    /// The run waits for an answer.
    RequiresAction,
    /// The last run is over.
    Idle,
    /// The server stopped during a run, and nobody has said what to do with it.
    Resumable,
}

/// What a session does in its state, or how its last run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubState {
    /// A tool call is being looked at before it is judged.
    Preparing,
    /// The model was asked and has not begun to answer.
    Model,
    Streaming,
    /// The model has sent nothing for a while; it is waited for within the limits.
    Stalled,
    Tools,
    /// An attempt failed, or the user chose to wait; the next one waits.
    Retrying,
    Completed,
    Stopped,
    Failed,
    Limit,
    Cancelled,
}
