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
    /// The provider refuses the conversation as it stands: reasoning it does not take back, or
    /// calls and outputs it cannot pair.
    History,
    /// The provider refuses an image of the conversation.
    Images,
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

/// The longest wait a provider may ask for and still get: above it the user
/// is told instead of being left to watch a clock.
pub const MAX_RETRY_AFTER_MS: u64 = 120_000;

/// Streams of one turn that may break before the answer is asked for whole (S81): a proxy that
/// cuts streams does so again.
const MAX_BROKEN_STREAMS: u32 = 2;

/// How the attempts of one turn have gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// Attempts that failed since this model took the turn.
    failed: u32,
    broken_streams: u32,
    /// The conversation was repaired; that helps once.
    repaired: bool,
    /// The images were withheld; that helps once, too.
    blind: bool,
}

impl Tries {
    /// Counts an attempt that failed.
    pub fn fail(&mut self, class: FailureClass) {
        self.failed += 1;
        self.broken_streams += u32::from(matches!(class, FailureClass::Broken | FailureClass::Stalled));
        self.repaired |= class == FailureClass::History;
        self.blind |= class == FailureClass::Images;
    }

    /// Whether the next attempt asks for the whole answer in place of a stream.
    pub fn asks_whole(&self) -> bool {
        self.broken_streams >= MAX_BROKEN_STREAMS
    }
}

/// How patient the retries of one turn are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// The first wait.
    pub base_ms: u64,
    /// The last wait; those between grow evenly towards it.
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
    /// Tells whether the same request may succeed later without anyone changing anything.
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
            | FailureClass::Images => false,
        }
    }
}

/// Returns how many milliseconds to wait before the next attempt, or `None` to give up.
///
/// `tries` are those before this failure; `jitter` is drawn by the caller from 0 to 1.
pub fn next_attempt(failure: &CallFailure, tries: &Tries, jitter: f64, policy: &RetryPolicy) -> Option<u64> {
    let attempt = tries.failed + 1;
    // What the provider refused is taken out of the conversation by then.
    match failure.class {
        FailureClass::History if !tries.repaired => return Some(0),
        FailureClass::Images if !tries.blind => return Some(0),
        _ => {}
    }
    if !failure.class.is_passing() || attempt >= policy.max_attempts {
        return None;
    }
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
    match failure.retry_after_ms {
        Some(asked) if asked > MAX_RETRY_AFTER_MS => None,
        // Never before the time asked for, and a little after it, so that all
        // who were told the same second do not come back at once.
        Some(asked) if asked > 0 => Some(asked + (policy.base_ms as f64 * jitter / 2.0) as u64),
        _ => Some(backoff(attempt, jitter, policy)),
    }
}

/// The waits grow by a constant factor from the base to the cap, which the
/// last of them reaches: six attempts span 49 to 54 s, enough to outlive a
/// short outage and less than the 64 s a user is asked to bear.
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

/// Returns the model that takes the turn when one does not answer (S113): the next of those that may
/// stand in. Only what another model may not suffer from is given to one: a wrong key, a used up
/// quota and a refused request are the user's to know.
pub fn fallback_model<'a>(failure: &CallFailure, model: &str, others: &'a [String]) -> Option<&'a str> {
    let at = others.iter().position(|other| other == model).map_or(0, |at| at + 1);
    let next = others.get(at..)?.iter().find(|other| *other != model)?;
    (failure.class.is_passing() && failure.class != FailureClass::Interrupted).then_some(next)
}

#[cfg(test)]
mod tests;
