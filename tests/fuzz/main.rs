//! All fuzz targets in one binary: `ADJUTANT_FUZZ=frames fuzz ...` runs the target `frames`.
//!
//! This file knows libFuzzer and no property; the targets never know libFuzzer. With `ADJUTANT_FUZZ_STEADY`
//! it searches by itself, the same way on every machine. Then libFuzzer only starts it, as for an errand.
#![no_main]

mod errand;
mod kept;
mod steady;

#[path = "targets/list.rs"]
mod targets;

use std::path::PathBuf;
use std::sync::{Once, OnceLock};

/// The task that libFuzzer starts.
enum Task {
    Fuzz(targets::Check),
    Steady(steady::Search, targets::Check),
    Errand(errand::Errand),
}

static TASK: OnceLock<Task> = OnceLock::new();
static DONE: Once = Once::new();

fn task() -> Task {
    match (errand::Errand::asked(), steady::Search::asked()) {
        (Some(errand), _) => Task::Errand(errand),
        (None, Some(search)) => Task::Steady(search, target()),
        (None, None) => Task::Fuzz(target()),
    }
}

/// Returns the file of the kept inputs.
fn corpus() -> PathBuf {
    std::env::var_os("ADJUTANT_FUZZ_KEPT").expect("ADJUTANT_FUZZ_KEPT names the corpus").into()
}

fn target() -> targets::Check {
    let name = std::env::var("ADJUTANT_FUZZ").unwrap_or_default();
    let known = targets::TARGETS.iter().find(|(known, _)| *known == name);
    let names = || targets::TARGETS.map(|(known, _)| known).join(", ");
    known.unwrap_or_else(|| panic!("ADJUTANT_FUZZ is {name:?}; set it to one of {}", names())).1
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    // libFuzzer calls this again, and counts an exit of the process in here as a crash.
    match TASK.get_or_init(task) {
        Task::Fuzz(check) => check(input),
        Task::Steady(search, check) => DONE.call_once(|| {
            println!("steady: {} runs, all together {:016x}", search.runs, search.run(&corpus(), *check));
        }),
        Task::Errand(errand) => {
            DONE.call_once(|| println!("errand: {} inputs", errand.run(&corpus())));
        }
    }
});
