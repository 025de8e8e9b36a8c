//! Finds the processes of a command by an inherited number, and adopts its orphans (subreaper).
//!
//! A process can clear its environment, start a session of its own, close its output and lose its parent, but it
//! inherits its resource limits. So the soft limit of real-time CPU time, which has no effect on ordinary programs,
//! is set to a number of the command while the command starts. This process is also a *subreaper*: a process that
//! loses its parent becomes a child of this process instead of `init`.
//!
//! Never waits for any child at once: each orphan is reaped by its id, because other code of this process waits for
//! children of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};
use sha2::{Digest, Sha256};
use tokio::process::{Child, Command};

use super::entry::{ProcessEntry, raw};

/// The number of one command: larger than any real limit, smaller than "unlimited".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u64);

const LEAST: u64 = 1 << 62;

impl Tag {
    /// Returns the number for a name. The id of a call, which the log has, gives the same number after a restart.
    pub fn of(name: &str) -> Self {
        let digest = Sha256::digest(name.as_bytes());
        let number = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        Self(LEAST | number >> 4)
    }

    /// Returns the number that a process carries; none if it carries none.
    pub fn carried_by(pid: Pid) -> Option<Self> {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", raw(pid))).ok()?;
        let row = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
        let soft = row.split_whitespace().next()?.parse().ok()?;
        (LEAST..LEAST << 1).contains(&soft).then_some(Self(soft))
    }
}

/// The child processes that are not yet reaped, and the commands that run.
struct StartedProcesses {
    children: BTreeSet<i32>,
    /// The start time of each running command, by the id of its shell.
    commands: BTreeMap<i32, u64>,
}

/// Whether this process starts programs only here: commands and the user's own programs.
static ADOPTS_ORPHANS: AtomicBool = AtomicBool::new(false);

/// Lets this process adopt and end the orphans of commands.
///
/// Precondition: it starts every program through this module, so that each unknown child is an orphan of a command.
/// The binary calls this first. A process of tests must not: another thread could start a child while the limit of
/// a command is set. That child would inherit the number and count as part of the command.
pub fn adopt_orphans() {
    ADOPTS_ORPHANS.store(true, Ordering::Relaxed);
}

fn adopts_orphans() -> bool {
    ADOPTS_ORPHANS.load(Ordering::Relaxed)
}

static STARTED: Mutex<StartedProcesses> =
    Mutex::new(StartedProcesses { children: BTreeSet::new(), commands: BTreeMap::new() });

fn started() -> MutexGuard<'static, StartedProcesses> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a command. It and all processes that it starts carry this number.
pub(super) fn spawn(command: &mut Command, tag: Tag) -> io::Result<Child> {
    if !adopts_orphans() {
        return command.spawn();
    }
    become_subreaper();
    // Locked until the child is registered. Otherwise a search for orphans could find it, and another command could
    // start with this number.
    let mut started = started();
    let limit = RaisedLimit::set(tag);
    let child = command.spawn();
    drop(limit);
    let child = child?;
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
        started.children.insert(id);
        let start = Pid::from_raw(id).and_then(ProcessEntry::of).map_or(0, |process| process.start);
        started.commands.insert(id, start);
    }
    Ok(child)
}

/// Notes that a command has ended. A shell that was reaped is no longer a child.
pub(super) fn command_ended(root: Pid, reaped: bool) {
    let mut started = started();
    started.commands.remove(&raw(root));
    if reaped {
        started.children.remove(&raw(root));
    }
}

/// Returns the orphans that changed even their limits: living children of this process that it did not start and
/// that carry no number.
///
/// They belong to the command `root`, or to one that has ended. An orphan is left out if another running command is
/// older, because then its command is unknown.
pub(super) fn untagged_orphans(processes: &[ProcessEntry], root: Pid) -> Vec<Pid> {
    if !adopts_orphans() {
        return Vec::new();
    }
    let started = started();
    let me = raw(getpid());
    let is_orphan = |process: &&ProcessEntry| {
        process.parent == me
            && process.alive
            && !started.children.contains(&raw(process.pid))
            && started.commands.iter().all(|(other, start)| *other == raw(root) || process.start < *start)
            && Tag::carried_by(process.pid).is_none()
    };
    processes.iter().filter(is_orphan).map(|process| process.pid).collect()
}

/// Reaps the orphans that have ended, each by its id: those that carry a number, and those in `killed`, which may
/// have lost theirs.
pub(super) fn reap(killed: &BTreeSet<i32>) {
    if !adopts_orphans() {
        return;
    }
    let mut started = started();
    let children = children();
    // The kernel's lists may omit some children while others end.
    let me = raw(getpid());
    let is_child =
        |pid: i32| Pid::from_raw(pid).and_then(ProcessEntry::of).is_some_and(|process| process.parent == me);
    started.children.retain(|pid| children.contains(pid) || is_child(*pid));
    for number in children {
        let Some(pid) = Pid::from_raw(number).filter(|_| !started.children.contains(&number)) else {
            continue;
        };
        let ended = ProcessEntry::of(pid).is_some_and(|process| !process.alive);
        if ended && (killed.contains(&number) || Tag::carried_by(pid).is_some()) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}

/// Returns the children of all threads of this process.
fn children() -> BTreeSet<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists: Option<Vec<String>> =
        tasks.map(|task| std::fs::read_to_string(task.path().join("children")).ok()).collect();
    let me = raw(getpid());
    match lists {
        Some(lists) if !lists.is_empty() => {
            lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
        }
        // A thread ended in between, or the kernel has no lists.
        _ => ProcessEntry::all()
            .filter(|process| process.parent == me)
            .map(|process| raw(process.pid))
            .collect(),
    }
}

#[cfg(target_os = "linux")]
fn become_subreaper() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Err(error) = rustix::process::set_child_subreaper(Some(getpid())) {
            tracing::error!(%error, "orphans of commands go to init, and may outlive their command");
        }
    });
}

/// The limit of this process while a command starts. A drop restores the previous limit.
#[cfg(target_os = "linux")]
struct RaisedLimit(Option<rustix::process::Rlimit>);

#[cfg(target_os = "linux")]
impl RaisedLimit {
    fn set(Tag(number): Tag) -> Self {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let before = getrlimit(Resource::Rttime);
        let tagged = Rlimit { current: Some(number), maximum: before.maximum };
        match setrlimit(Resource::Rttime, tagged) {
            Ok(()) => Self(Some(before)),
            // The limit was lowered from outside; the other marks of a command must suffice.
            Err(error) => {
                tracing::warn!(%error, "the number of a command could not be set");
                Self(None)
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for RaisedLimit {
    fn drop(&mut self) {
        if let Some(before) = self.0.take()
            && let Err(error) = rustix::process::setrlimit(rustix::process::Resource::Rttime, before)
        {
            tracing::error!(%error, "the limit of real-time CPU could not be restored");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn become_subreaper() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::warn!("this system cannot report which processes a command left running"));
}

#[cfg(not(target_os = "linux"))]
struct RaisedLimit;

#[cfg(not(target_os = "linux"))]
impl RaisedLimit {
    fn set(_: Tag) -> Self {
        Self
    }
}
