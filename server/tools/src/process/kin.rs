//! Finds the processes of a command by an inherited number, and adopts its orphans (subreaper).
//!
//! A command can clear its environment, take a session of its own, close its output and lose its
//! parent. It keeps its limits: the soft limit of real-time CPU, which no program of ours uses, is set
//! to a number of the command while it is started. And this process is a *subreaper*: what loses its
//! parent becomes its child, not that of `init`. Orphans are reaped by their ids alone, never by a
//! wait for any child, which would take the children of others in this process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};
use sha2::{Digest, Sha256};
use tokio::process::{Child, Command};

use super::seen::{ProcessEntry, raw};

/// The number of one command: above all that anybody could mean as a limit, below "unlimited".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u64);

const LEAST: u64 = 1 << 62;

impl Tag {
    /// The number that follows from a name; the id of a call in the log gives it again after a restart.
    pub fn of(name: &str) -> Self {
        let digest = Sha256::digest(name.as_bytes());
        let number = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        Self(LEAST | number >> 4)
    }

    /// The number that a process carries, if it is one of ours.
    pub fn carried_by(pid: Pid) -> Option<Self> {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", raw(pid))).ok()?;
        let row = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
        let soft = row.split_whitespace().next()?.parse().ok()?;
        (LEAST..LEAST << 1).contains(&soft).then_some(Self(soft))
    }
}

/// The processes this one has started and not yet reaped, and which of them are commands that run.
struct Kin {
    children: BTreeSet<i32>,
    /// When each started, by its shell.
    commands: BTreeMap<i32, u64>,
}

/// Whether this process starts nothing but commands and the user's own programs.
static ALONE: AtomicBool = AtomicBool::new(false);

/// Says that every program this process starts is started here, so that orphans among its children are
/// those of commands. The binary says so first thing. Where it is not so, as in a process of tests, a limit
/// set for one command would be inherited by the child of another thread, which would be taken for part of it.
pub fn own_this_process() {
    ALONE.store(true, Ordering::Relaxed);
}

fn alone() -> bool {
    ALONE.load(Ordering::Relaxed)
}

static KIN: Mutex<Kin> = Mutex::new(Kin { children: BTreeSet::new(), commands: BTreeMap::new() });

fn kin() -> MutexGuard<'static, Kin> {
    KIN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a command that carries this number, with all that it will start.
pub(super) fn spawn(command: &mut Command, tag: Tag) -> io::Result<Child> {
    if !alone() {
        return command.spawn();
    }
    become_subreaper();
    // Held until the child is known: whoever looks for orphans must not take it for one, and no other
    // command may be started with this number.
    let mut kin = kin();
    let worn = RaisedLimit::put_on(tag);
    let child = command.spawn();
    drop(worn);
    let child = child?;
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
        kin.children.insert(id);
        let start = Pid::from_raw(id).and_then(ProcessEntry::of).map_or(0, |seen| seen.start);
        kin.commands.insert(id, start);
    }
    Ok(child)
}

/// A command is over. Its shell, if it was reaped, is no child any more.
pub(super) fn over(root: Pid, reaped: bool) {
    let mut kin = kin();
    kin.commands.remove(&raw(root));
    if reaped {
        kin.children.remove(&raw(root));
    }
}

/// The orphans that changed their limits, too, whatever session they are in: children of this process that it did
/// not start, without any number. They are of the command `root`, or of one that is over: while another command runs
/// that is older than an orphan, nobody knows whose it is.
pub(super) fn strangers(seen: &[ProcessEntry], root: Pid) -> Vec<Pid> {
    if !alone() {
        return Vec::new();
    }
    let kin = kin();
    let me = raw(getpid());
    let is_stranger = |seen: &&ProcessEntry| {
        seen.parent == me
            && seen.alive
            && !kin.children.contains(&raw(seen.pid))
            && kin.commands.iter().all(|(other, start)| *other == raw(root) || seen.start < *start)
            && Tag::carried_by(seen.pid).is_none()
    };
    seen.iter().filter(is_stranger).map(|seen| seen.pid).collect()
}

/// Reaps the orphans that have ended, each by its id. What `killed` names may have lost its number.
pub(super) fn reap(killed: &BTreeSet<i32>) {
    if !alone() {
        return;
    }
    let mut kin = kin();
    let children = children();
    // The lists of the kernel may leave out some while others end.
    let me = raw(getpid());
    let is_child =
        |pid: i32| Pid::from_raw(pid).and_then(ProcessEntry::of).is_some_and(|seen| seen.parent == me);
    kin.children.retain(|pid| children.contains(pid) || is_child(*pid));
    for number in children {
        let Some(pid) = Pid::from_raw(number).filter(|_| !kin.children.contains(&number)) else { continue };
        let ended = ProcessEntry::of(pid).is_some_and(|seen| !seen.alive);
        if ended && (killed.contains(&number) || Tag::carried_by(pid).is_some()) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}

/// The children of all threads of this process.
fn children() -> BTreeSet<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists: Option<Vec<String>> =
        tasks.map(|task| std::fs::read_to_string(task.path().join("children")).ok()).collect();
    let me = raw(getpid());
    match lists {
        Some(lists) if !lists.is_empty() => {
            lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
        }
        // A thread ended meanwhile, or the kernel keeps no lists.
        _ => ProcessEntry::all().filter(|seen| seen.parent == me).map(|seen| raw(seen.pid)).collect(),
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

/// The limit of this process while a command is started; put back when dropped.
#[cfg(target_os = "linux")]
struct RaisedLimit(Option<rustix::process::Rlimit>);

#[cfg(target_os = "linux")]
impl RaisedLimit {
    fn put_on(Tag(number): Tag) -> Self {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let before = getrlimit(Resource::Rttime);
        let tagged = Rlimit { current: Some(number), maximum: before.maximum };
        match setrlimit(Resource::Rttime, tagged) {
            Ok(()) => Self(Some(before)),
            // Somebody has limited it already: the other marks of a command have to do.
            Err(error) => {
                tracing::warn!(%error, "a command cannot be given its number");
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
            tracing::error!(%error, "the limit of real-time CPU could not be put back");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn become_subreaper() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::warn!("this system does not say which processes a command left"));
}

#[cfg(not(target_os = "linux"))]
struct RaisedLimit;

#[cfg(not(target_os = "linux"))]
impl RaisedLimit {
    fn put_on(_: Tag) -> Self {
        Self
    }
}
