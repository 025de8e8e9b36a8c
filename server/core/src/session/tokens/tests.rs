//! What estimates of tokens learn from the counts of a provider.
//!
//! Never asks a tokenizer.

mod tokenizers;

use super::*;
use crate::prompt::message::Reply;

fn said(text: &str) -> ModelMessage {
    ModelMessage::user(text)
}

/// A provider that counts one token for each so many bytes.
fn counted(history: &[ModelMessage], bytes: f64) -> Usage {
    let all: usize = history
        .iter()
        .map(|message| match message {
            ModelMessage::User { text, .. } => text.len(),
            ModelMessage::Assistant { reply } => reply.text.len(),
            ModelMessage::Tool { output, .. } => output.len(),
        })
        .sum();
    Usage { input_tokens: 1_500 + (all as f64 / bytes) as u64, ..Usage::default() }
}

#[test]
fn s72_after_five_turns_the_estimate_is_less_than_a_tenth_off_whatever_the_provider_counts() {
    let texts = [
        "fn main() { let x = 17; }\n",
        "The quick brown fox jumps.\n",
        "\u{6f22}\u{5b57}\u{304b}\u{306a}",
        "{\"a\": [1, 2]}",
    ];
    for text in texts {
        for bytes in [2.0, 3.5, 6.0] {
            let (mut tokens, mut history) = (TokenCount::default(), Vec::new());
            for _ in 0..5 {
                history.push(said(&text.repeat(200)));
                tokens.counted(counted(&history, bytes), &history);
                history.push(ModelMessage::Assistant {
                    reply: Reply { text: text.repeat(30), ..Reply::default() }.into(),
                });
            }
            history.push(said(&text.repeat(300)));
            let (estimate, real) =
                (tokens.fill(&history) as f64, counted(&history, bytes).input_tokens as f64);
            assert!((estimate / real - 1.0).abs() < 0.1, "{text:?} at {bytes}: {estimate} of {real}");
        }
    }
}

#[test]
fn a_count_that_makes_no_sense_moves_no_estimate_out_of_its_bounds() {
    let (mut tokens, mut history) = (TokenCount::default(), Vec::new());
    for count in [1, u64::MAX, 0, 1 << 60] {
        history.push(said(&"word ".repeat(1_000)));
        tokens.counted(Usage { input_tokens: count, ..Usage::default() }, &history);
        assert!(FACTORS.contains(&tokens.factor()), "{}", tokens.factor());
    }
}

#[test]
fn s72_a_count_far_below_the_estimate_does_not_make_a_long_conversation_look_short() {
    let (mut tokens, mut history) = (TokenCount::default(), Vec::new());
    for _ in 0..20 {
        history.push(said(&"the quick brown fox ".repeat(500)));
        tokens.counted(Usage { input_tokens: 4_000, ..Usage::default() }, &history);
    }
    // Two thousand tokens each.
    assert!(tokens.fill(&history) >= 12_000, "{}", tokens.fill(&history));
}
