//! How full the context of the model is and what was used: after each reply, on resume, and in the terminal; and budgets.

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::session::{ContextUsage, CostView, ReplayFrom, SpentView, UsageView};
use adjutant_protocol::state::{Outcome, StopReason};
use adjutant_protocol::update::{RunView, TurnPhase, Update};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use crate::cli::lines;
use crate::rig::Rig;

fn usages(rig: &Rig) -> Vec<ContextUsage> {
    let updates = rig.updates().into_iter();
    let usages = updates.filter_map(|params| match params.update {
        Update::UsageUpdate(usage) => Some((usage, params.sub)),
        _ => None,
    });
    usages.inspect(|(_, sub)| assert!(sub.is_some(), "it has no number")).map(|(usage, _)| usage).collect()
}

/// Runs three turns, one of them without a usage, and returns what was published of the window.
fn published(config: &str) -> Option<u32> {
    let read = || Reply::call("read_file", json!({"path": "a.txt"}));
    let model = ModelServer::start([read().usage(900, 40), read(), Reply::text("Done.").usage(1_200, 7)]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url()).add_config(config);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    assert_eq!(rig.resume(&session, None).usage, None, "nothing is known before a reply");
    rig.run_to_end(&session, "Look.");
    let told = usages(&rig);
    let size = told.first().and_then(|usage| usage.context_size);
    let usage = |context_used, requests, (input_tokens, output_tokens)| {
        let usage = UsageView { input_tokens, output_tokens, ..UsageView::default() };
        let spent = SpentView { requests, usage, cost: None };
        ContextUsage { context_used, context_size: size, run: Some(spent.clone()), session: spent }
    };
    let [first, last] = [usage(940, 1, (900, 40)), usage(1_207, 3, (2_100, 47))];
    assert_eq!(told, [first, last.clone()], "after each reply whose usage is known");
    rig.end();

    let rig = Rig::start(&workspace);
    assert_eq!(rig.resume(&session, Some(ReplayFrom::Start)).usage, Some(last));
    rig.resume(&session, None);
    assert_eq!(usages(&rig), [], "it is not replayed");
    rig.end();
    size
}

#[test]
fn s73_the_context_in_use_is_told_after_each_reply_and_on_resume() {
    assert_eq!(published(""), None, "the window of an unknown model is not guessed");
    assert_eq!(published("context_window = 32000"), Some(32_000));
}

/// The settings of a model with a price: a thousand tokens cost one, written ones ten.
const PRICES: &str = "[prices.\"local/test\"]\ninput = 1000\noutput = 10000\ncache_read = 100\n";

fn priced(model: &ModelServer, config: &str) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url()).add_config(config);
    workspace
}

#[test]
fn s73_what_a_task_costs_is_told_for_each_turn_the_run_and_the_session() {
    let read = || Reply::call("read_file", json!({"path": "a.txt"}));
    let model = ModelServer::start([read().usage(1_000, 20), Reply::text("Done.").usage(2_000, 30)]);
    let workspace = priced(&model, PRICES);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let end = rig.run_to_end(&session, "Look.");
    let lines = |cost: Option<&CostView>| cost.map(|cost| cost.line.clone());
    assert_eq!(lines(end.cost.as_ref()).as_deref(), Some("3.50 USD"));
    assert_eq!(end.cost.as_ref().map(|cost| (cost.micros, cost.partial)), Some((3_500_000, false)));
    let turns: Vec<_> = rig
        .updates()
        .into_iter()
        .filter_map(|params| match params.update {
            Update::Turn(turn) if turn.phase == TurnPhase::Ended => lines(turn.cost.as_ref()),
            _ => None,
        })
        .collect();
    assert_eq!(turns, ["1.20 USD", "2.30 USD"]);
    let told = usages(&rig).pop().expect("the usage of the last reply");
    assert_eq!(lines(told.session.cost.as_ref()).as_deref(), Some("3.50 USD"));
    assert_eq!(told.run, Some(told.session));
    rig.end();
    let shown = lines::run(&workspace, &["sessions", "show", &session.0]).stdout;
    assert!(shown.contains("Done · 2 turns · 3000 tokens in, 50 out · 3.50 USD"), "{shown}");
    let context = lines::run(&workspace, &["sessions", "context", &session.0]).stdout;
    assert!(
        context.contains("The session has used 2 requests: 3000 tokens in, 50 out · 3.50 USD."),
        "{context}"
    );
}

#[test]
fn p15_a_cost_limit_asks_and_a_session_limit_gives_way_to_the_settings_alone() {
    let read = || Reply::call("read_file", json!({"path": "a.txt"})).usage(1_000, 20);
    let model = ModelServer::start([read(), read(), read(), Reply::text("Done.").usage(1_000, 20)]);
    let limits = |session: u32| format!("[limits]\ncost = 2\nsession_requests = {session}\n{PRICES}");
    let workspace = priced(&model, &limits(3));
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Look.").run_id;
    let end = rig.await_run_end(&session, &run);
    assert_eq!((end.outcome, end.stop_reason), (Outcome::Limit, StopReason::Budget));
    let ask = rig.await_ask_of(AskKind::AutoApprovalMaxReqReached);
    assert_eq!(ask.title, "This run has used 2.40 USD; `limits.cost` allows 2.00 USD for one run.");
    rig.answer(&ask.ask_id, "continue");
    let second = rig.await_ask();
    let said = "This session has used 3 model requests; `limits.session_requests` allows 3 model requests for a whole session. \
                Raise it, then continue.";
    assert_eq!(second.title, said);
    rig.answer(&second.ask_id, "continue");
    let third = rig.await_ask();
    assert_eq!(third.title, said, "a click alone changes nothing");
    assert_eq!(model.requests().len(), 3);
    let config = std::fs::read_to_string(workspace.config_file()).expect("the settings");
    let raised = config.replace("session_requests = 3", "session_requests = 30");
    std::fs::write(workspace.config_file(), raised).expect("write the settings");
    rig.answer(&third.ask_id, "continue");
    rig.await_update(|update| {
        matches!(&update.update, Update::Run(RunView::Ended { end, .. }) if end.outcome == Outcome::Stopped)
    });
    assert_eq!(model.requests().len(), 4);
    rig.end();
}
