//! The events of a session, one variant for each kind.
//!
//! `accept` makes events and `Session::apply` folds them. Never decides; streamed chunks are never events.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    AllowedBy, AmendedTexts, Ask, AskId, BatchId, CallResult, ChangeSetId, ChangedFile, ChoiceChange,
    Choices, ContextText, EditCheck, Effect, FileChange, Follows, HunkNote, HunkSet, JudgedChoice, KeyUse,
    MaySkip, MessageId, Offer, Outcome, Payload, Policy, Resolution, ReviewState, ReviewedBy, Rule, RunId,
    RunOrigin, SeenHunk, SessionId, StopReason, SummaryTurn, ToolCallId, UnattendedPolicy,
};
use super::{ClearedOutput, Compaction};
use crate::machine::retry::CallFailure;
use crate::policy::observation::ObservedPath;
use crate::prompt::image::Image;
use crate::prompt::message::{CutReply, GenerationSettings, Reply, Usage};

/// Everything that can happen in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    SessionCreated {
        session: SessionId,
        roots: Vec<String>,
        title: String,
        /// The choices made before the session had a log.
        #[serde(default, skip_serializing_if = "Choices::is_default")]
        choices: Choices,
        /// The session whose conversation it begins with: the records up to `Forked` are copies of that session's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<SessionId>,
    },
    /// The user gave the session a title of their own. An older version shows the one before.
    Titled {
        title: String,
        may_skip: MaySkip,
    },
    /// What is copied of another session ends here. Its conversation stays; what was applied, asked and allowed belongs to that
    /// session alone. An older version must refuse the log: it would take the changes for those of this session.
    Forked {
        title: String,
        /// The choices of the other session when it was copied, which may be newer than the last copied record.
        choices: Choices,
        /// The prompt before which the copy ends; `None` if all of the conversation was copied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<MessageId>,
    },
    /// A writer opened the log. A writer that sees a newer epoch than its own stops.
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
        generation_settings: GenerationSettings,
        /// The first call of the model waits until then; milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<u64>,
        /// Which of the session's choices the run follows.
        #[serde(default)]
        follows: Follows,
        /// The title that the request gave, else the first line of the prompt.
        #[serde(default)]
        title: String,
        /// Where in the workspace it was started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<RunOrigin>,
        /// The hash of its tools, which stay the same until it ends; empty in logs of 0.1.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        toolset: String,
        /// The run only compacts the conversation.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        only_compacts: bool,
    },
    Prompted {
        run: RunId,
        message: MessageId,
        text: Arc<str>,
        /// The names of its images. Their content lies next to the log and is durable before this record.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// Whether it arrived while the run was open.
        steer: bool,
        /// Adjutant worded it: the task of a template, or a round of comments.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        worded: bool,
        /// How many bytes at the end of `text` were added to the words of the prompt: the place and the problems that the
        /// editor knows, and what the user attached. `None` in older logs, where marks in the text say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        added: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<KeyUse>,
    },
    TurnStarted {
        run: RunId,
        turn: u32,
        /// The turn asks for a summary of a part of the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compacts: Option<Compaction>,
    },
    /// Attempt 2 and later of a turn; `TurnStarted` starts the first.
    AttemptStarted {
        turn: u32,
        attempt: u32,
    },
    ReplyStarted {
        turn: u32,
        attempt: u32,
        message: MessageId,
    },
    /// The text that has streamed so far; superseded by `Replied`.
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
        /// The reply, if the output limit cut it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut: Option<CutReply>,
    },
    /// The model has sent nothing for a while. The attempt continues to wait, and the user sees the state.
    WentSilent {
        turn: u32,
        attempt: u32,
        /// When it last sent something, else the time of the request; milliseconds since the Unix epoch.
        since: u64,
    },
    /// The model sends again after a silence.
    Heard {
        turn: u32,
        attempt: u32,
    },
    /// The retries of a model are used up; a fallback model continues for the rest of the run.
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
        /// What its tool does to the world; `None` in logs of 0.1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<Effect>,
    },
    CallPrepared {
        call: ToolCallId,
        payload: Payload,
        /// The file or folder that the call is about, as `Prepare` observed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<ObservedPath>,
    },
    /// 0.1 calls it `change_proposed` and knows one call for each change; it must refuse a log with this one.
    #[serde(rename = "file_change_proposed", alias = "change_proposed")]
    ChangeProposed {
        /// The first call that edits the file.
        call: ToolCallId,
        change: Box<FileChange>,
        /// Its file as `Prepare` observed it; `None` in logs of 0.1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<ObservedPath>,
        /// Hunks of an earlier change that this one proposes again, for the text of now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<HunkSet>,
    },
    /// The same for a change with an operation, so that an older version refuses the log: it would take the operation
    /// for an edit of lines.
    #[serde(rename = "file_operation_proposed")]
    OperationProposed {
        call: ToolCallId,
        change: Box<FileChange>,
        seen: Option<ObservedPath>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<HunkSet>,
    },
    AskOpened {
        ask: Box<Ask>,
    },
    /// After a restart `Prepare` ran again, and the ask still describes exactly what the call would do.
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
    /// The deny rules and the consent of the open run have changed, and are these from now on. Either the settings
    /// have new rules, or another process has opened the session, or the user has given consent.
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
        /// The choices that are possible after it, so that a replay publishes the same list.
        offer: Offer,
    },
    HunkDecided {
        change_set: ChangeSetId,
        hunks: Vec<String>,
        apply: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<AskId>,
        /// Why they are not applied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<HunkNote>,
    },
    /// The intent of an edit: durable before it is sent.
    ApplyStarted {
        /// The first open call that edits the file.
        call: ToolCallId,
        change_set: ChangeSetId,
        hunks: Vec<String>,
        /// The decision; `None` in logs of 0.1, where each change set was a decision of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        batch: Option<BatchId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed_by: Option<AllowedBy>,
    },
    Applied {
        change_set: ChangeSetId,
        hunks: Vec<String>,
        /// Where they are, if not on disk alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<HunkNote>,
        /// For hunks whose inserted lines a formatter changed when the editor saved them, the lines in their place.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        formatted: AmendedTexts,
        /// How many lines it changed elsewhere in the file.
        #[serde(default, skip_serializing_if = "is_zero")]
        formatted_elsewhere: u32,
        /// What was checked out in the repository of the file: a branch, or `commit` and its id; `None` if that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<String>,
    },
    /// The intent of every other tool: durable before an effect.
    ToolStarted {
        call: ToolCallId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed_by: Option<AllowedBy>,
        /// URIs of open documents that the user wants saved before the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        saves: Vec<String>,
    },
    ToolFinished {
        call: ToolCallId,
        result: CallResult,
    },
    /// Whether hunks that were on their way are in the text.
    Settled {
        change_set: ChangeSetId,
        found: EditCheck,
        /// Empty for all that were on their way.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hunks: Vec<String>,
        /// Why they are not in the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<HunkNote>,
    },
    /// The intent to undo applied hunks of one file, or to restore undone ones: durable before it is done.
    ReviewStarted {
        batch: BatchId,
        change_set: ChangeSetId,
        hunks: Vec<SeenHunk>,
        /// Whether they are restored.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        restore: bool,
        /// Whether the file was open in an editor. Missing in logs of older versions.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        open: bool,
        /// Whether a whole run is undone or restored, with its other changes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        as_one: bool,
        /// Why they are undone, in the user's words; the model reads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Hunks that were applied have another state.
    Reviewed {
        change_set: ChangeSetId,
        hunks: Vec<String>,
        state: ReviewState,
        by: ReviewedBy,
        /// For hunks whose lines the user had changed, those lines: kept, or undone with the hunk.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        amended: AmendedTexts,
        /// Why they are undone, in the user's words; the model reads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// For hunks that came into the text or into a commit, what was checked out, as for `Applied`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<String>,
    },
    /// Hunks were not undone or restored, and their state stays.
    ReviewFailed {
        change_set: ChangeSetId,
        hunks: Vec<String>,
        why: String,
        /// Whether another text than the one that was shown is in their place.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        conflict: bool,
        /// Whether their text is on another branch or in the stash.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        away: bool,
    },
    /// The user's comment on a hunk, collected until the comments are sent; an empty text takes it back.
    Commented {
        change_set: ChangeSetId,
        hunk: String,
        text: String,
    },
    /// The collected comments on these hunks were sent to the model, with the prompt before this record.
    CommentsSent {
        hunks: Vec<HunkSet>,
    },
    /// Files that the model has read were changed by others than this session, or another branch was checked out.
    OutsideChanged {
        /// Those that were not reported since the model read them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<ChangedFile>,
        /// Those that were reported and have again what the model saw.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        back: Vec<ChangedFile>,
        /// What is checked out now, if it is not what it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
    },
    /// The texts of the prompt that are no part of the conversation, as they were when the run began. An older version leaves
    /// them out.
    ContextRead {
        run: RunId,
        /// `None` if they are those of the run before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        texts: Option<Vec<ContextText>>,
        may_skip: MaySkip,
    },
    /// Instructions of folders that the work has entered. The model reads them at its next turn.
    InstructionsFound {
        texts: Vec<ContextText>,
        may_skip: MaySkip,
    },
    /// Large old outputs became placeholders. An older version sends them whole.
    OutputsCleared {
        outputs: Vec<ClearedOutput>,
        /// Tokens of the next request without it, and with it.
        before: u64,
        after: u64,
        may_skip: MaySkip,
    },
    /// The user wants the conversation compacted before the next turn.
    CompactionWanted {
        run: RunId,
        may_skip: MaySkip,
    },
    /// A text replaces a part of the conversation. An older version must refuse the log: it would send the wrong history.
    Compacted {
        message: MessageId,
        compaction: Compaction,
        /// What the model reads in its place.
        text: Arc<str>,
        /// The summary in it.
        summary: Arc<str>,
        /// The reply with the summary; `None` if no model wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<SummaryTurn>,
        /// Tokens of the next request with it.
        after: u64,
    },
    /// The reply of a turn that asked for a summary was none.
    SummaryFailed {
        turn: u32,
        attempt: u32,
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
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
    /// Returns the name of the event in the log.
    pub fn name(&self) -> &'static str {
        match self {
            Event::SessionCreated { .. } => "session_created",
            Event::Titled { .. } => "titled",
            Event::Forked { .. } => "forked",
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
            Event::ChangeProposed { .. } => "file_change_proposed",
            Event::OperationProposed { .. } => "file_operation_proposed",
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
            Event::ReviewStarted { .. } => "review_started",
            Event::Reviewed { .. } => "reviewed",
            Event::ReviewFailed { .. } => "review_failed",
            Event::Commented { .. } => "commented",
            Event::CommentsSent { .. } => "comments_sent",
            Event::OutsideChanged { .. } => "outside_changed",
            Event::ContextRead { .. } => "context_read",
            Event::InstructionsFound { .. } => "instructions_found",
            Event::OutputsCleared { .. } => "outputs_cleared",
            Event::CompactionWanted { .. } => "compaction_wanted",
            Event::Compacted { .. } => "compacted",
            Event::SummaryFailed { .. } => "summary_failed",
            Event::Completed { .. } => "completed",
            Event::RunEnded { .. } => "run_ended",
        }
    }

    /// Returns the ask that this event closes.
    pub fn closed_ask(&self) -> Option<&AskId> {
        match self {
            Event::AskClosed { ask, .. } => Some(ask),
            _ => None,
        }
    }

    /// Returns the call that this event ends.
    pub fn ended_call(&self) -> Option<&ToolCallId> {
        match self {
            Event::ToolFinished { call, .. } => Some(call),
            _ => None,
        }
    }

    /// Whether the event may change which hunks wait for an answer, or which ask they wait for.
    pub fn touches_hunks(&self) -> bool {
        matches!(
            self,
            Event::ChangeProposed { .. }
                | Event::OperationProposed { .. }
                | Event::HunkDecided { .. }
                | Event::ApplyStarted { .. }
                | Event::Applied { .. }
                | Event::Settled { .. }
                | Event::AskOpened { .. }
                | Event::AskReobserved { .. }
                | Event::ToolFinished { .. }
                | Event::RunEnded { .. }
        )
    }

    /// Whether the event must be durable before it is published or acted on. A later event supersedes each of the
    /// others. Their updates have no number, because a log that lost the event would give the number to another.
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

fn is_zero(number: &u32) -> bool {
    *number == 0
}
