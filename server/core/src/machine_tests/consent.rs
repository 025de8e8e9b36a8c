//! Consent and rules over the life of a session: where they come from, and until when they count.

use expect_test::expect;

use super::stories::{check, command, last_output};
use super::{Bench, done, is_model, is_prepare, is_tool, option};
use crate::machine::input::{Answer, Choice, Input, Preparation, Prospect, Report};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::policy::cause::Cause;
use crate::policy::observation::{FileClass, ObservedPath};
use crate::record::{AskKind, CallEnd, Event, Payload, Policy, UnattendedPolicy};
use crate::wire::state::view;

#[test]
fn finding_b1_consent_ends_with_the_process_that_gave_it() {
    let unattended = Some(UnattendedPolicy { edit: true, command: true, max_requests: 9 });
    let begin = || {
        let mut bench = Bench::new();
        bench.prompt_with("go", Policy { unattended, ..Policy::default() }).unwrap();
        bench
    };
    let asks = |bench: &mut Bench| {
        bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
        check(&bench.report(is_prepare, command()), expect!["call_prepared ask_opened"]);
    };
    // Another process resumes it.
    let mut bench = begin();
    let opened = bench.input(Input::Opened { epoch: 2 }).unwrap();
    check(&opened, expect!["session_opened rules_changed ask_opened"]);
    check(&bench.answer(option("resume")).unwrap(), expect!["ask_closed"]);
    asks(&mut bench);
    assert_eq!(bench.replayed(), bench.session);
    // A call that was not judged before is also judged without the consent.
    let mut bench = begin();
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    bench.answer(option("resume")).unwrap();
    check(&bench.report(is_prepare, command()), expect!["call_prepared ask_opened"]);
    // A run that continues after a failure has no consent, even in the same process: another surface may have answered.
    for (report, choice) in [("retry", option("retry")), ("wait", option("wait"))] {
        let mut bench = begin();
        bench.report(is_model, Report::TurnBegan);
        let failure =
            CallFailure { class: FailureClass::Auth, message: "no".to_owned(), retry_after_ms: None };
        bench.report(is_model, Report::CallFailed(failure));
        let going = bench.answer(choice).unwrap();
        let started = going.iter().find_map(|event| match event {
            Event::RunStarted { policy, .. } => Some(policy.unattended),
            _ => None,
        });
        assert_eq!(started, Some(None), "{report}");
    }
    // The same after too many failures in a row, with a text of the user as the answer.
    let mut bench = begin();
    for _ in 0..3 {
        bench.reply("", &[("nonsense", "{}")]);
        bench.report(is_prepare, super::refused(Cause::Other, "no such tool"));
    }
    assert_eq!(view(&bench.session).ask_kind, Some(AskKind::MistakeLimitReached.into()));
    bench.answer(Choice::Text("try make".to_owned())).unwrap();
    asks(&mut bench);
}

#[test]
fn finding_b1_consent_that_is_given_again_counts() {
    let unattended = Some(UnattendedPolicy { edit: true, command: true, max_requests: 9 });
    let runs = |bench: &mut Bench| {
        bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
        check(&bench.report(is_prepare, command()), expect!["call_prepared tool_started"]);
    };
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    let ask = bench.session.open_asks().next().unwrap().id.clone();
    let answer = Answer {
        ask,
        choice: option("resume"),
        surface: "test".to_owned(),
        consent: unattended,
        budget: None,
    };
    check(&bench.input(Input::Answer(answer)).unwrap(), expect!["ask_closed rules_changed"]);
    runs(&mut bench);
    // A prompt that resumes an interrupted run can also give consent.
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    let again = bench.prompt_with("go on", Policy { unattended, ..Policy::default() }).unwrap();
    check(&again, expect!["ask_closed rules_changed prompted"]);
    check(&bench.prompt("and then").unwrap(), expect!["prompted"]);
    runs(&mut bench);
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn finding_b1_deny_rules_of_now_join_those_of_then_at_each_verdict() {
    let unattended = Some(UnattendedPolicy { edit: true, command: true, max_requests: 9 });
    let now = || Input::Denials(vec!["run_command(make*)".to_owned(), "run_command(rm*)".to_owned()]);
    let mut bench = Bench::new();
    assert!(bench.input(now()).is_err(), "no run is open");
    let deny = vec!["run_command(rm*)".to_owned()];
    bench.prompt_with("go", Policy { unattended, deny, ..Policy::default() }).unwrap();
    check(&bench.input(now()).unwrap(), expect!["rules_changed"]);
    let policy = &bench.session.open_run().unwrap().policy;
    assert_eq!(policy.deny, ["run_command(rm*)", "run_command(make*)"]);
    assert_eq!(policy.unattended, unattended, "consent is another matter");
    assert!(bench.input(now()).is_err(), "nothing in them is new");
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    check(&bench.report(is_prepare, command()), expect!["call_prepared tool_finished"]);
    assert!(last_output(&bench).starts_with("Denied"));
    assert!(bench.input(Input::Denials(Vec::new())).is_err(), "a rule that is gone from the settings stays");

    // A rule that is added between an ask and its answer.
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    bench.report(is_prepare, command());
    bench.input(now()).unwrap();
    check(&bench.answer(option("allow_always")).unwrap(), expect!["ask_closed tool_finished"]);
    assert!(last_output(&bench).starts_with("Denied"));

    // A rule that is added while an ask waits after a restart: the ask is not opened again.
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &[("run_command", r#"{"command":"make test"}"#)]);
    bench.report(is_prepare, command());
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    bench.input(now()).unwrap();
    check(&bench.report(is_prepare, command()), expect!["ask_closed call_prepared tool_finished"]);
}

#[test]
fn finding_b10_an_answer_of_an_older_log_covers_no_script() {
    let line = |line: &str| {
        super::prepared_as(Payload::Command {
            line: line.to_owned(),
            cwd: "/ws".to_owned(),
            timeout_seconds: 9,
            binding: "b".to_owned(),
        })
    };
    let (asks, runs) = ("call_prepared ask_opened", "call_prepared tool_started");
    for (command, follows) in [
        ("sh x.sh", asks),
        ("fakeroot ./x.sh", asks),
        ("make SHELL=./x", asks),
        ("printf -v PATH .", asks),
        ("some-tool x", asks),
        ("make x", runs),
    ] {
        let mut bench = Bench::new();
        bench.prompt("go").unwrap();
        bench.reply("", &[("run_command", r#"{"command":"x"}"#)]);
        let opened = bench.report(is_prepare, line(command));
        let offered = opened.iter().any(|event| match event {
            Event::AskOpened { ask } => ask.options.iter().any(|option| option.option_id == "allow_always"),
            _ => false,
        });
        assert_eq!(offered, command == "make x");
        bench.answer(option("allow")).unwrap();
        bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
        // As a log of 0.1 has it.
        let rule = crate::record::Rule::Command { line: command.to_owned(), cwd: "/ws".to_owned() };
        bench.record(Event::RuleAdded { rule });
        bench.reply("", &[("run_command", r#"{"command":"x"}"#)]);
        assert_eq!(super::names(&bench.report(is_prepare, line(command))), follows);
    }
}

#[test]
fn finding_b2_what_is_denied_for_a_reason_of_its_own_is_told_with_that_reason() {
    let mut bench = Bench::new();
    let policy = Policy { deny: vec!["read_file(private/**)".to_owned()], ..Policy::default() };
    bench.prompt_with("go", policy).unwrap();
    bench.reply("", &[("edit_file", r#"{"path":".git/config","old_text":"x","new_text":"y"}"#)]);
    let seen =
        ObservedPath { write_class: Some(FileClass::VersionControl), ..ObservedPath::inside(".git/config") };
    let prepared = Preparation { seen: Some(seen), ..Preparation::with(Prospect::Forbidden) };
    let events = bench.report(is_prepare, Report::Prepared(Box::new(prepared)));
    let Some(Event::ToolFinished { result, .. }) = events.last() else { panic!("{events:?}") };
    assert!(
        result.summary.starts_with("denied: \".git/config\" is protected: it belongs to version control")
    );
}
