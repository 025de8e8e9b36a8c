//! The commands of `workspace/executeCommand`: names, arguments, meaning.
//!
//! A command accepts one object, or plain strings that are joined by spaces,
//! because some editors can only send strings. Never contains logic.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::review::ReviewAction;
use crate::{AskId, ChangeSetId, RunId, SessionId};

/// One row of the command table.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub name: &'static str,
    /// The type of its object argument.
    pub object: &'static str,
    /// The meaning of plain string arguments, after joining.
    pub strings: &'static str,
    pub meaning: &'static str,
}

pub const START: &str = "adjutant.start";
pub const PROMPT: &str = "adjutant.prompt";
pub const SEND: &str = "adjutant.send";
pub const CANCEL: &str = "adjutant.cancel";
pub const RESPOND: &str = "adjutant.respond";
pub const SHOW: &str = "adjutant.show";
pub const SHOW_TRANSCRIPT: &str = "adjutant.showTranscript";
pub const RESUME: &str = "adjutant.resume";
pub const REVIEW: &str = "adjutant.review";
pub const UNDO_RUN: &str = "adjutant.undoRun";
pub const CAPABILITIES: &str = "adjutant.capabilities";

pub const COMMANDS: [Command; 11] = [
    row(START, "StartParams", "`text`", "starts a run: in a new session, unless one is named"),
    row(PROMPT, "PromptArguments", "`text`", "prompts the last session of this editor; steers its open run"),
    row(
        SEND,
        "SendArguments",
        "`uri`",
        "sends the prompt of a prompt buffer, and writes the answer below it",
    ),
    row(
        CANCEL,
        "CancelArguments",
        "`runId`",
        "cancels a run; without arguments, the last one of this editor",
    ),
    row(
        RESPOND,
        "RespondArguments",
        "an option (its id, name or button) or `text`; `askId` may come first",
        "answers an ask; without `askId`, a rejection or a text goes to the only open ask",
    ),
    row(SHOW, "ShowArguments", "`askId`", "opens the complete text of an ask"),
    row(SHOW_TRANSCRIPT, "SessionArguments", "`sessionId`", "opens the transcript of a session"),
    row(
        RESUME,
        "SessionArguments",
        "`sessionId`",
        "resumes the newest run of this workspace that a stopped server left open",
    ),
    row(
        REVIEW,
        "ReviewArguments",
        "`action`: keep or undo",
        "keeps, undoes or restores applied changes: the named ones, else those at a line, of a document, or all",
    ),
    row(
        UNDO_RUN,
        "UndoRunArguments",
        "`runId`",
        "shows in a popup what it means to undo a run, by default the last one of this editor's session, and undoes it",
    ),
    row(CAPABILITIES, "no arguments", "–", "shows which surface this editor gets for each feature"),
];

/// Arguments of `adjutant.prompt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptArguments {
    pub text: String,
    #[serde(default)]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
}

/// Arguments of `adjutant.send`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendArguments {
    /// An open document whose name ends with `.adjutant.md`.
    pub uri: String,
}

/// Arguments of `adjutant.cancel`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelArguments {
    #[serde(default)]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
    #[serde(default)]
    #[ts(optional)]
    pub run_id: Option<RunId>,
    /// Cancels every open run, or every open run of `sessionId`.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub all: bool,
}

/// Arguments of `adjutant.respond`: an option, a text, or an option with a text as its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RespondArguments {
    #[serde(default)]
    #[ts(optional)]
    pub ask_id: Option<AskId>,
    #[serde(default)]
    #[ts(optional)]
    pub option_id: Option<String>,
    #[serde(default)]
    #[ts(optional)]
    pub text: Option<String>,
}

/// Arguments of `adjutant.show`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowArguments {
    /// The ask to show; when absent, the only open ask.
    #[serde(default)]
    #[ts(optional)]
    pub ask_id: Option<AskId>,
}

/// Arguments of commands that concern one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionArguments {
    #[serde(default)]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
}

/// Arguments of `adjutant.review`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewArguments {
    pub action: ReviewAction,
    /// Only changes of this document.
    #[serde(default)]
    #[ts(optional)]
    pub uri: Option<String>,
    /// Only the change at this line, from zero.
    #[serde(default)]
    #[ts(optional)]
    pub line: Option<u32>,
    /// Exactly these hunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ChosenHunks>>")]
    pub targets: Vec<ChosenHunks>,
}

/// Arguments of `adjutant.undoRun`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndoRunArguments {
    #[serde(default)]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
    #[serde(default)]
    #[ts(optional)]
    pub run_id: Option<RunId>,
    /// Also everything after it in its session.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub later: bool,
    /// Restores what was undone in this way.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub restore: bool,
}

/// Hunks of one change set, as a code action names them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChosenHunks {
    pub session_id: SessionId,
    pub change_set_id: ChangeSetId,
    pub hunk_ids: Vec<String>,
    /// For hunks that the user changed, the text that was shown in their place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[ts(optional, as = "Option<BTreeMap<String, String>>")]
    pub seen: BTreeMap<String, String>,
}

const fn row(
    name: &'static str,
    object: &'static str,
    strings: &'static str,
    meaning: &'static str,
) -> Command {
    Command { name, object, strings, meaning }
}
