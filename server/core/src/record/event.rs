//! The events of a session, one variant for each kind.
//!
//! Nothing that streams is an event. Holds no decision: `accept` makes events,
//! `Session::apply` folds them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    AllowedBy, Ask, AskId, CallResult, ChangeSetId, ChoiceChange, Choices, EditCheck, Effect, FileChange,
    Follows, JudgedChoice, KeyUse, MessageId, Offer, Outcome, Payload, Policy, Resolution, Rule, RunId,
    RunOrigin, SessionId, StopReason, ToolCallId, UnattendedPolicy,
};
use crate::machine::retry::CallFailure;
use crate::policy::observation::ObservedPath;
use crate::prompt::image::Image;
use crate::prompt::message::{GenerationSettings, Reply};

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
        manner: GenerationSettings,
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
        origin: Option<RunOrigin>,
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
        seen: Option<ObservedPath>,
    },
    ChangeProposed {
        call: ToolCallId,
        change: Box<FileChange>,
        /// Its file as it was seen; none in logs of 0.1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<ObservedPath>,
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
        unattended: Option<UnattendedPolicy>,
    },
    /// The user chose another mode or model for the session.
    ConfigChanged {
        chosen: JudgedChoice,
        change: ChoiceChange,
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
        found: EditCheck,
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
