//! The server as a user without privileges: its commands cannot read its environment, and too few processes
//! give a clear error. Root can read everything and has no limit on processes, so a test as root proves nothing.
//!
//! Needs only `setpriv` and `prlimit` of util-linux, and fails if they are missing.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::Server;

/// The id of the account without rights on every Linux.
const NOBODY: u32 = 65534;
const CANARY: &str = "canary-of-the-environment";

/// A folder with a copy of the binary that every user may run.
struct Unprivileged {
    folder: tempfile::TempDir,
}

impl Unprivileged {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let here = Self { folder };
        // Other users may not be able to read the folder of the build.
        let built = env!("CARGO_BIN_EXE_adjutant");
        if std::fs::hard_link(built, here.binary()).is_err() {
            std::fs::copy(built, here.binary()).unwrap();
        }
        here
    }

    fn binary(&self) -> PathBuf {
        self.folder.path().join("adjutant")
    }

    /// Returns the command before a program that removes the privileges.
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

/// Makes `nobody` the owner of a workspace with its settings and state.
fn give(folder: &Path) {
    give_to(folder, NOBODY);
}

fn give_to(folder: &Path, user: u32) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    chown(folder, Some(user), Some(NOBODY)).unwrap();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => give_to(&entry.path(), user),
            false => chown(entry.path(), Some(user), Some(NOBODY)).unwrap(),
        }
    }
}

fn text_of(output: std::process::Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn finding_b4_a_command_cannot_read_the_environment_of_the_server() {
    let here = Unprivileged::new();
    let workspace = Workspace::new("//- /a.txt\none\n");
    // The command first reads a file that it may read, to show that reading works. Then it tries the others.
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
    let printed = text_of(command.output().unwrap());
    assert!(printed.contains("PLAIN=a-plain-value") && printed.contains("over\n"), "{printed}");
    assert!(!printed.contains(CANARY), "{printed}");
    for name in ["environ", "maps", "mem", "auxv"] {
        let refused =
            printed.lines().any(|line| line.contains(&format!("/{name}")) && line.contains("denied"));
        assert!(refused, "{name} is readable: {printed}");
    }
    assert!(!printed.contains(" -> "), "{printed}");
}

#[test]
fn finding_b4_every_subcommand_that_waits_is_closed_to_other_programs_of_the_user() {
    let here = Unprivileged::new();
    let workspace = Workspace::new("//- /a.txt\none\n");
    give(workspace.path().parent().unwrap());
    let read = |pid: u32| {
        let mut command = Unprivileged::command(Path::new("cat"));
        text_of(command.arg(format!("/proc/{pid}/environ")).output().unwrap())
    };
    let mut sleeper =
        Unprivileged::command(Path::new("sleep")).arg("60").env("SOME_TOKEN", CANARY).spawn().unwrap();
    let is =
        |pid: u32, name: &str| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim() == name;
    adjutant_testkit::process::wait_until("the sleeper to start its program", || is(sleeper.id(), "sleep"));
    assert!(read(sleeper.id()).contains(CANARY), "programs of one user can read each other");
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
        adjutant_testkit::process::wait_until("the server to start its program", || is(pid, "adjutant"));
        adjutant_testkit::process::wait_until("its environment to be unreadable", || {
            read(pid).contains("Permission denied")
        });
        assert!(server.is_alive());
        server.kill();
    }
}

/// The number of processes and threads that is enough for a run with one command.
const ENOUGH: usize = 40;

#[test]
fn finding_f5_too_few_processes_are_told_in_one_sentence_and_never_by_a_panic() {
    let here = Unprivileged::new();
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(
        "[[turn]]\n[[turn.call]]\ntool = \"run_command\"\narguments = { command = \"echo it ran\" }\n\
         [[turn]]\ntext = \"Done.\"\n",
    );
    // The kernel counts processes for each user, so the test uses an id that no other process has.
    let user = 2_000_000 + std::process::id();
    give_to(workspace.path().parent().unwrap(), user);
    let run = |most: usize| {
        let mut command = Command::new(if rustix::process::geteuid().is_root() { "setpriv" } else { "env" });
        if rustix::process::geteuid().is_root() {
            command.args([&format!("--reuid={user}"), "--regid=65534", "--clear-groups", "--no-new-privs"]);
        }
        command.arg("prlimit").arg(format!("--nproc={most}:{most}")).arg(here.binary());
        command.args(["run", "-y", "--allow-commands", "go"]);
        command.env_clear().envs(workspace.env()).current_dir(workspace.path()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap()
    };
    let sentence = "too many processes run for this user; end some of them or raise the limit (`ulimit -u`)";
    for most in (1..=16).chain([ENOUGH]) {
        let ran = run(most);
        let (code, all) = (ran.status.code(), text_of(ran));
        let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!all.contains("panicked") && !all.contains("os error"), "{most}: {all}");
        match code {
            // The run may have too few processes for its command. Then the output of the command says so.
            Some(0) => assert!(words.contains("it ran") || words.contains(sentence), "{most}: {all}"),
            _ => assert!(words.contains(sentence) && code == Some(1), "{most}: {code:?} {all}"),
        }
        assert!(most > 1 || code == Some(1), "one process must not be enough: {all}");
        let is_root = rustix::process::geteuid().is_root();
        assert!(most < ENOUGH || !is_root || (code == Some(0) && words.contains("it ran")), "{most}: {all}");
    }
}
