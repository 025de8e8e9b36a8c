//! Decides whether and when a failed model call is tried again, and by which model.
//!
//! No other file decides this. Never reads a clock and never sleeps.

use serde::{Deserialize, Serialize};

/// The kind of failure of a model call; each class has its own path (S83).
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
    /// The stream ended without its final event, or an event could not be understood.
    Broken,
    /// 401, 403: a key is missing or wrong.
    Auth,
    /// Out of credit.
    Quota,
    /// The conversation does not fit the model's window.
    ContextExceeded,
    /// 404 on the model.
    ModelNotFound,
    /// Any other 4xx: Adjutant's request or the settings are wrong.
    InvalidRequest,
    /// The server was stopped while the call ran.
    Interrupted,
    /// The provider refuses the conversation: it does not accept its own reasoning back, or cannot pair
    /// calls and outputs.
    History,
    /// The provider refuses an image of the conversation.
    Images,
    /// The output limit cut the reply, and the model can write a longer one (S69).
    Cut,
}

/// A model call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFailure {
    pub class: FailureClass,
    /// One sentence for the user: what happened and, where known, what to do.
    pub message: String,
    /// How long the provider asked to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The most attempts of one turn (S80).
pub const MAX_ATTEMPTS: u32 = 6;

/// The longest wait that a provider may ask for, in milliseconds. Above it the turn fails at once, so that the
/// user can decide.
pub const MAX_RETRY_AFTER_MS: u64 = 120_000;

/// Streams of one turn that may break before the next request asks for a whole answer without a stream (S81).
/// A proxy that cut one stream is likely to cut the next.
const MAX_BROKEN_STREAMS: u32 = 2;

/// How the attempts of one turn have gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// Attempts that failed since the turn began or its model was replaced.
    failed: u32,
    broken_streams: u32,
    /// The conversation was repaired; this is tried once.
    repaired: bool,
    /// The images were withheld; this is tried once, too.
    images_withheld: bool,
    /// A reply was cut, so more room was asked for; this is tried once a turn, whatever the model.
    more_room: bool,
}

impl Tries {
    /// Counts an attempt that failed.
    pub fn fail(&mut self, class: FailureClass) {
        self.failed += 1;
        self.broken_streams += u32::from(matches!(class, FailureClass::Broken | FailureClass::Stalled));
        self.repaired |= class == FailureClass::History;
        self.images_withheld |= class == FailureClass::Images;
        self.more_room |= class == FailureClass::Cut;
    }

    /// Returns the tries of the model that takes over in the same turn.
    pub fn of_next_model(self) -> Self {
        Self { more_room: self.more_room, ..Self::default() }
    }

    /// Whether the next attempt asks for the whole answer instead of a stream.
    pub fn asks_whole(&self) -> bool {
        self.broken_streams >= MAX_BROKEN_STREAMS
    }
}

/// How often and how long one turn is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// The first wait.
    pub base_ms: u64,
    /// The last wait. Those between grow by a constant factor.
    pub cap_ms: u64,
    /// All attempts of a turn, the first one included.
    pub max_attempts: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy { base_ms: 500, cap_ms: 32_000, max_attempts: MAX_ATTEMPTS }
    }
}

impl FailureClass {
    /// Whether the same request may succeed later without any change.
    pub fn is_passing(self) -> bool {
        match self {
            FailureClass::RateLimited
            | FailureClass::Overloaded
            | FailureClass::Network
            | FailureClass::FirstByte
            | FailureClass::Stalled
            | FailureClass::Broken
            | FailureClass::Interrupted => true,
            FailureClass::Total
            | FailureClass::Auth
            | FailureClass::Quota
            | FailureClass::ContextExceeded
            | FailureClass::ModelNotFound
            | FailureClass::InvalidRequest
            | FailureClass::History
            | FailureClass::Images
            | FailureClass::Cut => false,
        }
    }
}

/// Returns how many milliseconds to wait before the next attempt, or `None` to give up.
///
/// `tries` are the attempts before this failure. `jitter` is a random number from 0 to 1.
pub fn next_attempt(failure: &CallFailure, tries: &Tries, jitter: f64, policy: &RetryPolicy) -> Option<u64> {
    let attempt = tries.failed + 1;
    // Before the next attempt, the refused reasoning or images are removed from the conversation.
    match failure.class {
        FailureClass::History if !tries.repaired => return Some(0),
        FailureClass::Images if !tries.images_withheld => return Some(0),
        // The next attempt has more room. It costs a whole reply, so it counts as one of the user's attempts.
        FailureClass::Cut if !tries.more_room && attempt < policy.max_attempts => return Some(0),
        _ => {}
    }
    if !failure.class.is_passing() || attempt >= policy.max_attempts {
        return None;
    }
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
    match failure.retry_after_ms {
        Some(asked) if asked > MAX_RETRY_AFTER_MS => None,
        // Never before that time, and a little after it: other clients may have got the same second.
        Some(asked) if asked > 0 => Some(asked + (policy.base_ms as f64 * jitter / 2.0) as u64),
        _ => Some(backoff(attempt, jitter, policy)),
    }
}

/// Returns the wait after this attempt, in milliseconds. Waits grow by a constant factor from the base to the
/// cap, which the last wait reaches. Six attempts span 49 to 54 s: enough to outlive a short outage, and less
/// than the 64 s that a user may have to wait.
fn backoff(attempt: u32, jitter: f64, policy: &RetryPolicy) -> u64 {
    let base = policy.base_ms.min(policy.cap_ms) as f64;
    let cap = policy.cap_ms as f64;
    let last = policy.max_attempts.saturating_sub(1);
    if last <= 1 || base <= 0.0 {
        return base as u64;
    }
    let done = f64::from(attempt.saturating_sub(1)) / f64::from(last - 1);
    let wait = base * (cap / base).powf(done);
    (wait * (1.0 + jitter / 4.0)).min(cap).round() as u64
}

/// Returns the fallback model that continues the turn when `model` does not answer (S113): the next in the list.
/// `None` if the list is used up, or if the user must know of the failure: a wrong key, a used up quota or a
/// refused request.
pub fn fallback_model<'a>(failure: &CallFailure, model: &str, fallbacks: &'a [String]) -> Option<&'a str> {
    let at = fallbacks.iter().position(|other| other == model).map_or(0, |at| at + 1);
    let next = fallbacks.get(at..)?.iter().find(|other| *other != model)?;
    (failure.class.is_passing() && failure.class != FailureClass::Interrupted).then_some(next)
}

#[cfg(test)]
mod tests;
