//! What is at work and what needs the user, over all sessions of a client: the one truth for its status line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{RunId, SessionId};

/// Params of `agent/overview`. All texts are ready to be drawn: one line each, nothing in them is markup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    pub kind: OverviewKind,
    /// At most 40 characters, such as `2 questions` or `thinking`; empty if there is nothing to say.
    pub short: String,
    /// A line for each task that is open: what it waits for, and its title.
    pub tooltip: Vec<String>,
    /// The questions that wait for the user.
    pub asks: u32,
    /// How many changes of open documents wait for a decision.
    pub hunks: u32,
    /// The open runs, in the order in which they began.
    pub runs: Vec<OverviewRun>,
    /// How much of a run the user wants to see.
    pub detail: Detail,
}

/// How much of the work of a run is drawn (S102). Each has all that the one before it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Answers, changes, commands, questions, the plan and whatever went wrong.
    Brief,
    /// Also a line for each step that only looks; thoughts and arguments are folded.
    #[default]
    Normal,
    /// Also what is folded otherwise.
    Full,
}

/// The most pressing state of all sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum OverviewKind {
    /// Nothing is open. `short` may say how the last run ended, if it needs a look.
    Idle,
    Running,
    /// A run was cut short, and waits to be resumed or discarded.
    Interrupted,
    /// A question waits for the user.
    Asks,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct OverviewRun {
    pub session_id: SessionId,
    pub run_id: RunId,
    pub title: String,
    /// What it is doing or waiting for, at most 80 characters.
    pub step: String,
    /// When its present state began, in milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub since: u64,
}
