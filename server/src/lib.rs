//! The server.
pub mod session;
