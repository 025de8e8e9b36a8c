//! What the model's tools do to the world, one file per tool.
//!
//! Never knows a session and never decides whether a call may run: paths come
//! in grounded, commands pinned, and what comes out is bounded.

pub mod exclusions;
pub mod find_files;
pub mod list_files;
pub mod paths;
pub mod process;
pub mod protected;
pub mod read_file;
pub mod run_command;
pub mod search_text;
#[cfg(test)]
mod tests;
mod walk;

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_core::cause::Cause;
use adjutant_core::display::one_line;
use adjutant_core::event::Unsaved;
use adjutant_core::tool::MAX_TITLE;

use crate::documents::Buffers;
use exclusions::Exclusions;
use paths::{Grounded, Roots};

/// How long a read may walk or search before it answers with what it has.
const READ_TIME: Duration = Duration::from_secs(10);
/// How long a read is waited for at all: a file system may not answer.
const READ_WAIT: Duration = Duration::from_secs(30);

/// What came of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// What the model is told; bounded by each tool.
    pub text: String,
    /// Where the whole of it is, when `text` was cut.
    pub whole: Option<PathBuf>,
    /// One line of at most 80 characters for the user.
    pub summary: String,
    /// Whether the tool could not do what was asked; counts against the recovery budget (S26).
    pub failed: bool,
    /// Why it could not, as a class.
    pub cause: Option<Cause>,
    /// Open documents whose text a command did not see.
    pub unsaved: Vec<Unsaved>,
}

impl Output {
    /// Returns the output of a call that was done.
    pub fn done(text: impl Into<String>, summary: &str) -> Self {
        Self {
            text: text.into(),
            whole: None,
            summary: one_line(summary, MAX_TITLE),
            failed: false,
            cause: None,
            unsaved: Vec::new(),
        }
    }

    /// Returns the output of a call that could not be done: a sentence for the model.
    pub fn failed(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            summary: one_line(&text, MAX_TITLE),
            text,
            whole: None,
            failed: true,
            cause: None,
            unsaved: Vec::new(),
        }
    }

    /// Returns the output of a call that could not be done, with the class of what is in the way.
    pub fn refused(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause: Some(cause), ..Self::failed(text) }
    }
}

/// A read that was allowed, its path grounded.
#[derive(Clone, Debug)]
pub enum Reading {
    ListFiles { at: Grounded },
    ReadFile { at: Grounded, offset: Option<usize>, limit: Option<usize> },
    FindFiles { pattern: String },
    SearchText { pattern: String, within: Option<Grounded>, glob: Option<String> },
}

/// Runs a read on a blocking thread; dropping the future stops it soon.
pub async fn read(reading: Reading, roots: Roots, buffers: Buffers, exclusions: Exclusions) -> Output {
    let stop = Stop::after(READ_TIME);
    let _guard = StopOnDrop(stop.clone());
    let work = tokio::task::spawn_blocking(move || match &reading {
        Reading::ListFiles { at } => list_files::list_files(at, &roots, &exclusions),
        Reading::ReadFile { at, offset, limit } => {
            let lines = read_file::Wanted { offset: *offset, limit: *limit };
            read_file::read_file(at, &buffers, lines, &stop)
        }
        Reading::FindFiles { pattern } => find_files::find_files(&roots, pattern, &exclusions, &stop),
        Reading::SearchText { pattern, within, glob } => {
            let search = search_text::Search { pattern, within: within.as_ref(), glob: glob.as_deref() };
            search_text::search_text(&search, &roots, &buffers, &exclusions, &stop)
        }
    });
    match tokio::time::timeout(READ_WAIT, work).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => {
            tracing::error!(%error, "a read stopped unexpectedly");
            Output::failed("the read stopped unexpectedly; try another way")
        }
        Err(_) => Output::failed(format!(
            "the file system did not answer within {} seconds; try a smaller part",
            READ_WAIT.as_secs()
        )),
    }
}

/// When a walk or search has to end: it was cancelled, or its time is over.
#[derive(Clone, Debug)]
pub struct Stop {
    cancelled: Arc<AtomicBool>,
    deadline: Instant,
}

impl Stop {
    /// Returns a stop that comes after the given time, or when cancelled.
    pub fn after(time: Duration) -> Self {
        Self { cancelled: Arc::default(), deadline: Instant::now() + time }
    }

    /// Asks the work to end.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether the work has to end.
    pub fn reached(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// A source that ends with an error when the work has to end.
struct Stoppable<R> {
    source: R,
    stop: Stop,
}

impl<R> Stoppable<R> {
    fn new(source: R, stop: &Stop) -> Self {
        Self { source, stop: stop.clone() }
    }
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        match self.stop.reached() {
            true => Err(io::Error::other("the time for it was over")),
            false => self.source.read(piece),
        }
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Returns `1 file`, `2 files`.
fn counted(count: usize, what: &str) -> String {
    let plural = match what.ends_with("ch") || what.ends_with("ss") {
        _ if count == 1 => what.to_owned(),
        true => format!("{what}es"),
        false => format!("{what}s"),
    };
    format!("{count} {plural}")
}
