//! The change sets that a session keeps: those of its open turn, and those whose outcome is unknown.

use proptest::prelude::*;

use super::random::change;
use super::{Bench, option};
use crate::machine::input::{Input, Report};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::machine::step::{Step, next_steps};
use crate::record::EditCheck;
use crate::session::{ChangeState, Session};

const EDIT: (&str, &str) = ("edit_file", r#"{"path":"a","old_text":"x","new_text":"y"}"#);

/// Returns how many change sets belong to no call of the open turn and to no `Settle` step.
fn left_over(session: &Session) -> usize {
    let is_open = |state: &&ChangeState| state.calls().any(|call| session.call(call).is_some());
    session.changes.values().filter(|state| !state.unsettled && !is_open(state)).count()
}

fn is_settle(step: &Step) -> bool {
    matches!(step, Step::Settle { .. })
}

/// Runs one turn with one edit, until the edit has started.
fn start_edit(bench: &mut Bench) {
    bench.reply("", &[EDIT]);
    let report = super::edit_of(bench, change(true));
    bench.report(super::is_prepare, report);
    if bench.session.open_asks().next().is_some() {
        bench.answer(option("allow_always")).unwrap();
    }
}

#[test]
fn a_session_of_a_thousand_edits_keeps_the_change_sets_of_its_turn_only() {
    let mut bench = Bench::new();
    let mut most = 0;
    for edit in 0..1_000 {
        if bench.session.open_run().is_none() {
            bench.prompt("go on").unwrap();
        }
        start_edit(&mut bench);
        if edit % 10 == 9 {
            bench.input(Input::Cancel { run: None }).unwrap();
            assert_eq!(bench.session.unsettled().count(), 1, "an edit that was cut short is looked for");
            bench.report(is_settle, Report::Settled(EditCheck::Landed));
        } else {
            let report = super::edited(&bench, super::landed());
            bench.report(super::is_tool, report);
        }
        most = most.max(bench.session.changes.len());
    }
    assert!(most <= 2, "{most} change sets are kept");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn a_change_set_that_nobody_has_looked_for_is_kept_until_somebody_has() {
    let mut bench = Bench::new();
    bench.prompt("go on").unwrap();
    start_edit(&mut bench);
    bench.input(Input::Cancel { run: None }).unwrap();
    for _ in 0..3 {
        bench.prompt("another").unwrap();
        start_edit(&mut bench);
        let report = super::edited(&bench, super::landed());
        bench.report(super::is_tool, report);
        bench.reply("done", &[]);
        assert!(next_steps(&bench.session).iter().any(is_settle), "it is still looked for");
        assert_eq!(bench.session.changes.len(), 1);
    }
    bench.report(is_settle, Report::Settled(EditCheck::NotLanded));
    assert!(!next_steps(&bench.session).iter().any(is_settle));
}

/// Returns the title and the prompts of the change that was applied last.
fn last_maker(bench: &Bench) -> (String, Vec<String>, u32) {
    let changes = bench.session.applied.all();
    let maker = &changes.last().expect("it was applied").maker;
    (maker.title.clone(), maker.prompts.texts.clone(), maker.prompts.left_out)
}

fn land(bench: &mut Bench) {
    let report = super::edited(bench, super::landed());
    bench.report(super::is_tool, report);
}

#[test]
fn n30_a_change_names_the_prompts_that_the_model_had_read() {
    let mut bench = Bench::new();
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    bench.prompt("make it\n\nshort").unwrap();
    start_edit(&mut bench);
    bench.prompt("and fast").unwrap();
    land(&mut bench);
    let first = "make it\n\nshort";
    assert_eq!(last_maker(&bench), ("make it".to_owned(), owned(&[first]), 0), "the model had not read more");
    start_edit(&mut bench);
    land(&mut bench);
    assert_eq!(last_maker(&bench).1, owned(&[first, "and fast"]));
    for prompt in ["  ", "with", "tests", &"x".repeat(9_999)] {
        bench.prompt(prompt).unwrap();
    }
    start_edit(&mut bench);
    // It is found in the text only when another run has begun.
    bench.input(Input::Cancel { run: None }).unwrap();
    bench.prompt("something else").unwrap();
    bench.report(is_settle, Report::Settled(EditCheck::Landed));
    let (title, prompts, left_out) = last_maker(&bench);
    assert_eq!((title.as_str(), &prompts[..2], left_out), ("make it", &owned(&[first, "tests"])[..], 2));
    assert!(prompts[2].len() < 700 && prompts[2].ends_with('…'), "{}", prompts[2].len());
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn n30_a_run_that_continues_another_has_its_prompts_too() {
    let mut bench = Bench::new();
    bench.prompt("make it short").unwrap();
    bench.report(super::is_model, Report::TurnBegan);
    let failure = CallFailure { class: FailureClass::Auth, message: "no".to_owned(), retry_after_ms: None };
    bench.report(super::is_model, Report::CallFailed(failure));
    bench.answer(option("retry")).unwrap();
    start_edit(&mut bench);
    land(&mut bench);
    assert_eq!(last_maker(&bench).1, ["make it short"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The change set that was settled last stays until the next drop, because the update of its end needs it.
    #[test]
    fn no_change_set_is_kept_for_nothing(bytes in super::properties::numbers()) {
        super::properties::at_each_record(&super::properties::drive(&bytes).log, |session, _| {
            assert!(left_over(session) <= 1, "{:?}", session.changes);
        });
    }
}
