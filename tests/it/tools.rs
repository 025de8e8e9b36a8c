//! Tools through the whole loop: the outputs of wrong calls, of commands, and of calls with too much output.
//!
//! Starts real processes; none outlives its test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use adjutant_protocol::ask::{AskKind, AskSubject};
use adjutant_protocol::state::{Outcome, StopReason};
use adjutant_protocol::update::ToolStatus;
use adjutant_testkit::editor::{Answer, Place};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::rig::session_dir;
use super::stage::{Stage, write};

const FILES: &str = "
    //- /a.txt
    one
    two
    //- /sub/b.txt
    b
";

fn run(command: &str) -> Reply {
    Reply::call("run_command", json!({"command": command}))
}

#[test]
fn s43_calls_that_make_no_sense_are_answered_and_the_run_goes_on() {
    let stage = Stage::new(FILES).answering("allow");
    let big = "x".repeat(1024 * 1024 + 1);
    let raw = |name: &str, arguments: &str| Reply::text("").and_raw_call(name, arguments);
    let outputs = stage.play([
        raw("read_fil", "{\"path\": \"a.txt\"}"),
        raw("read_file", "{\"path\": \"a.txt\", \"lines\": 3}"),
        raw("read_file", "{\"path\": 7}"),
        raw("read_file", "{\"path\": \"a.txt\", \"limit\": -1}"),
        raw("read_file", "{\"path\": \"a.txt\", \"path\": \"sub/b.txt\"}"),
        raw("read_file", "[\"a.txt\"]"),
        raw("read_file", "{\"path\": \"a.txt\""),
        raw("read_file", ""),
        raw("read_file", &json!({"path": "a.txt", "x": big}).to_string()),
        raw("edit_file", "{\"path\": \"a.txt\", \"old_text\": \"\", \"new_text\": \"x\"}"),
        raw("run_command", "{\"command\": \"echo \\u202e hidden\"}"),
        raw("run_command", "{\"command\": \"true\", \"timeout_seconds\": 0}"),
        raw("write_file", "{\"path\": \"a.txt\"}"),
        Reply::call("read_file", json!({"path": "a.txt"})),
    ]);
    let parts = [
        "there is no tool `read_fil`; the tools are read_file",
        "read_file has no argument `lines`; it takes {\"path\", \"offset\"?, \"limit\"?, \"line_numbers\"?}",
        "`path` of read_file must be a string, and 7 was found",
        "`limit` of read_file must be a whole number from 1 to",
        "the key `path` comes twice",
        "are not one JSON object",
        "are not one JSON object",
        "are not one JSON object",
        "and at most 1048576 are taken",
        "`old_text` of edit_file is empty",
        "cannot be shown to the user faithfully",
        "`timeout_seconds` of run_command must be a whole number from 1 to 3600",
        "write_file needs the argument `content`",
    ];
    assert_eq!(outputs.len(), parts.len() + 1);
    for (output, part) in outputs.iter().zip(parts) {
        assert!(output.contains(part), "{output:?} has no {part:?}");
        assert!(output.len() < 1_000, "{} bytes for {part:?}", output.len());
    }
    assert_eq!(outputs[parts.len()], "one\ntwo\n");
    assert!(stage.asks().is_empty(), "no call asked the user");
    assert_eq!(stage.workspace.read("a.txt"), "one\ntwo\n");
}

#[test]
fn s26_failed_calls_in_a_row_end_the_run_and_a_good_one_forgives() {
    let stage = Stage::configured(Workspace::new(FILES), "", |options| options);
    let bad = || Reply::call("read_file", json!({"path": "missing.txt"}));
    let good = || Reply::call("read_file", json!({"path": "a.txt"}));
    let first = stage.send([bad(), bad(), good(), bad(), bad(), good()]);
    assert_eq!(stage.rig.await_run_end(&stage.session, &first).outcome, Outcome::Stopped);
    let second = stage.send([bad(), bad(), bad(), good()]);
    let end = stage.rig.await_run_end(&stage.session, &second);
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Limit, StopReason::Mistakes));
    assert_eq!(stage.rig.await_ask().kind, AskKind::MistakeLimitReached);
}

#[test]
fn s44_a_command_gives_its_code_and_its_output() {
    let stage = Stage::new(FILES).answering("allow");
    let outputs = stage.play([run("cat a.txt; echo oh >&2; exit 3"), run("cd sub && pwd"), run("true")]);
    assert!(outputs[0].starts_with("exit code 3 after "), "{outputs:?}");
    assert!(outputs[0].ends_with("\none\ntwo\noh\n"), "{outputs:?}");
    let sub = stage.workspace.path().join("sub");
    assert!(outputs[1].ends_with(&format!("\n{}\n", sub.display())), "{outputs:?}");
    assert!(outputs[2].ends_with("\n[no output]"), "{outputs:?}");
    let ask = stage.asks().remove(0);
    assert_eq!(ask.kind, AskKind::Command);
    let command = "cat a.txt; echo oh >&2; exit 3".to_owned();
    let cwd = stage.workspace.path().display().to_string();
    assert_eq!(
        ask.subject,
        Some(AskSubject::Command { command, cwd, timeout_seconds: Some(120), unsaved: Vec::new() })
    );
    let streamed = stage.rig.update_kinds().iter().filter(|kind| **kind == "tool_call_content_chunk").count();
    assert!(streamed >= 2, "the output is published while the command runs");
}

#[test]
fn s44_ten_megabytes_are_bounded_for_the_model_and_whole_on_disk() {
    let stage = Stage::new(FILES).answering("allow");
    let outputs = stage.play([run(
        "i=0; while [ $i -lt 10 ]; do head -c 1048576 /dev/zero | tr '\\0' x; i=$((i+1)); done; echo end",
    )]);
    assert!(outputs[0].len() < 64 * 1024, "{} bytes", outputs[0].len());
    assert!(outputs[0].ends_with("end\n"), "the end of the output is kept");
    let (_, rest) =
        outputs[0].split_once("whole output in ").expect("the output names the file with the whole output");
    let whole = PathBuf::from(rest.split_once(" ...]").unwrap().0);
    assert!(whole.starts_with(session_dir(&stage.workspace, &stage.session)), "{whole:?}");
    let bytes = fs::read(&whole).unwrap();
    assert_eq!(bytes.len(), 10 * 1024 * 1024 + 4);
    assert_eq!(fs::metadata(&whole).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(whole.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    // The model can read the named file, because it asks like for any file outside the workspace.
    let output = stage.call("read_file", json!({"path": whole, "limit": 1}));
    assert!(output.contains("[cut, the line has"), "{}", &output[..200.min(output.len())]);
}

#[test]
fn s44_a_command_is_stopped_at_its_limit_with_all_it_started() {
    let stage = Stage::new(FILES).answering("allow");
    let output = stage.call(
        "run_command",
        json!({"command": "echo $$ > pids; sleep 300 & echo $! >> pids; wait", "timeout_seconds": 1}),
    );
    assert!(output.starts_with("stopped after 1."), "{output}");
    assert!(output.contains("its time limit of 1 s was over; give a larger timeout_seconds"), "{output}");
    assert_eq!(stage.status(), Some(ToolStatus::Failed));
    let output = stage.call("run_command", json!({"command": "sleep 300 & echo $! >> pids; echo bye"}));
    assert!(output.contains("1 process still running in the background were stopped"), "{output}");
    assert!(output.contains("\nbye\n"), "{output}");
    let pids = stage.workspace.read("pids");
    assert_eq!(pids.lines().count(), 3);
    for pid in pids.lines() {
        assert!(!lives(pid), "process {pid} is left");
    }
}

/// Whether a process runs; a zombie does not.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])))
}

#[test]
fn s91_a_cancel_ends_the_command_with_its_tree() {
    let stage = Stage::new(FILES).answering("allow");
    let run = stage.send([run("echo $$ > pids; sleep 300 & echo $! >> pids; echo started; wait")]);
    stage.rig.await_update(|params| params.update.kind() == "tool_call_content_chunk");
    stage.rig.cancel_run(&stage.session);
    assert_eq!(stage.rig.await_run_end(&stage.session, &run).outcome, Outcome::Cancelled);
    let pids = stage.workspace.read("pids");
    assert_eq!(pids.lines().count(), 2);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while pids.lines().any(lives) {
        assert!(std::time::Instant::now() < deadline, "left: {pids}");
        std::thread::yield_now();
    }
}

#[test]
fn n06_a_command_that_sees_older_text_says_so() {
    let stage = Stage::new(FILES).answering("allow");
    stage.rig.open("a.txt");
    stage.rig.open("sub/b.txt");
    // A buffer without a file has no text on disk.
    let scratch = json!({"uri": "untitled:Untitled-1", "languageId": "plaintext", "version": 1, "text": "x"});
    stage.rig.notify("textDocument/didOpen", json!({"textDocument": scratch}));
    let outputs = stage.play([run("cat a.txt")]);
    assert!(!outputs[0].contains("unsaved"), "{outputs:?}");
    stage.rig.type_at("a.txt", Place::End, "three\n");
    let outputs = stage.play([run("cat a.txt")]);
    let note = "[unsaved in the editor, so the command saw an older text on disk: a.txt]";
    assert!(outputs[0].contains(note) && outputs[0].ends_with("\none\ntwo\n"), "{outputs:?}");
    assert!(stage.rig.await_message().contains("saw a.txt as it was saved last"));
    // An edit of the agent also counts as unsaved if the same document has unsaved text of the user.
    stage.rig.type_at("sub/b.txt", Place::End, "mine\n");
    let outputs = stage.play([write("sub/b.txt", "c\n"), run("cat sub/b.txt")]);
    assert!(outputs[1].contains("older text on disk: a.txt, sub/b.txt]"), "{outputs:?}");
    assert!(stage.rig.await_message().contains("saw a.txt, sub/b.txt as they were saved last"));
    stage.rig.save("a.txt");
    stage.rig.save("sub/b.txt");
    let outputs = stage.play([run("cat a.txt sub/b.txt")]);
    assert!(!outputs[0].contains("unsaved") && outputs[0].ends_with("three\nc\n"), "{outputs:?}");
}

#[test]
fn s56_a_command_has_no_key_no_input_and_no_terminal() {
    // The name of this variable looks harmless, so a command would get it. But the settings name it for a key.
    let workspace = Workspace::new(FILES);
    let variable = "CARGO_MANIFEST_DIR";
    assert!(std::env::var_os(variable).is_some(), "cargo sets {variable}");
    let config =
        format!("[providers.other]\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"{variable}\"\n");
    let stage = Stage::configured(workspace, &config, |options| options).answering("allow");
    let outputs = stage.play([run("env"), run("cat; echo $?; tty; read x; echo $?")]);
    for line in outputs[0].lines() {
        let name = line.split('=').next().unwrap_or_default();
        // `ADJUTANT_CALL` marks the processes of the command. No other variable of Adjutant may be there.
        let of_adjutant = name.starts_with("ADJUTANT_") && name != "ADJUTANT_CALL";
        assert!(name != variable && !of_adjutant && !name.contains("TOKEN"), "{line}");
    }
    assert!(outputs[0].contains("\nTERM=dumb\n") && outputs[0].contains("\nPATH="), "{}", outputs[0]);
    assert!(outputs[1].ends_with("\n0\nnot a tty\n1\n"), "{}", outputs[1]);
}

#[test]
fn s52_always_for_a_command_is_that_line_in_that_directory() {
    let stage = Stage::new(FILES);
    stage.rig.answer_next(Answer::option("allow_always"));
    stage.rig.on_ask(|_| Answer::OptionWithText("reject".to_owned(), "not that".to_owned()));
    let at = |command: &str, cwd: &str| Reply::call("run_command", json!({"command": command, "cwd": cwd}));
    let outputs = stage.play([
        run("echo hi"),
        run("echo hi"),
        at("echo hi", "."),
        run("echo hi "),
        run("echo hi; echo ho"),
        at("echo hi", "sub"),
    ]);
    for output in &outputs[..3] {
        assert!(output.ends_with("\nhi\n"), "{output}");
    }
    for output in &outputs[3..] {
        assert_eq!(output, "The user rejected this and says: not that");
    }
    assert_eq!(stage.asks().len(), 4);
}

#[test]
fn s54_a_command_whose_directory_was_exchanged_is_not_run() {
    let stage = Stage::new(FILES);
    let run = stage.send([Reply::call("run_command", json!({"command": "touch made", "cwd": "sub"}))]);
    let ask = stage.rig.await_ask();
    let root = stage.workspace.path();
    fs::rename(root.join("sub"), root.join("old")).unwrap();
    fs::create_dir(root.join("sub")).unwrap();
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("changed since this was allowed; call again"), "{outputs:?}");
    assert!(!stage.workspace.exists("sub/made") && !stage.workspace.exists("old/made"));
}

#[test]
fn s53_a_command_outside_the_workspace_or_forbidden_by_a_rule_is_not_asked_for() {
    let config = "[limits]\nmistakes = 50\n[permissions]\ndeny = [\"run_command(rm *)\", \"edit_file(*.lock)\", \"write_file\"]";
    let stage = Stage::configured(Workspace::new(FILES), config, |options| options).answering("allow");
    stage.workspace.write("x.lock", "locked\n");
    let outputs = stage.play([
        Reply::call("run_command", json!({"command": "pwd", "cwd": "/"})),
        Reply::call("run_command", json!({"command": "pwd", "cwd": "missing"})),
        Reply::call("run_command", json!({"command": "pwd", "cwd": "/etc/passwd/x"})),
        Reply::call("run_command", json!({"command": "pwd", "cwd": "/etc/nope/x"})),
        run("rm a.txt"),
        super::stage::edit("x.lock", "locked", "open"),
        write("new.txt", "x"),
    ]);
    assert!(outputs[0].contains("outside the workspace; commands run inside it"), "{outputs:?}");
    assert!(outputs[1].contains("missing"), "{outputs:?}");
    // The output does not say whether such a place exists.
    assert_eq!(outputs[2].replace("/etc/passwd/x", "/etc/nope/x"), outputs[3]);
    for output in &outputs[4..] {
        assert!(output.starts_with("Denied: the rule \""), "{output}");
    }
    assert!(stage.asks().is_empty() && stage.workspace.exists("a.txt") && !stage.workspace.exists("new.txt"));
    assert_eq!(stage.status(), Some(ToolStatus::Denied));
}
