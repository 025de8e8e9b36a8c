//! Tool arguments: what is accepted is what stands there, and can be written and accepted again.

use adjutant_core::display::hidden;
use adjutant_core::tool::{Arguments, MAX_TITLE, Mode, parse, parse_for, title};
use serde_json::{Map, Value, json};

use super::{number, text};

const TOOLS: [&str; 11] = [
    "list_files",
    "read_file",
    "find_files",
    "search_text",
    "edit_file",
    "write_file",
    "run_command",
    "ask_user",
    "task_complete",
    "fail",
    "read_files",
];

pub fn check(mut input: &[u8]) {
    let tool = TOOLS[number(&mut input) % TOOLS.len()];
    let given = text(input);
    let parsed = parse(tool, &given);
    for mode in Mode::ALL {
        match parse_for(mode, tool, &given) {
            Ok(in_mode) => assert_eq!(Some(&in_mode), parsed.as_ref().ok()),
            Err(why) => assert!(parsed.is_err() || why.text.contains("not offered in this mode"), "{why}"),
        }
    }
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(why) => {
            assert!(!why.text.is_empty() && why.text.len() <= 4096, "{} bytes: {why}", why.text.len());
            assert!(!why.text.chars().any(hidden), "{why:?}");
            return;
        }
    };
    let (name, written) = written(&arguments);
    assert_eq!(name, tool);
    // No other reader of the same text may find something else in it.
    let read: Value = serde_json::from_str(&given).expect("what is accepted is JSON");
    let read: Map<String, Value> = read.as_object().expect("an object").clone();
    let given_keys = read.into_iter().filter(|(_, value)| !value.is_null());
    let dropped = |(key, value): &(String, Value)| {
        // What a default says is not written again.
        (key == "replace_all" && *value == json!(false)) || (key == "options" && *value == json!([]))
    };
    let given_keys: Map<String, Value> = given_keys.filter(|pair| !dropped(pair)).collect();
    assert_eq!(Value::Object(given_keys), written);
    assert_eq!(parse(tool, &written.to_string()).as_ref(), Ok(&arguments));
    let title = title(&arguments);
    assert!(title.chars().count() <= MAX_TITLE && !title.chars().any(hidden), "{title:?}");
}

/// Writes accepted arguments as a model would.
fn written(arguments: &Arguments) -> (&'static str, Value) {
    let (tool, all) = match arguments {
        Arguments::ListFiles { path } => ("list_files", json!({ "path": path })),
        Arguments::ReadFile { path, offset, limit } => {
            ("read_file", json!({"path": path, "offset": offset, "limit": limit}))
        }
        Arguments::FindFiles { pattern } => ("find_files", json!({ "pattern": pattern })),
        Arguments::SearchText { pattern, path, glob } => {
            ("search_text", json!({"pattern": pattern, "path": path, "glob": glob}))
        }
        Arguments::EditFile { path, old_text, new_text, replace_all } => {
            let all = replace_all.then_some(true);
            (
                "edit_file",
                json!({"path": path, "old_text": old_text, "new_text": new_text, "replace_all": all}),
            )
        }
        Arguments::WriteFile { path, content } => ("write_file", json!({"path": path, "content": content})),
        Arguments::RunCommand { command, cwd, timeout_seconds } => {
            ("run_command", json!({"command": command, "cwd": cwd, "timeout_seconds": timeout_seconds}))
        }
        Arguments::AskUser { question, options } => {
            let options = (!options.is_empty()).then_some(options);
            ("ask_user", json!({"question": question, "options": options}))
        }
        Arguments::TaskComplete { summary } => ("task_complete", json!({ "summary": summary })),
        Arguments::Fail { reason } => ("fail", json!({ "reason": reason })),
    };
    let Value::Object(all) = all else { unreachable!("json! of braces is an object") };
    (tool, Value::Object(all.into_iter().filter(|(_, value)| !value.is_null()).collect()))
}
