//! Either side dies while an answer is on its way, at every point that it passes.
//!
//! Never chooses a moment by time: a process kills itself at a named point.

use adjutant::faults::INBOX_POINTS;
use adjutant_protocol::ask::{AskKind, RespondStatus};
use adjutant_testkit::editor::Answer;
use adjutant_testkit::inbox;
use adjutant_testkit::process::wait_until;

use super::{Held, ledger, letters, line, run, serve, serve_with};
use crate::rig::count;

#[test]
fn n02_an_answer_left_while_its_holder_is_gone_counts_once_for_the_next_one() {
    let held = Held::at_command();
    held.editor.expect_loss();
    let Held { editor, mut server, model: _model, workspace, session, run: open, ask } = held;
    server.kill();
    drop(editor);
    let letter = inbox::leave(&workspace, &session, &ask.ask_id, &Answer::option("allow"));
    let twice = inbox::leave(&workspace, &session, &ask.ask_id, &Answer::option("allow"));
    let (mut server, editor) = serve(&workspace);
    editor.on_ask(|_| Answer::Hold);
    editor.resume(&session, None);
    editor.await_run_end(&session, &open);
    wait_until("both answers to be removed", || letter.is_gone() && twice.is_gone());
    // The call was verified again before it ran, in the same environment.
    assert_eq!(ledger(&workspace), 1);
    assert_eq!(count(&workspace, &session, "ask_closed"), 1);
    // The same answer again after the end is refused, and removed.
    let again = inbox::leave(&workspace, &session, &ask.ask_id, &Answer::option("allow"));
    editor.shutdown();
    server.wait();
    let (mut server, editor) = serve(&workspace);
    editor.resume(&session, None);
    wait_until("the old answer to be removed", || again.is_gone());
    assert_eq!((ledger(&workspace), count(&workspace, &session, "tool_started")), (1, 1));
    editor.shutdown();
    server.wait();
}

#[test]
fn n02_a_terminal_killed_on_the_way_leaves_an_answer_or_none() {
    for (point, answered) in [("letter-written", false), ("letter-left", true)] {
        assert!(INBOX_POINTS.contains(&point));
        let held = Held::at_command();
        let ask = held.ask.ask_id.0.clone();
        let killed = line(&held.workspace, &["answer", &ask, "allow"])
            .env("ADJUTANT_FAULT", format!("{point}:1"))
            .run();
        assert!(killed.was_killed(), "{killed}");
        if !answered {
            assert_eq!(letters(&held.workspace, &held.session).len(), 1, "the unfinished file");
            assert_eq!(count(&held.workspace, &held.session, "ask_closed"), 0);
            held.answer(&["allow"]).expect(0);
        }
        held.editor.await_resolved(&held.ask.ask_id);
        held.editor.await_run_end(&held.session, &held.run);
        assert_eq!(held.ledger(), 1);
        assert_eq!(
            held.answer(&["allow"]).expect(4).stdout,
            "already answered: allow, from another terminal\n"
        );
        held.end();
    }
}

#[test]
fn n02_a_holder_killed_with_an_answer_in_its_hands_has_one_effect() {
    for (point, closed) in [("letters-read", 0), ("letters-judged", 1)] {
        assert!(INBOX_POINTS.contains(&point));
        let mut held = Held::starting(
            |workspace| {
                serve_with(workspace, |command| {
                    command.env("ADJUTANT_FAULT", format!("{point}:1"));
                })
            },
            [super::command("echo ran >> ledger")],
            AskKind::Command,
        );
        held.editor.expect_loss();
        let letter =
            inbox::leave(&held.workspace, &held.session, &held.ask.ask_id, &Answer::option("reject"));
        held.server.wait();
        assert!(!letter.is_gone(), "{point}: removed before it was processed");
        assert_eq!(count(&held.workspace, &held.session, "ask_closed"), closed, "{point}");
        let Held { editor, model: _model, workspace, session, run: _, ask, server: _dead } = held;
        drop(editor);
        let (mut server, editor) = serve(&workspace);
        let now = editor.resume(&session, None);
        wait_until("the answer to be removed", || letter.is_gone());
        let again = editor.respond(&ask.ask_id, "allow");
        assert_eq!(again.status, RespondStatus::AlreadyResolved, "{:?}", again.resolution);
        assert_eq!(
            (ledger(&workspace), count(&workspace, &session, "ask_closed")),
            (0, 1),
            "{point}: {now:?}"
        );
        editor.shutdown();
        server.wait();
    }
}

#[test]
fn an_answer_that_nobody_takes_is_taken_back() {
    let held = Held::at_command();
    // The server is stopped: it has the lock, and reads nothing.
    let pid = rustix::process::Pid::from_raw(held.server.pid().cast_signed()).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("stop it");
    let ran = held.answer(&["allow"]);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("wake it");
    assert!(ran.expect(1).stderr.contains("so the answer was withdrawn"), "{ran}");
    assert_eq!(letters(&held.workspace, &held.session), [""; 0]);
    held.editor.answer(&held.ask.ask_id, "reject");
    held.editor.await_run_end(&held.session, &held.run);
    assert_eq!((held.ledger(), run(&held.workspace, &["asks"]).stdout.as_str()), (0, "Nothing is asked.\n"));
    held.end();
}
