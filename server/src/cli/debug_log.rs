//! The debug log (S17): one JSON line for each event.
//!
//! Never writes to the terminal, and never into a file it did not create.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::settings::{Sources, private_dir};

/// What is logged: Adjutant's crates in full, warnings and errors of the libraries.
const FILTER: &str = "warn,adjutant=trace,adjutant_core=trace";

/// Starts the log of this process in the state directory and returns its path.
pub fn start(sources: &Sources) -> anyhow::Result<PathBuf> {
    let folder = sources.own_state_dir()?.0.join("log");
    private_dir(&folder)?;
    let path = folder.join(format!("adjutant-{}.jsonl", std::process::id()));
    write_to(&path)?;
    Ok(path)
}

/// Sends every event of this process to a file that only its owner can read.
pub fn write_to(path: &std::path::Path) -> anyhow::Result<()> {
    let make = || format!("write the debug log \"{}\"", path.display());
    // A process with the same number may have left a file. Links are never followed.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error).with_context(make),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).with_context(make)?;
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_env_filter(EnvFilter::new(FILTER))
        .with_writer(Mutex::new(file))
        .finish();
    tracing::subscriber::set_global_default(subscriber).with_context(make)?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "the debug log starts");
    Ok(())
}
