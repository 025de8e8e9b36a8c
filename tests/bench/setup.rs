//! The time of `adjutant setup` at a terminal, from its start to the written settings.
//!
//! Types each answer at once, so the figure has no time for reading or thinking.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::terminal::Screen;
use tempfile::TempDir;

use super::figures::Bench;
use super::samples::Samples;

/// The longest wait before the bench fails.
const DEADLINE: Duration = Duration::from_secs(60);

/// Measures the setup of the user's own service: address, key, model, and one call as a trial.
pub fn setup(bench: &Bench, samples: &mut Samples) {
    let home = TempDir::new_in(bench.directory).expect("the directory can be written");
    let model = ModelServer::answering(|_| Reply::text("ok").at_once());
    let (mut screen, far) = Screen::open(200);
    let copy = || Stdio::from(far.try_clone().expect("a terminal can be shared"));
    let began = Instant::now();
    let mut child = Command::new(bench.program)
        .arg("setup")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TERM", "xterm")
        .env("HOME", home.path())
        .env("XDG_CONFIG_HOME", home.path())
        .env("ADJUTANT_STATE_DIR", home.path().join("state"))
        .current_dir(home.path())
        .stdin(copy())
        .stdout(copy())
        .stderr(copy())
        .spawn()
        .expect("it starts");
    let url = model.base_url();
    let answers = [
        ("Number", "5"),
        ("Address of its API", url.as_str()),
        ("Key (not shown", "a-key-of-no-value"),
        ("Model, as the service calls it", "m1"),
    ];
    for (question, answer) in answers {
        until(&screen, question, || {
            screen.text().split_once(question).is_some_and(|(_, rest)| rest.contains("\n> "))
        });
        screen.types(format!("{answer}\n").as_bytes());
    }
    let mut ended = None;
    until(&screen, "the end", || {
        ended = child.try_wait().expect("the child can be waited for");
        ended.is_some()
    });
    samples.add("setup", vec![began.elapsed().as_secs_f64()]);
    let settings = home.path().join("adjutant").join("config.toml");
    let written = std::fs::read_to_string(settings).unwrap_or_default();
    assert!(written.contains("service/m1"), "{written:?} after {ended:?}\n{}", screen.text());
    assert_eq!(model.requests().len(), 1, "setup tries the model with one call");
}

fn until(screen: &Screen, what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited {DEADLINE:?} for {what}\n{}", screen.text());
        std::thread::park_timeout(Duration::from_micros(200));
    }
}
