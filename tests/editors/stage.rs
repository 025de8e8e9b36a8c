//! The environment of one editor: a workspace, a model on loopback, the message log, and a `PATH` where
//! `adjutant` is the binary under test.
//!
//! Never ends a server that no editor of this stage started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::long;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use adjutant_testkit::process::is_running;
use rustix::process::{Pid, Signal, kill_process};

use crate::seen::Seen;

/// The longest wait for something that must happen; editors start slowly on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// The time that an ask must be on the screen before an approval counts, and a little more.
pub const READ: Duration = Duration::from_millis(450);

/// The binary under test.
pub const SERVER: &str = env!("CARGO_BIN_EXE_adjutant");

/// The environment of one editor and the servers it starts.
pub struct Stage {
    pub workspace: Workspace,
    pub model: ModelServer,
    /// The mount points in the workspace.
    mounted: Vec<PathBuf>,
}

impl Stage {
    /// Creates a workspace whose model plays `replies` in order.
    pub fn new(fixture: &str, replies: impl IntoIterator<Item = Reply>) -> Stage {
        Stage::with(fixture, ModelServer::start(replies))
    }

    /// Creates a workspace whose model answers each request by itself.
    pub fn answering(fixture: &str, script: impl FnMut(&Request) -> Reply + Send + 'static) -> Stage {
        Stage::with(fixture, ModelServer::answering(script))
    }

    fn with(fixture: &str, model: ModelServer) -> Stage {
        let workspace = Workspace::new(fixture);
        let stage = Stage { workspace, model, mounted: Vec::new() };
        // Most scenes are about questions, which an editor with a plugin and trust would not ask for an edit.
        stage.workspace.openai(&stage.model.base_url()).add_config("[edits]\nmode = \"ask\"\n");
        // Editors recognize the root of a project by it; Helix sends no folder without it.
        fs::create_dir(stage.workspace.path().join(".git")).expect("make the mark of a project");
        // The debug log is the message log. `exec` keeps the process id that the editor knows.
        stage.server_is(&format!("exec '{SERVER}' --debug \"$@\""));
        stage
    }

    /// Returns a workspace with the task that is too long for its model, whose summary waits to be released.
    pub fn long() -> Stage {
        let stage = Stage::answering(&long::fixture(), long::model(|summary| summary.hold_after(300)));
        stage.workspace.openai(&stage.model.base_url()).add_config(long::SETTINGS);
        stage
    }

    /// Leaves it to the editor whether edits ask.
    pub fn without_edits_mode(self) -> Stage {
        self.workspace.openai(&self.model.base_url());
        self
    }

    /// Records the bytes of the editor from now on in a file, and returns its path.
    pub fn record_input(&self) -> PathBuf {
        let path = self.beside("sent.bin");
        self.server_is(&format!("tee '{}' | '{SERVER}' --debug \"$@\"", path.display()));
        path
    }

    /// Makes a line of shell the command `adjutant` that editors start.
    pub fn server_is(&self, line: &str) {
        let path = self.bin().join("adjutant");
        fs::create_dir_all(self.bin()).expect("make the folder of programs");
        fs::write(&path, format!("#!/bin/sh\n{line}\n")).expect("write the program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("make it run");
    }

    fn bin(&self) -> PathBuf {
        self.beside("bin")
    }

    /// Returns a path next to the workspace, where no editor looks for files of a project.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.workspace.path().parent().expect("a workspace has a parent folder").join(name)
    }

    /// Returns the folder for the settings of programs.
    pub fn settings_dir(&self) -> PathBuf {
        self.beside("config")
    }

    /// Returns the environment of an editor; of the user's environment it has only the `PATH`.
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

    /// Makes a file of the workspace read-only, even for root.
    pub fn mount_read_only(&mut self, file: &str) {
        let path = self.workspace.path().join(file);
        mount(&["--bind".as_ref(), path.as_os_str(), path.as_os_str()]);
        mount(&["-o".as_ref(), "remount,ro,bind".as_ref(), path.as_os_str()]);
        self.mounted.push(path);
    }

    /// Mounts a full disk at a folder of the workspace.
    pub fn mount_full(&mut self, folder: &str) {
        let path = self.workspace.path().join(folder);
        let disk = ["-t", "tmpfs", "-o", "size=64k", "none"].map(OsStr::new);
        mount(&[&disk[..], &[path.as_os_str()]].concat());
        let filled = fs::write(path.join("fill"), vec![0_u8; 1 << 20]);
        self.mounted.push(path);
        assert!(filled.is_err(), "the small disk is not full");
    }

    /// Returns the messages between the editors of this stage and their servers.
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

    /// Kills the newest server with SIGKILL and waits until it is gone.
    pub fn kill_server(&self) {
        let pid = self.seen().newest_server().expect("a server has begun its log");
        let program = fs::read_link(format!("/proc/{pid}/exe")).expect("the server of the newest log runs");
        assert_eq!(program, Path::new(SERVER), "process {pid} is not a server of this test");
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(id, Signal::KILL).expect("kill the server");
        wait_for("the end of the killed server", || (!is_running(pid)).then_some(()));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for point in &self.mounted {
            // Lazily, because an editor that has not ended may still use it.
            let _ = Command::new("umount").arg("-l").arg(point).status();
        }
    }
}

fn mount(args: &[&OsStr]) {
    let done = Command::new("mount").args(args).status().expect("run mount");
    assert!(done.success(), "mount {args:?}: these scenes need root, as the install script does");
}

/// Returns the path of an installed editor; `part` is the path inside the cache folder.
pub fn installed(part: &str) -> PathBuf {
    let folder = std::env::var_os("ADJUTANT_EDITORS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/editors"), PathBuf::from);
    let path = folder.join(part);
    assert!(path.exists(), "{} is missing: run tests/editors/install.sh", path.display());
    fs::canonicalize(&path).unwrap_or(path)
}

/// Returns the path of a file in the repository.
pub fn shipped(part: &str) -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(part))
        .unwrap_or_else(|error| panic!("find {part}: {error}"))
}

/// Polls `ask` until it returns a value, because an editor sends no event.
#[track_caller]
pub fn wait_for<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wait_or(ask).unwrap_or_else(|| panic!("waited {DEADLINE:?} for {what}"))
}

/// As [`wait_for`]; returns `None` after the deadline.
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
