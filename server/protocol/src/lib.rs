//! Adjutant's protocol: every request, notification, update, ask and error.
//!
//! The one source for serde, JSON Schema, TypeScript and the tables in
//! `docs/protocol.md`. Never depends on an LSP library, and contains no logic.

pub mod ask;
pub mod capability;
pub mod commands;
pub mod complete;
pub mod config;
pub mod context;
pub mod doctor;
pub mod document;
pub mod errors;
pub mod history;
pub mod ids;
pub mod items;
pub mod methods;
pub mod model;
pub mod operation;
pub mod option;
pub mod origin;
pub mod overview;
pub mod plan;
pub mod problem;
pub mod review;
pub mod rewind;
pub mod schema;
pub mod session;
pub mod setup;
pub mod start;
pub mod state;
pub mod update;

pub use ids::*;
