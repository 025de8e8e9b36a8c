//! One run of the binary from the command line: its output and its exit.
//!
//! Never inherits more of the user's environment than `PATH`, and never waits longer than the
//! deadline: a child that hangs is killed and fails the test.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::fixture::Workspace;
use crate::process::{MARK, Process, marked};

/// How long one run of the binary may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// A command line that has not started.
pub struct Line {
    command: Command,
    shown: String,
    input: Option<Vec<u8>>,
    terminal: bool,
    mark: String,
}

/// A run that ended.
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
    pub pid: u32,
    mark: String,
    shown: String,
}

/// A run that has not ended.
pub struct Running {
    child: Child,
    stdout: Capture,
    stderr: Capture,
    since: Instant,
    mark: String,
    shown: String,
}

/// The output of one stream, which a thread reads as it arrives.
struct Capture {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Line {
    /// Returns `binary args..` in the folder of a workspace, with an empty standard input.
    pub fn new(binary: impl AsRef<Path>, workspace: &Workspace, args: &[&str]) -> Line {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let mark = format!("line-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(binary.as_ref());
        command.args(args).env_clear().envs(workspace.env()).env(MARK, &mark).current_dir(workspace.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        Line { command, shown: args.join(" "), input: None, terminal: false, mark }
    }

    /// Sets one more environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Line {
        self.command.env(name, value);
        self
    }

    /// Runs it without the rights of root. The user nobody must own the workspace (`Workspace::given_to_nobody`).
    pub fn as_nobody(mut self) -> Line {
        crate::nobody::as_nobody(&mut self.command);
        self
    }

    /// Removes an environment variable.
    pub fn without(mut self, name: &str) -> Line {
        self.command.env_remove(name);
        self
    }

    /// Starts in another folder.
    pub fn at(mut self, folder: &Path) -> Line {
        self.command.current_dir(folder);
        self
    }

    /// Sends it this standard input and then closes it.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Line {
        self.input = Some(text.into());
        self
    }

    /// Runs it in a terminal: all three streams are copies of this file.
    pub fn terminal(mut self, terminal: &File) -> Line {
        let copy = || terminal.try_clone().unwrap_or_else(|error| panic!("copy the terminal: {error}"));
        self.command.stdin(copy()).stdout(copy()).stderr(copy());
        self.terminal = true;
        self
    }

    /// Starts the run.
    pub fn start(mut self) -> Running {
        if !self.terminal {
            let input = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
            self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let since = Instant::now();
        let mut child =
            self.command.spawn().unwrap_or_else(|error| panic!("start `{}`: {error}", self.shown));
        if let Some((mut pipe, text)) = child.stdin.take().zip(self.input) {
            // A child may end without reading all of its input.
            thread::spawn(move || drop(pipe.write_all(&text)));
        }
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Running {
            stdout: Capture::of(stdout),
            stderr: Capture::of(stderr),
            child,
            since,
            mark: self.mark,
            shown: self.shown,
        }
    }

    /// Starts it and returns its standard output to the test, which may close it.
    pub fn start_unread(mut self) -> (Running, ChildStdout) {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let since = Instant::now();
        let mut child =
            self.command.spawn().unwrap_or_else(|error| panic!("start `{}`: {error}", self.shown));
        let Some(stdout) = child.stdout.take() else { panic!("`{}` has no standard output", self.shown) };
        let stderr = child.stderr.take();
        let running = Running {
            stdout: Capture::of(None::<ChildStdout>),
            stderr: Capture::of(stderr),
            child,
            since,
            mark: self.mark,
            shown: self.shown,
        };
        (running, stdout)
    }

    /// Starts it with an open standard input, which the test writes and closes.
    pub fn start_fed(mut self) -> (Running, ChildStdin) {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let since = Instant::now();
        let mut child =
            self.command.spawn().unwrap_or_else(|error| panic!("start `{}`: {error}", self.shown));
        let Some(stdin) = child.stdin.take() else { panic!("`{}` has no standard input", self.shown) };
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let running = Running {
            stdout: Capture::of(stdout),
            stderr: Capture::of(stderr),
            child,
            since,
            mark: self.mark,
            shown: self.shown,
        };
        (running, stdin)
    }

    /// Starts it and waits for its end.
    pub fn run(self) -> Ran {
        self.start().wait()
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Returns its standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Returns the running processes that it started, found by its mark.
    pub fn marked(&self) -> Vec<Process> {
        marked(&self.mark, self.pid())
    }

    /// Kills this process alone with SIGKILL.
    pub fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ran {
        let until = self.since + DEADLINE;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < until => thread::park_timeout(Duration::from_millis(1)),
                other => {
                    self.kill();
                    let _ = self.child.wait();
                    panic!(
                        "`{}` did not end in {DEADLINE:?} ({other:?})\n--- stdout ---\n{}\n--- stderr ---\n{}",
                        self.shown,
                        self.stdout.text(),
                        self.stderr.text()
                    );
                }
            }
        };
        let took = self.since.elapsed();
        let (stdout, stderr) = (self.stdout.whole(), self.stderr.whole());
        let pid = self.pid();
        Ran { status, stdout, stderr, took, pid, mark: self.mark.clone(), shown: self.shown.clone() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only a failed test gets here with a running child: `wait` has seen the end of every other.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    /// Returns its exit code; none if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Whether SIGKILL ended it.
    pub fn was_killed(&self) -> bool {
        self.status.signal() == Some(9)
    }

    /// Returns the processes that it started and that still run.
    pub fn left(&self) -> Vec<Process> {
        marked(&self.mark, self.pid)
    }

    /// Fails with the whole output unless it ended with this exit code.
    #[track_caller]
    pub fn expect(&self, code: i32) -> &Self {
        assert!(self.code() == Some(code), "expected the exit code {code} of\n{self}");
        self
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { shown, status, took, stdout, stderr, .. } = self;
        write!(f, "`{shown}`: {status} after {took:?}\n--- stdout ---\n{stdout}\n--- stderr ---\n{stderr}")
    }
}

impl Capture {
    fn of(stream: Option<impl Read + Send + 'static>) -> Capture {
        let text: Arc<Mutex<Vec<u8>>> = Arc::default();
        let buffer = text.clone();
        let reader = stream.map(|mut stream| {
            thread::spawn(move || {
                let mut piece = [0; 8192];
                while let Ok(length @ 1..) = stream.read(&mut piece) {
                    buffer.lock().unwrap_or_else(PoisonError::into_inner).extend(&piece[..length]);
                }
            })
        });
        Capture { text, reader }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Waits for the end of the stream and returns all of it. Waits half a second at most, because a
    /// grandchild may keep the stream open.
    fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            let until = Instant::now() + Duration::from_millis(500);
            while !reader.is_finished() && Instant::now() < until {
                thread::park_timeout(Duration::from_millis(1));
            }
        }
        self.text()
    }
}
