//! The agent loop: which input is legal and what follows, what to do next, when to try again.

pub mod accept;
pub mod input;
pub mod retry;
pub mod step;
