//! What the model's tools do to the world, one file per tool.
//!
//! Never knows a session and never decides whether a call may run: paths come
//! in grounded, commands pinned, and what comes out is bounded.

mod ask_user;
#[cfg(test)]
mod declared;
pub mod documents;
mod edit_file;
pub mod exclusions;
mod fail;
pub mod find_files;
pub mod list_files;
pub mod paths;
pub mod process;
pub mod protected;
pub mod read_file;
pub mod run_command;
pub mod search_text;
mod task_complete;
#[cfg(test)]
mod tests;
mod walk;
mod write_file;

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::record::UnsavedText;
use adjutant_core::text::display::one_line;
use adjutant_core::tool::{ArgumentType, Arguments, Effect, MAX_TITLE, Parameter, SameName, Tool, Toolset};

use crate::documents::Buffers;
use adjutant_host::aside;
use exclusions::Exclusions;
use paths::{ResolvedPath, Roots};

/// How long a read may walk or search before it answers with what it has.
const READ_TIME: Duration = Duration::from_secs(10);
/// How long a read is waited for at all: a file system may not answer.
const READ_WAIT: Duration = Duration::from_secs(30);

/// What came of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
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
    pub unsaved: Vec<UnsavedText>,
}

impl ToolOutput {
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

    /// Returns the output of a read that needs a place and got none.
    fn nowhere() -> Self {
        Self::failed("no place was given; give a path")
    }

    /// Returns the output of a call that could not be done, with the class of what is in the way.
    pub fn refused(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause: Some(cause), ..Self::failed(text) }
    }
}

/// A tool as data, and what it does.
#[derive(Clone, Debug)]
pub struct BuiltTool {
    pub tool: Tool,
    pub act: Act,
}

/// What a tool does. Each kind has one way through preparation, verdict and run.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Read(Read),
    /// Makes a new text of a file: the text it has, and what the model gave.
    Edit(for<'a> fn(&'a Arguments, &Before<'_>) -> Result<Cow<'a, str>, Reason>),
    Command,
    Question,
    Complete,
    Fail,
}

impl Act {
    fn effect(self) -> Effect {
        match self {
            Act::Read(_) => Effect::Read,
            Act::Edit(_) => Effect::OwnEdit,
            Act::Command => Effect::Opaque,
            Act::Question => Effect::Question,
            Act::Complete | Act::Fail => Effect::End,
        }
    }
}

/// A tool that reads, on a thread that may wait for the disk.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// What it reads, so that this can be judged.
    pub place: for<'a> fn(&'a Arguments) -> ReadTarget<'a>,
    pub run: fn(&Arguments, &ReadScope<'_>) -> ToolOutput,
}

/// What a tool reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTarget<'a> {
    /// This file or folder, and what is below it.
    At(&'a str),
    /// All folders of the workspace, for this.
    Everywhere(&'a str),
}

/// What a read may see: it was allowed.
pub struct ReadScope<'a> {
    /// Its place, grounded; none where it reads through all folders.
    pub at: Option<&'a ResolvedPath>,
    pub roots: &'a Roots,
    pub buffers: &'a Buffers,
    pub exclusions: &'a Exclusions,
    pub stop: &'a Stop,
}

/// The file of an edit as it is.
pub struct Before<'a> {
    /// As the user knows it.
    pub path: &'a str,
    /// Without a byte order mark.
    pub text: &'a str,
    pub exists: bool,
    pub has_mark: bool,
}

/// The tools that are always there, in the order in which models are told of them. A further one is a file beside
/// these and a row here.
const BUILT: [BuiltTool; 10] = [
    list_files::LIST_FILES,
    read_file::READ_FILE,
    find_files::FIND_FILES,
    search_text::SEARCH_TEXT,
    edit_file::EDIT_FILE,
    write_file::WRITE_FILE,
    run_command::RUN_COMMAND,
    ask_user::ASK_USER,
    task_complete::TASK_COMPLETE,
    fail::FAIL,
];

/// The path of a file that a tool is about.
const PATH: Parameter =
    Parameter::needed("path", ArgumentType::Path, "Path relative to the workspace folder, or absolute.");

/// The check of a tool whose arguments need to be right each by itself only.
fn fits(_: &Arguments) -> Result<(), Reason> {
    Ok(())
}

/// Why a tool is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitTool {
    #[error(transparent)]
    SameName(#[from] SameName),
    /// It would be repeated, or run beside others, as what it is not.
    #[error("the tool \"{0}\" does something else than its data say")]
    Effect(String),
}

/// The tools of a process, to which some may be added while it runs; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Shelf(Arc<Mutex<Arc<Toolbox>>>);

impl Shelf {
    /// Returns the tools of a run that begins now.
    pub fn now(&self) -> Arc<Toolbox> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a tool, which counts from the next run on.
    pub fn add(&self, built: BuiltTool) -> Result<(), UnfitTool> {
        let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *tools = Arc::new(tools.with(built)?);
        Ok(())
    }
}

/// The tools of a run: as data for core, and what each does.
#[derive(Clone, Debug)]
pub struct Toolbox {
    set: Arc<Toolset>,
    built: Vec<BuiltTool>,
}

impl Default for Toolbox {
    fn default() -> Self {
        // They fit together, which a test shows.
        Self::of(BUILT.to_vec()).unwrap_or_else(|_| Self { set: Arc::default(), built: Vec::new() })
    }
}

impl Toolbox {
    fn of(built: Vec<BuiltTool>) -> Result<Self, UnfitTool> {
        if let Some(other) = built.iter().find(|built| built.tool.effect != built.act.effect()) {
            return Err(UnfitTool::Effect(other.tool.name.clone().into_owned()));
        }
        let set = Toolset::new(built.iter().map(|built| built.tool.clone()).collect())?;
        Ok(Self { set: Arc::new(set), built })
    }

    /// Returns these tools and one more, behind them.
    pub fn with(&self, built: BuiltTool) -> Result<Self, UnfitTool> {
        Self::of(self.built.iter().cloned().chain([built]).collect())
    }

    /// Returns the tools as data.
    pub fn set(&self) -> &Arc<Toolset> {
        &self.set
    }

    /// Returns what a tool does.
    pub fn act(&self, name: &str) -> Option<Act> {
        self.built.iter().find(|built| built.tool.name == name).map(|built| built.act)
    }
}

/// A read that was allowed.
pub struct Reading {
    pub run: fn(&Arguments, &ReadScope<'_>) -> ToolOutput,
    pub given: Arguments,
    pub at: Option<ResolvedPath>,
}

/// Runs a read on a blocking thread; dropping the future stops it soon.
pub async fn read(reading: Reading, roots: Roots, buffers: Buffers, exclusions: Exclusions) -> ToolOutput {
    let stop = Stop::after(READ_TIME);
    let _guard = StopOnDrop(stop.clone());
    let work = aside::attempt(move || {
        let Reading { run, given, at } = reading;
        let at = at.as_ref();
        run(&given, &ReadScope { at, roots: &roots, buffers: &buffers, exclusions: &exclusions, stop: &stop })
    });
    match tokio::time::timeout(READ_WAIT, work).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => {
            tracing::error!(%error, "a read stopped unexpectedly");
            ToolOutput::failed("the read stopped unexpectedly; try another way")
        }
        Err(_) => ToolOutput::failed(format!(
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

impl<R: io::Read> io::Read for Stoppable<R> {
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
