//! `adjutant run`: one task, or the rest of one, to its end.
//!
//! Never hides that no person was present: a denial for that reason sets the exit code.

use std::io::Read;
use std::path::{Path, PathBuf};

use adjutant_core::config::Flag;
use adjutant_core::policy::ask::{CONTINUE, RESUME, RETRY};
use adjutant_core::policy::detail::Detail;
use adjutant_core::prompt::image::{MAX_BYTES, MediaType, size};
use adjutant_protocol::SessionId;
use adjutant_protocol::ask::{AskKind, AskRespondParams, AskRespondResult, AskView};
use adjutant_protocol::methods;
use adjutant_protocol::session::{
    ContentBlock, Mode, Overrides, ResumeParams, ResumeResult, RunEnd, SessionListParams, SessionListResult,
};
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::FailureKind;
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};

use crate::settings::Sources;
use crate::uri;

use super::conversation::{AllowedFlags, Answers, Conversation, LeaveReason, View, report_leaving};
use super::folder::Folder;
use super::page::note;
use super::piped::{CountedStdin, StdinRead, read_stdin, waited_for};
use super::present::Person;
use super::{Exit, sessions};

/// The most bytes of a task from standard input.
const MOST_PROMPT: u64 = 16 << 20;

/// Answers and exit codes, for the help.
pub const NOTES: &str = "At a question: `y` allows once, `n` rejects, any other text rejects with that reason. \
Ctrl-D says that nobody will answer: this question and all that follow are rejected, and the run goes on. \
Ctrl-C cancels the run. With piped input, questions are asked at the terminal. Without a terminal, or with \
`</dev/null`, nobody can answer, so nothing that asks is allowed.

Exit codes: 0 done; 1 failed, cancelled or stopped at a limit; 2 wrong command line or no model; 3 something was not \
allowed because nobody was present to answer; 5 an edit that was allowed is not on disk; 130 interrupted; 141 the \
reader of the output left.";

/// The arguments of `adjutant run`.
#[derive(Clone, Debug, Default, Args)]
pub struct RunLine {
    /// The task; piped input is sent with it. `-` reads the task from standard input
    pub prompt: Option<String>,
    /// Send an image with the task (PNG, JPEG, GIF or WebP); up to eight times
    #[arg(long = "image", value_name = "FILE", requires = "prompt")]
    pub images: Vec<PathBuf>,
    /// Make edits in the workspace without asking
    #[arg(short = 'y', long = "yes")]
    pub unattended: bool,
    /// With -y: run commands without asking, with your rights
    #[arg(long, requires = "unattended")]
    pub allow_commands: bool,
    /// Give the model all tools (code), or only those that read (ask)
    #[arg(long, value_enum)]
    pub mode: Option<ModeName>,
    /// How much the model thinks: low, medium or high
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<String>,
    /// How many words the model writes: low, medium or high
    #[arg(long, value_name = "VERBOSITY")]
    pub verbosity: Option<String>,
    /// How much of the task is printed
    #[arg(long, value_name = "DETAIL", value_parser = Detail::ALL.map(Detail::name), conflicts_with = "quiet")]
    pub detail: Option<String>,
    /// Use this model for this run
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub model: Option<String>,
    /// Work in this folder instead of the current one
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Continue the newest session of this folder
    #[arg(long = "continue", conflicts_with = "session")]
    pub continue_newest: bool,
    /// Continue this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print text, or one JSON update a line
    #[arg(long, value_enum, default_value = "text")]
    pub output: OutputFormat,
    /// Print only the last answer, the questions and warnings
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
pub enum OutputFormat {
    #[default]
    Text,
    Json,
}

/// A task and its session.
struct Task {
    prompt: Option<String>,
    images: Vec<ContentBlock>,
    overrides: Overrides,
    which: SessionChoice,
    folder: Folder,
    allowed: AllowedFlags,
    /// Standard input was read, so answers come from the terminal itself.
    read_stdin: bool,
}

enum SessionChoice {
    New,
    Newest,
    Named(String),
}

/// Runs a task to its end.
pub async fn run(sources: Sources, line: RunLine) -> anyhow::Result<Exit> {
    let quiet = line.quiet;
    let task = match task(&line, sources.home.as_deref()).await {
        Ok(StdinRead::Whole(task)) => task,
        Ok(StdinRead::Interrupted) => return Ok(Exit::Interrupted),
        Err(error) => {
            note(&format!("adjutant could not {error:#}"));
            return Ok(Exit::Usage);
        }
    };
    let json = line.output == OutputFormat::Json;
    let answers = Person::at_terminal(task.read_stdin, json).map_or(Answers::Nobody, Answers::Person);
    let person = matches!(answers, Answers::Person(_));
    let view = if json { View::json(quiet) } else { View::text(quiet, person) };
    let mut sources = sources.with_model_flag(line.model.as_deref());
    if line.allow_commands {
        let (flag, key, value) = ("--allow-commands", "unattended.command", "true");
        sources.flags.push(Flag { flag: flag.into(), key: key.into(), value: value.into() });
    }
    if let Some(value) = line.detail {
        sources.flags.push(Flag { flag: "--detail".into(), key: "detail".into(), value });
    }
    let mut talk = Conversation::start(sources, &task.folder.workspace(), view, answers).await?;
    let Folder { here, root } = &task.folder;
    if here != root {
        // Tell the user, because more than the current folder may be read and changed.
        talk.remark(&format!("• the workspace is {}", root.display()));
    }
    let exit = match carry_out(&mut talk, &task).await {
        Ok(exit) => Ok(exit),
        Err(left) => report_leaving(left),
    };
    talk.finish().await;
    exit
}

async fn task(line: &RunLine, home: Option<&Path>) -> anyhow::Result<StdinRead<Task>> {
    let folder = Folder::find(line.cwd.as_deref(), home)?;
    let which = match (&line.session, line.continue_newest) {
        (Some(session), _) => SessionChoice::Named(session.clone()),
        (None, true) => SessionChoice::Newest,
        (None, false) => SessionChoice::New,
    };
    match &line.prompt {
        Some(prompt) if prompt.trim().is_empty() => anyhow::bail!("begin: the prompt is empty"),
        None if matches!(which, SessionChoice::New) => {
            anyhow::bail!("begin: there is no prompt; give one, `-` to read it, or --continue")
        }
        _ => {}
    }
    let images = line.images.iter().map(|path| image(path)).collect::<anyhow::Result<_>>()?;
    let (prompt, read_stdin) = match line.prompt.as_deref() {
        Some("-") => match waited_for(read_prompt).await.context("read the prompt")? {
            StdinRead::Whole(prompt) => (Some(prompt?), true),
            StdinRead::Interrupted => return Ok(StdinRead::Interrupted),
        },
        Some(prompt) => match read_stdin().await.context("read standard input")? {
            StdinRead::Whole(Some(piped)) => (Some(piped.after(prompt)), true),
            StdinRead::Whole(None) => (Some(prompt.to_owned()), false),
            StdinRead::Interrupted => return Ok(StdinRead::Interrupted),
        },
        None => (None, false),
    };
    if prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
        anyhow::bail!("begin: the prompt is empty");
    }
    let overrides = Overrides {
        model: line.model.clone(),
        mode: line.mode.map(Into::into),
        effort: line.effort.clone(),
        verbosity: line.verbosity.clone(),
        unattended: line.unattended,
    };
    let allowed = AllowedFlags { edits: line.unattended, commands: line.allow_commands };
    Ok(StdinRead::Whole(Task { prompt, images, overrides, which, folder, allowed, read_stdin }))
}

/// Reads an image for a prompt; the server checks it.
fn image(path: &Path) -> anyhow::Result<ContentBlock> {
    let context = || format!("send \"{}\"", path.display());
    let mut content = Vec::new();
    let file = std::fs::File::open(path).with_context(context)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut content).with_context(context)?;
    if content.len() as u64 > MAX_BYTES {
        anyhow::bail!("{}: it is larger than {}; make it smaller", context(), size(MAX_BYTES));
    }
    let Some(known) = MediaType::of_bytes(&content) else {
        anyhow::bail!("{}: it is none of {}", context(), MediaType::names());
    };
    Ok(ContentBlock::Image { mime_type: known.name().to_owned(), data: STANDARD.encode(content) })
}

fn read_prompt(stdin: CountedStdin) -> std::io::Result<anyhow::Result<String>> {
    let mut bytes = Vec::new();
    stdin.take(MOST_PROMPT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_PROMPT {
        return Ok(Err(anyhow::anyhow!("read the prompt: it is longer than {} MiB", MOST_PROMPT >> 20)));
    }
    Ok(String::from_utf8(bytes).context("read the prompt"))
}

/// Opens the session, prompts or resumes it, and follows its run to the end. If there is nothing to do,
/// a note was printed.
async fn carry_out(talk: &mut Conversation, task: &Task) -> Result<Exit, LeaveReason> {
    match &task.which {
        SessionChoice::New => talk.begin_session(None).await?,
        SessionChoice::Newest | SessionChoice::Named(_) => match find(talk, task).await? {
            Some(session) => {
                talk.attach(&session);
                if !resume(talk, &session, task).await? {
                    return Ok(Exit::Usage);
                }
            }
            None => return Ok(Exit::Usage),
        },
    }
    if let Some(prompt) = &task.prompt {
        let text = ContentBlock::Text { text: prompt.clone() };
        let blocks = [text].into_iter().chain(task.images.iter().cloned()).collect();
        talk.prompt(blocks, &task.overrides).await?;
    }
    let end = talk.until_over().await?;
    let exit = exit_of(talk, &end, task.allowed).await;
    talk.note_commits().await;
    exit
}

async fn find(talk: &mut Conversation, task: &Task) -> Result<Option<SessionId>, LeaveReason> {
    if let SessionChoice::Named(name) = &task.which {
        return sessions::named(talk, name).await;
    }
    let params =
        SessionListParams { cwd: Some(uri::of_path(&task.folder.here)), ..SessionListParams::default() };
    let list: SessionListResult = talk.request(methods::SESSION_LIST, &params).await?;
    let newest = list.sessions.into_iter().next();
    if newest.is_none() {
        note("this folder has no session to continue; give a prompt without --continue");
    }
    Ok(newest.map(|entry| entry.session_id))
}

/// Opens a session; without a prompt, continues its interrupted or failed run.
/// Returns `false` if there is nothing to continue.
async fn resume(talk: &mut Conversation, session: &SessionId, task: &Task) -> Result<bool, LeaveReason> {
    // Permissions of an earlier process do not apply here.
    let unattended = task.overrides.unattended && task.prompt.is_none();
    let params = ResumeParams { session_id: session.clone(), replay_from: None, unattended };
    let found: ResumeResult = talk.request(methods::SESSION_RESUME, &params).await?;
    found.notices.iter().for_each(|notice| note(notice));
    talk.follow(found.state.run_id.clone());
    let open = !matches!(found.state.state, State::None | State::Idle);
    if task.prompt.is_some() {
        return Ok(true);
    }
    if continue_open(talk, &found.asks, task.overrides.unattended).await? {
        return Ok(true);
    }
    if !open {
        note("this session has nothing left to continue; give a prompt");
    }
    Ok(open)
}

/// Answers the ask that continues a run that is over, if there is one.
pub async fn continue_open(
    talk: &mut Conversation,
    asks: &[AskView],
    unattended: bool,
) -> Result<bool, LeaveReason> {
    let Some((ask, option)) = asks.iter().find_map(continuing_option) else { return Ok(false) };
    let params = AskRespondParams {
        ask_id: ask.ask_id.clone(),
        option_id: Some(option.to_owned()),
        answer: None,
        reason: None,
        unattended,
    };
    let _: AskRespondResult = talk.request(methods::ASK_RESPOND, &params).await?;
    Ok(true)
}

/// Returns the option of an ask that continues its run.
fn continuing_option(ask: &AskView) -> Option<(&AskView, &str)> {
    let wanted = match ask.kind {
        AskKind::ResumeTask => RESUME,
        AskKind::ApiReqFailed => RETRY,
        AskKind::MistakeLimitReached | AskKind::AutoApprovalMaxReqReached => CONTINUE,
        AskKind::Tool
        | AskKind::Command
        | AskKind::Followup
        | AskKind::BrowserActionLaunch
        | AskKind::UseMcpServer
        | AskKind::CompletionResult
        | AskKind::ResumeCompletedTask
        | AskKind::CommandOutput => return None,
    };
    let option = ask.options.iter().find(|option| option.option_id == wanted)?;
    Some((ask, option.option_id.as_str()))
}

/// Prints how to continue after a run, and returns the exit code. `allowed` has what the command line allows
/// without asking.
pub async fn exit_of(
    talk: &mut Conversation,
    end: &RunEnd,
    allowed: AllowedFlags,
) -> Result<Exit, LeaveReason> {
    let (denied, unmade) = (talk.denied().in_words(allowed), talk.unmade());
    if talk.reader_left() {
        let when =
            if end.outcome == Outcome::Cancelled { "so the run was cancelled" } else { "after the run" };
        return Ok(match talk.written() {
            Ok(()) => {
                note(&format!("error: nobody reads the output any more, {when}"));
                Exit::Unread
            }
            Err(why) => {
                note(&format!("error: {why}, {when}"));
                Exit::Failed
            }
        });
    }
    match end.outcome {
        Outcome::Cancelled => return Ok(Exit::Failed),
        _ if unmade.is_some() => {
            unmade.iter().for_each(|unmade| note(unmade));
            return Ok(Exit::NotOnDisk);
        }
        _ if denied.is_some() => {
            denied.iter().for_each(|denied| note(denied));
            return Ok(Exit::Denied);
        }
        Outcome::Completed | Outcome::Stopped => return Ok(Exit::Fine),
        Outcome::Failed | Outcome::Limit => {}
    }
    let can_continue = talk.open_asks().await?.iter().any(|ask| continuing_option(ask).is_some());
    note(match talk.failure() {
        Some(FailureKind::ContextExceeded) => {
            "this session no longer fits the window of its model; begin a new one with `adjutant run PROMPT`"
        }
        _ if can_continue => "`adjutant run --continue` goes on from here",
        _ => "`adjutant run --continue PROMPT` goes on with this session",
    });
    Ok(Exit::Failed)
}
