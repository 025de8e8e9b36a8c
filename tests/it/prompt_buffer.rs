//! Prompt buffers in an editor without a plugin: completion, sending by a code action, the answer in the text.
//!
//! Never looks into the server.

use adjutant_testkit::editor::{Capabilities, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use crate::plain::{Plain, capabilities, range};
use crate::rig::Rig;

const NAME: &str = "task.adjutant.md";
const FILES: &str = "
    //- /task.adjutant.md
    Explain @src/a.rs
    //- /src/a.rs
    fn main() {}
";

fn completing(more: Value) -> Capabilities {
    let mut plain = capabilities();
    plain.extra["textDocument"]["completion"] = more;
    plain
}

fn labels(plain: &Plain, file: &str, line: u32, character: u32) -> Option<Vec<String>> {
    let params = json!({
        "textDocument": { "uri": plain.workspace.uri(file) }, "position": { "line": line, "character": character },
    });
    let answer = plain.rig.request("textDocument/completion", params).expect("it is answered");
    let items = answer["items"].as_array()?.clone();
    Some(items.iter().map(|item| item["label"].as_str().unwrap_or_default().to_owned()).collect())
}

#[test]
fn n11_a_conversation_of_two_prompts_grows_in_a_markdown_buffer() {
    let mut plain = Plain::with(
        FILES,
        [Reply::text("It is empty.\n\n---\nMore."), Reply::text("Tested.")],
        capabilities(),
    );
    plain.rig.open(NAME);
    let send = plain.await_action(NAME, "Adjutant: Send this prompt");
    let first = plain.pick(&send).expect("it is sent");
    plain.finish(&first);
    let (session, run) =
        (first["sessionId"].as_str().expect("an id"), first["runId"].as_str().expect("an id"));
    let answered = format!(
        "Explain @src/a.rs\n\n## Adjutant · {session} · {run}\n\nIt is empty.\n\n ---\nMore.\n\n---\n\n"
    );
    plain.rig.await_text(NAME, &answered);
    assert!(plain.told(0).contains("1\tfn main() {}"), "what the prompt mentions went along");

    plain.rig.edit(|buffers| buffers.set_text(NAME, &format!("{answered}Test it.")));
    let second = plain.pick(&plain.await_action(NAME, "Adjutant: Send this prompt")).expect("it is sent");
    assert_eq!(second["sessionId"], session, "the conversation goes on");
    plain.finish(&second);
    let run = second["runId"].as_str().expect("an id");
    plain.rig.await_text(
        NAME,
        &format!("{answered}Test it.\n\n## Adjutant · {session} · {run}\n\nTested.\n\n---\n\n"),
    );
    // Another process goes on with it, because the text says which session it is.
    plain = plain.again();
    plain.rig.open(NAME);
    assert!(plain.rig.text_of(NAME).starts_with("Explain"));
    plain.rig.end();
}

#[test]
fn n11_what_is_typed_while_the_run_works_stays_below_its_answer() {
    let plain = Plain::with(FILES, [Reply::text("Done.").hold_after(1)], capabilities());
    plain.rig.open(NAME);
    let sent = plain.pick(&plain.await_action(NAME, "Adjutant: Send this prompt")).expect("it is sent");
    let (session, run) = (sent["sessionId"].as_str().expect("an id"), sent["runId"].as_str().expect("an id"));
    let waiting = format!("Explain @src/a.rs\n\n## Adjutant · {session} · {run}\n\n*at work …*\n\n---\n\n");
    plain.rig.await_text(NAME, &waiting);
    plain.rig.edit(|buffers| buffers.set_text(NAME, &format!("{waiting}And then?\n")));
    plain.model.release();
    plain.finish(&sent);
    plain.rig.await_text(NAME, &format!("{}And then?\n", waiting.replace("*at work …*", "Done.")));
    plain.rig.end();
}

#[test]
fn n11_only_a_prompt_buffer_with_a_prompt_can_be_sent() {
    let plain = Plain::with(FILES, [], capabilities());
    plain.rig.open("src/a.rs");
    assert!(!plain.titles("src/a.rs", range((0, 0), (0, 0))).iter().any(|title| title.contains("Send")));
    let refused = plain.refused("adjutant.send", json!([{ "uri": plain.workspace.uri("src/a.rs") }]));
    assert!(refused.contains("whose name ends with .adjutant.md"), "{refused}");
    let refused = plain.refused("adjutant.send", json!([{ "uri": plain.workspace.uri(NAME) }]));
    assert!(refused.contains("is not open"), "{refused}");
    plain.rig.open(NAME);
    plain.rig.edit(|buffers| buffers.set_text(NAME, "old\n\n---\n\n"));
    assert!(!plain.titles(NAME, range((0, 0), (0, 0))).iter().any(|title| title.contains("Send")));
    let refused = plain.refused("adjutant.send", json!([{ "uri": plain.workspace.uri(NAME) }]));
    assert!(refused.contains("write one below the last line ---"), "{refused}");
    plain.rig.end();
}

#[test]
fn n11_completion_is_for_prompt_buffers_alone() {
    let plain = Plain::with(FILES, [], completing(json!({})));
    let announced = plain.rig.initialize_result()["capabilities"]["completionProvider"].clone();
    assert_eq!(announced, json!({ "triggerCharacters": ["@", "/"], "resolveProvider": false }));
    for file in [NAME, "src/a.rs"] {
        plain.rig.open(file);
    }
    plain.rig.edit(|buffers| buffers.set_text(NAME, "old @x\n\n---\n\n/re"));
    assert_eq!(labels(&plain, NAME, 4, 3), Some(vec!["/review".to_owned()]));
    plain.rig.edit(|buffers| buffers.set_text(NAME, "é @a.r and"));
    while labels(&plain, NAME, 0, 6) != Some(vec!["src/a.rs".to_owned()]) {}
    let params = json!({ "textDocument": { "uri": plain.workspace.uri(NAME) }, "position": { "line": 0, "character": 6 } });
    let answer = plain.rig.request("textDocument/completion", params).expect("it is answered");
    let edit = json!({ "range": range((0, 2), (0, 6)), "newText": "@src/a.rs" });
    assert_eq!((&answer["items"][0]["textEdit"], &answer["isIncomplete"]), (&edit, &json!(true)));
    assert_eq!(labels(&plain, "src/a.rs", 0, 2), None, "no other document is completed");
    plain.rig.end();
}

#[test]
fn n11_a_client_that_registers_later_is_asked_for_prompt_buffers_alone() {
    let announced = |completion: Value, name: &str| {
        let workspace = Workspace::new(FILES);
        let options = Options { name: name.to_owned(), ..Options::new(&workspace) };
        let rig = Rig::start_with(&workspace, options.capabilities(completing(completion)));
        let result = rig.initialize_result()["capabilities"]["completionProvider"].clone();
        // The registration comes before the answer to anything that is asked after `initialized`.
        let seen = rig.seen();
        rig.end();
        (result, seen.contains("adjutant-completion"))
    };
    let (result, _) = announced(json!({ "dynamicRegistration": true }), "editor");
    assert_eq!(result, Value::Null);
    // Neovim would take it for the completion of every buffer.
    assert_eq!(announced(json!({}), "Neovim"), (Value::Null, false));
}
