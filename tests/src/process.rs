//! The server as a child process: start, inspect, kill.
//!
//! Never ends a process that it did not start, unless a test names that process. It only reads the
//! rest of the process tree.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::editor::{Editor, Options};
use crate::fixture::Workspace;

/// The variable that marks a server and all that it starts. Its name is not one of Adjutant's own,
/// because the server removes those from the environment of commands.
pub const MARK: &str = "TESTKIT_MARK";

/// The longest wait for something that must happen.
const DEADLINE: Duration = Duration::from_secs(10);
/// The most bytes of stderr to keep; the oldest are dropped.
const MAX_STDERR: usize = 256 << 10;

/// A server process.
pub struct Server {
    child: Child,
    pipes: Option<(ChildStdout, ChildStdin)>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    /// The thread that reads stderr; it ends when stderr is closed.
    reader: Option<thread::JoinHandle<()>>,
    mark: String,
}

impl Server {
    /// Starts a server for a workspace. Of the user's environment it gets only `PATH`.
    pub fn spawn(binary: impl AsRef<Path>, workspace: &Workspace, args: &[&str]) -> Server {
        Self::spawn_with(binary, workspace, args, |_| {})
    }

    /// Starts a server after `adjust` has changed its command.
    pub fn spawn_with(
        binary: impl AsRef<Path>,
        workspace: &Workspace,
        args: &[&str],
        adjust: impl FnOnce(&mut Command),
    ) -> Server {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let binary = binary.as_ref();
        let mut command = Command::new(binary);
        command.args(args).env_clear().envs(workspace.env()).env(MARK, &mark).current_dir(workspace.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        adjust(&mut command);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("start {binary:?}: {error}"));
        let pipes = child.stdout.take().zip(child.stdin.take());
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let reader = child.stderr.take().map(|pipe| {
            let kept = stderr.clone();
            thread::spawn(move || keep_newest(pipe, &kept))
        });
        Server { child, pipes, stderr, reader, mark }
    }

    /// Connects an editor to it. The editor prints the server's stderr when a wait fails.
    pub fn editor(&mut self, options: Options) -> Editor {
        let (reader, writer) = self.take_pipes();
        let stderr = self.stderr.clone();
        let also_show: Arc<dyn Fn() -> String + Send + Sync> =
            Arc::new(move || format!("--- stderr of the server ---\n{}", text_of(&stderr)));
        Editor::start(reader, writer, Options { also_show: Some(also_show), ..options })
    }

    /// Returns its standard output and input; panics at the second call.
    pub fn take_pipes(&mut self) -> (ChildStdout, ChildStdin) {
        self.pipes.take().unwrap_or_else(|| panic!("the pipes of the server are taken already"))
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the newest part of its stderr.
    pub fn stderr(&self) -> String {
        text_of(&self.stderr)
    }

    /// Waits until it has ended, and returns the newest part of its whole stderr. While it runs, its
    /// last lines may not have been read yet.
    #[track_caller]
    pub fn last_words(&mut self) -> String {
        self.wait();
        let read = || self.reader.as_ref().is_none_or(|reader| reader.is_finished()).then_some(());
        poll(DEADLINE, read).unwrap_or_else(|| panic!("the stderr of the ended server stays open"));
        self.stderr()
    }

    /// Kills it with SIGKILL and waits until it is gone.
    pub fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns whether it runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until it has ended.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let (child, stderr) = (&mut self.child, &self.stderr);
        let ended = poll(DEADLINE, || child.try_wait().ok().flatten());
        ended.unwrap_or_else(|| {
            panic!("the server did not end in {DEADLINE:?}; its stderr:\n{}", text_of(stderr))
        })
    }

    /// Waits this long for it to end by itself; returns whether it did.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        poll(time, || self.child.try_wait().ok().flatten()).is_some()
    }

    /// Returns its running descendants.
    pub fn descendants(&self) -> Vec<Process> {
        descendants(self.pid())
    }

    /// Returns all processes with its mark except the server itself. Detached processes count too,
    /// unless they were started with a new environment.
    pub fn marked(&self) -> Vec<Process> {
        marked(&self.mark, self.pid())
    }

    /// Returns the number of its open descriptors and of its threads.
    pub fn handles(&self) -> Option<Handles> {
        let count = |what: &str| Some(fs::read_dir(format!("/proc/{}/{what}", self.pid())).ok()?.count());
        Some(Handles { descriptors: count("fd")?, threads: count("task")? })
    }

    /// Returns its resident memory and the peak of that, in bytes.
    pub fn memory(&self) -> Option<Memory> {
        memory_of(self.pid())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// One process of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// The arguments, joined by spaces.
    pub command: String,
}

impl Process {
    /// Whether it still runs. A new process with the same number does not count, unless its command is the same.
    pub fn still_runs(&self) -> bool {
        process(self.pid).is_some_and(|now| now.command == self.command)
    }

    /// Kills it with SIGKILL, if it still runs.
    pub fn kill(&self) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.still_runs()) {
            // It may have ended already.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The descriptors and threads of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handles {
    pub descriptors: usize,
    pub threads: usize,
}

/// Resident memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub resident: u64,
    pub peak: u64,
}

/// Returns the resident memory of a process, if the system reports it.
pub fn memory_of(pid: u32) -> Option<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    };
    Some(Memory { resident: field("VmRSS")?, peak: field("VmHWM")? })
}

/// Returns the running descendants of this process.
pub fn descendants(pid: u32) -> Vec<Process> {
    let all = processes();
    let mut found: Vec<u32> = vec![pid];
    let mut index = 0;
    while let Some(parent) = found.get(index).copied() {
        found.extend(all.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        index += 1;
    }
    all.into_iter().filter(|process| found[1..].contains(&process.pid)).collect()
}

/// Returns whether a process runs; a zombie does not.
pub fn is_running(pid: u32) -> bool {
    process(pid).is_some()
}

/// Returns all processes whose environment has this mark, except process `but`.
pub fn marked(mark: &str, but: u32) -> Vec<Process> {
    let wanted = format!("{MARK}={mark}").into_bytes();
    let has_mark = |process: &Process| {
        let environment = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
    };
    processes().into_iter().filter(|process| process.pid != but && has_mark(process)).collect()
}

/// Returns all processes with an argument that contains a text.
pub fn processes_with(text: &str) -> Vec<Process> {
    processes().into_iter().filter(|process| process.command.contains(text)).collect()
}

/// Waits until a condition holds; panics with `what` when it does not in time.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let held = poll(DEADLINE, || condition().then_some(()));
    held.unwrap_or_else(|| panic!("waited {DEADLINE:?} for {what}"));
}

/// Waits until a text has `part`. If it does not come, the panic shows the last text.
pub fn wait_for_text(part: &str, mut read: impl FnMut() -> String) {
    let mut last = String::new();
    let found = poll(DEADLINE, || {
        last = read();
        last.contains(part).then_some(())
    });
    found.unwrap_or_else(|| panic!("waited {DEADLINE:?} for {part:?} in:\n{last}"));
}

/// Polls `ask`, because the system does not announce the end of a process that is not a child.
fn poll<T>(deadline: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + deadline;
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() >= until {
            return answer;
        }
        thread::park_timeout(Duration::from_millis(2));
    }
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(process).collect()
}

fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may itself contain spaces and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let arguments: Vec<String> = arguments
        .split(|byte| *byte == 0)
        .filter(|argument| !argument.is_empty())
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect();
    Some(Process { pid, parent, command: arguments.join(" ") })
}

fn keep_newest(pipe: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut reader = BufReader::new(pipe);
    let mut chunk = [0_u8; 8192];
    while let Ok(read @ 1..) = reader.read(&mut chunk) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&chunk[..read]);
        let over = kept.len().saturating_sub(MAX_STDERR);
        kept.drain(..over);
    }
}

fn text_of(kept: &Mutex<VecDeque<u8>>) -> String {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}

#[cfg(test)]
mod tests;
