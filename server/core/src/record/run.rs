//! The stored types of a run: its rules, where it started, how it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{BudgetPolicy, ContextPolicy};
use crate::machine::retry::RetryPolicy;
use crate::text::position::Range;

/// The set of tools and rules that a run works with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

    /// Its name in the settings, in the log and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Code => "code",
            Mode::Ask => "ask",
        }
    }
}

/// What happens to an edit that no rule forbids and that is of an ordinary file. From strict to loose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditsMode {
    /// The user is asked before anything changes.
    #[default]
    Ask,
    /// It is applied at once, and the user keeps or undoes each change later.
    Review,
    /// It is applied at once and counts as kept.
    Auto,
}

impl EditsMode {
    pub const ALL: [EditsMode; 3] = [EditsMode::Ask, EditsMode::Review, EditsMode::Auto];

    /// Its name in the settings and in the log.
    pub fn name(self) -> &'static str {
        match self {
            EditsMode::Ask => "ask",
            EditsMode::Review => "review",
            EditsMode::Auto => "auto",
        }
    }

    /// Returns the mode with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The document and the lines where a run was started. Never used to edit, because the text may have changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunOrigin {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model said the task is complete.
    Completed,
    /// The model stopped without calling the tool that ends the task.
    Stopped,
    Failed,
    /// A limit was reached; the idle ask names it.
    Limit,
    Cancelled,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    /// A limit of tokens or of money is used up.
    #[serde(rename = "_budget")]
    Budget,
    Refusal,
    Cancelled,
    #[serde(rename = "_failed")]
    Failed,
    #[serde(rename = "_mistakes")]
    Mistakes,
    /// The model called `fail`.
    #[serde(rename = "_gave_up")]
    GaveUp,
}

/// The rules of one run as it starts; `Event::RulesChanged` changes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub mode: Mode,
    #[serde(default, skip_serializing_if = "EditsMode::is_default")]
    pub edits: EditsMode,
    /// Deny rules of all settings layers, as written; they always win.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Consent to run without asking. It ends when another process opens the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattended: Option<UnattendedPolicy>,
    /// Model requests of one run before the user is asked whether to continue; unlimited when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u32>,
    /// Failed calls in a row that end a run.
    pub mistakes: u32,
    /// How long a command runs before the user is asked whether to stop it, in milliseconds.
    pub command_output_ms: u64,
    /// How long a question waits before its first suggestion is used, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followup_default_ms: Option<u64>,
    pub retry: RetryPolicy,
    /// Models that continue a turn when the retries of the model before are used up, in this order.
    #[serde(default, rename = "stand_ins", skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    /// How its context is made; `None` in older logs, whose runs read nothing and are never compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextPolicy>,
    /// What it and its session may use; without limits in older logs.
    #[serde(default, skip_serializing_if = "is_default_budget")]
    pub budget: Arc<BudgetPolicy>,
}

fn is_default_budget(budget: &Arc<BudgetPolicy>) -> bool {
    **budget == BudgetPolicy::default()
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::Code,
            edits: EditsMode::Ask,
            deny: Vec::new(),
            unattended: None,
            max_requests: None,
            mistakes: 3,
            command_output_ms: 10_000,
            followup_default_ms: None,
            retry: RetryPolicy::default(),
            fallback_models: Vec::new(),
            context: None,
            budget: Arc::default(),
        }
    }
}

/// What may run without asking while no user is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnattendedPolicy {
    pub edit: bool,
    pub command: bool,
    /// Model requests of one run before `auto_approval_max_req_reached`.
    pub max_requests: u32,
}

/// A client's key of an idempotent request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUse {
    pub key: String,
    /// Digest of the body. A repeated request has the same one; another request with the same key has not.
    pub digest: String,
}
