//! Kill and continue: at whatever moment the process dies, the next process finishes the run.
//! Nothing is lost, doubled or left over.
//!
//! SIGKILL ends the real binary, at a named point of its own or from outside. Never kills a double of it,
//! and never a process that the test did not start.

mod breaks;
mod campaign;
pub mod ends;
mod hunted;
mod partly;
mod plug;
mod reviewed;
pub mod story;
mod torn;
mod writes;

pub use story::{BINARY, sessions};
pub use writes::{finished, left};
