//! What the model's tools do to the world, one file per tool.
//!
//! Never knows a session and never decides whether a call may run: paths come
//! in grounded, commands pinned, and what comes out is bounded.

pub mod paths;
pub mod protected;
