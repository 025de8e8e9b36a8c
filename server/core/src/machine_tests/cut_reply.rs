//! Replies that the output limit cut, and the second request with more room (S69).

use adjutant_protocol::state::State;
use adjutant_protocol::update::{TurnPhase, Update};
use expect_test::{Expect, expect};

use super::{Bench, is_model, names, reply};
use crate::machine::input::{Input, Report};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::machine::step::{Step, next_steps};
use crate::prompt::message::{ModelMessage, Reply, StopCause, Usage};
use crate::record::{Event, Outcome, Policy, StopReason};
use crate::session::Session;
use crate::wire::state::{Projector, Updates, view};

const CALL: (&str, &str) = ("run_command", r#"{"command":"rm -rf buil"#);

fn check(events: &[Event], expected: Expect) {
    expected.assert_eq(&names(events));
}

fn cut(calls: &[(&str, &str)]) -> Report {
    let usage = Some(Usage { input_tokens: 100, output_tokens: 30, ..Usage::default() });
    let reply = Reply { stop: StopCause::MaxTokens, usage, ..reply("It is a lo", calls) };
    Report::ReplyCut { reply, room: 64_000 }
}

fn failed(class: FailureClass) -> Report {
    Report::CallFailed(CallFailure { class, message: "no".to_owned(), retry_after_ms: None })
}

/// Returns a run whose first reply was cut, with the second request under way.
fn asked_again(policy: Policy) -> Bench {
    let mut bench = Bench::new();
    bench.prompt_with("go", policy).unwrap();
    bench.report(is_model, Report::TurnBegan);
    bench.report(is_model, Report::ReplyStarted);
    let partial = Report::ReplyPartial { text: "It is a lo".to_owned(), reasoning: String::new() };
    bench.report(is_model, partial);
    check(&bench.report(is_model, cut(&[CALL])), expect!["attempt_failed"]);
    wake(&mut bench);
    bench
}

fn wake(bench: &mut Bench) {
    let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("back-off is a wake") };
    assert!(wake.at <= bench.now, "nothing is waited for");
    check(&bench.input(Input::Woke(wake.clone())).unwrap(), expect!["attempt_started"]);
}

fn output_tokens(bench: &Bench) -> u64 {
    bench.session.ended.back().expect("the run is over").end.spent.usage.output_tokens
}

#[test]
fn s69_a_cut_reply_is_asked_for_once_more_and_is_no_part_of_the_conversation() {
    let mut bench = asked_again(Policy::default());
    assert_eq!(next_steps(&bench.session), [Step::CallModel { turn: 1, attempt: 2 }]);
    assert!(matches!(&bench.session.history[..], [ModelMessage::User { .. }]));
    let turn = bench.session.open_run().unwrap().turn.as_ref().unwrap();
    assert_eq!(turn.cut.as_ref().map(|cut| cut.room), Some(64_000));
    // The log has all of it, also the calls that never run.
    let events: Vec<&Event> = bench.log.iter().map(|record| &record.event).collect();
    let logged = serde_json::to_string(&events).unwrap();
    assert!(logged.contains("It is a lo") && logged.contains("rm -rf buil"));
    bench.report(is_model, Report::ReplyStarted);
    let whole = Reply { usage: Some(Usage { output_tokens: 70, ..Usage::default() }), ..reply("All.", &[]) };
    check(&bench.report(is_model, Report::Replied(whole)), expect!["replied run_ended"]);
    assert_eq!(output_tokens(&bench), 100);
    let [ModelMessage::User { .. }, ModelMessage::Assistant { reply }] = &bench.session.history[..] else {
        panic!("one reply is in the conversation")
    };
    assert_eq!(reply.text, "All.");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s69_the_user_sees_the_cut_text_replaced_and_the_tokens_counted() {
    let bench = asked_again(Policy::default());
    let before_it = bench.log.iter().position(|record| record.event.name() == "attempt_failed").unwrap();
    let mut session = Session::new("s1".into(), vec!["/ws".to_owned()]);
    bench.log[..before_it].iter().for_each(|record| session.apply(record));
    let mut projector = Projector::new(&session);
    session.apply(&bench.log[before_it]);
    let Updates::Lasting(shown) = projector.project(&session, &bench.log[before_it]) else {
        panic!("it stays")
    };
    let [Update::AgentMessage { interrupted: true, text, message_id }, Update::Turn(turn), ..] = &shown[..]
    else {
        panic!("{shown:?}")
    };
    assert_eq!((text.as_str(), turn.phase), ("It is a lo", TurnPhase::AttemptFailed));
    assert_eq!(turn.usage.as_ref().map(|usage| usage.output_tokens), Some(30));
    assert!(turn.message.as_ref().is_some_and(|why| why.contains("64000 tokens")), "{turn:?}");
    // Each reply of the turn has the same message, so the next one replaces this text.
    let message = session.open_run().unwrap().turn.as_ref().unwrap().message.clone().unwrap();
    assert_eq!(message.0, message_id.0);
    assert_eq!(view(&bench.session).state, State::Running);
}

#[test]
fn s69_it_is_tried_once_a_turn_and_a_second_cut_reply_counts_as_it_is() {
    let mut bench = asked_again(Policy::default());
    check(&bench.report(is_model, cut(&[CALL])), expect!["replied call_opened tool_finished"]);
    assert_eq!(next_steps(&bench.session), [Step::CallModel { turn: 2, attempt: 1 }]);
    // The next turn has its own.
    bench.report(is_model, Report::TurnBegan);
    check(&bench.report(is_model, cut(&[])), expect!["attempt_failed"]);
    wake(&mut bench);
    check(&bench.report(is_model, cut(&[])), expect!["replied run_ended"]);
    let end = &bench.session.ended.back().unwrap().end;
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Stopped, StopReason::MaxTokens));
    assert_eq!(output_tokens(&bench), 120);
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s69_if_the_second_request_fails_the_cut_reply_counts_as_it_is() {
    for class in [FailureClass::InvalidRequest, FailureClass::ContextExceeded, FailureClass::Total] {
        let mut bench = asked_again(Policy::default());
        let events = bench.report(is_model, failed(class));
        check(&events, expect!["attempt_failed replied call_opened tool_finished"]);
        assert_eq!(next_steps(&bench.session), [Step::CallModel { turn: 2, attempt: 1 }], "{class:?}");
        bench.reply("Done.", &[]);
        assert_eq!(output_tokens(&bench), 30, "{class:?}");
        assert_eq!(bench.replayed(), bench.session);
        // No record of its log is reported as out of its place.
        let mut session = Session::new("s1".into(), vec!["/ws".to_owned()]);
        for record in &bench.log {
            assert!(!session.is_out_of_place(&record.event), "{class:?}: {:?}", record.event);
            session.apply(record);
        }
    }
}

#[test]
fn s69_a_failure_that_passes_is_retried_with_the_same_room_and_a_fallback_model_takes_over() {
    let policy = Policy { fallback_models: vec!["acme/other".to_owned()], ..Policy::default() };
    let mut bench = asked_again(policy);
    let room = |bench: &Bench| {
        let turn = bench.session.open_run().unwrap().turn.as_ref().unwrap();
        turn.cut.as_ref().map(|cut| cut.room)
    };
    for _ in 0..4 {
        check(&bench.report(is_model, failed(FailureClass::Overloaded)), expect!["attempt_failed"]);
        let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("back-off is a wake") };
        bench.input(Input::Woke(wake.clone())).unwrap();
        assert_eq!(room(&bench), Some(64_000));
    }
    let events = bench.report(is_model, failed(FailureClass::Overloaded));
    check(&events, expect!["attempt_failed model_replaced"]);
    wake(&mut bench);
    // It is the same turn, so the reply of the other model is not asked for again.
    check(&bench.report(is_model, cut(&[])), expect!["replied run_ended"]);
}

#[test]
fn s69_a_user_who_wants_one_attempt_gets_one() {
    let mut policy = Policy::default();
    policy.retry.max_attempts = 1;
    let mut bench = Bench::new();
    bench.prompt_with("go", policy).unwrap();
    bench.report(is_model, Report::TurnBegan);
    check(&bench.report(is_model, cut(&[])), expect!["replied run_ended"]);
}
