//! Images of prompts through the whole server: sent, stored, published, withheld and refused.
//!
//! The formats of the wires have their own tests.

mod crashes;
mod withheld;

use std::fs;

use adjutant_protocol::SessionId;
use adjutant_protocol::session::{Disposition, PromptResult, ReplayFrom};
use adjutant_protocol::state::State;
use adjutant_protocol::update::{ImageView, Update};
use adjutant_protocol::{RunId, methods};
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::RpcError;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{Dialect, ModelServer, Reply, Request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::rig::{Rig, facts_named, log_text, refused, session_dir};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

/// Returns bytes that start like a PNG. Two numbers give two images.
pub fn png(number: u8) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".as_slice(), &[number; 4_000]].concat()
}

pub fn coded(content: &[u8]) -> String {
    STANDARD.encode(content)
}

pub fn block(mime_type: &str, content: &[u8]) -> Value {
    json!({"type": "image", "mimeType": mime_type, "data": coded(content)})
}

/// Returns a workspace with a model of this wire, whose settings say that it supports images.
fn workspace_of(wire: Dialect, model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.provider(wire, &model.base_url());
    workspace.add_config("images = true\n");
    workspace
}

fn try_prompt(rig: &Rig, session: &SessionId, blocks: Value) -> Result<PromptResult, RpcError> {
    rig.try_call(methods::SESSION_PROMPT, json!({"sessionId": session, "prompt": blocks}))
}

/// Prompts with a text and images, and returns the run.
pub fn show(rig: &Rig, session: &SessionId, text: &str, images: &[Vec<u8>]) -> RunId {
    let mut blocks = vec![json!({"type": "text", "text": text})];
    blocks.extend(images.iter().map(|image| block("image/png", image)));
    try_prompt(rig, session, Value::Array(blocks)).unwrap_or_else(|error| panic!("{text:?}: {error}")).run_id
}

pub fn body(request: &Request) -> String {
    String::from_utf8(request.body.clone()).expect("a request is text")
}

/// Returns the body without cache marks and without the end of the conversation, which move.
fn conversation(request: &Request) -> String {
    let bare = body(request).replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    bare.strip_suffix("]}").expect("the conversation comes last").to_owned()
}

#[test]
fn s85_an_image_is_shown_to_the_model_every_turn_and_after_a_restart() {
    for wire in Dialect::ALL {
        let model = ModelServer::start([
            Reply::text("I look.").and_call("read_file", json!({"path": "a.txt"})),
            Reply::text("A cat."),
            Reply::text("Still a cat."),
        ]);
        let workspace = workspace_of(wire, &model);
        let rig = Rig::start(&workspace);
        assert!(rig.agent_capabilities().is_some_and(|offered| offered.prompt_capabilities.image));
        let session = rig.new_session();
        let run = show(&rig, &session, "What is this?", &[png(1)]);
        rig.await_run_end(&session, &run);
        rig.await_state(State::Idle);
        rig.die();

        let content = coded(&png(1));
        assert!(!log_text(&workspace, &session).contains(&content[..60]), "{wire:?}: it is in the log");
        let prompted = facts_named(&workspace, &session, "prompted");
        let named = &prompted[0]["images"][0];
        assert_eq!((&named["mime_type"], &named["bytes"]), (&json!("image/png"), &json!(4_008)));
        let blob = session_dir(&workspace, &session).join("blobs").join(named["hash"].as_str().unwrap());
        assert_eq!(fs::read(blob).unwrap(), png(1));

        let rig = Rig::start(&workspace);
        rig.resume(&session, Some(ReplayFrom::Start));
        // A client only gets the type and the size of the image.
        let shown = rig.await_update(|update| matches!(update.update, Update::UserMessage { .. }));
        let Update::UserMessage { text, images, .. } = shown.update else { panic!("it is the user's") };
        let is = ImageView { mime_type: "image/png".to_owned(), bytes: 4_008 };
        assert_eq!((text.as_str(), images), ("What is this?", vec![is]));
        rig.run_to_end(&session, "Is it?");
        rig.await_state(State::Idle);
        rig.end();

        let requests: Vec<String> = model.requests().iter().map(conversation).collect();
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|request| request.matches(&content).count() == 1), "{wire:?}");
        for (before, after) in requests.iter().zip(&requests[1..]) {
            assert!(after.starts_with(before), "{wire:?}:\n{before}\n{after}");
        }
    }
}

#[test]
fn s85_images_as_large_as_may_be_arrive_whole() {
    // The maximum for one prompt needs nine seconds in a debug build.
    let count = if std::env::var_os("ADJUTANT_SLOW").is_some() { 4 } else { 1 };
    let model = ModelServer::start([Reply::text("Cats.")]);
    let workspace = workspace_of(Dialect::Responses, &model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let largest = |number| [png(number), vec![number; 3_932_160 - 4_008]].concat();
    let images: Vec<Vec<u8>> = (1..=count).map(largest).collect();
    let run = show(&rig, &session, "What are these?", &images);
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    rig.end();
    let request = body(&model.requests()[0]);
    assert!(images.iter().all(|image| request.contains(&coded(image))), "of {} bytes", request.len());
    assert!(request.len() > (5 << 20) * usize::from(count));
}

#[test]
fn s85_an_image_that_comes_while_a_run_goes_is_shown_at_the_next_turn() {
    let model = ModelServer::start([Reply::text("I am at it.").hold_after(100), Reply::text("I see it.")]);
    let workspace = workspace_of(Dialect::Chat, &model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "Begin.").run_id;
    model.wait_for_holding(1);
    let steered = try_prompt(&rig, &session, json!([block("image/png", &png(2))])).expect("it is accepted");
    assert_eq!((steered.disposition, &steered.run_id), (Disposition::Steered, &run));
    model.release();
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    let requests = model.requests();
    assert!(!body(&requests[0]).contains("image_url"));
    assert!(body(&requests[1]).contains(&coded(&png(2))));
    rig.end();
}

#[test]
fn s85_what_is_no_image_is_refused_at_the_door_and_leaves_no_trace() {
    let model = ModelServer::start([]);
    let workspace = workspace_of(Dialect::Chat, &model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let large = [png(1), vec![0; 4 << 20]].concat();
    let wrong = json!({"type": "image", "mimeType": "image/png", "data": "?"});
    for (blocks, says) in [
        (json!([wrong]), "not valid base64"),
        (json!([block("image/jpeg", &png(1))]), "is declared as image/jpeg but is image/png"),
        (json!([block("image/svg+xml", b"<svg/>")]), "send it as one of image/png"),
        (json!([block("image/png", &large)]), "make it smaller"),
        (Value::Array(vec![block("image/png", &png(1)); 9]), "at most 8 images"),
        (json!([]), "say what to do"),
    ] {
        let error = try_prompt(&rig, &session, blocks).expect_err(says);
        assert_eq!(error.code, -32602);
        assert!(error.message.contains(says), "{:?} does not say {says:?}", error.message);
    }
    assert!(!session_dir(&workspace, &session).exists());
    assert!(model.requests().is_empty());
    rig.end();
}

#[test]
fn s85_the_same_key_with_the_same_image_is_one_prompt() {
    let model = ModelServer::start([Reply::text("A cat.")]);
    let workspace = workspace_of(Dialect::Chat, &model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let send = |image: &[u8]| {
        let params = json!({"sessionId": session, "prompt": [block("image/png", image)], "key": "once"});
        rig.try_call::<PromptResult>(methods::SESSION_PROMPT, params)
    };
    let first = send(&png(1)).expect("it is accepted");
    rig.await_run_end(&session, &first.run_id);
    assert_eq!(send(&png(1)).expect("it is known"), first);
    assert_eq!(refused(send(&png(2))).1, "KeyReused");
    let blobs = fs::read_dir(session_dir(&workspace, &session).join("blobs")).unwrap();
    assert_eq!(blobs.count(), 1, "a refused image is not stored");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s85_the_command_line_sends_images_and_shows_that_they_were_there() {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.script("[[turn]]\ntext = \"A cat.\"\n").add_config("images = true\n");
    fs::write(workspace.path().join("cat.png"), [png(3), vec![0; 7_500]].concat()).unwrap();
    let run = |args: &[&str]| Line::new(BINARY, &workspace, args).run();
    let none = run(&["run", "--image", "a.txt", "What is this?"]);
    assert!(none.expect(2).stderr.contains("\"a.txt\": it is none of image/png"), "{none}");
    run(&["run", "What is this?", "--image", "cat.png", "--image", "cat.png"]).expect(0);
    let listed = run(&["sessions", "list"]);
    let id =
        listed.expect(0).stdout.lines().nth(1).and_then(|line| line.split(' ').next()).unwrap_or_default();
    let shown = run(&["sessions", "show", id]);
    let expected = "> [image image/png 12 kB]\n> [image image/png 12 kB]\n> What is this?\n";
    assert!(shown.expect(0).stdout.contains(expected), "{shown}");
    let exported = run(&["sessions", "export", id]);
    let expected_line = r#""text":"What is this?","images":[{"mimeType":"image/png","bytes":11508},{"#;
    assert!(exported.expect(0).stdout.contains(expected_line), "{exported}");
}
