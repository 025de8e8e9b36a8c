//! Writes of closed files that a stopped server may have done in part (decision 019).

use adjutant_protocol::state::State;
use expect_test::{Expect, expect};

use super::stories::{asking_edit, last_output};
use super::{Bench, edited, is_tool, landed, names, option};
use crate::machine::input::{EditOutcome, Input};
use crate::machine::step::{Step, next_steps, unfinished_writes};
use crate::policy::observation::ObservedPath;
use crate::policy::unfinished;
use crate::record::Event;
use crate::wire::state::view;

fn check(events: &[Event], expected: Expect) {
    expected.assert_eq(&names(events));
}

/// Returns a session that was opened again while an edit of a closed file was on its way.
fn cut_short() -> Bench {
    let mut bench = asking_edit(false);
    bench.answer(option("allow")).unwrap();
    check(&bench.input(Input::Opened { epoch: 2 }).unwrap(), expect!["session_opened ask_opened"]);
    bench
}

#[test]
fn l6_it_is_finished_before_the_user_resumes_the_run_and_nothing_else_is() {
    let mut bench = cut_short();
    assert_eq!(unfinished_writes(&bench.session), 1);
    assert!(unfinished::notice(1).unwrap().contains("a file"));
    let report = edited(&bench, landed());
    check(&bench.report(is_tool, report), expect!["applied tool_finished"]);
    assert!(matches!(next_steps(&bench.session)[..], [Step::DeliverAsk { .. }]));
    assert_eq!(unfinished_writes(&bench.session), 0);
    assert_eq!(unfinished::notice(0), None);
    bench.answer(option("resume")).unwrap();
    assert_eq!(next_steps(&bench.session), [Step::LookOutside { turn: 2 }]);
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn l6_if_its_file_changed_meanwhile_it_fails_and_the_user_is_asked_only_about_the_run() {
    let mut bench = cut_short();
    let state = bench.session.changes.values().next().expect("a change");
    let outcome = EditOutcome::Overtaken {
        change: Box::new(state.change.clone()),
        seen: Box::new(ObservedPath::inside("a")),
        why: "it moved".to_owned(),
    };
    let report = edited(&bench, outcome);
    check(&bench.report(is_tool, report), expect!["settled tool_finished"]);
    assert!(last_output(&bench).contains("was not applied: it moved"), "{}", last_output(&bench));
    assert_eq!(view(&bench.session).state, State::Resumable);
    assert_eq!(bench.session.open_asks().count(), 1);
}
