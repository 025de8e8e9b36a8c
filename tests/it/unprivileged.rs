//! What a command can find out about the server that starts it, as a user without privileges: for
//! the superuser everything is readable, and a test as one would prove nothing.
//!
//! Never needs more than `setpriv` of util-linux, and fails where that is missing.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::Server;

/// Nobody, on every Linux.
const NOBODY: u32 = 65534;
const CANARY: &str = "canary-of-the-environment";

/// A program that anybody may run, and how it is run without privileges.
struct Unprivileged {
    folder: tempfile::TempDir,
}

impl Unprivileged {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let here = Self { folder };
        // The build's own folder may be closed to others.
        let built = env!("CARGO_BIN_EXE_adjutant");
        if std::fs::hard_link(built, here.binary()).is_err() {
            std::fs::copy(built, here.binary()).unwrap();
        }
        here
    }

    fn binary(&self) -> PathBuf {
        self.folder.path().join("adjutant")
    }

    /// The words in front of a program that take the privileges away.
    fn words() -> &'static [&'static str] {
        match rustix::process::geteuid().is_root() {
            true => &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"],
            false => &["env"],
        }
    }

    fn command(program: &Path) -> Command {
        let (first, rest) = Self::words().split_first().unwrap();
        let mut command = Command::new(first);
        command.args(rest).arg(program);
        command
    }
}

/// Gives a workspace with its settings and state to the one who runs there.
fn give(folder: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => give(&entry.path()),
            false => chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap(),
        }
    }
}

fn told(output: std::process::Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn finding_b4_a_command_cannot_read_the_environment_of_the_server() {
    let here = Unprivileged::new();
    let workspace = Workspace::new("//- /a.txt\none\n");
    // First what it may read, so that the test sees that reading works at all; then what it may not.
    let line = "cat /proc/self/environ | tr '\\\\0' '\\\\n' | grep PLAIN; for f in environ maps mem auxv; do head -c 99 /proc/$PPID/$f; done; \
                ls -l /proc/$PPID/fd/; readlink /proc/$PPID/cwd /proc/$PPID/exe; echo over";
    workspace.script(&format!(
        "[[turn]]\n[[turn.call]]\ntool = \"run_command\"\narguments = {{ command = \"{line}\" }}\n\
         [[turn]]\ntext = \"Done.\"\n"
    ));
    give(workspace.path().parent().unwrap());
    let mut command = Unprivileged::command(&here.binary());
    command.args(["run", "-y", "--allow-commands", "go"]);
    command.env_clear().envs(workspace.env()).current_dir(workspace.path()).stdin(Stdio::null());
    command
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("PLAIN", "a-plain-value")
        .env("SOME_TOKEN", CANARY);
    let told = told(command.output().unwrap());
    assert!(told.contains("PLAIN=a-plain-value") && told.contains("over\n"), "{told}");
    assert!(!told.contains(CANARY), "{told}");
    for name in ["environ", "maps", "mem", "auxv"] {
        let refused = told.lines().any(|line| line.contains(&format!("/{name}")) && line.contains("denied"));
        assert!(refused, "{name} is readable: {told}");
    }
    assert!(!told.contains(" -> "), "{told}");
}

#[test]
fn finding_b4_every_subcommand_that_waits_is_closed_to_other_programs_of_the_user() {
    let here = Unprivileged::new();
    let workspace = Workspace::new("//- /a.txt\none\n");
    give(workspace.path().parent().unwrap());
    let read = |pid: u32| {
        let mut command = Unprivileged::command(Path::new("cat"));
        told(command.arg(format!("/proc/{pid}/environ")).output().unwrap())
    };
    let mut sleeper =
        Unprivileged::command(Path::new("sleep")).arg("60").env("SOME_TOKEN", CANARY).spawn().unwrap();
    let is =
        |pid: u32, name: &str| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim() == name;
    adjutant_testkit::process::wait_until("the sleeper to be one", || is(sleeper.id(), "sleep"));
    assert!(read(sleeper.id()).contains(CANARY), "the programs of one user can read one another");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();

    let binary = here.binary();
    for arguments in [&["lsp"][..], &["run", "-"]] {
        let mut server = Server::spawn_with("setpriv", &workspace, &[], |command| {
            let mut other = Unprivileged::command(&binary);
            other.args(arguments).env_clear().envs(workspace.env()).env("SOME_TOKEN", CANARY);
            other.env("PATH", std::env::var_os("PATH").unwrap()).current_dir(workspace.path());
            other.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            *command = other;
        });
        let pid = server.pid();
        adjutant_testkit::process::wait_until("the server to be one", || is(pid, "adjutant"));
        adjutant_testkit::process::wait_until("it to be closed", || read(pid).contains("Permission denied"));
        assert!(server.is_alive());
        server.kill();
    }
}
