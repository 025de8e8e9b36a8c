//! Fault points: named places at which a test kills the process, makes a step panic, or makes it wait.
//!
//! With `ADJUTANT_FAULT=NAME:N`, a debug build kills itself with SIGKILL when it passes the point for the
//! N-th time. With `NAME:N:break` it panics there. With `NAME:N:hold` it says so on stderr and waits until
//! the test creates `fault-released` in the state directory. Commas separate several points. A release build
//! never has this code.

/// The points of a run, for the test that loops over all of them.
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

/// The points that an answer passes in an inbox: in the process that writes it and in the one that reads it.
pub const INBOX_POINTS: [&str; 4] = ["letter-written", "letter-left", "letters-read", "letters-judged"];

/// The points inside the write of a file, in order. A new file passes only the first two.
pub const WRITE_POINTS: [&str; 5] =
    ["write-begun", "write-whole", "write-compared", "write-exchanged", "write-proved"];

/// The points at which a file is removed or gets another name, in order.
pub const OPERATION_POINTS: [&str; 5] =
    ["removal-begun", "removal-aside", "removal-done", "move-compared", "move-done"];

/// The points of a prompt before its first record.
pub const PROMPT_POINTS: [&str; 1] = ["images-kept"];

/// The points of a fork, in order: its log is begun, it is whole but hidden, and it is a session.
pub const FORK_POINTS: [&str; 3] = ["fork-begun", "fork-whole", "fork-appeared"];

/// The points inside blocking work: the texts of an edit are compared, and a file of the workspace is opened.
pub const ASIDE_POINTS: [&str; 2] = ["change-compared", "file-opened"];

/// The points at which a client is written next to its place, put there, exchanged with an older one, and removed.
pub const CLIENT_POINTS: [&str; 4] =
    ["client-written", "client-complete", "client-exchanged", "client-aside"];

/// Kills, panics or waits here if `ADJUTANT_FAULT` says so.
#[cfg(debug_assertions)]
pub fn point(name: &'static str) {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    static PLANNED: OnceLock<Vec<(String, u32, String)>> = OnceLock::new();
    static PASSED: Mutex<Option<HashMap<&'static str, u32>>> = Mutex::new(None);

    debug_assert!(
        [
            &POINTS[..],
            &INBOX_POINTS,
            &WRITE_POINTS,
            &OPERATION_POINTS,
            &PROMPT_POINTS,
            &FORK_POINTS,
            &ASIDE_POINTS,
            &CLIENT_POINTS
        ]
        .iter()
        .any(|points| points.contains(&name)),
        "the point {name} is not in the list"
    );
    let planned = PLANNED.get_or_init(|| {
        let one = |set: &str| {
            let (name, rest) = set.split_once(':')?;
            let (count, how) = rest.split_once(':').unwrap_or((rest, "die"));
            Some((name.to_owned(), count.parse().ok()?, how.to_owned()))
        };
        let set = std::env::var("ADJUTANT_FAULT").unwrap_or_default();
        set.split(',').filter_map(one).collect()
    });
    if !planned.iter().any(|(planned, ..)| planned == name) {
        return;
    }
    let passing = {
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.get_or_insert_default().entry(name).or_insert(0);
        *count += 1;
        *count
    };
    let due = planned.iter().find(|(planned, count, _)| planned == name && *count == passing);
    let Some((_, _, how)) = due else { return };
    match how.as_str() {
        "break" => panic!("broken at {name} by a test"),
        "hold" => hold(name),
        _ => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}

/// Waits until the test releases it, at most 10 s.
#[cfg(debug_assertions)]
fn hold(name: &str) {
    use std::io::Write;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    let Some(directory) = std::env::var_os("ADJUTANT_STATE_DIR").map(PathBuf::from) else { return };
    let _ = writeln!(std::io::stderr(), "held at {name}");
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until && !directory.join("fault-released").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
pub fn point(_: &'static str) {}
