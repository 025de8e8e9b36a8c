//! The processes of the system, each identified by its process id and start time.
//!
//! Never signals a process whose id may have been reused since it was read.

use rustix::process::{Pid, Signal, kill_process};

/// One process as the system reports it.
pub(super) struct ProcessEntry {
    pub pid: Pid,
    pub parent: i32,
    pub group: i32,
    pub start: u64,
    pub alive: bool,
}

impl ProcessEntry {
    /// Returns all processes; none if the system does not list them.
    pub fn all() -> impl Iterator<Item = Self> {
        std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
            .filter_map(Self::of)
    }

    pub fn of(pid: Pid) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{}/stat", raw(pid))).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name is in parentheses and may contain any characters, also parentheses.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let start = fields.nth(16)?.parse().ok()?;
        Some(Self { pid, parent, group, start, alive: !matches!(state, "Z" | "X" | "x") })
    }

    pub fn member(&self) -> Member {
        Member { pid: self.pid, start: self.start }
    }
}

pub(super) fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// One process; its start time distinguishes it from a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub pid: Pid,
    start: u64,
}

impl Member {
    #[cfg(target_os = "linux")]
    pub fn signal(&self, signal: Signal) {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        match pidfd_open(self.pid, PidfdFlags::empty()) {
            // The handle refers to one process, so a check after the open is sufficient.
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
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(self.pid, signal);
    }

    pub fn is_same(&self) -> bool {
        ProcessEntry::of(self.pid).is_some_and(|process| process.start == self.start)
    }
}
