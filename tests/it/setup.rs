//! `agent/setup/*`: from no model to a first answer without leaving the editor.
//!
//! The service is on loopback; no other service is contacted.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use adjutant_protocol::doctor::{DoctorResult, Health};
use adjutant_protocol::methods;
use adjutant_protocol::setup::{SetupProvidersResult, SetupTryResult, SetupWriteResult};
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::{KEY_VARIABLE, Workspace};
use adjutant_testkit::model::{Dialect, ModelServer, Reply};
use adjutant_testkit::process::Server;
use serde_json::{Value, json};

use crate::rig::{Rig, assert_overloaded};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
const KEY: &str = "sk-a-key-that-nobody-may-see";

fn service(model: &ModelServer, key: Value) -> Value {
    json!({ "provider": "service", "address": model.base_url(), "model": "m1", "key": key })
}

fn typed(model: &ModelServer) -> Value {
    service(model, json!({ "type": "typed", "key": KEY }))
}

fn settings(workspace: &Workspace) -> String {
    fs::read_to_string(workspace.config_file()).expect("the settings are there")
}

/// Returns the names of the files next to the settings, in their order.
fn beside(workspace: &Workspace) -> Vec<String> {
    let folder = workspace.config_file();
    let entries = fs::read_dir(folder.parent().expect("a folder")).expect("it can be read").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the name of the file of the typed key, of which there is one.
fn key_file(workspace: &Workspace) -> String {
    let keys: Vec<_> = beside(workspace).into_iter().filter(|name| name.ends_with(".key")).collect();
    let [name] = keys.as_slice() else { panic!("one key: {keys:?}") };
    assert!(name.starts_with("service-"), "{name}");
    name.clone()
}

/// Returns every file of a folder whose bytes have the text.
fn with(folder: &Path, text: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.flat_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return with(&path, text);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        let has = bytes.windows(text.len()).any(|window| window == text.as_bytes());
        if has { vec![path.display().to_string()] } else { Vec::new() }
    });
    found.collect()
}

#[test]
fn p26_an_editor_goes_from_no_model_to_a_first_answer_without_a_restart() {
    let model = ModelServer::start([Reply::text("ok"), Reply::text("Hello.")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("# Mine.\n[limits]\nmistakes = 2 # patience\n");
    let rig = Rig::start(&workspace);
    let listed: SetupProvidersResult = rig.call(methods::SETUP_PROVIDERS, json!({}));
    let names: Vec<_> = listed.providers.iter().map(|one| one.provider.as_str()).collect();
    assert_eq!(names, ["anthropic", "openai", "openrouter", "local", "service"]);
    assert!(listed.problem.is_none() && listed.providers.iter().all(|one| !one.key_found), "{listed:?}");
    assert_eq!(model.requests().len(), 0);

    let before = settings(&workspace);
    let tried: SetupTryResult = rig.call(methods::SETUP_TRY, typed(&model));
    assert!(tried.works && tried.text.starts_with("it answered in "), "{tried:?}");
    assert_eq!(model.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!((settings(&workspace), beside(&workspace)), (before, vec!["config.toml".to_owned()]));

    let written: SetupWriteResult = rig.call(methods::SETUP_WRITE, typed(&model));
    assert_eq!((written.model.as_str(), written.in_use), ("service/m1", true), "{written:?}");
    let text = settings(&workspace);
    assert!(text.contains("# Mine.") && text.contains("mistakes = 2 # patience"), "{text}");
    let name = key_file(&workspace);
    assert!(text.contains(&format!("api_key_file = \"{name}\"")) && !text.contains(KEY), "{text}");
    assert_eq!(beside(&workspace), ["config.toml", name.as_str()]);
    let key = workspace.config_file().with_file_name(&name);
    assert_eq!(fs::read_to_string(&key).expect("the key is there"), KEY);
    assert_eq!(fs::metadata(&key).expect("the key is there").permissions().mode() & 0o777, 0o600);

    let session = rig.new_session();
    rig.run_to_end(&session, "say hello");
    assert_eq!(model.requests()[1].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let doctor: DoctorResult = rig.call(methods::DOCTOR, json!({}));
    let check = doctor.checks.iter().find(|check| check.check == "model").expect("a check of the model");
    assert_eq!(check.health, Health::Ok, "{check:?}");
    rig.end();
}

/// A user who edits the file by hand, or who runs `adjutant setup` in a terminal, does not restart the editor.
#[test]
fn p26_settings_that_are_written_elsewhere_count_for_the_next_prompt() {
    let model = ModelServer::start([Reply::text("Hello."), Reply::text("Again.")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "say hello" }] });
    let refused = rig.request(methods::SESSION_PROMPT, prompt).expect_err("there is no model");
    assert!(refused.message.contains("no model is configured"), "{}", refused.message);
    let set = |name: &str| {
        workspace.config(&format!(
            "model = \"service/{name}\"\n\n[providers.service]\nwire = \"{}\"\nbase_url = \"{}\"\napi_key_env = \"{KEY_VARIABLE}\"\n",
            Dialect::Chat.wire(),
            model.base_url(),
        ));
    };
    set("m1");
    rig.run_to_end(&session, "say hello");
    // The same number of bytes.
    set("m2");
    let second = rig.new_session();
    rig.run_to_end(&second, "again");
    let asked: Vec<_> = model.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(asked, [json!("m1"), json!("m2")]);
    rig.end();
}

#[test]
fn p26_a_key_in_a_variable_is_found_by_its_name_and_only_the_name_is_written() {
    let model = ModelServer::start([Reply::text("ok")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("");
    let rig = Rig::set_up(&workspace, |server| {
        server.sources.environment.insert("OPENAI_API_KEY".to_owned(), KEY.to_owned());
        server.sources.environment.insert("ANTHROPIC_API_KEY".to_owned(), String::new());
    });
    let listed: Value = rig.request(methods::SETUP_PROVIDERS, Value::Null).expect("a list");
    assert!(!listed.to_string().contains(KEY), "{listed}");
    let first = &listed["providers"][0];
    assert_eq!((&first["provider"], &first["keyFound"]), (&json!("openai"), &json!(true)), "{listed}");
    assert_eq!(listed["providers"][1]["keyFound"], json!(false), "an empty variable has no key: {listed}");

    let by_name = service(&model, json!({ "type": "variable", "name": KEY_VARIABLE }));
    let tried: SetupTryResult = rig.call(methods::SETUP_TRY, by_name.clone());
    assert!(tried.works, "{tried:?}");
    let key = model.requests()[0].header("authorization").expect("a key").replace("Bearer ", "");
    let written: SetupWriteResult = rig.call(methods::SETUP_WRITE, by_name);
    assert!(written.in_use, "{written:?}");
    let text = settings(&workspace);
    assert!(text.contains(&format!("api_key_env = \"{KEY_VARIABLE}\"")) && !text.contains(&key), "{text}");
    assert_eq!(beside(&workspace), ["config.toml"]);
    rig.end();
}

#[test]
fn p26_a_provider_that_refuses_is_said_in_one_line_and_nothing_is_written() {
    let refusal = Reply::status(401).body(format!("{{\"error\":\"bad key {KEY}\"}}"));
    let model = ModelServer::start([refusal, Reply::text("ok").hold_after(1), Reply::text("ok")]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("# Mine.\n");
    let rig = Rig::start(&workspace);
    let tried: SetupTryResult = rig.call(methods::SETUP_TRY, typed(&model));
    assert!(!tried.works, "{tried:?}");
    let said = &tried.text;
    assert!(said.starts_with("the key that you typed was refused by provider \"service\" (401: "), "{said}");
    assert!(said.ends_with("type a valid key and try again") && !said.contains(KEY), "{said}");

    // One at a time, and it ends when the user leaves.
    let first = rig.request_nowait(methods::SETUP_TRY, typed(&model));
    model.wait_for_holding(1);
    assert_overloaded(rig.request(methods::SETUP_TRY, typed(&model)));
    assert_overloaded(rig.request(methods::SETUP_WRITE, typed(&model)));
    rig.cancel_request(&first);
    rig.await_response(&first).expect_err("it was cancelled");
    let again: SetupTryResult = rig.call(methods::SETUP_TRY, typed(&model));
    assert!(again.works, "{again:?}");
    assert_eq!(
        (settings(&workspace).as_str(), beside(&workspace)),
        ("# Mine.\n", vec!["config.toml".to_owned()])
    );
    rig.end();
}

#[test]
fn p26_neither_a_project_nor_the_editors_settings_turn_a_key_to_another_address() {
    let model = ModelServer::start([Reply::text("ok")]);
    let thief = ModelServer::start([]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    let elsewhere = format!("[providers.service]\nbase_url = \"{}\"\n", thief.base_url());
    workspace.write(".adjutant/config.toml", &elsewhere);
    workspace.config("");
    let rig = Rig::start(&workspace);
    let section = json!({ "adjutant": { "model": "other/any", "providers": { "service": { "base_url": thief.base_url() } } } });
    rig.notify("workspace/didChangeConfiguration", json!({ "settings": section }));
    let tried: SetupTryResult = rig.call(methods::SETUP_TRY, typed(&model));
    assert!(tried.works, "{tried:?}");
    assert_eq!((model.requests().len(), thief.requests().len()), (1, 0));
    // What counts before the user's file is said, because a new conversation would not use what was written.
    let written: SetupWriteResult = rig.call(methods::SETUP_WRITE, typed(&model));
    assert!(!written.in_use, "{written:?}");
    assert!(written.text.contains("`model` is set elsewhere (editor)"), "{written:?}");
    let section = |name: &str| {
        let providers = json!({ name: { "base_url": thief.base_url() } });
        json!({ "settings": { "adjutant": { "providers": providers } } })
    };
    rig.notify("workspace/didChangeConfiguration", section("service"));
    let written: SetupWriteResult = rig.call(methods::SETUP_WRITE, typed(&model));
    assert!(!written.in_use && written.text.contains("is not sent there"), "{written:?}");
    rig.notify("workspace/didChangeConfiguration", section("local"));
    let local = json!({ "provider": "local", "address": model.base_url(), "model": "m1" });
    let written: SetupWriteResult = rig.call(methods::SETUP_WRITE, local);
    assert!(!written.in_use, "{written:?}");
    assert!(written.text.contains("`providers.local.base_url` is set elsewhere (editor)"), "{written:?}");
    assert_eq!(thief.requests().len(), 0);
    for _ in 0..4 {
        let message = rig.await_message();
        assert!(message.contains("a project file can only make Adjutant stricter"), "{message}");
    }
    rig.end();
}

#[test]
fn p26_settings_that_are_no_toml_are_left_alone_and_said_before_anything_is_asked() {
    let model = ModelServer::start([]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("# Mine.\nmodel = \"play/any\n");
    let rig = Rig::start(&workspace);
    assert!(rig.await_message().contains("not valid TOML"), "the start says it, too");
    let listed: SetupProvidersResult = rig.call(methods::SETUP_PROVIDERS, json!({}));
    let problem = listed.problem.expect("a problem");
    assert!(problem.contains("line 2 is not valid TOML") && problem.contains("correct it"), "{problem}");
    for method in [methods::SETUP_TRY, methods::SETUP_WRITE] {
        let refused = rig.request(method, typed(&model)).expect_err("it cannot be read");
        assert!(refused.message.contains("line 2 is not valid TOML"), "{refused:?}");
    }
    assert_eq!(settings(&workspace), "# Mine.\nmodel = \"play/any\n");
    assert_eq!((beside(&workspace), model.requests().len()), (vec!["config.toml".to_owned()], 0));
    rig.end();
}

/// Keeps what is read.
struct Tee<R> {
    inner: R,
    read: Arc<Mutex<Vec<u8>>>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.read.lock().expect("no reader panicked").extend(&buffer[..length]);
        Ok(length)
    }
}

#[test]
fn p26_no_byte_to_the_client_and_no_file_but_its_own_has_a_key_that_was_typed() {
    let echo = || Reply::status(401).body(format!("{{\"error\":\"bad key {KEY}\"}}"));
    let model = ModelServer::start([echo(), Reply::text("ok"), echo()]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.config("");
    let mut server = Server::spawn(BINARY, &workspace, &["lsp", "-d"]);
    let (reader, writer) = server.take_pipes();
    let read = Arc::new(Mutex::new(Vec::new()));
    let tee = Tee { inner: reader, read: read.clone() };
    let editor = adjutant_testkit::editor::Editor::start(tee, writer, Options::new(&workspace));
    let tries = |params: Value| editor.request(methods::SETUP_TRY, params);
    assert_eq!(tries(typed(&model)).expect("an answer")["works"], json!(false));
    assert_eq!(tries(typed(&model)).expect("an answer")["works"], json!(true));
    // A key in a wrong place: the words of a parser would quote it.
    let wrong = [
        json!(KEY),
        json!({ "key": KEY }),
        service(&model, json!(KEY)),
        service(&model, json!({ "type": KEY })),
        service(&model, json!({ "type": "typed", KEY: 1 })),
        service(&model, json!({ "type": "typed", "key": [KEY] })),
        service(&model, json!({ "type": "typed", "key": format!("{KEY} {KEY}") })),
        service(&model, json!({ "type": "variable", "name": KEY })),
        json!({ "provider": KEY, "model": "m1" }),
        json!({ "provider": "local", "address": "http://127.0.0.1:1/v1", "model": "m1", "key": { "type": "typed", "key": KEY } }),
    ];
    for params in wrong {
        for method in [methods::SETUP_TRY, methods::SETUP_WRITE] {
            let refused = editor.request(method, params.clone()).expect_err("it is wrong");
            assert!([-32_600, -32_602].contains(&refused.code), "{refused:?}");
            assert!(!refused.message.contains(KEY), "{refused:?}");
        }
    }
    editor.request(methods::SETUP_WRITE, typed(&model)).expect("it is written");
    let session = editor.new_session();
    editor.run_to_end(&session, "go");
    editor.request(methods::MODEL_LIST, json!({})).expect("the models");
    editor.request(methods::DOCTOR, json!({ "callModels": true })).expect("the checks");
    editor.shutdown();
    server.wait();

    let sent = read.lock().expect("no reader panicked").clone();
    assert!(sent.len() > 1_000, "the answers were read: {} bytes", sent.len());
    let text = String::from_utf8_lossy(&sent);
    assert!(!text.contains(KEY), "the client got the key: {text}");
    let logs = with(&workspace.state_dir(), "agent/setup/try");
    assert_eq!(logs.len(), 1, "the debug log names the requests: {logs:?}");
    assert_eq!(with(&workspace.state_dir(), KEY), [""; 0]);
    let own = workspace.config_file().with_file_name(key_file(&workspace)).display().to_string();
    assert_eq!(with(workspace.state_dir().parent().expect("a folder"), KEY), [own]);
    assert!(!server.stderr().contains(KEY), "{}", server.stderr());
}
