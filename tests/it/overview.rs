//! `agent/overview`: one truth for the status line, over all sessions of a window.

use adjutant_protocol::methods;
use adjutant_protocol::overview::{Detail, OverviewKind};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::rig::Rig;
use crate::stage::edit;

#[test]
fn finding_d13_an_overview_says_what_needs_the_user_also_after_a_restart() {
    let command = |line: &str| Reply::call("run_command", json!({ "command": line }));
    let model = ModelServer::start(vec![
        edit("a.txt", "one", "two"),
        command("true"),
        command("true"),
        Reply::text("Done."),
        Reply::text("Done."),
    ]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"review\"");
    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    let first = rig.new_session();
    let one = rig.prompt(&first, "first task").run_id;
    let ask = rig.await_ask();
    let seen = rig.await_overview(|now| now.kind == OverviewKind::Asks && now.hunks == 1);
    assert_eq!((seen.short.as_str(), seen.asks, seen.runs.len()), ("1 question", 1, 1));
    assert_eq!((seen.runs[0].title.as_str(), &seen.runs[0].run_id), ("first task", &one));
    assert_eq!(seen.tooltip, ["waits for your answer · first task"]);
    let second = rig.new_session();
    let two = rig.prompt(&second, "second task").run_id;
    let seen = rig.await_overview(|now| now.asks == 2);
    assert_eq!((seen.short.as_str(), seen.runs.len()), ("2 questions", 2));
    rig.end();

    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    assert_eq!(rig.overviews(), [], "a client that follows nothing hears nothing");
    for session in [&first, &second] {
        rig.resume(session, None);
    }
    let seen = rig.await_overview(|now| now.asks == 2);
    assert_eq!((seen.kind, seen.runs.len()), (OverviewKind::Asks, 2));
    drop(rig.respond(&ask.ask_id, "reject"));
    rig.notify(methods::SESSION_CANCEL, json!({ "sessionId": second, "runId": two }));
    rig.await_run_end(&first, &one);
    rig.await_run_end(&second, &two);
    let seen = rig.await_overview(|now| now.kind == OverviewKind::Idle);
    assert_eq!((seen.asks, seen.runs.len()), (0, 0));
    let all = rig.overviews();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "nothing is said twice: {all:#?}");
    rig.end();
}

#[test]
fn s102_a_client_learns_how_much_its_user_wants_to_see_and_when_that_changes() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("detail = \"brief\"\n");
    let rig = Rig::start(&workspace);
    rig.await_overview(|now| now.detail == Detail::Brief);
    let sends = |settings: Value| {
        rig.notify("workspace/didChangeConfiguration", json!({ "settings": { "adjutant": settings } }));
    };
    // An editor counts more than the file, and a value that is none changes nothing.
    sends(json!({ "detail": "full" }));
    rig.await_overview(|now| now.detail == Detail::Full);
    sends(json!({ "detail": "loud" }));
    rig.await_overview(|now| now.detail == Detail::Brief);
    assert!(rig.await_message().contains(r#"write "brief", "normal" or "full""#));
    rig.end();
}
