use super::delay::delay_ms;

/// Returns the wait before the attempt after `attempt`; `None` if there is no further attempt.
pub fn next(attempt: u32, named: Option<u64>) -> Option<u64> {
    if attempt > 6 || named == Some(120_000) {
        return None;
    }
    Some(delay_ms(attempt, named))
}
