//! The processes of one command: found by parent, group, mark and pipe; signalled.
//!
//! Never signals a process by a number that may have been given to another one
//! since it was looked at.

use std::collections::BTreeSet;
use std::os::fd::AsRawFd;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

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

/// The processes of one command; killed when dropped unless [`Tree::gone`] was said.
#[derive(Debug)]
pub(super) struct Tree {
    root: Pid,
    /// When the shell started; nothing older belongs to it.
    start: u64,
    mark: Vec<u8>,
    output: String,
    over: bool,
}

/// Kills what an earlier server, which was itself killed, left running of a call; returns how
/// many processes that were. Found by the mark in their environment, with all their children.
pub(super) fn end_left_over(call: &str) -> usize {
    let mark = format!("{MARKER}={}.", call.replace('\0', "")).into_bytes();
    let marked = |pid: Pid| {
        pid != rustix::process::getpid()
            && std::fs::read(format!("/proc/{}/environ", raw(pid)))
                .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one.starts_with(&mark)))
    };
    let mut ended = 0;
    // What is killed may just have started another; a few passes find that as well.
    for _ in 0..10 {
        let left: Vec<Member> = Seen::all()
            .filter(|seen| seen.alive && marked(seen.pid))
            .map(|seen| Member { pid: seen.pid, start: seen.start })
            .collect();
        if left.is_empty() {
            break;
        }
        ended += left.len();
        left.iter().for_each(|member| member.signal(Signal::KILL));
    }
    ended
}

/// One process, told from a later one of the same number by its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pid: Pid,
    start: u64,
}

impl Tree {
    pub(super) fn new(id: u32, marker: String, output: String) -> Option<Self> {
        let root = Pid::from_raw(i32::try_from(id).ok()?)?;
        let start = Seen::of(root).map_or(0, |seen| seen.start);
        let mark = format!("{MARKER}={marker}").into_bytes();
        Some(Self { root, start, mark, output, over: false })
    }

    pub(super) fn root(&self) -> Pid {
        self.root
    }

    /// Says that the shell was reaped and nothing is left to kill.
    pub(super) fn gone(&mut self) {
        self.over = true;
    }

    /// Returns the living processes of the command.
    pub(super) fn members(&self) -> Vec<Member> {
        let seen: Vec<Seen> = Seen::all().filter(|seen| seen.start >= self.start).collect();
        let mut ours: BTreeSet<i32> = BTreeSet::from([raw(self.root)]);
        for process in &seen {
            if process.group == raw(self.root) || self.carries_mark(process.pid) {
                ours.insert(raw(process.pid));
            }
        }
        loop {
            let before = ours.len();
            let children = seen.iter().filter(|s| ours.contains(&s.parent)).map(|s| raw(s.pid));
            let children: Vec<i32> = children.collect();
            ours.extend(children);
            if ours.len() == before {
                break;
            }
        }
        seen.iter()
            .filter(|seen| seen.alive && ours.contains(&raw(seen.pid)))
            .map(|seen| Member { pid: seen.pid, start: seen.start })
            .collect()
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
    pub(super) fn kill_pass(&self) -> usize {
        self.signal_group(Signal::KILL);
        let members = self.members();
        members.iter().for_each(|member| member.signal(Signal::KILL));
        members.len()
    }

    fn signal_group(&self, signal: Signal) {
        // Gone already is what is wanted.
        let _ = kill_process_group(self.root, signal);
    }

    /// A process that left the group and lost its parent still has the mark in its
    /// environment, or, where it cleared that, often the command's output pipe.
    fn carries_mark(&self, pid: Pid) -> bool {
        if pid == rustix::process::getpid() {
            return false;
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

impl Drop for Tree {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // Without a runtime and without a grace: who drops it wants it gone now.
        for _ in 0..50 {
            if self.kill_pass() == 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

impl Member {
    #[cfg(target_os = "linux")]
    fn signal(&self, signal: Signal) {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        match pidfd_open(self.pid, PidfdFlags::empty()) {
            // The handle holds one process; that it is the one meant is seen after.
            Ok(handle) if self.is_same() => {
                let _ = pidfd_send_signal(&handle, signal);
            }
            Err(rustix::io::Errno::NOSYS) if self.is_same() => {
                let _ = kill_process(self.pid, signal);
            }
            _ => {}
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn signal(&self, signal: Signal) {
        let _ = kill_process(self.pid, signal);
    }

    #[cfg(target_os = "linux")]
    fn is_same(&self) -> bool {
        Seen::of(self.pid).is_some_and(|seen| seen.start == self.start)
    }
}

/// One process as the system shows it.
struct Seen {
    pid: Pid,
    parent: i32,
    group: i32,
    start: u64,
    alive: bool,
}

impl Seen {
    /// Returns all processes; none where the system does not show them.
    fn all() -> impl Iterator<Item = Self> {
        std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
            .filter_map(Self::of)
    }

    fn of(pid: Pid) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{}/stat", raw(pid))).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name stands in parentheses and may hold anything, parentheses too.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let start = fields.nth(16)?.parse().ok()?;
        Some(Self { pid, parent, group, start, alive: !matches!(state, "Z" | "X" | "x") })
    }
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}
