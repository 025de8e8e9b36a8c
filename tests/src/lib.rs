//! Doubles and fixtures.

pub mod model;
