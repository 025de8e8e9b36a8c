//! The review of edits: hunks, and decisions about them one by one.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::operation::FileOperation;
use crate::update::HunkState;
use crate::{AskId, ChangeSetId, RunId, SessionId, ToolCallId};

/// Params of `agent/review/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewListParams {
    /// Without it, the hunks of all sessions of the workspace.
    #[serde(default)]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
    /// Only the hunks of this document.
    #[serde(default)]
    #[ts(optional)]
    pub uri: Option<String>,
    /// Also hunks that were kept or undone.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub all: bool,
    /// Only what came after the last comments of its session were sent.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub new: bool,
    /// Instead, the hunks that the next commit would have and the last one does not, and that nobody has kept. `uri`, `path`, the
    /// lines and the state are then those of the staged texts.
    #[serde(default)]
    #[ts(optional)]
    pub staged: Option<StagedParams>,
}

/// What the next commit would have: the staged texts of the repositories that the workspace folders are in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StagedParams {
    /// The path of another index of the first of these repositories, as git gives it to a hook in `GIT_INDEX_FILE`. Relative to
    /// the top of the work tree.
    #[serde(default)]
    #[ts(optional)]
    pub index: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewListResult {
    /// What needs a look comes first: hunks that the user changed, then those that wait for an answer or are on their way, in the
    /// order of their calls, then all others, oldest change first. Those that were kept or undone and have no comment that waits
    /// are not in it.
    pub hunks: Vec<ReviewHunk>,
    /// What the editor's formatter changed beside the listed changes when it saved them. It is no change of the agent, and no
    /// undo takes it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<FormattedFile>>")]
    pub formatted: Vec<FormattedFile>,
}

/// What the editor's formatter changed in a file, beside the change that was saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct FormattedFile {
    pub session_id: SessionId,
    /// The change that was saved.
    pub change_set_id: ChangeSetId,
    pub uri: String,
    /// The path as the user sees it.
    pub path: String,
    /// How many lines it changed.
    pub lines: u32,
}

/// One reviewable group of lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewHunk {
    pub session_id: SessionId,
    pub change_set_id: ChangeSetId,
    pub hunk_id: String,
    pub state: HunkState,
    pub uri: String,
    /// The path as the user sees it.
    pub path: String,
    /// What is done with the file as a whole; absent for an edit of its lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub operation: Option<FileOperation>,
    /// The first line of its place, from zero. For a hunk that waits for an answer, in the text for which it was proposed;
    /// for an applied one, in the text of now.
    pub line: u32,
    /// For an applied hunk, the line after its place in the text of now. The same as `line` if it has only removed lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub end_line: Option<u32>,
    /// The lines that it removes, with their line ends.
    pub removed: String,
    /// The lines that it inserts, with their line ends.
    pub inserted: String,
    /// The hunk as a unified diff with its context.
    pub diff: String,
    pub run_id: RunId,
    /// The calls that made it.
    pub tool_call_ids: Vec<ToolCallId>,
    /// If the user changed it: the text of now in its place. With `removed`, before the change, and `inserted`, the agent's, these
    /// are the three sides of a comparison. A decision that drops it has to say that it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// How many lines of `text` are not the agent's.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(optional, as = "Option<u32>")]
    pub user_lines: u32,
    /// Hunks of later changes that stand on it. They have to be undone first, or together with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<HunkName>>")]
    pub beneath: Vec<HunkName>,
    /// What the editor's formatter made of `inserted` when it saved the hunk. These lines count as the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub formatted: Option<String>,
    /// For a hunk that counts as kept, why it does; also while it is `away`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub kept_by: Option<KeptBy>,
    /// For a hunk that is undone, how, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub undone_by: Option<UndoneBy>,
    /// For a hunk that is `away`, where its text is, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub away: Option<AwayPlace>,
    /// For an applied hunk, what made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub made_by: Option<MadeBy>,
    /// The ask that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ask_id: Option<AskId>,
    /// The user's comment that waits to be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub comment: Option<String>,
    /// It was applied before the last comments of its session were sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub earlier: bool,
}

impl ReviewHunk {
    /// Whether it is in the text and nobody has decided about it yet.
    pub fn is_unreviewed(&self) -> bool {
        matches!(self.state, HunkState::Applied | HunkState::Amended)
    }

    /// Whether its review has ended. A kept change may be away.
    pub fn is_decided(&self) -> bool {
        self.state.is_decided() || self.kept_by.is_some()
    }

    /// Returns its lines, from zero, for a cursor: a place without a line has the line after it.
    pub fn lines(&self) -> Range<u32> {
        self.line..self.end_line.unwrap_or(self.line).max(self.line.saturating_add(1))
    }
}

/// Where the text of a change is that is not in its file now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AwayPlace {
    /// In the last commit of this branch, which is not checked out.
    Branch { name: String },
    /// In this commit, which is not checked out.
    Commit { id: String },
    /// Put aside by `git stash`.
    Stash,
}

/// Why a change counts as kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum KeptBy {
    /// A person saw it in a question before it was made, and allowed it.
    Question,
    /// A person kept it in a review.
    Review,
    /// Nobody looked at it: the setting `edits.mode` is `auto`.
    EditsMode,
    /// It was committed, and nobody decided about it before.
    Commit,
    /// Nobody decided about it for 14 days.
    Age,
}

/// How a change was undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum UndoneBy {
    /// By a decision in a review.
    Review,
    /// By an undo or an edit in the editor.
    Editor,
    /// The document was closed without saving it.
    Close,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A hunk by its ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct HunkName {
    pub session_id: SessionId,
    pub change_set_id: ChangeSetId,
    pub hunk_id: String,
}

/// Who made an applied hunk, on whose word, and what allowed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct MadeBy {
    /// The title of the run: the first line of the prompt, or what the user chose.
    pub task: String,
    /// The prompts of the run that the model had read when it made the change, oldest first, in the user's words: the first one
    /// and the newest two, each cut to 600 bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub prompts: Vec<String>,
    /// How many prompts between the first one and the newest two are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(optional, as = "Option<u32>")]
    pub prompts_left_out: u32,
    /// `provider/model`.
    pub model: String,
    /// When the change was applied; milliseconds since the Unix epoch.
    #[ts(type = "number")]
    pub at: u64,
    /// The ask that allowed it, if a person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub ask_id: Option<AskId>,
    /// What allowed it, for people.
    pub allowed_by: String,
    /// What the user has to know about the file, for example that a build runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub mark: Option<String>,
}

/// Params of `agent/review/comment`: the user's comment on an applied hunk. It waits until the comments are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewCommentParams {
    pub session_id: SessionId,
    pub change_set_id: ChangeSetId,
    pub hunk_id: String,
    /// At most 4000 bytes; replaces an earlier comment that waits. An empty one takes it back.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewCommentResult {
    /// How many comments of the session wait.
    pub waiting: u32,
}

/// Params of `agent/review/send`: sends all comments of a session that wait, as one prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewSendParams {
    pub session_id: SessionId,
    /// Words about all of them.
    #[serde(default)]
    #[ts(optional)]
    pub text: Option<String>,
}

/// Params of `agent/review/update`: all applied hunks of one open document, whole each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewUpdateParams {
    pub uri: String,
    /// The version of the text in which the lines are; without it, the document is not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub version: Option<i32>,
    pub hunks: Vec<ReviewHunk>,
}

/// What is done with hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ReviewAction {
    /// Apply proposed hunks.
    Apply,
    /// Reject proposed hunks; the model gets the reason.
    Reject,
    /// Keep applied hunks as they are in the text, also what the user changed in them.
    Keep,
    /// Take applied hunks out of the text.
    Undo,
    /// Make undone hunks again.
    Restore,
}

/// Hunks of one change set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewTarget {
    pub change_set_id: ChangeSetId,
    /// Without ids, all of its hunks that the action is possible for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub hunk_ids: Vec<String>,
    /// For hunks that the user changed, their `text` as it was shown. Undo drops it only if it is still the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[ts(optional, as = "Option<BTreeMap<String, String>>")]
    pub seen: BTreeMap<String, String>,
}

/// Params of `agent/review/decide`. All targets are decided, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewDecideParams {
    pub session_id: SessionId,
    pub targets: Vec<ReviewTarget>,
    pub action: ReviewAction,
    /// Why hunks are rejected or undone, in the user's own words.
    #[serde(default)]
    #[ts(optional)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewDecideResult {
    /// The decided hunks, each with the state that it has now. Undo and restore answer when they are done.
    pub hunks: Vec<DecidedHunk>,
}

/// A hunk after a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecidedHunk {
    pub change_set_id: ChangeSetId,
    pub hunk_id: String,
    pub state: HunkState,
    /// Why it was not done; the hunk is as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub why: Option<String>,
}

/// Params of `agent/review/diff`: which applied changes. Without any, all of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewDiffParams {
    #[serde(default)]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
    #[serde(default)]
    #[ts(optional)]
    pub run_id: Option<RunId>,
    /// Only the changes of this document.
    #[serde(default)]
    #[ts(optional)]
    pub uri: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewDiffResult {
    /// One unified diff in the form of git, files in the order of their paths: from the texts without the changes to the texts
    /// of now. It has no hunk that was undone, and nothing that the user wrote elsewhere.
    pub diff: String,
    /// Whether files are left out because the diff would have more than 8 MiB.
    pub cut: bool,
    /// Files that are not in the diff, or not with all of their changes.
    pub left_out: Vec<LeftOutFile>,
}

/// A file that is not in a diff, or not with all of its changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutFile {
    /// The path as the user sees it.
    pub path: String,
    /// Why, for people.
    pub why: String,
}

/// Params of `agent/review/base`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewBaseParams {
    /// A document with changes of Adjutant.
    pub uri: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReviewBaseResult {
    /// The text of now without the changes that nobody has looked at. A new file has none.
    pub text: String,
    /// The version of the open document that the text was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub version: Option<i32>,
    /// How many of these changes are still in the text, because changes that were kept stand on them.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(optional, as = "Option<u32>")]
    pub left_out: u32,
}
