//! The model of a task whose plug is pulled: it paints two files, and goes on from what the conversation says.
//!
//! Never keeps a state: each request has the whole conversation.

use serde_json::{Value, json};

use crate::model::{Reply, Request};

/// A file that may be open in the editor, and one that never is.
pub const OPEN: &str = "a.txt";
pub const CLOSED: &str = "b.txt";
/// How the output of a call begins that was cut.
pub const UNKNOWN: &str = "Interrupted: ";

/// A call of the model: its tool, its arguments and its output.
pub type Called = (String, Value, String);

/// Returns the calls of a conversation, grouped by turns. The outputs of a turn follow it, in the order of its calls.
pub fn turns_of(request: &Request) -> Vec<Vec<Called>> {
    let body = request.json();
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let called = |(number, call): (usize, &Value), outputs: &[Value]| {
        let of = &call["function"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let output = outputs.get(number).map(|message| text(&message["content"])).unwrap_or_default();
        (text(&of["name"]), serde_json::from_str(&text(&of["arguments"])).unwrap_or_default(), output)
    };
    let turn = |(at, message): (usize, &Value)| {
        let calls = message["tool_calls"].as_array()?;
        Some(calls.iter().enumerate().map(|call| called(call, &messages[at + 1..])).collect())
    };
    messages.iter().enumerate().filter_map(turn).collect()
}

/// Returns the next turn of the model. After an edit with an unknown outcome, the model reads the file, and edits again only what the
/// file lacks.
pub fn reply(request: &Request) -> Reply {
    let turns = turns_of(request);
    let last = turns.last().cloned().unwrap_or_default();
    let called = |tool: &str| turns.iter().flatten().any(|(name, ..)| name == tool);
    let line = if called("ask_user") { 6 } else { 1 };
    let looks = last.iter().filter(|(tool, _, output)| tool == "edit_file" && output.starts_with(UNKNOWN));
    let looks = looks.map(|(_, arguments, _)| json!({"path": arguments["path"]}));
    let looks = looks.fold(None, |reply: Option<Reply>, path| {
        Some(reply.unwrap_or_else(|| Reply::text("I look.")).and_call("read_file", path))
    });
    if let Some(looks) = looks {
        return looks;
    }
    let again = last.iter().filter(|(tool, ..)| tool == "read_file").find_map(|(_, arguments, output)| {
        let name = arguments["path"].as_str().unwrap_or_default();
        (!output.contains(&painted(name, line))).then(|| with_edit(Reply::text("Again."), name, line))
    });
    if let Some(again) = again {
        return again;
    }
    let edits = |line: usize| with_edit(with_edit(Reply::text("I paint."), OPEN, line), CLOSED, line);
    if turns.is_empty() {
        edits(line)
    } else if !called("write_file") {
        Reply::call("write_file", json!({"path": "notes/new.txt", "content": "painted\n"}))
    } else if !called("run_command") {
        Reply::call("run_command", json!({"command": "echo ran >> ledger"}))
    } else if !called("ask_user") {
        Reply::call("ask_user", json!({"question": "Which colour?", "options": ["red", "green"]}))
    } else if last.iter().any(|(tool, ..)| tool == "ask_user") {
        edits(line)
    } else {
        Reply::text("It is painted.")
    }
}

fn with_edit(reply: Reply, name: &str, line: usize) -> Reply {
    let old = format!("{name} {line}\n");
    reply.and_call("edit_file", {
        json!({"path": name, "old_text": old, "new_text": format!("{old}{}\n", painted(name, line))})
    })
}

/// Returns a file before the task.
pub fn unpainted(name: &str) -> String {
    (0..9).map(|number| format!("{name} {number}\n")).collect()
}

/// Returns a file after the task.
pub fn painted_whole(name: &str) -> String {
    let line = |number| match number {
        1 | 6 => format!("{name} {number}\n{}\n", painted(name, number)),
        _ => format!("{name} {number}\n"),
    };
    (0..9).map(line).collect()
}

fn painted(name: &str, line: usize) -> String {
    format!("{name} {line} in red")
}
