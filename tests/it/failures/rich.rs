//! A failure as a client of the agent protocol shows it: items, states, and the one end.
//!
//! Folds updates exactly as `docs/protocol.md` asks of clients.

use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_protocol::MessageId;
use adjutant_protocol::state::{Outcome, State, SubState};
use adjutant_protocol::update::{AskChange, RunView, SessionUpdateParams, TurnPhase, Update};
use adjutant_testkit::editor::{Answer, Options};
use serde_json::json;

use super::rows::Ends;
use super::{Cell, Seen};
use crate::rig::Rig;

/// How long a silence lasts before it is reported, by the settings of its rows.
const SILENCE_MS: u64 = 1_000;

pub fn play(cell: &Cell) -> Seen {
    let options = Options { deadline: super::DEADLINE, ..Options::new(&cell.workspace) };
    let rig = Rig::start_with(&cell.workspace, options);
    rig.on_ask(|_| Answer::option("allow"));
    let session = rig.new_session();
    let began = now_ms();
    let run = rig.prompt_with(&session, "Speak.", json!({"overrides": {"unattended": true}})).run_id;
    if cell.is_silent() {
        let state = rig.await_update(|update| silence(update).is_some());
        let since = silence(&state).unwrap_or_default();
        let now = now_ms();
        assert!((began..=now - SILENCE_MS).contains(&since), "between {began} and {now}: {since}");
        // A client that resumes later gets the same time.
        if cell.row.wait == super::Wait::SilenceThatEnds {
            assert_eq!(rig.resume(&session, None).state.since, since);
        }
        cell.let_the_model_continue();
    }
    let end = rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    let fails = matches!(cell.row.ends, Ends::Asks(..));
    assert_eq!(end.outcome, if fails { Outcome::Failed } else { Outcome::Stopped });
    let seen = fold(&rig.updates());
    rig.end();
    seen
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    u64::try_from(since.as_millis()).expect("it is no million years later")
}

/// Returns the beginning of a silence, if the update reports one.
fn silence(update: &SessionUpdateParams) -> Option<u64> {
    match &update.update {
        Update::StateUpdate(view) if view.sub == Some(SubState::Stalled) => Some(view.since),
        _ => None,
    }
}

/// Returns what a client shows: chunks are appended, an item replaces them, and a new attempt starts again.
fn fold(updates: &[SessionUpdateParams]) -> Seen {
    let mut seen = Seen::default();
    let mut items: Vec<(MessageId, String)> = Vec::new();
    let mut starts_again = false;
    let at = |items: &mut Vec<(MessageId, String)>, id: &MessageId| {
        let at = items.iter().position(|(known, _)| known == id);
        at.unwrap_or_else(|| {
            items.push((id.clone(), String::new()));
            items.len() - 1
        })
    };
    for update in updates {
        match &update.update {
            Update::AgentMessageChunk { message_id, text } => {
                let at = at(&mut items, message_id);
                if std::mem::take(&mut starts_again) {
                    items[at].1.clear();
                }
                items[at].1.push_str(text);
            }
            Update::AgentMessage { message_id, text, interrupted } => {
                let at = at(&mut items, message_id);
                items[at].1.clone_from(text);
                starts_again = *interrupted;
            }
            Update::Turn(turn) => match turn.phase {
                TurnPhase::AttemptFailed => starts_again = true,
                TurnPhase::Failed => seen.failures.extend(turn.message.clone()),
                _ => {}
            },
            Update::Run(RunView::Ended { .. }) => seen.ends += 1,
            Update::Ask(AskChange::Opened { ask }) => {
                let options = ask.options.iter().map(|option| option.option_id.clone()).collect();
                seen.ask = Some((ask.title.clone(), options));
            }
            _ => {}
        }
        seen.silences.extend(silence(update).map(|since| since.to_string()));
    }
    seen.text = items.into_iter().map(|(_, text)| text).collect();
    seen
}
