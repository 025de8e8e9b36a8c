//! A cancel, a broken step or a broken session at every named point of a run: the run has one end,
//! nothing happens after it, and the session continues (S30, S90, S91).
//!
//! Never picks a moment by time: the server waits at the point until the test releases it.

use std::fs;

use adjutant::faults::POINTS;
use adjutant_core::record::{Event, Record};
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::session::PromptResult;
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_protocol::{RunId, SessionId};
use adjutant_testkit::campaign;
use adjutant_testkit::editor::{Answer, Editor, Options, Rule};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::{Server, wait_until};
use serde_json::json;

use super::story::{BINARY, calls, facts};

/// A script that reads, edits an open and a closed file, asks, and runs a command.
const SCRIPT: &str = r#"
[[turn]]
text = "I read and edit."
[[turn.call]]
tool = "read_file"
arguments = { path = "a.txt" }
[[turn.call]]
tool = "edit_file"
arguments = { path = "a.txt", old_text = "one", new_text = "1" }
[[turn.call]]
tool = "edit_file"
arguments = { path = "b.txt", old_text = "two", new_text = "2" }

[[turn]]
text = "I ask and run."
[[turn.call]]
tool = "ask_user"
arguments = { question = "Go on?", options = ["yes", "no"] }
[[turn.call]]
tool = "run_command"
arguments = { command = "echo through >> ledger" }

[[turn]]
text = "Done."
"#;

/// The points inside a step.
const OF_STEPS: [&str; 9] = [
    "reply-complete",
    "call-prepared",
    "before-image-kept",
    "edit-sent",
    "edit-answered",
    "edit-landed",
    "edit-saved",
    "command-started",
    "command-ended",
];

/// The points inside the session's own task.
const OF_SESSIONS: [&str; 6] =
    ["prompt-accepted", "facts-written", "facts-durable", "turn-begun", "reply-streaming", "ask-answered"];

/// How many passings of a point the tests try, if a run has that many.
fn passings() -> usize {
    if campaign::is_slow() { 12 } else { 3 }
}

/// A server with a fault, its editor and a session.
struct Scene {
    workspace: Workspace,
    server: Server,
    editor: Editor,
    session: SessionId,
}

impl Scene {
    fn new(fault: &str) -> Scene {
        let workspace = Workspace::new("//- /a.txt\none\n//- /b.txt\ntwo\n");
        workspace.script(SCRIPT);
        let mut server = Server::spawn_with(BINARY, &workspace, &["lsp"], |command| {
            command.env("ADJUTANT_FAULT", fault);
        });
        let editor = server.editor(Options::new(&workspace));
        editor.on_ask(|ask| match ask.kind {
            AskKind::Followup => Answer::option("option-1"),
            _ => Answer::option("allow"),
        });
        editor.open("a.txt");
        let session = editor.new_session();
        Scene { workspace, server, editor, session }
    }

    fn facts(&self) -> Vec<Record> {
        facts(&self.workspace, &self.session.0)
    }

    fn is_reached(&self) -> bool {
        self.server.stderr().contains("held at ")
    }

    fn release(&self) {
        let released = fs::write(self.workspace.state_dir().join("fault-released"), "");
        released.unwrap_or_else(|error| panic!("release the server: {error}"));
    }

    /// Checks that the run has one end and does nothing after it, and that another run of the session ends.
    /// Returns what the server wrote to stderr.
    fn ended_once(self, run: &RunId, place: &str) -> String {
        // The second run may reach a point that the first run did not.
        self.release();
        let next = self.editor.prompt(&self.session, "and now?").run_id;
        self.editor.await_run_end(&self.session, &next);
        let all = self.facts();
        let end = |record: &&Record| matches!(&record.event, Event::RunEnded { run: of, .. } if of == run);
        assert_eq!(all.iter().filter(end).count(), 1, "{place}: not exactly one end");
        let at = all.iter().position(|record| end(&record)).unwrap_or(0);
        let own: Vec<String> = calls(&all[..=at]).into_keys().collect();
        for record in &all[at..] {
            if let Event::ToolStarted { call, .. }
            | Event::ApplyStarted { call, .. }
            | Event::ToolFinished { call, .. } = &record.event
            {
                assert!(!own.contains(&call.to_string()), "{place}: {:?} after the end", record.event);
            }
        }
        for (id, call) in calls(&all) {
            assert_eq!(call.ends.len(), 1, "{place}: call {id}: {call:?}");
        }
        // An edit that broke before its save is not on disk, so the next command does not see it. One of a closed file is
        // finished.
        for _ in self.editor.messages() {
            let message = self.editor.await_message();
            let is_known = [" as it was saved last", "A task was cut short while it changed a file."]
                .iter()
                .any(|known| message.contains(known));
            assert!(is_known, "{place}: {message}");
        }
        // If a run breaks between an edit and its event, the edit looks as if it was not made through the editor.
        self.editor.forgive(Rule::BehindTheEditor);
        self.editor.shutdown();
        let mut server = self.server;
        server.last_words()
    }
}

#[test]
fn s30_a_step_that_breaks_at_any_point_leaves_one_end_and_a_session_that_goes_on() {
    for point in OF_STEPS {
        for passing in 1..=passings() {
            let scene = Scene::new(&format!("{point}:{passing}:break"));
            let run = scene.editor.prompt(&scene.session, "go on").run_id;
            scene.editor.await_run_end(&scene.session, &run);
            let said = scene.ended_once(&run, &format!("{point}:{passing}"));
            let broke = said.contains(&format!("broken at {point}"));
            assert!(broke || passing > 1, "nothing ever broke at {point}");
            if !broke {
                break;
            }
        }
    }
}

#[test]
fn s30_s90_s91_a_cancel_at_any_point_ends_the_run_once_and_nothing_happens_after() {
    for point in POINTS {
        for passing in 1..=passings() {
            if !cancelled_at(point, passing) {
                assert!(passing > 1, "{point} was never reached");
                break;
            }
        }
    }
}

/// Cancels while the server waits at a point. Returns false if the run does not pass the point that often.
fn cancelled_at(point: &str, passing: usize) -> bool {
    let place = format!("{point}:{passing}");
    let scene = Scene::new(&format!("{place}:hold"));
    let prompt = json!({"sessionId": scene.session, "prompt": [{"type": "text", "text": "go on"}]});
    let prompt = scene.editor.request_nowait("agent/session/prompt", prompt);
    let over = || scene.is_over();
    wait_until(&format!("{place} or the end"), || scene.is_reached() || over());
    let reached = scene.is_reached();
    let edits = scene.editor.applies().len();
    if reached {
        scene.editor.cancel_run(&scene.session);
        // The server answers in order, so after this answer the session has the cancel.
        let _ = scene.editor.request("agent/nothing", json!({}));
        scene.release();
    }
    let answer = scene.editor.await_response(&prompt).map(serde_json::from_value::<PromptResult>);
    let Ok(Ok(PromptResult { run_id, .. })) = answer else { panic!("{place}: {answer:?}") };
    let end = scene.editor.await_run_end(&scene.session, &run_id);
    if reached {
        // While the session itself waits, a step may end before the cancel.
        let of_step = OF_STEPS.contains(&point) || point == "ask-delivered";
        let ended_before = end.outcome == Outcome::Stopped && !of_step;
        assert!(ended_before || end.outcome == Outcome::Cancelled, "{place}: {end:?}");
        // An edit that was sent before the cancel may still be applied. The server sends no other.
        assert!(scene.editor.applies().len() <= edits + 1, "{place}: edits after the cancel");
    }
    let _ = scene.ended_once(&run_id, &place);
    reached
}

impl Scene {
    /// Whether the end was published. In the log it comes before the last points are passed.
    fn is_over(&self) -> bool {
        let ended =
            |params: &SessionUpdateParams| matches!(params.update, Update::Run(RunView::Ended { .. }));
        self.editor.updates().iter().any(ended)
    }
}

#[test]
fn s30_a_session_that_breaks_at_any_point_says_so_and_is_opened_again() {
    for point in OF_SESSIONS {
        for passing in 1..=passings() {
            if !broken_at(point, passing) {
                assert!(passing > 1, "nothing ever broke at {point}");
                break;
            }
        }
    }
}

/// Breaks the task of a session and continues with the session. Returns false if the run does not pass the
/// point that often.
fn broken_at(point: &str, passing: usize) -> bool {
    let place = format!("{point}:{passing}");
    let scene = Scene::new(&format!("{place}:break"));
    let prompt = json!({"sessionId": scene.session, "prompt": [{"type": "text", "text": "go on"}]});
    let prompt = scene.editor.request_nowait("agent/session/prompt", prompt);
    let broke = || scene.server.stderr().contains("broken at ");
    wait_until(&format!("{place} or the end"), || broke() || scene.is_over());
    if !broke() {
        // The run did not break, so the test checks nothing more here.
        let _ = scene.editor.await_response(&prompt);
        scene.editor.forgive(Rule::BehindTheEditor);
        for _ in scene.editor.messages() {
            scene.editor.await_message();
        }
        scene.editor.shutdown();
        return false;
    }
    scene.editor.await_update(|params| {
        matches!(&params.update, Update::Notice { message } if message.contains("broken at") && params.sub.is_some())
    });
    // The prompt gets an answer, whether it is in the log or not.
    let answer = scene.editor.await_response(&prompt);
    if point == "turn-begun" {
        // An error would make the client send the prompt again, and then the log would have it twice.
        assert!(answer.is_ok(), "{place}: the prompt is in the log: {answer:?}");
    }
    let now = scene.editor.resume(&scene.session, None);
    let run = now.state.run_id.clone().unwrap_or_else(|| panic!("{place}: no run is open: {:?}", now.state));
    scene.editor.cancel_run(&scene.session);
    assert_eq!(scene.editor.await_run_end(&scene.session, &run).outcome, Outcome::Cancelled, "{place}");
    let _ = scene.ended_once(&run, &place);
    true
}

#[test]
fn s30_a_session_that_breaks_is_shown_as_resumable_and_leaves_nobody_waiting() {
    // The second prompt breaks the session while a question is open.
    let scene = Scene::new("prompt-accepted:2:break");
    let Scene { editor, session, .. } = &scene;
    editor.on_ask(|ask| match ask.kind {
        AskKind::Followup => Answer::Hold,
        _ => Answer::option("allow"),
    });
    let other = editor.new_session();
    let run = editor.prompt(session, "go on").run_id;
    let ask = editor.await_ask_of(AskKind::Followup);
    editor.await_delivery(&ask.ask_id);
    let wait = json!({"sessionId": session, "runId": run, "timeoutMs": 60_000});
    let wait = editor.request_nowait("agent/session/wait", wait);
    let steer = json!({"sessionId": session, "prompt": [{"type": "text", "text": "and this"}]});
    let steer = editor.request_nowait("agent/session/prompt", steer);
    for waiting in [&steer, &wait] {
        let error = editor.await_response(waiting).expect_err("the session is broken");
        assert!(error.message.contains("session"), "{error}");
    }
    let state = editor.await_update(
        |params| matches!(&params.update, Update::StateUpdate(view) if view.state == State::Resumable),
    );
    assert!(state.sub.is_some(), "a number of the log may belong to another update");
    editor.await_withdrawal(&ask.ask_id);
    // The other session is not delayed. The broken session opens again from its log.
    let next = editor.prompt(&other, "go on");
    let now = editor.resume(session, None);
    assert_eq!(now.state.run_id.as_ref(), Some(&run), "{:?}", now.state);
    assert!(
        now.asks.iter().any(|open| open.ask_id == ask.ask_id),
        "the question is open again: {:?}",
        now.asks
    );
    editor.cancel_run(&other);
    editor.await_run_end(&other, &next.run_id);
    editor.cancel_run(session);
    editor.await_run_end(session, &run);
    let _ = scene.ended_once(&run, "while a question is open");
}
