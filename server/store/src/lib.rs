//! Storage: the log of a session, its durable watermark, its blobs, and the list of sessions.
//!
//! Never looks into an event; only the core knows what an event means.

pub mod blobs;
pub mod catalog;
pub mod log;
pub mod storage;
pub mod watermark;
