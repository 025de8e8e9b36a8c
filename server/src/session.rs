//! A session on disk: its log, its blobs, the frontier of what is durable, and
//! the catalog of all sessions. Only this module writes sessions; it never
//! knows what an event means.

pub mod blobs;
pub mod catalog;
pub mod frontier;
pub mod log;
pub mod storage;
