//! One integration binary: one module per feature, and the rules of the house.

mod actions;
mod asks;
mod cli;
mod corpus_lsp;
mod edits;
mod face;
mod flow;
mod grounding;
mod inbox;
mod kill;
mod log_files;
mod model_wire;
mod plain;
mod popups;
mod protocol;
mod reconfigured;
mod rig;
mod rules;
mod runs;
mod sessions;
mod settings;
mod stage;
mod start;
mod tidy;
mod timed;
mod tools;
