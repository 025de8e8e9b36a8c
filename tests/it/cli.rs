//! The command line through the real binary: its output, its files on disk and its exit codes.
//!
//! Never touches the settings or sessions of the developer, and never reaches a network: a script plays every
//! model.

mod commits;
mod editors;
mod exits;
mod findings;
mod kept_changes;
pub(crate) mod lines;
mod long;
mod newcomer;
mod readme;
mod review;
mod swapped;
mod terminal;
mod unattended;
mod writes;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use adjutant_protocol::session::RunEnd;
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};

/// How long one process may take.
const DEADLINE: Duration = Duration::from_secs(20);

const EDIT: &str = r#"
[[turn]]
text = "I fix the greeting."
[[turn.call]]
tool = "edit_file"
arguments = { path = "greeting.txt", old_text = "Helo", new_text = "Hello" }
"#;
const COMMAND: &str = r#"
[[turn]]
text = "I look at it."
[[turn.call]]
tool = "run_command"
arguments = { command = "cat greeting.txt" }
"#;
const DONE: &str = r#"
[[turn]]
text = "It is fixed."
"#;

/// A home, a workspace with one file, and a model that plays a script.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(script: &str) -> Self {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(place.workspace()).unwrap();
        fs::write(place.workspace().join("greeting.txt"), "Helo, world\n").unwrap();
        place.play(script);
        let settings =
            "model = \"play/script\"\n[providers.play]\nwire = \"scripted\"\nscript = \"script.toml\"\n";
        fs::write(place.path("config.toml"), settings).unwrap();
        place
    }

    fn play(&self, script: &str) {
        fs::write(self.path("script.toml"), script).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    fn greeting(&self) -> String {
        fs::read_to_string(self.workspace().join("greeting.txt")).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
        command
            .args(arguments)
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.directory.path())
            .env("ADJUTANT_CONFIG", self.path("config.toml"))
            .env("ADJUTANT_STATE_DIR", self.path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn start(&self, arguments: &[&str]) -> Running {
        Running { child: self.command(arguments).spawn().unwrap() }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.start(arguments).ended()
    }
}

/// A process that is killed when the value is dropped.
struct Running {
    child: Child,
}

impl Running {
    /// Waits for the end of the process. A process that exceeds the deadline fails the test, and is killed.
    fn ended(mut self) -> Ran {
        let whole = |stream: Option<Box<dyn Read + Send>>| {
            let (send, receive) = mpsc::channel();
            thread::spawn(move || {
                let mut bytes = Vec::new();
                if let Some(mut stream) = stream {
                    let _ = stream.read_to_end(&mut bytes);
                }
                let _ = send.send(bytes);
            });
            receive
        };
        let out = whole(self.child.stdout.take().map(|stream| Box::new(stream) as _));
        let err = whole(self.child.stderr.take().map(|stream| Box::new(stream) as _));
        let stdout = out.recv_timeout(DEADLINE).expect("the process did not end in time");
        let stderr = err.recv_timeout(DEADLINE).expect("the process did not end in time");
        let status = self.child.wait().unwrap();
        Ran(Output { status, stdout, stderr })
    }

    /// Reads lines of standard output until one contains a text.
    fn until(&mut self, text: &str) -> BufReader<std::process::ChildStdout> {
        let mut reader = BufReader::new(self.child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0, "it ended before it printed \"{text}\"");
        }
        reader
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Ran(Output);

impl Ran {
    fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    /// Fails with the whole output if the exit code is another one.
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "\n--- stdout\n{}\n--- stderr\n{}", self.out(), self.err());
        self
    }

    fn updates(&self) -> Vec<SessionUpdateParams> {
        self.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn ends(updates: &[SessionUpdateParams]) -> Vec<&RunEnd> {
    let end = |update| match update {
        &Update::Run(RunView::Ended { ref end, .. }) => Some(end),
        _ => None,
    };
    updates.iter().filter_map(|params| end(&params.update)).collect()
}

fn files_below(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn the_demo_mends_a_project_for_real_and_leaves_nothing() {
    let place = Place::new(DONE);
    let ran = place.run(&["demo"]).exits(0);
    let out = ran.out();
    for text in [
        "The model is scripted",
        "FAILED: expected \"Hello, world!\"",
        "+name=${1:-world}",
        "[demo answers: y]",
        "$ sh test.sh",
        "The test failed before and passes now.",
        "adjutant lsp",
    ] {
        assert!(out.contains(text), "{text:?} is missing in\n{out}");
    }
    assert!(!place.path("state").exists(), "the demo wrote into the user's state");
    let left = fs::read_dir(place.directory.path()).unwrap().flatten();
    let left: Vec<_> =
        left.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("demo")).collect();
    assert!(left.is_empty(), "{left:?} is left");
}

#[test]
fn without_a_model_it_says_what_to_set_and_offers_the_demo() {
    let place = Place::new(DONE);
    fs::write(place.path("config.toml"), "").unwrap();
    let ran = place.run(&["run", "hello"]).exits(2);
    assert!(
        ran.err().contains("no model is configured") && ran.err().contains("adjutant demo"),
        "{}",
        ran.err()
    );
    assert_eq!(ran.out(), "");
    let ran = place.run(&["run", "--model", "none/such", "hello"]).exits(2);
    assert!(ran.err().contains("no provider \"none\""), "{}", ran.err());
    place.run(&["run"]).exits(2);
    place.run(&["run", "--cwd", "/no/such/folder", "x"]).exits(2);
    place.run(&["run", "--continue"]).exits(2);
}

#[test]
fn a5_where_nobody_is_an_edit_is_shown_whole_denied_and_told_to_the_shell() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let ran = place.run(&["run", "fix it"]).exits(3);
    for text in ["-Helo, world\n+Hello, world\n", "nobody is present"] {
        assert!(ran.err().contains(text), "{text:?} is missing in\n{}", ran.err());
    }
    assert!(ran.out().ends_with("It is fixed.\n"), "{}", ran.out());
    assert_eq!(place.greeting(), "Helo, world\n");
}

#[test]
fn s13_unattended_edits_are_made_and_commands_only_with_their_flag() {
    let place = Place::new(&format!("{EDIT}{COMMAND}{DONE}"));
    let ran = place.run(&["run", "-y", "fix it"]).exits(3);
    assert_eq!(place.greeting(), "Hello, world\n");
    assert!(ran.err().contains("$ cat greeting.txt"), "{}", ran.err());
    let place = Place::new(&format!("{EDIT}{COMMAND}{DONE}"));
    let ran = place.run(&["run", "-y", "--allow-commands", "fix it"]).exits(0);
    assert!(ran.err().contains("• Run cat greeting.txt"), "{}", ran.err());
    assert_eq!(files_below(&place.workspace()), 1, "no other file is left in the folder");
}

#[test]
fn mark_line_ends_and_mode_of_a_file_survive_a_run_and_new_files_are_made() {
    use std::os::unix::fs::PermissionsExt;
    let write = r#"
[[turn]]
[[turn.call]]
tool = "write_file"
arguments = { path = "new/deep/note.txt", content = "noted\n" }
"#;
    let place = Place::new(&format!("{EDIT}{write}{DONE}"));
    let file = place.workspace().join("greeting.txt");
    fs::write(&file, "\u{feff}one\r\nHelo, world\r\nthree").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    place.run(&["run", "-y", "fix it"]).exits(0);
    assert_eq!(place.greeting(), "\u{feff}one\r\nHello, world\r\nthree");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_to_string(place.workspace().join("new/deep/note.txt")).unwrap(), "noted\n");
}

#[test]
fn s13_denials_win_over_unattended() {
    let place = Place::new(&format!("{EDIT}{COMMAND}{DONE}"));
    let settings = fs::read_to_string(place.path("config.toml")).unwrap();
    let deny = "[permissions]\ndeny = [\"edit_file(*.txt)\", \"run_command(cat)\"]\n";
    fs::write(place.path("config.toml"), format!("{settings}{deny}")).unwrap();
    let ran = place.run(&["run", "-y", "--allow-commands", "fix it"]).exits(0);
    assert_eq!(place.greeting(), "Helo, world\n");
    assert_eq!(ran.err().matches("denied").count(), 2, "{}", ran.err());
}

#[test]
fn s120_quiet_prints_the_answer_and_asks_alone() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let ran = place.run(&["run", "-y", "--quiet", "fix it"]).exits(0);
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("It is fixed.\n", ""));
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let ran = place.run(&["run", "--quiet", "fix it"]).exits(3);
    assert_eq!(ran.out(), "It is fixed.\n");
    assert!(ran.err().contains("+Hello, world"), "{}", ran.err());
    assert!(!ran.err().contains("tokens"), "{}", ran.err());
    assert!(ran.err().contains("nobody was present to answer: Edit greeting.txt; "), "{}", ran.err());
}

#[test]
fn s18_with_json_every_line_is_an_update_and_the_last_run_has_its_end() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    let ran = place.run(&["run", "--output", "json", "fix it"]).exits(3);
    let updates = ran.updates();
    assert_eq!(ends(&updates).len(), 1, "{}", ran.out());
    assert!(updates.iter().any(|params| matches!(params.update, Update::Ask(_))), "{}", ran.out());
    let mut chunks = String::new();
    for params in &updates {
        match &params.update {
            Update::AgentMessageChunk { text, .. } => chunks.push_str(text),
            Update::AgentMessage { text, .. } => assert_eq!(std::mem::take(&mut chunks), *text),
            _ => {}
        }
    }
}

#[test]
fn a_prompt_is_read_from_standard_input() {
    use std::io::Write;
    let place = Place::new(DONE);
    let mut running = Running { child: place.command(&["run", "-"]).stdin(Stdio::piped()).spawn().unwrap() };
    running.child.stdin.take().unwrap().write_all("from a pipe\n".as_bytes()).unwrap();
    running.ended().exits(0);
    assert!(place.run(&["sessions", "list"]).exits(0).out().contains("from a pipe"));
}

#[test]
fn p27_sessions_are_listed_shown_exported_continued_and_deleted() {
    let place = Place::new(&format!("{EDIT}{DONE}\n[[turn]]\ntext = \"Once more.\"\n"));
    assert!(place.run(&["sessions", "list"]).exits(0).out().contains("no sessions"));
    place.run(&["run", "-y", "fix the greeting"]).exits(0);
    let list = place.run(&["sessions", "list"]).exits(0).out();
    let row = list.lines().find(|line| line.contains("fix the greeting")).unwrap_or_else(|| panic!("{list}"));
    let id = row.split_whitespace().next().unwrap();
    let ran = place.run(&["run", "--continue", "and again"]).exits(0);
    assert!(ran.out().contains("Once more.") && !ran.out().contains("I fix"), "{}", ran.out());
    let shown = place.run(&["sessions", "show", id]).exits(0).out();
    for text in
        ["> fix the greeting", "I fix the greeting.", "• Edit greeting.txt", "> and again", "Once more."]
    {
        assert_eq!(shown.matches(text).count(), 1, "{text:?} in\n{shown}");
    }
    assert_eq!(ends(&place.run(&["sessions", "export", id]).exits(0).updates()).len(), 2);
    place.run(&["sessions", "rename", id, "A title of my own"]).exits(0);
    assert!(place.run(&["sessions", "list"]).exits(0).out().contains("A title of my own"));
    let refused = place.run(&["sessions", "rename", id, "two\nlines"]);
    assert!(refused.err().contains("line break"), "{}", refused.err());
    place.run(&["sessions", "delete", id]).exits(0);
    assert!(place.run(&["sessions", "list"]).exits(0).out().contains("no sessions"));
    let ran = place.run(&["sessions", "show", id]).exits(2);
    assert!(ran.err().contains("there is no session"), "{}", ran.err());
}

/// Returns a script with a reply so long that no test waits for its end.
fn endless() -> String {
    format!("[[turn]]\ntext = \"begun\\n{}\"\npace_ms = 20\n", "word ".repeat(3_000))
}

#[test]
fn finding_e2_a_reader_that_leaves_cancels_the_run_and_the_shell_is_told() {
    let place = Place::new(&endless());
    let mut running = place.start(&["run", "talk"]);
    drop(running.until("begun"));
    let ran = running.ended().exits(141);
    let last = ran.err().lines().last().unwrap_or_default().to_owned();
    assert_eq!(last, "error: nobody reads the output any more, so the run was cancelled");
    let list = place.run(&["sessions", "list"]).out();
    assert!(list.contains("idle"), "the run continues: {list}");
}

#[test]
fn s16_an_interrupt_cancels_the_run_and_waits_for_its_end() {
    let place = Place::new(&endless());
    let mut running = place.start(&["run", "talk"]);
    let mut reader = running.until("begun");
    running.signal(rustix::process::Signal::INT);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    let ran = running.ended().exits(1);
    assert!(!rest.contains("Cancelled"), "{rest}");
    assert!(ran.err().contains("Cancelled"), "{}", ran.err());
    assert!(ran.err().contains("cancelling"), "{}", ran.err());
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let place = Place::new(&endless());
    let mut running = place.start(&["run", "-y", "fix it"]);
    let reader = running.until("begun");
    running.child.kill().unwrap();
    drop(reader);
    running.ended();
    assert!(place.run(&["sessions", "list"]).exits(0).out().contains("interrupted"));
    place.play(&format!("{EDIT}{DONE}"));
    let ran = place.run(&["run", "-y", "--continue"]).exits(0);
    assert!(ran.out().contains("It is fixed."), "{}", ran.out());
    assert_eq!(place.greeting(), "Hello, world\n");
}

#[test]
fn s17_the_debug_log_is_a_file_of_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(DONE);
    let ran = place.run(&["run", "-d", "--quiet", "hello"]).exits(0);
    assert_eq!(ran.out(), "It is fixed.\n");
    let logs: Vec<PathBuf> =
        fs::read_dir(place.path("state/log")).unwrap().flatten().map(|entry| entry.path()).collect();
    let [log] = &logs[..] else { panic!("{logs:?}") };
    assert_eq!(fs::metadata(log).unwrap().permissions().mode() & 0o777, 0o600);
    for line in fs::read_to_string(log).unwrap().lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}
