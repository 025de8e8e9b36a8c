//! Tool calls as clients draw them: kind, files and arguments, live and in a replay.

use adjutant_protocol::origin::{Position, Range};
use adjutant_protocol::session::ReplayFrom;
use adjutant_protocol::update::{FileLocation, ToolCallView, ToolKind, ToolStatus, Update};
use adjutant_testkit::fixture::{Workspace, uri_of_path};
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use crate::rig::Rig;
use crate::stage::edit;

fn calls(rig: &Rig) -> Vec<ToolCallView> {
    let call = |update: Update| match update {
        Update::ToolCallUpdate(call) => Some(call),
        _ => None,
    };
    rig.updates().into_iter().filter_map(|params| call(params.update)).collect()
}

fn lines(first: u32, end: u32) -> Option<Range> {
    let at = |line| Position { line, character: 0 };
    Some(Range { start: at(first), end: at(end) })
}

#[test]
fn s43_a_tool_call_can_be_drawn_with_its_kind_its_files_and_its_arguments() {
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "a.txt", "offset": 2})),
        edit("a.txt", "two\nthree\n", "2\n3\n3b\n"),
        Reply::call("run_command", json!({"command": "echo \u{202e}x", "timeout_seconds": 9})),
        Reply::call("search_text", json!({"pattern": "one"})),
        Reply::call("move_file", json!({"from": "a.txt", "to": "b.txt"})),
        Reply::call("delete_file", json!({"path": "c.txt"})),
        Reply::call("made_up", json!({"long": "x".repeat(9_000)})),
        Reply::call("forged\u{1b}[2m", json!({"x: 1\npath": "safe.txt"})),
        Reply::text("Done."),
    ]);
    let workspace = Workspace::new("//- /a.txt\none\ntwo\nthree\nfour\n//- /c.txt\nsee\n");
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"auto\"");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Work.").run_id;
    // The command and the deletion.
    for _ in 0..2 {
        let ask = rig.await_ask();
        rig.answer(&ask.ask_id, "allow");
    }
    rig.await_run_end(&session, &run);
    let live = calls(&rig);
    rig.end();

    let rig = Rig::start(&workspace);
    rig.resume(&session, Some(ReplayFrom::Start));
    rig.resume(&session, None);
    assert_eq!(calls(&rig), live, "a replay gives the same");
    rig.end();

    let uri = |name: &str| uri_of_path(&workspace.path().join(name));
    let at = |name: &str, range| FileLocation { uri: uri(name), range };
    let of = |tool: &str, status| {
        let found = live.iter().find(|call| call.tool == tool && call.status == status);
        found.unwrap_or_else(|| panic!("{tool} {status:?} in {live:#?}")).clone()
    };
    let read = of("read_file", ToolStatus::Completed);
    assert_eq!((read.kind, read.arguments_text.as_str()), (ToolKind::Read, "offset: 2\npath: a.txt"));
    assert_eq!(read.locations, [at("a.txt", lines(1, 4))]);
    let pending = of("edit_file", ToolStatus::Pending);
    assert!(pending.arguments_text.ends_with("\npath: a.txt"), "{}", pending.arguments_text);
    assert!(pending.arguments_text.contains(":\n  2\n  3\n  3b"), "{}", pending.arguments_text);
    for status in [ToolStatus::InProgress, ToolStatus::Completed] {
        let edited = of("edit_file", status);
        assert_eq!(edited.kind, ToolKind::Edit);
        assert_eq!(edited.locations, [at("a.txt", lines(1, 4))], "the lines after the change");
    }
    let command = of("run_command", ToolStatus::Pending);
    assert_eq!(command.kind, ToolKind::Execute);
    assert_eq!(command.arguments_text, "command: echo \\u{202e}x\ntimeout_seconds: 9");
    assert_eq!(of("search_text", ToolStatus::Completed).kind, ToolKind::Search);
    let moved = of("move_file", ToolStatus::Completed);
    assert_eq!((moved.kind, moved.locations), (ToolKind::Move, vec![at("a.txt", None), at("b.txt", None)]));
    let deleted = of("delete_file", ToolStatus::Completed);
    assert_eq!((deleted.kind, deleted.locations), (ToolKind::Delete, vec![at("c.txt", None)]));
    let unknown = of("made_up", ToolStatus::Failed);
    assert_eq!((unknown.kind, unknown.arguments_text.chars().count()), (ToolKind::Other, 1_000));
    assert!(unknown.arguments_text.ends_with("xx…"));
    let forged = of("forged\\u{1b}[2m", ToolStatus::Failed);
    assert_eq!(forged.arguments_text, "x: 1 path: safe.txt", "a name begins no line");
}
