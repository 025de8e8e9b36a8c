//! The plan of a task: given by the model, kept in the log, shown by every client.

use adjutant_protocol::plan::{PlanEntry, PlanStatus};
use adjutant_protocol::session::ReplayFrom;
use adjutant_protocol::update::{ToolStatus, TurnPhase, Update};
use adjutant_testkit::command::Line;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use serde_json::{Value, json};

use crate::plain::Plain;
use crate::rig::{Rig, tool_outputs};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
const FILE: &str = "//- /a.txt\nhello\n";

fn plan(steps: &[(&str, &str)]) -> Reply {
    let steps: Vec<Value> =
        steps.iter().map(|(step, status)| json!({"step": step, "status": status})).collect();
    Reply::call("update_plan", json!({"plan": steps}))
}

fn entry(content: &str, status: PlanStatus) -> PlanEntry {
    PlanEntry { content: content.to_owned(), status }
}

fn plans(rig: &Rig) -> Vec<Vec<PlanEntry>> {
    let plan = |update: Update| match update {
        Update::PlanUpdate { entries } => Some(entries),
        _ => None,
    };
    rig.updates().into_iter().filter_map(|params| plan(params.update)).collect()
}

#[test]
fn s45_a_plan_is_told_and_survives_a_restart() {
    let model = ModelServer::start(vec![
        plan(&[("Read it", "in_progress"), ("Change it", "pending")]),
        plan(&[("Read it", "completed"), ("Change it", "in_progress")]),
        Reply::text("Done."),
    ]);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "change it");
    let last = vec![entry("Read it", PlanStatus::Completed), entry("Change it", PlanStatus::InProgress)];
    let first = vec![entry("Read it", PlanStatus::InProgress), entry("Change it", PlanStatus::Pending)];
    assert_eq!(plans(&rig), [first.clone(), last.clone()]);
    let told = tool_outputs(&model.requests()[2]);
    assert_eq!(told.last().map(String::as_str), Some("The user sees the plan: 1 of 2 done."));
    rig.end();

    let rig = Rig::start(&workspace);
    assert_eq!(rig.resume(&session, Some(ReplayFrom::Start)).plan, last);
    wait_until("the plans of the replay", || plans(&rig).len() == 2);
    assert_eq!(plans(&rig), [first, last]);
    rig.end();
}

#[test]
fn s45_a_plan_is_taken_away_by_an_empty_one_and_a_wrong_one_is_refused_by_name() {
    let wrong = |plan: Value| Reply::call("update_plan", json!({ "plan": plan }));
    let many: Vec<Value> =
        (0..31).map(|step| json!({"step": step.to_string(), "status": "pending"})).collect();
    let model = ModelServer::start(vec![
        plan(&[("Read it", "pending")]),
        wrong(json!([{"step": "Read it", "status": "done"}])),
        wrong(json!(many)),
        plan(&[]),
        plan(&[("Read it", "in_progress"), ("Change it", "in_progress")]),
        Reply::text("Done."),
    ]);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "change it");
    assert_eq!(plans(&rig), [vec![entry("Read it", PlanStatus::Pending)], Vec::new()]);
    for request in [2, 3] {
        let told = tool_outputs(&model.requests()[request]);
        let told = told.last().expect("an output");
        assert!(told.contains("`plan` of update_plan must be an array of up to 30 objects"), "{told}");
    }
    let told = tool_outputs(&model.requests()[5]);
    assert!(told.last().is_some_and(|told| told.contains("2 steps of the plan are in_progress")), "{told:?}");
    assert_eq!(rig.resume(&session, None).plan, Vec::new());
    rig.end();
}

#[test]
fn s45_of_several_plans_in_one_reply_the_last_one_counts() {
    let steps = |number: usize| json!({"plan": [{"step": format!("step {number}"), "status": "pending"}]});
    let all = |count: usize| {
        (1..count).fold(Reply::call("update_plan", steps(0)), |reply, number| {
            reply.and_call("update_plan", steps(number))
        })
    };
    let turns = (0..20).map(|_| all(6)).chain([Reply::text("Done.")]);
    let model = ModelServer::start(turns);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let last = vec![entry("step 5", PlanStatus::Pending)];
    rig.run_to_end(&session, "change it");
    assert_eq!(rig.resume(&session, None).plan, last);
    let updates = rig.updates();
    let ends: Vec<usize> = (0..updates.len())
        .filter(|at| matches!(&updates[*at].update, Update::Turn(turn) if turn.phase == TurnPhase::Started))
        .collect();
    for turn in ends.windows(2) {
        let told = updates[turn[0]..turn[1]].iter().rev().find_map(|params| match &params.update {
            Update::PlanUpdate { entries } => Some(entries.clone()),
            _ => None,
        });
        assert_eq!(told.as_ref(), Some(&last), "the last plan that a turn shows");
    }
    rig.end();
}

#[test]
fn s45_a_plan_that_a_rule_denies_is_not_shown() {
    let model = ModelServer::start(vec![plan(&[("Read it", "pending")]), Reply::text("Done.")]);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url()).add_config("[permissions]\ndeny = [\"update_plan\"]");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "change it");
    assert_eq!(plans(&rig), Vec::<Vec<PlanEntry>>::new());
    let denied = rig.updates().into_iter().any(
        |params| matches!(params.update, Update::ToolCallUpdate(call) if call.status == ToolStatus::Denied),
    );
    assert!(denied, "the user sees that it was denied");
    assert_eq!(rig.resume(&session, None).plan, Vec::new());
    rig.end();
}

#[test]
fn s45_s104_every_client_shows_the_plan_and_not_the_call_besides() {
    let turns = || vec![plan(&[("Read it", "completed"), ("Change it", "in_progress")]), Reply::never()];
    let plain = Plain::new(FILE, turns());
    let started = plain.command("adjutant.start", json!(["look"])).expect("it is started");
    plain.rig.await_progress("where the plan stands", |value| {
        value["message"].as_str().is_some_and(|message| message.starts_with("1/2 · "))
    });
    plain.command("adjutant.showTranscript", json!([])).expect("it is shown");
    let shown = plain.rig.await_shown(1);
    let path = adjutant_testkit::fixture::path_of_uri(shown["uri"].as_str().unwrap_or_default());
    let text = || std::fs::read_to_string(path.as_ref().expect("a file is shown")).unwrap_or_default();
    let wanted = "**Plan: 1 of 2 done**\n\n- [x] `Read it`\n- [~] `Change it`\n";
    wait_until("the plan in the transcript", || text().contains(wanted));
    assert!(!text().contains("Plan 2 steps"), "{}", text());
    plain.rig.cancel_progress();
    plain.finish(&started);
    plain.rig.end();

    let mut turns = turns();
    turns[1] = Reply::text("Done.");
    let model = ModelServer::start(turns);
    let workspace = Workspace::new(FILE);
    workspace.openai(&model.base_url());
    let ran = Line::new(BINARY, &workspace, &["run", "look"]).run();
    assert!(ran.stderr.contains("• Plan: 1 of 2 done\n  [x] Read it\n  [~] Change it\n"), "{ran}");
    assert!(!ran.stderr.contains("Plan 2 steps"), "{ran}");
    assert_eq!(ran.expect(0).stdout, "Done.\n");
}
