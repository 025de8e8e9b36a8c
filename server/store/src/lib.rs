//! The disk: the log of a session and what of it is durable, its large content, the list of sessions.
//!
//! Never looks into an event; what stands in one is the core's.

pub mod blobs;
pub mod catalog;
pub mod log;
pub mod storage;
pub mod watermark;
