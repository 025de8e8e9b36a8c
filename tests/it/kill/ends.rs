//! An editor that disconnects, a terminal that closes, a server that is killed during a run: the commands end,
//! and the run can continue.
//!
//! Never picks a moment by time: commands wait at a gate until the test opens it.

use std::fs::OpenOptions;
use std::time::Instant;

use adjutant_core::machine::retry::FailureClass;
use adjutant_core::record::{CallEnd, Event, Record};
use adjutant_protocol::ask::{AskKind, RespondStatus};
use adjutant_protocol::session::{Disposition, ReplayFrom};
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::{AskChange, Update};
use adjutant_protocol::{AskId, RunId, SessionId};
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::{Answer, Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{MARK, Server, wait_until};
use rustix::process::Signal;
use serde_json::json;

use super::story::{BINARY, calls, facts, only_session, ran_once};

/// A command with a child process that waits at the gate of the test and then writes a line.
const AT_GATE: &str = "(read word < gate; echo through >> ledger) | cat";
/// The fewest processes of that command: the shell, its subshell, and the reader of the pipe.
const AT_LEAST: usize = 3;

/// Returns a script that runs the command, runs it again if it was interrupted, and ends.
fn at_gate() -> String {
    let turn = "repeat_on = [\"Interrupted\"]\n[[turn.call]]\ntool = \"run_command\"";
    format!(
        "[[turn]]\ntext = \"I go to the gate.\"\n{turn}\narguments = {{ command = \"{AT_GATE}\" }}\n\
         [[turn]]\ntext = \"I am through.\"\n"
    )
}

/// Returns a workspace with a gate: a process that reads it waits until the test opens it.
fn gated() -> Workspace {
    let workspace = Workspace::new("//- /a.txt\none\n");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        workspace.path().join("gate"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap_or_else(|error| panic!("make the gate: {error}"));
    workspace.script(&at_gate());
    workspace
}

/// Lets one waiting process through the gate.
fn open_gate(workspace: &Workspace) -> std::fs::File {
    // Opens it for reading too, because opening it only for writing would wait for a reader.
    let gate = OpenOptions::new().read(true).write(true).open(workspace.path().join("gate"));
    let mut gate = gate.unwrap_or_else(|error| panic!("open the gate: {error}"));
    std::io::Write::write_all(&mut gate, b"open\n").unwrap_or_else(|error| panic!("{error}"));
    gate
}

fn serve(workspace: &Workspace) -> (Server, Editor) {
    let mut server = Server::spawn(BINARY, workspace, &["lsp"]);
    let editor = server.editor(Options::new(workspace));
    (server, editor)
}

/// Closes the editor's side, waits for the end of the server and prints how long that took.
fn hang_up(mut server: Server, editor: &Editor, when: &str) -> Server {
    let since = Instant::now();
    editor.hang_up();
    server.wait();
    eprintln!("gone {:?} after its input ended {when}", since.elapsed());
    server
}

/// Returns the command line that continues the run.
fn continue_run(workspace: &Workspace) -> Line {
    Line::new(BINARY, workspace, &["run", "--continue", "-y", "--allow-commands"])
}

/// Resumes the run in another editor, whose user allows everything. Returns that editor and the run.
fn resume_in_editor(workspace: &Workspace, session: &SessionId) -> (Server, Editor, RunId) {
    let (server, editor) = serve(workspace);
    editor.on_ask(|_| Answer::option("allow"));
    let now = editor.resume(session, Some(ReplayFrom::Start));
    assert_eq!(now.state.state, State::Resumable);
    let [ask] = &now.asks[..] else { panic!("not exactly one ask: {:?}", now.asks) };
    assert_eq!(ask.kind, AskKind::ResumeTask);
    editor.respond(&ask.ask_id, "resume");
    let Some(run) = now.state.run_id else { panic!("the run is gone") };
    (server, editor, run)
}

/// Returns the ends of all commands, in the order of the log.
fn command_ends(records: &[Record]) -> Vec<CallEnd> {
    let ends = records.iter().filter_map(|record| match &record.event {
        Event::ToolFinished { result, .. } => Some(result.end),
        _ => None,
    });
    ends.collect()
}

fn is_open(records: &[Record]) -> bool {
    !records.iter().any(|record| matches!(record.event, Event::RunEnded { .. }))
}

/// Checks that the command was interrupted once and then completed once, and that only the second had an effect.
fn took_effect_once(workspace: &Workspace) {
    let records = facts(workspace, &only_session(workspace));
    assert_eq!(command_ends(&records), [CallEnd::Interrupted, CallEnd::Completed]);
    ran_once(&records, Outcome::Stopped);
    assert!(calls(&records).values().all(|call| call.starts == 1));
    assert_eq!(workspace.read("ledger"), "through\n", "the interrupted command had an effect");
}

/// Continues on the command line and lets the command through the gate.
fn finish_through_the_gate(workspace: &Workspace) {
    let running = continue_run(workspace).start();
    wait_until("the command to wait at the gate again", || running.marked().len() >= AT_LEAST);
    let _gate = open_gate(workspace);
    let ran = running.wait();
    assert!(ran.expect(0).stdout.contains("I am through."), "{ran}");
    took_effect_once(workspace);
}

#[test]
fn l15_an_editor_lost_in_the_middle_of_a_command_ends_it_and_the_run_goes_on() {
    let workspace = gated();
    let (server, editor) = serve(&workspace);
    let session = editor.new_session();
    editor.prompt(&session, "go");
    let ask = editor.await_ask_of(AskKind::Command);
    editor.answer(&ask.ask_id, "allow");
    wait_until("the command to wait at the gate", || server.marked().len() >= AT_LEAST);
    let server = hang_up(server, &editor, "in the middle of a command");
    assert_eq!(server.marked(), [], "the command outlives its server");
    let records = facts(&workspace, &session.0);
    assert_eq!(command_ends(&records), [CallEnd::Interrupted]);
    assert!(is_open(&records), "a lost editor ends no run");
    let (next, editor, run) = resume_in_editor(&workspace, &session);
    wait_until("the command to wait at the gate again", || next.marked().len() >= AT_LEAST);
    let _gate = open_gate(&workspace);
    assert_eq!(editor.await_run_end(&session, &run).outcome, Outcome::Stopped);
    editor.shutdown();
    took_effect_once(&workspace);
}

#[test]
fn l15_a_server_that_is_told_to_end_takes_its_command_along() {
    for signal in [Signal::TERM, Signal::HUP] {
        let workspace = gated();
        let (mut server, editor) = serve(&workspace);
        let session = editor.new_session();
        editor.prompt(&session, "go");
        let ask = editor.await_ask_of(AskKind::Command);
        editor.answer(&ask.ask_id, "allow");
        wait_until("the command to wait at the gate", || server.marked().len() >= AT_LEAST);
        editor.expect_loss();
        let since = Instant::now();
        send(server.pid(), signal);
        server.wait();
        eprintln!("gone {:?} after {signal:?}", since.elapsed());
        assert_eq!(server.marked(), [], "the command outlives its server");
        let records = facts(&workspace, &session.0);
        assert_eq!(command_ends(&records), [CallEnd::Interrupted]);
        assert!(is_open(&records));
    }
}

#[test]
fn s05_a_command_that_outlives_a_killed_server_is_ended_by_the_next_one() {
    let workspace = gated();
    let mut running = Line::new(BINARY, &workspace, &["run", "-y", "--allow-commands", "go"]).start();
    wait_until("the command to wait at the gate", || running.marked().len() >= AT_LEAST);
    running.kill();
    let killed = running.wait();
    // A server that gets SIGKILL cannot end its command.
    assert!(!killed.left().is_empty(), "the command ended by itself");
    let listed = Line::new(BINARY, &workspace, &["sessions", "list"]).run();
    assert!(listed.expect(0).stdout.contains("interrupted"), "{listed}");
    // The next server that opens the session ends the command before it continues.
    finish_through_the_gate(&workspace);
    wait_until("the end of what was left over", || killed.left().is_empty());
}

#[test]
fn s05_a_run_that_is_told_to_end_says_so_and_can_be_resumed() {
    let workspace = gated();
    let running = Line::new(BINARY, &workspace, &["run", "-y", "--allow-commands", "go"]).start();
    wait_until("the command to wait at the gate", || running.marked().len() >= AT_LEAST);
    send(running.pid(), Signal::TERM);
    let ran = running.wait();
    assert!(
        ran.expect(143)
            .stderr
            .contains("\nstopped by a signal; `adjutant run --continue` goes on from here\n"),
        "{ran}"
    );
    assert_eq!(ran.left(), [], "the command outlives its server");
    assert!(is_open(&facts(&workspace, &only_session(&workspace))));
    finish_through_the_gate(&workspace);
}

/// A reply of two hundred words, slow or fast.
fn long_reply(pace_ms: u32) -> String {
    let words: String = (1..=200).map(|number| format!("word{number} ")).collect();
    format!("[[turn]]\ntext = \"{}\"\npace_ms = {pace_ms}\n", words.trim_end())
}

#[test]
fn l15_s96_a_stream_that_is_cut_keeps_its_text_and_is_answered_whole_later() {
    for killed in [false, true] {
        let workspace = Workspace::new("//- /a.txt\none\n");
        workspace.script(&long_reply(40));
        let (mut server, editor) = serve(&workspace);
        let session = editor.new_session();
        editor.prompt(&session, "talk");
        let text = || partial(&facts(&workspace, &session.0));
        wait_until("a part of the reply to be in the log", || !text().is_empty());
        match killed {
            true => {
                editor.expect_loss();
                server.kill();
            }
            false => drop(hang_up(server, &editor, "in the middle of a stream")),
        }
        let before = facts(&workspace, &session.0);
        let text = partial(&before);
        assert!(text.starts_with("word1 word2 ") && is_open(&before), "{text:?}");
        assert_eq!(
            interruptions(&before),
            usize::from(!killed),
            "the log has the interruption at once if only the editor is lost"
        );

        workspace.script(&long_reply(0));
        let ran = continue_run(&workspace).run();
        assert!(ran.expect(0).stdout.contains("word199 word200"), "{ran}");
        let after = facts(&workspace, &session.0);
        ran_once(&after, Outcome::Stopped);
        assert_eq!(interruptions(&after), 1);
        let shown = Line::new(BINARY, &workspace, &["sessions", "show", &session.0]).run();
        assert!(shown.expect(0).stdout.contains("word199 word200"), "{shown}");
        assert_eq!(
            shown.stdout.matches("word1 ").count(),
            1,
            "the text that was cut is shown twice: {shown}"
        );
    }
}

/// Returns the part of an unfinished reply that is in the log.
fn partial(records: &[Record]) -> String {
    let partial = records.iter().rev().find_map(|record| match &record.event {
        Event::ReplyPartial { text, .. } => Some(text.clone()),
        _ => None,
    });
    partial.unwrap_or_default()
}

fn interruptions(records: &[Record]) -> usize {
    let failed = records.iter().filter(|record| match &record.event {
        Event::AttemptFailed { failure, .. } => failure.class == FailureClass::Interrupted,
        _ => false,
    });
    failed.count()
}

const EDIT: &str = r#"
[[turn]]
text = "I change it."
[[turn.call]]
tool = "edit_file"
arguments = { path = "a.txt", old_text = "one", new_text = "two" }

[[turn]]
text = "It is changed."
"#;

const COMMAND: &str = r#"
[[turn]]
[[turn.call]]
tool = "run_command"
arguments = { command = "LINE" }

[[turn]]
text = "It ran."
"#;

/// Starts a server with the same environment as the one before, because an approval is for one environment (A1).
fn serve_alike(workspace: &Workspace) -> (Server, Editor) {
    let mut server = Server::spawn_with(BINARY, workspace, &["lsp"], |command| {
        command.env(MARK, "alike");
    });
    let editor = server.editor(Options::new(workspace));
    (server, editor)
}

/// Starts a run that asks, and loses the server while the ask is open.
fn lose_with_an_ask(workspace: &Workspace, killed: bool) -> (SessionId, AskId) {
    let (mut server, editor) = serve_alike(workspace);
    let session = editor.new_session();
    editor.prompt(&session, "change it");
    let ask = editor.await_ask();
    match killed {
        true => {
            editor.expect_loss();
            server.kill();
        }
        false => drop(hang_up(server, &editor, "with an ask open")),
    }
    let records = facts(workspace, &session.0);
    assert!(
        !records.iter().any(|record| matches!(record.event, Event::AskClosed { .. })),
        "the ask is closed"
    );
    let listed = Line::new(BINARY, workspace, &["sessions", "list"]).run();
    assert!(listed.expect(0).stdout.contains("asks"), "{listed}");
    (session, ask.ask_id)
}

/// Answers the ask of an ended server at the next server, and checks the end of the run.
fn allow_at_the_next(workspace: &Workspace, (session, ask): (SessionId, AskId), by_request: bool) {
    let (_server, editor) = serve_alike(workspace);
    let now = editor.resume(&session, Some(ReplayFrom::Start));
    assert_eq!(now.state.state, State::RequiresAction);
    assert_eq!(now.asks.iter().map(|open| &open.ask_id).collect::<Vec<_>>(), [&ask]);
    let Some(run) = now.state.run_id else { panic!("the run is gone") };
    match by_request {
        true => {
            editor.await_delivery(&ask);
            editor.answer(&ask, "allow");
        }
        // Any client may answer it by its id.
        false => drop(editor.respond(&ask, "allow")),
    }
    assert_eq!(editor.await_run_end(&session, &run).outcome, Outcome::Stopped);
    editor.shutdown();
    ran_once(&facts(workspace, &session.0), Outcome::Stopped);
}

#[test]
fn l05_s54_an_ask_outlives_its_server_and_what_is_allowed_at_the_next_one_happens_once() {
    for (killed, by_request) in [(false, true), (false, false), (true, true), (true, false)] {
        let workspace = Workspace::new("//- /a.txt\none\n");
        workspace.script(EDIT);
        let lost = lose_with_an_ask(&workspace, killed);
        allow_at_the_next(&workspace, lost, by_request);
        assert_eq!(workspace.read("a.txt"), "two\n");

        let workspace = Workspace::new("//- /a.txt\none\n");
        workspace.script(&COMMAND.replace("LINE", r"printf 'ran  it\\n' >> ledger"));
        let lost = lose_with_an_ask(&workspace, killed);
        allow_at_the_next(&workspace, lost, by_request);
        assert_eq!(workspace.read("ledger"), "ran  it\n", "exactly the approved command ran, once");
    }
}

#[test]
fn l05_an_ask_whose_file_changed_meanwhile_is_asked_anew() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(EDIT);
    let (session, ask) = lose_with_an_ask(&workspace, true);
    workspace.write("a.txt", "zero\none\n");
    let (_server, editor) = serve_alike(&workspace);
    let now = editor.resume(&session, Some(ReplayFrom::Start));
    let Some(run) = now.state.run_id else { panic!("the run is gone") };
    let fresh = fresh_ask(&editor, &ask);
    editor.answer(&fresh, "allow");
    assert_eq!(editor.await_run_end(&session, &run).outcome, Outcome::Stopped);
    assert_eq!(editor.text_of("a.txt"), "zero\ntwo\n");
    editor.shutdown();
}

#[test]
fn l05_a_command_whose_environment_changed_meanwhile_is_asked_anew() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(&COMMAND.replace("LINE", "echo ran >> ledger"));
    let (session, ask) = lose_with_an_ask(&workspace, true);
    let (_server, editor) = serve(&workspace);
    let now = editor.resume(&session, Some(ReplayFrom::Start));
    let Some(run) = now.state.run_id else { panic!("the run is gone") };
    let fresh = fresh_ask(&editor, &ask);
    // The old ask is closed: an answer to it allows nothing.
    assert_eq!(editor.respond(&ask, "allow").status, RespondStatus::AlreadyResolved);
    assert!(!workspace.exists("ledger"));
    editor.answer(&fresh, "allow");
    assert_eq!(editor.await_run_end(&session, &run).outcome, Outcome::Stopped);
    editor.shutdown();
    assert_eq!(workspace.read("ledger"), "ran\n");
}

/// Waits until a different ask is open, and returns its id.
fn fresh_ask(editor: &Editor, old: &AskId) -> AskId {
    let fresh = |update: &Update| match update {
        Update::Ask(AskChange::Opened { ask }) if ask.ask_id != *old => Some(ask.ask_id.clone()),
        _ => None,
    };
    let update = editor.await_update(|params| fresh(&params.update).is_some());
    fresh(&update.update).unwrap_or_else(|| panic!("not an ask"))
}

#[test]
fn l15_a_prompt_that_waited_for_its_turn_survives_a_kill() {
    let workspace = gated();
    let model = ModelServer::start([
        Reply::call("run_command", json!({"command": "cat gate"})),
        Reply::text("I have heard."),
    ]);
    workspace.openai(&model.base_url());
    let (mut server, editor) = serve(&workspace);
    let session = editor.new_session();
    let run = editor.prompt(&session, "go to the gate").run_id;
    let ask = editor.await_ask_of(AskKind::Command);
    editor.answer(&ask.ask_id, "allow");
    wait_until("the command to wait at the gate", || !server.marked().is_empty());
    let steered = editor.prompt(&session, "and knock twice");
    assert_eq!((steered.disposition, &steered.run_id), (Disposition::Steered, &run));
    editor.expect_loss();
    server.kill();

    let ran = continue_run(&workspace).run();
    assert!(ran.expect(0).stdout.contains("I have heard."), "{ran}");
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "one request for each turn");
    let second = requests[1].json().to_string();
    assert_eq!(second.matches("and knock twice").count(), 1, "{second}");
    assert!(second.contains("Interrupted"), "{second}");
    ran_once(&facts(&workspace, &session.0), Outcome::Stopped);
}

pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let Some(pid) = pid else { panic!("the process has no id") };
    rustix::process::kill_process(pid, signal).unwrap_or_else(|error| panic!("{error}"));
}
