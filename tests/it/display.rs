//! No message of the server holds a link that a client shows only by its label, whatever the model, the
//! repository and the provider write.
//!
//! Checks every text of every message to an editor without a plugin.

use adjutant_testkit::editor::{Options, Popups};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::plain::{INVOKED, Plain, at, problem};
use crate::rig::Rig;

/// Text that VS Code turns into a link; the workspace folder has this name too.
const LINK: &str = "[ok](command:adjutant.respond?%5B%5D)";
const WEB: &str = "[tests passed](https://x/y)";

/// Whether VS Code would find a link in the text (`src/vs/base/common/linkedText.ts`). Unlike its expression,
/// this check needs no closing bracket.
fn holds_a_link(text: &str) -> bool {
    text.match_indices("](").any(|(at, _)| {
        let target = text[at + 2..].to_ascii_lowercase();
        let label = text[..at].rsplit(']').next().and_then(|before| before.split_once('['));
        let after =
            ["http://", "https://", "command:", "file:"].iter().find_map(|one| target.strip_prefix(one));
        label.is_some_and(|(_, label)| !label.is_empty())
            && after.is_some_and(|rest| rest.starts_with(|c: char| c != ')' && !c.is_whitespace()))
    })
}

/// Collects the texts of a message that a client may draw, each with its place. Leaves out what the client
/// sends back unchanged, what it opens, text for a document, and answers to a program's own requests.
fn drawn(value: &Value, place: &str, texts: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => texts.push((place.to_owned(), text.clone())),
        Value::Array(items) => items.iter().for_each(|item| drawn(item, place, texts)),
        Value::Object(fields) => {
            let kept = [
                "arguments",
                "data",
                "edit",
                "uri",
                "token",
                "askId",
                "optionId",
                "experimental",
                "resolution",
                "ended",
            ];
            for (name, field) in fields.iter().filter(|(name, _)| !kept.contains(&name.as_str())) {
                drawn(field, &format!("{place}/{name}"), texts);
            }
        }
        _ => {}
    }
}

fn all_drawn(plain: &Plain) -> Vec<(String, String)> {
    let seen = plain.rig.seen();
    let mut texts = Vec::new();
    for line in seen.lines().filter_map(|line| line.strip_prefix("server -> ")) {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let name = message["method"].as_str().unwrap_or("answer").to_owned();
        drawn(&message, &name, &mut texts);
    }
    texts
}

/// Returns an editor in a folder with a hostile name and hostile settings.
fn hostile(replies: Vec<Reply>) -> Plain {
    let model = ModelServer::start(replies);
    let workspace = Workspace::new(&format!(
        "//- /{LINK}/a.rs\n// {WEB}\nfn main() {{}}\n//- /{LINK}/.adjutant/config.toml\n\"{WEB}\" = 1\nmodel = \"{LINK}\"\n"
    ));
    workspace.openai(&model.base_url());
    let root = workspace.path().join(LINK);
    let options =
        Options { popups: Popups::Shown, ..Options::at(&root).capabilities(crate::plain::capabilities()) };
    let rig = Rig::start_with(&workspace, options);
    Plain { rig, model, workspace }
}

#[test]
fn finding_a1_s54_no_message_holds_a_link_whatever_is_in_it() {
    let call = |name: &str, arguments: Value| Reply::call(name, arguments);
    let body = json!({ "error": { "message": format!("no such model {WEB} {LINK}"), "type": LINK } });
    let plain = hostile(vec![
        call("run_command", json!({ "command": format!("echo {WEB} {LINK}"), "cwd": "." })),
        call("write_file", json!({ "path": "[a](command:b).md", "content": format!("{WEB}\n{LINK}\n") })),
        call("read_file", json!({ "path": format!("{LINK}.txt") })),
        call(LINK, json!({ "a": WEB })),
        call(
            "ask_user",
            json!({ "question": format!("Is {LINK} right?"), "options": ["[a](file:b)", "no"] }),
        ),
        call("fail", json!({ "reason": format!("because of {WEB} {LINK}") })),
        Reply::status(400).body(body.to_string()),
    ]);
    let file = format!("{LINK}/a.rs");
    plain.rig.open("a.rs");
    // Two lines of the project's settings are invalid, and each gets a message.
    (0..2).for_each(|_| drop(plain.rig.await_message()));
    let started = plain.command("adjutant.start", json!([format!("do {LINK}"), WEB])).expect("it is started");
    // The test editor shortens long answers in its record, so the lists are collected here.
    let mut lists = Vec::new();
    for answer in ["Reject", "Reject"] {
        let popup = plain.rig.await_popup();
        let list = plain.actions(
            &file,
            at(0, 0),
            json!({ "triggerKind": INVOKED, "diagnostics": [problem(at(1, 0), WEB)] }),
        );
        lists.extend(list);
        assert!(!popup.actions.iter().any(|title| title.starts_with("Yes")), "{popup:?}");
        plain.rig.press(&popup, Some("Show"));
        let popup = plain.rig.await_popup();
        plain.rig.press(&popup, Some(answer));
    }
    let popup = plain.rig.await_popup();
    lists.extend(plain.actions(&file, at(0, 0), json!({ "triggerKind": INVOKED })));
    plain.command("adjutant.respond", json!([format!("neither, {LINK}")])).expect("it is an answer");
    plain.rig.await_popup_withdrawn(&popup);
    plain.finish(&started);
    plain.rig.await_message();
    let again = plain.command("adjutant.start", json!([format!("again {WEB}")])).expect("it is started");
    plain.finish(&again);
    plain.rig.await_message();
    for (name, arguments) in [
        (LINK, json!([])),
        ("adjutant.start", json!([{ WEB: 1 }])),
        ("adjutant.respond", json!([{ "askId": LINK, "optionId": WEB }])),
        ("adjutant.cancel", json!([LINK])),
    ] {
        plain.command(name, arguments).expect_err("it is refused");
        plain.rig.await_message();
    }
    let mut texts = all_drawn(&plain);
    for mut action in lists {
        // Diagnostics from other servers go back as the client sent them.
        action["diagnostics"] = Value::Null;
        drawn(&action, "action", &mut texts);
    }
    let links: Vec<_> = texts.iter().filter(|(_, text)| holds_a_link(text)).collect();
    assert!(links.is_empty(), "{links:#?}");
    // Hostile text did appear: in asks, errors, progress, titles, diagnostics and settings.
    for place in [
        "window/showMessage/params/message",
        "window/showMessageRequest/params/message",
        "window/showMessageRequest/params/actions/title",
        "$/progress/params/value/title",
        "$/progress/params/value/message",
        "action/title",
        "answer/error/message",
    ] {
        let there = texts.iter().any(|(at, text)| at == place && text.contains("]\\u{28}"));
        assert!(there, "nothing hostile was drawn as {place}: {texts:#?}");
    }
    plain.rig.die();
}

/// Kakoune and other editors sort by title: even then no list begins with an approval.
#[test]
fn finding_a4_no_list_begins_with_an_approval_in_any_order() {
    let turns = [
        Reply::call("run_command", json!({ "command": "echo hi" })),
        crate::stage::edit("a.rs", "say more", "say less"),
        Reply::text("Done."),
    ];
    let plain = Plain::new("//- /a.rs\n// NOW: say more\nfn main() {}\n", turns);
    plain.rig.open("a.rs");
    let started = plain.command("adjutant.start", json!(["go"])).expect("it is started");
    for _ in 0..2 {
        let popup = plain.rig.await_popup();
        let mut lists = vec![popup.actions.clone()];
        for context in
            [json!({}), json!({ "triggerKind": INVOKED, "diagnostics": [problem(at(1, 0), "bad")] })]
        {
            plain.await_action("a.rs", "Adjutant: Yes");
            lists.push(crate::plain::titles(&plain.actions("a.rs", at(0, 0), context)));
        }
        for mut list in lists {
            assert!(list.iter().any(|title| title.contains("Yes")), "{list:?}");
            assert!(!list[0].contains("Yes"), "{list:?}");
            list.sort();
            assert!(!list[0].contains("Yes"), "{list:?}");
            list.sort_by_key(|title| title.to_lowercase());
            assert!(!list[0].contains("Yes"), "{list:?}");
        }
        assert!(popup.actions.iter().all(|title| title.chars().count() <= 16), "{popup:?}");
        plain.rig.press(&popup, Some("Reject"));
    }
    plain.finish(&started);
    plain.rig.end();
}
