//! The machine for Adjutant: settings and its own files, the clock, temporary limits, blocking work, and
//! the fault points of tests.
//!
//! Never knows a session, a model or a client.

pub mod aside;
pub mod clock;
pub mod faults;
pub mod parallel;
pub mod process;
pub mod scarce;
pub mod settings;
pub mod uri;
