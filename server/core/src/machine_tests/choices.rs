//! Stories of choices: from when a choice counts, and for which run.

use adjutant_protocol::option::{ConfigChange, ConfigId};
use adjutant_protocol::update::Update;

use super::{Bench, is_model, is_prepare, names, option, prompt as words};
use crate::machine::accept::Refusal;
use crate::machine::input::{Input, Prompt, Report};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::machine::step::{Step, next_steps};
use crate::policy::cause::Cause;
use crate::policy::choices::{Follows, JudgedChoice, Takes};
use crate::policy::observation::ObservedPath;
use crate::policy::permission::{Act, Verdict, verdict};
use crate::prompt::models;
use crate::prompt::{GenerationSettings, Level, request};
use crate::record::{Event, Mode, Policy};
use crate::session::Session;
use crate::wire::state::{Projector, Updates};

const ASK: JudgedChoice = JudgedChoice::Mode { mode: Mode::Ask };
const CODE: JudgedChoice = JudgedChoice::Mode { mode: Mode::Code };

fn choose(bench: &mut Bench, chosen: JudgedChoice) -> Result<Vec<Event>, Refusal> {
    let offer = bench.session.offer(Some("p/default".to_owned()), Vec::new(), |_| Takes::default());
    bench.input(Input::Choose { chosen, offer })
}

fn model(name: &str) -> JudgedChoice {
    JudgedChoice::Model { model: name.to_owned() }
}

fn mode_of_run(bench: &Bench) -> Mode {
    bench.session.open_run().expect("a run is open").policy.mode
}

fn offers_edits(bench: &Bench) -> bool {
    request(&bench.session, "m", mode_of_run(bench), &models::UNKNOWN)
        .tools
        .iter()
        .any(|tool| tool.name == "edit_file")
}

/// Returns every change of a choice that is published for this log.
fn published_changes(bench: &Bench) -> Vec<ConfigChange> {
    let mut session = Session::new("s1".into(), vec!["/ws".to_owned()]).with_tools(super::tools::tools());
    let mut projector = Projector::new(&session);
    let mut changes = Vec::new();
    for record in &bench.log {
        session.apply(record);
        let Updates::Lasting(updates) = projector.project(&session, record) else { continue };
        for update in updates {
            if let Update::ConfigOptionUpdate { changed, .. } = update {
                changes.push(changed);
            }
        }
    }
    changes
}

#[test]
fn s11_a_mode_chosen_during_a_run_counts_from_the_next_model_call_and_is_told_once() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    bench.report(is_model, Report::ReplyStarted);
    assert_eq!(names(&choose(&mut bench, ASK).unwrap()), "config_changed");
    assert_eq!(mode_of_run(&bench), Mode::Code, "the call under way has the mode it began with");
    bench.report(is_model, Report::Replied(super::reply("", &[("read_file", r#"{"path":"a"}"#)])));
    let policy = &bench.session.open_run().unwrap().policy;
    let judged = verdict(&bench.session, policy, "edit_file", Act::Edit(&ObservedPath::inside("a")));
    assert!(matches!(judged, Verdict::Ask(_)), "what it asked for is judged by that mode: {judged:?}");
    bench.report(is_prepare, super::refused(Cause::Missing, "no"));
    bench.report(is_model, Report::TurnBegan);
    assert_eq!(mode_of_run(&bench), Mode::Ask);
    assert!(!offers_edits(&bench));
    let change =
        ConfigChange { config_id: ConfigId::Mode, from: Some("code".to_owned()), to: "ask".to_owned() };
    assert_eq!(published_changes(&bench), [change]);
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn s11_another_attempt_is_another_model_call() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    choose(&mut bench, ASK).unwrap();
    let class = FailureClass::Network;
    let failure = CallFailure { class, message: "it broke".to_owned(), retry_after_ms: None };
    bench.report(is_model, Report::CallFailed(failure));
    assert_eq!(mode_of_run(&bench), Mode::Code);
    let [Step::Wake(wake)] = &next_steps(&bench.session)[..] else { panic!("back-off is a wake") };
    bench.input(Input::Woke(wake.clone())).unwrap();
    assert_eq!(mode_of_run(&bench), Mode::Ask);
}

#[test]
fn s11_what_is_so_already_is_neither_recorded_nor_told() {
    let mut bench = Bench::new();
    assert_eq!(choose(&mut bench, ASK), Err(Refusal::Nothing), "there is no log to record it in");
    bench.session.choose(&ASK);
    bench.prompt("go").unwrap();
    assert_eq!(bench.session.choices.mode, Mode::Ask);
    assert_eq!(bench.replayed().choices, bench.session.choices, "the first record has it");
    assert_eq!(choose(&mut bench, ASK), Err(Refusal::Nothing));
    assert_eq!(choose(&mut bench, model("p/default")), Err(Refusal::Nothing));
    choose(&mut bench, CODE).unwrap();
    choose(&mut bench, ASK).unwrap();
    assert_eq!(published_changes(&bench).len(), 2);
}

#[test]
fn s84_what_was_given_for_one_run_stays_its_own_when_the_session_changes() {
    let mut bench = Bench::new();
    let policy = Policy { mode: Mode::Ask, ..Policy::default() };
    let follows = Follows::default();
    let prompt = Prompt { model: "p/given".to_owned(), policy, follows, ..words("look") };
    bench.input(Input::prompted(prompt)).unwrap();
    assert_eq!(bench.session.choices.mode, Mode::Code, "an override does not leak into the session");
    choose(&mut bench, ASK).unwrap();
    choose(&mut bench, CODE).unwrap();
    choose(&mut bench, model("p/other")).unwrap();
    bench.report(is_model, Report::TurnBegan);
    assert_eq!(mode_of_run(&bench), Mode::Ask, "and a change of the session not into the run");
    fail(&mut bench);
    bench.answer(option("retry")).unwrap();
    assert_eq!(mode_of_run(&bench), Mode::Ask);
    assert_eq!(bench.session.open_run().unwrap().model, "p/given");
}

#[test]
fn s84_a_run_that_goes_on_keeps_what_was_given_for_it_alone() {
    let given = GenerationSettings { effort: Some(Level::Low), verbosity: Some(Level::High) };
    let chosen = GenerationSettings { effort: Some(Level::High), verbosity: Some(Level::Low) };
    for (effort, verbosity) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut bench = Bench::new();
        let follows = Follows { effort, verbosity, ..Follows::default() };
        bench
            .input(Input::prompted(Prompt { generation_settings: given, follows, ..words("look") }))
            .unwrap();
        bench.report(is_model, Report::TurnBegan);
        choose(&mut bench, JudgedChoice::Effort { effort: chosen.effort }).unwrap();
        choose(&mut bench, JudgedChoice::Verbosity { verbosity: chosen.verbosity }).unwrap();
        assert_eq!(bench.session.open_run().unwrap().generation_settings, given, "a run goes on as it began");
        fail(&mut bench);
        bench.answer(option("retry")).unwrap();
        let expected = GenerationSettings {
            effort: if effort { chosen.effort } else { given.effort },
            verbosity: if verbosity { chosen.verbosity } else { given.verbosity },
        };
        assert_eq!(bench.session.open_run().unwrap().generation_settings, expected);
        assert_eq!(bench.replayed(), bench.session);
    }
}

#[test]
fn s11_a_model_counts_from_the_next_run_also_where_that_goes_on_with_the_last() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.report(is_model, Report::TurnBegan);
    choose(&mut bench, model("p/other")).unwrap();
    assert_eq!(bench.session.open_run().unwrap().model, "scripted/demo");
    fail(&mut bench);
    choose(&mut bench, ASK).unwrap();
    bench.answer(option("retry")).unwrap();
    let run = bench.session.open_run().unwrap();
    assert_eq!((run.model.as_str(), run.policy.mode), ("p/other", Mode::Ask));
    assert_eq!(bench.replayed(), bench.session);
}

fn fail(bench: &mut Bench) {
    let class = FailureClass::Auth;
    let failure = CallFailure { class, message: "no".to_owned(), retry_after_ms: None };
    bench.report(is_model, Report::CallFailed(failure));
}
