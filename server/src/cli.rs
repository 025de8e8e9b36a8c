//! The command line: what can be typed, and which file does it.
//!
//! The loop (no command), `run`, `demo` and `answer` are clients of the same server over an in-memory
//! pipe. Never holds state of the agent, and never decides what the server decides.

mod asks;
mod capabilities;
mod chat;
mod client;
mod config;
mod conversation;
mod debug_log;
mod demo;
mod doctor;
mod editor;
mod eval;
mod folder;
mod line;
mod open_asks;
mod page;
mod pages;
mod piped;
mod present;
mod reference;
mod respond;
mod review;
mod room;
mod run;
mod service;
mod sessions;
mod setup;
mod show;
mod signals;
mod typed;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::settings::Sources;
use crate::tools::process::adopt_orphans;
use client::Failure;
use conversation::LeaveReason;
use page::{OutputCut, note};

/// How long a thread for blocking work stays without work: as long as the process.
const KEEP_THREADS: Duration = Duration::from_secs(u32::MAX as u64);

/// How a command ended: the exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine = 0,
    /// The run failed, was cancelled or reached a limit.
    Failed = 1,
    /// The command line is wrong, or no model is configured.
    Usage = 2,
    /// Something was denied because no person was present to answer.
    Denied = 3,
    /// Another answer came first.
    Late = 4,
    /// An edit that was allowed is not on disk at the end.
    NotOnDisk = 5,
    /// The reader of the output has gone. Shells report the same code when a closed pipe ends a program.
    Unread = 141,
    Interrupted = 130,
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The loop, for the help.
const WITHOUT: &str = "At a terminal, `adjutant` without a command opens a prompt in this folder.";

/// An agent for your editor and your terminal, as a language server.
#[derive(Debug, Parser)]
#[command(name = "adjutant", version, about, arg_required_else_help = true, after_help = WITHOUT)]
struct CommandLine {
    /// Write a debug log into the state directory
    #[arg(short = 'd', long = "debug", global = true)]
    debug: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the language server on standard input and output
    Lsp {
        /// The transport; standard input and output are the only one there is
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Choose a provider and a model, try them, and write the settings
    Setup,
    /// Check the settings, and call each model once
    Doctor(doctor::DoctorLine),
    /// Install the client into an editor, update or remove it; without an editor, list them
    Editor(editor::EditorLine),
    /// Give the agent a task in this folder and watch it work
    #[command(after_help = run::NOTES)]
    Run(run::RunLine),
    /// Watch a scripted model fix a small project, without network or key
    Demo,
    /// List, show, rename, export or delete sessions
    Sessions {
        #[command(subcommand)]
        action: sessions::SessionsAction,
    },
    /// List the open questions of all sessions on this machine, each in full
    ///
    /// This also reads the sessions of editors and other terminals, and does not disturb them.
    Asks(open_asks::AsksLine),
    /// Answer a question, also one that an editor or another terminal shows
    ///
    /// The first valid answer wins. If another process has the session open, it gets the answer.
    /// If none has, the session opens here and its run continues: to its end, or, without a
    /// terminal, to the next question.
    #[command(after_help = respond::EXITS)]
    Answer(respond::AnswerLine),
    /// List, show, keep or undo the agent's changes that nobody has looked at
    Review(review::ReviewLine),
    /// Say who wrote a line: which task, which model, and whether a person looked
    Why(review::WhyLine),
    /// Try models on your own tasks, and compare what they pass and use
    #[command(after_help = eval::NOTES)]
    Eval(eval::EvalLine),
    /// Print every setting, its value and where the value came from
    Config,
    /// Print what an editor supports, and what it gets in place of the rest
    Capabilities {
        /// The `initialize` params of the editor, or only its capabilities, as JSON; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        initialize: PathBuf,
    },
    /// Print what makes Tab complete Adjutant's commands in your shell
    #[command(after_help = reference::COMPLETIONS)]
    Completions { shell: clap_complete::Shell },
    /// Write the pages of the manual into a folder, for those who make packages
    #[command(hide = true)]
    Man { folder: PathBuf },
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    if let Err(error) = close_to_others() {
        note(&format!(
            "warning: this process cannot hide its memory ({error}), so a command that you allow can read its keys; \
             allow no commands"
        ));
    }
    adopt_orphans();
    let sources = Sources::of_process();
    if let Some(debug) = without_command()
        && let Some(person) = chat::person(&sources)
    {
        if debug {
            start_debug_log(&sources);
        }
        return ended(in_runtime(chat::chat(sources, person)));
    }
    let line = CommandLine::parse();
    if line.debug {
        start_debug_log(&sources);
    }
    ended(match line.command {
        Command::Lsp { stdio: _ } => in_runtime(service::serve_stdio(sources)),
        Command::Config => config::config(sources),
        Command::Capabilities { initialize } => capabilities::capabilities(&initialize),
        Command::Completions { shell } => reference::completions(CommandLine::command(), shell),
        Command::Man { folder } => reference::manual(CommandLine::command(), &folder),
        Command::Setup => in_runtime(setup::setup(sources)),
        Command::Doctor(line) => in_runtime(doctor::doctor(sources, line)),
        Command::Editor(line) => in_runtime(editor::editor(sources, line)),
        Command::Run(run) => in_runtime(run::run(sources, run)),
        Command::Demo => in_runtime(demo::demo(sources)),
        Command::Asks(line) => open_asks::asks(&sources, &line),
        Command::Answer(line) => in_runtime(respond::respond(sources, line)),
        Command::Review(line) => in_runtime(review::review(sources, line)),
        Command::Why(line) => in_runtime(review::why(sources, line)),
        Command::Eval(line) => in_runtime(eval::eval(sources, line)),
        Command::Sessions { action } => in_runtime(sessions::sessions(sources, action)),
    })
}

/// Whether the command line names no command; `Some` says whether a debug log is wanted.
fn without_command() -> Option<bool> {
    let mut flags = std::env::args_os().skip(1);
    flags.try_fold(false, |_, flag| (flag == "-d" || flag == "--debug").then_some(true))
}

/// Returns the exit code of a command; prints why it failed.
fn ended(exit: anyhow::Result<Exit>) -> ExitCode {
    match exit {
        Ok(exit) => exit.into(),
        Err(error) => {
            note(&sentence(&error));
            Exit::Failed.into()
        }
    }
}

/// Returns why a command failed, in a sentence for the user.
fn sentence(error: &anyhow::Error) -> String {
    if let Some(cut) = error.downcast_ref::<OutputCut>() {
        return cut.to_string();
    }
    let failure = error.downcast_ref::<Failure>().or_else(|| match error.downcast_ref() {
        Some(LeaveReason::Failed(failure)) => Some(failure),
        _ => None,
    });
    failure.map_or_else(|| format!("adjutant could not {error:#}"), Failure::to_string)
}

/// Hides memory and environment of this process, where keys are, from every other process of the user,
/// also from the commands that it starts. Must be the first call of the process.
#[cfg(target_os = "linux")]
fn close_to_others() -> std::io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?)
}

/// Does nothing: other systems show a process only to its own user's debuggers.
#[cfg(not(target_os = "linux"))]
fn close_to_others() -> std::io::Result<()> {
    Ok(())
}

fn start_debug_log(sources: &Sources) {
    match debug_log::start(sources) {
        Ok(path) => note(&format!("debug log: {}", path.display())),
        Err(error) => note(&format!("there is no debug log: adjutant could not {error:#}")),
    }
}

/// Runs a command to its end. Threads that still hang then are abandoned, because a read of the
/// terminal may never return.
fn in_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    room::check()?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).thread_keep_alive(KEEP_THREADS).enable_all().build();
    let runtime = runtime.map_err(|error| anyhow::anyhow!("start its runtime: {error}"))?;
    {
        // With this handler a write beyond the allowed file size (`ulimit -f`) fails with an error. Without it
        // the signal would end this process silently.
        let _inside = runtime.enter();
        drop(signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?);
    }
    // Starts one thread for blocking work. If the system allows no more threads later, work waits for this
    // one; without any, the runtime would panic.
    drop(runtime.spawn_blocking(|| ()));
    let exit = runtime.block_on(command);
    runtime.shutdown_timeout(Duration::from_millis(500));
    exit
}

#[cfg(test)]
mod tests;
