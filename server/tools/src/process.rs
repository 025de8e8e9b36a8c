//! One command from start to end: spawned, gathered, limited, and gone with its tree.
//!
//! Never decides whether a command may run, and never leaves a process behind
//! that it can find.

mod environment;
mod gather;
mod group;
mod kin;
mod own;
mod pin;
mod seen;
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
pub use group::Hold;
pub use kin::own_this_process;
pub use own::run_own;
pub use pin::{PinnedDirectory, PinnedShell, pin_directory, pin_shell};

use adjutant_host::aside::aside;
use adjutant_host::scarce;

pub(super) use gather::GAP;
use gather::GatheredOutput;
use group::{GROUP_AFTER, Group};
use kin::Tag;
use tree::Tree;

/// How long a tree may take to end by itself after it was told to.
const GRACE: Duration = Duration::from_secs(2);
/// How long the output is waited for once the shell is gone.
const LINGER: Duration = Duration::from_millis(500);
/// The most bytes of output that are kept on disk; a command that writes more is killed.
pub const MAX_OUTPUT: u64 = 1 << 30;

/// A command that was allowed, and everything it was allowed with.
#[derive(Clone, Debug)]
pub struct Launch {
    pub command: String,
    pub shell: PinnedShell,
    pub directory: PinnedDirectory,
    /// The environment, as [`child_environment`] makes it.
    pub environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// The id of the tool call, by which its processes are found again.
    pub call: String,
    /// How its processes are held together.
    pub hold: Hold,
    pub time_limit: Duration,
    /// At most [`MAX_OUTPUT`].
    pub output_limit: u64,
    /// Where the whole output goes; created, readable by the user only.
    pub whole: PathBuf,
}

/// Why a command is no longer running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
    /// The time limit came first.
    TimedOut,
    /// The caller stopped it.
    Stopped,
    /// It wrote more than the output limit.
    TooMuch,
    /// The system did not say.
    Unknown,
}

/// What is known of a command that ended.
#[derive(Clone, Debug)]
pub struct CommandResult {
    pub end: End,
    pub time: Duration,
    /// The output as text, its middle left out where it is long.
    pub excerpt: String,
    /// How many bytes of that text were left out.
    pub left_out: u64,
    /// How many processes the command left running; they were killed.
    pub left_running: usize,
    /// Why the output on disk is not whole, if so.
    pub unwritten: Option<String>,
}

/// Ends what a server that was killed left running of these calls.
pub fn end_left_over(calls: &[String]) -> usize {
    calls.iter().map(|call| tree::end_left_over(call)).sum()
}

/// Runs a command to its end, handing its output to `live` in pieces of at most
/// 48 KiB. Completing `stop` ends it gently, dropping the future at once.
pub async fn launch(
    launch: &Launch,
    live: &mut (dyn FnMut(&str) + Send),
    stop: impl Future<Output = ()> + Send,
) -> Result<CommandResult, String> {
    let mut stop = std::pin::pin!(stop);
    let of = launch.clone();
    // Only what may wait for a disk: a command that begins behind a cancel would not be wanted any more.
    let (file, directory) = aside(move || {
        let file = whole_file(&of.whole)?;
        of.shell.verify()?;
        Ok::<_, String>((file, of.directory.hold()?))
    })
    .await?;
    let (mut running, reader) = RunningCommand::spawn(launch, &directory)?;
    let (pieces, writer) = write_whole(file);
    let mut taken = OutputTap {
        reader,
        eof: false,
        gathered: GatheredOutput::default(),
        pieces,
        pending: None,
        unwritten: None,
        live,
    };
    let started = std::time::Instant::now();
    let why = running.watch(launch, &mut taken, stop.as_mut()).await;
    let left_running = match why {
        None => running.tree.members().len(),
        Some(_) => 0,
    };
    if matches!(why, Some(End::TimedOut | End::Stopped)) {
        running.ask_to_end(&mut taken).await;
    }
    running.kill().await;
    taken.rest().await;
    let status = running.reap().await;
    let time = started.elapsed();
    let OutputTap { gathered, pieces, unwritten, .. } = taken;
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

/// A started command. Dropped, it is killed with its tree, without any runtime.
struct RunningCommand {
    // The tree goes first: as long as the child is not reaped its number is not
    // given to another process, so that its group can be named safely.
    tree: Tree,
    child: Child,
    exit: Exit,
}

impl RunningCommand {
    /// Starts the command in the directory that is held.
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
        let group =
            Group::make(&launch.call, launch.hold).map_err(|why| format!("start the command: {why}"))?;
        let mut command = Command::new(&launch.shell.path);
        command
            .args(launch.shell.arguments())
            .arg(&launch.command)
            .env_clear()
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .env(tree::MARKER, &marker)
            .current_dir(held_path(directory, &launch.directory.path))
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(second)
            .process_group(0)
            .kill_on_drop(true);
        let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))
            .map_err(|error| failed("read a pipe", error))?;
        let children = signal(SignalKind::child()).map_err(|error| failed("hear of its end", error))?;
        let child = kin::spawn(&mut command, tag).map_err(|error| failed("run the shell", error))?;
        let Some(tree) = child.id().and_then(|id| Tree::new(id, (marker, tag), output, group)) else {
            return Err("start the command: it has no process id".into());
        };
        let exit = Exit { shell: tree.root(), children };
        Ok((Self { tree, child, exit }, reader))
    }

    /// Takes output until the command is over or has to end; none means it is over.
    async fn watch(
        &mut self,
        launch: &Launch,
        taken: &mut OutputTap<'_>,
        mut stop: Pin<&mut (impl Future<Output = ()> + Send)>,
    ) -> Option<End> {
        let deadline = Instant::now() + launch.time_limit;
        let group_at = Instant::now() + GROUP_AFTER;
        let mut grouped = false;
        let mut gone: Option<Instant> = None;
        loop {
            // A background process may hold the pipe open for ever.
            if gone.is_some_and(|at| taken.done() || Instant::now() >= at + LINGER) {
                return None;
            }
            if taken.gathered.raw > launch.output_limit {
                return Some(End::TooMuch);
            }
            let linger = gone.map_or(deadline, |at| at + LINGER);
            tokio::select! {
                () = taken.piece(), if !taken.done() => {}
                () = self.exit.wait(), if gone.is_none() => gone = Some(Instant::now()),
                // Where the server itself was stopped for a while, the command may have ended in time.
                () = sleep_until(linger) => match gone {
                    None if self.exit.is_over() => gone = Some(Instant::now()),
                    None => return Some(End::TimedOut),
                    Some(_) => {}
                },
                () = sleep_until(group_at), if !grouped && gone.is_none() => {
                    grouped = true;
                    self.tree.gather();
                }
                () = &mut stop => return Some(End::Stopped),
            }
        }
    }

    /// Tells the tree to end and gives it a moment, still taking its output.
    async fn ask_to_end(&mut self, taken: &mut OutputTap<'_>) {
        self.tree.ask_to_end();
        let until = Instant::now() + GRACE;
        while !self.tree.members().is_empty() && Instant::now() < until {
            let pause = Instant::now() + Duration::from_millis(25);
            while Instant::now() < pause {
                tokio::select! {
                    () = taken.piece(), if !taken.done() => {}
                    () = sleep_until(pause) => {}
                }
            }
        }
    }

    async fn kill(&mut self) {
        let until = Instant::now() + GRACE;
        // A tree that forks while it is killed needs more than one pass.
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

/// Tells when the shell has ended, without reaping it.
struct Exit {
    shell: Pid,
    /// Comes after any child of ours has ended; made before the shell is started.
    children: Signals,
}

impl Exit {
    fn is_over(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // That it cannot be asked for means that it is no longer there.
        !matches!(waitid(WaitId::Pid(self.shell), look), Ok(None) | Err(Errno::INTR))
    }

    async fn wait(&mut self) {
        loop {
            if self.is_over() {
                return;
            }
            if self.children.recv().await.is_none() {
                return;
            }
            // It may have been an orphan of a command, which nobody else waits for.
            kin::reap(&BTreeSet::new());
        }
    }
}

/// The output on its way to the model, the disk and the live view.
struct OutputTap<'a> {
    reader: pipe::Receiver,
    eof: bool,
    gathered: GatheredOutput,
    /// What was read and waits for its place in the queue to the disk.
    pending: Option<Vec<u8>>,
    pieces: mpsc::Sender<Vec<u8>>,
    unwritten: Option<String>,
    live: &'a mut (dyn FnMut(&str) + Send),
}

impl OutputTap<'_> {
    fn done(&self) -> bool {
        self.eof && self.pending.is_none()
    }

    /// Moves one piece on. Dropped while it waits, it has lost nothing.
    async fn piece(&mut self) {
        if self.pending.is_some() {
            // The command waits for a slow disk, as it would with a file of its own.
            match self.pieces.reserve().await {
                Ok(place) => {
                    if let Some(bytes) = self.pending.take() {
                        place.send(bytes);
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

    /// Takes what is still in the pipe.
    async fn rest(&mut self) {
        let until = Instant::now() + LINGER;
        while !self.done() && timeout_at(until, self.piece()).await.is_ok() {}
    }
}

fn whole_file(path: &Path) -> Result<File, String> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| format!("keep the output in \"{}\": {error}", path.display()))
}

/// Writes pieces to the file on a thread that may wait for the disk.
fn write_whole(mut file: File) -> (mpsc::Sender<Vec<u8>>, tokio::task::JoinHandle<Result<(), String>>) {
    let (pieces, mut queue) = mpsc::channel::<Vec<u8>>(64);
    let writer = tokio::task::spawn_blocking(move || {
        while let Some(piece) = queue.blocking_recv() {
            file.write_all(&piece).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    (pieces, writer)
}

/// The path by which a child enters the very directory that is held.
fn held_path(directory: &OwnedFd, path: &Path) -> PathBuf {
    let held = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    if held.exists() { held } else { path.to_owned() }
}
