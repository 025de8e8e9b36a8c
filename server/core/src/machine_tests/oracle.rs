//! The inference rule of seed 000, kept as an oracle for the computed state (L01).
//!
//! It guesses from the last message, `partial` and an API request without cost. Never used outside tests.

use crate::record::{AskGroup, AskKind, Event, Record};

/// A message of seed 000.
#[derive(Clone, Debug)]
enum Message {
    Ask { kind: AskKind, id: String },
    Say { partial: bool },
    ApiRequest { cost_known: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    NoTask,
    Running,
    Streaming,
    WaitingForInput,
    Idle,
    Resumable,
}

/// Returns the messages that Roo's extension would have sent for this log.
fn messages(log: &[Record]) -> Vec<Message> {
    let mut messages = Vec::new();
    for record in log {
        match &record.event {
            Event::Prompted { .. } | Event::RunStarted { .. } => {
                messages.push(Message::Say { partial: false })
            }
            Event::TurnStarted { .. } | Event::AttemptStarted { .. } => {
                messages.push(Message::ApiRequest { cost_known: true });
            }
            Event::ReplyStarted { .. } => {
                messages.push(Message::ApiRequest { cost_known: false });
                messages.push(Message::Say { partial: true });
            }
            Event::Replied { .. } | Event::AttemptFailed { .. } | Event::TurnFailed { .. } => {
                settle_streams(&mut messages);
                messages.push(Message::Say { partial: false });
            }
            Event::AskOpened { ask } => {
                messages.push(Message::Ask { kind: ask.kind, id: ask.id.to_string() });
            }
            // An answered ask leaves the list; in seed 000 the answer becomes a message after it.
            Event::AskClosed { ask, .. } => {
                messages.retain(|message| !matches!(message, Message::Ask { id, .. } if *id == ask.0));
            }
            // In seed 000 every end of a task is an idle ask.
            Event::RunEnded { run, .. } => {
                settle_streams(&mut messages);
                messages.push(Message::Ask { kind: AskKind::CompletionResult, id: format!("end {run}") });
            }
            _ => {}
        }
        if let Event::RunStarted { .. } = record.event {
            messages.retain(|message| !matches!(message, Message::Ask { id, .. } if id.starts_with("end ")));
        }
    }
    messages
}

fn settle_streams(messages: &mut [Message]) {
    for message in messages {
        match message {
            Message::Say { partial } => *partial = false,
            Message::ApiRequest { cost_known } => *cost_known = true,
            Message::Ask { .. } => {}
        }
    }
}

/// Returns the state by the rule "the last message determines state": an ask decides by its group; `partial` or a
/// request without cost means streaming.
pub fn guess(log: &[Record]) -> Guess {
    let messages = messages(log);
    let last_ask = messages.iter().rev().find_map(|message| match message {
        Message::Ask { kind, .. } if kind.group() != AskGroup::NonBlocking => Some(kind.group()),
        _ => None,
    });
    if messages.is_empty() {
        return Guess::NoTask;
    }
    match last_ask {
        Some(AskGroup::Interactive) => return Guess::WaitingForInput,
        Some(AskGroup::Idle) => return Guess::Idle,
        Some(AskGroup::Resumable) => return Guess::Resumable,
        Some(AskGroup::NonBlocking) | None => {}
    }
    let streaming = messages.iter().any(|message| {
        matches!(message, Message::Say { partial: true } | Message::ApiRequest { cost_known: false })
    });
    if streaming { Guess::Streaming } else { Guess::Running }
}
