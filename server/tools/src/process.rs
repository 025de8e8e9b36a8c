//! Runs one command: starts it, collects its output, enforces its limits, and ends all of its processes.
//!
//! Never decides whether a command may run, and never leaves a process running that it can find.

mod entry;
mod environment;
mod gather;
mod group;
mod orphans;
mod own;
mod pin;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

pub use environment::child_environment;
pub use group::Containment;
pub use orphans::adopt_orphans;
pub use own::run_own;
pub use pin::{PinnedDirectory, PinnedShell, pin_directory, pin_shell};

use adjutant_host::aside::aside;
use adjutant_host::scarce;

pub(super) use gather::GAP;
use gather::GatheredOutput;
use group::{GROUP_AFTER, Group};
use orphans::Tag;
use tree::Tree;

/// How long the processes of a command have to end after they were asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait for more output after the shell has exited.
const LINGER: Duration = Duration::from_millis(500);
/// The most bytes of output that are stored on disk; a command that writes more is killed.
pub const MAX_OUTPUT: u64 = 1 << 30;

/// An allowed command, with everything that was allowed.
#[derive(Clone, Debug)]
pub struct Launch {
    pub command: String,
    pub shell: PinnedShell,
    pub directory: PinnedDirectory,
    /// The environment, as [`child_environment`] returns it.
    pub environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// The id of the tool call; it identifies the processes of the command, also after a restart.
    pub call: String,
    /// How its processes are kept together.
    pub containment: Containment,
    pub time_limit: Duration,
    /// In bytes, at most [`MAX_OUTPUT`].
    pub output_limit: u64,
    /// The file for the whole output. It must not exist yet; only the user can read it.
    pub whole: PathBuf,
}

/// Why a command is no longer running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
    /// The time limit was reached.
    TimedOut,
    /// The caller stopped it.
    Stopped,
    /// It wrote more than its output limit.
    TooMuch,
    /// The system did not report an exit status.
    Unknown,
}

/// The result of a command that ended.
#[derive(Clone, Debug)]
pub struct CommandResult {
    pub end: End,
    pub time: Duration,
    /// The output as text; the middle of a long output is left out.
    pub excerpt: String,
    /// The number of bytes of that text that were left out.
    pub left_out: u64,
    /// The number of processes that the command left running; they were killed.
    pub left_running: usize,
    /// Why the output on disk is incomplete, if it is.
    pub unwritten: Option<String>,
}

/// Kills the processes of these calls that a killed server left running; returns how many there were.
pub fn end_left_over(calls: &[String]) -> usize {
    calls.iter().map(|call| tree::end_left_over(call)).sum()
}

/// Runs a command to its end and passes its output to `live` in pieces of at most 48 KiB.
///
/// When `stop` completes, the command is asked to end and gets some time for it. When the future is dropped, the
/// command is killed at once.
///
/// # Errors
///
/// Returns a message for the model if the command could not be started.
pub async fn launch(
    launch: &Launch,
    live: &mut (dyn FnMut(&str) + Send),
    stop: impl Future<Output = ()> + Send,
) -> Result<CommandResult, String> {
    let mut stop = std::pin::pin!(stop);
    let prepared = launch.clone();
    // Only the work that may wait for a disk runs there. The command itself starts here, so that a cancel prevents it.
    let (file, directory) = aside(move || {
        let file = create_output_file(&prepared.whole)?;
        prepared.shell.verify()?;
        Ok::<_, String>((file, prepared.directory.open()?))
    })
    .await?;
    let (mut running, reader) = RunningCommand::spawn(launch, &directory)?;
    let (pieces, writer) = start_writer(file);
    let mut output = OutputTap {
        reader,
        eof: false,
        gathered: GatheredOutput::default(),
        pieces,
        pending: None,
        unwritten: None,
        live,
    };
    let started = std::time::Instant::now();
    let why = running.watch(launch, &mut output, stop.as_mut()).await;
    let left_running = if why.is_none() { running.tree.members().len() } else { 0 };
    if matches!(why, Some(End::TimedOut | End::Stopped)) {
        running.ask_to_end(&mut output).await;
    }
    running.kill().await;
    output.rest().await;
    let status = running.reap().await;
    let time = started.elapsed();
    let OutputTap { gathered, pieces, unwritten, .. } = output;
    drop(pieces);
    let written = timeout(GRACE, writer).await;
    let unwritten = unwritten.or(match written {
        Ok(Ok(result)) => result.err(),
        _ => Some("the disk did not answer in time".to_owned()),
    });
    let end = why.unwrap_or_else(|| end_of(status));
    let (excerpt, left_out) = gathered.finish();
    Ok(CommandResult { end, time, excerpt, left_out, left_running, unwritten })
}

fn end_of(status: Option<ExitStatus>) -> End {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => End::Exited(code),
        Some((None, Some(signal))) => End::Signalled(signal),
        _ => End::Unknown,
    }
}

/// A started command. A drop kills it with all its processes and needs no runtime.
struct RunningCommand {
    // The tree must be dropped before the child. While the child is not reaped, its process id is not reused, so
    // the tree can safely signal its process group.
    tree: Tree,
    child: Child,
    exit: Exit,
}

impl RunningCommand {
    /// Starts the command in the open directory.
    fn spawn(launch: &Launch, directory: &OwnedFd) -> Result<(Self, pipe::Receiver), String> {
        let failed = |what: &str, error: std::io::Error| match scarce::processes(&error) {
            Some(why) => format!("start the command: {why}"),
            None => format!("start the command: {what}: {error}"),
        };
        let (reader, writer) = std::io::pipe().map_err(|error| failed("make a pipe", error))?;
        let output = tree::pipe_name(&reader);
        let second = writer.try_clone().map_err(|error| failed("make a pipe", error))?;
        let marker = tree::marker(&launch.call)?;
        let tag = Tag::of(&launch.call);
        let group = Group::make(&launch.call, launch.containment)
            .map_err(|why| format!("start the command: {why}"))?;
        let mut command = Command::new(&launch.shell.path);
        command
            .args(launch.shell.arguments())
            .arg(&launch.command)
            .env_clear()
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .env(tree::MARKER, &marker)
            .current_dir(path_of_open(directory, &launch.directory.path))
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(second)
            .process_group(0)
            .kill_on_drop(true);
        let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))
            .map_err(|error| failed("read a pipe", error))?;
        let children = signal(SignalKind::child()).map_err(|error| failed("watch for its end", error))?;
        let child = orphans::spawn(&mut command, tag).map_err(|error| failed("run the shell", error))?;
        let Some(tree) = child.id().and_then(|id| Tree::new(id, &marker, tag, output, group)) else {
            return Err("start the command: it has no process id".into());
        };
        let exit = Exit { shell: tree.root(), children };
        Ok((Self { tree, child, exit }, reader))
    }

    /// Collects output until the command has ended, or has to end. Returns why it has to; none if it has ended.
    async fn watch(
        &mut self,
        launch: &Launch,
        output: &mut OutputTap<'_>,
        mut stop: Pin<&mut (impl Future<Output = ()> + Send)>,
    ) -> Option<End> {
        let deadline = Instant::now() + launch.time_limit;
        let group_at = Instant::now() + GROUP_AFTER;
        let mut grouped = false;
        let mut exited_at: Option<Instant> = None;
        loop {
            // A background process may keep the pipe open forever.
            if exited_at.is_some_and(|at| output.done() || Instant::now() >= at + LINGER) {
                return None;
            }
            if output.gathered.raw > launch.output_limit {
                return Some(End::TooMuch);
            }
            let linger = exited_at.map_or(deadline, |at| at + LINGER);
            tokio::select! {
                () = output.piece(), if !output.done() => {}
                () = self.exit.wait(), if exited_at.is_none() => exited_at = Some(Instant::now()),
                // If the server itself was suspended for a while, the command may have ended in time.
                () = sleep_until(linger) => match exited_at {
                    None if self.exit.is_over() => exited_at = Some(Instant::now()),
                    None => return Some(End::TimedOut),
                    Some(_) => {}
                },
                () = sleep_until(group_at), if !grouped && exited_at.is_none() => {
                    grouped = true;
                    self.tree.gather();
                }
                () = &mut stop => return Some(End::Stopped),
            }
        }
    }

    /// Asks all processes to end and waits up to [`GRACE`] for them, while it still collects their output.
    async fn ask_to_end(&mut self, output: &mut OutputTap<'_>) {
        self.tree.ask_to_end();
        let until = Instant::now() + GRACE;
        while !self.tree.members().is_empty() && Instant::now() < until {
            let pause = Instant::now() + Duration::from_millis(25);
            while Instant::now() < pause {
                tokio::select! {
                    () = output.piece(), if !output.done() => {}
                    () = sleep_until(pause) => {}
                }
            }
        }
    }

    async fn kill(&mut self) {
        let until = Instant::now() + GRACE;
        // Processes that fork while they are killed need more than one pass.
        while self.tree.kill_pass() > 0 && Instant::now() < until {
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn reap(&mut self) -> Option<ExitStatus> {
        let status = timeout(GRACE, self.child.wait()).await.ok()?;
        self.tree.gone();
        status.ok()
    }
}

/// Detects that the shell has ended, without reaping it.
struct Exit {
    shell: Pid,
    /// A signal after any child of this process has ended. Created before the shell starts, so that none is missed.
    children: Signals,
}

impl Exit {
    fn is_over(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // An error other than an interrupt means that the process no longer exists.
        !matches!(waitid(WaitId::Pid(self.shell), options), Ok(None) | Err(Errno::INTR))
    }

    async fn wait(&mut self) {
        loop {
            if self.is_over() {
                return;
            }
            if self.children.recv().await.is_none() {
                return;
            }
            // The signal may be for an orphan of a command; no other code waits for those.
            orphans::reap(&BTreeSet::new());
        }
    }
}

/// Passes the output to the excerpt for the model, to the disk and to the live view.
struct OutputTap<'a> {
    reader: pipe::Receiver,
    eof: bool,
    gathered: GatheredOutput,
    /// Bytes that were read and wait for room in the queue to the disk.
    pending: Option<Vec<u8>>,
    pieces: mpsc::Sender<Vec<u8>>,
    unwritten: Option<String>,
    live: &'a mut (dyn FnMut(&str) + Send),
}

impl OutputTap<'_> {
    fn done(&self) -> bool {
        self.eof && self.pending.is_none()
    }

    /// Moves one piece forward. If the future is dropped while it waits, no byte is lost.
    async fn piece(&mut self) {
        if self.pending.is_some() {
            // The command waits for a slow disk, as if it wrote to a file itself.
            match self.pieces.reserve().await {
                Ok(slot) => {
                    if let Some(bytes) = self.pending.take() {
                        slot.send(bytes);
                    }
                }
                Err(_) => {
                    self.pending = None;
                    self.unwritten = Some("the disk could not take it".into());
                }
            }
            return;
        }
        let mut bytes = vec![0; 16 * 1024];
        match self.reader.read(&mut bytes).await {
            Ok(0) | Err(_) => self.eof = true,
            Ok(length) => {
                bytes.truncate(length);
                let text = self.gathered.push(&bytes);
                if !text.is_empty() {
                    (self.live)(&text);
                }
                self.pending = self.unwritten.is_none().then_some(bytes);
            }
        }
    }

    /// Reads what is left in the pipe, for at most [`LINGER`].
    async fn rest(&mut self) {
        let until = Instant::now() + LINGER;
        while !self.done() && timeout_at(until, self.piece()).await.is_ok() {}
    }
}

fn create_output_file(path: &Path) -> Result<File, String> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| format!("keep the output in \"{}\": {error}", path.display()))
}

/// Starts a thread that writes pieces to the file, because a write may wait for the disk.
fn start_writer(mut file: File) -> (mpsc::Sender<Vec<u8>>, tokio::task::JoinHandle<Result<(), String>>) {
    let (pieces, mut queue) = mpsc::channel::<Vec<u8>>(64);
    let writer = tokio::task::spawn_blocking(move || {
        while let Some(piece) = queue.blocking_recv() {
            file.write_all(&piece).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    (pieces, writer)
}

/// Returns a path that leads a child process to exactly the open directory; `path` itself if the system has none.
fn path_of_open(directory: &OwnedFd, path: &Path) -> PathBuf {
    let exact = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    if exact.exists() { exact } else { path.to_owned() }
}
