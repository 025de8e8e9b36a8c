//! The wire protocol and its documents come from one source (L04).
//!
//! Compares everything that is generated; `UPDATE_DOCS=1` writes it again.
//! Never checks the behaviour of the server, except in the conversation that the page shows.

mod calls;
pub(crate) mod client;
mod conversation;
mod typescript;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use adjutant_protocol::ask::{AskGroup, AskKind};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::methods::{self, Direction, METHODS};
use adjutant_protocol::schema::{json_schema, tables, typescript};
use adjutant_protocol::update::Update;
use serde_json::{Value, json};

use crate::tidy::source::{files, read};

const PAGE: &str = "docs/protocol.md";

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Compares a generated file with the one in the repository, or writes it.
fn is_generated(path: &str, expected: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(file(path).parent().unwrap()).unwrap();
        fs::write(file(path), expected).unwrap();
    }
    let found = fs::read_to_string(file(path)).unwrap_or_default();
    assert!(
        found == expected,
        "{path} differs from the types in server/protocol; \
         run `UPDATE_DOCS=1 cargo test -p adjutant --test it protocol` and read the difference"
    );
}

/// Compares or writes one part of the page, between its markers.
fn is_generated_part(name: &str, expected: &str) {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let page = fs::read_to_string(file(PAGE)).unwrap();
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{PAGE} has no mark {begin}"));
    let (found, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{PAGE} has no mark {end}"));
    let expected = format!("\n{}\n\n", expected.trim());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(file(PAGE), format!("{before}{begin}{expected}{end}{after}")).unwrap();
    } else {
        assert!(
            found == expected,
            "the part \"{name}\" of {PAGE} is out of date; \
             run `UPDATE_DOCS=1 cargo test -p adjutant --test it protocol` and read the difference"
        );
    }
}

fn schema() -> Value {
    serde_json::from_str(&json_schema()).expect("the schema is JSON")
}

/// Returns the constants that a schema definition allows, in any form of the schema.
fn constants(definition: &Value) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let listed = definition["enum"].as_array().into_iter().flatten().filter_map(text);
    let branches = definition["oneOf"].as_array().into_iter().flatten();
    listed
        .chain(branches.flat_map(|branch| {
            let one = text(&branch["const"]);
            one.into_iter().chain(branch["enum"].as_array().into_iter().flatten().filter_map(text))
        }))
        .collect()
}

#[test]
fn l04_schema_and_types_are_generated() {
    is_generated("docs/protocol/schema.json", &json_schema());
    is_generated("docs/protocol/protocol.d.ts", &typescript());
}

/// One test for both parts, because two tests would write the page at the same time.
#[test]
fn l04_the_page_has_the_tables_and_a_real_conversation() {
    is_generated_part("generated", &tables());
    is_generated_part("generated conversation", &conversation::recorded());
}

#[test]
fn every_reference_of_the_schema_leads_somewhere() {
    let schema = schema();
    let mut wrong = Vec::new();
    let mut seen = 0;
    let mut left = vec![&schema];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                    seen += 1;
                    let pointer = target.strip_prefix('#').unwrap_or("/not here");
                    if schema.pointer(pointer).is_none() {
                        wrong.push(target.to_owned());
                    }
                }
                left.extend(fields.values());
            }
            Value::Array(items) => left.extend(items),
            _ => {}
        }
    }
    assert!(seen > 50, "only {seen} references were found: is the schema still read right?");
    assert!(wrong.is_empty(), "these references have no target: {wrong:?}");
}

#[test]
fn every_type_of_a_method_is_in_schema_and_typescript() {
    let (schema, types) = (schema(), typescript());
    for method in METHODS {
        for name in [method.params, method.result].into_iter().filter(|name| !name.is_empty()) {
            assert!(schema["$defs"].get(name).is_some(), "{name} of {} is not in the schema", method.name);
            let declared = [format!("export type {name} ="), format!("export interface {name} ")];
            assert!(
                declared.iter().any(|declaration| types.contains(declaration)),
                "{name} of {} is not declared in TypeScript",
                method.name
            );
        }
        let answered = matches!(method.direction, Direction::ClientRequest | Direction::ServerRequest);
        assert_eq!(answered, !method.result.is_empty(), "{}: a request has a result", method.name);
    }
}

/// Returns the constants of `methods.rs` with their values.
fn constants_of_methods() -> Vec<(String, String)> {
    let text = read("server/protocol/src/methods.rs");
    let constant = |line: &str| {
        let (name, value) = line.strip_prefix("pub const ")?.split_once(": &str = \"")?;
        Some((name.to_owned(), value.trim_end_matches("\";").to_owned()))
    };
    text.lines().filter_map(constant).collect()
}

#[test]
fn every_method_is_routed_or_sent() {
    let constants = constants_of_methods();
    assert_eq!(constants.len(), METHODS.len(), "a constant without a row, or a row without a constant");
    let squeezed = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let router = squeezed(read("server/src/agent.rs"));
    let requests: String =
        files("server/src/agent", &[".rs"]).into_iter().map(|file| squeezed(file.text)).collect();
    let senders: String = std::iter::once(read("server/src/client.rs"))
        .chain(files("server/src/client", &[".rs"]).into_iter().map(|file| file.text))
        .collect();
    for method in METHODS {
        let (constant, _) = constants
            .iter()
            .find(|(_, value)| value == method.name)
            .unwrap_or_else(|| panic!("{} has no constant", method.name));
        if matches!(method.direction, Direction::ServerRequest | Direction::ServerNotification) {
            assert!(
                senders.contains(&format!("methods::{constant}")),
                "no file of server/src/client sends {}; send it, or remove it from the table",
                method.name
            );
            continue;
        }
        let route = format!("names::{constant} => ");
        let (_, after) = router.split_once(&route).unwrap_or_else(|| {
            panic!(
                "{} is not in the table of server/src/agent.rs; add it there, or remove it from `METHODS`",
                method.name
            )
        });
        let function: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let head = format!("async fn {function}(&self, params: ");
        let (_, signature) = requests
            .split_once(&head)
            .unwrap_or_else(|| panic!("{function} is not in server/src/agent, or has no params"));
        let (signature, _) = signature.split_once('{').expect("a function has a body");
        let allowed = [method.params.to_owned(), format!("Option<{}>", method.params)];
        let (params, result) = signature.split_once(')').expect("a signature is closed");
        assert!(allowed.iter().any(|one| one == params), "{function} has {params}, not one of {allowed:?}");
        if !method.result.is_empty() {
            assert_eq!(result.trim(), format!("-> Result<{}>", method.result), "{function}");
        }
    }
}

#[test]
fn no_method_stands_outside_the_table() {
    for source in files("server/src", &[".rs"]) {
        for (at, _) in source.text.match_indices("\"agent/") {
            let name: String = source.text[at + 1..].chars().take_while(|c| *c != '"').collect();
            assert_eq!(name, "agent/", "{}: use the constant of `methods` for {name}", source.path);
        }
    }
    let names: BTreeSet<&str> = METHODS.iter().map(|method| method.name).collect();
    assert_eq!(names.len(), METHODS.len(), "a method is in the table twice");
    assert!(names.iter().all(|name| name.starts_with("agent/")), "{names:?}");
    assert!(names.contains(methods::SESSION_PROMPT));
}

/// Returns one update of each kind.
fn updates() -> Vec<Value> {
    let state = json!({ "state": "idle", "since": 1, "asks": [], "requiredAction": "new_task" });
    let usage = json!({ "inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 0, "cacheWriteTokens": 0 });
    let mut state_update = state;
    state_update["sessionUpdate"] = json!("state_update");
    vec![
        json!({ "sessionUpdate": "user_message", "messageId": "m", "text": "t" }),
        json!({ "sessionUpdate": "agent_message", "messageId": "m", "text": "t" }),
        json!({ "sessionUpdate": "agent_message_chunk", "messageId": "m", "text": "t" }),
        json!({ "sessionUpdate": "agent_thought", "messageId": "m", "text": "t" }),
        json!({ "sessionUpdate": "agent_thought_chunk", "messageId": "m", "text": "t" }),
        json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "c", "tool": "read_file", "title": "t",
            "kind": "read", "status": "_interrupted", "argumentsText": "path: a",
            "locations": [{
                "uri": "file:///a",
                "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 1, "character": 0 } }
            }]
        }),
        json!({ "sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "text": "t" }),
        state_update,
        json!({ "sessionUpdate": "notice", "message": "m" }),
        json!({
            "sessionUpdate": "config_option_update",
            "configOptions": [{
                "id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "ask",
                "options": [{ "value": "ask", "name": "Ask", "description": "d" }]
            }],
            "changed": { "configId": "mode", "from": "code", "to": "ask" }
        }),
        json!({ "sessionUpdate": "plan_update", "entries": [{ "content": "c", "status": "in_progress" }] }),
        json!({
            "sessionUpdate": "compaction_update", "compactionId": "c", "title": "t", "kind": "summary",
            "status": "completed", "before": 9, "after": 1, "text": "t"
        }),
        json!({ "sessionUpdate": "usage_update", "contextUsed": 1, "contextSize": 2, "session": { "requests": 1, "usage": usage } }),
        json!({ "sessionUpdate": "_turn", "turn": 1, "phase": "ended", "attempt": 1, "usage": usage }),
        json!({ "sessionUpdate": "_run", "phase": "started", "runId": "r", "model": "p/m", "title": "mend it" }),
        json!({ "sessionUpdate": "_complete", "summary": "s" }),
        json!({
            "sessionUpdate": "_ask", "phase": "closed", "askId": "a", "resolution": { "type": "cancelled" }
        }),
        json!({
            "sessionUpdate": "_change_set", "changeSetId": "s", "toolCallId": "c", "uri": "file:///a",
            "path": "a", "hunks": [{ "hunkId": "h", "state": "applied", "removed": 1, "inserted": 1 }]
        }),
        json!({ "sessionUpdate": "_rule", "text": "t" }),
    ]
}

#[test]
fn every_update_kind_is_its_tag() {
    let updates = updates();
    assert_eq!(updates.len(), Update::KINDS.len(), "a kind without an example here");
    for (value, (kind, lasting)) in updates.into_iter().zip(Update::KINDS) {
        let update: Update =
            serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{value}: {error}"));
        let again = serde_json::to_value(&update).expect("an update serialises");
        assert_eq!(again, value, "an update does not survive the wire");
        assert_eq!(again["sessionUpdate"], kind, "the table of kinds is in the order of the examples");
        assert_eq!(update.kind(), kind);
        // Only chunks, notices and the usage may be lost.
        let may_be_lost = kind.ends_with("_chunk") || kind == "notice" || kind == "usage_update";
        assert_eq!(!lasting, may_be_lost, "{kind}");
    }
    let schema = schema();
    let branches = schema["$defs"]["Update"]["oneOf"].as_array().expect("one branch for each kind");
    let tags: BTreeSet<&str> = branches
        .iter()
        .map(|branch| branch["properties"]["sessionUpdate"]["const"].as_str().expect("a branch has its tag"))
        .collect();
    let kinds: BTreeSet<&str> = Update::KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(tags, kinds, "the table of kinds and the type disagree");
}

#[test]
fn error_codes_go_down_in_table_order() {
    for (index, error) in ErrorName::ALL.into_iter().enumerate() {
        assert_eq!(error.code(), -33_001 - i64::try_from(index).unwrap(), "{error:?}");
        assert!(!error.meaning().is_empty());
    }
    let names: BTreeSet<String> = ErrorName::ALL.iter().map(|error| format!("{error:?}")).collect();
    assert_eq!(
        names,
        constants(&schema()["$defs"]["ErrorName"]),
        "the table lacks an error, or has one twice"
    );
}

#[test]
fn l04_ask_kinds_are_the_twelve_names_of_seed_000() {
    let groups = [
        (
            AskGroup::Interactive,
            vec!["tool", "command", "followup", "browser_action_launch", "use_mcp_server"],
        ),
        (
            AskGroup::Idle,
            vec![
                "completion_result",
                "api_req_failed",
                "mistake_limit_reached",
                "auto_approval_max_req_reached",
                "resume_completed_task",
            ],
        ),
        (AskGroup::Resumable, vec!["resume_task"]),
        (AskGroup::NonBlocking, vec!["command_output"]),
    ];
    let mut names = BTreeSet::new();
    for (group, kinds) in groups {
        for name in kinds {
            let kind: AskKind =
                serde_json::from_value(json!(name)).unwrap_or_else(|_| panic!("no kind {name}"));
            assert_eq!(kind.group(), group, "{name}");
            assert!(AskKind::ALL.contains(&kind), "{name} is not in AskKind::ALL");
            names.insert(name.to_owned());
        }
    }
    assert_eq!(names.len(), 12);
    assert_eq!(names, constants(&schema()["$defs"]["AskKind"]));
}

#[test]
fn the_page_names_every_state_and_stop_reason() {
    let (schema, page) = (schema(), read(PAGE));
    for definition in
        ["State", "SubState", "RequiredAction", "StopReason", "Outcome", "HunkState", "ToolStatus"]
    {
        let names = constants(&schema["$defs"][definition]);
        assert!(!names.is_empty(), "{definition} has no constants: is the schema still read right?");
        for name in names {
            assert!(
                page.contains(&format!("`{name}`")),
                "{PAGE} does not say what `{name}` ({definition}) means"
            );
        }
    }
}

#[test]
fn the_page_names_every_way_to_answer_an_ask() {
    let page = read(PAGE);
    for kind in AskKind::ALL {
        let name = serde_json::to_value(kind).unwrap();
        let name = format!("`{}`", name.as_str().unwrap());
        let rows = page.lines().filter(|line| line.starts_with('|') && line.contains(&name));
        let row =
            rows.max_by_key(|line| line.len()).unwrap_or_else(|| panic!("{PAGE} has no row for {name}"));
        for option in adjutant_core::policy::ask::options(kind.into(), Some("Always"), &["a".to_owned()]) {
            let option = format!("`{}`", option.option_id);
            assert!(row.contains(&option), "{PAGE}: the row of {name} does not name the option {option}");
        }
    }
}

#[test]
fn the_page_says_which_errors_nobody_answers() {
    let page = read(PAGE);
    let (_, after) = page.split_once("\n- The errors ").expect("a point about the errors that are reserved");
    let (reserved, _) = after.split_once(" reserved").expect("the point says that they are reserved");
    let code: String = files("server/src", &[".rs"]).into_iter().map(|file| file.text).collect();
    for error in ErrorName::ALL {
        let answered = code.contains(&format!("ErrorName::{error:?}"));
        let named = reserved.contains(&format!("`{error:?}`"));
        assert_ne!(
            answered, named,
            "{error:?}: {PAGE} says reserved: {named}; the server answers it: {answered}"
        );
    }
}
