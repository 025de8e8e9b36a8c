//! Texts: documents, their changes, and how another program displays a text.

pub mod cells;
pub mod display;
pub mod document;
pub mod draft;
pub mod edit;
pub mod freshness;
pub mod locate;
pub mod patch;
pub mod position;
pub mod review;
pub mod trace;

/// Returns the start of a text: at most `most` bytes, and only whole characters.
pub fn start_of(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}
