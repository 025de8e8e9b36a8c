//! Adjutant's own error codes.
//!
//! Tool and model failures are never JSON-RPC errors; they appear in updates and outcomes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How long a client should wait after `Overloaded`, in milliseconds.
const RETRY_AFTER_MS: u64 = 100;

/// The errors, in the order of their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
pub enum ErrorName {
    SessionNotFound,
    Overloaded,
    SessionLocked,
    RunMismatch,
    AskClosed,
    KeyReused,
    HunkConflict,
    ModeForbids,
    NotTrusted,
    ProviderUnavailable,
    VersionUnsupported,
    AskNotFound,
    SessionReadOnly,
    AnswerInvalid,
    DeliveryUnsupported,
    ImagesUnsupported,
    PromptInvalid,
}

impl ErrorName {
    pub const ALL: [ErrorName; 17] = [
        ErrorName::SessionNotFound,
        ErrorName::Overloaded,
        ErrorName::SessionLocked,
        ErrorName::RunMismatch,
        ErrorName::AskClosed,
        ErrorName::KeyReused,
        ErrorName::HunkConflict,
        ErrorName::ModeForbids,
        ErrorName::NotTrusted,
        ErrorName::ProviderUnavailable,
        ErrorName::VersionUnsupported,
        ErrorName::AskNotFound,
        ErrorName::SessionReadOnly,
        ErrorName::AnswerInvalid,
        ErrorName::DeliveryUnsupported,
        ErrorName::ImagesUnsupported,
        ErrorName::PromptInvalid,
    ];

    /// Returns the JSON-RPC code: -33001 for the first error, then descending.
    pub fn code(self) -> i64 {
        -33001 - self as i64
    }

    /// Whether the same request may succeed later.
    pub fn retryable(self) -> bool {
        matches!(self, ErrorName::Overloaded | ErrorName::SessionLocked)
    }

    /// Returns when the server answers with this error; one line for the table.
    pub fn meaning(self) -> &'static str {
        match self {
            ErrorName::SessionNotFound => "no session has this id",
            ErrorName::Overloaded => {
                "a queue is full, or no file descriptor is free; `retryAfterMs` says when to try again"
            }
            ErrorName::SessionLocked => "another process writes this session",
            ErrorName::RunMismatch => "the named run is not the open one",
            ErrorName::AskClosed => "the ask is closed and accepts no answer",
            ErrorName::KeyReused => "the key was used before with another body",
            ErrorName::HunkConflict => "the text of the hunk has changed",
            ErrorName::ModeForbids => "the session's mode does not allow this",
            ErrorName::NotTrusted => "the workspace is not trusted",
            ErrorName::ProviderUnavailable => "no usable model is configured; the message says what to set",
            ErrorName::VersionUnsupported => "the protocol or log version is newer than this server",
            ErrorName::AskNotFound => "no ask has this id",
            ErrorName::SessionReadOnly => "the session's log can no longer be written",
            ErrorName::AnswerInvalid => "the ask has no such option, or accepts no text",
            ErrorName::DeliveryUnsupported => "this `delivery` of a prompt is not supported",
            ErrorName::ImagesUnsupported => "the model for this prompt accepts no images",
            ErrorName::PromptInvalid => "something that is attached to the prompt cannot be quoted",
        }
    }
}

/// `data` of every error of this protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ErrorDetail {
    pub name: ErrorName,
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub retry_after_ms: Option<u64>,
}

impl ErrorDetail {
    /// Returns the `data` of an error with this name.
    pub fn of(name: ErrorName) -> Self {
        let retry_after_ms = (name == ErrorName::Overloaded).then_some(RETRY_AFTER_MS);
        Self { name, retryable: name.retryable(), retry_after_ms }
    }
}
