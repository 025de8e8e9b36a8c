//! Several calls in one turn, over the wire: reads overlap, effects do not, and the model gets all outputs in
//! the order of its calls.

use adjutant_protocol::ask::AskKind;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::json;

use crate::rig::{Rig, count, tool_outputs};

fn workspace_with(model: &ModelServer) -> (Workspace, tempfile::TempDir) {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let outside = tempfile::tempdir().expect("a directory");
    for name in ["one", "two"] {
        std::fs::write(outside.path().join(name), format!("outside {name}\n")).expect("a file");
    }
    (workspace, outside)
}

#[test]
fn s40_l06_a_read_ends_while_another_waits_for_its_answer() {
    let model = ModelServer::start([]);
    let (workspace, outside) = workspace_with(&model);
    let path = outside.path().canonicalize().expect("the path exists").join("one");
    model.push(
        Reply::call("read_file", json!({"path": path}))
            .and_call("read_file", json!({"path": "a.txt"}))
            .and_call("edit_file", json!({"path": "a.txt", "old_text": "hello", "new_text": "bye"}))
            .and_call("read_file", json!({"path": "a.txt"})),
    );
    model.push(Reply::text("Done."));
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Read both, then edit.").run_id;
    let ask = rig.await_ask_of(AskKind::Tool);
    // The second read has its result while the first waits for the user.
    wait_until("the second read to end", || count(&workspace, &session, "tool_finished") == 1);
    assert_eq!(count(&workspace, &session, "file_change_proposed"), 0, "the edit waits for both");
    rig.answer(&ask.ask_id, "allow");
    let edit = rig.await_ask_of(AskKind::Tool);
    assert_eq!(count(&workspace, &session, "tool_finished"), 2, "the read after the edit waits for it");
    rig.answer(&edit.ask_id, "allow");
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[1]);
    assert_eq!(outputs.len(), 4);
    for (output, has) in outputs.iter().zip(["outside one", "hello", "a.txt", "bye"]) {
        assert!(output.contains(has), "{outputs:?}");
    }
    rig.end();
}

#[test]
fn l06_two_reads_are_asked_about_at_once_and_each_answer_goes_to_its_own() {
    let model = ModelServer::start([]);
    let (workspace, outside) = workspace_with(&model);
    let place = outside.path().canonicalize().expect("the path exists");
    model.push(
        Reply::call("read_file", json!({"path": place.join("one")}))
            .and_call("read_file", json!({"path": place.join("two")})),
    );
    model.push(Reply::text("Done."));
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Read both.").run_id;
    let first = rig.await_ask_of(AskKind::Tool);
    let second = rig.await_ask_of(AskKind::Tool);
    assert_ne!(first.ask_id, second.ask_id);
    let of_two = |title: &str| title.contains("two");
    let (one, two) = if of_two(&first.title) { (second, first) } else { (first, second) };
    assert!(of_two(&two.title) && !of_two(&one.title), "{} {}", one.title, two.title);
    rig.answer(&two.ask_id, "allow");
    rig.answer(&one.ask_id, "reject");
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[1]);
    assert!(outputs[0].contains("rejected") && outputs[1].contains("outside two"), "{outputs:?}");
    assert_eq!(count(&workspace, &session, "tool_finished"), 2);
    rig.end();
}
