//! Several calls of one turn: which run at the same time, and in which order their results enter the history.

use proptest::prelude::*;

use super::random::change;
use super::{Bench, done, names, option};
use crate::machine::input::{Answer, Input, Report};
use crate::machine::step::{Step, next_steps};
use crate::policy::observation::ObservedPath;
use crate::prompt::message::ModelMessage;
use crate::record::{AskKind, CallEnd, CallResult, Event, Policy, ToolCallId};

const READ: (&str, &str) = ("read_file", r#"{"path":"a"}"#);
const EDIT: (&str, &str) = ("edit_file", r#"{"path":"a","old_text":"x","new_text":"y"}"#);
const COMMAND: (&str, &str) = ("run_command", r#"{"command":"true"}"#);

fn turn_of(calls: &[(&str, &str)], policy: Policy) -> Bench {
    let mut bench = Bench::new();
    bench.prompt_with("go", policy).unwrap();
    bench.reply("", calls);
    bench
}

/// Returns the indices of the calls that have a step.
fn active_calls(bench: &Bench) -> Vec<usize> {
    let calls = |step| match step {
        Step::Prepare { calls, .. } => calls,
        Step::RunTool { call } => vec![call],
        Step::Apply { batch, .. } => {
            let of_batch = bench.session.changes.values().filter(|state| state.batches.contains_key(&batch));
            of_batch.flat_map(|state| state.calls().cloned()).collect()
        }
        _ => Vec::new(),
    };
    let calls = next_steps(&bench.session).into_iter().flat_map(calls);
    calls.filter_map(|id| Some(bench.session.call(&id)?.index)).collect()
}

fn id_of(bench: &Bench, index: usize) -> ToolCallId {
    bench.session.open_run().unwrap().turn.as_ref().unwrap().calls[index].id.clone()
}

/// Prepares a read. `asks`: it is outside the workspace, so the user is asked.
fn prepare_read(bench: &mut Bench, index: usize, asks: bool) -> Vec<Event> {
    let step = Step::Prepare { calls: vec![id_of(bench, index)], epoch: bench.session.epoch };
    let seen = ObservedPath { inside: !asks, ..ObservedPath::inside(format!("a{index}")) };
    bench.input(Input::Step { step, report: super::read_of(seen) }).unwrap()
}

fn finish(bench: &mut Bench, index: usize, end: CallEnd) -> Vec<Event> {
    let step = Step::RunTool { call: id_of(bench, index) };
    let result = CallResult { output: format!("output {index}").into(), ..done(end) };
    bench.input(Input::Step { step, report: Report::Finished(result) }).unwrap()
}

fn read(bench: &mut Bench, index: usize, end: CallEnd) -> Vec<Event> {
    prepare_read(bench, index, false);
    finish(bench, index, end)
}

fn outputs(bench: &Bench) -> Vec<String> {
    let tool = |message: &ModelMessage| match message {
        ModelMessage::Tool { output, .. } => Some(output.to_string()),
        _ => None,
    };
    bench.session.history.iter().filter_map(tool).collect()
}

#[test]
fn s40_l06_reads_go_side_by_side_and_effects_alone_in_their_order() {
    let mut bench = turn_of(&[READ, READ, EDIT, READ, COMMAND, READ], Policy::default());
    assert_eq!(active_calls(&bench), [0, 1]);
    read(&mut bench, 1, CallEnd::Completed);
    assert_eq!(active_calls(&bench), [0], "an edit waits for the reads before it");
    read(&mut bench, 0, CallEnd::Completed);
    assert_eq!(active_calls(&bench), [2]);
    let edit = super::edit_of(&bench, change(true));
    bench.report(super::is_prepare, edit);
    assert_eq!(active_calls(&bench), [0_usize; 0], "a read after an edit waits for it");
    bench.answer(option("reject")).unwrap();
    assert_eq!(active_calls(&bench), [3]);
    read(&mut bench, 3, CallEnd::Completed);
    assert_eq!(active_calls(&bench), [4]);
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn l06_no_more_than_eight_reads_go_at_once() {
    let mut bench = turn_of(&[READ; 20], Policy::default());
    assert_eq!(active_calls(&bench), (0..8).collect::<Vec<_>>());
    read(&mut bench, 3, CallEnd::Completed);
    assert_eq!(active_calls(&bench), [0, 1, 2, 4, 5, 6, 7, 8]);
}

#[test]
fn l06_each_read_that_must_be_asked_about_has_an_ask_of_its_own() {
    let mut bench = turn_of(&[READ, READ, READ], Policy::default());
    assert_eq!(names(&prepare_read(&mut bench, 1, true)), "call_prepared ask_opened");
    assert_eq!(active_calls(&bench), [0, 2], "an ask about one read does not stop the others");
    prepare_read(&mut bench, 0, true);
    let asks: Vec<_> = bench.session.open_asks().cloned().collect();
    assert_eq!(asks.len(), 2);
    assert_ne!(asks[0].id, asks[1].id);
    let answer = |option_id: &str, ask: usize| {
        let choice = option(option_id);
        Input::Answer(Answer {
            ask: asks[ask].id.clone(),
            choice,
            surface: "t".to_owned(),
            consent: None,
            budget: None,
        })
    };
    // The first ask is about the second call.
    bench.input(answer("reject", 0)).unwrap();
    assert!(bench.session.call(&id_of(&bench, 1)).unwrap().is_finished());
    bench.input(answer("allow", 1)).unwrap();
    assert_eq!(active_calls(&bench), [0, 2]);
    finish(&mut bench, 0, CallEnd::Completed);
    assert_eq!(outputs(&bench), ["output 0", "The user rejected this."]);
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s26_calls_count_as_mistakes_in_their_order_however_quick_they_are() {
    let policy = || Policy { mistakes: 2, ..Policy::default() };
    let mut bench = turn_of(&[READ, READ, READ], policy());
    read(&mut bench, 1, CallEnd::Failed);
    read(&mut bench, 2, CallEnd::Failed);
    assert!(
        bench.session.open_run().is_some(),
        "the first may still go well, and then these are two in a row"
    );
    let events = read(&mut bench, 0, CallEnd::Completed);
    assert_eq!(names(&events), "tool_finished run_ended ask_opened");
    assert!(bench.session.open_asks().any(|ask| ask.kind == AskKind::MistakeLimitReached));
    assert_eq!(outputs(&bench), ["output 0", "output 1", "output 2"]);

    let mut bench = turn_of(&[READ, READ, READ], policy());
    read(&mut bench, 2, CallEnd::Failed);
    read(&mut bench, 0, CallEnd::Failed);
    read(&mut bench, 1, CallEnd::Completed);
    assert!(bench.session.open_run().is_some(), "no two in a row");
}

#[test]
fn s26_calls_that_were_refused_with_the_reply_count_before_those_that_ran() {
    let mut bench = turn_of(&[READ; 67], Policy { mistakes: 3, ..Policy::default() });
    for index in 0..64 {
        read(&mut bench, index, CallEnd::Completed);
    }
    assert_eq!(outputs(&bench).len(), 67);
    assert!(matches!(next_steps(&bench.session)[..], [Step::CallModel { turn: 2, .. }]));
    assert_eq!(bench.session.open_run().map(|run| run.mistakes), Some(0));
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn l06_an_always_answers_the_same_question_wherever_it_is_open() {
    let mut bench = turn_of(&[READ, READ, READ, READ], Policy::default());
    let same = |bench: &mut Bench, index: usize, path: &str| {
        let step = Step::Prepare { calls: vec![id_of(bench, index)], epoch: bench.session.epoch };
        bench.input(Input::Step { step, report: super::read_of(ObservedPath::outside(path)) }).unwrap();
    };
    ["far", "far", "other", "far"].iter().enumerate().for_each(|(index, path)| same(&mut bench, index, path));
    let events = bench.answer(option("allow_always")).unwrap();
    assert_eq!(
        names(&events),
        "ask_closed rule_added tool_started ask_closed tool_started ask_closed tool_started"
    );
    let open: Vec<_> = bench.session.open_asks().flat_map(|ask| ask.calls.clone()).collect();
    assert_eq!(open, [id_of(&bench, 2)], "another file is still asked about");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn ids_of_one_stamp_are_distinct() {
    let stamp = crate::machine::input::Stamp::new(1, [7; 16]);
    let ids: std::collections::BTreeSet<String> = (0..100).map(|_| stamp.id("ask")).collect();
    assert_eq!(ids.len(), 100);
    let again = crate::machine::input::Stamp::new(1, [7; 16]);
    assert!(ids.contains(&again.id("ask")), "the same seed gives the same ids");
}

proptest! {
    /// In whatever order calls finish, the history and the count of mistakes are the same.
    #[test]
    fn s40_the_order_of_arrival_changes_nothing(
        ends in prop::collection::vec(prop::sample::select(vec![CallEnd::Completed, CallEnd::Failed]), 1..9),
        picks in prop::collection::vec(any::<usize>(), 9),
    ) {
        let calls = vec![READ; ends.len()];
        let policy = || Policy { mistakes: 100, ..Policy::default() };
        let mut in_order = turn_of(&calls, policy());
        let mut mixed = turn_of(&calls, policy());
        ends.iter().enumerate().for_each(|(index, end)| drop(read(&mut in_order, index, *end)));
        let mut left: Vec<usize> = (0..ends.len()).collect();
        for pick in picks.iter().take(ends.len()) {
            let index = left.remove(pick % left.len());
            read(&mut mixed, index, ends[index]);
        }
        prop_assert_eq!(outputs(&mixed), outputs(&in_order));
        let mistakes = |bench: &Bench| bench.session.open_run().map(|run| run.mistakes);
        prop_assert_eq!(mistakes(&mixed), mistakes(&in_order));
        prop_assert_eq!(mixed.replayed(), mixed.session);
    }
}
