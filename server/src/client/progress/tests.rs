//! Updates in, words out, and never two in one second.

use adjutant_protocol::state::RequiredAction;
use adjutant_protocol::update::{ToolCallView, ToolKind, TurnView};

use super::*;

fn state(state: State, sub: Option<SubState>) -> Update {
    Update::StateUpdate(StateView {
        state,
        sub,
        since: 10_000,
        run_id: None,
        asks: Vec::new(),
        ask_kind: None,
        required_action: RequiredAction::None,
        stop_reason: None,
    })
}

fn call(title: &str, status: ToolStatus) -> Update {
    Update::ToolCallUpdate(ToolCallView {
        kind: ToolKind::Other,
        locations: Vec::new(),
        arguments_text: String::new(),
        minor: false,
        tool_call_id: "call-1".into(),
        tool: "read_file".to_owned(),
        title: title.to_owned(),
        status,
        summary: None,
        elapsed_ms: None,
    })
}

#[test]
fn n08_every_step_has_its_words() {
    let mut progress = Progress::begin("begins", Instant::now());
    let mut say = |update: Update| {
        progress.update(&update, Instant::now(), 10_000);
        progress.message().to_owned()
    };
    assert_eq!(say(state(State::Running, Some(SubState::Model))), "waiting for the model");
    assert_eq!(say(state(State::Running, Some(SubState::Streaming))), "the model answers");
    assert_eq!(say(call("Read src/x.rs", ToolStatus::Pending)), "Read src/x.rs");
    assert_eq!(say(state(State::RequiresAction, None)), "waits for your answer");
    assert_eq!(say(state(State::Running, Some(SubState::Tools))), "Read src/x.rs");
    let failed = TurnView {
        turn: 1,
        phase: TurnPhase::AttemptFailed,
        attempt: 1,
        usage: None,
        cost: None,
        failure: None,
        message: Some("the model is overloaded".to_owned()),
        model: None,
        retry_at: Some(12_500),
        cache_break: None,
        compacts: false,
    };
    assert_eq!(say(Update::Turn(failed)), "retrying in 3 s: the model is overloaded");
    let waits = state(State::Running, Some(SubState::Retrying));
    assert_eq!(say(waits), "retrying in 3 s: the model is overloaded", "the reason stays");
    assert_eq!(say(state(State::Resumable, None)), "was interrupted: resume it or discard it");
    assert_eq!(say(call(&"x\u{1b}".repeat(200), ToolStatus::InProgress)).chars().count(), MAX_MESSAGE);
}

#[test]
fn d16_words_change_at_most_once_a_second_and_the_latest_win() {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut progress = Progress::begin("begins", start);
    assert_eq!(progress.due(), None);
    for (ms, title) in [(10, "one"), (20, "two"), (400, "three")] {
        progress.update(&call(title, ToolStatus::InProgress), start, 0);
        assert_eq!(progress.next_message(at(ms)), None);
    }
    assert_eq!(progress.due(), Some(at(1_000)));
    assert_eq!(progress.next_message(at(999)), None);
    assert_eq!(progress.next_message(at(1_000)), Some("three"));
    assert_eq!(progress.next_message(at(5_000)), None, "nothing is said twice");
    assert_eq!(progress.due(), None);
    progress.update(&call("four", ToolStatus::InProgress), start, 0);
    assert_eq!(progress.next_message(at(5_000)), Some("four"), "who was quiet for long may speak at once");
    progress.update(&call("five", ToolStatus::InProgress), start, 0);
    progress.update(&call("four", ToolStatus::InProgress), start, 0);
    assert_eq!(progress.due(), None, "back where it was");
}

#[test]
fn s82_a_wait_says_how_long_it_is() {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut progress = Progress::begin("begins", start);
    // The wait is three seconds old when the state comes.
    progress.update(&state(State::Running, Some(SubState::Model)), at(100), 13_000);
    assert_eq!(progress.next_message(at(1_000)), Some("waiting for the model"));
    assert_eq!(progress.due(), Some(at(7_100)));
    assert_eq!(progress.next_message(at(7_099)), None);
    assert_eq!(progress.next_message(at(7_100)), Some("waiting for the model (10 s)"));
    assert_eq!(progress.due(), Some(at(17_100)));
    assert_eq!(
        progress.next_message(at(39_000)),
        Some("waiting for the model (40 s)"),
        "no message was taken meanwhile"
    );
    progress.update(&state(State::Running, Some(SubState::Streaming)), at(39_500), 50_000);
    assert_eq!(progress.next_message(at(40_000)), Some("the model answers"));
    assert_eq!(progress.due(), None, "what moves says nothing of time");
}

#[test]
fn s82_a_silence_says_at_once_how_long_it_is() {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut progress = Progress::begin("begins", start);
    progress.update(&state(State::Running, Some(SubState::Stalled)), at(100), 13_000);
    assert_eq!(progress.next_message(at(1_000)), Some("the model sends nothing (3 s)"));
    assert_eq!(progress.due(), Some(at(7_100)));
    assert_eq!(progress.next_message(at(7_100)), Some("the model sends nothing (10 s)"));
    progress.update(&state(State::Running, Some(SubState::Streaming)), at(8_000), 21_000);
    progress.update(&state(State::Running, Some(SubState::Model)), at(8_100), 10_000);
    assert_eq!(
        progress.next_message(at(9_000)),
        Some("waiting for the model"),
        "what was silent before is over"
    );
}
