//! Conversations with missing and surplus outputs. Never tests a provider's wire.

use super::*;
use crate::prompt::message::{Reply, RequestedCall};

fn says(ids: &[&str]) -> ModelMessage {
    let call = |id: &&str| RequestedCall {
        id: (*id).to_owned(),
        name: "read_file".to_owned(),
        arguments: "{}".to_owned(),
        free_form: false,
    };
    ModelMessage::Assistant {
        reply: Arc::new(Reply { calls: ids.iter().map(call).collect(), ..Reply::default() }),
    }
}

fn output(id: &str) -> ModelMessage {
    ModelMessage::Tool { call_id: id.into(), output: "out".into() }
}

fn user() -> ModelMessage {
    ModelMessage::user("go on")
}

/// Returns one letter for each message: `u`, `a`, or the id of an output, in upper case if the output was added.
fn shape(messages: &[ModelMessage]) -> String {
    let letter = |message: &ModelMessage| match message {
        ModelMessage::User { .. } => "u".to_owned(),
        ModelMessage::Assistant { .. } => "a".to_owned(),
        ModelMessage::Tool { call_id, output } if **output == *LOST => call_id.to_uppercase(),
        ModelMessage::Tool { call_id, .. } => call_id.to_string(),
    };
    messages.iter().map(letter).collect()
}

#[test]
fn l7_a_sound_conversation_is_taken_as_it_is() {
    let sound = [user(), says(&["x", "y"]), output("x"), output("y"), says(&[]), user()];
    assert_eq!(paired(&sound), sound);
}

#[test]
fn l7_what_is_missing_is_called_missing_and_what_is_too_much_is_left_out() {
    let holes = [user(), says(&["x", "y"]), output("y"), says(&["z"]), user(), output("z"), output("q")];
    assert_eq!(shape(&paired(&holes)), "uayXaZu");
    assert_eq!(shape(&paired(&[says(&["x"])])), "aX");
}
