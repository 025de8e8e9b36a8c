//! Doubles and fixtures.

pub mod editor;
pub mod fixture;
pub mod process;
