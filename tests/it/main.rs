//! One integration binary: one module per feature, and the rules of the house.

mod edits;
mod grounding;
mod rig;
mod sessions;
mod settings;
mod stage;
mod tidy;
mod tools;
