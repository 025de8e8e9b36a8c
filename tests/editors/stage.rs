//! Where an editor meets the server: a workspace, a model on loopback, a `PATH`
//! on which `adjutant` is the binary under test, and its message log.
//!
//! Ends only servers that an editor of this stage started, by their id.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::is_running;
use rustix::process::{Pid, Signal, kill_process};

use crate::seen::Seen;

/// How long anything that must happen may take; editors start slowly on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// How long an ask must have been on the screen before an approval counts, and a little more.
pub const READ: Duration = Duration::from_millis(450);

/// The binary under test.
pub const SERVER: &str = env!("CARGO_BIN_EXE_adjutant");

/// A place for one editor and the servers it starts.
pub struct Stage {
    pub workspace: Workspace,
    pub model: ModelServer,
    /// Where something is mounted in the workspace.
    mounted: Vec<PathBuf>,
}

impl Stage {
    /// Makes a workspace whose model plays `replies` in order.
    pub fn new(fixture: &str, replies: impl IntoIterator<Item = Reply>) -> Stage {
        let (workspace, model) = (Workspace::new(fixture), ModelServer::start(replies));
        let stage = Stage { workspace, model, mounted: Vec::new() };
        stage.workspace.openai(&stage.model.base_url());
        // What editors take for the root of a project; Helix names no folder without it.
        fs::create_dir(stage.workspace.path().join(".git")).expect("make the mark of a project");
        // The debug log is the message log; `exec` keeps the process id that the editor knows.
        stage.server_is(&format!("exec '{SERVER}' --debug \"$@\""));
        stage
    }

    /// Keeps what the editor sends from now on in a file, byte by byte, and returns its path.
    pub fn record_input(&self) -> PathBuf {
        let path = self.beside("sent.bin");
        self.server_is(&format!("tee '{}' | '{SERVER}' --debug \"$@\"", path.display()));
        path
    }

    /// Makes a line of shell the server that editors start.
    pub fn server_is(&self, line: &str) {
        let path = self.bin().join("adjutant");
        fs::create_dir_all(self.bin()).expect("make the folder of programs");
        fs::write(&path, format!("#!/bin/sh\n{line}\n")).expect("write the program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("make it run");
    }

    fn bin(&self) -> PathBuf {
        self.beside("bin")
    }

    /// Returns a path beside the workspace, where no editor looks for files of a project.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.workspace.path().parent().expect("a workspace lies in a directory").join(name)
    }

    /// Returns where the settings of programs are looked for.
    pub fn settings_dir(&self) -> PathBuf {
        self.beside("config")
    }

    /// Returns the environment of an editor: nothing of the user's but where programs are.
    pub fn env(&self) -> Vec<(String, String)> {
        let mut env = self.workspace.env();
        let path = std::env::var("PATH").unwrap_or_default();
        for (name, value) in [
            ("PATH", format!("{}:{path}", self.bin().display())),
            ("TMPDIR", self.beside("cache").display().to_string()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            ("COLORTERM", "truecolor".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
        ] {
            env.push((name.to_owned(), value));
        }
        env
    }

    /// Makes a file of the workspace one that nobody can write, not even root.
    pub fn mount_read_only(&mut self, file: &str) {
        let path = self.workspace.path().join(file);
        mount(&["--bind".as_ref(), path.as_os_str(), path.as_os_str()]);
        mount(&["-o".as_ref(), "remount,ro,bind".as_ref(), path.as_os_str()]);
        self.mounted.push(path);
    }

    /// Makes a folder of the workspace a disk that is full to its last block.
    pub fn mount_full(&mut self, folder: &str) {
        let path = self.workspace.path().join(folder);
        let disk = ["-t", "tmpfs", "-o", "size=64k", "none"].map(OsStr::new);
        mount(&[&disk[..], &[path.as_os_str()]].concat());
        let filled = fs::write(path.join("fill"), vec![0_u8; 1 << 20]);
        self.mounted.push(path);
        assert!(filled.is_err(), "the small disk is not full");
    }

    /// Returns what was said between the editors of this stage and their servers.
    pub fn seen(&self) -> Seen {
        Seen::new(self.workspace.state_dir().join("log"))
    }

    /// Returns the names of the sessions on disk.
    pub fn sessions(&self) -> Vec<String> {
        let entries =
            fs::read_dir(self.workspace.state_dir().join("sessions")).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().join("events.jsonl").is_file());
        let mut names: Vec<String> =
            folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Waits until the newest of so many popups was on the screen long enough for an approval to count.
    pub fn read(&self, popups: usize) {
        let since = self.seen().wait("out", "window/showMessageRequest", popups);
        wait_for("somebody to have read it", || (since.elapsed() >= READ).then_some(()));
    }

    /// Kills the server that runs now with SIGKILL and waits until it is gone.
    pub fn kill_server(&self) {
        let pid = self.seen().newest_server().expect("a server has begun its log");
        let program = fs::read_link(format!("/proc/{pid}/exe")).expect("the server of the newest log runs");
        assert_eq!(program, Path::new(SERVER), "process {pid} is no server of this test");
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(id, Signal::KILL).expect("kill the server");
        wait_for("the end of the killed server", || (!is_running(pid)).then_some(()));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for point in &self.mounted {
            // Lazily: an editor that has not ended yet may hold it.
            let _ = Command::new("umount").arg("-l").arg(point).status();
        }
    }
}

fn mount(args: &[&OsStr]) {
    let done = Command::new("mount").args(args).status().expect("run mount");
    assert!(done.success(), "mount {args:?}: these scenes need root, as the install script does");
}

/// Returns where an editor is installed; `part` is the path inside the cache folder.
pub fn installed(part: &str) -> PathBuf {
    let folder = std::env::var_os("ADJUTANT_EDITORS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/editors"), PathBuf::from);
    let path = folder.join(part);
    assert!(path.exists(), "{} is missing: run tests/editors/install.sh", path.display());
    fs::canonicalize(&path).unwrap_or(path)
}

/// Returns a file of the repository that tests and users share.
pub fn shipped(part: &str) -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(part))
        .unwrap_or_else(|error| panic!("find {part}: {error}"))
}

/// Asks again and again until there is an answer, because an editor gives no event.
#[track_caller]
pub fn wait_for<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wait_or(ask).unwrap_or_else(|| panic!("waited {DEADLINE:?} for {what}"))
}

/// As [`wait_for`]; `None` when there was no answer in time.
pub fn wait_or<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + DEADLINE;
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() >= until {
            return answer;
        }
        thread::park_timeout(Duration::from_millis(20));
    }
}
