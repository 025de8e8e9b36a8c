//! The server.

pub mod settings;
