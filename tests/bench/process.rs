//! The server under measurement: its process and the kernel's figures for it.
//!
//! Never measures the process of the bench itself.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Nanoseconds in one tick of `/proc/PID/stat`.
const TICK_NANOS: u64 = 10_000_000;

/// Starts `adjutant lsp` without the settings and sessions of the user.
pub fn start(program: &Path, home: &Path) -> Child {
    let mut command = Command::new(program);
    at_home(&mut command, home)
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts")
}

/// Gives a command the settings and sessions in `home`, and nothing else of the environment but the search path.
pub fn at_home<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("ADJUTANT_CONFIG", home.join("config.toml"))
        .env("ADJUTANT_STATE_DIR", home.join("state"))
}

/// Returns the processor time of a process. It is exact for running threads; the time of ended threads
/// is only in the coarser count of the whole process.
pub fn cpu(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the server runs");
    let exact: u64 = tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in the second field may contain any character, so count the fields from its end.
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after.split_whitespace().skip(11).take(2).flat_map(str::parse::<u64>).sum();
    Duration::from_nanos(exact.max(ticks * TICK_NANOS))
}

/// Returns the resident memory of a process and the peak of that, in megabytes.
pub fn memory(pid: u32) -> (f64, f64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.unwrap_or(f64::NAN) * 1024.0 / 1e6
    };
    (field("VmRSS:"), field("VmHWM:"))
}
