//! A control group for the processes of one command, if the kernel allows this process to create one. All processes
//! in a group are killed at once, however fast they fork.
//!
//! Never required: without a group, the processes of a command are found one by one (`tree`). A command gets its
//! group after a moment, because moving a process can take the kernel longer than most commands run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::entry::{Member, raw};

/// How the processes of a command are kept together. Only tests choose; otherwise the best way is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Containment {
    /// A control group if one can be created.
    #[default]
    Best,
    /// A control group; the command fails if none can be created.
    Group,
    /// Without control groups.
    Walk,
}

impl Containment {
    /// Reads the choice from the environment variable for tests.
    pub fn of_environment() -> Self {
        match std::env::var("ADJUTANT_PROCESSES").as_deref() {
            Ok("group") => Self::Group,
            Ok("walk") => Self::Walk,
            _ => Self::Best,
        }
    }
}

/// How long a command runs before it gets its group.
pub(super) const GROUP_AFTER: Duration = Duration::from_millis(250);

/// The group of one command. A drop kills its processes and removes it.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    /// Once the command has ended, no process is moved in: its process id may already belong to another process.
    over: AtomicBool,
}

impl Group {
    /// Creates the group of a call; none if that is impossible.
    pub fn make(call: &str, containment: Containment) -> Result<Option<Self>, String> {
        let parent = match containment {
            Containment::Walk => return Ok(None),
            Containment::Best | Containment::Group => own_group(),
        };
        let made = parent.as_ref().map_err(Clone::clone).and_then(|parent| {
            let path = parent.join(name_of(call));
            fs::create_dir(&path).map_err(|error| format!("make the group {}: {error}", path.display()))?;
            Ok(Self { path, over: AtomicBool::new(false) })
        });
        match (made, containment) {
            (Ok(group), _) => Ok(Some(group)),
            (Err(why), Containment::Group) => Err(why),
            (Err(why), _) => {
                tracing::debug!(%why, "the command has no control group");
                Ok(None)
            }
        }
    }

    /// Moves processes into the group until the command ends. A kill does not wait for these moves.
    pub fn add(&self, members: impl IntoIterator<Item = Member>) {
        for member in members {
            if self.is_over() {
                break;
            }
            let moved = move_into(&self.path, member.pid);
            // If the process id was reused in between, another process was moved by mistake. Its previous group is
            // unknown, so it is moved to the server's group.
            if moved.is_ok()
                && !member.is_same()
                && let Some(home) = self.path.parent()
            {
                let _ = move_into(home, member.pid);
            }
        }
        // The last process may have been moved in after the kill.
        if self.is_over() {
            kill(&self.path);
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Returns the processes in the group.
    pub fn pids(&self) -> Vec<Pid> {
        let listed = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        listed.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw)).collect()
    }

    /// Kills all processes in the group.
    pub fn kill(&self) {
        self.over.store(true, Ordering::SeqCst);
        kill(&self.path);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        remove(&self.path, Duration::from_millis(50));
    }
}

/// Ends the group of a call that an earlier server left because it was killed.
pub(super) fn end_left_over(call: &str) {
    if let Ok(parent) = own_group() {
        let path = parent.join(name_of(call));
        if path.is_dir() {
            kill(&path);
            // Nothing else waits here, so the processes get more time to end.
            remove(&path, Duration::from_secs(2));
        }
    }
}

fn name_of(call: &str) -> String {
    let plain: String = call.chars().filter(|sign| sign.is_ascii_alphanumeric() || *sign == '-').collect();
    format!("adjutant-{plain}")
}

fn move_into(group: &Path, pid: Pid) -> std::io::Result<()> {
    fs::write(group.join("cgroup.procs"), raw(pid).to_string())
}

fn kill(group: &Path) {
    if let Err(error) = fs::write(group.join("cgroup.kill"), "1") {
        tracing::debug!(%error, group = %group.display(), "the group cannot be killed as a whole");
    }
}

/// Removes a group once its processes have ended; groups inside it are removed first.
fn remove(group: &Path, patience: Duration) {
    let until = Instant::now() + patience;
    loop {
        let inner = fs::read_dir(group).into_iter().flatten().flatten();
        let folders = inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.for_each(|entry| remove(&entry.path(), Duration::ZERO));
        match fs::remove_dir(group) {
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => return,
        }
    }
}

/// Returns the group of this process, if groups can be created in it and killed. The result is cached.
fn own_group() -> &'static Result<PathBuf, String> {
    static GROUP: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    GROUP.get_or_init(|| {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("read {path}: {error}"));
        let group = own_group_in(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)
            .ok_or("no control groups of version 2 are mounted here")?;
        let probe = group.join(format!("adjutant-probe-{}", std::process::id()));
        fs::create_dir(&probe).map_err(|error| format!("make a group in {}: {error}", group.display()))?;
        let can_kill = probe.join("cgroup.kill").exists();
        let writable = rustix::fs::access(group.join("cgroup.procs"), rustix::fs::Access::WRITE_OK).is_ok();
        remove(&probe, Duration::ZERO);
        if can_kill && writable {
            return Ok(group);
        }
        Err(format!("groups in {} cannot be killed, or nothing can be moved", group.display()))
    })
}

/// Returns where the group of this process is mounted, from `mountinfo` and `cgroup` of `/proc/self`.
fn own_group_in(mounts: &str, groups: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
        // A mount may contain only a part of the tree.
        let within = Path::new(own).strip_prefix(&root).ok()?;
        Some(Path::new(&point).join(within))
    })
}

/// Decodes a field, in which white space and backslashes are written as three octal digits.
fn unescaped(field: &str) -> String {
    let signs = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    signs.iter().fold(field.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::super::entry::ProcessEntry;
    use super::*;

    #[test]
    fn finding_b7_a_kill_does_not_wait_for_moves_and_ends_them() {
        let dir = tempfile::tempdir().expect("folder");
        // A plain folder instead of a group: its files keep what is written to them.
        let group = Arc::new(Group { path: dir.path().to_owned(), over: AtomicBool::new(false) });
        let me = ProcessEntry::of(rustix::process::getpid()).expect("this process").member();
        let (asked, file) = (dir.path().join("cgroup.procs"), dir.path().join("cgroup.kill"));
        let members = (0..3).map(|at| {
            if at == 1 {
                fs::remove_file(&asked).expect("the first was moved");
                let (killed, done) = mpsc::channel();
                let other = group.clone();
                std::thread::spawn(move || {
                    other.kill();
                    let _ = killed.send(());
                });
                done.recv_timeout(Duration::from_secs(10)).expect("the kill waits for the moves");
                fs::remove_file(&file).expect("killed");
            }
            me
        });
        group.add(members);
        assert!(!asked.exists(), "moved into a group that is over");
        assert!(file.exists(), "what was moved after the kill lives on");
    }

    #[test]
    fn finding_b7_the_own_group_is_found_where_it_is_mounted() {
        let mounts = "22 27 0:21 / /proc rw - proc proc rw\n\
                      31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
        let place = |groups: &str| own_group_in(mounts, groups);
        assert_eq!(
            place("1:cpu:/\n0::/a.slice/b.scope\n").as_deref(),
            Some(Path::new("/sys/fs/cgroup/uni fied/a.slice/b.scope"))
        );
        assert_eq!(place("1:cpu:/a\n"), None, "no version 2");
        assert_eq!(own_group_in("22 27 0:21 / /proc rw - proc proc rw\n", "0::/\n"), None);
        // Inside a container: the mount contains only the container's part.
        let part = "41 31 0:38 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 ro\n";
        assert_eq!(own_group_in(part, "0::/docker/1/x\n").as_deref(), Some(Path::new("/sys/fs/cgroup/x")));
        assert_eq!(own_group_in(part, "0::/elsewhere\n"), None);
    }
}
