//! The programs of editors: finds them on `PATH`, and starts one of VS Code's kind to manage extensions.
//!
//! Never starts another program than the user named or `PATH` has under a known name, and never waits without a limit.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The most bytes of a program's output that are shown, of each of its two streams.
const MAX_SHOWN: usize = 16 << 10;
/// How long to wait for more output of a program that has ended.
const LINGER: Duration = Duration::from_millis(500);

/// A program that ended.
#[derive(Debug)]
pub struct EndedProgram {
    pub succeeded: bool,
    /// The beginning of what it printed.
    pub output: String,
}

/// Returns the program that this word means: a path, or a name on `PATH`.
pub fn find(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return std::path::absolute(word).ok().filter(|path| is_program(path));
    }
    let path = std::env::var_os("PATH")?;
    // A relative entry of PATH means the current folder, and a project there may have a program of this name.
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(word))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Runs a program to its end, at most for `limit`. A drop of the future ends it too.
///
/// # Errors
///
/// Returns a predicate such as `did not end within 120 s`.
pub async fn run(program: &Path, arguments: &[&OsStr], limit: Duration) -> Result<EndedProgram, String> {
    let mut command = Command::new(program);
    let arguments: Vec<OsString> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).kill_on_drop(true).spawn();
    let mut running =
        StartedEditor { child: child.map_err(|error| format!("could not be started: {error}"))? };
    match timeout(limit, running.finish()).await {
        Ok(ended) => ended.map_err(|error| format!("was lost: {error}")),
        Err(_) => Err(format!("did not end within {} s, and was ended", limit.as_secs())),
    }
}

/// A running program. A drop ends it with its process group, because these programs are often scripts that start others.
struct StartedEditor {
    child: Child,
}

impl Drop for StartedEditor {
    fn drop(&mut self) {
        // Once it was waited for, it has no id any more, and its group may be another's.
        let group = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl StartedEditor {
    async fn finish(&mut self) -> std::io::Result<EndedProgram> {
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut reading =
            Box::pin(async { tokio::join!(beginning(out, &mut stdout), beginning(err, &mut stderr)) });
        let status = tokio::select! {
            _ = &mut reading => self.child.wait().await?,
            status = self.child.wait() => {
                // A program that it left running may keep the output open.
                let _ = timeout(LINGER, &mut reading).await;
                status?
            }
        };
        drop(reading);
        let output = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok(EndedProgram { succeeded: status.success(), output })
    }
}

/// Reads everything and keeps its beginning, so that a program that prints much is not blocked.
async fn beginning(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut piece = [0; 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let room = MAX_SHOWN - into.len();
        into.extend_from_slice(&piece[..length.min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(line: &str, limit: Duration) -> Result<EndedProgram, String> {
        run(Path::new("/bin/sh"), &["-c".as_ref(), line.as_ref()], limit).await
    }

    #[tokio::test]
    async fn n27_a_program_that_does_not_end_is_ended_with_all_that_it_started() {
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        let line = format!("mkfifo '{0}'; (cat '{0}'; :) & echo $! >'{0}.pid'; wait", fifo.display());
        let error = shell(&line, Duration::from_millis(700)).await.unwrap_err();
        assert_eq!(error, "did not end within 0 s, and was ended");
        let started = std::fs::read_to_string(place.path().join("fifo.pid")).unwrap();
        let started = Pid::from_raw(started.trim().parse().unwrap()).unwrap();
        let gone = async {
            while rustix::process::test_kill_process(started).is_ok() && !is_zombie(started) {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(10), gone).await.expect("the process that it started ends");
    }

    fn is_zombie(process: Pid) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
        state.is_ok_and(|state| state.contains(") Z "))
    }

    #[tokio::test]
    async fn n27_the_beginning_of_a_long_output_is_kept_and_a_process_left_behind_is_not_waited_for() {
        let limit = Duration::from_secs(20);
        let long = shell("head -c 200000 /dev/zero | tr '\\0' x; echo why >&2; exit 3", limit).await.unwrap();
        assert!(!long.succeeded);
        assert_eq!(long.output, format!("{}why\n", "x".repeat(MAX_SHOWN)));
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        let left =
            shell(&format!("mkfifo '{0}'; cat '{0}' & echo done", fifo.display()), limit).await.unwrap();
        assert_eq!((left.succeeded, left.output.as_str()), (true, "done\n"));
        // Lets the process end.
        std::fs::write(&fifo, "").unwrap();
    }
}
