//! One integration binary: one module per feature, and the rules of the house.

mod cli;
mod protocol;
mod settings;
mod tidy;
