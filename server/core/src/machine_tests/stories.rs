//! Scenarios that read as stories: one input a line, and the events that follow.

use adjutant_protocol::state::{State, SubState};
use expect_test::{Expect, expect};

use super::random::change;
use super::{Bench, done, is_model, is_prepare, is_tool, names, option, reply};
use crate::machine::accept::Refusal;
use crate::machine::input::{Answer, Choice, Input, Prompt, Report};
use crate::machine::retry::{CallFailure, FailureClass, RetryPolicy};
use crate::machine::step::{Step, next_steps};
use crate::policy::cause::Cause;
use crate::policy::observation::ObservedPath;
use crate::prompt::message::{ModelMessage, Reply, StopCause};
use crate::record::{
    AskKind, CallEnd, EditCheck, Event, Outcome, Payload, Policy, Resolution, StopReason, UnattendedPolicy,
};
use crate::wire::state::view;

pub fn check(events: &[Event], expect: Expect) {
    expect.assert_eq(&names(events));
}

fn failure(class: FailureClass) -> Report {
    Report::CallFailed(CallFailure { class, message: "it broke".to_owned(), retry_after_ms: None })
}

pub fn command() -> Report {
    super::prepared_as(Payload::Command {
        line: "make test".to_owned(),
        cwd: "/ws".to_owned(),
        timeout_seconds: 60,
        binding: "b".to_owned(),
    })
}

/// Returns a bench whose model has called one command, which waits for an answer.
fn asking_command() -> Bench {
    let mut bench = Bench::new();
    bench.prompt("test it").unwrap();
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    bench.report(is_prepare, command());
    bench
}

/// Returns a bench whose model has called one edit, which waits for an answer.
pub fn asking_edit(open: bool) -> Bench {
    let mut bench = Bench::new();
    bench.prompt("fix it").unwrap();
    bench.reply("", &[("edit_file", r#"{"path":"a","old_text":"x","new_text":"y"}"#)]);
    let report = super::edit_of(&bench, change(open));
    bench.report(is_prepare, report);
    bench
}

pub fn last_output(bench: &Bench) -> String {
    match bench.session.history.last() {
        Some(ModelMessage::Tool { output, .. }) => output.to_string(),
        other => panic!("the last message is {other:?}"),
    }
}

#[test]
fn s20_a_turn_is_one_model_call_and_the_run_ends_without_calls() {
    let mut bench = Bench::new();
    check(&bench.prompt("hello\nworld").unwrap(), expect!["session_created run_started prompted"]);
    assert_eq!(bench.session.title, "hello");
    check(&bench.report(is_model, Report::TurnBegan), expect!["turn_started"]);
    check(&bench.report(is_model, Report::ReplyStarted), expect!["reply_started"]);
    check(&bench.report(is_model, Report::Replied(reply("hi", &[]))), expect!["replied run_ended"]);
    let end = &bench.session.ended.back().unwrap().end;
    assert_eq!(
        (end.outcome, end.stop_reason, end.spent.requests),
        (Outcome::Stopped, StopReason::EndTurn, 1)
    );
    assert!(next_steps(&bench.session).is_empty());
}

#[test]
fn s20_turns_and_failed_attempts_add_up_to_the_requests_made() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    let mut requests = 0;
    bench.report(is_model, Report::TurnBegan);
    for _ in 0..2 {
        requests += 1;
        let events = bench.report(is_model, failure(FailureClass::Network));
        check(&events, expect!["attempt_failed"]);
        let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("back-off is a wake") };
        check(&bench.input(Input::Woke(wake.clone())).unwrap(), expect!["attempt_started"]);
    }
    requests += 1;
    bench.report(is_model, Report::Replied(reply("done", &[])));
    let count = |name: &str| {
        bench.log.iter().filter(|record| names(std::slice::from_ref(&record.event)) == name).count()
    };
    assert_eq!(count("turn_started") + count("attempt_failed"), requests);
}

#[test]
fn s04_s80_the_sixth_failure_ends_the_run_and_offers_a_retry_that_continues_it() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    for _ in 0..5 {
        bench.report(is_model, failure(FailureClass::Overloaded));
        let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("back-off is a wake") };
        bench.input(Input::Woke(wake.clone())).unwrap();
    }
    let events = bench.report(is_model, failure(FailureClass::Overloaded));
    check(&events, expect!["turn_failed run_ended ask_opened"]);
    assert_eq!(view(&bench.session).ask_kind, Some(AskKind::ApiReqFailed.into()));
    assert_eq!(view(&bench.session).state, State::Idle);
    let first = bench.session.ended.back().unwrap().run.clone();
    let events = bench.answer(option("retry")).unwrap();
    check(&events, expect!["ask_closed run_started"]);
    assert!(matches!(&events[1], Event::RunStarted { continues: Some(run), .. } if *run == first));
    assert_eq!(next_steps(&bench.session), [Step::CallModel { turn: 2, attempt: 1 }]);
}

#[test]
fn s83_a_refused_key_is_tried_once() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    check(&bench.report(is_model, failure(FailureClass::Auth)), expect!["turn_failed run_ended ask_opened"]);
}

#[test]
fn s26_three_failures_in_a_row_end_the_run_and_continue_takes_it_up_again() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    for _ in 0..2 {
        bench.reply("", &[("read_file", r#"{"path":"a"}"#)]);
        bench.report(is_prepare, super::read_of(ObservedPath::inside("a")));
        check(&bench.report(is_tool, Report::Finished(done(CallEnd::Failed))), expect!["tool_finished"]);
    }
    bench.reply("", &[("nonsense", "{"), ("read_file", r#"{"path":"a"}"#)]);
    let refused = super::refused(Cause::UnknownTool, "no such tool");
    let events = bench.report(is_prepare, refused);
    check(&events, expect!["call_prepared tool_finished tool_finished run_ended ask_opened"]);
    assert_eq!(bench.session.ended.back().unwrap().end.stop_reason, StopReason::Mistakes);
    check(&bench.answer(option("continue")).unwrap(), expect!["ask_closed run_started"]);
    assert_eq!(bench.session.open_run().unwrap().mistakes, 0);
}

#[test]
fn s26_a_success_between_failures_starts_the_count_anew() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    for end in [CallEnd::Failed, CallEnd::Failed, CallEnd::Completed, CallEnd::Failed, CallEnd::Failed] {
        bench.reply("", &[("read_file", r#"{"path":"a"}"#)]);
        bench.report(is_prepare, super::read_of(ObservedPath::inside("a")));
        bench.report(is_tool, Report::Finished(done(end)));
    }
    assert!(bench.session.open_run().is_some());
}

#[test]
fn s03_s16_a_command_asks_and_runs_once_allowed() {
    let mut bench = asking_command();
    assert_eq!(view(&bench.session).ask_kind, Some(AskKind::Command.into()));
    check(&bench.answer(option("allow")).unwrap(), expect!["ask_closed tool_started"]);
    check(&bench.report(is_tool, Report::Finished(done(CallEnd::Completed))), expect!["tool_finished"]);
    assert_eq!(next_steps(&bench.session), [Step::CallModel { turn: 2, attempt: 1 }]);
}

#[test]
fn s16_a_rejection_puts_its_reason_before_the_model() {
    let mut bench = asking_command();
    bench.answer(Choice::Option { id: "reject".to_owned(), text: Some("use cargo".to_owned()) }).unwrap();
    assert_eq!(last_output(&bench), "The user rejected this and says: use cargo");
    let mut bench = asking_edit(false);
    check(
        &bench.answer(Choice::Text("not there".to_owned())).unwrap(),
        expect!["ask_closed hunk_decided tool_finished"],
    );
    assert_eq!(last_output(&bench), "The user rejected this and says: not there");
}

#[test]
fn s02_a_null_or_unknown_answer_is_never_an_approval() {
    let mut bench = asking_command();
    assert!(matches!(bench.answer(option("yes please")), Err(Refusal::AnswerInvalid(_))));
    assert!(matches!(bench.answer(option("")), Err(Refusal::AnswerInvalid(_))));
    assert!(matches!(bench.answer(Choice::Text("  ".to_owned())), Err(Refusal::AnswerInvalid(_))));
    assert!(bench.session.has_blocking_ask());
}

#[test]
fn s54_the_first_answer_wins_and_later_ones_get_the_winner() {
    let mut bench = asking_command();
    let ask = bench.session.open_asks().next().unwrap().id.clone();
    bench.answer(option("reject")).unwrap();
    let late = Input::Answer(Answer {
        ask,
        choice: option("allow"),
        surface: "late".to_owned(),
        consent: None,
        budget: None,
    });
    let Err(Refusal::AlreadyResolved(Resolution::Selected { option_id, .. })) = bench.input(late) else {
        panic!("a late answer gets the winner")
    };
    assert_eq!(option_id, "reject");
}

#[test]
fn s54_a_restart_keeps_the_ask_when_the_world_is_as_it_was_and_replaces_it_when_not() {
    let mut bench = asking_command();
    check(&bench.input(Input::Opened { epoch: 2 }).unwrap(), expect!["session_opened"]);
    assert_eq!(view(&bench.session).state, State::RequiresAction);
    assert!(!next_steps(&bench.session).iter().any(|step| matches!(step, Step::DeliverAsk { .. })));
    check(&bench.report(is_prepare, command()), expect!["ask_reobserved"]);
    assert!(next_steps(&bench.session).iter().any(|step| matches!(step, Step::DeliverAsk { .. })));
    check(&bench.answer(option("allow")).unwrap(), expect!["ask_closed tool_started"]);

    let mut bench = asking_command();
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    let other = super::prepared_as(Payload::Command {
        line: "make test".to_owned(),
        cwd: "/ws".to_owned(),
        timeout_seconds: 60,
        binding: "another shell".to_owned(),
    });
    check(&bench.report(is_prepare, other), expect!["ask_closed call_prepared ask_opened"]);
}

#[test]
fn a6_always_allows_exactly_this_line_in_this_directory() {
    let mut bench = asking_command();
    check(&bench.answer(option("allow_always")).unwrap(), expect!["ask_closed rule_added tool_started"]);
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    check(&bench.report(is_prepare, command()), expect!["call_prepared tool_started"]);
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    let elsewhere = super::prepared_as(Payload::Command {
        line: "make test".to_owned(),
        cwd: "/ws/sub".to_owned(),
        timeout_seconds: 60,
        binding: "b".to_owned(),
    });
    check(&bench.report(is_prepare, elsewhere), expect!["call_prepared ask_opened"]);
}

#[test]
fn a6_a_command_with_a_substitution_is_asked_about_each_time() {
    for line in ["echo $(date)", "rm `cat list`", "diff <(ls a) b", "tee >(wc)"] {
        let mut bench = Bench::new();
        bench.prompt("go").unwrap();
        bench.reply("", &[("run_command", &format!("{{\"command\":{line:?}}}"))]);
        let payload = Payload::Command {
            line: line.to_owned(),
            cwd: "/ws".to_owned(),
            timeout_seconds: 60,
            binding: "b".to_owned(),
        };
        bench.report(is_prepare, super::prepared_as(payload));
        let ask = bench.session.open_asks().next().expect("it is asked");
        let ids: Vec<&str> = ask.options.iter().map(|option| option.option_id.as_str()).collect();
        assert_eq!(ids, ["allow", "reject"], "{line}");
        assert!(matches!(bench.answer(option("allow_always")), Err(Refusal::AnswerInvalid(_))), "{line}");
    }
}

#[test]
fn s03_an_edit_asks_is_decided_by_hunk_and_applied() {
    let mut bench = asking_edit(false);
    check(&bench.answer(option("allow")).unwrap(), expect!["ask_closed hunk_decided apply_started"]);
    let landed = super::edited(&bench, super::landed());
    check(&bench.report(is_tool, landed), expect!["applied tool_finished"]);
}

#[test]
fn n05_an_edit_in_doubt_is_settled_after_its_call() {
    let mut bench = asking_edit(true);
    bench.answer(option("allow")).unwrap();
    let outcome = super::EditOutcome::NotApplied { why: "it is silent".to_owned(), in_doubt: true };
    let in_doubt = super::edited(&bench, outcome);
    check(&bench.report(is_tool, in_doubt), expect!["tool_finished"]);
    assert!(next_steps(&bench.session).iter().any(|step| matches!(step, Step::Settle { .. })));
}

#[test]
fn n05_an_edit_that_was_refused_is_told_once() {
    let mut bench = asking_edit(true);
    bench.answer(option("allow")).unwrap();
    let outcome = super::EditOutcome::NotApplied { why: "it was refused".to_owned(), in_doubt: false };
    let refused = super::edited(&bench, outcome);
    check(&bench.report(is_tool, refused), expect!["settled tool_finished"]);
    assert!(bench.session.unsettled().next().is_none());
    let run = bench.session.open_run().unwrap();
    assert!(run.pending.is_empty(), "the call's output says it already: {:?}", run.pending);
}

#[test]
fn n05_an_edit_applied_in_part_has_hunks_of_both_kinds() {
    let mut bench = asking_edit(true);
    bench.answer(option("allow")).unwrap();
    let partly = super::edited(&bench, super::EditOutcome::Partly { landed: vec!["h1".to_owned()] });
    check(&bench.report(is_tool, partly), expect!["applied settled tool_finished"]);
    let state = bench.session.changes.values().next().unwrap();
    assert_eq!(state.hunks["h1"], crate::session::HunkState::Applied);
}

#[test]
fn s91_cancel_while_an_edit_is_on_its_way_settles_it_by_the_text() {
    let mut bench = asking_edit(true);
    bench.answer(option("allow")).unwrap();
    check(&bench.input(Input::Cancel { run: None }).unwrap(), expect!["tool_finished run_ended"]);
    let steps = next_steps(&bench.session);
    assert!(matches!(steps[..], [Step::Settle { .. }]), "{steps:?}");
    let events = bench.report(|step| matches!(step, Step::Settle { .. }), Report::Settled(EditCheck::Landed));
    check(&events, expect!["settled"]);
    assert!(next_steps(&bench.session).is_empty());
    let note = format!("{:?}", bench.session.history.last());
    assert!(note.contains("is in the file"), "{note}");
}

#[test]
fn s05_a_killed_run_is_resumable_and_goes_on_as_the_same_run() {
    let mut bench = asking_command();
    bench.answer(option("allow")).unwrap();
    let run = bench.session.open_run().unwrap().id.clone();
    let events = bench.input(Input::Opened { epoch: 2 }).unwrap();
    check(&events, expect!["session_opened tool_finished ask_opened"]);
    assert!(last_output(&bench).contains("outcome is unknown"));
    assert_eq!(view(&bench.session).state, State::Resumable);
    // Nothing runs, but the ask to resume is delivered, because some users do not look for it.
    assert!(matches!(next_steps(&bench.session)[..], [Step::DeliverAsk { .. }]));
    check(&bench.answer(option("resume")).unwrap(), expect!["ask_closed"]);
    assert_eq!(bench.session.open_run().unwrap().id, run);
    assert_eq!(next_steps(&bench.session), [Step::CallModel { turn: 2, attempt: 1 }]);
}

#[test]
fn s05_a_discarded_run_is_cancelled() {
    let mut bench = asking_command();
    bench.answer(option("allow")).unwrap();
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    check(&bench.answer(option("discard")).unwrap(), expect!["ask_closed run_ended"]);
}

#[test]
fn l6_an_edit_cut_short_on_a_closed_file_is_finished_under_the_same_approval() {
    let mut bench = asking_edit(false);
    bench.answer(option("allow")).unwrap();
    check(&bench.input(Input::Opened { epoch: 2 }).unwrap(), expect!["session_opened ask_opened"]);
    bench.answer(option("resume")).unwrap();
    let landed = super::edited(&bench, super::landed());
    check(&bench.report(is_tool, landed), expect!["applied tool_finished"]);
}

#[test]
fn l6_an_edit_cut_short_in_an_open_buffer_is_closed_and_settled() {
    let mut bench = asking_edit(true);
    bench.answer(option("allow")).unwrap();
    check(
        &bench.input(Input::Opened { epoch: 2 }).unwrap(),
        expect!["session_opened tool_finished ask_opened"],
    );
    let steps = next_steps(&bench.session);
    assert!(matches!(steps[..], [Step::Settle { .. }, Step::DeliverAsk { .. }]), "{steps:?}");
}

#[test]
fn s96_partial_text_survives_a_kill_as_interrupted() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    bench.report(is_model, Report::ReplyStarted);
    bench.report(is_model, Report::ReplyPartial { text: "I will".to_owned(), reasoning: String::new() });
    check(
        &bench.input(Input::Opened { epoch: 2 }).unwrap(),
        expect!["session_opened attempt_failed ask_opened"],
    );
    assert_eq!(bench.session.open_run().unwrap().turn.as_ref().unwrap().partial, "I will");
}

#[test]
fn finding_f2_a_prompt_that_resumes_a_killed_run_is_in_the_very_next_request() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    check(&bench.prompt("but only the docs").unwrap(), expect!["ask_closed prompted"]);
    let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("it goes on") };
    check(&bench.input(Input::Woke(wake.clone())).unwrap(), expect!["turn_started"]);
    let last = bench.session.history.last().unwrap();
    assert_eq!(*last, ModelMessage::prompt("but only the docs"));
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn finding_f2_what_is_said_while_a_retry_waits_goes_with_the_retry() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    check(&bench.report(is_model, failure(FailureClass::Overloaded)), expect!["attempt_failed"]);
    bench.prompt("but only the docs").unwrap();
    let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("it waits") };
    check(&bench.input(Input::Woke(wake.clone())).unwrap(), expect!["turn_started"]);
    assert_eq!(*bench.session.history.last().unwrap(), ModelMessage::prompt("but only the docs"));
}

#[test]
fn s04_s23_completion_is_a_fact_beside_the_end_and_feedback_continues() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &[("task_complete", r#"{"summary":"all done"}"#)]);
    let complete = super::prepared_as(Payload::Complete { summary: "all done".to_owned() });
    let events = bench.report(is_prepare, complete);
    check(&events, expect!["call_prepared tool_finished completed run_ended ask_opened"]);
    let end = &bench.session.ended.back().unwrap().end;
    assert_eq!((end.outcome, end.summary.as_deref()), (Outcome::Completed, Some("all done")));
    assert_eq!(view(&bench.session).ask_kind, Some(AskKind::CompletionResult.into()));
    check(
        &bench.answer(Choice::Text("now the docs".to_owned())).unwrap(),
        expect!["ask_closed run_started prompted"],
    );
}

#[test]
fn s04_a_completed_session_that_is_reopened_says_so() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &[("task_complete", r#"{"summary":"ok"}"#)]);
    bench.report(is_prepare, super::prepared_as(Payload::Complete { summary: "ok".to_owned() }));
    check(&bench.input(Input::Opened { epoch: 2 }).unwrap(), expect!["session_opened ask_closed ask_opened"]);
    assert_eq!(view(&bench.session).ask_kind, Some(AskKind::ResumeCompletedTask.into()));
    check(&bench.input(Input::Opened { epoch: 3 }).unwrap(), expect!["session_opened"]);
    check(&bench.prompt("more").unwrap(), expect!["ask_closed run_started prompted"]);
}

#[test]
fn s04_s13_the_unattended_limit_is_an_ask_and_continuing_is_by_hand() {
    let unattended = Some(UnattendedPolicy { edit: true, command: true, max_requests: 1 });
    let mut bench = Bench::new();
    bench.prompt_with("go", Policy { unattended, ..Policy::default() }).unwrap();
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    check(&bench.report(is_prepare, command()), expect!["call_prepared tool_started"]);
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    check(&bench.report(is_model, Report::TurnBegan), expect!["run_ended ask_opened"]);
    assert_eq!(view(&bench.session).ask_kind, Some(AskKind::AutoApprovalMaxReqReached.into()));
    bench.answer(option("continue")).unwrap();
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    check(&bench.report(is_prepare, command()), expect!["call_prepared ask_opened"]);
}

#[test]
fn l03_a_denial_wins_over_unattended() {
    let policy = Policy {
        unattended: Some(UnattendedPolicy { edit: true, command: true, max_requests: 9 }),
        deny: vec!["run_command".to_owned()],
        ..Policy::default()
    };
    let mut bench = Bench::new();
    bench.prompt_with("go", policy).unwrap();
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    check(&bench.report(is_prepare, command()), expect!["call_prepared tool_finished"]);
    assert!(last_output(&bench).starts_with("Denied"));
}

#[test]
fn s22_a_question_takes_an_option_or_a_text() {
    for (choice, said) in [
        (option("option-2"), "The user answered: tabs"),
        (Choice::Text("both".to_owned()), "The user answered: both"),
    ] {
        let mut bench = Bench::new();
        bench.prompt("go").unwrap();
        bench.reply("", &[("ask_user", r#"{"question":"which?"}"#)]);
        let question = Payload::Question {
            question: "which?".to_owned(),
            options: vec!["spaces".to_owned(), "tabs".to_owned()],
        };
        check(&bench.report(is_prepare, super::prepared_as(question)), expect!["call_prepared ask_opened"]);
        assert_eq!(view(&bench.session).ask_kind, Some(AskKind::Followup.into()));
        bench.answer(choice).unwrap();
        assert_eq!(last_output(&bench), said);
    }
}

#[test]
fn s21_s22_fail_ends_the_run_with_its_reason() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &[("fail", r#"{"reason":"no compiler"}"#)]);
    let fail = super::prepared_as(Payload::Fail { reason: "no compiler".to_owned() });
    check(&bench.report(is_prepare, fail), expect!["call_prepared tool_finished run_ended"]);
    let end = &bench.session.ended.back().unwrap().end;
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Failed, StopReason::GaveUp));
}

#[test]
fn s21_each_way_a_reply_can_end_a_run_has_its_own_stop_reason() {
    for (stop, outcome, reason) in [
        (StopCause::EndTurn, Outcome::Stopped, StopReason::EndTurn),
        (StopCause::MaxTokens, Outcome::Stopped, StopReason::MaxTokens),
        (StopCause::Refusal, Outcome::Failed, StopReason::Refusal),
    ] {
        let mut bench = Bench::new();
        bench.prompt("go").unwrap();
        bench.report(is_model, Report::TurnBegan);
        let answer = Reply { text: "…".to_owned(), stop, ..Reply::default() };
        bench.report(is_model, Report::Replied(answer));
        let end = &bench.session.ended.back().unwrap().end;
        assert_eq!((end.outcome, end.stop_reason), (outcome, reason));
    }
}

#[test]
fn g3_the_calls_of_a_cut_reply_do_not_run() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    let mut cut = reply("", &[("run_command", r#"{"command":"rm -rf buil"#)]);
    cut.stop = StopCause::MaxTokens;
    check(&bench.report(is_model, Report::Replied(cut)), expect!["replied call_opened tool_finished"]);
    assert_eq!(next_steps(&bench.session), [Step::CallModel { turn: 2, attempt: 1 }]);
}

#[test]
fn s111_arguments_beyond_the_limit_are_refused_to_the_model_and_not_kept() {
    let large = format!(r#"{{"path":"a","content":"{}"}}"#, "x".repeat(7 << 20));
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    let events = bench.reply("", &[("write_file", &large), ("write_file", &large), ("read_file", "{}")]);
    check(&events, expect!["replied call_opened call_opened tool_finished call_opened"]);
    // The result of the second call enters the history only after that of the first.
    bench.report(is_prepare, Report::Finished(done(CallEnd::Failed)));
    assert!(last_output(&bench).contains("may have 12582912"), "{}", last_output(&bench));
    let Some(ModelMessage::Assistant { reply }) = bench.session.history.iter().rev().nth(2) else {
        panic!("the reply is kept")
    };
    let sizes: Vec<bool> = reply.calls.iter().map(|call| call.arguments.len() > 100).collect();
    assert_eq!(sizes, [true, false, false]);
}

#[test]
fn s28_a_prompt_during_a_run_steers_it_and_the_run_does_not_end_before_it_is_seen() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    check(&bench.prompt("and tidy up").unwrap(), expect!["prompted"]);
    // The key of the running step is the same, so the reply in flight is not cut.
    assert_eq!(next_steps(&bench.session), [Step::CallModel { turn: 1, attempt: 1 }]);
    check(&bench.report(is_model, Report::Replied(reply("done", &[]))), expect!["replied"]);
    bench.reply("tidied", &[]);
    assert!(bench.session.open_run().is_none());
    let texts: Vec<String> = bench.session.history.iter().map(|message| format!("{message:?}")).collect();
    assert!(texts[2].contains("and tidy up"), "{texts:#?}");
}

#[test]
fn s28_p08_a_steer_with_the_wrong_run_is_refused() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    let wrong = Prompt { expected_run: Some("run-other".into()), ..super::prompt("x") };
    assert!(matches!(bench.input(Input::prompted(wrong)), Err(Refusal::RunMismatch { open: Some(_) })));
}

#[test]
fn s06_a_long_command_opens_a_question_that_blocks_nothing_and_can_stop_it() {
    let mut bench = asking_command();
    bench.answer(option("allow")).unwrap();
    let Some(Step::Wake(wake)) = next_steps(&bench.session).pop() else { panic!("a wake is wanted") };
    check(&bench.input(Input::Woke(wake.clone())).unwrap(), expect!["ask_opened"]);
    assert_eq!(view(&bench.session).state, State::Running);
    assert!(next_steps(&bench.session).iter().any(is_tool));
    check(&bench.answer(option("abort")).unwrap(), expect!["ask_closed tool_finished"]);
    assert!(!next_steps(&bench.session).iter().any(is_tool));

    let mut bench = asking_command();
    bench.answer(option("allow")).unwrap();
    let Some(Step::Wake(wake)) = next_steps(&bench.session).pop() else { panic!("a wake is wanted") };
    bench.input(Input::Woke(wake.clone())).unwrap();
    check(&bench.answer(option("continue")).unwrap(), expect!["ask_closed"]);
    assert!(next_steps(&bench.session).iter().any(is_tool));
    assert!(!next_steps(&bench.session).iter().any(|step| matches!(step, Step::Wake(_))));
}

#[test]
fn s39_a_tool_the_mode_hides_is_refused_even_if_called() {
    let policy = Policy { mode: crate::record::Mode::Ask, ..Policy::default() };
    let mut bench = Bench::new();
    bench.prompt_with("go", policy).unwrap();
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    check(&bench.report(is_prepare, command()), expect!["call_prepared tool_finished"]);
}

#[test]
fn s07_streaming_is_entered_and_left_once_per_attempt() {
    let mut bench = Bench::new();
    let sub = |bench: &Bench| view(&bench.session).sub;
    let policy =
        Policy { retry: RetryPolicy { base_ms: 1, cap_ms: 1, max_attempts: 2 }, ..Policy::default() };
    bench.prompt_with("go", policy).unwrap();
    bench.report(is_model, Report::TurnBegan);
    assert_eq!(sub(&bench), Some(SubState::Model));
    bench.report(is_model, Report::ReplyStarted);
    assert_eq!(sub(&bench), Some(SubState::Streaming));
    let step = next_steps(&bench.session).into_iter().find(is_model).unwrap();
    assert_eq!(bench.input(Input::Step { step, report: Report::ReplyStarted }), Err(Refusal::Stale));
    bench.report(is_model, failure(FailureClass::Broken));
    assert_eq!(sub(&bench), Some(SubState::Retrying));
    let first = bench.session.open_run().unwrap().turn.as_ref().unwrap().message.clone();
    let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("back-off is a wake") };
    bench.input(Input::Woke(wake.clone())).unwrap();
    assert_eq!(sub(&bench), Some(SubState::Model));
    bench.report(is_model, Report::ReplyStarted);
    assert_eq!(sub(&bench), Some(SubState::Streaming));
    // The next attempt replaces the item under the same id.
    assert_eq!(bench.session.open_run().unwrap().turn.as_ref().unwrap().message, first);
    bench.report(is_model, Report::Replied(reply("", &[("run_command", r#"{"command":"make test"}"#)])));
    assert_eq!(sub(&bench), Some(SubState::Preparing));
}
