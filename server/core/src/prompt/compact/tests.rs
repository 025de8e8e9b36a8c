//! The parts of a conversation that a compaction takes.
//!
//! Never calls a model.

use super::*;
use crate::prompt::message::{Reply, RequestedCall};

fn asks(id: &str) -> ModelMessage {
    let call = RequestedCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: "{}".to_owned(),
        free_form: false,
    };
    ModelMessage::Assistant { reply: Reply { calls: vec![call], ..Reply::default() }.into() }
}

fn output(id: &str) -> ModelMessage {
    ModelMessage::Tool { call_id: id.into(), output: "x ".repeat(100).into() }
}

#[test]
fn the_part_that_stays_never_begins_with_an_output() {
    let history = [ModelMessage::prompt("go"), asks("a"), asks("b"), output("b"), asks("c"), output("c")];
    for most in 0..2_000 {
        let start = tail_start(&history, f64::from(most));
        assert!(!matches!(history[start], ModelMessage::Tool { .. }), "{start}");
    }
    assert_eq!(tail_start(&history, 0.0), 4, "at least the last turn");
    assert_eq!(tail_start(&[], 0.0), 0);
}

#[test]
fn a_shortened_text_is_cut_between_characters() {
    let text = "\u{6f22}".repeat(500);
    assert!(cut(&text).len() <= MAX_SHORTENED + 5);
    assert_eq!(cut("short"), "short");
}
