//! `run_command`: reports the end and the output of a command to the model and the user.
//!
//! Never starts anything itself and never asks: `process` runs the allowed command.

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::prompt::image::size;
use adjutant_core::record::UnsavedText;
use adjutant_core::text::display::{hidden, shown};
use adjutant_core::tool::{
    ArgumentType, Arguments, Effect, MAX_ARGUMENTS, MAX_COMMAND, MAX_TIMEOUT_SECONDS, Parameter, Tool,
};

use super::process::{CommandResult, End, GAP, Launch, launch};
use super::{Action, BuiltTool, ToolOutput, counted};

/// The tool as data, and its action.
pub const RUN_COMMAND: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("run_command"),
        effect: Effect::Opaque,
        description: Cow::Borrowed(
            "Run a shell command to its end, without input or a terminal; background processes are stopped when it ends.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: can_be_shown,
        title: |given| format!("Run {}", given.text("command")),
    },
    act: Action::Command,
};

const PARAMETERS: &[Parameter] = &[
    Parameter::needed("command", ArgumentType::Bounded(MAX_COMMAND), "The command line, run by bash."),
    Parameter::optional(
        "cwd",
        ArgumentType::Path,
        "Directory to run it in; the workspace folder without it.",
    ),
    Parameter::optional(
        "timeout_seconds",
        ArgumentType::Number(1, MAX_TIMEOUT_SECONDS),
        "Time limit, 1 to 3600; 120 without it.",
    ),
];

/// The most blank lines in a row in a command: more would push the rest out of the user's view.
const MAX_BLANK_LINES: usize = 8;
/// The most white-space characters in a row in a command, for the same reason.
const MAX_BLANKS: usize = 200;

/// Refuses a command that the user cannot see exactly as it will run.
fn can_be_shown(given: &Arguments) -> Result<(), Reason> {
    let command = given.text("command");
    if command.trim().is_empty() {
        return Err(Reason::new(
            Cause::WrongArgument,
            "`command` of run_command is empty; give a command line",
        ));
    }
    if let Some(c) = command.chars().find(|c| hidden(*c) && *c != '\n' && *c != '\t') {
        let text = format!(
            "`command` of run_command holds the character {}, which cannot be shown to the user faithfully; write the command without control, bidirectional or invisible characters (printf can produce them)",
            shown(&c.to_string())
        );
        return Err(Reason::new(Cause::NotShowable, text));
    }
    let mut blank_lines = 0;
    for line in command.trim().split('\n') {
        blank_lines = if line.trim().is_empty() { blank_lines + 1 } else { 0 };
        let longest = line.split(|c: char| !c.is_whitespace()).map(|run| run.chars().count()).max();
        if blank_lines > MAX_BLANK_LINES || longest.unwrap_or(0) > MAX_BLANKS {
            return Err(Reason::new(
                Cause::NotShowable,
                "`command` of run_command holds a long stretch of white space that would push the rest out of the user's view; write it without",
            ));
        }
    }
    Ok(())
}

/// The time limit of a command whose call gives none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns the time limit of a command.
pub fn time_limit(seconds: Option<u64>) -> Duration {
    seconds.map_or(DEFAULT_TIMEOUT, |s| Duration::from_secs(s.clamp(1, MAX_TIMEOUT_SECONDS)))
}

/// Runs an allowed command and returns its output.
///
/// `unsaved` lists the documents whose unsaved text the command does not see (N06).
pub async fn run_command(
    allowed: &Launch,
    unsaved: &[UnsavedText],
    live: &mut (dyn FnMut(&str) + Send),
    stop: impl Future<Output = ()> + Send,
) -> ToolOutput {
    match launch(allowed, live, stop).await {
        Ok(ended) => ToolOutput { unsaved: unsaved.to_vec(), ..output_of(allowed, unsaved, &ended) },
        Err(text) => ToolOutput::failed(text),
    }
}

/// Returns the output of a command that ended.
///
/// A nonzero exit code is an answer, not a failure of the tool.
fn output_of(allowed: &Launch, unsaved: &[UnsavedText], ended: &CommandResult) -> ToolOutput {
    let (mut line, failed) = ending(allowed, ended);
    let mut text = line.clone();
    if ended.end == End::TimedOut {
        text.push_str(&format!(
            "; give a larger timeout_seconds (at most {MAX_TIMEOUT_SECONDS}) if it needs longer"
        ));
    }
    if ended.left_running > 0 {
        let left = counted(ended.left_running, "process");
        text.push_str(&format!(
            "\n[{left} still running in the background were stopped: none outlives its command]"
        ));
    }
    if !unsaved.is_empty() {
        let names: Vec<_> = unsaved.iter().take(20).map(|document| shown(&document.path)).collect();
        text.push_str(&format!(
            "\n[unsaved in the editor, so the command saw an older text on disk: {}{}]",
            names.join(", "),
            if unsaved.len() > 20 { ", and more" } else { "" }
        ));
    }
    if let Some(why) = &ended.unwritten {
        text.push_str(&format!("\n[the output could not be kept whole: {why}]"));
    }
    let gap =
        format!("[... {} bytes left out; whole output in {} ...]\n", ended.left_out, allowed.whole.display());
    text.push('\n');
    if ended.excerpt.is_empty() {
        text.push_str("[no output]");
    } else {
        text.push_str(&ended.excerpt.replace(GAP, &gap));
    }
    if ended.left_out > 0 {
        line.push_str(&format!(", {} of its output not sent to the model", size(ended.left_out)));
    }
    let whole = (ended.left_out > 0).then(|| allowed.whole.clone());
    ToolOutput { whole, failed, ..ToolOutput::done(text, &line) }
}

/// Returns how the command ended, and whether that is a failure of the tool.
fn ending(allowed: &Launch, ended: &CommandResult) -> (String, bool) {
    let time = time(ended.time);
    let limit = allowed.time_limit.as_secs_f64();
    match ended.end {
        End::Exited(code) => (format!("exit code {code} after {time}"), false),
        End::Signalled(signal) => (format!("ended by {} after {time}", signal_name(signal)), true),
        End::TimedOut => (format!("stopped after {time}: its time limit of {limit} s was over"), true),
        End::Stopped => (format!("stopped by the user after {time}"), true),
        End::TooMuch => {
            (format!("killed after {time}: it wrote more than {} bytes", allowed.output_limit), true)
        }
        End::Unknown => (format!("ended after {time}, how is not known"), true),
    }
}

fn time(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

fn signal_name(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return format!("signal {number}"),
    };
    format!("signal {number} ({name})")
}
