//! Measures the figures of `docs/performance.md` with a real server process, an editor over stdio and a
//! model on loopback.
//!
//! `cargo bench --bench figures -- [--runs N] [--only SCENE] [--server PATH]`.
//! Never talks to another machine. Every wait has a limit.

mod client;
mod crowd;
mod decoding;
mod figures;
mod hostile;
mod logs;
mod mentions;
mod past;
mod process;
mod review;
mod samples;
mod setup;
mod streams;
mod table;
mod waits;
mod workspace;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use figures::Bench;
use samples::Samples;
use workspace::Workspace;

/// The arguments of the command line.
struct Arguments {
    runs: usize,
    only: Option<String>,
    server: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match read(&arguments) {
        Ok(parsed) => parsed,
        Err(why) => {
            eprintln!("figures: {why}");
            return ExitCode::from(2);
        }
    };
    let program = parsed.server.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_adjutant")));
    let Ok(size) = std::fs::metadata(&program).map(|program| program.len()) else {
        eprintln!("figures: there is no program {program:?}");
        return ExitCode::from(2);
    };
    // On the disk of the build: a sync in a memory file system costs nothing.
    let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let directory = tempfile::TempDir::new_in(home).expect("the target directory can be written");
    let workspace = Workspace::make(directory.path());
    let bench = Bench { program: &program, directory: directory.path(), workspace: &workspace };
    let mut samples = Samples::default();
    for run in 1..=parsed.runs {
        for (name, scene) in SCENES {
            if parsed.only.as_deref().is_none_or(|only| only == *name) {
                eprintln!("run {run} of {}: {name}", parsed.runs);
                scene(&bench, &mut samples);
            }
        }
    }
    let table = table::write(&samples, size as f64 / 1e6);
    let written = std::io::stdout().write_all(table.as_bytes());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

type Scene = fn(&Bench, &mut Samples);

const SCENES: &[(&str, Scene)] = &[
    ("starts", figures::starts),
    ("prompts", figures::prompts),
    ("task", figures::task),
    ("together", figures::together),
    ("long", figures::long),
    ("tokens", figures::tokens),
    ("burst", figures::burst),
    ("approvals", figures::approvals),
    ("cancels", figures::cancels),
    ("waits", waits::waits),
    ("setup", setup::setup),
    ("updates", streams::updates),
    ("deaf", streams::deaf),
    ("crowd", crowd::crowd),
    ("decoding", decoding::decoding),
    ("hostile", hostile::hostile),
    ("opening", logs::opening),
    ("opening-long", logs::opening_long),
    ("listing", logs::listing),
    ("mentions", mentions::mentions),
    ("review", review::thousand),
    ("ask", review::ask),
    ("rewind", review::rewind),
    ("writes", review::writes),
    ("arguments-2", |bench, samples| figures::arguments(bench, samples, 2)),
    ("arguments-4", |bench, samples| figures::arguments(bench, samples, 4)),
    ("arguments-8", |bench, samples| figures::arguments(bench, samples, 8)),
];

fn read(arguments: &[String]) -> Result<Arguments, String> {
    let mut parsed = Arguments { runs: 5, only: None, server: None };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("\"{argument}\" needs a value"));
        match argument.as_str() {
            // Cargo adds this argument.
            "--bench" => {}
            "--runs" => {
                let runs = value()?.parse().ok().filter(|runs| (1..=100).contains(runs));
                parsed.runs = runs.ok_or("--runs needs a number from 1 to 100")?;
            }
            "--only" => {
                let name = value()?;
                if !SCENES.iter().any(|(known, _)| known == name) {
                    let names: Vec<&str> = SCENES.iter().map(|(name, _)| *name).collect();
                    return Err(format!("there is no scene \"{name}\"; there are {}", names.join(", ")));
                }
                parsed.only = Some(name.clone());
            }
            "--server" => parsed.server = Some(PathBuf::from(value()?)),
            other => return Err(format!("unknown argument \"{other}\"")),
        }
    }
    Ok(parsed)
}
