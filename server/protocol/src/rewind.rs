//! A whole run taken back, or everything since its prompt: first a preview, then the decision.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{RunId, SessionId};

/// Params of `agent/review/preview`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreviewParams {
    pub session_id: SessionId,
    /// Without it, the last run that changed something.
    #[serde(default)]
    #[ts(optional)]
    pub run_id: Option<RunId>,
    /// Also all later runs: back to before the prompt of this run.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub later: bool,
    /// Restores what was undone in this way, instead of undoing it.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub restore: bool,
}

/// What `agent/review/rewind` would do now. Nothing was changed for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RewindPreview {
    pub session_id: SessionId,
    pub run_id: RunId,
    /// The title of the run.
    pub title: String,
    pub later: bool,
    pub restore: bool,
    /// The files with changes of these runs, in the order of their paths.
    pub files: Vec<FilePreview>,
    /// The starts of the command lines that ran, oldest first, without those before the last 20. What they changed is not
    /// undone.
    pub commands: Vec<String>,
    /// How many commands ran.
    pub commands_run: u32,
    /// Older changes of these runs are not remembered any more, so they stay.
    pub forgotten: bool,
    /// All of this in lines for people. Odd characters are escaped.
    pub lines: Vec<String>,
    /// The decisions that are possible. The first takes nothing of the user's. Empty if there is nothing to do.
    pub choices: Vec<RewindChoice>,
    /// To be sent back with the decision.
    pub expect: BTreeMap<String, String>,
}

/// One file of a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct FilePreview {
    pub uri: String,
    /// The path as the user sees it.
    pub path: String,
    /// How many hunks are undone or restored, with nothing of the user's.
    pub hunks: u32,
    /// How many of them a person or a setting kept.
    pub kept: u32,
    /// How many more hunks, if what the user wrote into them goes too.
    pub user_hunks: u32,
    /// How many lines of the user's are in these.
    pub user_lines: u32,
    /// How many hunks are so already.
    pub already: u32,
    /// The file that is there now goes away, because the run made it and it has nothing else, or because its deletion is
    /// restored.
    pub removed: bool,
    /// What becomes of the file as a whole, in words, in the order in which it is done: its deletion or move is undone or
    /// restored.
    pub becomes: Vec<String>,
    /// The hunks that stay as they are.
    pub left: Vec<LeftHunks>,
}

/// Hunks of one file that stay as they are, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct LeftHunks {
    pub hunks: u32,
    pub why: String,
}

/// A decision that is possible after a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct RewindChoice {
    /// The text of its button.
    pub title: String,
    /// What to send as `userLines`.
    pub user_lines: bool,
}

/// Params of `agent/review/rewind`: a preview that is carried out. It is refused if a text or a change is not as it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RewindParams {
    pub session_id: SessionId,
    pub run_id: RunId,
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub later: bool,
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub restore: bool,
    /// The `expect` of the preview.
    pub expect: BTreeMap<String, String>,
    /// Whether what the user wrote into the hunks goes too.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub user_lines: bool,
    /// Why, in the user's own words; the model reads it.
    #[serde(default)]
    #[ts(optional)]
    pub reason: Option<String>,
}
