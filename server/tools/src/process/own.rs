//! Runs a short program that the user's own settings name, and returns its output.
//!
//! Never uses a shell, and never runs a program for a model or a workspace: the only caller is `api_key_command`,
//! which only the user's own file can set (decision 008).

use std::pin::Pin;
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::LINGER;
use super::orphans::{self, Tag};
use super::tree::{self, Tree};

/// How long such a program may run.
const OWN_TIME: Duration = Duration::from_secs(10);
/// The most bytes it may print, more than any key has; error output is cut there.
const MAX_PRINTED: usize = 8 << 10;

/// A running program. A drop kills it with all processes that it started.
pub type RunningProgram = Pin<Box<dyn Future<Output = Result<Output, String>> + Send>>;

/// Runs a program with its arguments.
///
/// It gets the user's whole environment, because it is the user's own program. It starts in the root directory, so
/// that it finds no file of a workspace by a relative path.
///
/// # Errors
///
/// Returns a predicate such as `did not end within 10 s`, to be put after the name of the caller. It quotes neither
/// the program nor its arguments.
pub fn run_own(words: Vec<String>) -> RunningProgram {
    Box::pin(run_within(words, OWN_TIME))
}

async fn run_within(words: Vec<String>, time: Duration) -> Result<Output, String> {
    let mut started = StartedProgram::spawn(&words)?;
    match timeout(time, started.finish()).await {
        Ok(output) => output,
        Err(_) => Err(format!("did not end within {} s", time.as_secs_f32())),
    }
}

struct StartedProgram {
    // The tree must be dropped before the child, as for every command.
    tree: Tree,
    child: Child,
}

impl StartedProgram {
    fn spawn(words: &[String]) -> Result<Self, String> {
        let (program, arguments) = words.split_first().ok_or("names no program")?;
        let marker = tree::marker("own")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env(tree::MARKER, &marker)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        // The number belongs to this start alone: processes that an earlier start left on purpose are not ended.
        let tag = Tag::of(&marker);
        let child =
            orphans::spawn(&mut command, tag).map_err(|error| format!("could not be started: {error}"))?;
        let tree = child.id().and_then(|id| Tree::new(id, &marker, tag, String::new(), None));
        Ok(Self { tree: tree.ok_or("could not be started: it has no process id")?, child })
    }

    async fn finish(&mut self) -> Result<Output, String> {
        let (Some(out), Some(err)) = (self.child.stdout.take(), self.child.stderr.take()) else {
            return Err("could not be started: it has no output".to_owned());
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut reading =
            Box::pin(async { tokio::try_join!(whole(out, &mut stdout), beginning(err, &mut stderr)) });
        let (ended, read) = tokio::select! {
            read = &mut reading => {
                read?;
                (self.child.wait().await, Ok(Ok(((), ()))))
            }
            ended = self.child.wait() => {
                // The program was reaped, so its process id may be reused. Processes that it started on purpose,
                // such as an agent for passphrases, may stay.
                self.tree.gone();
                // Such a process may keep the output open forever.
                (ended, timeout(LINGER, &mut reading).await)
            }
        };
        drop(reading);
        self.tree.gone();
        if let Ok(read) = read {
            read?;
        }
        let status = ended.map_err(|error| format!("was lost: {error}"))?;
        Ok(Output { status, stdout, stderr })
    }
}

/// Reads the whole output; more than [`MAX_PRINTED`] is an error.
async fn whole(mut from: impl AsyncRead + Unpin, into: &mut Vec<u8>) -> Result<(), String> {
    let mut piece = [0; 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        into.extend_from_slice(&piece[..length]);
        if into.len() > MAX_PRINTED {
            return Err(format!("printed more than {} KiB", MAX_PRINTED >> 10));
        }
    }
    Ok(())
}

/// Reads all error output and keeps its beginning, so that a program that prints much of it is not blocked.
async fn beginning(mut from: impl AsyncRead + Unpin, into: &mut Vec<u8>) -> Result<(), String> {
    let mut piece = [0; 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let room = MAX_PRINTED - into.len();
        into.extend_from_slice(&piece[..length.min(room)]);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
