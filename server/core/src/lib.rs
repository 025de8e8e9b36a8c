//! The pure core: facts, decisions, steps, verdicts and text.
//!
//! Nothing here does I/O, reads a clock, draws a random number, knows LSP
//! types or is async, so nothing here can fail for outside reasons.

pub mod config;
pub mod document;
pub mod edit;
pub mod locate;
pub mod position;
pub mod prompt;
pub mod retry;
pub mod review;
pub mod tool;
