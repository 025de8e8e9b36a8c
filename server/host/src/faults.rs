//! Named points at which a test lets the process die, a step or a session break, or one wait.
//!
//! A debug build whose `ADJUTANT_FAULT` is `NAME:N` kills itself with SIGKILL
//! the N-th time it passes the point. `NAME:N:break` panics there instead, and
//! `NAME:N:hold` says so on stderr and stands still until the test has made
//! `fault-released` in the state directory. Several are set with commas between them. A release build
//! has no such code.

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

/// The points inside the write of a file, in the order they are passed. A new file passes the first two.
pub const WRITE_POINTS: [&str; 5] =
    ["write-begun", "write-whole", "write-compared", "write-exchanged", "write-proved"];

/// The points of a prompt before there is a fact of it.
pub const PROMPT_POINTS: [&str; 1] = ["images-kept"];

/// The points inside work that is done where one may wait for the disk: the texts of an edit are compared, and a
/// file of the workspace is opened.
pub const ASIDE_POINTS: [&str; 2] = ["change-compared", "file-opened"];

/// Dies here if the test says so.
#[cfg(debug_assertions)]
pub fn point(name: &'static str) {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    static WANTED: OnceLock<Vec<(String, u32, String)>> = OnceLock::new();
    static PASSED: Mutex<Option<HashMap<&'static str, u32>>> = Mutex::new(None);

    debug_assert!(
        [&POINTS[..], &INBOX_POINTS, &WRITE_POINTS, &PROMPT_POINTS, &ASIDE_POINTS]
            .iter()
            .any(|points| points.contains(&name)),
        "the point {name} is not in the list"
    );
    let wanted = WANTED.get_or_init(|| {
        let one = |set: &str| {
            let (name, rest) = set.split_once(':')?;
            let (count, how) = rest.split_once(':').unwrap_or((rest, "die"));
            Some((name.to_owned(), count.parse().ok()?, how.to_owned()))
        };
        let set = std::env::var("ADJUTANT_FAULT").unwrap_or_default();
        set.split(',').filter_map(one).collect()
    });
    if !wanted.iter().any(|(wanted, ..)| wanted == name) {
        return;
    }
    let passing = {
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = passed.get_or_insert_default().entry(name).or_insert(0);
        *seen += 1;
        *seen
    };
    let here = wanted.iter().find(|(wanted, count, _)| wanted == name && *count == passing);
    let Some((_, _, how)) = here else { return };
    match how.as_str() {
        "break" => panic!("broken at {name} by a test"),
        "hold" => hold(name),
        _ => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}

/// Stands still until the test lets it go, at most as long as a test waits for anything.
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

/// Dies here if the test says so; not in a release build.
#[cfg(not(debug_assertions))]
pub fn point(_: &'static str) {}
