//! The processes of one command: found by parent, group, number, mark and pipe; signalled.
//!
//! Never leaves one that it can find, and never touches one of another command.

use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};

use super::group::{self, Group};
use super::kin::{self, Tag};
use super::seen::{Member, ProcessEntry, raw};

/// The environment variable that marks the processes of a command.
pub(super) const MARKER: &str = "ADJUTANT_CALL";

/// Returns a mark that no other command has: the call's id and a random part.
pub(super) fn marker(call: &str) -> Result<String, String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| format!("draw a random number: {error}"))?;
    // A NUL would end the variable early.
    Ok(format!("{}.{:016x}", call.replace('\0', ""), u64::from_le_bytes(random)))
}

/// Returns the system's name of a pipe, as seen at the other end of it.
pub(super) fn pipe_name(reader: &std::io::PipeReader) -> String {
    std::fs::read_link(format!("/proc/self/fd/{}", reader.as_raw_fd()))
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// By what the processes of one command are known.
#[derive(Clone, Debug)]
struct Signs {
    root: Pid,
    /// When the shell started; nothing older belongs to it.
    start: u64,
    tag: Tag,
    mark: Vec<u8>,
    output: String,
}

/// The processes of one command; killed when dropped unless [`Tree::gone`] was said.
#[derive(Debug)]
pub(super) struct Tree {
    signs: Signs,
    group: Option<Arc<Group>>,
    /// To be reaped where they became children of this process.
    killed: BTreeSet<i32>,
    over: bool,
}

/// Kills what an earlier server, which was itself killed, left running of a call; returns how
/// many processes that were. Found by the number they carry and the mark in their environment.
pub(super) fn end_left_over(call: &str) -> usize {
    let mark = format!("{MARKER}={}.", call.replace('\0', "")).into_bytes();
    let tag = Tag::of(call);
    let marked = |pid: Pid| {
        pid != rustix::process::getpid()
            && (Tag::carried_by(pid) == Some(tag)
                || std::fs::read(format!("/proc/{}/environ", raw(pid)))
                    .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one.starts_with(&mark))))
    };
    let mut ended = 0;
    // What is killed may just have started another; a few passes find that as well.
    for _ in 0..10 {
        let left: Vec<Member> = ProcessEntry::all()
            .filter(|seen| seen.alive && marked(seen.pid))
            .map(|seen| seen.member())
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

impl Signs {
    /// Returns the living processes of the command.
    fn members(&self) -> Vec<Member> {
        let (seen, older): (Vec<ProcessEntry>, Vec<ProcessEntry>) =
            ProcessEntry::all().partition(|seen| seen.start >= self.start);
        let mut ours: BTreeSet<i32> = BTreeSet::from([raw(self.root)]);
        for process in &seen {
            if process.group == raw(self.root) || self.are_at(process.pid) {
                ours.insert(raw(process.pid));
            }
        }
        ours.extend(kin::strangers(&seen, self.root).into_iter().map(raw));
        loop {
            let before = ours.len();
            let children = seen.iter().filter(|s| ours.contains(&s.parent)).map(|s| raw(s.pid));
            let children: Vec<i32> = children.collect();
            ours.extend(children);
            if ours.len() == before {
                break;
            }
        }
        // What a command left that is over while this one ran.
        let left = kin::strangers(&older, self.root);
        let mut members: Vec<Member> = seen
            .iter()
            .filter(|seen| seen.alive && ours.contains(&raw(seen.pid)))
            .map(ProcessEntry::member)
            .collect();
        members.extend(older.iter().filter(|seen| left.contains(&seen.pid)).map(ProcessEntry::member));
        members
    }

    /// A process that left the group and lost its parent still carries the number of its command; where
    /// it has none, there is the mark in its environment, or often the command's output pipe.
    fn are_at(&self, pid: Pid) -> bool {
        if pid == rustix::process::getpid() {
            return false;
        }
        if Tag::carried_by(pid) == Some(self.tag) {
            return true;
        }
        let place = format!("/proc/{}", raw(pid));
        let marked = std::fs::read(format!("{place}/environ"))
            .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == self.mark));
        // Only as its standard output or error: a child of ours that is just being
        // started holds copies of all our descriptors for a moment, elsewhere.
        marked
            || !self.output.is_empty()
                && [1, 2].iter().any(|number| {
                    std::fs::read_link(format!("{place}/fd/{number}"))
                        .is_ok_and(|name| name.to_string_lossy() == self.output)
                })
    }
}

impl Tree {
    /// The tree below a process that was started with this number; its group is empty still.
    pub(super) fn new(
        id: u32,
        (marker, tag): (String, Tag),
        output: String,
        group: Option<Group>,
    ) -> Option<Self> {
        let root = Pid::from_raw(i32::try_from(id).ok()?)?;
        let start = ProcessEntry::of(root).map_or(0, |seen| seen.start);
        let mark = format!("{MARKER}={marker}").into_bytes();
        Some(Self {
            signs: Signs { root, start, tag, mark, output },
            group: group.map(Arc::new),
            killed: BTreeSet::new(),
            over: false,
        })
    }

    pub(super) fn root(&self) -> Pid {
        self.signs.root
    }

    /// Says that the shell was reaped, so that the tree is not killed when it is dropped.
    pub(super) fn gone(&mut self) {
        if !self.over {
            self.over = true;
            kin::over(self.signs.root, true);
        }
    }

    /// Returns the living processes of the command.
    pub(super) fn members(&self) -> Vec<Member> {
        let mut members = self.signs.members();
        let grouped = self.group.iter().flat_map(|group| group.pids()).filter_map(ProcessEntry::of);
        for member in grouped.filter(|seen| seen.alive).map(|seen| seen.member()) {
            if !members.contains(&member) {
                members.push(member);
            }
        }
        members
    }

    /// Puts what the command has started into its group, if it has one, on a thread that may wait.
    pub(super) fn gather(&self) {
        if let Some(group) = self.group.clone() {
            let signs = self.signs.clone();
            tokio::task::spawn_blocking(move || group.add(signs.members()));
        }
    }

    /// Asks every process to end; a stopped one is woken so that it can.
    pub(super) fn ask_to_end(&self) {
        for signal in [Signal::TERM, Signal::CONT] {
            self.signal_group(signal);
            for member in self.members() {
                member.signal(signal);
            }
        }
    }

    /// Kills what is there and returns how many processes that were.
    pub(super) fn kill_pass(&mut self) -> usize {
        // Looked at first: what has lost its number is known to be reaped by this alone.
        let members = self.members();
        if let Some(group) = &self.group {
            group.kill();
        }
        self.signal_group(Signal::KILL);
        members.iter().for_each(|member| member.signal(Signal::KILL));
        self.killed.extend(members.iter().map(|member| raw(member.pid)));
        kin::reap(&self.killed);
        members.len()
    }

    fn signal_group(&self, signal: Signal) {
        // Gone already is what is wanted.
        let _ = kill_process_group(self.signs.root, signal);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // Without a runtime and without a grace: who drops it wants it gone now.
        for _ in 0..50 {
            if self.kill_pass() == 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        kin::over(self.signs.root, false);
    }
}
