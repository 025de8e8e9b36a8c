//! `agent/doctor`: the checks of the set-up for an editor.

use adjutant_protocol::doctor::{Check, DoctorResult, Health};
use adjutant_protocol::methods;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::rig::{Rig, assert_overloaded};

fn checks(rig: &Rig, params: Value) -> Vec<Check> {
    let found: DoctorResult = rig.call(methods::DOCTOR, params);
    found.checks
}

fn of<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    let found = checks.iter().find(|check| check.check == name);
    found.unwrap_or_else(|| panic!("no check of {name}: {checks:#?}"))
}

#[test]
fn p26_a_client_learns_what_works_and_no_key() {
    let model = ModelServer::start([Reply::text("ok")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let found = checks(&rig, json!({}));
    assert_eq!(of(&found, "settings").health, Health::Ok);
    assert_eq!(of(&found, "sessions").health, Health::Ok);
    assert_eq!(of(&found, "model").health, Health::Ok);
    let provider = of(&found, "provider");
    assert_eq!((provider.health, provider.text.as_str()), (Health::Note, "not called"));
    assert!(found.iter().all(|check| check.cure.is_none()), "{found:#?}");
    assert_eq!(model.requests().len(), 0, "a model is called only on request");
    let called = checks(&rig, json!({ "callModels": true }));
    assert!(of(&called, "provider").text.starts_with("answers, in "), "{called:#?}");
    let sent = &model.requests()[0];
    let key = sent.header("authorization").expect("a key").trim_start_matches("Bearer ").to_owned();
    assert!(!key.is_empty());
    for check in found.iter().chain(&called) {
        assert!(!check.text.contains(&key), "{check:?}");
    }
    rig.end();
}

#[test]
fn p26_the_models_are_called_for_one_check_at_a_time() {
    let model = ModelServer::start([Reply::text("ok").hold_after(1), Reply::text("ok")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let first = rig.request_nowait(methods::DOCTOR, json!({ "callModels": true }));
    model.wait_for_holding(1);
    assert_overloaded(rig.request(methods::DOCTOR, json!({ "callModels": true })));
    assert_eq!(
        of(&checks(&rig, json!({})), "provider").text,
        "not called",
        "a check without them is answered"
    );
    rig.cancel_request(&first);
    rig.await_response(&first).expect_err("it was cancelled");
    let called = checks(&rig, json!({ "callModels": true }));
    assert!(of(&called, "provider").text.starts_with("answers, in "), "{called:#?}");
    rig.end();
}

#[test]
fn p26_without_a_model_the_cure_is_named_and_a_change_of_the_settings_counts_at_once() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let rig = Rig::start(&workspace);
    let found = checks(&rig, Value::Null);
    let model = of(&found, "model");
    assert_eq!(model.health, Health::Error);
    let cure = model.cure.as_ref().expect("a cure");
    assert_eq!((cure.title.as_str(), cure.command.as_str()), ("Set up…", "adjutant setup"));
    rig.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "adjutant": { "model": "nowhere/any" } } }),
    );
    let found = checks(&rig, json!({}));
    let model = of(&found, "model");
    assert_eq!((model.health, model.cure.is_some()), (Health::Error, false));
    assert!(model.text.contains("nowhere"), "{model:?}");
    let refused = rig.request(methods::DOCTOR, json!({ "call_models": true })).expect_err("an unknown name");
    assert!(refused.message.contains("callModels"), "{refused:?}");
    rig.end();
}
