//! A control group for the processes of one command, where the kernel lets this process make one:
//! what is in it ends at once, however fast it forks.
//!
//! Never needed: a command that has none is found process by process (`tree`). A command gets its
//! group after a moment, because to move a process can take the kernel longer than most commands run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::seen::{Member, raw};

/// How the processes of a command are held together. Tests choose; everybody else has the best way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// A control group where one can be made.
    #[default]
    Best,
    /// A control group, and the command fails where none can be made.
    Group,
    /// Without control groups.
    Walk,
}

impl Hold {
    /// What the variable for tests says.
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

/// The group of one command; gone with its processes when it is ended.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    /// Once it is over nothing is moved into it any more: a number may be another's by then.
    over: AtomicBool,
}

impl Group {
    /// Makes the group of a call; none where that cannot be done.
    pub fn make(call: &str, hold: Hold) -> Result<Option<Self>, String> {
        let place = match hold {
            Hold::Walk => return Ok(None),
            Hold::Best | Hold::Group => own_group(),
        };
        let made = place.as_ref().map_err(Clone::clone).and_then(|place| {
            let path = place.join(name_of(call));
            fs::create_dir(&path).map_err(|error| format!("make the group {}: {error}", path.display()))?;
            Ok(Self { path, over: AtomicBool::new(false) })
        });
        match (made, hold) {
            (Ok(group), _) => Ok(Some(group)),
            (Err(why), Hold::Group) => Err(why),
            (Err(why), _) => {
                tracing::debug!(%why, "the command has no control group");
                Ok(None)
            }
        }
    }

    /// Moves processes in, as long as the command is not over. Who ends it meanwhile does not wait for this.
    pub fn add(&self, members: impl IntoIterator<Item = Member>) {
        for member in members {
            if self.is_over() {
                break;
            }
            let moved = move_into(&self.path, member.pid);
            // The number went to another process in between: that one is moved to the server's group, because its
            // own is not known.
            if moved.is_ok()
                && !member.is_same()
                && let Some(home) = self.path.parent()
            {
                let _ = move_into(home, member.pid);
            }
        }
        // What was just moved in may have come after the kill.
        if self.is_over() {
            kill(&self.path);
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Returns what is in it.
    pub fn pids(&self) -> Vec<Pid> {
        let listed = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        listed.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw)).collect()
    }

    /// Kills all that is in it.
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

/// Ends the group that an earlier server, which was itself killed, left of a call.
pub(super) fn end_left_over(call: &str) {
    if let Ok(place) = own_group() {
        let path = place.join(name_of(call));
        if path.is_dir() {
            kill(&path);
            // Nobody waits for its processes here, so that they may take their time to end.
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

/// Removes a group once the processes in it have ended; a group within it goes first.
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

/// The group of this process, if others can be made in it and killed; looked for once.
fn own_group() -> &'static Result<PathBuf, String> {
    static PLACE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PLACE.get_or_init(|| {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("read {path}: {error}"));
        let place = place_of(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)
            .ok_or("no control groups of version 2 are mounted here")?;
        let probe = place.join(format!("adjutant-probe-{}", std::process::id()));
        fs::create_dir(&probe).map_err(|error| format!("make a group in {}: {error}", place.display()))?;
        let can_kill = probe.join("cgroup.kill").exists();
        let writable = rustix::fs::access(place.join("cgroup.procs"), rustix::fs::Access::WRITE_OK).is_ok();
        remove(&probe, Duration::ZERO);
        match can_kill && writable {
            true => Ok(place),
            false => Err(format!("groups in {} cannot be killed, or nothing can be moved", place.display())),
        }
    })
}

/// Where the group of this process is mounted, by `mountinfo` and `cgroup` of `/proc/self`.
fn place_of(mounts: &str, groups: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
        // A mount may show a part of the tree only.
        let within = Path::new(own).strip_prefix(&root).ok()?;
        Some(Path::new(&point).join(within))
    })
}

/// Spaces and the like are written as three octal digits there.
fn unescaped(field: &str) -> String {
    let signs = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    signs.iter().fold(field.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::super::seen::ProcessEntry;
    use super::*;

    #[test]
    fn finding_b7_a_kill_does_not_wait_for_moves_and_ends_them() {
        let dir = tempfile::tempdir().expect("folder");
        // A folder in place of a group: what is written to it stays.
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
        let place = |groups: &str| place_of(mounts, groups);
        assert_eq!(
            place("1:cpu:/\n0::/a.slice/b.scope\n").as_deref(),
            Some(Path::new("/sys/fs/cgroup/uni fied/a.slice/b.scope"))
        );
        assert_eq!(place("1:cpu:/a\n"), None, "no version 2");
        assert_eq!(place_of("22 27 0:21 / /proc rw - proc proc rw\n", "0::/\n"), None);
        // Inside a container: the mount shows its part alone.
        let part = "41 31 0:38 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 ro\n";
        assert_eq!(place_of(part, "0::/docker/1/x\n").as_deref(), Some(Path::new("/sys/fs/cgroup/x")));
        assert_eq!(place_of(part, "0::/elsewhere\n"), None);
    }
}
