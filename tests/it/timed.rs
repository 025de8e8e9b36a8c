//! Questions that get a default answer after a time, if the user's settings say so (S15).
//!
//! Waits for messages, never for a fixed time.

use adjutant_protocol::ask::Resolution;
use adjutant_protocol::update::{AskChange, Update};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::stage::Stage;

fn question(options: &[&str]) -> Reply {
    Reply::call("ask_user", json!({"question": "which?", "options": options}))
}

#[test]
fn s15_a_question_nobody_answers_takes_its_first_suggestion_when_the_user_wants_that() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let stage = Stage::configured(workspace, "[asks]\nfollowup_default_seconds = 1", |options| options);
    let run = stage.send([question(&["red", "blue"])]);
    let ask = stage.rig.await_ask();
    assert!(ask.description.unwrap().contains("without an answer within 1 s, \"red\" is taken"));
    let outputs = stage.finish(&run);
    assert_eq!(outputs, ["The user did not answer in time; the first answer you suggested was taken: red"]);
    let closed = stage.rig.updates().into_iter().find_map(|params| match params.update {
        Update::Ask(AskChange::Closed { resolution, .. }) => Some(resolution),
        _ => None,
    });
    let Some(Resolution::Selected { option_id, surface, .. }) = closed else { panic!("{closed:?}") };
    assert_eq!((option_id.as_str(), surface.as_str()), ("option-1", "time"));
    stage.rig.shutdown();
}

#[test]
fn s15_time_answers_no_permission() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let stage = Stage::configured(workspace, "[asks]\nfollowup_default_seconds = 1", |options| options);
    // A question in a second session shows that the time has passed.
    let edit = Reply::call("edit_file", json!({"path": "a.txt", "old_text": "one", "new_text": "1"}));
    stage.model.push(edit);
    let first = stage.rig.prompt(&stage.session, "edit").run_id;
    let permission = stage.rig.await_ask();
    let other = Stage { session: stage.rig.new_session(), ..stage };
    let run = other.send([question(&["red"])]);
    other.finish(&run);
    let held = other.rig.held_asks();
    assert!(held.iter().any(|ask| ask.ask_id == permission.ask_id), "an approval is never given by time");
    assert_eq!(other.workspace.read("a.txt"), "one\n");
    other.model.push(Reply::text("Done."));
    other.rig.answer(&permission.ask_id, "reject");
    let session = permission.session_id.clone();
    other.rig.await_run_end(&session, &first);
}
