//! Decides what may run and what asks first, and holds the sentences for both.

pub mod ask;
pub mod cause;
pub mod choices;
pub mod detail;
pub mod key_shape;
pub mod observation;
pub mod outside;
pub mod permission;
pub mod saving;
pub(crate) mod standing;
pub mod tasks;
pub mod unfinished;
pub mod unsaved;
