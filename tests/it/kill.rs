//! Kill and go on: whatever moment the process dies at, the run is finished
//! by the next one, and nothing is lost, doubled or left behind.
//!
//! The real binary is killed with SIGKILL, by itself at a named point or from
//! outside; never a double of it, and never a process it did not start.

mod breaks;
mod campaign;
pub mod ends;
mod hunted;
pub mod story;
mod torn;
mod writes;

pub use story::sessions;
