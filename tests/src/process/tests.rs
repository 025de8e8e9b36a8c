//! Tests with real processes: a shell in the place of the server.

use std::io::Read;

use super::{Server, is_running, memory_of, processes_with, wait_until};
use crate::fixture::Workspace;

fn shell(workspace: &Workspace, script: &str) -> Server {
    Server::spawn("/bin/sh", workspace, &["-c", script])
}

#[test]
fn a_server_has_no_environment_but_its_workspaces() {
    let workspace = Workspace::new("//- /a\n");
    let mut server = shell(&workspace, "pwd; env; cat a >&2");
    let mut output = String::new();
    server.take_pipes().0.read_to_string(&mut output).unwrap();
    assert!(server.wait().success());
    assert_eq!(output.lines().next(), workspace.path().to_str());
    let known = ["PATH=", "PWD=", "OLDPWD=", "SHLVL=", "_=", "ADJUTANT_", "TESTKIT_MARK=", "HOME=", "XDG_"];
    for line in output.lines().skip(1) {
        assert!(known.iter().any(|name| line.starts_with(name)), "{line}");
    }
}

#[test]
fn a_killed_server_is_gone_and_what_it_started_is_seen() {
    let workspace = Workspace::new("");
    // The inner shell waits for input that the test controls. It has its own process group and parent.
    let mut server = shell(&workspace, "exec 3<&0; (cat <&3; true) & wait");
    wait_until("the child", || !server.descendants().is_empty() && !server.marked().is_empty());
    assert!(server.is_alive() && is_running(server.pid()));
    let children = server.marked();
    server.kill();
    assert!(!server.is_alive() && !is_running(server.pid()));
    // It outlives the server and has another parent now, but its mark still identifies it.
    assert!(server.descendants().is_empty());
    assert!(children.iter().any(|child| is_running(child.pid)));
    assert!(!server.marked().is_empty());
    drop(server.take_pipes());
    wait_until("the orphans to end with their input", || server.marked().is_empty());
}

#[test]
fn stderr_is_kept_within_bounds_and_the_newest_stays() {
    let workspace = Workspace::new("");
    let script = "i=0; while [ $i -lt 40000 ]; do echo 'line of text' >&2; i=$((i+1)); done; echo last >&2";
    let mut server = shell(&workspace, script);
    assert!(server.wait().success());
    wait_until("the last line", || server.stderr().ends_with("last\n"));
    assert!(server.stderr().len() <= super::MAX_STDERR);
}

#[test]
fn memory_and_arguments_of_a_process_are_read() {
    let memory = memory_of(std::process::id()).unwrap();
    assert!(memory.resident > 0 && memory.peak >= memory.resident / 2);
    assert_eq!(memory_of(u32::MAX), None);
    let workspace = Workspace::new("");
    let mark = format!("marker-{}", workspace.path().display());
    let mut server = shell(&workspace, &format!("read line # {mark}"));
    wait_until("its arguments", || !processes_with(&mark).is_empty());
    server.kill();
    assert!(processes_with(&mark).is_empty());
}
