//! One whole prompt for the page, recorded from the real server over pipes.
//!
//! Replaces ids, times and paths by readable ones. Never invents anything else.

use std::collections::BTreeMap;
use std::fs;

use adjutant_protocol::methods;
use serde_json::{Value, json};

use super::client::{Client, Rig, is_answer, is_method};

/// The replies of the model; the `scripted` provider plays them.
const SCRIPT: &str = r#"
[[turn]]
text = "The greeting is misspelled. I correct it."
usage = { input = 900, output = 40 }
[[turn.call]]
tool = "edit_file"
arguments = { path = "greeting.txt", old_text = "Helo", new_text = "Hello" }

[[turn]]
text = "Done: the greeting is spelled right now."
usage = { input = 980, output = 12 }
"#;

/// The text in the editor, with a line that is not saved.
const BUFFER: &str = "Helo, world!\nThis line is not saved yet.\n";

fn is_state(message: &Value, state: &str) -> bool {
    let update = &message["params"]["update"];
    update["sessionUpdate"] == "state_update" && update["state"] == state
}

/// Runs the conversation and returns it in the form of the page.
pub fn recorded() -> String {
    let (shown, project) = held();
    page(&shown, &project)
}

/// Runs the conversation and returns its messages, with the project folder.
fn held() -> (Vec<(&'static str, Value)>, String) {
    let mut rig = Rig::start(SCRIPT);
    fs::write(rig.project().join("greeting.txt"), "Helo, world!\n").unwrap();
    let project = rig.project().to_str().unwrap().to_owned();
    converse(&mut rig.client, &format!("file://{project}"));
    let shown = std::mem::take(&mut rig.client.shown);
    let state = rig.stop();
    let sessions = fs::read_dir(state.path().join("state/sessions")).expect("sessions are on disk").count();
    assert_eq!(sessions, 1, "one session is on disk");
    (shown, project)
}

#[test]
fn s18_the_end_of_a_run_carries_outcome_reason_summary_and_usage() {
    let (shown, _) = held();
    let ends = shown.iter().map(|(_, message)| &message["params"]["update"]);
    let ends: Vec<&Value> =
        ends.filter(|update| update["sessionUpdate"] == "_run" && update["phase"] == "ended").collect();
    let [end] = &ends[..] else { panic!("not exactly one end was published: {ends:?}") };
    let end = &end["end"];
    assert_eq!((&end["outcome"], &end["stopReason"]), (&json!("stopped"), &json!("end_turn")));
    assert_eq!(end["summary"], "Done: the greeting is spelled right now.");
    assert_eq!(end["turns"], 2);
    // The sum of the usage of both turns in the script.
    assert_eq!((&end["usage"]["inputTokens"], &end["usage"]["outputTokens"]), (&json!(1_880), &json!(52)));
}

fn converse(client: &mut Client, root: &str) {
    let uri = format!("{root}/greeting.txt");
    client.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "processId": null,
        "capabilities": {
            "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
            "experimental": { "agent": {
                "version": 0, "updates": { "chunks": true }, "asks": { "request": true }
            } }
        },
        "workspaceFolders": [{ "uri": root, "name": "project" }]
    } }));
    client.until(&[is_answer]);
    client.send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    client.send(json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {
        "textDocument": { "uri": uri, "languageId": "plaintext", "version": 7, "text": BUFFER }
    } }));
    client.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "agent/session/new", "params": {} }));
    let answer = client.until(&[is_answer]);
    let session = answer[0]["result"]["sessionId"].clone();
    client.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "agent/session/prompt", "params": {
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "Correct the spelling in greeting.txt." }]
    } }));
    let received = client.until(&[is_answer, |message| is_method(message, methods::REQUEST_PERMISSION)]);
    let asked = received.last().expect("the ask comes last");
    assert_eq!(asked["params"]["options"][0]["optionId"], "allow");
    client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {
        "outcome": { "outcome": "selected", "optionId": "allow" }
    } }));
    let received = client.until(&[
        |message| is_method(message, "workspace/applyEdit"),
        |message| is_state(message, "running"),
        |message| is_method(message, methods::ASK_RESOLVED),
    ]);
    let edit = received.last().expect("the edit comes last");
    let change = &edit["params"]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 7);
    let changes: Vec<Value> = change["edits"]
        .as_array()
        .expect("edits")
        .iter()
        .map(|edit| json!({ "range": edit["range"], "text": edit["newText"] }))
        .collect();
    client.send(json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
        "textDocument": { "uri": uri, "version": 8 }, "contentChanges": changes
    } }));
    client.send(json!({ "jsonrpc": "2.0", "id": edit["id"], "result": { "applied": true } }));
    client.until(&[|message| is_state(message, "idle")]);
}

/// Formats the messages for the page: replaces values that change from run to run, and merges chunks as for a
/// slow client.
fn page(shown: &[(&'static str, Value)], project: &str) -> String {
    let mut names = Names { project: project.to_owned(), ..Names::default() };
    let mut messages: Vec<(&'static str, Value)> = Vec::new();
    for (way, message) in shown {
        let mut message = message.clone();
        names.rename(None, &mut message);
        if !messages.last_mut().is_some_and(|(_, last)| merge(last, &message)) {
            messages.push((way, message));
        }
    }
    let asked = messages.iter().find(|(_, message)| is_method(message, methods::REQUEST_PERMISSION));
    let asked = asked.expect("there is an ask").1["params"].clone();
    let mut text = String::from("```text\n");
    for (way, message) in &messages {
        let (head, body) = headed(message, &asked);
        text.push_str(&format!("{way} {head}{}\n", laid_out(&body)));
    }
    text.push_str("```");
    text
}

/// Adds a chunk to the one before if both belong to the same message. Returns whether it did.
fn merge(last: &mut Value, next: &Value) -> bool {
    let chunk = |message: &Value| {
        let update = &message["params"]["update"];
        let kind = update["sessionUpdate"].as_str().filter(|kind| kind.ends_with("_chunk"))?;
        Some((kind.to_owned(), update["messageId"].clone()))
    };
    if chunk(last).is_none() || chunk(last) != chunk(next) {
        return false;
    }
    let more = next["params"]["update"]["text"].as_str().unwrap_or_default().to_owned();
    if let Value::String(text) = &mut last["params"]["update"]["text"] {
        text.push_str(&more);
    }
    true
}

/// Returns the text before the body of a message, and the body. An update has only its own fields.
fn headed(message: &Value, asked: &Value) -> (String, Value) {
    let params = &message["params"];
    if !is_method(message, methods::SESSION_UPDATE) {
        let mut body = message.clone();
        body.as_object_mut().expect("a message is an object").remove("jsonrpc");
        return (String::new(), body);
    }
    let mut update = params["update"].clone();
    if update["ask"] == *asked {
        update["ask"] = json!("the params of the request below");
    }
    let sub = params["sub"].as_u64().map(|sub| format!(".{sub}")).unwrap_or_default();
    (format!("update {}{sub} ", params["seq"]), update)
}

/// The fields that come first in an object. The rest follows by name.
const FIRST: [&str; 12] = [
    "id",
    "method",
    "sessionUpdate",
    "phase",
    "turn",
    "state",
    "sub",
    "uri",
    "kind",
    "sessionId",
    "askId",
    "title",
];

/// Formats a body. A value that fits on one line stays on it.
fn laid_out(body: &Value) -> String {
    fn items(value: &Value) -> Vec<(String, &Value)> {
        match value {
            Value::Object(fields) => {
                let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
                let mut items: Vec<_> = fields.iter().collect();
                items.sort_by_key(|(name, _)| rank(name));
                items.into_iter().map(|(name, value)| (format!("\"{name}\": "), value)).collect()
            }
            Value::Array(items) => items.iter().map(|value| (String::new(), value)).collect(),
            _ => Vec::new(),
        }
    }
    fn flat(value: &Value) -> String {
        let inner: Vec<String> =
            items(value).into_iter().map(|(name, value)| format!("{name}{}", flat(value))).collect();
        match value {
            Value::Object(_) if inner.is_empty() => "{}".to_owned(),
            Value::Object(_) => format!("{{ {} }}", inner.join(", ")),
            Value::Array(_) => format!("[{}]", inner.join(", ")),
            _ => value.to_string(),
        }
    }
    fn write(value: &Value, indent: usize, text: &mut String) {
        let one = flat(value);
        let items = items(value);
        if items.is_empty() || indent + one.len() <= 100 {
            return text.push_str(&one);
        }
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        text.push(open);
        let start = "\n".to_owned() + &" ".repeat(indent + 2);
        let mut width = usize::MAX;
        for (index, (name, value)) in items.iter().enumerate() {
            let length = name.len() + flat(value).len() + 2;
            let small = length <= 40 || !(value.is_object() || value.is_array());
            text.push_str(if index == 0 { "" } else { "," });
            if small && width != usize::MAX && width + length <= 100 {
                text.push(' ');
                width += length;
            } else {
                text.push_str(&start);
                width = if small { indent + length } else { usize::MAX };
            }
            text.push_str(name);
            write(value, indent + 2, text);
        }
        text.push_str(&format!("\n{}{close}", " ".repeat(indent)));
    }
    let mut text = String::new();
    write(body, 2, &mut text);
    text
}

/// The fields that have a time.
const TIMES: [&str; 5] = ["since", "openedAt", "acceptedAt", "startedAt", "endedAt"];
/// The time that the page shows for all of them.
const TIME: u64 = 1_767_225_600_000;

/// Readable names for random ids. The same id always gets the same name.
#[derive(Default)]
struct Names {
    project: String,
    known: BTreeMap<String, String>,
    counted: BTreeMap<String, u32>,
}

impl Names {
    fn rename(&mut self, field: Option<&str>, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    self.rename(Some(name), value);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|value| self.rename(field, value)),
            Value::String(text) => *text = self.text(field, text),
            Value::Number(_) if field.is_some_and(|name| TIMES.contains(&name)) => *value = json!(TIME),
            Value::Number(_) if field == Some("elapsedMs") => *value = json!(31),
            _ => {}
        }
    }

    fn text(&mut self, field: Option<&str>, text: &str) -> String {
        let kind = match field {
            Some("sessionId") => "session",
            Some("runId") => "run",
            Some("messageId") => "msg",
            Some("toolCallId") => "call",
            // The id of an ask has no slash and no space. A name of a surface for asks has one of them.
            Some("askId" | "asks") if !text.contains(['/', ' ']) => "ask",
            Some("changeSetId") => "change",
            Some("hunkId") => "hunk",
            _ => return text.replace(&self.project, "/home/me/project"),
        };
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let count = self.counted.entry(kind.to_owned()).or_insert(0);
        *count += 1;
        let name = format!("{kind}-{count}");
        self.known.insert(text.to_owned(), name.clone());
        name
    }
}
