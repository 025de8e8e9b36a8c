//! The processor time of a test: how much work something is, whatever else the machine does.
//!
//! For tests only; a time of the wall says how busy the machine was.

use std::time::Duration;

/// Returns the processor time this thread has spent, to a hundredth of a second.
pub fn spent() -> Duration {
    let stat =
        std::fs::read_to_string("/proc/thread-self/stat").expect("the system says what a thread spent");
    // The name of the thread may hold blanks; it ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
    let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks"));
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
