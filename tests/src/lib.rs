//! Doubles and fixtures.
