//! Whether the system allows the threads and open files that every command needs.
//!
//! Checked before anything else starts, so that the user gets one sentence and no panic of a
//! thread pool. Never keeps a thread or a file.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::scarce;

/// Threads of a working command, in addition to its first one.
const THREADS: usize = 12;
/// The most files, pipes and directories that a run with one command has open.
const FILES: usize = 32;
/// Bytes of stack; enough for a thread that only waits.
const STACK: usize = 64 << 10;

/// Checks that there is room. The error says what to do.
pub fn check() -> anyhow::Result<()> {
    let why = |error: &io::Error| scarce::descriptors(error).or(scarce::processes(error));
    open_files().and_then(|()| start_threads()).map_err(|error| match why(&error) {
        Some(why) => anyhow::anyhow!("start: {why}"),
        None => anyhow::anyhow!("start: {error}"),
    })
}

fn open_files() -> io::Result<()> {
    let first = File::open("/dev/null")?;
    let others: io::Result<Vec<File>> = (1..FILES).map(|_| first.try_clone()).collect();
    others.map(drop)
}

/// Starts all threads at the same time, and ends them.
fn start_threads() -> io::Result<()> {
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    let start = |_| {
        let gate = Arc::clone(&gate);
        let wait = move || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
        Builder::new().stack_size(STACK).spawn(wait)
    };
    let started: Vec<io::Result<JoinHandle<()>>> = (0..THREADS).map(start).collect();
    drop(closed);
    started.into_iter().try_for_each(|thread| thread.map(|thread| _ = thread.join()))
}
