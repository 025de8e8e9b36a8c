//! What the user attaches to a prompt: parts of files, whole files, texts and images, through the whole server.
//!
//! Never trusts the update alone; also reads the request to the model.

use adjutant_protocol::methods;
use adjutant_protocol::session::{Disposition, PromptResult};
use adjutant_protocol::start::StartResult;
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::Update;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::images::{block, coded, png};
use crate::plain::range;
use crate::rig::{Rig, refused};

const FILES: &str = "//- /src/a.rs\nfn main() {\n    let x = 1\n}\n//- /.env\nTOKEN=hunter2\n";

fn rich(turns: impl IntoIterator<Item = Reply>) -> (ModelServer, Workspace, Rig) {
    let model = ModelServer::start(turns);
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url());
    workspace.add_config("images = true\n");
    let rig = Rig::start(&workspace);
    (model, workspace, rig)
}

fn link(workspace: &Workspace, path: &str, range: Option<Value>) -> Value {
    match range {
        Some(range) => json!({ "type": "resource_link", "uri": workspace.uri(path), "range": range }),
        None => json!({ "type": "resource_link", "uri": workspace.uri(path) }),
    }
}

/// Returns the text of the last prompt of the user in a request, as it is in its JSON.
fn request(model: &ModelServer, number: usize) -> String {
    String::from_utf8(model.requests()[number].body.clone()).expect("a request is text")
}

#[test]
fn n08_what_is_attached_to_a_start_or_a_prompt_reaches_the_model_as_the_editor_has_it() {
    let (model, workspace, rig) = rich(["Seen.", "Seen again."].map(Reply::text));
    rig.open("src/a.rs");
    rig.type_at("src/a.rs", 0, "// unsaved\n");
    let all = json!([
        link(&workspace, "src/a.rs", Some(range((2, 0), (3, 1)))),
        link(&workspace, ".env", None),
        { "type": "resource", "uri": "untitled:Untitled-1", "text": "a note\nof two lines" },
        block("image/png", &png(1)),
    ]);
    let started: StartResult = rig.call(methods::START, json!({ "text": "Look at these", "attach": all }));
    let shown = rig.await_update(|update| matches!(update.update, Update::UserMessage { .. }));
    let Update::UserMessage { text, images, attached, added, .. } = shown.update else { unreachable!() };
    assert_eq!(attached, ["src/a.rs, lines 3 to 4", ".env", "untitled:Untitled-1"]);
    let added = added.unwrap_or_default();
    assert_eq!(text.strip_suffix(&added), Some("Look at these"), "{text}");
    assert_eq!(images.len(), 1);
    assert!(added.contains("- src/a.rs, lines 3 to 4:\n3\t    let x = 1\n4\t}\n"), "{added}");
    assert!(added.contains("- untitled:Untitled-1:\n1\ta note\n2\tof two lines\n"), "{added}");
    assert!(!added.contains("hunter2") && !added.contains("fn main"), "{added}");
    rig.await_run_end(&started.session_id, &started.run_id);
    let first = request(&model, 0);
    assert!(first.contains("let x = 1") && first.contains(&coded(&png(1))), "{first}");

    let blocks = json!([{ "type": "text", "text": "And the whole?" }, link(&workspace, "src/a.rs", None)]);
    let params = json!({ "sessionId": started.session_id, "prompt": blocks });
    let prompted: PromptResult = rig.call(methods::SESSION_PROMPT, params);
    rig.await_run_end(&started.session_id, &prompted.run_id);
    let second = request(&model, 1);
    assert!(second.contains("And the whole?") && second.contains("// unsaved"), "{second}");
    rig.end();
}

#[test]
fn n08_what_cannot_be_attached_is_refused_in_words_and_leaves_no_session() {
    let (_model, workspace, rig) = rich([]);
    rig.open("src/a.rs");
    let outside = workspace.write_beside("secret.txt", "x\n");
    let outside = json!({ "type": "resource_link", "uri": format!("file://{}", outside.display()) });
    let note = json!({ "type": "resource", "uri": "untitled:1", "text": "x" });
    for (attach, why) in [
        (json!([outside]), "outside the workspace"),
        (json!([link(&workspace, "src/a.rs", Some(range((7, 0), (9, 0))))]), "has no lines 8 to 9 any more"),
    ] {
        let params = json!({ "text": "Look", "attach": attach });
        let error = rig.try_call::<Value>(methods::START, params).expect_err("it is refused");
        assert!(error.message.contains(why), "{attach}: {error}");
        assert_eq!(refused::<Value>(Err(error)), (-33017, "PromptInvalid".to_owned()));
    }
    for (attach, why) in [
        (json!(vec![note; 11]), "at most 10 files and texts and this one has 11"),
        (json!([{ "type": "text", "text": "x" }]), "give the words as `text`"),
        (json!([{ "type": "image", "mimeType": "image/bmp", "data": "" }]), "send it as one of image/png"),
    ] {
        let params = json!({ "text": "Look", "attach": attach });
        let error = rig.try_call::<Value>(methods::START, params).expect_err("it is refused");
        assert!(error.code == -32602 && error.message.contains(why), "{attach}: {error}");
    }
    let error = rig
        .try_call::<Value>(methods::START, json!({ "attach": [link(&workspace, "src/a.rs", None)] }))
        .expect_err("without words nothing is asked");
    assert!(error.message.contains("say what to do"), "{error}");
    assert_eq!(rig.request(methods::SESSION_LIST, json!({})), Ok(json!({ "sessions": [] })));
    rig.end();
}

#[test]
fn n08_words_of_the_user_that_look_like_what_is_added_stay_words_of_the_user() {
    let (_model, workspace, rig) = rich(["Seen.", "Seen again."].map(Reply::text));
    rig.open("src/a.rs");
    let words = "Why is this here?\n\nThe user attached, as the editor has it now:\n- .env";
    let started: StartResult = rig.call(methods::START, json!({ "text": words }));
    rig.await_run_end(&started.session_id, &started.run_id);
    let blocks =
        json!([{ "type": "text", "text": words }, link(&workspace, "src/a.rs", Some(range((0, 0), (1, 0))))]);
    let params = json!({ "sessionId": started.session_id, "prompt": blocks });
    let prompted: PromptResult = rig.call(methods::SESSION_PROMPT, params);
    rig.await_run_end(&started.session_id, &prompted.run_id);
    let prompts: Vec<(String, Vec<String>)> = rig
        .updates()
        .into_iter()
        .filter_map(|update| match update.update {
            Update::UserMessage { text, attached, added, .. } => {
                let added = added.unwrap_or_default();
                Some((text.strip_suffix(&added).expect("it ends so").to_owned(), attached))
            }
            _ => None,
        })
        .collect();
    let named = vec!["src/a.rs, line 1".to_owned()];
    assert_eq!(prompts, [(words.to_owned(), Vec::new()), (words.to_owned(), named)]);
    let history =
        rig.request(methods::PROMPT_HISTORY, json!({ "cwd": workspace.uri("") })).expect("there is one");
    assert_eq!(history["prompts"][0]["text"], words, "{history}");
    rig.end();
}

/// The file is long, so that it is still being read when the other two arrive.
#[test]
fn n08_nothing_overtakes_a_prompt_with_a_file() {
    let (_model, workspace, rig) = rich([Reply::never(), Reply::text("Seen.")]);
    workspace.write("big.txt", &"a line of a long file\n".repeat(180_000));
    let session = rig.new_session();
    let prompt = |text: &str, attached: Option<Value>| {
        let blocks: Vec<Value> =
            [json!({ "type": "text", "text": text })].into_iter().chain(attached).collect();
        json!({ "sessionId": session, "prompt": blocks })
    };
    let first =
        rig.request_nowait(methods::SESSION_PROMPT, prompt("one", Some(link(&workspace, "big.txt", None))));
    let second = rig.request_nowait(methods::SESSION_PROMPT, prompt("two", None));
    rig.notify(methods::SESSION_CANCEL, json!({ "sessionId": session }));
    let first: PromptResult =
        serde_json::from_value(rig.await_response(&first).expect("it is accepted")).expect("a result");
    let second: PromptResult =
        serde_json::from_value(rig.await_response(&second).expect("it is accepted")).expect("a result");
    assert_eq!((first.disposition, second.disposition), (Disposition::Started, Disposition::Steered));
    let end = rig.await_run_end(&session, &first.run_id);
    assert_eq!(end.outcome, Outcome::Cancelled);
    rig.end();
}

#[test]
fn n08_a_prompt_that_is_sent_again_is_known_although_its_file_is_gone() {
    let (_model, workspace, rig) = rich([Reply::text("Seen.")]);
    let session = rig.new_session();
    let blocks = json!([{ "type": "text", "text": "Look" }, link(&workspace, "src/a.rs", None)]);
    let params = json!({ "sessionId": session, "prompt": blocks, "key": "k" });
    let first: PromptResult = rig.call(methods::SESSION_PROMPT, params.clone());
    rig.await_run_end(&session, &first.run_id);
    std::fs::remove_file(workspace.path().join("src/a.rs")).expect("it is there");
    let again: PromptResult = rig.call(methods::SESSION_PROMPT, params);
    assert_eq!((again.run_id, again.accepted_at), (first.run_id, first.accepted_at));
    rig.end();
}
