//! What the user does with changes that are in the text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The state of a hunk that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// In the text. The user has neither kept nor undone it.
    Applied,
    /// In the text, and the review of it has ended.
    Kept,
    /// Taken out of the text; it can be restored.
    Undone,
}

/// Who changed the state of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewedBy {
    /// The user, by a decision of the review.
    Decision,
    /// The user, by an undo, redo or edit in the editor.
    Editor,
    /// The user, by closing a document without saving it.
    Close,
    /// Nobody: the change is in a commit that was made after it.
    Commit,
}

/// A hunk of a decision, and what the user saw in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenHunk {
    pub hunk: String,
    /// The text in its place, if it is not the text of the hunk: the user changed it, and saw this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// For hunks whose lines the user changed, the text in their place.
pub type AmendedTexts = BTreeMap<String, String>;
