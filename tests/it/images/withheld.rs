//! Images that a model does not get: a text replaces each, and no later request fails because of it.

use std::fs;

use adjutant_protocol::methods;
use adjutant_protocol::option::SetConfigOptionResult;
use adjutant_protocol::state::{Outcome, State};
use adjutant_protocol::update::{TurnPhase, Update};
use adjutant_testkit::fixture::{KEY_VARIABLE, Workspace};
use adjutant_testkit::model::{Dialect, ModelServer, Reply};
use serde_json::json;

use super::{block, body, coded, png, show, try_prompt, workspace_of};
use crate::rig::{Rig, facts_named, refused, session_dir};

const NOT_SHOWN: &str = "[image: image/png, 5 kB, not shown to this model]";

/// Returns a workspace with a model that supports images, `sees/m`, and one that does not, `blind/m`.
fn two(sees: &ModelServer, blind: &ModelServer, more: &str) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    let table = |name: &str, model: &ModelServer, more: &str| {
        let url = model.base_url();
        format!("[providers.{name}]\nbase_url = \"{url}\"\napi_key_env = \"{KEY_VARIABLE}\"\n{more}")
    };
    let (first, second) = (table("sees", sees, "images = true\n"), table("blind", blind, ""));
    workspace
        .config(&format!("model = \"sees/m\"\n{more}\n{first}{second}[retry]\nbase_ms = 10\ncap_ms = 20\n"));
    workspace
}

#[test]
fn s85_a_model_that_takes_no_images_refuses_new_ones_and_is_told_of_those_before() {
    let (sees, blind) =
        (ModelServer::start([Reply::text("A cat.")]), ModelServer::start([Reply::text("So?")]));
    let workspace = two(&sees, &blind, "");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = show(&rig, &session, "What is this?", &[png(1)]);
    rig.await_run_end(&session, &run);
    let params = json!({"sessionId": session, "configId": "model", "value": "blind/m"});
    let _: SetConfigOptionResult = rig.call(methods::SESSION_SET_CONFIG_OPTION, params);
    let answer = try_prompt(&rig, &session, json!([block("image/png", &png(2))]));
    let message = answer.as_ref().expect_err("it supports no images").message.clone();
    assert!(
        message.contains("blind/m does not support images: choose another model by the option `model`"),
        "{message}"
    );
    assert!(message.contains("set `images = true` for its provider"), "{message}");
    assert_eq!(refused(answer), (-33016, "ImagesUnsupported".to_owned()));
    assert_eq!(facts_named(&workspace, &session, "prompted").len(), 1);
    assert_eq!(fs::read_dir(session_dir(&workspace, &session).join("blobs")).unwrap().count(), 1);
    rig.run_to_end(&session, "Go on.");
    // One run may still use the other model.
    sees.push(Reply::text("A dog."));
    let params = json!({
        "sessionId": session,
        "prompt": [block("image/png", &png(2))],
        "overrides": {"model": "sees/m"},
    });
    let run: adjutant_protocol::session::PromptResult = rig.call(methods::SESSION_PROMPT, params);
    rig.await_run_end(&session, &run.run_id);
    rig.await_state(State::Idle);
    rig.end();
    let request = blind.requests()[0].json();
    assert_eq!(request["messages"][1]["content"], format!("{NOT_SHOWN}\nWhat is this?"));
    let shown = body(&sees.requests()[1]);
    assert!([1, 2].iter().all(|number| shown.contains(&coded(&png(*number)))), "both are shown again");
}

#[test]
fn s85_a_model_that_takes_over_and_takes_no_images_gets_none() {
    let sees = ModelServer::start((0..7).map(|_| Reply::status(503)));
    let blind = ModelServer::start([Reply::text("I cannot see it.")]);
    let workspace = two(&sees, &blind, "fallback_models = [\"blind/m\"]");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = show(&rig, &session, "What is this?", &[png(1)]);
    let end = rig.await_run_end(&session, &run);
    assert_eq!(end.summary.as_deref(), Some("I cannot see it."));
    rig.await_state(State::Idle);
    rig.end();
    assert!(sees.requests().iter().all(|request| body(request).contains(&coded(&png(1)))));
    let requests = blind.requests();
    assert!(body(&requests[0]).contains(NOT_SHOWN) && !body(&requests[0]).contains("image_url"));
}

#[test]
fn s85_an_image_whose_content_is_lost_is_a_text_and_the_session_goes_on() {
    let model = ModelServer::start([Reply::text("Two cats."), Reply::text("They were.")]);
    let workspace = workspace_of(Dialect::Messages, &model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = show(&rig, &session, "What is this?", &[png(1), png(2), png(3)]);
    rig.await_run_end(&session, &run);
    rig.await_state(State::Idle);
    rig.end();
    let images = facts_named(&workspace, &session, "prompted")[0]["images"].clone();
    let blob = |at: usize| {
        session_dir(&workspace, &session).join("blobs").join(images[at]["hash"].as_str().unwrap_or_default())
    };
    fs::remove_file(blob(0)).unwrap();
    fs::write(blob(1), png(9)).unwrap();
    let rig = Rig::start(&workspace);
    rig.resume(&session, None);
    assert_eq!(rig.run_to_end(&session, "Were they?").outcome, Outcome::Stopped);
    rig.await_state(State::Idle);
    rig.end();
    let request = body(&model.requests()[1]);
    let lost = "[image: image/png, 5 kB, not shown: its content is lost]";
    assert_eq!(request.matches(lost).count(), 2, "{request}");
    assert_eq!(request.matches(r#""type":"image""#).count(), 1);
    assert!(request.contains(&coded(&png(3))) && !request.contains(&coded(&png(9))));
}

#[test]
fn s85_an_image_the_provider_refuses_does_not_end_the_session() {
    for wire in Dialect::ALL {
        let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}"#;
        let model = ModelServer::start([
            Reply::status(400).body(refusal),
            Reply::text("I cannot see it."),
            Reply::text("Now I do."),
        ]);
        let workspace = workspace_of(wire, &model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        let run = show(&rig, &session, "What is this?", &[png(1)]);
        let failed = rig.await_update(
            |update| matches!(&update.update, Update::Turn(turn) if turn.phase == TurnPhase::AttemptFailed),
        );
        let Update::Turn(failed) = failed.update else { panic!("it is a turn") };
        assert!(failed.message.as_deref().is_some_and(|why| why.contains("refused an image")), "{failed:?}");
        assert_eq!(rig.await_run_end(&session, &run).summary.as_deref(), Some("I cannot see it."));
        rig.await_state(State::Idle);
        rig.end();
        // The refused image is never sent again, also after a restart; another image is sent.
        let rig = Rig::start(&workspace);
        rig.resume(&session, None);
        let run = show(&rig, &session, "And this?", &[png(2)]);
        rig.await_run_end(&session, &run);
        rig.await_state(State::Idle);
        rig.end();
        let bodies: Vec<String> = model.requests().iter().map(body).collect();
        let shown: Vec<bool> = bodies.iter().map(|body| body.contains(&coded(&png(1)))).collect();
        assert_eq!(shown, [true, false, false], "{wire:?}");
        assert!(bodies[1].contains("[image: image/png, 5 kB, not shown: the provider refused it]"));
        assert!(bodies[2].contains(&coded(&png(2))));
    }
}
