//! pytest-lsp: a client that also checks whether the server respects the announced capabilities.
//!
//! The stories are in Python and run with the capabilities of three editors. Never ignores a warning of
//! pytest-lsp.

use std::process::{Command, Stdio};

use adjutant_testkit::model::Reply;

use crate::scenes;
use crate::stage::{Stage, installed, shipped};

/// The number of editors whose capabilities it sends, one after the other.
const EDITORS: usize = 3;

/// Runs one story for all editors; fails at a failed test or a warning.
#[track_caller]
fn run_story(stage: &Stage, story: &str) {
    let mut command = Command::new(installed("pytest-lsp").join("bin/python"));
    command.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=strict"]);
    command.args(["-o", "asyncio_default_fixture_loop_scope=function"]);
    command
        .args(["--allow", scenes::ALLOW, "-k", story])
        .arg(shipped("tests/editors/pytest_lsp/test_adjutant.py"));
    command.current_dir(stage.workspace.path()).env_clear().envs(stage.env()).stdin(Stdio::null());
    let ran = command.output().expect("pytest-lsp is installed: run tests/editors/install.sh");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    let shown = || format!("{said}\nafter\n{}", stage.seen().shown());
    assert!(ran.status.success(), "{}", shown());
    assert!(said.contains(&format!("{EDITORS} passed")), "{}", shown());
    assert!(
        !said.contains("Warning"),
        "the server used a capability that the client did not announce:\n{}",
        shown()
    );
}

fn each(replies: impl Fn() -> Vec<Reply>) -> Stage {
    scenes::stage((0..EDITORS).flat_map(|_| replies()))
}

#[test]
fn n08_a_command_makes_an_edit() {
    let stage = each(|| vec![scenes::edit(), Reply::text("It is mended.")]);
    run_story(&stage, "test_allows");
    let seen = stage.seen();
    assert_eq!(seen.count("out", "workspace/applyEdit"), EDITORS, "{}", seen.shown());
    assert_eq!(seen.count("out", "window/showMessageRequest"), EDITORS, "{}", seen.shown());
    assert_eq!(stage.sessions().len(), EDITORS);
}

#[test]
fn s03_a_rejection_leaves_the_text_alone() {
    let stage = each(|| vec![scenes::edit(), Reply::text("Then not.")]);
    run_story(&stage, "test_rejects");
    assert_eq!(stage.seen().count("out", "workspace/applyEdit"), 0, "{}", stage.seen().shown());
}

#[test]
fn s90_a_cancel_ends_the_run() {
    let stage = each(|| vec![Reply::never()]);
    run_story(&stage, "test_cancels");
    // The user cancels as soon as the task has begun, which may be before its request is sent. The servers have ended, so no
    // other request comes.
    stage.model.wait_for_closed(stage.model.requests().len());
    assert_eq!(stage.seen().count("in", "window/workDoneProgress/cancel"), EDITORS);
}
