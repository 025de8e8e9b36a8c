//! The fuzz targets behind one binary: `ADJUTANT_FUZZ=frames fuzz ...` drives that one.
//!
//! Knows libFuzzer and nothing of what is tested; the properties never know libFuzzer.
#![no_main]

#[path = "targets/list.rs"]
mod targets;

use std::sync::OnceLock;

static TARGET: OnceLock<targets::Check> = OnceLock::new();

fn target() -> targets::Check {
    let name = std::env::var("ADJUTANT_FUZZ").unwrap_or_default();
    let known = targets::TARGETS.iter().find(|(known, _)| *known == name);
    let names = || targets::TARGETS.map(|(known, _)| known).join(", ");
    known.unwrap_or_else(|| panic!("ADJUTANT_FUZZ is {name:?}; set it to one of {}", names())).1
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGET.get_or_init(target)(input));
