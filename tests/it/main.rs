//! One integration binary: one module per feature, and the rules of the house.

mod asks;
mod capabilities;
mod cli;
mod closing;
mod config_options;
mod edits;
mod flow;
mod folders;
mod grounding;
mod inbox;
mod kill;
mod log_files;
mod model_wire;
mod protocol;
mod reconfigured;
mod rig;
mod runs;
mod sessions;
mod settings;
mod stage;
mod tidy;
mod timed;
mod tools;
