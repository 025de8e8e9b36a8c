//! The wire of Adjutant: every request, notification, update, ask and error.
//!
//! One source for serde, JSON Schema, TypeScript and the tables in
//! `docs/protocol.md`. Knows no LSP library and holds no behaviour beyond
//! what a name means.

pub mod ask;
pub mod capability;
pub mod commands;
pub mod document;
pub mod errors;
pub mod ids;
pub mod methods;
pub mod model;
pub mod option;
pub mod origin;
pub mod schema;
pub mod session;
pub mod start;
pub mod state;
pub mod update;

pub use ids::*;
