//! Modes and models of a session, as the client sets them.
//!
//! The tests check the requests to the model and the log.

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::model::ModelListResult;
use adjutant_protocol::option::{ConfigChange, ConfigId, ConfigOption, SetConfigOptionResult};
use adjutant_protocol::session::{NewSessionResult, ReplayFrom};
use adjutant_protocol::update::Update;
use adjutant_protocol::{RunId, SessionId};
use adjutant_testkit::editor::RpcError;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::rig::{Rig, count, facts_named, refused, session_dir, tool_outputs, tools_offered};

fn start(replies: impl IntoIterator<Item = Reply>) -> (ModelServer, Workspace, Rig) {
    let model = ModelServer::start(replies);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    (model, workspace, rig)
}

fn set(rig: &Rig, session: &SessionId, id: &str, value: &str) -> Result<Vec<ConfigOption>, RpcError> {
    let params = json!({"sessionId": session, "configId": id, "value": value});
    let result: Result<SetConfigOptionResult, _> = rig.try_call(methods::SESSION_SET_CONFIG_OPTION, params);
    result.map(|result| result.config_options)
}

fn value(options: &[ConfigOption], id: ConfigId) -> &str {
    let found = options.iter().find(|option| option.id == id);
    found.map_or("", |option| option.current_value.as_str())
}

/// Returns the published changes of options, each with the run it belongs to.
fn changes(rig: &Rig) -> Vec<(ConfigChange, Option<RunId>)> {
    let changed = |update: adjutant_protocol::update::SessionUpdateParams| match update.update {
        Update::ConfigOptionUpdate { changed, .. } => Some((changed, update.run_id)),
        _ => None,
    };
    rig.updates().into_iter().filter_map(changed).collect()
}

fn changed(id: ConfigId, from: &str, to: &str) -> ConfigChange {
    ConfigChange { config_id: id, from: Some(from.to_owned()), to: to.to_owned() }
}

#[test]
fn s11_a_mode_chosen_during_a_run_counts_from_the_next_model_call_and_is_told_once() {
    let edit = json!({"path": "a.txt", "old_text": "hello", "new_text": "bye"});
    let (model, workspace, rig) = start([
        Reply::call("edit_file", edit.clone()).hold_after(10),
        Reply::call("edit_file", edit),
        Reply::text("I may not."),
    ]);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Say bye.").run_id;
    model.wait_for_holding(1);
    let options = set(&rig, &session, "mode", "ask").expect("the mode is chosen");
    assert_eq!(value(&options, ConfigId::Mode), "ask");
    assert_eq!(set(&rig, &session, "mode", "ask"), Ok(options), "the same choice again changes nothing");
    model.release();
    let ask = rig.await_ask_of(AskKind::Tool);
    rig.answer(&ask.ask_id, "reject");
    rig.await_run_end(&session, &run);

    let requests = model.requests();
    assert!(tools_offered(&requests[0]).contains(&"edit_file".to_owned()));
    assert!(!tools_offered(&requests[1]).contains(&"edit_file".to_owned()), "the next call is in ask mode");
    let outputs = tool_outputs(&requests[2]).join("\n");
    assert!(outputs.contains("not offered in this mode"), "{outputs}");
    assert_eq!(changes(&rig), [(changed(ConfigId::Mode, "code", "ask"), Some(run))]);
    assert_eq!(count(&workspace, &session, "config_changed"), 1);
    assert_eq!(value(&rig.resume(&session, None).config_options, ConfigId::Mode), "ask");
    rig.end();

    let rig = Rig::start(&workspace);
    let now = rig.resume(&session, Some(ReplayFrom::Start));
    assert_eq!(value(&now.config_options, ConfigId::Mode), "ask", "a choice survives the server");
    rig.await_update(|update| update.seq == now.seq);
    assert_eq!(changes(&rig).len(), 1, "a replay contains it too");
    rig.end();
}

#[test]
fn s84_a_model_counts_from_the_next_run_and_an_override_leaves_the_choice_alone() {
    let (model, _workspace, rig) = start([
        Reply::text("one").hold_after(10),
        Reply::text("two"),
        Reply::text("three"),
        Reply::text("four"),
    ]);
    let made: NewSessionResult = rig.call(methods::SESSION_NEW, json!({}));
    let session = made.session_id;
    let first = value(&made.config_options, ConfigId::Model).to_owned();
    assert!(first.starts_with("local/"), "{first}");
    let run = rig.prompt(&session, "One.").run_id;
    model.wait_for_holding(1);
    let options =
        set(&rig, &session, "model", "local/other/one").expect("any model of a provider is accepted");
    assert_eq!(value(&options, ConfigId::Model), "local/other/one");
    let offered: Vec<&str> = options[1].options.iter().map(|option| option.value.as_str()).collect();
    assert_eq!(offered, [first.as_str(), "local/other/one"]);
    model.release();
    rig.await_run_end(&session, &run);
    rig.run_to_end(&session, "Two.");
    let given = json!({"overrides": {"model": "local/given", "mode": "ask"}});
    let run = rig.prompt_with(&session, "Three.", given).run_id;
    rig.await_run_end(&session, &run);
    rig.run_to_end(&session, "Four.");

    let names: Vec<Value> = model.requests().iter().map(|request| request.json()["model"].clone()).collect();
    let started = first.trim_start_matches("local/");
    assert_eq!(names, [started, "other/one", "given", "other/one"]);
    let last = tools_offered(&model.requests()[3]);
    assert!(last.contains(&"edit_file".to_owned()), "the mode of one run does not leak: {last:?}");
    assert_eq!(changes(&rig).len(), 1);
    rig.end();
}

#[test]
fn s11_what_is_chosen_before_the_first_prompt_is_kept_without_a_folder() {
    let (model, workspace, rig) = start([Reply::text("hello")]);
    let session = rig.new_session();
    set(&rig, &session, "mode", "ask").expect("the mode is chosen");
    assert_eq!(value(&rig.resume(&session, None).config_options, ConfigId::Mode), "ask");
    assert!(!session_dir(&workspace, &session).exists(), "there was no prompt yet");
    rig.run_to_end(&session, "Look.");
    assert!(!tools_offered(&model.requests()[0]).contains(&"edit_file".to_owned()));
    assert_eq!(changes(&rig), [], "no client knew another mode, so no change is published");
    assert_eq!(facts_named(&workspace, &session, "session_created")[0]["choices"]["mode"], "ask");
    rig.end();
    let rig = Rig::start(&workspace);
    assert_eq!(value(&rig.resume(&session, None).config_options, ConfigId::Mode), "ask");
    rig.end();
}

#[test]
fn what_cannot_be_chosen_is_refused_and_changes_nothing() {
    let (_model, _workspace, rig) = start([]);
    let session = rig.new_session();
    assert_eq!(refused(set(&rig, &session, "mode", "plan")).1, "AnswerInvalid");
    assert_eq!(refused(set(&rig, &session, "model", "nobody/has")).1, "ProviderUnavailable");
    assert_eq!(refused(set(&rig, &session, "model", "")).1, "ProviderUnavailable");
    assert_eq!(set(&rig, &session, "colour", "red").map_err(|error| error.code), Err(-32602));
    assert_eq!(refused(set(&rig, &"s-0000000000000000".into(), "mode", "ask")).1, "SessionNotFound");
    assert_eq!(changes(&rig), []);
    rig.end();
}

/// Each generation setting: the name of its option, its id, and its field in a Chat request.
const GENERATION_SETTINGS: [(&str, ConfigId, &str); 2] =
    [("effort", ConfigId::Effort, "reasoning_effort"), ("verbosity", ConfigId::Verbosity, "verbosity")];

/// Returns a workspace with two providers; one model is known to support efforts and verbosities.
fn two_providers(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.config(&format!(
        "model = \"here/gpt-5-mini\"\nfallback_models = [\"gone/m\"]\n[providers.here]\nbase_url = \"{}\"\n\
         [providers.gone]\nbase_url = \"https://gone.invalid/v1\"\napi_key_env = \"NO_SUCH_KEY\"\n",
        model.base_url()
    ));
    workspace
}

#[test]
fn p18_another_model_takes_other_efforts_and_verbosities_and_each_is_told() {
    for (name, id, field) in GENERATION_SETTINGS {
        another_model_takes_others(name, id, field);
    }
}

fn another_model_takes_others(name: &str, id: ConfigId, field: &str) {
    let model = ModelServer::answering(|_| Reply::text("Yes."));
    let workspace = two_providers(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let levels = |options: &[ConfigOption]| -> Vec<String> {
        let found = options.iter().find(|option| option.id == id);
        found
            .map(|option| option.options.iter().map(|value| value.value.clone()).collect())
            .unwrap_or_default()
    };
    let sent = || {
        let last = model.requests().pop().expect("it was asked");
        (last.json()["model"].clone(), last.json().get(field).cloned())
    };
    let options = set(&rig, &session, name, "high").expect("it is chosen");
    assert_eq!(levels(&options), ["default", "low", "medium", "high"]);
    rig.run_to_end(&session, "One.");
    assert_eq!(sent(), (json!("gpt-5-mini"), Some(json!("high"))));

    // A model without known levels receives none, and the choice is kept.
    let options = set(&rig, &session, "model", "here/llama-4").expect("it is chosen");
    assert_eq!(levels(&options), [""; 0]);
    rig.run_to_end(&session, "Two.");
    assert_eq!(sent(), (json!("llama-4"), None));
    let options = set(&rig, &session, "model", "here/gpt-5-nano").expect("it is chosen");
    assert_eq!(value(&options, id), "high");
    rig.run_to_end(&session, "Three.");
    assert_eq!(sent(), (json!("gpt-5-nano"), Some(json!("high"))));
    assert_eq!(refused(set(&rig, &session, name, "enormous")).1, "AnswerInvalid");
    let options = set(&rig, &session, name, "default").expect("it is chosen");
    assert_eq!(value(&options, id), "default");
    rig.run_to_end(&session, "Four.");
    assert_eq!(sent().1, None);
    rig.end();
}

#[test]
fn s84_an_effort_and_a_verbosity_for_one_run_do_not_leak_into_the_next() {
    let model = ModelServer::answering(|_| Reply::text("Yes."));
    let workspace = two_providers(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let sent = |field: &str| model.requests().pop().expect("it was asked").json().get(field).cloned();
    for (name, _, field) in GENERATION_SETTINGS {
        let overrides = json!({ "overrides": { name: "low" } });
        let run = rig.prompt_with(&session, "One.", overrides).run_id;
        rig.await_run_end(&session, &run);
        assert_eq!(sent(field), Some(json!("low")));
        rig.run_to_end(&session, "Two.");
        assert_eq!(sent(field), None);
    }
    rig.end();
}

#[test]
fn s84_the_list_of_models_says_what_is_known_and_what_is_missing() {
    let model = ModelServer::answering(|_| Reply::text("Yes."));
    let workspace = two_providers(&model);
    let rig = Rig::start(&workspace);
    let list: ModelListResult = rig.call(methods::MODEL_LIST, json!({}));
    let [first, second] = &list.models[..] else { panic!("{list:?}") };
    assert_eq!((first.model.as_str(), first.context_window, first.known), ("here/gpt-5-mini", 400_000, true));
    assert_eq!(first.efforts, ["low", "medium", "high"]);
    assert_eq!(first.verbosities, first.efforts);
    assert_eq!((second.model.as_str(), second.known, &second.efforts[..]), ("gone/m", false, &[][..]));
    let why = second.unavailable.as_deref().expect("it has no key");
    assert!(why.contains("NO_SUCH_KEY"), "{why}");
    rig.end();
}

/// A choice for every new session is written where the user keeps settings, or refused as a whole.
#[test]
fn p18_a_choice_for_new_sessions_is_written_into_the_settings_of_the_user() {
    let model = ModelServer::answering(|_| Reply::text("Yes."));
    let workspace = two_providers(&model);
    let file = workspace.config_file();
    let before = std::fs::read_to_string(&file).expect("there are settings");
    std::fs::write(&file, format!("# Mine.\n{before}")).expect("it is written");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let choose = |id: &str, value: &str| {
        let params = json!({"sessionId": session, "configId": id, "value": value, "scope": "user"});
        rig.try_call::<SetConfigOptionResult>(methods::SESSION_SET_CONFIG_OPTION, params)
    };
    let settings = || std::fs::read_to_string(&file).expect("there are settings");
    let chosen = choose("model", "here/gpt-5-nano").expect("it is chosen");
    assert_eq!(value(&chosen.config_options, ConfigId::Model), "here/gpt-5-nano");
    let text = chosen.text.expect("it says where");
    assert!(text.starts_with("new conversations have model here/gpt-5-nano; written: "), "{text}");
    choose("effort", "high").expect("it is chosen");
    let written = settings();
    assert!(written.starts_with("# Mine.\nmodel = \"here/gpt-5-nano\"\n"), "{written}");
    assert!(written.contains("effort = \"high\"\n"), "{written}");
    let next: NewSessionResult = rig.call(methods::SESSION_NEW, json!({}));
    assert_eq!(value(&next.config_options, ConfigId::Model), "here/gpt-5-nano");
    rig.run_to_end(&next.session_id, "Of another conversation.");
    let asked = model.requests().pop().expect("it was asked").json();
    assert_eq!((&asked["model"], &asked["reasoning_effort"]), (&json!("gpt-5-nano"), &json!("high")));
    choose("effort", "default").expect("it is chosen");
    assert!(!settings().contains("effort"), "what the provider decides is no setting");
    // Of a conversation alone.
    let kept = settings();
    assert_eq!(refused(choose("mode", "ask")).1, "AnswerInvalid");
    assert_eq!(refused(choose("model", "nowhere/m")).1, "ProviderUnavailable");
    let other = json!({"sessionId": session, "configId": "model", "value": "here/gpt-5-mini"});
    let alone: SetConfigOptionResult = rig.call(methods::SESSION_SET_CONFIG_OPTION, other);
    assert_eq!((alone.text, settings()), (None, kept), "without the scope nothing is written");
    rig.end();
}

/// What is written and does not count is said to be so.
#[test]
fn p18_a_choice_that_something_else_overrules_says_what() {
    let model = ModelServer::answering(|_| Reply::text("Yes."));
    let workspace = two_providers(&model);
    let rig = Rig::set_up(&workspace, |server| {
        server.sources.environment.insert("ADJUTANT_MODEL".to_owned(), "here/gpt-5-mini".to_owned());
    });
    let session = rig.new_session();
    let params =
        json!({"sessionId": session, "configId": "model", "value": "here/gpt-5-nano", "scope": "user"});
    let chosen: SetConfigOptionResult = rig.call(methods::SESSION_SET_CONFIG_OPTION, params);
    let text = chosen.text.expect("it says why");
    assert!(text.contains("is written, but not in use") && text.contains("ADJUTANT_MODEL"), "{text}");
    assert_eq!(value(&chosen.config_options, ConfigId::Model), "here/gpt-5-nano", "here it counts");
    rig.end();
}
