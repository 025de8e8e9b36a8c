//! The families of special files: each has a class and the patterns of its names.
//!
//! Never decides anything: `protected` searches these lists, and core decides what a class means.

mod asked;
mod denied;
mod secrets;

use adjutant_core::policy::observation::FileClass;

pub(super) use asked::{COUNTS_LATER, RUNS_ON_BUILD};
pub(super) use denied::RUNS_BY_ITSELF;
pub(super) use secrets::{COPIES, OF_A_PROCESS, SAMPLES, SECRET};

/// Files of one class; `patterns` describes the form of a pattern.
pub(super) struct Family {
    pub class: FileClass,
    pub patterns: &'static [&'static str],
}
