//! Doubles and fixtures: an editor over a pipe, a model over loopback HTTP and TLS, a proxy,
//! a host that does not answer and a terminal; also the seed and the size of campaigns.
//!
//! Never mocks a type of Adjutant; nothing here knows the server's inside.

pub mod authority;
pub mod campaign;
pub mod command;
pub mod corpus;
pub mod deaf;
pub mod editor;
pub mod fixture;
pub mod inbox;
pub mod long;
pub mod model;
pub mod nobody;
pub mod painter;
pub mod process;
pub mod proxy;
mod side;
pub mod terminal;
pub mod watch;
