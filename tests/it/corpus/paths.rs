//! Lines about paths: one tool call on one path, through the whole session.
//!
//! Each line has its own workspace, and every ask is rejected.

use std::fs;

use adjutant_protocol::ask::AskSubject;
use adjutant_testkit::corpus::Line;
use adjutant_testkit::editor::{Answer, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::play::{Came, Seen, check};
use super::setup::{self, Place, fill, next_to};
use crate::stage::Stage;

/// Paths that an ask must name: the target of a link.
const SHOWN: [(&str, &str); 1] = [("path-020", "/etc/passwd")];
/// The text of a file after the edit was allowed.
const AFTER: [(&str, &str, &str); 1] = [("path-083", "crlf.txt", "\u{feff}new\r\n")];

fn call(line: &Line, workspace: &Workspace) -> Reply {
    let path = fill(workspace, &line.text("/path").expect("a path"));
    match line.input["op"].as_str() {
        Some("read") => Reply::call("read_file", json!({"path": path})),
        Some("list") => Reply::call("list_files", json!({"path": path})),
        Some("search") => Reply::call("search_text", json!({"pattern": "x", "path": path})),
        Some("find") => Reply::call("find_files", json!({"pattern": path})),
        Some("write") => Reply::call("write_file", json!({"path": path, "content": "new\n"})),
        Some("delete") => Reply::call("delete_file", json!({"path": path})),
        Some("run") => Reply::call("run_command", json!({"command": "pwd", "cwd": path})),
        other => panic!("{}: unknown operation {other:?}", line.id),
    }
}

/// Plays a line.
pub fn play(line: &Line) {
    let Place { workspace, root } = setup::place(line);
    let kept: Vec<_> = ["home", "outside"].map(|name| files(&next_to(&workspace, name))).concat();
    let stage = Stage::with(workspace, |options| Options { root, ..options });
    stage.rig.on_ask(|_| Answer::option("reject"));
    let run = stage.send([call(line, &stage.workspace)]);
    stage.rig.await_run_end(&stage.session, &run);
    let seen = Seen::last(&stage);
    check(line, &seen);
    if seen.came == Came::Refused || seen.came == Came::Denied {
        assert!(stage.asks().is_empty(), "{}: there is a useless ask", line.id);
    }
    if let Some((_, target)) = SHOWN.iter().find(|(id, _)| *id == line.id) {
        let subject = seen.ask.as_ref().and_then(|ask| ask.subject.clone());
        assert!(matches!(&subject, Some(AskSubject::Read { path, .. }) if path == target), "{subject:?}");
    }
    if line.expect == "truncate" {
        assert!(seen.output.len() < 60_000, "{}: {} bytes", line.id, seen.output.len());
    }
    let now = ["home", "outside"].map(|name| files(&next_to(&stage.workspace, name))).concat();
    assert_eq!(now, kept, "{}: nothing outside was written", line.id);
    if let Some((_, name, text)) = AFTER.iter().find(|(id, ..)| *id == line.id) {
        stage.rig.on_ask(|_| Answer::option("allow"));
        stage.play([call(line, &stage.workspace)]);
        assert_eq!(stage.workspace.read(name), *text, "{}", line.id);
    }
}

fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |path: std::path::PathBuf| (path.display().to_string(), fs::read(&path).unwrap_or_default());
    entries.map(|entry| read(entry.path())).collect()
}
