//! Doubles and fixtures: the editor over a pipe, the model over loopback HTTP and TLS,
//! a proxy; and the chance and the size of campaigns.
//! a proxy, a host that does not answer, a terminal.
//!
//! Never mocks a type of ours; nothing here knows the server.

pub mod authority;
pub mod campaign;
pub mod command;
pub mod corpus;
pub mod deaf;
pub mod editor;
pub mod fixture;
pub mod inbox;
pub mod model;
pub mod nobody;
pub mod process;
pub mod proxy;
mod side;
pub mod terminal;
