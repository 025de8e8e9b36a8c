//! Runs the check of a task in the copy that the model has worked on.
//!
//! It runs the user's own command line, but also what the model wrote, so it gets the environment of a command of
//! the model: without secrets. Never leaves a process running.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_core::config::{KeySource, Settings};
use anyhow::Context;

use crate::tools::process::{
    Containment, End, Launch, MAX_OUTPUT, PinnedDirectory, child_environment, end_left_over, launch,
    pin_shell,
};

/// The most characters of a check's output that a result has.
const MAX_CHARS: usize = 2_000;
/// What shells exit with if a program cannot be run, or is not there.
const NOT_RUN: [i32; 2] = [126, 127];

/// How a check ended.
#[derive(Debug)]
pub struct CheckReport {
    pub verdict: CheckVerdict,
    pub took: Duration,
    /// The end of its output.
    pub output: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    Passed,
    /// With the exit code in words.
    Failed(String),
    /// It gave no answer about the work of the model.
    NoAnswer(String),
}

/// What a check is run with.
pub struct CheckPlace<'a> {
    pub line: &'a str,
    pub workspace: &'a Path,
    /// A folder for its output.
    pub scratch: &'a Path,
    /// The same for every start of the same attempt, so that what a killed one left running is found.
    pub name: String,
    pub limit: Duration,
    pub settings: &'a Settings,
}

/// Ends what the check of this name left running when its process was killed.
pub fn end_left_check(name: &str) {
    end_left_over(&[name.to_owned()]);
}

/// Runs a check to its end, or to its time limit.
pub async fn run_check(place: CheckPlace<'_>) -> anyhow::Result<CheckReport> {
    let found = place.workspace.symlink_metadata().context("run the check: find its folder")?;
    let directory =
        PinnedDirectory { path: place.workspace.to_owned(), device: found.dev(), inode: found.ino() };
    let keys = place.settings.providers.values().filter_map(|provider| match &provider.key {
        Some(KeySource::Variable(name)) => Some(name.clone()),
        _ => None,
    });
    let keys: Vec<String> = keys.collect();
    let command = Launch {
        command: place.line.to_owned(),
        shell: pin_shell().context("run the check: find a shell")?,
        directory,
        environment: child_environment(std::env::vars_os(), &keys, [place.workspace]),
        call: place.name,
        containment: Containment::of_environment(),
        time_limit: place.limit,
        output_limit: MAX_OUTPUT,
        whole: whole_output(place.scratch),
    };
    let ended = launch(&command, &mut |_| {}, std::future::pending()).await;
    let ended = ended.map_err(|why| anyhow::anyhow!("run the check: {why}"))?;
    let verdict = match ended.end {
        End::Exited(0) => CheckVerdict::Passed,
        End::Exited(code) if NOT_RUN.contains(&code) => CheckVerdict::NoAnswer(format!(
            "the check could not run (exit code {code}); is a program missing?"
        )),
        End::Exited(code) => CheckVerdict::Failed(format!("the check exited with {code}")),
        End::Signalled(signal) => CheckVerdict::Failed(format!("signal {signal} ended the check")),
        End::TimedOut => {
            CheckVerdict::Failed(format!("the check did not end within {} s", place.limit.as_secs()))
        }
        End::TooMuch => CheckVerdict::Failed("the check printed too much".to_owned()),
        End::Stopped | End::Unknown => CheckVerdict::NoAnswer("how the check ended is not known".to_owned()),
    };
    Ok(CheckReport { verdict, took: ended.time, output: tail(&ended.excerpt) })
}

fn whole_output(scratch: &Path) -> PathBuf {
    scratch.join("check-output.txt")
}

/// Returns the end of a text, without what stands for a part that was left out.
fn tail(text: &str) -> String {
    let text = text.replace('\u{1}', "[...]\n");
    let text = text.trim_end();
    match text.char_indices().rev().nth(MAX_CHARS - 1) {
        Some((from, _)) if from > 0 => format!("[...] {}", &text[from..]),
        _ => text.to_owned(),
    }
}
