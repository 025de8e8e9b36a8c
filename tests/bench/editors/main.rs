//! Measures the clients of VS Code and Neovim in the real editors, with a scripted model on loopback.
//!
//! `cargo bench --bench editors -- [--runs N] [--only SCENE] [--server PATH]`, after `tests/editors/install.sh`.
//! Never fails because of a figure: it prints them.

#[path = "../../editors/vscode/driver.rs"]
mod driver;
mod neovim;
#[path = "../../editors/neovim/driver.rs"]
#[expect(dead_code, reason = "the scenes of the tests use more of it")]
mod nvim;
#[path = "../past.rs"]
mod past;
#[path = "../samples.rs"]
#[expect(dead_code, reason = "the other bench uses more of it")]
mod samples;
#[path = "../../editors/seen.rs"]
#[expect(dead_code, reason = "the scenes of the tests use more of it")]
mod seen;
#[path = "../../editors/stage.rs"]
#[expect(dead_code, reason = "the scenes of the tests use more of it")]
mod stage;
mod vscode;

use std::io::Write;
use std::process::ExitCode;

use samples::{Samples, shown};

/// A scene with the program that is the server.
type Scene = fn(&str, &mut Samples);

const SCENES: &[(&str, Scene)] = &[
    ("activation", vscode::activation),
    ("tokens", vscode::tokens),
    ("changes", vscode::changes),
    ("opening", vscode::opening),
    ("stream", vscode::stream),
    ("nvim-opening", neovim::opening),
    ("nvim-stream", neovim::stream),
];

/// What is printed: a title, the bar, and the name of the measurements.
const ROWS: &[(&str, &str, &str)] = &[
    ("activation without the server's start, ms", "50", "activation"),
    ("first token: sent by the model → on the screen, ms", "50", "first token"),
    ("last byte of the reply → the change is on the screen, ms", "100", "change"),
    ("a session of 10 000 items opens, ms", "500", "opening"),
    ("deltas a second that the model sent", "500", "rate"),
    ("a typed character → on the screen, nothing else at work, ms", "–", "typing quiet"),
    ("the same while it streams, ms", "30", "typing"),
    ("messages to the page in the busiest second", "30", "messages"),
    ("memory of the page's scripts before, MB", "–", "heap before"),
    ("after the stream", "flat", "heap after"),
    ("after the second stream", "flat", "heap later"),
    ("memory of the renderers before, MB", "–", "resident before"),
    ("after the stream", "flat", "resident after"),
    ("after the second stream", "flat", "resident later"),
    ("Neovim: a session of 10 000 items opens, ms", "–", "nvim opening"),
    ("memory of Neovim after it, MB", "50", "nvim opened"),
    ("memory of Neovim before the stream, MB", "–", "nvim before"),
    ("after it", "flat", "nvim after"),
    ("the longest change of its page during the stream, ms", "10", "nvim longest"),
];

/// The arguments of the command line.
struct Arguments {
    runs: usize,
    only: Option<String>,
    server: String,
}

fn read(given: &[String]) -> Result<Arguments, String> {
    let mut parsed = Arguments { runs: 3, only: None, server: stage::SERVER.to_owned() };
    let mut given = given.iter();
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(format!("\"{argument}\" needs a value"));
        match argument.as_str() {
            // Cargo adds this argument.
            "--bench" => {}
            "--runs" => {
                let runs = value()?.parse().ok().filter(|runs| (1..=100).contains(runs));
                parsed.runs = runs.ok_or("--runs needs a number from 1 to 100")?;
            }
            "--only" => {
                let name = value()?;
                let names: Vec<&str> = SCENES.iter().map(|(name, _)| *name).collect();
                if !names.contains(&name.as_str()) {
                    return Err(format!("there is no scene \"{name}\"; there are {}", names.join(", ")));
                }
                parsed.only = Some(name.clone());
            }
            "--server" => {
                let path = std::fs::canonicalize(value()?).map_err(|error| format!("--server: {error}"))?;
                parsed.server = path.display().to_string();
            }
            other => return Err(format!("unknown argument \"{other}\"")),
        }
    }
    Ok(parsed)
}

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let arguments = match read(&given) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("editors: {why}");
            return ExitCode::from(2);
        }
    };
    let mut samples = Samples::default();
    for run in 1..=arguments.runs {
        for (name, scene) in SCENES {
            if arguments.only.as_deref().is_none_or(|only| only == *name) {
                eprintln!("run {run} of {}: {name}", arguments.runs);
                scene(&arguments.server, &mut samples);
            }
        }
    }
    let table = table(&samples);
    let written = std::io::stdout().write_all(table.as_bytes());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn table(samples: &Samples) -> String {
    let mut table = "| | bar | p50 | p95 | worst |\n|---|---|---|---|---|\n".to_owned();
    for (title, bar, name) in ROWS.iter().filter(|(.., name)| samples.median(name).is_some()) {
        let [middle, most, worst] = [50, 95, 100].map(|percent| shown(samples.over_all(name, percent)));
        table.push_str(&format!("| {title} | {bar} | {middle} | {most} | {worst} |\n"));
    }
    table
}
