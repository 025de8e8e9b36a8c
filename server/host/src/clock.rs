//! The time of day, for records and for display.
//!
//! Never measures a duration: this clock may be set back, but `Instant` cannot be.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in milliseconds since 1970; 0 before it.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
