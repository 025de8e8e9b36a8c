//! Asks on a terminal: shown whole, answered by a typed line, one at a time.
//!
//! Never approves by silence, by an unclear line, or by a line typed before the
//! question could be read (design 15).

mod answer;
mod desk;
mod put;
#[cfg(test)]
mod tests;

pub use answer::{TypedAnswer, parse};
pub(in crate::cli) use desk::READING_TIME;
pub use desk::{AskDesk, PendingAsk};
pub use put::{hint, put, put_diff, put_whole};
