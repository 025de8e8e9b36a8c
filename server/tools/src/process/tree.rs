//! Finds the processes of one command by parent, group, number, marker and pipe, and signals them.
//!
//! Never leaves a process that it can find, and never signals a process of another command.

use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};

use super::entry::{Member, ProcessEntry, raw};
use super::group::{self, Group};
use super::orphans::{self, Tag};

/// The environment variable that marks the processes of a command.
pub(super) const MARKER: &str = "ADJUTANT_CALL";

/// Returns a marker that no other command has: the id of the call and a random part.
pub(super) fn marker(call: &str) -> Result<String, String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| format!("draw a random number: {error}"))?;
    // A NUL would end the variable early.
    Ok(format!("{}.{:016x}", call.replace('\0', ""), u64::from_le_bytes(random)))
}

/// Returns the system's name of a pipe, which is the same at both of its ends.
pub(super) fn pipe_name(reader: &std::io::PipeReader) -> String {
    std::fs::read_link(format!("/proc/self/fd/{}", reader.as_raw_fd()))
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Identifies the processes of one command.
#[derive(Clone, Debug)]
struct CommandIdentity {
    root: Pid,
    /// When the shell started; no older process belongs to the command.
    start: u64,
    tag: Tag,
    /// The marker as it is in the environment, `NAME=value`.
    marker: Vec<u8>,
    output: String,
}

/// The processes of one command. A drop kills them unless [`Tree::gone`] was called.
#[derive(Debug)]
pub(super) struct Tree {
    identity: CommandIdentity,
    group: Option<Arc<Group>>,
    /// Killed processes, to be reaped if they became children of this process.
    killed: BTreeSet<i32>,
    over: bool,
}

/// Kills the processes of a call that an earlier server left running because it was killed. Returns how many there
/// were. They are found by their number and by the marker in their environment.
pub(super) fn end_left_over(call: &str) -> usize {
    let marker = format!("{MARKER}={}.", call.replace('\0', "")).into_bytes();
    let tag = Tag::of(call);
    let marked = |pid: Pid| {
        pid != rustix::process::getpid()
            && (Tag::carried_by(pid) == Some(tag)
                || std::fs::read(format!("/proc/{}/environ", raw(pid)))
                    .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one.starts_with(&marker))))
    };
    let mut ended = 0;
    // A killed process may just have started another; further passes find that one.
    for _ in 0..10 {
        let left: Vec<Member> = ProcessEntry::all()
            .filter(|process| process.alive && marked(process.pid))
            .map(|process| process.member())
            .collect();
        if left.is_empty() {
            break;
        }
        ended += left.len();
        left.iter().for_each(|member| member.signal(Signal::KILL));
    }
    group::end_left_over(call);
    ended
}

impl CommandIdentity {
    /// Returns the living processes of the command.
    fn members(&self) -> Vec<Member> {
        let (candidates, older): (Vec<ProcessEntry>, Vec<ProcessEntry>) =
            ProcessEntry::all().partition(|process| process.start >= self.start);
        let mut found: BTreeSet<i32> = BTreeSet::from([raw(self.root)]);
        for process in &candidates {
            if process.group == raw(self.root) || self.marks(process.pid) {
                found.insert(raw(process.pid));
            }
        }
        found.extend(orphans::untagged_orphans(&candidates, self.root).into_iter().map(raw));
        loop {
            let before = found.len();
            let children = candidates.iter().filter(|s| found.contains(&s.parent)).map(|s| raw(s.pid));
            let children: Vec<i32> = children.collect();
            found.extend(children);
            if found.len() == before {
                break;
            }
        }
        // Processes of an earlier command that ended while this one ran.
        let left = orphans::untagged_orphans(&older, self.root);
        let mut members: Vec<Member> = candidates
            .iter()
            .filter(|process| process.alive && found.contains(&raw(process.pid)))
            .map(ProcessEntry::member)
            .collect();
        members.extend(older.iter().filter(|process| left.contains(&process.pid)).map(ProcessEntry::member));
        members
    }

    /// Whether a process carries a mark of this command.
    ///
    /// A process that left the group and lost its parent still carries the number. Otherwise it may have the marker in
    /// its environment, or the output pipe of the command.
    fn marks(&self, pid: Pid) -> bool {
        if pid == rustix::process::getpid() {
            return false;
        }
        if Tag::carried_by(pid) == Some(self.tag) {
            return true;
        }
        let folder = format!("/proc/{}", raw(pid));
        let marked = std::fs::read(format!("{folder}/environ"))
            .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == self.marker));
        // Only standard output and error count. A child that this process just starts has copies of all descriptors
        // for a moment, at other numbers.
        marked
            || !self.output.is_empty()
                && [1, 2].iter().any(|number| {
                    std::fs::read_link(format!("{folder}/fd/{number}"))
                        .is_ok_and(|name| name.to_string_lossy() == self.output)
                })
    }
}

impl Tree {
    /// Returns the tree of a process that was started with this marker and number. Its group is still empty.
    pub(super) fn new(id: u32, marker: &str, tag: Tag, output: String, group: Option<Group>) -> Option<Self> {
        let root = Pid::from_raw(i32::try_from(id).ok()?)?;
        let start = ProcessEntry::of(root).map_or(0, |process| process.start);
        let marker = format!("{MARKER}={marker}").into_bytes();
        Some(Self {
            identity: CommandIdentity { root, start, tag, marker, output },
            group: group.map(Arc::new),
            killed: BTreeSet::new(),
            over: false,
        })
    }

    pub(super) fn root(&self) -> Pid {
        self.identity.root
    }

    /// Notes that the shell was reaped, so that a drop kills nothing.
    pub(super) fn gone(&mut self) {
        if !self.over {
            self.over = true;
            orphans::command_ended(self.identity.root, true);
        }
    }

    /// Returns the living processes of the command.
    pub(super) fn members(&self) -> Vec<Member> {
        let mut members = self.identity.members();
        let grouped = self.group.iter().flat_map(|group| group.pids()).filter_map(ProcessEntry::of);
        for member in grouped.filter(|process| process.alive).map(|process| process.member()) {
            if !members.contains(&member) {
                members.push(member);
            }
        }
        members
    }

    /// Moves the processes of the command into its group, if it has one, on a thread that may block.
    pub(super) fn gather(&self) {
        if let Some(group) = self.group.clone() {
            let identity = self.identity.clone();
            tokio::task::spawn_blocking(move || group.add(identity.members()));
        }
    }

    /// Asks every process to end; a suspended one is continued so that it can.
    pub(super) fn ask_to_end(&self) {
        for signal in [Signal::TERM, Signal::CONT] {
            self.signal_group(signal);
            for member in self.members() {
                member.signal(signal);
            }
        }
    }

    /// Kills all processes that it finds and returns how many there were.
    pub(super) fn kill_pass(&mut self) -> usize {
        // Listed before the kill: only this list names processes that lost their number and must be reaped.
        let members = self.members();
        if let Some(group) = &self.group {
            group.kill();
        }
        self.signal_group(Signal::KILL);
        members.iter().for_each(|member| member.signal(Signal::KILL));
        self.killed.extend(members.iter().map(|member| raw(member.pid)));
        orphans::reap(&self.killed);
        members.len()
    }

    fn signal_group(&self, signal: Signal) {
        // An error means that the group is already gone.
        let _ = kill_process_group(self.identity.root, signal);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // A drop kills at once, without a grace period, and works without a runtime.
        for _ in 0..50 {
            if self.kill_pass() == 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        orphans::command_ended(self.identity.root, false);
    }
}
