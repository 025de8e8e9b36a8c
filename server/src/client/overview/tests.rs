//! States in, one overview out, the most pressing first.

use adjutant_protocol::state::RequiredAction;
use adjutant_protocol::update::ToolCallView;

use super::*;

fn state(state: State, sub: Option<SubState>) -> Update {
    Update::StateUpdate(StateView {
        state,
        sub,
        since: 7,
        run_id: None,
        asks: Vec::new(),
        ask_kind: None,
        required_action: RequiredAction::None,
        stop_reason: None,
    })
}

fn running(sub: SubState) -> Update {
    state(State::Running, Some(sub))
}

fn call(title: &str) -> Update {
    Update::ToolCallUpdate(ToolCallView {
        kind: adjutant_protocol::update::ToolKind::Other,
        locations: Vec::new(),
        arguments_text: String::new(),
        minor: false,
        tool_call_id: "call-1".into(),
        tool: "read_file".to_owned(),
        title: title.to_owned(),
        status: ToolStatus::InProgress,
        summary: None,
        elapsed_ms: None,
    })
}

fn needs(asks: usize, hunks: usize) -> Needs {
    Needs { asking: vec!["b".into(); asks], hunks }
}

fn run(session: &str) -> OpenRun {
    let (session_id, run_id) = (session.into(), format!("run of {session}").as_str().into());
    OpenRun { session_id, run_id, title: format!("task of {session}"), origin: None }
}

#[test]
fn finding_d13_the_most_pressing_state_of_all_sessions_is_told() {
    let (a, b) = (run("a"), run("b"));
    let runs = [&a, &b];
    let mut overviews = Overviews::default();
    let mut told = |updates: &[(&str, Update)], runs: &[&OpenRun], asks, hunks| {
        updates.iter().for_each(|(session, update)| overviews.update(&(*session).into(), update));
        overviews.next(runs, &needs(asks, hunks), Instant::now()).map(|now| (now.kind, now.short))
    };
    let is = |kind, short: &str| Some((kind, short.to_owned()));
    assert_eq!(told(&[], &[], 0, 0), None, "nothing is open, and nothing was said");
    let thinking = [("a", running(SubState::Model))];
    assert_eq!(told(&thinking, &runs[..1], 0, 0), is(OverviewKind::Running, "thinking"));
    assert_eq!(told(&thinking, &runs[..1], 0, 0), None, "it is said once");
    let both = [("b", running(SubState::Tools))];
    assert_eq!(told(&both, &runs, 0, 0), is(OverviewKind::Running, "2 tasks at work"));
    let cut = [("b", state(State::Resumable, None))];
    assert_eq!(told(&cut, &runs, 0, 0), is(OverviewKind::Interrupted, "interrupted"));
    assert_eq!(told(&[], &runs, 2, 0), is(OverviewKind::Asks, "2 questions"));
    let over = [
        ("b", state(State::Idle, Some(SubState::Completed))),
        ("a", state(State::Idle, Some(SubState::Failed))),
    ];
    assert_eq!(told(&over, &[], 0, 0), is(OverviewKind::Idle, "failed"));
    assert_eq!(told(&[], &[], 0, 3), is(OverviewKind::Idle, "failed"), "the number of changes is a change");
    assert_eq!(told(&[over[0].clone()], &[], 0, 3), is(OverviewKind::Idle, ""));
}

#[test]
fn finding_d13_steps_are_told_a_few_times_a_second_and_what_needs_the_user_at_once() {
    let a = run("a");
    let mut overviews = Overviews::default();
    let began = Instant::now();
    overviews.update(&"a".into(), &running(SubState::Tools));
    let first = overviews.next(&[&a], &Needs::default(), began).expect("the first");
    assert_eq!((first.runs[0].step.as_str(), first.runs[0].since), ("at work", 7));
    overviews.update(&"a".into(), &call("Read $(alert) a\u{1b}.txt"));
    assert_eq!(overviews.next(&[&a], &Needs::default(), began + EVERY / 2), None);
    assert_eq!(overviews.due(&[&a], &Needs::default()), Some(began + EVERY));
    let later = overviews.next(&[&a], &Needs::default(), began + EVERY).expect("the step");
    assert_eq!(later.runs[0].step, "Read $\\u{28}alert) a\\u{1b}.txt");
    assert_eq!(later.tooltip, [format!("{} · task of a", later.runs[0].step)]);
    assert_eq!(overviews.due(&[&a], &Needs::default()), None);
    assert!(overviews.next(&[&a], &needs(1, 0), began + EVERY).is_some(), "a question does not wait");
}
