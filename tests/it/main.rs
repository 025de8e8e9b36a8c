//! One integration binary: one module per feature, and the rules of the house.

mod cli;
mod kill;
mod protocol;
mod asks;
mod rig;
mod runs;
mod sessions;
mod settings;
mod tidy;
