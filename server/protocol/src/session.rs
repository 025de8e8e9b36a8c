//! Requests about sessions: params and results.
//!
//! The server reports the work in updates; of these requests, only `agent/session/wait` waits for it.
//! Never contains logic of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ask::AskView;
use crate::option::ConfigOption;
use crate::origin::{Origin, Range};
use crate::plan::PlanEntry;
use crate::problem::DocumentDiagnostics;
use crate::state::{Outcome, State, StateView, StopReason};
use crate::{MessageId, RunId, SessionId};

/// The named set of tools and rules of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All tools.
    #[default]
    Code,
    /// Reading tools only.
    Ask,
}

impl Mode {
    pub const ALL: [Mode; 2] = [Mode::Code, Mode::Ask];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Code => "code",
            Mode::Ask => "ask",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct NewSessionParams {
    /// A `file:` URI; if absent, the session uses the workspace folders.
    #[ts(optional)]
    pub cwd: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct NewSessionResult {
    pub session_id: SessionId,
    pub config_options: Vec<ConfigOption>,
}

/// One part of a prompt, as in the Agent Client Protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    Text {
        text: String,
    },
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime_type: String,
        /// Base64, with padding.
        data: String,
    },
    /// A file of the workspace or a part of it. The server quotes its lines for the model.
    ResourceLink {
        /// A `file:` URI in the workspace.
        uri: String,
        /// In the negotiated position encoding; if absent, the whole file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        range: Option<Range>,
    },
    /// A text that the client has, for example of a document without a file.
    Resource {
        /// The name of the text for the model and the user. The server does not open it.
        uri: String,
        text: String,
    },
}

/// How the server handles a prompt that arrives while a run is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Starts a run, or steers the open one.
    #[default]
    Auto,
    Steer,
    Followup,
    Collect,
    Interrupt,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptParams {
    pub session_id: SessionId,
    pub prompt: Vec<ContentBlock>,
    #[serde(default)]
    #[ts(optional, as = "Option<Delivery>")]
    pub delivery: Delivery,
    /// The server refuses with `RunMismatch` unless this is the open run.
    #[serde(default)]
    #[ts(optional)]
    pub expected_run_id: Option<RunId>,
    /// Where in the workspace the user was. Clients show the asks of the run there.
    #[serde(default)]
    #[ts(optional)]
    pub origin: Option<Origin>,
    /// What `@diagnostics` in the words means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<DocumentDiagnostics>>")]
    pub diagnostics: Vec<DocumentDiagnostics>,
    #[serde(default)]
    #[ts(optional, as = "Option<Overrides>")]
    pub overrides: Overrides,
    /// A second request with the same key and body gets the first result.
    #[serde(default)]
    #[ts(optional)]
    pub key: Option<String>,
}

/// Choices for one run; the next run does not inherit them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Overrides {
    /// `provider/model`.
    #[ts(optional)]
    pub model: Option<String>,
    #[ts(optional)]
    pub mode: Option<Mode>,
    /// How much the model thinks: `low`, `medium` or `high`.
    #[ts(optional)]
    pub effort: Option<String>,
    /// How many words the model writes: `low`, `medium` or `high`.
    #[ts(optional)]
    pub verbosity: Option<String>,
    /// Consent: the run may do what `[unattended]` allows without asking.
    #[ts(optional, as = "Option<bool>")]
    pub unattended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    Started,
    Steered,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptResult {
    pub run_id: RunId,
    /// Milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub accepted_at: u64,
    pub disposition: Disposition,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaitParams {
    pub session_id: SessionId,
    pub run_id: RunId,
    /// How long the answer may take, in milliseconds. It never limits the run.
    #[serde(default = "WaitParams::default_timeout_ms")]
    #[ts(optional, as = "Option<f64>")]
    pub timeout_ms: u64,
}

impl WaitParams {
    fn default_timeout_ms() -> u64 {
        30_000
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum WaitStatus {
    /// The run was completed, or the model stopped.
    Ok,
    /// The run failed, or reached a limit.
    Error,
    /// The run was cancelled.
    Cancelled,
    /// The run has not ended within `timeoutMs`.
    Timeout,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct WaitResult {
    pub status: WaitStatus,
    /// When the run started, in milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub started_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ended: Option<RunEnd>,
}

/// How a run ended (S18).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// Milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub ended_at: u64,
    pub outcome: Outcome,
    pub stop_reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub summary: Option<String>,
    pub usage: UsageView,
    /// What that costs; absent if the settings have no price of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cost: Option<CostView>,
    /// Model turns of the run, answered or given up.
    pub turns: u32,
    /// What the run changed in files; absent if it changed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub edits: Option<RunEdits>,
}

/// What a run has changed in files at its end, without what was undone meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunEdits {
    pub files: u32,
    /// Lines.
    pub inserted: u32,
    /// Lines.
    pub removed: u32,
    /// Hunks that nobody has decided about.
    pub unreviewed: u32,
    /// For people, if the run changed more than five files: `40 files +212 −180`. A client shows it once, with ways to review and
    /// to undo the run, and opens nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub line: Option<String>,
}

/// How full the context of the model was after its last reply, in tokens as the provider counted them, and what was used so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// The tokens of the request and its reply.
    #[ts(type = "number")]
    pub context_used: u64,
    /// The window of the model that replied; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub context_size: Option<u32>,
    /// What the open run has used, else the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub run: Option<SpentView>,
    /// What all runs of the session have used.
    pub session: SpentView,
}

/// What a run or a session has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SpentView {
    /// Model turns, answered or given up.
    pub requests: u32,
    pub usage: UsageView,
    /// Absent if the settings have no price of any model that replied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cost: Option<CostView>,
}

/// An amount of money, by the prices of the user's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct CostView {
    /// In millionths of the currency, rounded.
    #[ts(type = "number")]
    pub micros: u64,
    pub currency: String,
    /// Whether it lacks replies: their model has no price, their provider counted no tokens, or they cost another currency.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub partial: bool,
    /// For people: `0.0312 USD`, `at least 1.20 EUR`.
    pub line: String,
}

/// Token counts as the provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// All tokens of the requests, with those of the cache.
    #[ts(type = "number")]
    pub input_tokens: u64,
    /// All tokens of the replies, with those of thoughts.
    #[ts(type = "number")]
    pub output_tokens: u64,
    /// The part of the input that the provider had in its cache.
    #[ts(type = "number")]
    pub cache_read_tokens: u64,
    /// The part of the input that the provider put into its cache; 0 if it does not count that.
    #[ts(type = "number")]
    pub cache_write_tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelParams {
    pub session_id: SessionId,
    /// Cancels only this run; if absent, the open run.
    #[serde(default)]
    #[ts(optional)]
    pub run_id: Option<RunId>,
}

/// The first past update that a resuming client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type")]
pub enum ReplayFrom {
    #[serde(rename = "start")]
    Start,
    /// Only updates after this number.
    #[serde(rename = "_seq")]
    Seq {
        #[ts(type = "number")]
        seq: u64,
    },
    /// Only the newest items, 1 to 1,000, and the newest state.
    #[serde(rename = "last")]
    Last { items: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumeParams {
    pub session_id: SessionId,
    #[serde(default)]
    #[ts(optional)]
    pub replay_from: Option<ReplayFrom>,
    /// Consent: from now on the open run may do what `[unattended]` allows without asking. The server never
    /// reuses the consent of an earlier process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub unattended: bool,
}

/// The current state of a session. The replay follows as updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ResumeResult {
    pub state: StateView,
    /// Number of the last update.
    #[ts(type = "number")]
    pub seq: u64,
    pub title: String,
    /// The mode of the open run, else of the next run.
    pub mode: Mode,
    /// The model of the open run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub model: Option<String>,
    pub config_options: Vec<ConfigOption>,
    /// The number in `replayFrom` is higher than that of the last update, so nothing is replayed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub gap: bool,
    /// With `last`: present if there are older items, as `before` for `agent/session/items`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub before: Option<u64>,
    pub asks: Vec<AskView>,
    /// The plan of the task; absent if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<PlanEntry>>")]
    pub plan: Vec<PlanEntry>,
    /// Absent while no reply came with its usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub usage: Option<ContextUsage>,
    /// Problems that the server found in the log.
    pub notices: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionListParams {
    /// Only sessions of this workspace folder, a `file:` URI.
    #[ts(optional)]
    pub cwd: Option<String>,
    /// Only sessions whose title contains this text, in upper or lower case.
    #[ts(optional)]
    pub query: Option<String>,
    /// The `nextCursor` of the previous page.
    #[ts(optional)]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    /// Newest first, at most 100.
    pub sessions: Vec<SessionEntry>,
    /// Present if there are more sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionEntry {
    pub session_id: SessionId,
    pub title: String,
    /// The first workspace folder, a `file:` URI.
    pub cwd: String,
    pub state: State,
    /// Time of the last record in its log; milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub updated_at: u64,
    /// When it began to be in this state: the start or the end of its run, or its oldest open ask; milliseconds since the Unix
    /// epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub since: Option<u64>,
    pub open_asks: u32,
    /// What it asks the user: the title of the oldest ask that its run waits for, in one line. Nothing in it is markup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub waits_for: Option<String>,
    /// Applied hunks that nobody has looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(optional, as = "Option<u32>")]
    pub unreviewed_hunks: u32,
    pub turns: u32,
    /// The session whose conversation it began with; absent if it is no fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub parent_session_id: Option<SessionId>,
    /// The id of the other process that has it open and alone can go on with it; absent if this server can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub open_in: Option<u32>,
    /// What is wrong with its log; absent if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub damaged: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionParams {
    pub session_id: SessionId,
}

/// Params of `agent/session/changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionChangedParams {
    pub session_id: SessionId,
    /// The entry that `agent/session/list` returns now; absent if the session is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub session: Option<SessionEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionRenameParams {
    pub session_id: SessionId,
    /// One line of 1 to 200 characters, all of them visible.
    pub title: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionForkParams {
    pub session_id: SessionId,
    /// The id of a prompt: the new session has what was said before it. If absent, it has the whole conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub at_message_id: Option<MessageId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionForkResult {
    /// The new session. It is on disk; `agent/session/resume` opens it.
    pub session_id: SessionId,
    pub title: String,
    /// The words of the named prompt, so that the user can change and send them; absent if none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub prompt: Option<String>,
    /// What is not in the new session although it is in the old one, in sentences for the user.
    pub notices: Vec<String>,
}

/// An empty result: the request succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Done {}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
