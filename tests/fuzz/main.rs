//! The fuzz targets behind one binary: `ADJUTANT_FUZZ=frames fuzz ...` drives that one.
//!
//! Knows libFuzzer and nothing of what is tested; the properties never know libFuzzer. With
//! `ADJUTANT_FUZZ_STEADY` it searches by itself, the same on every machine, and libFuzzer only starts it.
#![no_main]

mod steady;

#[path = "targets/list.rs"]
mod targets;

use std::sync::{Once, OnceLock};

static TARGET: OnceLock<targets::Check> = OnceLock::new();
static STEADY: OnceLock<Option<steady::Search>> = OnceLock::new();
static SEARCHED: Once = Once::new();

fn target() -> targets::Check {
    let name = std::env::var("ADJUTANT_FUZZ").unwrap_or_default();
    let known = targets::TARGETS.iter().find(|(known, _)| *known == name);
    let names = || targets::TARGETS.map(|(known, _)| known).join(", ");
    known.unwrap_or_else(|| panic!("ADJUTANT_FUZZ is {name:?}; set it to one of {}", names())).1
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let check = TARGET.get_or_init(target);
    match STEADY.get_or_init(steady::Search::asked) {
        None => check(input),
        // libFuzzer calls again, and takes it for a crash when the process ends in here.
        Some(search) => SEARCHED.call_once(|| {
            println!("steady: {} runs, all together {:016x}", search.runs, search.run(*check));
        }),
    }
});
