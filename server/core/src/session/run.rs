//! The parts of a session: run, turn, call, open ask, change set.
//!
//! Plain data; only `Session::apply` changes it.

use std::sync::Arc;

use crate::machine::retry::Tries;
use crate::policy::choices::Follows;
use crate::policy::observation::ObservedPath;
use crate::prompt::message::{CutReply, GenerationSettings, ModelMessage, Reply, RequestedCall};
use crate::record::Compaction;
use crate::record::{
    Ask, CallEnd, ChangeSetId, KeyUse, MessageId, Mode, Outcome, Payload, PlanStep, Policy, RunId, RunOrigin,
    StopReason, ToolCallId,
};
use crate::session::compactions::CacheBreak;
use crate::session::maker::RunPrompts;
use crate::session::spending::Spent;
use crate::text::patch::files_of;
use crate::tool::{APPLY_PATCH, Effect};

/// The open run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub started_at: u64,
    /// The model it started with; see `current_model`.
    pub model: String,
    /// The fallback model that has replaced it for the rest of the run.
    pub fallback: Option<String>,
    pub generation_settings: GenerationSettings,
    /// The first model call waits until then; milliseconds since the Unix epoch.
    pub not_before: Option<u64>,
    /// How long the provider asked to wait when the turn failed.
    pub wait_ms: Option<u64>,
    /// Its rules. The mode is the one of the last model call; see `next_mode`.
    pub policy: Policy,
    pub follows: Follows,
    /// The mode from the next model call on.
    pub next_mode: Option<Mode>,
    pub title: String,
    pub prompts: RunPrompts,
    pub origin: Option<RunOrigin>,
    /// The hash of its tools.
    pub toolset: String,
    pub turn: Option<Turn>,
    /// Prompts and notes that wait for the next turn.
    pub pending: Vec<ModelMessage>,
    pub spent: Spent,
    /// Failed calls in a row (S26).
    pub mistakes: u32,
    /// Whether the texts of its prompt were read.
    pub has_context: bool,
    /// Whether it only compacts the conversation.
    pub only_compacts: bool,
    /// Whether the user wants the conversation compacted before the next turn.
    pub compact_wanted: bool,
    /// How often in a row the provider refused the conversation as too long.
    pub overflows: u32,
}

/// How full the context of a model was after a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFill {
    /// Of the request and its reply.
    pub tokens: u64,
    /// The model that replied.
    pub model: String,
}

/// One model call with its consequences.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub number: u32,
    pub attempt: u32,
    pub phase: TurnPhase,
    /// The message of the reply. All attempts share it, so that each new reply replaces the last.
    pub message: Option<MessageId>,
    pub streaming: bool,
    /// Since when the model has sent nothing, if the silence was long enough to be recorded.
    pub silent_since: Option<u64>,
    /// The text that has streamed so far.
    pub partial: String,
    /// Its calls in the order in which the model made them.
    pub calls: Vec<Call>,
    /// How many calls, from the front, have their results in the history.
    pub appended: usize,
    pub tries: Tries,
    /// Its reply that the output limit cut, while a request with more room is made.
    pub cut: Option<CutReply>,
    /// The part of the conversation that its reply is to summarise.
    pub compacts: Option<Compaction>,
    /// The model that writes this summary, if it is not the model of the run.
    pub summary_model: Option<String>,
    /// What made the provider's cache useless for it; `None` if nothing did.
    pub cache_break: Option<CacheBreak>,
}

/// How far a turn is; times are milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnPhase {
    /// An attempt is under way.
    Calling,
    /// An attempt failed, and the next one waits.
    Backoff { since: u64, retry_at: u64 },
    /// The model replied, and its calls run.
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
    /// The file or folder that it is about, as `Prepare` observed it.
    pub seen: Option<ObservedPath>,
    pub change_set: Option<ChangeSetId>,
    /// For an edit in a reply that deletes or moves files: the names of its files as the model gave them.
    pub names: Vec<String>,
    /// Whether the user was asked to stop or keep this long command.
    pub output_asked: bool,
    /// URIs of open documents that the user wants saved before it runs.
    pub saves: Vec<String>,
    /// Its result, until the results of all calls before it are in the history.
    pub output: Option<Arc<str>>,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPhase {
    /// Not judged yet.
    Opened,
    /// Judged, and waits for an answer. `Prepare` last observed it in this epoch.
    Asking {
        epoch: u64,
    },
    /// Its intent is in the log since this time; milliseconds since the Unix epoch.
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
    /// The number of the record that opened it.
    pub seq: u64,
    /// The epoch in which it was opened or last confirmed.
    pub observed: u64,
    /// When it was opened, or confirmed after a restart; milliseconds since the Unix epoch.
    pub since: u64,
}

/// A run that is over, with the values that a run that continues it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    pub run: RunId,
    pub started_at: u64,
    /// The model it started with, not a fallback model.
    pub model: String,
    pub generation_settings: GenerationSettings,
    pub policy: Policy,
    pub follows: Follows,
    pub title: String,
    pub prompts: RunPrompts,
    pub origin: Option<RunOrigin>,
    pub end: RunEnd,
    /// How long to wait before its last model call is made again, if its provider said so.
    pub wait_ms: Option<u64>,
    /// The text that had streamed when the run was cut short.
    pub cut: Option<(MessageId, String)>,
    /// The turn of a summary that never came, and what it was to replace.
    pub uncompacted: Option<(u32, Compaction)>,
}

/// The key of an accepted request, with the result for the same request again.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedKey {
    pub used: KeyUse,
    pub run: RunId,
    pub steer: bool,
    pub at: u64,
}

impl Run {
    /// Returns the model that does the work now.
    pub fn current_model(&self) -> &str {
        self.fallback.as_deref().unwrap_or(&self.model)
    }

    /// Returns the model that the open turn calls: of a summary perhaps another one than of the work.
    pub fn called_model(&self) -> &str {
        let summary_model = self.turn.as_ref().and_then(|turn| turn.summary_model.as_deref());
        summary_model.unwrap_or_else(|| self.current_model())
    }

    pub(crate) fn begin_turn(
        &mut self,
        number: u32,
        compacts: Option<Compaction>,
        summary_model: Option<String>,
        cache_break: Option<CacheBreak>,
    ) {
        self.prompts.begin_turn();
        self.turn = Some(Turn {
            number,
            attempt: 1,
            phase: TurnPhase::Calling,
            message: None,
            streaming: false,
            silent_since: None,
            partial: String::new(),
            calls: Vec::new(),
            appended: 0,
            tries: Tries::default(),
            cut: None,
            compacts,
            summary_model,
            cache_break,
        });
    }

    /// Applies the mode that was chosen since the last model call (S11).
    pub(crate) fn use_next_mode(&mut self) {
        if let Some(mode) = self.next_mode.take() {
            self.policy.mode = mode;
        }
    }
}

/// How many reads of one turn run at the same time: a bound for open files, walks and asks, not a measured optimum.
const MOST_AT_ONCE: usize = 8;
/// How many edits of one turn are prepared and asked together: as many as a reply may have.
const MOST_EDITS_AT_ONCE: usize = 64;

impl Turn {
    /// Returns the calls that may run now. Reads next to each other run at the same time, and edits next to each
    /// other are prepared and asked together. Any other call runs alone. Each begins after all calls before it, so
    /// that a read sees the effects of the calls before it and no others.
    ///
    /// A deletion or a move ends the edits before it that name one of its files, and the edits after it that name one wait
    /// for it: they see the file as it left it.
    pub fn runnable_calls(&self) -> impl Iterator<Item = &Call> {
        let open = || self.calls.iter().filter(|call| !call.is_finished());
        let first = open().next().map(|call| call.effect);
        let most = match first {
            Some(Effect::Read) => MOST_AT_ONCE,
            Some(Effect::OwnEdit) => MOST_EDITS_AT_ONCE,
            Some(Effect::Opaque | Effect::Question | Effect::End) | None => 1,
        };
        let clashes = |one: &Call, other: &Call| {
            (one.is_operation() || other.is_operation())
                && one.names.iter().any(|name| other.names.contains(name))
        };
        let of_kind = move || open().take_while(move |call| Some(call.effect) == first);
        let is_apart =
            move |(at, call): &(usize, &Call)| !of_kind().take(*at).any(|other| clashes(call, other));
        of_kind().enumerate().take_while(is_apart).map(|(_, call)| call).take(most)
    }

    /// Returns the ends of its calls in their order, from the first call without a result in the history up to the
    /// first open call. A call that `now` has an end for counts as ended with it. Calls that were refused with the
    /// reply are left out, because they were counted then.
    pub(crate) fn ends_from(
        &self,
        now: impl Fn(&Call) -> Option<CallEnd>,
    ) -> impl Iterator<Item = (&Call, CallEnd)> {
        let ends = self.calls.iter().skip(self.appended).map_while(move |call| {
            let end = match call.phase {
                CallPhase::Finished { end } if call.was_prepared() => Some(end),
                // It was counted when its reply came.
                CallPhase::Finished { .. } => None,
                _ => Some(now(call)?),
            };
            Some((call, end))
        });
        ends.filter_map(|(call, end)| Some((call, end?)))
    }
}

impl Turn {
    /// Returns the plan that a call gives to the user, if it ends like this. Calls of one reply may end in any order, and the last
    /// plan of the reply counts.
    pub fn planned(&self, call: &ToolCallId, end: CallEnd) -> Option<&[PlanStep]> {
        let at = self.calls.iter().position(|one| one.id == *call)?;
        let is_later_plan = |later: &Call| match &later.phase {
            CallPhase::Finished { end } => later.planned(*end).is_some(),
            _ => false,
        };
        let steps = self.calls[at].planned(end)?;
        (!self.calls[at + 1..].iter().any(is_later_plan)).then_some(steps)
    }
}

impl Call {
    /// Returns its arguments as the model wrote them.
    pub fn arguments(&self) -> &str {
        self.reply.calls.get(self.index).map_or("", |requested| &requested.arguments)
    }

    /// Whether it has its result.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, CallPhase::Finished { .. })
    }

    /// Whether `Prepare` has reported on it. A call that was refused with its reply is never prepared.
    pub fn was_prepared(&self) -> bool {
        self.payload.is_some() || self.change_set.is_some()
    }

    /// Whether it changes nothing, so that it may run at the same time as other reads.
    pub fn is_read(&self) -> bool {
        self.effect == Effect::Read
    }

    /// Returns the plan that the call gives to the user, if it ends like this.
    fn planned(&self, end: CallEnd) -> Option<&[PlanStep]> {
        match &self.payload {
            Some(Payload::Plan { steps }) if end == CallEnd::Completed => Some(steps),
            _ => None,
        }
    }

    /// Whether it edits a file.
    pub fn is_edit(&self) -> bool {
        self.effect == Effect::OwnEdit
    }

    /// Whether it deletes or moves a file.
    pub fn is_operation(&self) -> bool {
        self.reply.calls.get(self.index).is_some_and(is_operation)
    }

    /// Whether it was prepared as a command.
    pub fn is_command(&self) -> bool {
        matches!(self.payload, Some(Payload::Command { .. }))
    }
}

/// Whether a call deletes or moves files.
fn is_operation(call: &RequestedCall) -> bool {
    match call.name.as_str() {
        "delete_file" | "move_file" => true,
        // The markers have no character that JSON escapes, so this is also true of each patch that does so.
        APPLY_PATCH => {
            ["*** Delete File:", "*** Move to:"].iter().any(|marker| call.arguments.contains(marker))
        }
        _ => false,
    }
}

/// Returns the names of the files of one call of a reply, as the model gave them but without `.`. Empty if no call of the
/// reply deletes or moves files, because then nothing reads them.
pub(super) fn names_of_files(reply: &Reply, index: usize) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct GivenNames {
        path: Option<String>,
        from: Option<String>,
        to: Option<String>,
        input: Option<String>,
    }
    let Some(call) = reply.calls.get(index).filter(|_| reply.calls.iter().any(is_operation)) else {
        return Vec::new();
    };
    let Ok(GivenNames { path, from, to, input }) = serde_json::from_str(&call.arguments) else {
        return Vec::new();
    };
    let plain = |name: String| {
        let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let top = if name.starts_with('/') { "/" } else { "" };
        format!("{top}{}", parts.join("/"))
    };
    let patched = input.iter().flat_map(|input| files_of(input).names).map(str::to_owned);
    let patched: Vec<String> = if call.name == APPLY_PATCH { patched.collect() } else { Vec::new() };
    [path, from, to].into_iter().flatten().chain(patched).map(plain).collect()
}

/// How a run ended (S18).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// Milliseconds since the Unix epoch.
    pub ended_at: u64,
    pub outcome: Outcome,
    pub stop_reason: StopReason,
    pub summary: Option<String>,
    pub spent: Spent,
    pub edits: RunEdits,
}

/// What a run has changed in files at its end, without what was undone meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunEdits {
    pub files: u32,
    /// Lines.
    pub inserted: u32,
    /// Lines.
    pub removed: u32,
    /// Hunks that nobody has decided about.
    pub unreviewed: u32,
}

/// The state of a session (L13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// There has been no prompt yet.
    None,
    Running,
    /// The run waits for an answer.
    RequiresAction,
    /// The last run is over.
    Idle,
    /// The server stopped during a run, and the user has not resumed or discarded the run.
    Resumable,
}

/// What the open run does now, or how the last run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubState {
    /// `Prepare` runs for a tool call.
    Preparing,
    /// The request is sent, and the model has not begun to answer.
    Model,
    Streaming,
    /// The model summarises a part of the conversation.
    Compacting,
    /// The model has sent nothing for a while; the attempt continues to wait within its limits.
    Stalled,
    Tools,
    /// An attempt failed, or the user chose to wait; the next attempt waits.
    Retrying,
    Completed,
    Stopped,
    Failed,
    Limit,
    Cancelled,
}
