//! Settings that the editor sends while the server runs.
//!
//! A deny rule is valid at once, also for an open ask. Any other setting is valid from the next run.

use adjutant_protocol::ask::AskKind;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use crate::rig::{Rig, tool_outputs};

#[test]
fn a_section_of_the_editor_counts_for_the_next_run_and_its_mistakes_are_told() {
    let command = || Reply::call("run_command", json!({"command": "echo one"}));
    let model = ModelServer::start([command(), Reply::text("Done."), command(), Reply::text("Not done.")]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();

    let run = rig.prompt(&session, "Run it.").run_id;
    let ask = rig.await_ask_of(AskKind::Command);
    rig.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "adjutant": { "permissions": { "deny": ["run_command"] }, "retry": { "attempts": "many" } } } }),
    );
    let message = rig.await_message();
    assert!(message.contains("retry.attempts"), "{message}");
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[1]).join("");
    assert!(
        outputs.contains("Denied: the rule \"run_command\""),
        "a deny rule wins over an answer: {outputs}"
    );

    let run = rig.prompt(&session, "Run it again.").run_id;
    rig.await_run_end(&session, &run);
    let outputs = tool_outputs(&model.requests()[3]).join("");
    assert!(outputs.contains("Denied"), "{outputs}");
    rig.end();
}
