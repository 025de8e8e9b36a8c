//! Named points at which a test lets the process die.
//!
//! A debug build whose `ADJUTANT_FAULT` is `NAME:N` kills itself with SIGKILL
//! the N-th time it passes the point; a release build has no such code.

/// Every named point, for the campaign that loops over them.
pub const POINTS: [&str; 16] = [
    "prompt-accepted",
    "facts-written",
    "facts-durable",
    "turn-begun",
    "reply-streaming",
    "reply-complete",
    "call-prepared",
    "before-image-kept",
    "ask-delivered",
    "ask-answered",
    "edit-sent",
    "edit-answered",
    "edit-landed",
    "edit-saved",
    "command-started",
    "command-ended",
];

/// The points an answer passes on its way through an inbox, on either side.
pub const INBOX_POINTS: [&str; 4] = ["letter-written", "letter-left", "letters-read", "letters-judged"];

/// Dies here if the test says so.
#[cfg(debug_assertions)]
pub fn point(name: &'static str) {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    static WANTED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static PASSED: Mutex<Option<HashMap<&'static str, u32>>> = Mutex::new(None);

    debug_assert!(
        POINTS.contains(&name) || INBOX_POINTS.contains(&name),
        "the point {name} is not in the list"
    );
    let wanted = WANTED.get_or_init(|| {
        let set = std::env::var("ADJUTANT_FAULT").ok()?;
        let (name, count) = set.split_once(':')?;
        Some((name.to_owned(), count.parse().ok()?))
    });
    let Some((wanted, count)) = wanted else { return };
    if wanted != name {
        return;
    }
    let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = passed.get_or_insert_default().entry(name).or_insert(0);
    *seen += 1;
    if *seen == *count {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Dies here if the test says so; not in a release build.
#[cfg(not(debug_assertions))]
pub fn point(_: &'static str) {}
