//! The agent loop: which input is legal and what follows (`accept`), what to do next (`step`), when to try
//! again (`retry`).

pub mod accept;
pub mod input;
pub mod retry;
pub mod step;
