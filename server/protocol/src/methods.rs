//! The table of methods: name, direction, params, result.
//!
//! `docs/protocol.md` is generated from it. Never contains a handler. A method without a row does not exist.

/// The sender of a method, and whether it expects an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ClientRequest,
    ClientNotification,
    ServerRequest,
    ServerNotification,
}

/// One row of the method table.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub name: &'static str,
    pub direction: Direction,
    pub params: &'static str,
    pub result: &'static str,
    pub meaning: &'static str,
}

pub const SESSION_NEW: &str = "agent/session/new";
pub const SESSION_LIST: &str = "agent/session/list";
pub const SESSION_RESUME: &str = "agent/session/resume";
pub const SESSION_ITEMS: &str = "agent/session/items";
pub const ITEM_READ: &str = "agent/item/read";
pub const SESSION_CLOSE: &str = "agent/session/close";
pub const SESSION_DELETE: &str = "agent/session/delete";
pub const SESSION_RENAME: &str = "agent/session/rename";
pub const SESSION_FORK: &str = "agent/session/fork";
pub const SESSION_CONTEXT: &str = "agent/session/context";
pub const SESSION_COMPACT: &str = "agent/session/compact";
pub const SESSION_PROMPT: &str = "agent/session/prompt";
pub const SESSION_WAIT: &str = "agent/session/wait";
pub const PROMPT_HISTORY: &str = "agent/prompt/history";
pub const PROMPT_COMPLETE: &str = "agent/prompt/complete";
pub const SESSION_CANCEL: &str = "agent/session/cancel";
pub const SESSION_SET_CONFIG_OPTION: &str = "agent/session/set_config_option";
pub const MODEL_LIST: &str = "agent/model/list";
pub const CONFIG_SCHEMA: &str = "agent/config/schema";
pub const DOCTOR: &str = "agent/doctor";
pub const SETUP_PROVIDERS: &str = "agent/setup/providers";
pub const SETUP_TRY: &str = "agent/setup/try";
pub const SETUP_WRITE: &str = "agent/setup/write";
pub const START: &str = "agent/start";
pub const ASK_LIST: &str = "agent/ask/list";
pub const ASK_RESPOND: &str = "agent/ask/respond";
pub const REVIEW_LIST: &str = "agent/review/list";
pub const REVIEW_DECIDE: &str = "agent/review/decide";
pub const REVIEW_DIFF: &str = "agent/review/diff";
pub const REVIEW_BASE: &str = "agent/review/base";
pub const REVIEW_PREVIEW: &str = "agent/review/preview";
pub const REVIEW_REWIND: &str = "agent/review/rewind";
pub const REVIEW_COMMENT: &str = "agent/review/comment";
pub const REVIEW_SEND: &str = "agent/review/send";
pub const SESSION_UPDATE: &str = "agent/session/update";
pub const SESSION_CHANGED: &str = "agent/session/changed";
pub const REQUEST_PERMISSION: &str = "agent/session/request_permission";
pub const ASK_RESOLVED: &str = "agent/ask/resolved";
pub const REVIEW_UPDATE: &str = "agent/review/update";
pub const OVERVIEW: &str = "agent/overview";
pub const DOCUMENT_SAVE: &str = "agent/document/save";
pub const WINDOW_REACH: &str = "agent/window/reach";

use Direction::{ClientNotification, ClientRequest, ServerNotification, ServerRequest};

pub const METHODS: [Method; 42] = [
    row(
        SESSION_NEW,
        ClientRequest,
        "NewSessionParams",
        "NewSessionResult",
        "creates a session; it has no folder until its first prompt",
    ),
    row(
        SESSION_LIST,
        ClientRequest,
        "SessionListParams",
        "SessionListResult",
        "lists the sessions on disk, newest first, without loading them",
    ),
    row(
        SESSION_RESUME,
        ClientRequest,
        "ResumeParams",
        "ResumeResult",
        "attaches to a session: returns its current state, then replays updates",
    ),
    row(
        SESSION_ITEMS,
        ClientRequest,
        "ItemsParams",
        "ItemsResult",
        "returns a page of older items with all their lasting updates",
    ),
    row(
        ITEM_READ,
        ClientRequest,
        "ItemReadParams",
        "ItemReadResult",
        "returns the end of what a tool call gave, without opening its session",
    ),
    row(
        SESSION_CLOSE,
        ClientRequest,
        "SessionParams",
        "Done",
        "cancels the open run of a session and removes the session from memory; it stays on disk",
    ),
    row(SESSION_DELETE, ClientRequest, "SessionParams", "Done", "removes a session that has no open run"),
    row(
        SESSION_RENAME,
        ClientRequest,
        "SessionRenameParams",
        "Done",
        "gives a session a title of the user's own, in the place of its first prompt",
    ),
    row(
        SESSION_FORK,
        ClientRequest,
        "SessionForkParams",
        "SessionForkResult",
        "copies a conversation, or its beginning, into a new session; the old one stays as it is",
    ),
    row(
        SESSION_CONTEXT,
        ClientRequest,
        "SessionContextParams",
        "SessionContextResult",
        "returns what the next request to the model holds, part by part, without opening the session",
    ),
    row(
        SESSION_COMPACT,
        ClientRequest,
        "SessionParams",
        "SessionCompactResult",
        "replaces the earlier conversation by a summary, before the next turn of the open run or by a run of its own",
    ),
    row(
        SESSION_PROMPT,
        ClientRequest,
        "PromptParams",
        "PromptResult",
        "accepts a prompt; the answer comes before any model call",
    ),
    row(
        SESSION_WAIT,
        ClientRequest,
        "WaitParams",
        "WaitResult",
        "waits for the end of a run and never stops it",
    ),
    row(
        SESSION_CANCEL,
        ClientNotification,
        "CancelParams",
        "",
        "cancels the open run before any queued request",
    ),
    row(
        SESSION_SET_CONFIG_OPTION,
        ClientRequest,
        "SetConfigOptionParams",
        "SetConfigOptionResult",
        "chooses the mode, the model, the effort or the verbosity of a session",
    ),
    row(
        PROMPT_HISTORY,
        ClientRequest,
        "PromptHistoryParams",
        "PromptHistoryResult",
        "returns a page of the prompts that the user wrote in a folder, newest first",
    ),
    row(
        PROMPT_COMPLETE,
        ClientRequest,
        "PromptCompleteParams",
        "PromptCompleteResult",
        "completes a mention or a slash command in a prompt that is being written",
    ),
    row(
        MODEL_LIST,
        ClientRequest,
        "ModelListParams",
        "ModelListResult",
        "lists the models of the settings with their known limits; calls no provider",
    ),
    row(
        CONFIG_SCHEMA,
        ClientRequest,
        "ConfigSchemaParams",
        "ConfigSchemaResult",
        "returns the settings that an editor may set, as a JSON Schema",
    ),
    row(
        DOCTOR,
        ClientRequest,
        "DoctorParams",
        "DoctorResult",
        "checks the settings, the state folder and the models, and says what cures what is wrong; calls no model unless asked",
    ),
    row(
        SETUP_PROVIDERS,
        ClientRequest,
        "SetupProvidersParams",
        "SetupProvidersResult",
        "lists the services that can be chosen, and whether the environment has their keys; calls no provider",
    ),
    row(
        SETUP_TRY,
        ClientRequest,
        "SetupParams",
        "SetupTryResult",
        "asks a provider for one word, as it would be written; takes at most 30 s and writes nothing",
    ),
    row(
        SETUP_WRITE,
        ClientRequest,
        "SetupParams",
        "SetupWriteResult",
        "writes a provider and its model into the user's settings file and uses them from then on",
    ),
    row(
        START,
        ClientRequest,
        "StartParams",
        "StartResult",
        "starts work from a place in a document; the answer is that of a prompt",
    ),
    row(ASK_LIST, ClientRequest, "AskListParams", "AskListResult", "lists open asks"),
    row(
        ASK_RESPOND,
        ClientRequest,
        "AskRespondParams",
        "AskRespondResult",
        "answers an ask; the first valid answer wins",
    ),
    row(
        REVIEW_LIST,
        ClientRequest,
        "ReviewListParams",
        "ReviewListResult",
        "lists hunks: those that wait for an answer, and applied ones that nobody has looked at",
    ),
    row(
        REVIEW_DECIDE,
        ClientRequest,
        "ReviewDecideParams",
        "ReviewDecideResult",
        "applies or rejects hunks that wait for an answer; keeps, undoes or restores applied ones",
    ),
    row(
        REVIEW_DIFF,
        ClientRequest,
        "ReviewDiffParams",
        "ReviewDiffResult",
        "returns one diff of what a run or a session changed, as `git apply` takes it",
    ),
    row(
        REVIEW_BASE,
        ClientRequest,
        "ReviewBaseParams",
        "ReviewBaseResult",
        "returns the text of a document without the changes that nobody has looked at",
    ),
    row(
        REVIEW_PREVIEW,
        ClientRequest,
        "PreviewParams",
        "RewindPreview",
        "says what it means to undo a whole run, or everything since its prompt; changes nothing",
    ),
    row(
        REVIEW_REWIND,
        ClientRequest,
        "RewindParams",
        "ReviewDecideResult",
        "undoes what a preview has shown, or restores it; the conversation stays as it is",
    ),
    row(
        REVIEW_COMMENT,
        ClientRequest,
        "ReviewCommentParams",
        "ReviewCommentResult",
        "keeps a comment on an applied hunk until the comments are sent",
    ),
    row(
        REVIEW_SEND,
        ClientRequest,
        "ReviewSendParams",
        "PromptResult",
        "sends all comments of a session as one prompt, each with its path, lines and code",
    ),
    row(SESSION_UPDATE, ServerNotification, "SessionUpdateParams", "", "reports one change, in order"),
    row(
        SESSION_CHANGED,
        ServerNotification,
        "SessionChangedParams",
        "",
        "reports that the list of sessions changed: one entry, or that a session is gone; sent if the client supports `sessions`",
    ),
    row(
        REQUEST_PERMISSION,
        ServerRequest,
        "AskView",
        "PermissionResponse",
        "delivers an ask; sent if the client supports `asks.request`",
    ),
    row(
        ASK_RESOLVED,
        ServerNotification,
        "AskResolvedParams",
        "",
        "reports that an ask closed, for any reason",
    ),
    row(
        REVIEW_UPDATE,
        ServerNotification,
        "ReviewUpdateParams",
        "",
        "reports where the applied hunks of a document are; sent if the client supports `review.hunks`",
    ),
    row(
        OVERVIEW,
        ServerNotification,
        "Overview",
        "",
        "reports what is at work and what needs the user, whole, when it changed; sent if the client supports `overview`",
    ),
    row(
        DOCUMENT_SAVE,
        ServerRequest,
        "DocumentSaveParams",
        "DocumentSaveResult",
        "asks the editor to save; sent if the client supports `documents.save`",
    ),
    row(
        WINDOW_REACH,
        ServerRequest,
        "WindowReachParams",
        "WindowReachResult",
        "is answered as soon as the window of the user can be reached; sent if the client supports `window.reach`",
    ),
];

const fn row(
    name: &'static str,
    direction: Direction,
    params: &'static str,
    result: &'static str,
    meaning: &'static str,
) -> Method {
    Method { name, direction, params, result, meaning }
}
