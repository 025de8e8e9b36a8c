//! The facts of a session: what the log holds.
//!
//! Nothing that streams is a fact. Holds no decision: `accept` makes facts,
//! `Session::apply` folds them.

use std::sync::Arc;

use adjutant_protocol::ask::{AskKind, AskOption, Resolution};
use adjutant_protocol::option::ConfigChange;
use adjutant_protocol::origin::Origin;
use adjutant_protocol::session::Mode;
use adjutant_protocol::state::{Outcome, StopReason};
use adjutant_protocol::{AskId, ChangeSetId, MessageId, RunId, SessionId, ToolCallId};
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::choices::{Choices, Chosen, Follows, Offer};
use crate::image::Image;
use crate::message::{Manner, Reply};
use crate::observation::Seen;
use crate::retry::{CallFailure, RetryPolicy};
use crate::review::Hunk;
use crate::tool::Effect;

/// One record of the log: a fact, its place and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// From 1, without gaps; order is by this number.
    pub seq: u64,
    /// Milliseconds since the Unix epoch; decoration.
    pub at: u64,
    /// The last of its batch: state is told only then, so that nobody sees one half-made.
    pub last: bool,
    pub event: Event,
}

/// Everything that can have happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    SessionCreated {
        session: SessionId,
        roots: Vec<String>,
        title: String,
        /// What was chosen before there was a log.
        #[serde(default, skip_serializing_if = "Choices::is_default")]
        choices: Choices,
    },
    /// A writer opened the log; a writer that sees a newer epoch stops.
    SessionOpened {
        epoch: u64,
    },
    RunStarted {
        run: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continues: Option<RunId>,
        model: String,
        policy: Policy,
        #[serde(flatten)]
        manner: Manner,
        /// The first call of the model waits until then; milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<u64>,
        /// What of the session's choices it follows.
        #[serde(default)]
        follows: Follows,
        /// What a start is called, else the first line of the prompt.
        #[serde(default)]
        title: String,
        /// Where in the workspace it was started from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
        /// The hash of its tools, which are the same to its end; empty in logs of 0.1.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        toolset: String,
    },
    Prompted {
        run: RunId,
        message: MessageId,
        text: Arc<str>,
        /// By name: what they show lies beside the log, durable before this fact.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// It arrived while the run was open.
        steer: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<KeyUse>,
    },
    TurnStarted {
        run: RunId,
        turn: u32,
    },
    /// Attempt 2 and later of a turn; the first is in `TurnStarted`.
    AttemptStarted {
        turn: u32,
        attempt: u32,
    },
    ReplyStarted {
        turn: u32,
        attempt: u32,
        message: MessageId,
    },
    /// What has streamed so far; superseded by `Replied`.
    ReplyPartial {
        turn: u32,
        attempt: u32,
        text: String,
        reasoning: String,
    },
    AttemptFailed {
        turn: u32,
        attempt: u32,
        failure: CallFailure,
        retry_at: u64,
    },
    /// The model has sent nothing for a while: it is waited for, and the user sees it.
    WentSilent {
        turn: u32,
        attempt: u32,
        /// When it last sent something, or was asked; milliseconds since the Unix epoch.
        since: u64,
    },
    /// It sends again.
    Heard {
        turn: u32,
        attempt: u32,
    },
    /// After the retries of one model another takes the turn, for the rest of the run.
    ModelReplaced {
        turn: u32,
        from: String,
        to: String,
    },
    Replied {
        turn: u32,
        attempt: u32,
        message: MessageId,
        reply: Arc<Reply>,
    },
    /// The last attempt failed.
    TurnFailed {
        turn: u32,
        attempt: u32,
        failure: CallFailure,
    },
    CallOpened {
        call: ToolCallId,
        turn: u32,
        index: u32,
        tool: String,
        title: String,
        /// What its tool does to the world; none in logs of 0.1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<Effect>,
    },
    CallPrepared {
        call: ToolCallId,
        payload: Payload,
        /// The file or folder it is about, as it was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Seen>,
    },
    ChangeProposed {
        call: ToolCallId,
        change: Box<Change>,
        /// Its file as it was seen; none in logs of 0.1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Seen>,
    },
    AskOpened {
        ask: Box<Ask>,
    },
    /// After a restart the world was looked at again and is as the ask says.
    AskReobserved {
        ask: AskId,
        epoch: u64,
    },
    AskClosed {
        ask: AskId,
        resolution: Resolution,
    },
    RuleAdded {
        rule: Rule,
    },
    /// The deny rules and the consent of the open run are these from now on: the settings have rules that
    /// it did not begin with, or another process took it over, or the user gave consent again.
    RulesChanged {
        run: RunId,
        deny: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unattended: Option<Unattended>,
    },
    /// The user chose another mode or model for the session.
    ConfigChanged {
        chosen: Chosen,
        change: ConfigChange,
        /// What there is to choose from after it, so that a replay tells the same list.
        offer: Offer,
    },
    HunkDecided {
        change_set: ChangeSetId,
        hunks: Vec<String>,
        apply: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<AskId>,
    },
    /// The intent of an edit: durable before it is sent.
    ApplyStarted {
        call: ToolCallId,
        change_set: ChangeSetId,
        hunks: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed_by: Option<AllowedBy>,
    },
    Applied {
        change_set: ChangeSetId,
        hunks: Vec<String>,
    },
    /// The intent of every other tool: durable before an effect.
    ToolStarted {
        call: ToolCallId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed_by: Option<AllowedBy>,
    },
    ToolFinished {
        call: ToolCallId,
        result: CallResult,
    },
    /// What became of an edit whose run was cut short, found by the text.
    Settled {
        change_set: ChangeSetId,
        found: Found,
    },
    Completed {
        run: RunId,
        summary: String,
    },
    RunEnded {
        run: RunId,
        outcome: Outcome,
        stop: StopReason,
        summary: Option<String>,
    },
}

impl Event {
    /// The name of the fact as the log spells it.
    pub fn name(&self) -> &'static str {
        match self {
            Event::SessionCreated { .. } => "session_created",
            Event::SessionOpened { .. } => "session_opened",
            Event::RunStarted { .. } => "run_started",
            Event::Prompted { .. } => "prompted",
            Event::TurnStarted { .. } => "turn_started",
            Event::AttemptStarted { .. } => "attempt_started",
            Event::ReplyStarted { .. } => "reply_started",
            Event::ReplyPartial { .. } => "reply_partial",
            Event::AttemptFailed { .. } => "attempt_failed",
            Event::WentSilent { .. } => "went_silent",
            Event::Heard { .. } => "heard",
            Event::ModelReplaced { .. } => "model_replaced",
            Event::Replied { .. } => "replied",
            Event::TurnFailed { .. } => "turn_failed",
            Event::CallOpened { .. } => "call_opened",
            Event::CallPrepared { .. } => "call_prepared",
            Event::ChangeProposed { .. } => "change_proposed",
            Event::AskOpened { .. } => "ask_opened",
            Event::AskReobserved { .. } => "ask_reobserved",
            Event::AskClosed { .. } => "ask_closed",
            Event::RuleAdded { .. } => "rule_added",
            Event::RulesChanged { .. } => "rules_changed",
            Event::ConfigChanged { .. } => "config_changed",
            Event::HunkDecided { .. } => "hunk_decided",
            Event::ApplyStarted { .. } => "apply_started",
            Event::Applied { .. } => "applied",
            Event::ToolStarted { .. } => "tool_started",
            Event::ToolFinished { .. } => "tool_finished",
            Event::Settled { .. } => "settled",
            Event::Completed { .. } => "completed",
            Event::RunEnded { .. } => "run_ended",
        }
    }

    /// Whether the fact must be durable before it is announced or acted on. The others are superseded by a
    /// later fact, and their updates have no number: a log that lost the fact would give it to another one.
    pub fn is_barrier(&self) -> bool {
        let superseded = matches!(
            self,
            Event::ReplyStarted { .. }
                | Event::ReplyPartial { .. }
                | Event::WentSilent { .. }
                | Event::Heard { .. }
        );
        !superseded
    }
}

/// The rules of one run as it starts; `Event::RulesChanged` says what became of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub mode: Mode,
    /// Deny rules of all settings layers, as written; they always win.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Consent of the process that gave it: it ends when another one opens the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattended: Option<Unattended>,
    /// Model requests of one run before the user is asked to go on; unlimited when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u32>,
    /// Failed calls in a row that end a run.
    pub mistakes: u32,
    /// How long a command runs before the user is offered to stop it, in milliseconds.
    pub command_output_ms: u64,
    /// How long a question with suggestions waits before the first of them is taken, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followup_default_ms: Option<u64>,
    pub retry: RetryPolicy,
    /// Models that take a turn when the retries of the one before are over, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand_ins: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::Code,
            deny: Vec::new(),
            unattended: None,
            max_requests: None,
            mistakes: 3,
            command_output_ms: 10_000,
            followup_default_ms: None,
            retry: RetryPolicy::default(),
            stand_ins: Vec::new(),
        }
    }
}

/// What may run unasked while nobody watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unattended {
    pub edit: bool,
    pub command: bool,
    /// Model requests of one run before `auto_approval_max_req_reached`.
    pub max_requests: u32,
}

/// A client's key of an idempotent request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUse {
    pub key: String,
    /// Of the body, so that a reused key is told from a repeated request.
    pub digest: String,
}

/// What a call would do, frozen when it was prepared: what an approval binds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Payload {
    Read {
        /// As shown to the user.
        path: String,
        /// No place is named, so all folders of the workspace are looked through: `path` is what is looked for.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        everywhere: bool,
    },
    Command {
        line: String,
        /// Absolute.
        cwd: String,
        timeout_seconds: u64,
        /// Digest over the shell and the directory as they were.
        binding: String,
    },
    Question {
        question: String,
        options: Vec<String>,
    },
    Complete {
        summary: String,
    },
    Fail {
        reason: String,
    },
    /// The call cannot be made or is forbidden: its result says why. Logs of 0.1 say it here, too.
    #[serde(other)]
    Nothing,
}

/// What allowed an effect, or a read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum AllowedBy {
    /// The answer to this ask.
    Answer { ask: AskId },
    /// A standing answer of the session.
    Standing { rule: Rule },
    /// The consent that the run was given to go on unattended.
    Consent,
    /// It reads inside the workspace, or touches nothing.
    Default,
    /// Something that a later version knows.
    #[serde(other)]
    Unknown,
}

/// All edits of one tool call to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub change_set: ChangeSetId,
    /// As shown to the user.
    pub path: String,
    /// As the editor names it.
    pub uri: String,
    /// The URI of the file itself, every link followed: what an approval binds.
    #[serde(default)]
    pub target: String,
    /// Whether the document was open in the editor: then disk is no evidence.
    pub open: bool,
    /// Whether the file existed.
    pub existed: bool,
    /// Why the user was always asked; in logs of 0.1 alone, see [`crate::observation::Seen`].
    #[serde(default, skip_serializing)]
    pub always_ask: Option<String>,
    /// What the user should know of this file: it runs on build or install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Hash of the before-image, a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Shared: a change may have megabytes, and is in facts, in the session and in steps at once.
    pub hunks: Arc<[Hunk]>,
}

/// A durable question to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub id: AskId,
    pub kind: AskKind,
    /// The run it belongs to, or that it is about after its end.
    pub run: RunId,
    /// The calls that wait for its answer, in their order; none where it is about the run itself. One is in
    /// the log by its name, as it always was.
    #[serde(default, rename = "call", with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCallId>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub options: Vec<AskOption>,
    pub free_text: bool,
    /// SHA-256 of the frozen payload; an approval binds exactly that.
    pub digest: String,
    pub opened_at: u64,
    /// Why it is asked, as a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Of a command: the open documents that were not saved when it was asked; never part of the digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<Unsaved>,
}

impl Ask {
    /// Whether a call waits for its answer.
    pub fn is_about(&self, call: &ToolCallId) -> bool {
        self.calls.contains(call)
    }
}

/// A list of which one alone is written as itself, without brackets.
mod one_or_more {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMore<T> {
        One(T),
        More(Vec<T>),
    }

    pub fn serialize<T: Serialize, S: Serializer>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        match list {
            [one] => one.serialize(serializer),
            more => more.serialize(serializer),
        }
    }

    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        T: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(match OneOrMore::deserialize(deserializer)? {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(more) => more,
        })
    }
}

/// A standing answer: "always", which here means this session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// Every edit inside the workspace.
    Edits,
    /// This line in this directory, and no other.
    Command { line: String, cwd: String },
    /// Reading this file.
    Read { path: String },
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    Completed,
    Failed,
    Denied,
    Cancelled,
    /// The server stopped while it ran: its effect is unknown.
    Interrupted,
}

/// The one result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    pub end: CallEnd,
    /// What the model reads; bounded.
    pub output: Arc<str>,
    /// One line for the user.
    pub summary: String,
    pub elapsed_ms: u64,
    /// Why it was not done, as a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Where the whole output is, relative to the session's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// Of a command: the open documents whose text in the editor it did not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<Unsaved>,
}

/// An open document whose text in the editor is not what is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsaved {
    /// As the editor names it.
    pub uri: String,
    /// As shown to the user.
    pub path: String,
}

/// What the text says about an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    Landed,
    NotLanded,
    /// The text was changed around it, or the document is not open any more.
    Unclear,
}
