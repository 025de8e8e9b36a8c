//! Files that change behind the agent: its edits take the present text, and it hears of each change once.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::update::Update;
use adjutant_protocol::{SessionId, methods};
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::rig::{Rig, facts_named, tool_outputs};

/// Nine lines, too far from each other at the ends to be one hunk.
const TEXT: &str = "one = 1\n.\n.\n.\nfive = 5\n.\n.\n.\nnine = 9\n";
const AUTO: &str = "[edits]\nmode = \"auto\"\n";

/// What happens while the model thinks, and then its reply.
type Turn = (Box<dyn FnMut() + Send>, Reply);

fn then(act: impl FnMut() + Send + 'static, reply: Reply) -> Turn {
    (Box::new(act), reply)
}

fn calm(reply: Reply) -> Turn {
    then(|| {}, reply)
}

fn read(path: &str) -> Reply {
    Reply::call("read_file", json!({"path": path}))
}

fn edit(path: &str, old: &str, new: &str) -> Reply {
    Reply::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
}

fn write(path: &str, text: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": text}))
}

/// A model that plays turns, and says "Done." after them.
fn playing(turns: Vec<Turn>) -> ModelServer {
    let (mut turns, at) = (turns, Arc::new(AtomicUsize::new(0)));
    ModelServer::answering(move |_| match turns.get_mut(at.fetch_add(1, Ordering::SeqCst)) {
        Some((act, reply)) => {
            act();
            reply.clone()
        }
        None => Reply::text("Done."),
    })
}

struct Stage {
    rig: Rig,
    model: ModelServer,
    workspace: Workspace,
    session: SessionId,
}

/// A workspace with `a.txt`, and a way to write it behind everyone's back.
fn workspace() -> (Workspace, impl Fn(&str, &str) + Clone + Send + 'static) {
    let workspace = Workspace::new(&format!("//- /a.txt\n{TEXT}//- /b.txt\nb\n//- /c.txt\nc\n"));
    let folder = workspace.path().to_owned();
    let outside =
        move |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("it is written");
    (workspace, outside)
}

impl Stage {
    fn of(workspace: Workspace, settings: &str, turns: Vec<Turn>) -> Stage {
        let model = playing(turns);
        workspace.openai(&model.base_url()).add_config(settings);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        Stage { rig, model, workspace, session }
    }

    fn run(&self) {
        let run = self.rig.prompt(&self.session, "go on").run_id;
        self.rig.await_run_end(&self.session, &run);
    }

    /// Returns the outputs of all calls.
    fn outputs(&self) -> Vec<String> {
        tool_outputs(self.model.requests().last().expect("a request"))
    }

    /// Returns the lines that tell the model of changes from outside, in its last request.
    fn notes(&self) -> Vec<String> {
        let body = self.model.requests().last().expect("a request").json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let texts = messages.iter().filter(|message| message["role"] == "user").flat_map(texts);
        texts.filter(|text| text.starts_with("[note]")).collect()
    }

    fn notices(&self) -> Vec<String> {
        let notices = self.rig.updates().into_iter().filter_map(|update| match update.update {
            Update::Notice { message } => Some(message),
            _ => None,
        });
        notices.collect()
    }

    /// Ends the server. The user has read the notices, each also as a message.
    fn end(self) {
        for notice in self.notices() {
            assert_eq!(self.rig.await_message(), format!("Adjutant: {notice}"));
        }
        self.rig.end();
    }
}

/// Returns the texts of a message: one, or one for each part.
fn texts(message: &Value) -> Vec<String> {
    match &message["content"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            parts.iter().filter_map(|part| Some(part["text"].as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn n14_an_edit_far_from_an_outside_change_applies_and_loses_nothing_of_it() {
    let (workspace, outside) = workspace();
    let changed = format!("zero\r\n{}", TEXT.replace("five = 5", "five = five"));
    let change = {
        let changed = changed.clone();
        move || outside("a.txt", &changed)
    };
    let turns = vec![calm(read("a.txt")), then(change, edit("a.txt", "nine = 9", "nine = IX"))];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    assert_eq!(stage.workspace.read("a.txt"), changed.replace("nine = 9", "nine = IX"));
    assert_eq!(stage.outputs()[1], "Edited a.txt: +1 -1 lines.");
    stage.end();
}

#[test]
fn n14_an_edit_inside_an_outside_change_fails_with_the_lines_of_now_and_works_after_a_read() {
    let (workspace, outside) = workspace();
    let changed = TEXT.replace("five = 5\n", "five = 5 # the user's\nuser\n");
    let change = {
        let changed = changed.clone();
        move || outside("a.txt", &changed)
    };
    let turns = vec![
        calm(read("a.txt")),
        then(change, edit("a.txt", "five = 5", "five = V")),
        calm(read("a.txt")),
        calm(edit("a.txt", "five = 5", "five = V")),
    ];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    let outputs = stage.outputs();
    let why = "\"a.txt\" was not changed: this edit is inside what changed since you read the file; these lines are new. \
               Read the file again, then edit it:\n5\tfive = 5 # the user's";
    assert_eq!(outputs[1], why);
    assert_eq!(outputs[3], "Edited a.txt: +1 -1 lines.");
    assert_eq!(stage.workspace.read("a.txt"), changed.replace("five = 5", "five = V"));
    stage.end();
}

#[test]
fn n14_a_quoted_part_of_a_line_is_replaced_and_what_others_wrote_in_the_line_stays() {
    let (workspace, outside) = workspace();
    let changed = format!("zero\n{TEXT}").replace("five = 5", "let five = 5 # the user's");
    let change = {
        let changed = changed.clone();
        move || outside("a.txt", &changed)
    };
    let turns = vec![
        calm(read("a.txt")),
        then(
            change,
            edit("a.txt", "five = 5", "five = V").and_call(
                "edit_file",
                json!({"path": "a.txt", "old_text": "nine = 9", "new_text": "nine = IX"}),
            ),
        ),
        // It has not seen the line by that.
        calm(write("a.txt", "new\n")),
    ];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    let outputs = stage.outputs();
    assert!(outputs[1..3].iter().all(|output| output.starts_with("Edited a.txt")), "{outputs:?}");
    assert!(
        outputs[3].contains("changed since the agent read it") && outputs[3].contains("nothing was written"),
        "{outputs:?}"
    );
    let text = changed.replace("= 5", "= V").replace("nine = 9", "nine = IX");
    assert_eq!(stage.workspace.read("a.txt"), text);
    stage.end();
}

#[test]
fn n14_a_quoted_part_is_not_replaced_where_it_may_be_another() {
    let (workspace, outside) = workspace();
    let changed = TEXT.replace("five = 5", "five = 0").replace("nine = 9", "nine = five = 5");
    let change = {
        let changed = changed.clone();
        move || outside("a.txt", &changed)
    };
    let turns = vec![calm(read("a.txt")), then(change, edit("a.txt", "five = 5", "five = V"))];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    let why = "these lines are new, and the quoted text may have been in another line that is gone";
    assert!(stage.outputs()[1].contains(why), "{:?}", stage.outputs());
    assert_eq!(stage.workspace.read("a.txt"), changed);
    stage.end();
}

#[test]
fn n14_the_question_says_that_the_line_changed_since_it_was_read() {
    let (workspace, outside) = workspace();
    let change = move || outside("a.txt", &TEXT.replace("five = 5", "five = 5 # mine"));
    let turns = vec![calm(read("a.txt")), then(change, edit("a.txt", "five = 5", "five = V"))];
    let stage = Stage::of(workspace, "[edits]\nmode = \"ask\"\n", turns);
    let run = stage.rig.prompt(&stage.session, "go on").run_id;
    let ask = stage.rig.await_ask_of(AskKind::Tool);
    let why = ask.description.expect("a reason");
    let said = "\"a.txt\" changed since the agent read it, also in line 5: this replaces only the part that it quoted; ";
    assert!(why.starts_with(said), "{why}");
    stage.rig.answer(&ask.ask_id, "allow");
    stage.rig.await_run_end(&stage.session, &run);
    assert_eq!(stage.workspace.read("a.txt"), TEXT.replace("five = 5", "five = V # mine"));
    stage.end();
}

#[test]
fn n14_the_same_text_in_another_place_is_not_edited_unread() {
    let (workspace, outside) = workspace();
    let changed = TEXT.replace("five = 5", "five = 0") + "else:\n    five = 5\n";
    let change = {
        let changed = changed.clone();
        move || outside("a.txt", &changed)
    };
    let turns = vec![calm(read("a.txt")), then(change, edit("a.txt", "five = 5", "five = V"))];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    assert!(stage.outputs()[1].contains("inside what changed since you read"), "{:?}", stage.outputs());
    assert_eq!(stage.workspace.read("a.txt"), changed);
    stage.end();
}

#[test]
fn n14_a_whole_file_is_replaced_only_where_all_of_it_was_read_or_the_user_is_asked() {
    let (workspace, outside) = workspace();
    let changed = format!("{TEXT}user\n");
    let change = {
        let changed = changed.clone();
        move || outside("a.txt", &changed)
    };
    let turns = vec![
        calm(read("a.txt").and_call("write_file", json!({"path": "b.txt", "content": "new\n"}))),
        then(change, write("a.txt", "new\n")),
        calm(read("a.txt").and_call("read_file", json!({"path": "b.txt"}))),
        calm(write("a.txt", "new\n").and_call("write_file", json!({"path": "b.txt", "content": "new\n"}))),
        // What it wrote itself, it knows.
        calm(write("a.txt", "newer\n")),
    ];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    let outputs = stage.outputs();
    let never = "\"b.txt\" has text that the agent has not read, and this replaces line 1 of it, so nothing was written. \
                 Read the file, then write it again";
    let changed = "\"a.txt\" changed since the agent read it, and this replaces lines 1-10 of it, so nothing was \
                   written. Read the file, then write it again";
    assert_eq!((outputs[1].as_str(), outputs[2].as_str()), (never, changed));
    assert!(outputs[5..].iter().all(|output| output.starts_with("Edited ")), "{outputs:?}");
    assert_eq!(
        (stage.workspace.read("a.txt"), stage.workspace.read("b.txt")),
        ("newer\n".into(), "new\n".into())
    );
    let asks = facts_named(&stage.workspace, &stage.session, "ask_opened");
    assert!(asks.iter().all(|event| event["ask"]["kind"] != "tool"), "{asks:?}");
    stage.end();
}

#[test]
fn n14_lines_that_the_user_deleted_do_not_come_back_with_a_whole_text() {
    let (workspace, outside) = workspace();
    let fewer = TEXT.replace("five = 5\n", "");
    let change = {
        let fewer = fewer.clone();
        move || outside("a.txt", &fewer)
    };
    let whole = format!("{TEXT}eleven = 11\n");
    let turns = vec![calm(read("a.txt")), then(change, write("a.txt", &whole))];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    let outputs = stage.outputs();
    assert!(outputs[1].contains("changed since the agent read it"), "{outputs:?}");
    assert_eq!(stage.workspace.read("a.txt"), fewer);
    stage.end();
}

#[test]
fn n14_where_edits_are_asked_the_question_says_that_the_file_changed() {
    let (workspace, outside) = workspace();
    let change = move || outside("a.txt", &format!("{TEXT}user\n"));
    let turns = vec![calm(read("a.txt")), then(change, write("a.txt", "new\n"))];
    let stage = Stage::of(workspace, "[edits]\nmode = \"ask\"\n", turns);
    let run = stage.rig.prompt(&stage.session, "go on").run_id;
    let ask = stage.rig.await_ask_of(AskKind::Tool);
    let why = ask.description.expect("a reason");
    assert!(
        why.starts_with("\"a.txt\" changed since the agent read it, and this replaces lines 1-10 of it"),
        "{why}"
    );
    stage.rig.answer(&ask.ask_id, "reject");
    stage.rig.await_run_end(&stage.session, &run);
    assert_eq!(stage.workspace.read("a.txt"), format!("{TEXT}user\n"));
    stage.end();
}

#[test]
fn n14_what_was_read_is_known_after_a_restart_and_typing_counts_as_a_change() {
    let (workspace, _) = workspace();
    let turns = vec![
        calm(read("a.txt")),
        calm(Reply::text("Read.")),
        calm(edit("a.txt", "five = 5", "five = V").and_call(
            "edit_file",
            json!({"path": "a.txt", "old_text": "nine = 9", "new_text": "nine = IX"}),
        )),
    ];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    let Stage { rig, model, workspace, session } = stage;
    rig.end();
    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    rig.replace("a.txt", "five = 5", "five = 5, typed\nand more");
    let stage = Stage { rig, model, workspace, session };
    stage.run();
    let outputs = stage.outputs();
    assert!(outputs[1].contains("inside what changed since you read the file"), "{outputs:?}");
    assert!(outputs[2].starts_with("Edited a.txt: +1 -1 lines."), "{outputs:?}");
    let text = TEXT.replace("five = 5", "five = 5, typed\nand more").replace("nine = 9", "nine = IX");
    assert_eq!(stage.rig.text_of("a.txt"), text);
    let note = "[note] 1 file that you read has changed since: a.txt. Read it again before you edit it.";
    assert_eq!(stage.notes(), [note]);
    // The user sees what is in the editor.
    assert_eq!(stage.notices(), [""; 0]);
    stage.end();
}

#[test]
fn n17_each_outside_change_is_told_once_and_so_is_its_end() {
    let (workspace, outside) = workspace();
    let (gone, back) = (workspace.path().join("c.txt"), outside.clone());
    let change = move || {
        outside("b.txt", "x\n");
        std::fs::remove_file(&gone).expect("it is removed");
    };
    let turns = vec![
        calm(
            read("a.txt")
                .and_call("read_file", json!({"path": "b.txt"}))
                .and_call("read_file", json!({"path": "c.txt"})),
        ),
        // An edit of its own is none.
        then(change, edit("a.txt", "nine = 9", "nine = IX")),
        then(move || back("b.txt", "b\n"), read("a.txt")),
        calm(read("a.txt")),
    ];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    stage.run();
    let told = "[note] 2 files that you read have changed since: b.txt, c.txt (gone). Read them again before you edit them.";
    assert_eq!(stage.notes(), [told, "[note] As you read it again has: b.txt."]);
    assert_eq!(
        stage.notices(),
        ["2 files changed since the agent read them: b.txt, c.txt (gone). The agent is told."]
    );
    assert_eq!(facts_named(&stage.workspace, &stage.session, "outside_changed").len(), 2);
    stage.end();
}

#[test]
fn n17_what_a_command_of_the_agent_changed_is_told_to_the_model_alone() {
    let (workspace, _) = workspace();
    let turns =
        vec![calm(read("b.txt")), calm(Reply::call("run_command", json!({"command": "echo more >> b.txt"})))];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.rig.on_ask(|_| adjutant_testkit::editor::Answer::option("allow"));
    stage.run();
    let note = "[note] 1 file that you read has changed since: b.txt. Read it again before you edit it.";
    assert_eq!(stage.notes(), [note]);
    assert_eq!(stage.notices(), [""; 0]);
    stage.end();
}

/// Runs git in a folder.
fn git(folder: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
    }
    let output = git.args(args).current_dir(folder).stdin(Stdio::null()).output();
    let output = output.expect("git is installed: tests/run installs it");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn n17_a_branch_switch_under_a_running_agent_is_named_to_the_user_and_the_model_which_reads_again() {
    let (workspace, outside) = workspace();
    let folder = workspace.path().to_owned();
    git(&folder, &["init", "-q", "-b", "main"]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "first"]);
    git(&folder, &["checkout", "-qb", "other"]);
    outside("a.txt", "of the other branch\n");
    outside("b.txt", "B\n");
    git(&folder, &["commit", "-qam", "second"]);
    git(&folder, &["checkout", "-q", "main"]);
    let switch = {
        let folder = folder.clone();
        move || git(&folder, &["checkout", "-q", "other"])
    };
    let detach = move || git(&folder, &["checkout", "-q", "--detach"]);
    let turns = vec![
        calm(
            read("a.txt")
                .and_call("read_file", json!({"path": "b.txt"}))
                .and_call("read_file", json!({"path": "c.txt"})),
        ),
        then(switch, edit("a.txt", "five = 5", "five = V")),
        calm(read("a.txt").and_call("read_file", json!({"path": "b.txt"}))),
        calm(edit("a.txt", "other", "present")),
        then(detach, read("c.txt")),
    ];
    let stage = Stage::of(workspace, AUTO, turns);
    stage.run();
    let notes = stage.notes();
    let told = "[note] The branch is now \"other\". 2 files that you read have changed since: a.txt, b.txt. Read them again \
                before you edit them.";
    assert_eq!((notes.len(), notes[0].as_str()), (2, told), "{notes:?}");
    assert!(notes[1].starts_with("[note] Now commit "), "{notes:?}");
    assert!(
        notes[1]
            .ends_with(" is checked out, without a branch. No other file that you read has changed since.")
    );
    let notices = stage.notices();
    let notice = "The branch is now \"other\"; 2 files changed since the agent read them: a.txt, b.txt. The agent is told.";
    assert_eq!((notices.len(), notices[0].as_str()), (2, notice), "{notices:?}");
    assert_eq!(stage.workspace.read("a.txt"), "of the present branch\n");
    stage.end();
}

/// What Neovim shows for a file that is not there yet. Told that it is gone, a model would read it again and again.
#[test]
fn n17_a_new_file_that_is_open_and_empty_is_not_gone() {
    for text in ["", "\n"] {
        let (workspace, _) = workspace();
        let turns = vec![
            calm(read("new.py")),
            calm(read("new.py")),
            calm(Reply::text("Seen.")),
            calm(write("new.py", "y = 1\n")),
        ];
        let stage = Stage::of(workspace, AUTO, turns);
        stage.rig.edit(|buffers| buffers.open_unsaved("new.py", text));
        stage.run();
        assert_eq!((stage.notices(), stage.notes()), (Vec::new(), Vec::new()), "{text:?}");
        stage.run();
        assert_eq!(stage.rig.text_of("new.py"), "y = 1\n", "{:?}", stage.outputs());
        stage.end();
    }
}

/// A client that watches files reports them while the model still answers: the user hears of it before the reply.
/// Changes a file that the agent has read while the model answers, and lets the editor report it in its way. Both hear of it once.
#[track_caller]
fn told_while_the_model_answers(report: impl Fn(&Stage)) {
    let (workspace, outside) = workspace();
    let (wrote, has_written) = channel();
    let (go_on, may_go_on) = channel();
    let change = move || {
        outside("b.txt", "x\n");
        wrote.send(()).expect("the test waits");
        may_go_on.recv_timeout(Duration::from_secs(10)).expect("the notice comes before the reply");
    };
    let turns = vec![calm(read("b.txt")), then(change, read("c.txt"))];
    let model = playing(turns);
    workspace.openai(&model.base_url()).add_config(AUTO);
    let mut options = Options::new(&workspace);
    let watching = json!({"didChangeWatchedFiles": {"dynamicRegistration": true}});
    options.capabilities.extra = json!({"workspace": watching});
    let rig = Rig::start_with(&workspace, options);
    let session = rig.new_session();
    let stage = Stage { rig, model, workspace, session };
    wait_until("the files are watched", || stage.rig.seen().contains("workspace/didChangeWatchedFiles"));
    let run = stage.rig.prompt(&stage.session, "go on").run_id;
    has_written.recv_timeout(Duration::from_secs(10)).expect("the file is written");
    report(&stage);
    let told = "1 file changed since the agent read it: b.txt. The agent is told.";
    stage.rig.await_update(|params| matches!(&params.update, Update::Notice { message } if message == told));
    go_on.send(()).expect("the model waits");
    stage.rig.await_run_end(&stage.session, &run);
    // Neither of them hears of it again.
    let note = "[note] 1 file that you read has changed since: b.txt. Read it again before you edit it.";
    assert_eq!((stage.notes(), stage.notices()), (vec![note.to_owned()], vec![told.to_owned()]));
    assert_eq!(facts_named(&stage.workspace, &stage.session, "outside_changed").len(), 1);
    stage.end();
}

#[test]
fn n17_an_outside_change_is_told_while_the_model_answers() {
    told_while_the_model_answers(|stage| {
        let changes = json!([{"uri": stage.workspace.uri("b.txt"), "type": 2}]);
        for _ in 0..3 {
            stage.rig.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
        }
    });
}

/// The corpus line os-009: 100 000 reports.
#[test]
fn os_009_a_storm_of_reports_is_one_look_and_stops_nobody() {
    told_while_the_model_answers(|stage| {
        let others =
            (0..499).map(|number| json!({"uri": stage.workspace.uri(&format!("gone/{number}")), "type": 1}));
        let known = json!({"uri": stage.workspace.uri("b.txt"), "type": 2});
        let changes: Vec<Value> = others.chain([known]).collect();
        for _ in 0..200 {
            stage.rig.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
        }
        // Whoever asks meanwhile gets an answer.
        let listed: Value = stage.rig.call(methods::REVIEW_LIST, json!({}));
        assert_eq!(listed["hunks"], json!([]));
    });
}
