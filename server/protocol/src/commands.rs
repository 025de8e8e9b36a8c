//! The commands of `workspace/executeCommand`: names, arguments, meaning.
//!
//! A command takes one object, or plain strings that are joined by spaces:
//! some editors send nothing else. Holds no behaviour.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{AskId, RunId, SessionId};

/// One row of the command table.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub name: &'static str,
    /// The type of the object it takes.
    pub object: &'static str,
    /// What plain strings stand for.
    pub strings: &'static str,
    pub meaning: &'static str,
}

pub const START: &str = "adjutant.start";
pub const PROMPT: &str = "adjutant.prompt";
pub const CANCEL: &str = "adjutant.cancel";
pub const RESPOND: &str = "adjutant.respond";
pub const SHOW: &str = "adjutant.show";
pub const SHOW_TRANSCRIPT: &str = "adjutant.showTranscript";
pub const RESUME: &str = "adjutant.resume";
pub const CAPABILITIES: &str = "adjutant.capabilities";

pub const COMMANDS: [Command; 8] = [
    row(START, "StartParams", "`text`", "starts a run: in a new session, unless one is named"),
    row(
        PROMPT,
        "PromptArguments",
        "`text`",
        "goes on in the last session of this editor; steers its open run",
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
        "an option, by id, name or button, or `text`; `askId` before it",
        "answers an ask; without `askId` only a rejection or a text, for the only open one",
    ),
    row(SHOW, "ShowArguments", "`askId`", "opens the whole of what is asked"),
    row(SHOW_TRANSCRIPT, "SessionArguments", "`sessionId`", "opens the transcript of a session"),
    row(
        RESUME,
        "SessionArguments",
        "`sessionId`",
        "resumes what a server that stopped left open in this workspace, the newest first",
    ),
    row(CAPABILITIES, "no arguments", "–", "says which surface stands for what in this editor"),
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
    /// Every open run, or every one of `sessionId`.
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
    /// Without it, the only open ask.
    #[serde(default)]
    #[ts(optional)]
    pub ask_id: Option<AskId>,
}

/// Arguments of commands that are about one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionArguments {
    #[serde(default)]
    #[ts(optional)]
    pub session_id: Option<SessionId>,
}

const fn row(
    name: &'static str,
    object: &'static str,
    strings: &'static str,
    meaning: &'static str,
) -> Command {
    Command { name, object, strings, meaning }
}
