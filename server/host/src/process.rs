//! Other processes of this machine.

use rustix::process::{Pid, test_kill_process};

/// Whether a process with this id exists. One that may not be signalled exists too; one of another container may not be visible.
pub fn lives(id: u32) -> bool {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
