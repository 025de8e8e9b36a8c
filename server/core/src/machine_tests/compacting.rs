//! Stories of long conversations: what stays, what is replaced, and what happens when that fails.

use std::collections::BTreeMap;

use super::{Bench, done, is_model, is_prepare, is_tool, names, read_of};
use crate::machine::input::{CompactRequest, Input, Report};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::machine::step::{Step, next_steps};
use crate::policy::observation::ObservedPath;
use crate::prompt::message::{GenerationSettings, ModelMessage, Reply, Usage};
use crate::prompt::models::known;
use crate::prompt::request;
use crate::prompt::words::SUMMARISE;
use crate::record::{
    Budget, BudgetPolicy, CallEnd, CallResult, CompactPolicy, ContextPolicy, Event, Mode, Money, Payload,
    PlanStep, Policy, Price, StepStatus,
};
use crate::session::compactions::CacheBreak;
use crate::session::run::{SessionState, SubState};

const WINDOW: u32 = 20_000;
/// About 1 000 tokens.
const OUTPUT: &str = "the quick brown fox jumps over\n";

fn is_compact(step: &Step) -> bool {
    matches!(step, Step::Compact { .. })
}

fn is_context(step: &Step) -> bool {
    matches!(step, Step::ReadContext { .. })
}

fn policy() -> Policy {
    let windows = BTreeMap::from([("scripted/demo".to_owned(), WINDOW)]);
    let context =
        ContextPolicy { windows, off: Vec::new(), compact: Default::default(), summary_model: None };
    Policy { context: Some(context), ..Policy::default() }
}

/// A run with a small window that has read the texts of its prompt.
fn begun(prompt: &str) -> Bench {
    let mut bench = Bench::new();
    bench.prompt_with(prompt, policy()).unwrap();
    bench.report(is_context, Report::ContextRead(Vec::new()));
    bench
}

/// One turn that reads a file with an output of about so many thousand tokens.
fn read(bench: &mut Bench, name: &str, thousands: usize) -> Vec<Event> {
    let events =
        bench.reply(&format!("I look at {name}"), &[("read_file", &format!(r#"{{"path":"{name}"}}"#))]);
    bench.report(is_prepare, read_of(ObservedPath::inside(name)));
    let output = OUTPUT.repeat(155 * thousands);
    let result = CallResult { output: output.into(), ..done(CallEnd::Completed) };
    bench.report(is_tool, Report::Finished(result));
    events
}

/// One turn in which the model says about a thousand tokens, which never become a placeholder. Returns whether the turn was one of
/// the work: otherwise a compaction has begun.
fn talk(bench: &mut Bench, name: &str) -> bool {
    begins_turn(bench);
    if compacts(bench) {
        return false;
    }
    let text = format!("I look at {name}. {}", OUTPUT.repeat(155));
    bench.report(is_model, Report::Replied(super::reply(&text, &[("read_file", &path(name))])));
    bench.report(is_prepare, read_of(ObservedPath::inside(name)));
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    true
}

/// Turns until a compaction begins; returns how many.
fn fill(bench: &mut Bench) -> usize {
    (0..100).find(|number| !talk(bench, &format!("f{number}.rs"))).expect("a compaction begins")
}

fn compacts(bench: &Bench) -> bool {
    next_steps(&bench.session).iter().any(is_compact)
}

fn path(name: &str) -> String {
    format!(r#"{{"path":"{name}"}}"#)
}

fn summary() -> Reply {
    let headings = SUMMARISE.lines().filter(|line| line.starts_with("## "));
    let text = headings.map(|heading| format!("{heading}\nwhat was there")).collect::<Vec<_>>().join("\n");
    let usage = Some(Usage { input_tokens: 9_000, output_tokens: 100, ..Usage::default() });
    Reply { text, usage, ..Reply::default() }
}

fn failed(class: FailureClass) -> Report {
    Report::CallFailed(CallFailure { class, message: "no".to_owned(), retry_after_ms: None })
}

fn begins_turn(bench: &mut Bench) -> Vec<Event> {
    bench.report(is_model, Report::TurnBegan)
}

/// The texts of the next request.
fn texts(bench: &Bench) -> String {
    let request = request(&bench.session, "demo", Mode::Code, &known("demo"));
    let text = |message: &ModelMessage| match message {
        ModelMessage::User { text, .. } => format!("user: {text}\n"),
        ModelMessage::Assistant { reply } => format!("model: {} {:?}\n", reply.text, reply.calls),
        ModelMessage::Tool { output, .. } => format!("output: {output}\n"),
    };
    request.messages.iter().map(text).collect()
}

#[test]
fn s66_at_60_percent_the_middle_is_summarised_and_the_first_prompt_and_the_last_turns_stay() {
    let mut bench = begun("Fix the parser, and never touch vendor/.");
    let turns = fill(&mut bench);
    assert_eq!(bench.session.current_state(), (SessionState::Running, Some(SubState::Compacting)));
    let before = bench.session.tokens.fill(&bench.session.history);
    assert!((12_000..14_000).contains(&before), "{before} of {WINDOW}");

    let events = bench.report(is_compact, Report::Replied(summary()));

    assert_eq!(names(&events), "compacted");
    let after = bench.session.tokens.fill(&bench.session.history);
    assert!(after * 10 < before * 7, "{before} -> {after}");
    begins_turn(&mut bench);
    let sent = texts(&bench);
    assert!(sent.starts_with("user: Fix the parser"), "{sent}");
    assert!(sent.contains("what was there"), "L08: the summary is in the next request: {sent}");
    assert!(
        sent.contains(&format!("I look at f{}.rs.", turns - 1)) && !sent.contains("I look at f1.rs."),
        "{sent}"
    );
    let turn = bench.session.open_run().unwrap().turn.as_ref().unwrap();
    assert_eq!(turn.cache_break, Some(CacheBreak::History));
}

#[test]
fn s66_need_13_what_the_user_said_and_the_plan_stay_word_for_word_over_several_compactions() {
    let mut bench = begun("Fix the parser, and never touch vendor/.");
    bench.input(Input::prompted(super::prompt("And keep \u{201c}old\u{201d} names."))).unwrap();
    let plan =
        r#"{"plan":[{"step":"Find it","status":"completed"},{"step":"Fix it","status":"in_progress"}]}"#;
    bench.reply("", &[("update_plan", plan)]);
    let steps = vec![PlanStep { text: "Fix it".to_owned(), status: StepStatus::InProgress }];
    bench.report(is_prepare, super::prepared_as(Payload::Plan { steps }));
    for _ in 0..3 {
        fill(&mut bench);
        assert_eq!(names(&bench.report(is_compact, Report::Replied(summary()))), "compacted");
    }
    let sent = texts(&bench);
    for words in [
        "Fix the parser, and never touch vendor/.",
        "And keep \u{201c}old\u{201d} names.",
        "Fix it (in_progress)",
    ] {
        assert!(sent.contains(words), "{words} is not in {sent}");
    }
    assert_eq!(sent.matches("Fix the parser").count(), 1, "once: {sent}");
}

#[test]
fn s65_old_large_outputs_become_placeholders_in_one_batch_and_the_last_three_stay() {
    let mut bench = begun("Look around.");
    for number in 0..8 {
        read(&mut bench, &format!("f{number}.rs"), 1);
    }
    let events = begins_turn(&mut bench);

    assert_eq!(names(&events), "outputs_cleared turn_started");
    let sent = texts(&bench);
    assert_eq!(sent.matches("[left out to save room: ").count(), 5, "{sent}");
    assert_eq!(sent.matches("The same call shows what is there now").count(), 5);
    // Between two compactions nothing that was sent changes.
    bench.report(is_model, Report::Replied(super::reply("x", &[("read_file", r#"{"path":"g"}"#)])));
    bench.report(is_prepare, read_of(ObservedPath::inside("g")));
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    assert_eq!(names(&begins_turn(&mut bench)), "turn_started");
    assert!(texts(&bench).starts_with(&sent));
}

#[test]
fn s67_a_conversation_that_the_provider_refuses_is_compacted_more_each_time_then_cut_then_asked_about() {
    let mut bench = begun("Look around.");
    for number in 0..4 {
        assert!(talk(&mut bench, &format!("f{number}.rs")));
    }
    begins_turn(&mut bench);
    let events = bench.report(is_model, failed(FailureClass::ContextExceeded));
    assert_eq!(names(&events), "turn_failed turn_started");
    assert_eq!(names(&bench.report(is_compact, Report::Replied(summary()))), "compacted");
    assert!(texts(&bench).contains("I look at f3.rs.") && !texts(&bench).contains("I look at f0.rs."));

    // The provider still refuses it. The request for the next summary is refused as well, so no model is asked again.
    begins_turn(&mut bench);
    assert_eq!(
        names(&bench.report(is_model, failed(FailureClass::ContextExceeded))),
        "turn_failed turn_started"
    );
    let events = bench.report(is_compact, failed(FailureClass::ContextExceeded));
    assert_eq!(names(&events), "turn_failed compacted turn_started");
    assert!(texts(&bench).contains("No model wrote a summary"), "{}", texts(&bench));
    let [_, Event::Compacted { compaction, after, .. }, _] = &events[..] else { panic!("{events:?}") };
    assert!(
        *after < compaction.before,
        "a request that is not shorter is refused again: {after}, {}",
        compaction.before
    );

    let events = bench.report(is_model, failed(FailureClass::ContextExceeded));
    assert_eq!(names(&events), "turn_failed run_ended ask_opened");
}

#[test]
fn s68_three_failed_summaries_in_a_row_are_replaced_by_a_list_and_a_success_forgives() {
    let mut bench = begun("Look around.");
    fill(&mut bench);
    let long = summary().text + &OUTPUT.repeat(155 * 20);
    let flaws = [
        ("I will not.", "heading"),
        ("## Goal\n## Done\n## Files\n## Decisions\n## Open\n", "## Next"),
        (long.as_str(), "longer"),
    ];
    for (text, flaw) in flaws {
        let reply = Report::Replied(Reply { text: text.to_owned(), ..Reply::default() });
        let events = bench.report(is_compact, reply);
        let [Event::SummaryFailed { why, .. }] = &events[..] else { panic!("{events:?}") };
        assert!(why.contains(flaw), "{why}");
        if flaw != "longer" {
            assert_eq!(names(&begins_turn(&mut bench)), "turn_started");
        }
    }

    assert_eq!(names(&begins_turn(&mut bench)), "compacted turn_started");

    assert!(texts(&bench).contains("You called: "), "{}", texts(&bench));
    bench.report(is_model, Report::Replied(super::reply("x", &[("read_file", &path("g"))])));
    bench.report(is_prepare, read_of(ObservedPath::inside("g")));
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    // The next compaction asks the model once more.
    fill(&mut bench);
    assert_eq!(bench.session.compacted.failures, 3);
    assert_eq!(names(&bench.report(is_compact, Report::Replied(summary()))), "compacted");
    assert_eq!(bench.session.compacted.failures, 0);
}

#[test]
fn s66_a_summary_that_names_none_of_the_files_of_the_work_counts_as_failed() {
    let mut bench = begun("Fix it.");
    assert!(talk(&mut bench, "f.rs"));
    let arguments = r#"{"path":"src/parser.rs","old_text":"x","new_text":"y"}"#;
    bench.reply("", &[("edit_file", arguments)]);
    bench.report(is_prepare, super::refused(crate::policy::cause::Cause::NotFound, "it is not there"));
    fill(&mut bench);
    let events = bench.report(is_compact, Report::Replied(summary()));
    let [Event::SummaryFailed { why, .. }] = &events[..] else { panic!("{events:?}") };
    assert!(why.contains("src/parser.rs"), "{why}");
    begins_turn(&mut bench);
    let named = Reply { text: summary().text + "\nparser.rs is next", ..summary() };
    assert_eq!(names(&bench.report(is_compact, Report::Replied(named))), "compacted");
}

#[test]
fn s75_a_request_leaves_room_for_the_reply_whatever_the_thresholds_say() {
    let mut bench = Bench::new();
    let mut policy = policy();
    if let Some(context) = &mut policy.context {
        context.compact = CompactPolicy { outputs_percent: 100, middle_percent: 100, all_percent: 100 };
    }
    bench.prompt_with("Look around.", policy).unwrap();
    bench.report(is_context, Report::ContextRead(Vec::new()));
    fill(&mut bench);
    let before = bench.session.tokens.fill(&bench.session.history);
    assert!((18_000..20_000).contains(&before), "a tenth of the window is not free any more: {before}");
}

#[test]
fn compaction_on_wish_runs_by_itself_and_the_session_is_idle_after_it() {
    let wanted = || {
        Input::Compact(CompactRequest {
            model: "scripted/demo".to_owned(),
            generation_settings: GenerationSettings::default(),
            policy: policy(),
        })
    };
    let mut bench = Bench::new();
    assert!(bench.input(wanted()).is_err(), "there is no conversation");
    let mut bench = begun("Look around.");
    for number in 0..3 {
        assert!(talk(&mut bench, &format!("f{number}.rs")));
    }
    bench.reply("Done.", &[]);
    assert_eq!(names(&bench.input(wanted()).unwrap()), "run_started");
    bench.report(is_context, Report::ContextRead(Vec::new()));
    begins_turn(&mut bench);
    let events = bench.report(is_compact, Report::Replied(summary()));
    assert_eq!(names(&events), "compacted run_ended");
    assert_eq!(bench.session.current_state().0, SessionState::Idle);

    // The second wish finds nothing to make smaller, and the run says so.
    bench.input(wanted()).unwrap();
    bench.report(is_context, Report::ContextRead(Vec::new()));
    let events = begins_turn(&mut bench);
    let [Event::RunEnded { summary: Some(text), .. }] = &events[..] else { panic!("{events:?}") };
    assert!(text.contains("nothing to compact"), "{text}");
}

#[test]
fn a_prompt_during_a_compaction_is_in_the_request_after_it() {
    let mut bench = begun("Look around.");
    fill(&mut bench);
    bench.input(Input::prompted(super::prompt("Only the docs, please."))).unwrap();
    bench.report(is_compact, Report::Replied(summary()));
    begins_turn(&mut bench);
    assert!(texts(&bench).ends_with("user: Only the docs, please.\n"));
}

/// A run whose summaries another model writes; its window is as large.
fn begun_with_summary_model(budget: BudgetPolicy) -> Bench {
    let mut bench = Bench::new();
    let mut policy = policy();
    if let Some(context) = &mut policy.context {
        context.summary_model = Some(SMALL.to_owned());
        context.windows.insert(SMALL.to_owned(), WINDOW);
    }
    policy.budget = budget.into();
    bench.prompt_with("Look around.", policy).unwrap();
    bench.report(is_context, Report::ContextRead(Vec::new()));
    bench
}

const SMALL: &str = "scripted/small";

fn called(bench: &Bench) -> String {
    bench.session.open_run().expect("it is open").called_model().to_owned()
}

#[test]
fn s66_another_model_writes_the_summary_and_the_work_keeps_its_own() {
    let price = Price { input: Money(1_000_000), ..Price::default() };
    let prices = [(SMALL.to_owned(), price)].into();
    let mut bench = begun_with_summary_model(BudgetPolicy { prices, ..BudgetPolicy::default() });
    fill(&mut bench);
    assert_eq!(called(&bench), SMALL);
    let usage = Some(Usage { input_tokens: 5_000, ..Usage::default() });
    bench.report(is_compact, Report::Replied(Reply { usage, ..summary() }));
    let run = bench.session.open_run().expect("it is open");
    assert_eq!(run.spent.cost_in("USD"), Money(5_000), "the price is that of the model that wrote");
    begins_turn(&mut bench);
    assert_eq!(called(&bench), "scripted/demo");
    let turn = bench.session.open_run().and_then(|run| run.turn.as_ref()).expect("a turn");
    assert_eq!(turn.cache_break, Some(CacheBreak::History), "the provider of the work saw no other model");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s66_the_work_goes_on_with_its_own_model_if_that_of_summaries_fails() {
    let mut bench = begun_with_summary_model(BudgetPolicy::default());
    fill(&mut bench);
    let events = bench.report(is_compact, failed(FailureClass::Auth));
    assert_eq!(names(&events), "summary_failed");
    begins_turn(&mut bench);
    assert_eq!(called(&bench), "scripted/demo");
    assert_eq!(names(&bench.report(is_compact, Report::Replied(summary()))), "compacted");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s66_p15_no_other_model_is_asked_whose_money_cannot_be_counted_or_whose_window_is_too_small() {
    let run = Budget { cost: Some(Money::of(1.0)), ..Budget::default() };
    let prices: std::collections::BTreeMap<_, _> = [("scripted/demo".to_owned(), Price::default())].into();
    let mut bench = begun_with_summary_model(BudgetPolicy { run, prices, ..BudgetPolicy::default() });
    fill(&mut bench);
    assert_eq!(called(&bench), "scripted/demo");
    let mut bench = begun_with_summary_model(BudgetPolicy::default());
    if let Some(context) = bench.session.run.as_mut().and_then(|run| run.policy.context.as_mut()) {
        context.windows.insert(SMALL.to_owned(), WINDOW / 4);
    }
    fill(&mut bench);
    assert_eq!(called(&bench), "scripted/demo");
}

#[test]
fn l08_a_window_that_is_too_small_for_the_work_is_said_after_three_useless_compactions() {
    let mut bench = begun("Look around.");
    let mut compactions = 0;
    for number in 0..60 {
        let began = begins_turn(&mut bench);
        compactions += usize::from(began.iter().any(|event| matches!(event, Event::Compacted { .. })));
        if bench.session.open_run().is_none() {
            break;
        }
        if compacts(&bench) {
            // It names no file, so it does not count.
            let reply = Reply { text: "I will not.".to_owned(), ..Reply::default() };
            bench.report(is_compact, Report::Replied(reply));
            continue;
        }
        // Each reply alone is too long.
        let text = format!("I look at f{number}.rs. {}", OUTPUT.repeat(155 * 19));
        bench.report(is_model, Report::Replied(super::reply(&text, &[("read_file", &path("f.rs"))])));
        bench.report(is_prepare, read_of(ObservedPath::inside("f.rs")));
        bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    }
    assert!(bench.session.open_run().is_none(), "it goes on for ever");
    assert!(compactions <= 4, "{compactions}");
    let ask = bench.session.open_asks().next().expect("an ask is open");
    assert!(
        ask.title.starts_with("The conversation stays too long for scripted/demo: about "),
        "{}",
        ask.title
    );
    assert_eq!(bench.replayed(), bench.session);
    // To try again tries again.
    bench.answer(super::option("retry")).unwrap();
    assert!(!bench.session.compacted.is_hopeless());
}
