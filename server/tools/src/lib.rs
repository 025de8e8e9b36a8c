//! The model's tools: what they read, write and run. Each tool has a file of its own.
//!
//! Never knows a session and never decides whether a call may run. The caller passes resolved paths and pinned
//! commands, and every output is bounded.

pub mod apply_patch;
mod ask_user;
#[cfg(test)]
mod declared;
pub mod definitions;
mod delete_file;
pub mod documents;
mod edit_file;
pub mod exclusions;
mod fail;
pub mod find_files;
pub mod list_files;
mod move_file;
pub mod names;
pub mod paths;
pub mod process;
pub mod protected;
pub mod read_file;
pub mod run_command;
pub mod search_text;
mod task_complete;
#[cfg(test)]
mod tests;
mod update_plan;
mod walk;
mod write_file;

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::prompt::models::EditTool;
use adjutant_core::record::UnsavedText;
use adjutant_core::text::display::one_line;
use adjutant_core::text::freshness::KnownLines;
use adjutant_core::tool::{ArgumentType, Arguments, Effect, MAX_TITLE, Parameter, SameName, Tool, Toolset};

use crate::documents::Buffers;
use adjutant_host::aside;
use apply_patch::PatchPart;
use exclusions::Exclusions;
use paths::{ResolvedPath, Roots};

/// How long a read may walk or search before it answers with what it has.
const READ_TIME: Duration = Duration::from_secs(10);
/// How long to wait for a read at most: a file system may not answer.
const READ_WAIT: Duration = Duration::from_secs(30);

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model; each tool bounds it.
    pub text: String,
    /// The file with the whole output, if `text` was cut.
    pub whole: Option<PathBuf>,
    /// One line for the user, at most 80 characters.
    pub summary: String,
    /// Whether the call failed; a failure counts against the recovery budget (S26).
    pub failed: bool,
    /// The class of the failure.
    pub cause: Option<Cause>,
    /// Open documents whose text a command did not see.
    pub unsaved: Vec<UnsavedText>,
    /// The lines of the file of the call that the text shows whole.
    pub known: Vec<KnownLines>,
}

impl ToolOutput {
    /// Returns the output of a call that succeeded.
    pub fn done(text: impl Into<String>, summary: &str) -> Self {
        Self {
            text: text.into(),
            whole: None,
            summary: one_line(summary, MAX_TITLE),
            failed: false,
            cause: None,
            unsaved: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Returns the output of a call that failed; `text` is a sentence for the model.
    pub fn failed(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            summary: one_line(&text, MAX_TITLE),
            text,
            whole: None,
            failed: true,
            cause: None,
            unsaved: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Returns the output of a read that needs a path and got none.
    fn without_path() -> Self {
        Self::failed("no place was given; give a path")
    }

    /// Returns the output of a call that failed, with the class of the failure.
    pub fn refused(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause: Some(cause), ..Self::failed(text) }
    }
}

/// A tool as data, and its action.
#[derive(Clone, Debug)]
pub struct BuiltTool {
    pub tool: Tool,
    pub act: Action,
}

/// Returns the new text of a file, from the arguments of the call and the file as it is.
pub type EditedText = for<'a> fn(&'a Arguments, &FileBefore<'_>) -> Result<Cow<'a, str>, Reason>;

/// The action of a tool. Each kind is prepared, judged and run in one way.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    Read(Read),
    /// Gives a file a new text.
    Edit(EditedText),
    /// Like `Edit`, for a tool whose arguments quote nothing of the text before.
    Write(EditedText),
    /// Returns the edits of several files that one call asks for.
    Patch(fn(&Arguments) -> Result<Vec<PatchPart>, Reason>),
    /// Deletes the file `path`.
    Delete,
    /// Moves the file `from` to the name `to`.
    Move,
    Command,
    Question,
    /// Shows the plan of the task to the user.
    Plan,
    Complete,
    Fail,
}

impl Action {
    fn effect(self) -> Effect {
        match self {
            Action::Read(_) | Action::Plan => Effect::Read,
            Action::Edit(_) | Action::Write(_) | Action::Patch(_) | Action::Delete | Action::Move => {
                Effect::OwnEdit
            }
            Action::Command => Effect::Opaque,
            Action::Question => Effect::Question,
            Action::Complete | Action::Fail => Effect::End,
        }
    }
}

/// A tool that reads, on a thread that may wait for the disk.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Returns what the call will read, so that core can judge it.
    pub target: for<'a> fn(&'a Arguments) -> ReadTarget<'a>,
    pub run: fn(&Arguments, &ReadScope<'_>) -> ToolOutput,
}

/// What a call reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTarget<'a> {
    /// This file, or this folder and all below it.
    At(&'a str),
    /// All folders of the workspace, searched for this pattern.
    Everywhere(&'a str),
}

/// What an allowed read may see.
pub struct ReadScope<'a> {
    /// The resolved path of the call; none if it reads all folders.
    pub at: Option<&'a ResolvedPath>,
    pub roots: &'a Roots,
    pub buffers: &'a Buffers,
    pub exclusions: &'a Exclusions,
    pub stop: &'a Stop,
}

/// The file as it is before an edit.
pub struct FileBefore<'a> {
    /// The path as the user knows it.
    pub path: &'a str,
    /// Without a byte order mark.
    pub text: &'a str,
    pub exists: bool,
    pub has_mark: bool,
}

/// The built-in tools, in the order in which models see them. To add one, add its file and a row here.
const BUILT: [BuiltTool; 14] = [
    list_files::LIST_FILES,
    read_file::READ_FILE,
    find_files::FIND_FILES,
    search_text::SEARCH_TEXT,
    edit_file::EDIT_FILE,
    write_file::WRITE_FILE,
    move_file::MOVE_FILE,
    delete_file::DELETE_FILE,
    apply_patch::TOOL,
    run_command::RUN_COMMAND,
    update_plan::UPDATE_PLAN,
    ask_user::ASK_USER,
    task_complete::TASK_COMPLETE,
    fail::FAIL,
];

/// The parameter for the file that a tool reads or edits.
const PATH: Parameter =
    Parameter::needed("path", ArgumentType::Path, "Path relative to the workspace folder, or absolute.");

/// The check of a tool whose arguments do not depend on each other.
fn no_check(_: &Arguments) -> Result<(), Reason> {
    Ok(())
}

/// Why a tool is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitTool {
    #[error(transparent)]
    SameName(#[from] SameName),
    /// Its data declare a wrong effect, so it might be repeated, or run in parallel, when it must not be.
    #[error("the tool \"{0}\" does something else than its data say")]
    Effect(String),
}

/// The tools of a server process, once for each way to edit. Tools can be added while it runs; clones share them.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry(Arc<Mutex<Toolboxes>>);

#[derive(Clone, Debug)]
struct Toolboxes {
    edit_file: Arc<Toolbox>,
    apply_patch: Arc<Toolbox>,
}

impl Default for Toolboxes {
    fn default() -> Self {
        let of = |edits| Arc::new(Toolbox::built_in(edits));
        Self { edit_file: of(EditTool::EditFile), apply_patch: of(EditTool::ApplyPatch) }
    }
}

impl ToolRegistry {
    /// Returns the tools for a run that begins now with a model that edits by this tool.
    pub fn current(&self, edits: EditTool) -> Arc<Toolbox> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match edits {
            EditTool::EditFile => all.edit_file.clone(),
            EditTool::ApplyPatch => all.apply_patch.clone(),
        }
    }

    /// Returns the tools with this hash; `None` if this process has others.
    pub fn of_hash(&self, hash: &str) -> Option<Arc<Toolbox>> {
        EditTool::ALL.map(|edits| self.current(edits)).into_iter().find(|tools| tools.set().hash() == hash)
    }

    /// Adds a tool; the next run is the first that has it.
    pub fn add(&self, built: BuiltTool) -> Result<(), UnfitTool> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let with = |tools: &Toolbox| tools.with(built.clone()).map(Arc::new);
        *all = Toolboxes { edit_file: with(&all.edit_file)?, apply_patch: with(&all.apply_patch)? };
        Ok(())
    }
}

/// The tools of a run: their data for core, and their actions.
#[derive(Clone, Debug)]
pub struct Toolbox {
    set: Arc<Toolset>,
    built: Vec<BuiltTool>,
}

impl Default for Toolbox {
    fn default() -> Self {
        Self::built_in(EditTool::EditFile)
    }
}

impl Toolbox {
    /// Returns the built-in tools, with the one or the others to edit files.
    pub fn built_in(edits: EditTool) -> Self {
        let is_in = |built: &BuiltTool| match built.act {
            Action::Patch(_) => edits == EditTool::ApplyPatch,
            act => act.effect() != Effect::OwnEdit || edits == EditTool::EditFile,
        };
        let built = BUILT.into_iter().filter(is_in).collect();
        // The built-in tools are valid; a test checks it.
        Self::of(built).unwrap_or_else(|_| Self { set: Arc::default(), built: Vec::new() })
    }

    fn of(built: Vec<BuiltTool>) -> Result<Self, UnfitTool> {
        if let Some(other) = built.iter().find(|built| built.tool.effect != built.act.effect()) {
            return Err(UnfitTool::Effect(other.tool.name.clone().into_owned()));
        }
        let set = Toolset::new(built.iter().map(|built| built.tool.clone()).collect())?;
        Ok(Self { set: Arc::new(set), built })
    }

    /// Returns these tools with one more after them.
    pub fn with(&self, built: BuiltTool) -> Result<Self, UnfitTool> {
        Self::of(self.built.iter().cloned().chain([built]).collect())
    }

    /// Returns the tools as data.
    pub fn set(&self) -> &Arc<Toolset> {
        &self.set
    }

    /// Returns the action of a tool.
    pub fn act(&self, name: &str) -> Option<Action> {
        self.built.iter().find(|built| built.tool.name == name).map(|built| built.act)
    }
}

/// An allowed read.
pub struct AllowedRead {
    pub run: fn(&Arguments, &ReadScope<'_>) -> ToolOutput,
    pub given: Arguments,
    pub at: Option<ResolvedPath>,
}

/// Runs a read on a blocking thread; dropping the future stops it soon.
pub async fn read(
    allowed: AllowedRead,
    roots: Roots,
    buffers: Buffers,
    exclusions: Exclusions,
) -> ToolOutput {
    let stop = Stop::after(READ_TIME);
    let _guard = StopOnDrop(stop.clone());
    let work = aside::attempt(move || {
        let AllowedRead { run, given, at } = allowed;
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

/// Ends a walk or search that is cancelled or runs out of time.
#[derive(Clone, Debug)]
pub struct Stop {
    cancelled: Arc<AtomicBool>,
    deadline: Instant,
}

impl Stop {
    /// Returns a stop that is reached after the given time, or when cancelled.
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

/// A source that returns an error once its stop is reached.
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
        if self.stop.reached() {
            return Err(io::Error::other("the time for it was over"));
        }
        self.source.read(piece)
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Returns a count with its noun: `1 file`, `2 files`.
fn counted(count: usize, what: &str) -> String {
    let ending = match what {
        _ if count == 1 => "",
        what if what.ends_with("ch") || what.ends_with("ss") => "es",
        _ => "s",
    };
    format!("{count} {what}{ending}")
}
