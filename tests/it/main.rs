//! One integration binary: one module per feature, and the rules of the house.

mod rig;
mod sessions;
mod settings;
mod tidy;
