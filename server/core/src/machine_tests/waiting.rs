//! Stories of a model that fails, is silent, or is replaced.

use adjutant_protocol::state::{State, SubState};
use adjutant_protocol::update::{TurnPhase, Update};
use expect_test::expect;

use super::stories::check;
use super::toolset::tools_of;
use super::{Bench, done, is_model, is_prepare, option, reply};
use crate::config::Wire;
use crate::machine::accept::Refusal;
use crate::machine::input::{Input, Report};
use crate::machine::retry::{CallFailure, FailureClass, RetryPolicy};
use crate::machine::step::{Step, Wake, WakeReason, next_steps};
use crate::prompt::message::{ModelMessage, OpaqueItems, Reply, StopCause, Usage};
use crate::record::{AskKind, CallEnd, Event, Outcome, Policy, StopReason};
use crate::wire::state::{Projector, Updates, view};

fn failed(class: FailureClass, retry_after_ms: Option<u64>) -> Report {
    Report::CallFailed(CallFailure { class, message: "it broke".to_owned(), retry_after_ms })
}

fn with_retries(max_attempts: u32, fallback_models: &[&str]) -> Bench {
    let mut bench = Bench::new();
    let retry = RetryPolicy { base_ms: 1, cap_ms: 1, max_attempts };
    let fallback_models = fallback_models.iter().map(|model| (*model).to_owned()).collect();
    bench.prompt_with("go", Policy { retry, fallback_models, ..Policy::default() }).unwrap();
    bench.report(is_model, Report::TurnBegan);
    bench
}

/// Delivers the one wake-up that a step waits for.
fn wake(bench: &mut Bench) -> Vec<Event> {
    let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("a wake is wanted") };
    bench.input(Input::Woke(wake.clone())).unwrap()
}

fn model_of(bench: &Bench) -> String {
    bench.session.open_run().unwrap().current_model().to_owned()
}

#[test]
fn s82_silence_is_told_while_it_lasts_and_since_when() {
    let mut bench = with_retries(2, &[]);
    let began = bench.session.since;
    check(&bench.report(is_model, Report::Silent { since: began }), expect!["went_silent"]);
    let now = view(&bench.session);
    assert_eq!((now.state, now.sub, now.since), (State::Running, Some(SubState::Stalled), began));
    let step = next_steps(&bench.session).into_iter().find(is_model).unwrap();
    let again = Input::Step { step, report: Report::Silent { since: 0 } };
    assert_eq!(bench.input(again), Err(Refusal::Stale), "it is recorded once");
    check(&bench.report(is_model, Report::Heard), expect!["heard"]);
    assert_eq!(view(&bench.session).sub, Some(SubState::Model));
    bench.report(is_model, Report::ReplyStarted);
    bench.report(is_model, Report::Silent { since: 1 });
    bench.report(is_model, failed(FailureClass::Stalled, None));
    assert_eq!(view(&bench.session).sub, Some(SubState::Retrying), "what broke off is silent no more");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn finding_f1_text_that_is_kept_while_the_model_is_silent_is_no_word_of_it() {
    let mut bench = with_retries(2, &[]);
    bench.report(is_model, Report::ReplyStarted);
    let since = bench.session.since;
    bench.report(is_model, Report::Silent { since });
    let kept = Report::ReplyPartial { text: "Begun".to_owned(), reasoning: String::new() };
    check(&bench.report(is_model, kept), expect!["reply_partial"]);
    assert_eq!(view(&bench.session).sub, Some(SubState::Stalled));
    check(&bench.report(is_model, Report::Heard), expect!["heard"]);
    assert_eq!(view(&bench.session).sub, Some(SubState::Streaming));
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s113_the_next_model_takes_the_turn_says_so_and_stays_for_the_run() {
    let mut bench = with_retries(2, &["q/big", "r/last"]);
    let before = tools_of(&bench);
    check(&bench.report(is_model, failed(FailureClass::Overloaded, None)), expect!["attempt_failed"]);
    wake(&mut bench);
    let mut projector = Projector::new(&bench.session);
    let events = bench.report(is_model, failed(FailureClass::Overloaded, None));
    check(&events, expect!["attempt_failed model_replaced"]);
    let record = bench.log.last().unwrap().clone();
    let Updates::Lasting(updates) = projector.project(&bench.session, &record) else {
        panic!("it has a number")
    };
    let Some(Update::Turn(turn)) = updates.first() else { panic!("it is published: {updates:?}") };
    assert_eq!((turn.phase, turn.model.as_deref()), (TurnPhase::ModelReplaced, Some("q/big")));
    assert_eq!(
        turn.message.as_deref(),
        Some("scripted/demo does not answer; q/big takes over for the rest of this run")
    );
    assert_eq!(model_of(&bench), "q/big");
    assert_eq!(tools_of(&bench), before, "it has the tools of the run");
    wake(&mut bench);
    // The fallback model has its own tries in the same turn.
    check(&bench.report(is_model, failed(FailureClass::Network, None)), expect!["attempt_failed"]);
    wake(&mut bench);
    let turn = bench.session.open_run().unwrap().turn.clone().unwrap();
    assert_eq!((turn.number, turn.attempt), (1, 4));
    bench.report(is_model, Report::Replied(reply("", &[("read_file", "{}")])));
    assert_eq!(model_of(&bench), "q/big");
    bench.input(Input::Cancel { run: None }).unwrap();
    assert_eq!(bench.session.ended.back().unwrap().model, "scripted/demo", "the next run has its own again");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s113_each_stands_in_once_and_then_the_user_is_asked() {
    let mut bench = with_retries(1, &["q/big", "r/last"]);
    for model in ["q/big", "r/last"] {
        bench.report(is_model, failed(FailureClass::FirstByte, None));
        assert_eq!(model_of(&bench), model);
        wake(&mut bench);
    }
    let events = bench.report(is_model, failed(FailureClass::FirstByte, None));
    check(&events, expect!["turn_failed run_ended ask_opened"]);
}

#[test]
fn s81_after_two_broken_streams_the_answer_is_asked_for_whole() {
    let mut bench = with_retries(6, &[]);
    let whole = |bench: &Bench| bench.session.open_run().unwrap().turn.as_ref().unwrap().tries.asks_whole();
    for expected in [false, true] {
        bench.report(is_model, Report::ReplyStarted);
        bench.report(is_model, failed(FailureClass::Broken, None));
        wake(&mut bench);
        assert_eq!(whole(&bench), expected);
    }
    bench.report(is_model, Report::Replied(reply("", &[("read_file", "{}")])));
    bench.input(Input::Cancel { run: None }).unwrap();
    bench.prompt("again").unwrap();
    bench.report(is_model, Report::TurnBegan);
    assert!(!whole(&bench), "the next turn streams again");
}

#[test]
fn s83_a_refused_conversation_is_repaired_once_and_for_good() {
    let mut bench = with_retries(6, &[]);
    let kept = OpaqueItems {
        wire: Wire::AnthropicMessages,
        provider: "p".to_owned(),
        model: "m".to_owned(),
        items: vec!["{}".to_owned()],
    };
    let thought = Reply { kept: Some(kept), ..reply("done", &[]) };
    bench.report(is_model, Report::Replied(thought));
    bench.prompt("more").unwrap();
    bench.report(is_model, Report::TurnBegan);
    check(&bench.report(is_model, failed(FailureClass::History, None)), expect!["attempt_failed"]);
    let keeps =
        |message: &ModelMessage| matches!(message, ModelMessage::Assistant { reply } if reply.kept.is_some());
    assert!(!bench.session.history.iter().any(keeps));
    wake(&mut bench);
    let events = bench.report(is_model, failed(FailureClass::History, None));
    check(&events, expect!["turn_failed run_ended ask_opened"]);
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s80_the_user_may_wait_and_the_call_is_made_by_itself() {
    let mut bench = with_retries(1, &[]);
    let events = bench.report(is_model, failed(FailureClass::RateLimited, Some(300_000)));
    check(&events, expect!["turn_failed run_ended ask_opened"]);
    let ask = bench.session.open_asks().next().unwrap();
    assert_eq!(ask.kind, AskKind::ApiReqFailed);
    let ways: Vec<_> = ask.options.iter().map(|option| option.option_id.as_str()).collect();
    assert_eq!(ways, ["retry", "wait", "stop"]);
    check(&bench.answer(option("wait")).unwrap(), expect!["ask_closed run_started"]);
    assert_eq!(view(&bench.session).sub, Some(SubState::Retrying));
    let began = bench.session.open_run().unwrap().started_at;
    let later = Step::Wake(Wake { at: began + 300_000, why: WakeReason::CallModel });
    assert_eq!(next_steps(&bench.session), [later]);
    check(&wake(&mut bench), expect!["turn_started"]);
    assert!(next_steps(&bench.session).iter().any(is_model));
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s90_a_wait_of_the_user_is_cancelled_like_everything() {
    let mut bench = with_retries(1, &[]);
    bench.report(is_model, failed(FailureClass::RateLimited, None));
    bench.answer(option("wait")).unwrap();
    let Some(Step::Wake(wake)) = next_steps(&bench.session).pop() else { panic!("a wake is wanted") };
    check(&bench.input(Input::Cancel { run: None }).unwrap(), expect!["run_ended"]);
    assert_eq!(bench.input(Input::Woke(wake)), Err(Refusal::Stale));
}

#[test]
fn counts_beyond_all_measure_end_no_session() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    let most = Usage {
        input_tokens: u64::MAX,
        output_tokens: u64::MAX,
        cache_read_tokens: 1,
        cache_write_tokens: 1,
    };
    for _ in 0..2 {
        bench.report(is_model, Report::TurnBegan);
        let said = Reply { usage: Some(most), ..reply("", &[("no_such_tool", "{}")]) };
        bench.report(is_model, Report::Replied(said));
        bench.report(is_prepare, Report::Finished(done(CallEnd::Failed)));
    }
    let usage = bench.session.open_run().expect("it goes on").spent.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (u64::MAX, u64::MAX, 2));
}

#[test]
fn nothing_wakes_a_run_that_waits_to_be_resumed() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    bench.report(is_model, failed(FailureClass::Overloaded, Some(5_000)));
    let wake = next_steps(&bench.session).into_iter().find_map(|step| match step {
        Step::Wake(wake) => Some(wake),
        _ => None,
    });
    let woke = Input::Woke(wake.expect("it waits"));
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    assert_eq!(bench.input(woke.clone()), Err(Refusal::Stale));
    bench.answer(option("resume")).unwrap();
    check(&bench.input(woke).unwrap(), expect!["attempt_started"]);
}

#[test]
fn s26_calls_of_cut_replies_count_as_mistakes_and_end_the_run() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    let call = ("read_file", r#"{"path":"a"}"#);
    let cut = |bench: &mut Bench| {
        bench.report(is_model, Report::TurnBegan);
        let said = Reply { stop: StopCause::MaxTokens, ..reply("", &[call]) };
        bench.report(is_model, Report::Replied(said))
    };
    for _ in 0..2 {
        check(&cut(&mut bench), expect!["replied call_opened tool_finished"]);
    }
    check(&cut(&mut bench), expect!["replied call_opened tool_finished run_ended ask_opened"]);
    let ended = bench.session.ended.back().expect("it ended");
    assert_eq!((ended.end.outcome, ended.end.stop_reason), (Outcome::Limit, StopReason::Mistakes));
    assert!(bench.session.has_open_ask(AskKind::MistakeLimitReached));
    assert!(next_steps(&bench.session).is_empty());
}
