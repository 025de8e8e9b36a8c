//! Asks that wait: the text changes meanwhile, or the ask answers itself after a time.

use adjutant_protocol::state::State;
use expect_test::expect;

use super::random::change;
use super::stories::{asking_edit, check, command, last_output};
use super::{Bench, is_prepare, is_tool, names, option};
use crate::machine::accept::Refusal;
use crate::machine::input::{Answer, ChangeNow, EditOutcome, Input, ReobservedChange, Report};
use crate::machine::step::{Step, Wake, WakeReason, next_steps};
use crate::policy::observation::ObservedPath;
use crate::record::{Event, FileChange, Payload, Policy};
use crate::wire::state::view;

#[test]
fn n04_an_edit_the_text_ran_away_from_is_shown_anew_three_times_at_most() {
    let mut bench = asking_edit(true);
    bench.input(Input::Answer(answer_of(&bench, "allow_always"))).unwrap();
    let again = |bench: &mut Bench| {
        let parts = bench.session.changes.values().next().unwrap().change.parts.clone();
        let outcome = EditOutcome::Overtaken {
            change: Box::new(FileChange { parts, ..change(true) }),
            seen: Box::new(ObservedPath {
                overtaken: Some("it moved".to_owned()),
                ..ObservedPath::inside("a")
            }),
            why: "it moved".to_owned(),
        };
        let report = super::edited(bench, outcome);
        bench.report(is_tool, report)
    };
    for _ in 0..2 {
        check(&again(&mut bench), expect!["file_change_proposed ask_opened"]);
        assert_eq!(view(&bench.session).state, State::RequiresAction, "no standing answer covers it");
        assert!(!next_steps(&bench.session).iter().any(is_tool));
        // After a restart `Prepare` runs again, and the user must still be asked.
        bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
        let mut other = change(true);
        std::sync::Arc::make_mut(&mut other.hunks)[0].inserted = vec!["other\n".to_owned()];
        let change_set = bench.session.live_changes().last().unwrap().change.change_set.clone();
        other.parts.clone_from(&bench.session.changes[&change_set].change.parts);
        let seen = Box::new(ObservedPath::inside("a"));
        let found = ChangeNow::Other { change: Box::new(other), seen };
        let report = Report::Reobserved(vec![ReobservedChange { change_set, found }]);
        let seen = bench.report(super::is_reobserve, report);
        assert!(seen.iter().any(|event| matches!(event, Event::AskOpened { .. })), "{}", names(&seen));
        bench.input(Input::Answer(answer_of(&bench, "allow"))).unwrap();
    }
    check(&again(&mut bench), expect!["settled tool_finished"]);
    assert_eq!(last_output(&bench), "The edit of a was not applied: it moved; read the file and try again.");
}

fn answer_of(bench: &Bench, option: &str) -> Answer {
    let ask = bench.session.open_asks().next().expect("an ask is open").id.clone();
    Answer { ask, choice: super::option(option), surface: "test".to_owned(), consent: None, budget: None }
}

/// Returns a bench whose model asks a question, with the setting that answers it after a time.
fn asking_by_time(options: &[&str]) -> Bench {
    let mut bench = Bench::new();
    let policy = Policy { followup_default_ms: Some(5_000), ..Policy::default() };
    bench.prompt_with("go", policy).unwrap();
    bench.reply("", &[("ask_user", r#"{"question":"which?"}"#)]);
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    bench
        .report(is_prepare, super::prepared_as(Payload::Question { question: "which?".to_owned(), options }));
    bench
}

fn wake(bench: &Bench) -> Option<Wake> {
    next_steps(&bench.session).into_iter().find_map(|step| match step {
        Step::Wake(wake) => Some(wake),
        _ => None,
    })
}

#[test]
fn s15_time_takes_the_first_suggestion_where_the_user_has_set_it_and_nothing_else() {
    let mut bench = asking_by_time(&["red", "blue"]);
    let ask = bench.session.open_asks().next().unwrap().clone();
    assert!(ask.description.unwrap().contains("without an answer within 5 s, \"red\" is taken"));
    let first = wake(&bench).unwrap();
    assert_eq!(first, Wake { at: ask.opened_at + 5_000, why: WakeReason::Unanswered { ask: ask.id } });
    let sooner = Wake { at: first.at - 1, ..first.clone() };
    assert_eq!(bench.input(Input::Woke(sooner)).unwrap_err(), Refusal::Stale);
    // After a restart `Prepare` runs again, and the question waits its whole time again.
    bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    let question = Payload::Question {
        question: "which?".to_owned(),
        options: vec!["red".to_owned(), "blue".to_owned()],
    };
    bench.report(is_prepare, super::prepared_as(question));
    let later = wake(&bench).unwrap();
    assert!(later.at > first.at);
    assert_eq!(bench.input(Input::Woke(first)).unwrap_err(), Refusal::Stale);
    check(&bench.input(Input::Woke(later)).unwrap(), expect!["ask_closed tool_finished"]);
    assert!(last_output(&bench).contains("the first answer you suggested was taken: red"));
    assert_eq!(bench.replayed(), bench.session);

    // A question without suggestions never answers itself, and no permission is ever given by time.
    assert_eq!(wake(&asking_by_time(&[])), None);
    let policy = || Policy { followup_default_ms: Some(1), ..Policy::default() };
    for (tool, arguments, report) in [
        ("run_command", r#"{"command":"make test"}"#, Some(command())),
        ("edit_file", r#"{"path":"a","old_text":"x","new_text":"y"}"#, None),
        ("read_file", r#"{"path":"/b"}"#, Some(super::read_of(ObservedPath::outside("/b")))),
    ] {
        let mut bench = Bench::new();
        bench.prompt_with("go", policy()).unwrap();
        bench.reply("", &[(tool, arguments)]);
        let report = report.unwrap_or_else(|| super::edit_of(&bench, change(true)));
        bench.report(is_prepare, report);
        assert!(bench.session.has_blocking_ask() && wake(&bench).is_none(), "{tool}");
    }
    // An answer in time wins.
    let mut bench = asking_by_time(&["red", "blue"]);
    let time = wake(&bench).unwrap();
    bench.answer(option("option-2")).unwrap();
    assert!(bench.input(Input::Woke(time)).is_err());
    assert!(last_output(&bench).contains("The user answered: blue"));
}
