//! Estimates how many tokens a text has, without a tokenizer.
//!
//! Never exact: `session/tokens.rs` corrects it by what the provider counts (S72).

use crate::prompt::message::{ModelMessage, Reply, ToolSpec};

/// Tokens that a provider adds for each message: its role and its marks.
const PER_MESSAGE: f64 = 4.0;
/// Letters of one case that a token has on average, once a word is longer than that.
const LETTERS: f64 = 5.5;
/// The same for capitals, which tokenizers know less well.
const CAPITALS: f64 = 2.6;
/// Digits that a token has.
const DIGITS: f64 = 3.0;
/// Tokens of one punctuation mark: common pairs share a token.
const MARK: f64 = 0.75;
/// Tokens of one Chinese, Japanese or Korean character.
const IDEOGRAPH: f64 = 0.85;
/// Tokens of one character of any other script.
const OTHER_SCRIPT: f64 = 0.45;
/// Tokens of an image. Providers count it by its size; this is what a screenshot costs at most of them.
const PICTURE: f64 = 1_100.0;

/// What the characters of a piece of text have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Blank,
    Lower,
    Upper,
    Digit,
    Mark,
    Ideograph,
    Other,
}

fn piece_of(c: char) -> Piece {
    match c {
        'a'..='z' => Piece::Lower,
        'A'..='Z' => Piece::Upper,
        '0'..='9' => Piece::Digit,
        ' ' | '\t' | '\n' | '\r' => Piece::Blank,
        '!'..='~' => Piece::Mark,
        '\u{2e80}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' => Piece::Ideograph,
        _ => Piece::Other,
    }
}

/// Returns about how many tokens a text has. Takes time in proportion to its length.
pub fn of_text(text: &str) -> f64 {
    let mut tokens = 0.0;
    let mut chars = text.chars().peekable();
    while let Some(first) = chars.next() {
        let piece = piece_of(first);
        let mut length = 1u32;
        let mut has_line_end = first == '\n';
        while let Some(next) = chars.next_if(|next| piece_of(*next) == piece) {
            has_line_end |= next == '\n';
            length += 1;
        }
        let length = f64::from(length);
        tokens += match piece {
            // One blank belongs to the word after it.
            Piece::Blank if length < 2.0 && !has_line_end => 0.0,
            Piece::Blank => 1.0,
            Piece::Lower => (length / LETTERS).max(1.0),
            // A capital belongs to the small letters after it.
            Piece::Upper if length < 2.0 && chars.peek().is_some_and(char::is_ascii_lowercase) => 0.0,
            Piece::Upper => (length / CAPITALS).max(1.0),
            Piece::Digit => (length / DIGITS).ceil(),
            Piece::Mark => length * MARK,
            Piece::Ideograph => length * IDEOGRAPH,
            Piece::Other => length * OTHER_SCRIPT,
        };
    }
    tokens
}

/// Returns about how many tokens a message adds to a request.
pub fn of_message(message: &ModelMessage) -> f64 {
    PER_MESSAGE
        + match message {
            ModelMessage::User { text, pictures, .. } => of_text(text) + PICTURE * pictures.len() as f64,
            ModelMessage::Assistant { reply } => of_reply(reply),
            ModelMessage::Tool { output, .. } => of_text(output),
        }
}

fn of_reply(reply: &Reply) -> f64 {
    let calls = reply.calls.iter().map(|call| PER_MESSAGE + of_text(&call.name) + of_text(&call.arguments));
    of_text(&reply.text) + calls.sum::<f64>()
}

/// Returns about how many tokens a list of tools has.
pub fn of_tools(tools: &[ToolSpec]) -> f64 {
    let tool = |tool: &ToolSpec| {
        PER_MESSAGE + of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.parameters.to_string())
    };
    tools.iter().map(tool).sum()
}

#[cfg(test)]
mod tests;
