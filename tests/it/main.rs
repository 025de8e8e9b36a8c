//! One integration binary: one module per feature, and the rules of the house.

mod protocol;
mod settings;
mod tidy;
