//! The server.

pub mod tools;
