//! What the scenes of everyday situations share: texts, tasks, a real git, and a watcher of files as a dev server has one.
//!
//! Never opens an editor.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use adjutant_testkit::model::Reply;
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::FILE;
use crate::stage::Stage;

/// The text of the open file. The agent changes its line 7; line 1 is formatted badly.
pub const TEXT: &str = "a  = 1\n.\n.\n.\n.\n.\nb = 2\n.\n.\n";
/// How many closed files the agent changes in one reply.
pub const MANY: usize = 40;

/// Returns the text with other lines in place of line 7.
pub fn with(lines: &str) -> String {
    TEXT.replace("b = 2\n", lines)
}

/// Returns a reply that replaces lines of the open file.
pub fn replace(old: &str, new: &str) -> Reply {
    Reply::call("edit_file", edit(FILE, old, new))
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

/// Returns a stage where edits are applied at once and reviewed afterwards.
pub fn reviewing(files: &str, replies: Vec<Reply>) -> Stage {
    let stage = Stage::new(files, replies).without_edits_mode();
    stage.workspace.add_config("[edits]\nmode = \"review\"\n");
    stage
}

/// Returns a stage with the open file alone.
pub fn one_file(replies: Vec<Reply>) -> Stage {
    reviewing(&format!("//- /{FILE}\n{TEXT}"), replies)
}

/// Returns a stage whose model changes many closed files in one reply.
pub fn many_files() -> Stage {
    let mut files = format!("//- /{FILE}\n{TEXT}");
    let mut reply = Reply::text("All of them.");
    for number in 0..MANY {
        files += &format!("//- /{}\none\n.\n.\n", closed(number));
        reply = reply.and_call("edit_file", edit(&closed(number), "one\n", "1\n"));
    }
    reviewing(&files, vec![reply, Reply::text("Done.")])
}

/// Returns the name of a closed file.
pub fn closed(number: usize) -> String {
    format!("parts/f{number:02}.py")
}

/// Returns whether all closed files have this text.
pub fn all_are(stage: &Stage, text: &str) -> bool {
    (0..MANY).all(|number| stage.workspace.read(&closed(number)) == text)
}

/// Makes the workspace a repository whose branch `main` has the present files, and whose branch `other` has another text.
pub fn with_branches(stage: Stage) -> Stage {
    std::fs::remove_dir(stage.workspace.path().join(".git")).expect("remove the mark of a project");
    for args in ["init -q -b main", "add -A", "commit -qm first", "checkout -q -b other"] {
        git(&stage, args);
    }
    stage.workspace.write(FILE, "x\ny\n");
    git(&stage, "commit -qam other");
    git(&stage, "checkout -q main");
    stage
}

/// Runs git in the workspace.
pub fn git(stage: &Stage, args: &str) {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("HOME", stage.workspace.path());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
    }
    git.args(args.split(' ')).current_dir(stage.workspace.path()).stdin(Stdio::null());
    let output = git.output().expect("git is installed: tests/run installs it");
    assert!(output.status.success(), "git {args}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a stage in two branches whose model reads the open file, edits it while another branch is checked out, and reads it
/// again. Its second answer waits to be released.
pub fn switched() -> Stage {
    let read = || Reply::call("read_file", json!({"path": FILE}));
    let edit = replace("b = 2\n", "b = 3\n").hold_after(0);
    with_branches(one_file(vec![read(), edit, read(), Reply::text("Done.")]))
}

/// Returns the texts of the last request that tell the model of changes from outside, and the outputs of its calls.
pub fn notes_and_outputs(stage: &Stage) -> (Vec<String>, Vec<String>) {
    let requests = stage.model.requests();
    let body = requests.last().expect("a request").json();
    let mut all = (Vec::new(), Vec::new());
    for message in body["messages"].as_array().into_iter().flatten() {
        let text = message["content"].as_str().unwrap_or_default().to_owned();
        match message["role"].as_str() {
            Some("tool") => all.1.push(text),
            Some("user") if text.starts_with("[note]") => all.0.push(text),
            _ => {}
        }
    }
    all
}

/// Returns whether the last call read the text of the other branch.
pub fn reads_the_other(outputs: &[String]) -> bool {
    outputs.last().is_some_and(|text| text.split_whitespace().eq(["x", "y"]))
}

/// What the model is told of the switch.
pub const SWITCHED: &str = "[note] The branch is now \"other\". 1 file that you read has changed since: greet.py. Read it again before you \
    edit it.";
/// What the user is told of it.
pub const SWITCHED_FOR_USER: &str =
    "The branch is now \"other\"; 1 file changed since the agent read it: greet.py. The agent is told.";

/// Returns a stage whose model makes one change, and answers as often as the scene goes on.
pub fn one_change() -> Stage {
    let seen = || Reply::text("Seen.");
    one_file(vec![replace("b = 2\n", "b = 3\n"), Reply::text("Done."), seen(), seen(), seen()])
}

/// How often the user undoes and redoes the change.
pub const ROUNDS: usize = 50;

/// Returns how often a request tells of an undo in the editor, and of a redo.
pub fn undone_and_redone(request: &str) -> [usize; 2] {
    ["The user undid in the editor", "that was undone is in the file again"]
        .map(|part| request.matches(part).count())
}

/// Returns the body of the last request to the model.
pub fn last_request(stage: &Stage) -> String {
    let requests = stage.model.requests();
    String::from_utf8(requests.last().expect("a request").body.clone()).expect("text")
}

/// Returns how often the logs say that the user undid or redid a change in the editor.
pub fn found_in_the_text(stage: &Stage) -> usize {
    const NAMES: [&str; 2] = ["\"by\":\"editor\"", "\"by\":\"close\""];
    let log = |session: &String| {
        let path = stage.workspace.state_dir().join("sessions").join(session).join("events.jsonl");
        std::fs::read_to_string(path).unwrap_or_default()
    };
    stage
        .sessions()
        .iter()
        .map(|session| NAMES.map(|name| log(session).matches(name).count()).iter().sum::<usize>())
        .sum()
}

/// Sees every file of a folder that changes, as a dev server does.
pub struct Watcher(OwnedFd);

impl Watcher {
    /// Watches the folder of the closed files.
    pub fn start(stage: &Stage) -> Watcher {
        let watcher = inotify::init(CreateFlags::NONBLOCK).expect("watch files");
        let seen = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        inotify::add_watch(&watcher, stage.workspace.path().join("parts"), seen).expect("watch the folder");
        Watcher(watcher)
    }

    /// Returns the names of all files that came, changed or went, sorted and each once.
    pub fn names(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut reader = Reader::new(&self.0, &mut buffer);
        let mut names = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => names.extend(event.file_name().map(|name| name.to_string_lossy().into_owned())),
                Err(Errno::AGAIN) => break,
                Err(why) => panic!("read what changed: {why}"),
            }
        }
        names.sort();
        names.dedup();
        names
    }
}
