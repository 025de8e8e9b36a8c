//! Whether and when a failed model call is tried again.
//!
//! The only seat of that decision; never looks at a clock and never sleeps.

use serde::{Deserialize, Serialize};

/// What kind of failure a model call met; each class has its own path (S83).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// 429.
    RateLimited,
    /// 5xx and 529.
    Overloaded,
    /// No connection, a reset, a name that does not resolve.
    Network,
    /// No header within the first-byte limit.
    FirstByte,
    /// No data within the idle limit.
    Stalled,
    /// Longer than the total limit.
    Total,
    /// The stream ended without its final event, or an event made no sense.
    Broken,
    /// 401, 403: a key is missing or wrong.
    Auth,
    /// Out of credit.
    Quota,
    /// The conversation does not fit the model's window.
    ContextExceeded,
    /// 404 on the model.
    ModelNotFound,
    /// Any other 4xx: our request or the settings are wrong.
    InvalidRequest,
    /// The server was stopped while the call ran.
    Interrupted,
}

/// A model call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFailure {
    pub class: FailureClass,
    /// One sentence for the user: what happened and, where known, what to do.
    pub message: String,
    /// What the provider asked us to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The most attempts of one turn (S80).
pub const MAX_ATTEMPTS: u32 = 6;
