//! An ask about several calls: one answer is for all, and each call starts when its turn comes.

use serde_json::json;

use super::random::change;
use super::{Bench, done, names, option};
use crate::machine::input::{Answer, Input, Report};
use crate::machine::step::{Step, next_steps};
use crate::record::{Ask, AskKind, CallEnd, Event, FileChange};
use crate::session::Call;

const EDIT: (&str, &str) = ("edit_file", r#"{"path":"a","old_text":"x","new_text":"y"}"#);

fn call(bench: &Bench, index: usize) -> Call {
    bench.session.open_run().unwrap().turn.as_ref().unwrap().calls[index].clone()
}

/// Returns a bench with two edits of one turn and one ask about both, as the review of a whole turn will open it.
fn asked_together() -> Bench {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &[EDIT, EDIT]);
    // The ask about the first edit is replaced by a copy that names both calls.
    let opened = bench.report(super::is_prepare, super::edit_of(change(true)));
    let Some(Event::AskOpened { ask }) = opened.last() else { panic!("it is asked: {opened:?}") };
    let change = FileChange { change_set: "change-2".into(), ..change(true) };
    let second = call(&bench, 1).id;
    bench.record(Event::ChangeProposed { call: second.clone(), change: Box::new(change), seen: None });
    let closed = crate::record::Resolution::Superseded;
    bench.record(Event::AskClosed { ask: ask.id.clone(), resolution: closed });
    let calls = vec![call(&bench, 0).id, second];
    let both = Ask { id: "ask-both".into(), calls, ..(**ask).clone() };
    bench.record(Event::AskOpened { ask: Box::new(both) });
    bench
}

fn answer(bench: &mut Bench, id: &str) -> Vec<Event> {
    let answer =
        Answer { ask: "ask-both".into(), choice: option(id), surface: "t".to_owned(), consent: None };
    bench.input(Input::Answer(answer)).unwrap()
}

#[test]
fn one_answer_allows_all_and_each_edit_starts_when_the_one_before_is_over() {
    let mut bench = asked_together();
    assert!(next_steps(&bench.session).iter().all(|step| !matches!(step, Step::RunTool { .. })));
    let events = answer(&mut bench, "allow_always");
    assert_eq!(
        names(&events),
        "ask_closed hunk_decided rule_added apply_started hunk_decided apply_started",
        "one rule for both"
    );
    for index in 0..2 {
        let now = call(&bench, index);
        let runs = next_steps(&bench.session).into_iter().filter(|step| matches!(step, Step::RunTool { .. }));
        assert_eq!(runs.collect::<Vec<_>>(), [Step::RunTool { call: now.id.clone() }]);
        let step = Step::RunTool { call: now.id };
        bench.input(Input::Step { step, report: Report::Finished(done(CallEnd::Failed)) }).unwrap();
    }
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn one_rejection_rejects_all_and_a_cancel_closes_it_once() {
    let mut bench = asked_together();
    let events = answer(&mut bench, "reject");
    assert_eq!(names(&events), "ask_closed hunk_decided tool_finished hunk_decided tool_finished");
    assert!(bench.session.open_asks().next().is_none());

    let mut bench = asked_together();
    let events = bench.input(Input::Cancel { run: None }).unwrap();
    assert_eq!(names(&events), "ask_closed tool_finished tool_finished run_ended");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn a_log_has_the_one_call_of_an_ask_by_name_and_several_as_a_list() {
    let bench = asked_together();
    let both = bench.session.open_asks().next().unwrap().clone();
    assert_eq!(serde_json::to_value(&both).unwrap()["call"], json!(both.calls));
    let one = Ask { calls: both.calls[..1].to_vec(), ..both.clone() };
    assert_eq!(serde_json::to_value(&one).unwrap()["call"], json!(both.calls[0]));
    let none = Ask { calls: Vec::new(), kind: AskKind::ResumeTask, ..both.clone() };
    assert_eq!(serde_json::to_value(&none).unwrap().get("call"), None);
    for ask in [both, one, none] {
        let text = serde_json::to_string(&ask).unwrap();
        assert_eq!(serde_json::from_str::<Ask>(&text).unwrap(), ask);
    }
}
