//! The processor time of a test, which measures its work whatever else the machine does.
//!
//! Never used outside tests. Wall-clock time would also measure how busy the machine is.

use std::time::Duration;

/// Returns the processor time that this thread has used, to a hundredth of a second.
pub fn spent() -> Duration {
    let stat =
        std::fs::read_to_string("/proc/thread-self/stat").expect("the system says what a thread spent");
    // The name of the thread may have blanks; it ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
    let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks"));
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
