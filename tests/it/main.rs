//! One integration binary.

mod settings;
