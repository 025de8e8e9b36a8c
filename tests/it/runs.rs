//! Runs from their first turn to their one end: states, limits, breaks; `cancelling` has the cancels.
//!
//! Never trusts an update alone: counts ends in the log, effects in the workspace, and requests at the model.

mod cancelling;

use adjutant_protocol::ask::{AskKind, Resolution, RespondStatus};
use adjutant_protocol::session::ReplayFrom;
use adjutant_protocol::state::{Outcome, State, StopReason, SubState};
use adjutant_protocol::update::{HunkState, RunView, SessionUpdateParams, ToolStatus, TurnPhase, Update};
use adjutant_protocol::{RunId, SessionId};
use adjutant_testkit::editor::{Answer, ApplyBehaviour};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::{is_running, wait_until};
use serde_json::json;

use crate::rig::{Rig, assert_paired, count, facts_named, tool_outputs};

fn workspace_with(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url()).add_config("[retry]\nbase_ms = 10\ncap_ms = 10\nattempts = 3\n");
    workspace
}

fn command(line: &str) -> Reply {
    Reply::call("run_command", json!({"command": line}))
}

/// Returns the states in these updates, with their sub-states.
fn states(updates: &[SessionUpdateParams]) -> Vec<(State, Option<SubState>)> {
    let states = updates.iter().filter_map(|update| match &update.update {
        Update::StateUpdate(view) => Some((view.state, view.sub)),
        _ => None,
    });
    states.collect()
}

/// Cancels and waits until the client has the end of the run and the state `cancelled`.
fn cancelled(rig: &Rig, session: &SessionId, run: &RunId) {
    rig.cancel_run(session);
    let end = rig.await_run_end(session, run);
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Cancelled, StopReason::Cancelled));
    rig.await_update(|update| match &update.update {
        Update::StateUpdate(view) => update.session_id == *session && view.sub == Some(SubState::Cancelled),
        _ => false,
    });
}

fn pid_in(workspace: &Workspace, file: &str) -> u32 {
    wait_until("the command to write its process id", || {
        workspace.exists(file) && workspace.read(file).ends_with('\n')
    });
    workspace.read(file).trim().parse().expect("a process id")
}

#[test]
fn s06_a_long_command_streams_and_is_stopped_with_its_whole_tree() {
    let model = ModelServer::start([
        command("echo begun; sleep 300 & echo $! > child.pid; echo $$ > shell.pid; wait"),
        Reply::text("It was stopped."),
    ]);
    let workspace = workspace_with(&model);
    workspace.add_config("[limits]\ncommand_output_seconds = 1\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.answer(&ask.ask_id, "allow");
    rig.await_update(|update| {
        matches!(&update.update, Update::ToolCallContentChunk { text, .. } if text.contains("begun"))
    });
    let (child, shell) = (pid_in(&workspace, "child.pid"), pid_in(&workspace, "shell.pid"));
    let ask = rig.await_ask_of(AskKind::CommandOutput);
    let now = rig.resume(&session, None).state;
    assert_eq!(
        (now.state, now.sub),
        (State::Running, Some(SubState::Tools)),
        "the ask does not block the run"
    );
    assert!(is_running(child) && is_running(shell));
    rig.answer(&ask.ask_id, "abort");
    rig.await_run_end(&session, &run);
    wait_until("the tree to end", || !is_running(child) && !is_running(shell));
    let output = tool_outputs(&model.requests()[1]).remove(0);
    assert!(output.contains("stopped"), "{output}");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s06_a_command_that_is_let_run_goes_on_and_the_ask_goes_when_it_ends() {
    let model = ModelServer::start([
        command("until [ -e go ]; do sleep 0.02; done; echo went"),
        command("until [ -e go-again ]; do sleep 0.02; done; echo again"),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    workspace.add_config("[limits]\ncommand_output_seconds = 1\n[unattended]\ncommand = true\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt_with(&session, "Run it.", json!({"overrides": {"unattended": true}})).run_id;
    let ask = rig.await_ask_of(AskKind::CommandOutput);
    rig.answer(&ask.ask_id, "continue");
    rig.await_resolved(&ask.ask_id);
    workspace.write("go", "");
    // The second ask gets no answer.
    let ask = rig.await_ask_of(AskKind::CommandOutput);
    workspace.write("go-again", "");
    assert_eq!(rig.await_resolved(&ask.ask_id), Resolution::Withdrawn);
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[2]);
    assert!(outputs[0].contains("went") && outputs[1].contains("again"), "{outputs:?}");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s07_streaming_is_entered_and_left_once_per_call() {
    let model = ModelServer::start([
        Reply::text("Let me look at that.").and_call("list_files", json!({"path": "."})),
        Reply::text("this one is cut").cut_after(200),
        Reply::text("Once more: there is one file.").and_reasoning("and a thought"),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Look.");
    rig.await_state(State::Idle);
    let published = states(&rig.updates());
    let streaming = published.iter().filter(|(_, sub)| *sub == Some(SubState::Streaming)).count();
    assert_eq!(streaming, 3, "one for each reply that started: {published:?}");
    let twice = published.windows(2).any(|pair| pair[0] == pair[1]);
    assert!(!twice, "no state is published twice in a row: {published:?}");
    rig.end();
}

#[test]
fn s18_the_end_carries_outcome_reason_summary_usage_and_turns() {
    let model = ModelServer::start([
        Reply::call("list_files", json!({"path": "."})).usage(100, 7),
        Reply::call("task_complete", json!({"summary": "Looked around."})).usage(120, 3),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let end = rig.run_to_end(&session, "Look.");
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Completed, StopReason::EndTurn));
    assert_eq!(end.summary.as_deref(), Some("Looked around."));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens, end.turns), (220, 10, 2));
    assert!(end.ended_at > 0);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s20_turn_pairs_and_failed_attempts_are_the_requests_the_model_saw() {
    let model = ModelServer::start([
        Reply::status(500),
        Reply::call("list_files", json!({"path": "."})),
        Reply::text("cut in the mid").cut_after(180),
        Reply::hang_up(),
        Reply::text("Done."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Look.").run_id;
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    let turns = |phase| {
        let updates = rig.updates();
        updates
            .iter()
            .filter(|update| matches!(&update.update, Update::Turn(turn) if turn.phase == phase))
            .count()
    };
    assert_eq!((turns(TurnPhase::Started), turns(TurnPhase::Ended)), (2, 2));
    assert_eq!(turns(TurnPhase::AttemptFailed), 3);
    // `grep -c` on the log counts the same.
    let (started, failed) =
        (count(&workspace, &session, "turn_started"), count(&workspace, &session, "attempt_failed"));
    assert_eq!(started + failed, model.requests().len());
    rig.end();
}

#[test]
fn s21_s22_every_end_has_its_own_outcome_and_reason() {
    let miss = || Reply::call("read_file", json!({"path": "no-such"}));
    let ends: [(&str, Vec<Reply>, Outcome, StopReason); 7] = [
        ("says no more", vec![Reply::text("Hi.")], Outcome::Stopped, StopReason::EndTurn),
        (
            "completes",
            vec![Reply::call("task_complete", json!({"summary": "ok"}))],
            Outcome::Completed,
            StopReason::EndTurn,
        ),
        ("gives up", vec![Reply::call("fail", json!({"reason": "no"}))], Outcome::Failed, StopReason::GaveUp),
        ("is cut", vec![Reply::text("so long").finish("length")], Outcome::Stopped, StopReason::MaxTokens),
        ("refuses", vec![Reply::text("no").finish("content_filter")], Outcome::Failed, StopReason::Refusal),
        ("fails", vec![Reply::status(401)], Outcome::Failed, StopReason::Failed),
        ("stumbles", vec![miss(), miss(), miss()], Outcome::Limit, StopReason::Mistakes),
    ];
    let replies: Vec<Reply> = ends.iter().flat_map(|(_, replies, ..)| replies.clone()).collect();
    let model = ModelServer::start(replies);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    for (what, _, outcome, stop) in ends {
        let session = rig.new_session();
        let end = rig.run_to_end(&session, what);
        assert_eq!((end.outcome, end.stop_reason), (outcome, stop), "{what}");
        rig.await_state(State::Idle);
    }
    rig.end();
}

#[test]
fn s23_idle_comes_once_per_run_and_completion_at_most_once() {
    let twice = Reply::call("task_complete", json!({"summary": "first"}))
        .and_call("task_complete", json!({"summary": "second"}));
    let model =
        ModelServer::start([twice, Reply::text("Hm."), Reply::call("list_files", json!({"path": "."}))]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    for text in ["One", "Two"] {
        rig.run_to_end(&session, text);
        rig.await_state(State::Idle);
    }
    let idle = states(&rig.updates()).into_iter().filter(|(state, _)| *state == State::Idle).count();
    assert_eq!(idle, 2);
    let complete = rig.updates().into_iter().filter_map(|update| match update.update {
        Update::Complete { summary, .. } => Some(summary),
        _ => None,
    });
    assert_eq!(complete.collect::<Vec<_>>(), ["first"]);
    assert_eq!(facts_named(&workspace, &session, "completed").len(), 1, "the completion is on disk");
    rig.end();
}

#[test]
fn s104_a_summary_says_whether_the_model_has_just_said_the_same() {
    let ends = |text: &str, summary: &str| {
        Reply::text(text).and_call("task_complete", json!({ "summary": summary }))
    };
    let model = ModelServer::start([
        ends("I looked.", "All is well."),
        ends("All is well.", " All is well.\n"),
        ends("", "All is well."),
    ]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    for text in ["One", "Two", "Three"] {
        rig.run_to_end(&session, text);
        rig.await_state(State::Idle);
    }
    let said = |updates: Vec<SessionUpdateParams>| {
        let all = updates.into_iter().filter_map(|update| match update.update {
            Update::Complete { said, .. } => Some(said),
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    // What another run said counts for that one alone.
    assert_eq!(said(rig.updates()), [false, true, false]);
    rig.end();
    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, Some(ReplayFrom::Start));
    rig.await_update(|update| update.seq == now.seq && update.sub.is_none());
    assert_eq!(said(rig.updates()), [false, true, false], "a replay says the same");
    rig.end();
}

#[test]
fn s30_whatever_breaks_a_run_ends_exactly_once() {
    let text = || Reply::text("a reply that is long enough to be cut somewhere in the middle");
    let breaks = [
        ("no answer", Reply::hang_up()),
        ("cut at once", text().cut_after(0)),
        ("cut in a frame", text().cut_after(37)),
        ("cut later", text().cut_after(500)),
        ("no end", text().unfinished()),
        ("garbage", Reply::events(["{not json"])),
        ("garbage inside", text().insert_event(3, "\u{0}\u{1}")),
        ("another shape", Reply::events([r#"{"choices": 7}"#])),
        ("nothing", Reply::events(Vec::<String>::new())),
        ("not a stream", Reply::status(200).body("<html>hello</html>")),
        ("500", Reply::status(500).body("oops")),
        ("an error inside", Reply::events([r#"{"error":{"message":"overloaded"}}"#])),
    ];
    for (what, broken) in breaks {
        let model = ModelServer::answering(move |_| broken.clone());
        let workspace = workspace_with(&model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let end = rig.run_to_end(&session, "Speak.");
        assert_eq!(end.outcome, Outcome::Failed, "{what}: {end:?}");
        assert!(end.summary.is_some_and(|summary| !summary.is_empty()), "{what} is explained");
        rig.await_ask_of(AskKind::ApiReqFailed);
        rig.await_state(State::Idle);
        let ended =
            |update: &SessionUpdateParams| matches!(update.update, Update::Run(RunView::Ended { .. }));
        assert_eq!(rig.updates().into_iter().filter(ended).count(), 1, "{what}");
        assert_eq!(count(&workspace, &session, "run_ended"), 1, "{what}");
        rig.end();
    }
}

#[test]
fn s30_a_server_that_stops_in_any_phase_leaves_one_end_to_come() {
    let stages: [(&str, Reply); 4] = [
        ("model", Reply::never()),
        ("streaming", Reply::text("some words to hold on to").hold_after(300)),
        ("ask", command("touch ran")),
        ("back-off", Reply::status(429).header("retry-after", "60")),
    ];
    for (what, reply) in stages {
        let model = ModelServer::start([reply]);
        let workspace = workspace_with(&model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let run = rig.prompt(&session, "Go.").run_id;
        match what {
            "ask" => drop(rig.await_ask()),
            "back-off" => drop(rig.await_update(|update| {
                matches!(&update.update, Update::StateUpdate(view) if view.sub == Some(SubState::Retrying))
            })),
            _ => model.wait_for_holding(1),
        }
        rig.end();
        assert_eq!(count(&workspace, &session, "run_ended"), 0, "{what}: a stop ends no run");
        let rig = Rig::start(&workspace);
        let now = rig.resume(&session, None).state;
        assert_eq!(now.run_id, Some(run.clone()), "{what}: {now:?}");
        cancelled(&rig, &session, &run);
        assert_eq!(count(&workspace, &session, "run_ended"), 1, "{what}");
        assert!(!workspace.exists("ran"));
        rig.end();
    }
}

#[test]
fn s111_a_reply_no_record_can_hold_ends_its_run_and_not_the_session() {
    // Each character has six bytes in a record.
    let much = "\u{1}".repeat((42 << 20) / 6);
    let model =
        ModelServer::start([Reply::text("So.").and_raw_call("write_file", &much), Reply::text("Here I am.")]);
    let workspace = workspace_with(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Write very much.").run_id;
    let end = rig.await_run_end(&session, &run);
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Failed, StopReason::Failed));
    let why = end.summary.unwrap_or_default();
    assert!(why.contains("larger than the 40 MiB that one reply may have"), "{why}");
    assert_eq!(model.requests().len(), 1, "a retry would get the same large reply");
    let run = rig.prompt(&session, "Are you there?").run_id;
    assert_eq!(rig.await_run_end(&session, &run).outcome, Outcome::Stopped);
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s80_a_reply_that_breaks_once_is_told_whole_and_no_word_of_it_twice() {
    let whole = "This reply is long enough to break somewhere in the middle of it.";
    let breaks = [
        ("dropped", Reply::text(whole).cut_after(700)),
        ("no final event", Reply::text("This reply is").unfinished()),
        ("a malformed event", Reply::text(whole).insert_event(5, "{\"choices\": [{")),
        (
            "an error in the stream",
            Reply::text(whole).insert_event(5, r#"{"error":{"message":"overloaded"}}"#),
        ),
    ];
    for (what, broken) in breaks {
        let model = ModelServer::start([broken, Reply::text(whole)]);
        let workspace = workspace_with(&model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let end = rig.run_to_end(&session, "Speak.");
        assert_eq!(end.outcome, Outcome::Stopped, "{what}: {end:?}");
        rig.await_state(State::Idle);
        // A client shows the text like this: it adds chunks, an item replaces them, and a new attempt clears them.
        let (mut shown, mut item, mut broke_off) = (String::new(), None, 0);
        for update in rig.updates() {
            match update.update {
                Update::AgentMessageChunk { message_id, text } => {
                    assert_eq!(*item.get_or_insert_with(|| message_id.clone()), message_id, "{what}");
                    shown.push_str(&text);
                    assert!(whole.starts_with(&shown), "{what}: {shown:?}");
                }
                Update::AgentMessage { message_id, text, interrupted } => {
                    assert_eq!(*item.get_or_insert_with(|| message_id.clone()), message_id, "{what}");
                    broke_off += usize::from(interrupted);
                    shown = if interrupted { String::new() } else { text };
                }
                _ => {}
            }
        }
        assert_eq!((shown.as_str(), broke_off), (whole, 1), "{what}");
        rig.end();
    }
}
