//! The review of edits: typing next to a thousand hunks, lists, decisions, a whole run, and who wrote a line.
//!
//! Asserts that the hunks are there and that the decisions were carried out. Of the edits themselves it measures only how
//! long a watcher sees files change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::watch::{FileEvent, FolderWatch};
use serde_json::{Value, json};

use super::client::{Client, Draws, Message, uri};
use super::figures::{Bench, Stage};
use super::process;
use super::samples::{Samples, ms};
use super::workspace::Workspace;

/// The files with hunks to review, and the hunks of each.
const FILES: usize = 100;
const HUNKS: usize = 10;
/// The files of one run, or of one ask, and the hunks of each.
const RUN_FILES: usize = 40;
const RUN_HUNKS: usize = 5;
/// The most calls that Adjutant runs of one reply is 64.
const CALLS: usize = 50;
/// The bytes of the large document.
const LARGE: usize = 10_000_000;
/// A typed character every so often, so that the server looks for the hunks meanwhile: it does at most ten times a second.
const KEY_EVERY: Duration = Duration::from_millis(10);
const KEYS: usize = 300;
/// Repetitions of what is not typed.
const TIMES: usize = 20;
const RUNS: usize = 5;
/// A line that the agent wrote, from zero; typing is in the line before.
const WRITTEN: u32 = 1;
const REVIEW: &str = "[edits]\nmode = \"review\"\n";

/// A workspace of files that are edited, in a folder that goes away at the end.
struct Edited {
    _folder: tempfile::TempDir,
    workspace: Workspace,
    hunks: usize,
}

impl Edited {
    /// Writes `files` files with room for `hunks` hunks. The first has `first` bytes at least.
    fn make(bench: &Bench, files: usize, hunks: usize, first: usize) -> Edited {
        let folder = tempfile::TempDir::new_in(bench.directory).expect("the directory can be written");
        let root = folder.path().join("reviewed");
        std::fs::create_dir(&root).expect("the workspace can be made");
        for file in 0..files {
            let mut text = format!("// file {file}\n");
            text.extend((0..hunks).map(|hunk| group(file, hunk, "compute")));
            let mut line = 0;
            while file == 0 && text.len() < first {
                text.push_str(&format!("    let later_{line} = compute(input[{line}], \"part\");\n"));
                line += 1;
            }
            std::fs::write(root.join(name(file)), text).expect("the workspace can be written");
        }
        let workspace = Workspace { root, read: Vec::new(), edited: name(0) };
        Edited { _folder: folder, workspace, hunks }
    }

    fn bench<'a>(&'a self, bench: &Bench<'a>) -> Bench<'a> {
        Bench { program: bench.program, directory: bench.directory, workspace: &self.workspace }
    }

    fn path(&self, file: usize) -> PathBuf {
        self.workspace.root.join(name(file))
    }

    /// Returns the reply that makes all hunks of these files, with one call for each file.
    fn edits(&self, files: std::ops::Range<usize>) -> Reply {
        let text = |file: usize, word: &str| -> String {
            (0..self.hunks).map(|hunk| group(file, hunk, word)).collect()
        };
        let reply = files.fold(Reply::text(""), |reply, file| {
            let (old, new) = (text(file, "compute"), text(file, "compute_anew"));
            reply.and_call("edit_file", json!({"path": name(file), "old_text": old, "new_text": new}))
        });
        reply.usage(1000, 200).at_once()
    }
}

fn name(file: usize) -> String {
    format!("file{file}.txt")
}

/// Returns eight lines, of which an edit changes the first.
fn group(file: usize, hunk: usize, word: &str) -> String {
    let same: String = (1..8).map(|line| format!("    let same_{file}_{hunk}_{line} = {line};\n")).collect();
    format!("    let value_{file}_{hunk} = {word}(input[{hunk}], \"part\");\n{same}")
}

/// Starts a server with a client that draws hunks.
fn stage(bench: &Bench, replies: impl IntoIterator<Item = Reply>, settings: &str) -> Stage {
    let model = ModelServer::start(replies);
    bench.stage_of(&model.base_url(), model, settings, Draws::Hunks)
}

fn done() -> Reply {
    Reply::text("Done.").at_once()
}

/// Measures typing, lists, decisions and hovers with a thousand hunks to review.
pub fn thousand(bench: &Bench, samples: &mut Samples) {
    let small = Edited::make(bench, FILES, HUNKS, 0);
    let names = Names {
        list: "list",
        typed: "typed",
        open: "undo: applyEdit",
        hover_first: "hover: first",
        hover: "hover",
        hover_typed: "hover: typed",
        why: "why",
    };
    measure(bench, &small, &names, samples);
    let large = Edited::make(bench, FILES, HUNKS, LARGE);
    let names = Names {
        list: "list 10 MB",
        typed: "typed 10 MB",
        open: "undo: applyEdit 10 MB",
        hover_first: "hover: first 10 MB",
        hover: "hover 10 MB",
        hover_typed: "hover: typed 10 MB",
        why: "why 10 MB",
    };
    measure(bench, &large, &names, samples);
}

/// The names of the samples of one workspace.
struct Names {
    list: &'static str,
    typed: &'static str,
    open: &'static str,
    hover_first: &'static str,
    hover: &'static str,
    hover_typed: &'static str,
    why: &'static str,
}

fn measure(bench: &Bench, edited: &Edited, names: &Names, samples: &mut Samples) {
    let bench = &edited.bench(bench);
    let replies = (0..FILES).step_by(CALLS).map(|first| edited.edits(first..first + CALLS));
    let mut stage = stage(bench, replies.chain([done()]), REVIEW);
    stage.run();
    let listed = list(&mut stage);
    assert_eq!(listed.1.len(), FILES * HUNKS, "every hunk waits for a review");
    samples.add(names.list, (0..TIMES).map(|_| ms(list(&mut stage).0)).collect());

    let document = edited.path(0);
    stage.client.open(&document);
    // The first look at the document is over when its hunks are drawn.
    stage.client.wait(|message| message.body["method"] == "agent/review/update");
    samples.add(names.typed, (0..KEYS).map(|_| typed(&mut stage.client, &document)).collect());

    let hunks = list(&mut stage).1;
    let of = |file: usize| -> Vec<&Value> {
        let uri = uri(&edited.path(file));
        hunks.iter().filter(|hunk| hunk["uri"] == uri.as_str()).collect()
    };
    // The first hunk is explained below.
    let open = of(0).into_iter().skip(1).map(|hunk| {
        let sent = Instant::now();
        undo(&mut stage.client, hunk);
        ms(stage.client.wait(|message| message.body["method"] == "workspace/applyEdit").at - sent)
    });
    samples.add(names.open, open.collect());
    let closed = (1..3).flat_map(&of).map(|hunk| {
        let sent = Instant::now();
        ms(undo(&mut stage.client, hunk) - sent)
    });
    samples.add("undo: closed", closed.collect());
    let text = std::fs::read_to_string(edited.path(1)).expect("the file is there");
    assert!(!text.contains("compute_anew"), "every hunk of the closed file is undone");

    // The explanations come from a server that reads the session's log first.
    let Stage { client, home, .. } = stage;
    drop(client);
    origins(bench, home.path(), edited, names, samples);
}

/// Measures hovers on a line of the first file, and `adjutant why` about it.
fn origins(bench: &Bench, home: &Path, edited: &Edited, names: &Names, samples: &mut Samples) {
    let path = &edited.path(0);
    let (mut client, _) = Client::start(bench.program, home, &bench.workspace.root);
    client.open(path);
    samples.add(names.hover_first, vec![hover(&mut client, path)]);
    samples.add(names.hover, (0..TIMES).map(|_| hover(&mut client, path)).collect());
    let after_typing = (0..TIMES).map(|_| {
        client.types(path);
        hover(&mut client, path)
    });
    samples.add(names.hover_typed, after_typing.collect());
    drop(client);
    let line = format!("{}:{}", name(0), WRITTEN + 1);
    let times =
        |arguments: &[&str]| -> Vec<f64> { (0..TIMES).map(|_| command(bench, home, arguments)).collect() };
    samples.add(names.why, times(&["why", &line]));
    samples.add("version", times(&["--version"]));
}

/// Measures the question about a reply with two hundred hunks in forty closed files.
pub fn ask(bench: &Bench, samples: &mut Samples) {
    let edited = Edited::make(bench, RUN_FILES, RUN_HUNKS, 0);
    let replies = (0..TIMES).map(|_| edited.edits(0..RUN_FILES));
    let bench = &edited.bench(bench);
    let mut stage = stage(bench, replies, "");
    stage.client.answers = false;
    let asked = (0..TIMES).map(|number| {
        stage.client.prompt(&stage.session, "Change them all.");
        let question =
            stage.client.wait(|message| message.body["method"] == "agent/session/request_permission");
        let files = &question.body["params"]["subject"]["files"];
        assert_eq!(files.as_array().map(Vec::len), Some(RUN_FILES), "one ask has all files");
        let answered = stage.model.wait_for_answered(number + 1)[number];
        stage.client.notify("agent/session/cancel", &json!({"sessionId": stage.session}));
        stage.client.wait(Message::is_idle);
        ms(question.at - answered)
    });
    samples.add("ask 200", asked.collect());
}

/// Measures how long a watcher sees a reply over forty closed files change them, and the undo of its run.
pub fn writes(bench: &Bench, samples: &mut Samples) {
    let (mut written, mut undone) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let edited = Edited::make(bench, RUN_FILES, RUN_HUNKS, 0);
        let bench = &edited.bench(bench);
        let mut stage = stage(bench, [edited.edits(0..RUN_FILES), done()], REVIEW);
        let root = &edited.workspace.root;
        written.push(seen_by_watcher(root, || stage.run()));
        undone.push(seen_by_watcher(root, || carried_out(&mut stage, false)));
    }
    samples.add("writes", written);
    samples.add("writes: undo", undone);
}

/// Returns the milliseconds between the first and the last change that a watcher sees while something is done.
fn seen_by_watcher<T>(folder: &Path, work: impl FnOnce() -> T) -> f64 {
    let watch = FolderWatch::start([folder]);
    let is_over = AtomicBool::new(false);
    let events: Vec<FileEvent> = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut events = Vec::new();
            while !is_over.load(Ordering::Acquire) {
                watch.wait(Duration::from_millis(10));
                events.extend(watch.events());
            }
            events
        });
        work();
        is_over.store(true, Ordering::Release);
        watching.join().expect("the watcher ends")
    });
    let seen: Vec<&FileEvent> = events.iter().filter(|event| !event.is_ignored()).collect();
    let names: BTreeSet<&str> = seen.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names.len(), RUN_FILES, "every file changed");
    let (first, last) = (seen.first().expect("a change"), seen.last().expect("a change"));
    ms(last.at - first.at)
}

/// Measures the preview and the undo of a run over forty closed files.
pub fn rewind(bench: &Bench, samples: &mut Samples) {
    let edited = Edited::make(bench, RUN_FILES, RUN_HUNKS, 0);
    let bench = &edited.bench(bench);
    let mut stage = stage(bench, [edited.edits(0..RUN_FILES), done()], REVIEW);
    stage.run();
    let (mut shown, mut undone) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (preview, rewind) = carried_out(&mut stage, false);
        shown.push(preview);
        undone.push(rewind);
        let text = std::fs::read_to_string(edited.path(RUN_FILES - 1)).expect("the file is there");
        assert!(!text.contains("compute_anew"), "the last file is undone");
        carried_out(&mut stage, true);
    }
    samples.add("preview", shown);
    samples.add("rewind", undone);
}

/// Undoes or restores the last run; returns the milliseconds of the preview and of the decision.
fn carried_out(stage: &mut Stage, restore: bool) -> (f64, f64) {
    let sent = Instant::now();
    let params = json!({"sessionId": stage.session, "restore": restore});
    let preview = stage.client.request("agent/review/preview", &params);
    let shown = ms(preview.at - sent);
    let preview = &preview.body["result"];
    let params = json!({
        "sessionId": stage.session, "runId": preview["runId"], "restore": restore, "expect": preview["expect"],
    });
    let sent = Instant::now();
    let done = stage.client.request("agent/review/rewind", &params);
    let hunks = done.body["result"]["hunks"].as_array().map_or(0, Vec::len);
    assert_eq!(hunks, RUN_FILES * RUN_HUNKS, "every hunk is decided: {}", done.body);
    (shown, ms(done.at - sent))
}

/// Returns the hunks that wait for a review, and the time until they were there.
fn list(stage: &mut Stage) -> (Duration, Vec<Value>) {
    let sent = Instant::now();
    let mut listed = stage.client.request("agent/review/list", &json!({}));
    let hunks = listed.body["result"]["hunks"].take();
    (listed.at - sent, hunks.as_array().cloned().unwrap_or_default())
}

/// Types a character; returns the milliseconds until the next request is answered.
fn typed(client: &mut Client, path: &Path) -> f64 {
    std::thread::park_timeout(KEY_EVERY);
    let sent = client.types(path);
    ms(client.trivial() - sent)
}

/// Undoes a hunk; returns when the answer came.
fn undo(client: &mut Client, hunk: &Value) -> Instant {
    client.passed_over();
    let params = json!({
        "sessionId": hunk["sessionId"], "action": "undo",
        "targets": [{"changeSetId": hunk["changeSetId"], "hunkIds": [hunk["hunkId"]]}],
    });
    let done = client.request("agent/review/decide", &params);
    assert_eq!(done.body["result"]["hunks"][0]["state"], "undone", "{}", done.body);
    done.at
}

/// Returns the milliseconds of a hover on a line that the agent wrote.
fn hover(client: &mut Client, path: &Path) -> f64 {
    let params = json!({"textDocument": {"uri": uri(path)}, "position": {"line": WRITTEN, "character": 4}});
    let sent = Instant::now();
    let hover = client.request("textDocument/hover", &params);
    assert!(hover.body["result"]["contents"].is_object(), "the line is explained: {}", hover.body);
    ms(hover.at - sent)
}

/// Returns the milliseconds of one run of the program.
fn command(bench: &Bench, home: &Path, arguments: &[&str]) -> f64 {
    let mut command = Command::new(bench.program);
    process::at_home(&mut command, home)
        .args(arguments)
        .current_dir(&bench.workspace.root)
        .stdin(Stdio::null());
    let sent = Instant::now();
    let output = command.output().expect("the program starts");
    let took = ms(sent.elapsed());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let is_why = arguments[0] == "why";
    assert!(!is_why || String::from_utf8_lossy(&output.stdout).contains("bench/scripted"), "{output:?}");
    took
}
