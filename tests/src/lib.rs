//! Doubles and fixtures: the editor over a pipe, the model over loopback HTTP.
//!
//! Never mocks a type of ours; nothing here knows the server.

pub mod command;
pub mod editor;
pub mod fixture;
pub mod inbox;
pub mod model;
pub mod process;
