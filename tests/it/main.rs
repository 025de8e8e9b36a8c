//! One integration binary: one module per feature, and the rules of the house.

mod cli;
mod kill;
mod protocol;
mod asks;
mod log_files;
mod model_wire;
mod rig;
mod runs;
mod sessions;
mod settings;
mod tidy;
