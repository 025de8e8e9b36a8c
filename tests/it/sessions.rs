//! Sessions over the wire: made, followed, resumed, listed, deleted.
//!
//! Never looks into the server; every claim is read off the wire or the disk.

use adjutant_protocol::session::ReplayFrom;
use adjutant_protocol::state::{Outcome, State, StopReason};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};

use crate::rig::{Rig, count};

#[test]
fn s20_turns_are_the_requests_the_model_saw() {
    let model = ModelServer::start([
        Reply::call("read_file", serde_json::json!({"path": "a.txt"})),
        Reply::text("It says hello."),
    ]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let end = rig.run_to_end(&session, "What does a.txt say?");
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Stopped, StopReason::EndTurn));
    rig.await_state(State::Idle);
    assert_eq!(model.requests().len(), 2);
    assert_eq!(count(&workspace, &session, "turn_started"), 2);
    rig.resume(&session, Some(ReplayFrom::Start));
    rig.end();
}
