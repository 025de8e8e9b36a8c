//! The command line: what can be typed, and which file does it.
//!
//! `run`, `demo` and `answer` are clients of the same server over an in-memory
//! pipe. Holds no agent state and decides nothing the server decides.

mod asks;
mod buffers;
mod cells;
mod client;
mod conversation;
mod debug_log;
mod demo;
mod doctor;
mod open_asks;
mod page;
mod present;
mod probe;
mod respond;
mod run;
mod service;
mod sessions;
mod setup;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use adjutant_protocol::session::Mode;
use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::doors::fallbacks::Surfaces;
use crate::settings::{self, Sources};
use page::{Page, note};

/// How a command ended, as the shell is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine = 0,
    /// The run failed, was cancelled or reached a limit.
    Failed = 1,
    /// The command line makes no sense, or no model is configured.
    Usage = 2,
    /// Something was denied because nobody was present.
    Denied = 3,
    /// Another answer came first.
    Late = 4,
    Interrupted = 130,
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An agent language server: the agent loop behind any LSP editor.
#[derive(Debug, Parser)]
#[command(name = "adjutant", version, about, arg_required_else_help = true)]
struct Line {
    /// Write a debug log of every message, state and decision to the state directory
    #[arg(short = 'd', long = "debug", global = true)]
    debug: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve an editor on standard input and output
    Lsp {
        /// The transport; standard input and output are the only one there is
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Choose a provider and a model, see that it answers, and write the settings
    Setup,
    /// Say what is set, where it came from, and whether it works
    Doctor(doctor::DoctorLine),
    /// Give the agent a task in this folder and watch it work
    Run(RunLine),
    /// Watch a scripted model mend a small project; needs no network and no key
    Demo,
    /// List, show, export or delete sessions
    Sessions {
        #[command(subcommand)]
        action: sessions::Action,
    },
    /// List what the agent asks, in every session on this machine, each ask whole
    ///
    /// Sessions that an editor or another terminal works on are read too, and not disturbed.
    Asks(open_asks::AsksLine),
    /// Answer an ask, also one that an editor or another terminal shows
    ///
    /// The first valid answer wins. Where another process works on the session, the answer is
    /// handed to it. Where none does, the session is opened and its run goes on here, as
    /// `adjutant run --session` would go on: to its end, or to the next ask if nobody is at the
    /// terminal.
    #[command(after_help = respond::EXITS)]
    Answer(respond::AnswerLine),
    /// Print every setting, its value and where the value came from
    Config,
    /// Print what an editor can do, and which surface stands for what it cannot
    Capabilities {
        /// The params or the capabilities of its `initialize`, as JSON; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        initialize: PathBuf,
    },
}

/// What `adjutant run` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct RunLine {
    /// The task; `-` reads it from standard input. Optional with --continue and --session
    pub prompt: Option<String>,
    /// An image the task is about (PNG, JPEG, GIF or WebP); may be given up to eight times
    #[arg(long = "image", value_name = "FILE", requires = "prompt")]
    pub images: Vec<PathBuf>,
    /// Nobody watches: edits in the workspace are made without asking
    #[arg(short = 'y', long = "yes")]
    pub unattended: bool,
    /// With -y: commands run without asking, with your rights
    #[arg(long, requires = "unattended")]
    pub allow_commands: bool,
    /// Which tools the model has: all of them, or the reading ones
    #[arg(long, value_enum)]
    pub mode: Option<ModeName>,
    /// How much the model is to think: low, medium or high
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<String>,
    /// How many words the model is to make: low, medium or high
    #[arg(long, value_name = "VERBOSITY")]
    pub verbosity: Option<String>,
    /// The model to use
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub model: Option<String>,
    /// The workspace folder; the present one when not given
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Go on with the newest session of this folder
    #[arg(long = "continue", conflicts_with = "session")]
    pub go_on: bool,
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// What is printed: text to read, or one update a line
    #[arg(long, value_enum, default_value = "text")]
    pub output: Output,
    /// Print the answer and what is asked, nothing else
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    Code,
    Ask,
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Code => Mode::Code,
            ModeName::Ask => Mode::Ask,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Text,
    Json,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let line = Line::parse();
    let sources = Sources::of_process();
    if line.debug {
        start_debug_log(&sources);
    }
    let exit = match line.command {
        Command::Lsp { stdio: _ } => in_runtime(service::serve_stdio(sources)),
        Command::Config => Ok(config(sources)),
        Command::Capabilities { initialize } => capabilities(&initialize),
        Command::Setup => in_runtime(setup::setup(sources)),
        Command::Doctor(line) => in_runtime(doctor::doctor(sources, line)),
        Command::Run(run) => in_runtime(run::run(sources, run)),
        Command::Demo => in_runtime(demo::demo(sources)),
        Command::Asks(line) => open_asks::asks(&sources, &line),
        Command::Answer(line) => in_runtime(respond::respond(sources, line)),
        Command::Sessions { action } => in_runtime(sessions::sessions(sources, action)),
    };
    match exit {
        Ok(exit) => exit.into(),
        Err(error) => {
            note(&format!("adjutant could not {error:#}"));
            Exit::Failed.into()
        }
    }
}

fn start_debug_log(sources: &Sources) {
    match debug_log::start(sources) {
        Ok(path) => note(&format!("debug log: {}", path.display())),
        Err(error) => note(&format!("there is no debug log: adjutant could not {error:#}")),
    }
}

/// Runs a command to its end. Whatever still hangs then is left behind, for
/// a terminal read that nobody answers never returns.
fn in_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| anyhow::anyhow!("start its runtime: {error}"))?;
    let exit = runtime.block_on(command);
    runtime.shutdown_timeout(Duration::from_millis(500));
    exit
}

/// Prints the settings as they hold in this folder.
fn config(mut sources: Sources) -> Exit {
    sources.roots = std::env::current_dir().into_iter().collect();
    let loaded = settings::load(&sources);
    let mut page = Page::of_stdout();
    page.block(&adjutant_core::config::explain(&loaded.settings));
    if !loaded.problems.is_empty() {
        page.line("");
        page.line("Problems:");
        for problem in &loaded.problems {
            page.line(&format!("- {problem}"));
        }
    }
    Exit::Fine
}

/// Prints which surface stands for what at the editor that says this in `initialize`.
fn capabilities(file: &Path) -> anyhow::Result<Exit> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).context("read standard input")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("read \"{}\"", file.display()))?
    };
    let said: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("read \"{}\" as JSON", file.display()))?;
    // A whole message, its params, or the capabilities alone: whatever was at hand.
    let params = said.get("params").unwrap_or(&said);
    let client = params.get("capabilities").unwrap_or(params);
    let surfaces = Surfaces::of(client).map_err(|why| anyhow::anyhow!("take the capabilities: {why}"))?;
    Page::of_stdout().block(&surfaces.text());
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests;
