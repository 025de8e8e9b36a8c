//! The server.

pub mod transport;
