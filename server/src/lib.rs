//! The server: everything that touches the world.

pub mod cli;
pub mod documents;
pub mod doors;
pub mod editor;
pub mod faults;
pub mod lsp;
pub mod model;
pub mod session;
pub mod sessions;
pub mod settings;
pub mod tools;
pub mod transport;
pub mod uri;
