//! The families of special files: each with its class, and the names that are in it.
//!
//! Never decides anything; `protected` looks names up in these, and core says what a class means.

mod asked;
mod denied;
mod secrets;

use adjutant_core::policy::observation::FileClass;

pub(super) use asked::{COUNTS_LATER, RUNS_ON_BUILD};
pub(super) use denied::RUNS_BY_ITSELF;
pub(super) use secrets::{COPIES, OF_A_PROCESS, SAMPLES, SECRET};

/// Files of one class; how the patterns are read stands in `patterns`.
pub(super) struct Family {
    pub class: FileClass,
    pub patterns: &'static [&'static str],
}
