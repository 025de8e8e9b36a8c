//! Past items in pages: the newest ones on resume, older ones on request.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_protocol::SessionId;
use adjutant_protocol::items::{ItemReadResult, ItemsResult, MAX_ITEM_OUTPUT};
use adjutant_protocol::methods;
use adjutant_protocol::session::{ReplayFrom, ResumeResult};
use adjutant_protocol::update::{AskChange, SessionUpdateParams, Update};
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::rig::{Rig, lasting, refused};
use crate::stage::edit;

const RUNS: usize = 4;

/// Returns what is the same for all updates of an item that a client draws, and for no other.
fn drawn(params: &SessionUpdateParams) -> Option<String> {
    let kind = params.update.kind();
    Some(match &params.update {
        Update::UserMessage { message_id, .. }
        | Update::AgentMessage { message_id, .. }
        | Update::AgentThought { message_id, .. } => format!("{kind} {message_id}"),
        Update::ToolCallUpdate(call) => format!("{kind} {}", call.tool_call_id),
        Update::ChangeSet(change) => format!("{kind} {}", change.change_set_id),
        Update::Ask(AskChange::Opened { ask } | AskChange::Changed { ask }) => {
            format!("{kind} {}", ask.ask_id)
        }
        Update::Ask(AskChange::Closed { ask_id, .. }) => format!("{kind} {ask_id}"),
        Update::PlanUpdate { .. } => format!("{kind} {:?}", params.run_id),
        Update::Run(adjutant_protocol::update::RunView::Ended { run_id, .. }) => format!("{kind} {run_id}"),
        _ => return None,
    })
}

fn drawn_items(updates: &[SessionUpdateParams]) -> BTreeSet<String> {
    updates.iter().filter_map(drawn).collect()
}

fn page(rig: &Rig, session: &SessionId, before: Option<u64>, limit: u32) -> ItemsResult {
    let mut params = json!({"sessionId": session, "limit": limit});
    if let Some(before) = before {
        params["before"] = json!(before);
    }
    let answer = rig.request(methods::SESSION_ITEMS, params).expect("a page");
    serde_json::from_value(answer).expect("a result of items")
}

/// Resumes with the last items, and returns the replayed updates.
fn resume_last(rig: &Rig, session: &SessionId, items: u32) -> (ResumeResult, Vec<SessionUpdateParams>) {
    let seen = rig.updates().len();
    let now = rig.resume(session, Some(ReplayFrom::Last { items }));
    // This answer comes after the whole replay.
    rig.resume(session, None);
    (now, rig.updates()[seen..].to_vec())
}

/// A session with runs that read, plan, edit and ask. The user undoes the first change after the last run.
struct Scene {
    _model: ModelServer,
    workspace: Workspace,
    session: SessionId,
    /// All lasting updates of the session.
    past: Vec<SessionUpdateParams>,
}

fn scene() -> Scene {
    let plan =
        |step: &str| Reply::call("update_plan", json!({"plan": [{"step": step, "status": "pending"}]}));
    let turns = (0..RUNS).flat_map(|run| {
        let (old, new) = (format!("line {run}"), format!("row {run}"));
        [
            plan("look").and_call("read_file", json!({"path": "a.txt"})).and_text("I look."),
            edit("a.txt", &old, &new),
            plan("done"),
            Reply::call("run_command", json!({"command": "true"})),
            Reply::text("Done."),
        ]
    });
    let model = ModelServer::start(turns.collect::<Vec<_>>());
    let lines: String = (0..RUNS).map(|run| format!("line {run}\n{}", "between\n".repeat(9))).collect();
    let workspace = Workspace::new(&format!("//- /a.txt\n{lines}"));
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"review\"");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    for run in 0..RUNS {
        let run = rig.prompt(&session, &format!("Task {run}.")).run_id;
        let ask = rig.await_ask();
        rig.answer(&ask.ask_id, "reject");
        rig.await_run_end(&session, &run);
    }
    let first = rig.updates().into_iter().find_map(|params| match params.update {
        Update::ChangeSet(change) => Some(change),
        _ => None,
    });
    let first = first.expect("a change");
    let target = json!({"changeSetId": first.change_set_id});
    let undo = json!({"sessionId": session, "action": "undo", "targets": [target]});
    rig.request(methods::REVIEW_DECIDE, undo).expect("it is undone");
    rig.end();
    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, Some(ReplayFrom::Start));
    rig.resume(&session, None);
    let past = lasting(&rig.updates());
    assert_eq!(past.len() as u64, now.seq);
    rig.end();
    Scene { _model: model, workspace, session, past }
}

#[test]
fn s09_a_session_is_opened_by_its_last_items_and_older_ones_come_in_pages() {
    let Scene { workspace, session, past, .. } = &scene();
    let all = drawn_items(past);
    assert!(all.len() > RUNS * 7, "{all:#?}");
    let rig = Rig::start(workspace);
    let (now, replayed) = resume_last(&rig, session, 5);
    assert_eq!(now.seq, past.len() as u64);
    let of_items: Vec<_> =
        replayed.iter().filter(|params| !matches!(params.update, Update::StateUpdate(_))).cloned().collect();
    assert_eq!(drawn_items(&of_items).len(), 5);
    let states: Vec<u64> = replayed
        .iter()
        .filter(|params| matches!(params.update, Update::StateUpdate(_)))
        .map(|params| params.seq)
        .collect();
    let last_state = past.iter().rfind(|params| matches!(params.update, Update::StateUpdate(_)));
    assert_eq!(states, [last_state.expect("a state").seq], "only the newest state");

    // Each page goes on where the one after it begins, no item is in two of them, and nothing is missing.
    let mut pages = vec![of_items];
    let mut before = now.before;
    while let Some(at) = before {
        let older = page(&rig, session, Some(at), 5);
        assert_eq!(older.seq, now.seq);
        assert!(older.before.is_none_or(|next| next < at));
        let count = drawn_items(&older.updates).len();
        assert!(count == 5 || older.before.is_none() && count < 5, "{count} items");
        before = older.before;
        pages.push(older.updates);
    }
    let mut homes: BTreeMap<String, usize> = BTreeMap::new();
    for (number, updates) in pages.iter().enumerate() {
        assert!(updates.is_sorted_by_key(|params| params.seq));
        for item in drawn_items(updates) {
            assert_eq!(homes.insert(item.clone(), number), None, "{item} is in two pages");
        }
    }
    let mut together: Vec<SessionUpdateParams> = pages.concat();
    together.sort_by_key(|params| params.seq);
    let wanted: Vec<_> =
        past.iter().filter(|params| !matches!(params.update, Update::StateUpdate(_))).cloned().collect();
    assert_eq!(together, wanted, "the pages together are the past");
    let undone = past.iter().rfind(|params| matches!(params.update, Update::ChangeSet(_))).expect("a change");
    let home = pages.iter().position(|page| page.contains(undone));
    assert!(home.is_some_and(|home| home > pages.len() / 2), "a late update comes with its item: {home:?}");
    assert_eq!(page(&rig, session, None, 5).updates, pages[0], "the newest page");
    rig.end();
}

#[test]
fn s09_a_page_that_makes_no_sense_is_refused_with_what_to_give() {
    let Scene { workspace, session, past, .. } = &scene();
    let rig = Rig::start(workspace);
    let refusal = |params: Value| {
        let error = rig.request(methods::SESSION_ITEMS, params).expect_err("this must be refused");
        assert_eq!(error.code, -32602);
        error.message
    };
    let last = past.len() as u64;
    assert_eq!(refusal(json!({"sessionId": session, "limit": 0})), "`limit` is 0; give 1 to 1000");
    assert_eq!(refusal(json!({"sessionId": session, "limit": 1001})), "`limit` is 1001; give 1 to 1000");
    for before in [0, last + 1] {
        let wanted =
            format!("`before` is {before}, and the session has the updates 1 to {last}; resume it again");
        assert_eq!(refusal(json!({"sessionId": session, "before": before, "limit": 9})), wanted);
    }
    assert!(refusal(json!({"sessionId": session})).contains("limit"));
    let none = json!({"sessionId": session, "replayFrom": {"type": "last", "items": 0}});
    let error = rig.request(methods::SESSION_RESUME, none).expect_err("this must be refused");
    assert_eq!((error.code, error.message.as_str()), (-32602, "`items` is 0; give 1 to 1000"));
    let missing = rig.request(methods::SESSION_ITEMS, json!({"sessionId": "s-none", "limit": 9}));
    assert_eq!(refused(missing).1, "SessionNotFound");
    assert_eq!(page(&rig, session, Some(1), 9).updates, [], "nothing is older than the first item");
    let other = Rig::start(workspace);
    let locked = other.request(methods::SESSION_ITEMS, json!({"sessionId": session, "limit": 9}));
    assert_eq!(refused(locked).1, "SessionLocked", "as for a resume");
    other.end();
    rig.end();
}

#[test]
fn s09_p28_a_page_leaves_out_what_the_client_opted_out_of() {
    let Scene { workspace, session, .. } = &scene();
    let mut options = Options::new(workspace);
    options.capabilities.agent.as_mut().expect("a rich client").updates.opt_out = vec!["_turn".to_owned()];
    let rig = Rig::start_with(workspace, options);
    let turns = |updates: &[SessionUpdateParams]| {
        updates.iter().filter(|params| matches!(params.update, Update::Turn(_))).count()
    };
    assert_eq!(turns(&page(&rig, session, None, 1_000).updates), 0);
    rig.end();
    let rig = Rig::start(workspace);
    assert!(turns(&page(&rig, session, None, 1_000).updates) > 0);
    rig.end();
}

/// An interrupted run: the state after the replay is the one that its log does not have.
#[test]
fn s09_s05_the_last_items_of_a_run_that_was_cut_short_end_as_resumable() {
    let model = ModelServer::start([Reply::text("Hello."), Reply::never()]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "Hello.");
    rig.prompt(&session, "And again.");
    wait_until("the second request", || model.requests().len() == 2);
    rig.die();
    let rig = Rig::start(&workspace);
    let (now, replayed) = resume_last(&rig, &session, 2);
    let states: Vec<_> = replayed
        .iter()
        .filter_map(|params| match &params.update {
            Update::StateUpdate(view) => Some(view.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(states, [now.state]);
    assert_eq!(states[0].state, adjutant_protocol::state::State::Resumable);
    rig.end();
}

/// What a command printed can be read while its session is at work, and from a process that never opened it.
#[test]
fn s105_what_a_tool_call_gave_is_read_from_the_log() {
    let command = "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done; echo end";
    let model = ModelServer::start([
        Reply::call("run_command", json!({ "command": command })),
        Reply::call("read_file", json!({"path": "a.txt"})),
        Reply::never(),
    ]);
    let workspace = Workspace::new("//- /a.txt\none\u{202e}\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.prompt(&session, "Run it.");
    let ask = rig.await_ask();
    let ids = || {
        let mut ids: Vec<_> = Vec::new();
        for params in rig.updates() {
            if let Update::ToolCallUpdate(call) = params.update
                && !ids.contains(&call.tool_call_id)
            {
                ids.push(call.tool_call_id);
            }
        }
        ids
    };
    let read = |rig: &Rig, call: &str| -> ItemReadResult {
        let params = json!({"sessionId": session, "toolCallId": call});
        serde_json::from_value(rig.request(methods::ITEM_READ, params).expect("an answer")).expect("a result")
    };
    wait_until("the call", || ids().len() == 1);
    assert_eq!(read(&rig, &ids()[0].0), ItemReadResult::default(), "it waits for its answer");
    rig.answer(&ask.ask_id, "allow");
    wait_until("both results", || ids().len() == 2 && read(&rig, &ids()[1].0).output.is_some());
    let output = read(&rig, &ids()[0].0).output.expect("an output");
    assert!(
        output.len() <= MAX_ITEM_OUTPUT && output.contains("line 0\n") && output.contains("line 8999\nend"),
        "{output}"
    );
    let of_file = read(&rig, &ids()[1].0).output.expect("a result");
    assert!(of_file.contains("one\\u{202e}"), "nothing in it turns what is drawn: {of_file}");
    // Another process, which never opened it; the first one still has it.
    let other = Rig::start(&workspace);
    assert_eq!(read(&other, &ids()[0].0).output.as_deref(), Some(output.as_str()));
    assert_eq!(read(&other, "call-0"), ItemReadResult::default());
    let missing = other.request(methods::ITEM_READ, json!({"sessionId": "s-none", "toolCallId": "call-0"}));
    assert_eq!(refused(missing).1, "SessionNotFound");
    other.end();
    rig.end();
}
