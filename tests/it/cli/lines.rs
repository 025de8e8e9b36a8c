//! Shared parts of tests of single command lines: the binary, one file, a script, a run.

use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::fixture::Workspace;

pub const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
pub const HELLO: &str = "[[turn]]\ntext = \"Hello there.\"\n";

pub fn workspace(script: &str) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(script);
    workspace
}

pub fn run(workspace: &Workspace, args: &[&str]) -> Ran {
    Line::new(BINARY, workspace, args).run()
}
