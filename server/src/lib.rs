//! The server: everything that touches the world.

pub mod cli;
pub mod settings;
pub mod tools;
pub mod transport;
