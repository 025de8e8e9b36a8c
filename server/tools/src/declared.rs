//! Tests of the tools as data: names, schemas, checks of arguments, titles.

use std::collections::BTreeSet;

use adjutant_core::config::TOOLS;
use adjutant_core::record::Mode;
use adjutant_core::tool::{Effect, MAX_ARGUMENTS, MAX_COMMAND, MAX_EDIT_ARGUMENTS, MAX_PATTERN, MAX_TITLE};

use super::*;

fn parse(name: &str, arguments: &str) -> Result<Arguments, Reason> {
    Toolbox::default().set().parse(Mode::Code, name, arguments)
}

fn specs(mode: Mode) -> Arc<[adjutant_core::prompt::ToolSpec]> {
    Toolbox::default().set().specs(mode)
}

fn refused(name: &str, arguments: &str) -> String {
    match parse(name, arguments) {
        Ok(parsed) => panic!("{name} {arguments} was accepted as {parsed:?}"),
        Err(Reason { text, .. }) => {
            assert!(text.len() < 1000, "bounded: {text}");
            assert!(!text.ends_with('.'), "a fragment: {text}");
            text
        }
    }
}

#[test]
fn every_tool_takes_its_arguments() {
    let accepted = [
        ("list_files", r#"{"path":"."}"#, Effect::Read, "List ."),
        ("read_file", r#"{"path":"src/main.rs","offset":10,"limit":5}"#, Effect::Read, "Read src/main.rs"),
        ("read_file", r#"{"path":"a","offset":null}"#, Effect::Read, "Read a"),
        ("find_files", r#"{"pattern":"*.rs"}"#, Effect::Read, "Find *.rs"),
        (
            "search_text",
            r#"{"pattern":"fn x","path":"src","glob":"*.rs"}"#,
            Effect::Read,
            "Search fn x in src",
        ),
        ("edit_file", r#"{"path":"a","old_text":"x","new_text":""}"#, Effect::OwnEdit, "Edit a"),
        ("write_file", r#"{"path":"a","content":""}"#, Effect::OwnEdit, "Write a"),
        ("move_file", r#"{"from":"a","to":"b/c"}"#, Effect::OwnEdit, "Move a to b/c"),
        ("delete_file", r#"{"path":"a"}"#, Effect::OwnEdit, "Delete a"),
        (
            "run_command",
            r#"{"command":"cargo test","timeout_seconds":3600}"#,
            Effect::Opaque,
            "Run cargo test",
        ),
        ("ask_user", r#"{"question":"Which?","options":["a","b"]}"#, Effect::Question, "Ask Which?"),
        (
            "update_plan",
            r#"{"plan":[{"step":"Read","status":"completed"},{"step":"Edit","status":"in_progress"}]}"#,
            Effect::Read,
            "Plan 2 steps",
        ),
        ("task_complete", r#"{"summary":"All done."}"#, Effect::End, "Done: All done."),
        ("fail", r#"{"reason":"No disk."}"#, Effect::End, "Give up: No disk."),
    ];
    for (name, arguments, class, line) in accepted {
        parse(name, arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
        let set = Toolbox::default().set().clone();
        assert_eq!((set.effect_of(name), set.title_of(name, arguments).as_str()), (class, line));
    }
    assert!(specs(Mode::Code).iter().all(|spec| accepted.iter().any(|(name, ..)| *name == spec.name)));
}

/// The tool-call cases of the bad-input corpus that concern arguments.
#[test]
fn bad_calls_are_refused_with_what_to_do() {
    let deep = "[".repeat(200_000);
    let escapes = format!("{{\"path\":\"{}\"}}", "\\u0041".repeat(100_000));
    let long_name = "t".repeat(10_000);
    let cases: &[(&str, &str, &str)] = &[
        ("read_file", "{\"path\":\"src/ma", "not one JSON object"),
        ("read_file", "", "not one JSON object"),
        ("read_file", "null", "a JSON object"),
        ("read_file", "\"src/main.rs\"", "a JSON object"),
        ("read_file", "[\"src/main.rs\"]", "a JSON object"),
        ("read_file", "{\"path\":\"a\"}\n```", "nothing around it"),
        ("read_file", "{'path':'a'}", "not one JSON object"),
        ("read_file", "{\"path\":\"a\",\"path\":\"/etc/passwd\"}", "comes twice"),
        ("read_file", "{\"path\":\"a\",\"__proto__\":{\"x\":1}}", "no argument `__proto__`"),
        ("read_file", "{\"path\":1e999}", "not one JSON object"),
        ("read_file", "{\"path\":12}", "must be a string"),
        ("read_file", "{}", "needs the argument `path`"),
        ("read_file", "{\"limit\":18446744073709551616,\"path\":\"a\"}", "a whole number"),
        ("read_file", "{\"limit\":0,\"path\":\"a\"}", "from 1 to"),
        ("read_file", "{\"limit\":-1,\"path\":\"a\"}", "from 1 to"),
        ("read_file", "{\"limit\":\"5\",\"path\":\"a\"}", "a whole number"),
        ("read_file", "{\"limit\":1.5,\"path\":\"a\"}", "a whole number"),
        ("read_file", "{\"path\":\"\\ud800\"}", "not one JSON object"),
        ("read_file", "\u{feff}{\"path\":\"a\"}", "not one JSON object"),
        ("read_file", "NaN", "not one JSON object"),
        ("read_file", &deep, "not one JSON object"),
        ("read_file", &escapes, "at most 4096"),
        ("read_file", "{\"path\":\"\"}", "empty"),
        ("read_file", "{\"path\":\"a\\u0000b\"}", "control character"),
        ("read_file", "{\"path\":\"new\\nline.txt\"}", "control character"),
        ("no_such_tool", "{}", "the tools are"),
        ("read_fil", "{}", "the tools are read_file, find_files"),
        ("read_file\u{200b}", "{\"path\":\"a\"}", "read_file\\u{200b}"),
        (&long_name, "{}", "there is no tool"),
        ("run_command", "{\"command\":[\"ls\",[\"-la\"]]}", "must be a string"),
        ("run_command", "{\"command\":\"ls\",\"sandbox\":\"off\"}", "no argument `sandbox`"),
        ("run_command", "{\"command\":\"ls\",\"timeout_seconds\":3601}", "1 to 3600"),
        ("run_command", "{\"command\":\" \\n \"}", "empty"),
        ("edit_file", "{\"path\":\"a.rs\",\"old_text\":\"\\r\\n\",\"new_text\":\"\\n\"}", "line ends"),
        ("edit_file", "{\"path\":\"a.rs\",\"old_text\":\"\",\"new_text\":\"y\"}", "write_file"),
        ("edit_file", "{\"path\":\"a.rs\",\"old_text\":\"y\",\"new_text\":\"y\"}", "equal"),
        (
            "edit_file",
            "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"y\",\"replace_all\":\"yes\"}",
            "true or false",
        ),
        ("ask_user", "{\"question\":\"?\",\"options\":[{}]}", "an array of up to 10"),
    ];
    for (name, arguments, wanted) in cases {
        let text = refused(name, arguments);
        assert!(text.contains(wanted), "{wanted:?} is not in: {text}");
    }
}

#[test]
fn sizes_are_bounded_and_file_text_may_be_larger() {
    let big = "x".repeat(MAX_ARGUMENTS);
    assert!(parse("write_file", &format!("{{\"path\":\"a\",\"content\":\"{big}\"}}")).is_ok());
    assert!(refused("task_complete", &format!("{{\"summary\":\"{big}\"}}")).contains("at most 1048576"));
    let huge = "x".repeat(MAX_EDIT_ARGUMENTS);
    assert!(
        refused("write_file", &format!("{{\"path\":\"a\",\"content\":\"{huge}\"}}"))
            .contains("at most 12582912")
    );
    let flood: Vec<String> = (0..100).map(|n| format!("\"k{n}\":1")).collect();
    assert!(refused("read_file", &format!("{{{}}}", flood.join(","))).contains("16 keys"));
    let pattern = format!("{{\"pattern\":\"{}\"}}", "a".repeat(MAX_PATTERN + 1));
    assert!(refused("search_text", &pattern).contains("at most 1024"));
}

/// The display cases of the command corpus: a command that cannot be shown does not run.
#[test]
fn a2_commands_that_cannot_be_shown_are_refused() {
    let pushed = format!("ls{}touch pwned", "\n".repeat(300));
    let blanks = format!("ls{}; touch pwned", " ".repeat(300));
    let long = "x".repeat(MAX_COMMAND + 1);
    for bad in [
        "ls \u{202e}; touch pwned",
        "echo hi \u{e0074}\u{e006f}\u{e0075}",
        "ls \u{1b}[2K\u{1b}[1Gecho harmless; touch pwned",
        "ls\u{8}\u{8}touch pwned",
        "ls\u{2028}touch pwned",
        "ls \0; touch pwned",
        "ls\rtouch pwned",
        "l\u{200b}s",
        &pushed,
        &blanks,
        &long,
    ] {
        let arguments = serde_json::json!({ "command": bad }).to_string();
        refused("run_command", &arguments);
    }
    for good in ["  \n\t  ls\n\n", "git commit -m 'Grüße, 世界 ✨'", "cat <<E\na\n\nb\nE"] {
        let arguments = serde_json::json!({ "command": good }).to_string();
        let given = parse("run_command", &arguments).expect(good);
        assert_eq!((given.text("command"), given.optional("cwd")), (good, None));
        assert_eq!(given.number("timeout_seconds"), None);
    }
}

#[test]
fn ask_mode_offers_and_takes_only_reads_and_questions() {
    let set = Toolbox::default().set().clone();
    let names: Vec<&str> = set.names(Mode::Ask).collect();
    assert_eq!(
        names,
        [
            "list_files",
            "read_file",
            "find_files",
            "search_text",
            "update_plan",
            "ask_user",
            "task_complete",
            "fail"
        ]
    );
    let text = set.parse(Mode::Ask, "run_command", r#"{"command":"ls"}"#).expect_err("refused").text;
    assert!(text.contains("not offered in this mode") && !text.contains(", run_command"), "{text}");
}

#[test]
fn schemas_are_closed_and_frozen() {
    for spec in specs(Mode::Code).iter() {
        assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
        assert_eq!(spec.parameters["type"], "object");
        assert!(spec.description.len() < 160 && spec.description.ends_with('.'));
        for property in spec.parameters["properties"].as_object().expect("properties").values() {
            assert!(property["description"].is_string() && property["type"].is_string());
        }
    }
    assert_eq!(specs(Mode::Code), specs(Mode::Code));
    expect_test::expect![[r#"{"additionalProperties":false,"properties":{"limit":{"description":"Number of lines, at most 2000.","type":"integer"},"line_numbers":{"description":"Number the lines.","type":"boolean"},"offset":{"description":"First line to read, counted from 1.","type":"integer"},"path":{"description":"Path relative to the workspace folder, or absolute.","type":"string"}},"required":["path"],"type":"object"}"#]]
        .assert_eq(&specs(Mode::Code)[1].parameters.to_string());
}

#[test]
fn titles_are_one_short_honest_line() {
    let command = format!("echo a\necho \u{202e}b {}", "x".repeat(10_000));
    let arguments = serde_json::json!({ "command": command.replace('\u{202e}', "") }).to_string();
    let line = Toolbox::default().set().title_of("run_command", &arguments);
    assert_eq!(line.chars().count(), MAX_TITLE);
    assert!(line.starts_with("Run echo a echo b xx") && line.ends_with('…'), "{line}");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(name in "[a-z_]{0,12}", arguments in ".{0,200}") {
        let _ = parse(&name, &arguments);
        for spec in specs(Mode::Code).iter() {
            let _ = parse(&spec.name, &arguments);
        }
    }

    #[test]
    fn what_a_model_writes_comes_back(path in "[^\u{0}-\u{1f}\u{7f}-\u{9f}]{1,100}", content in "(?s).{0,200}") {
        let arguments = serde_json::json!({ "path": path, "content": content }).to_string();
        let given = parse("write_file", &arguments).expect("it is accepted");
        proptest::prop_assert_eq!((given.text("path"), given.text("content")), (&*path, &*content));
    }
}

#[test]
fn deny_rules_know_the_tools_that_are_always_there() {
    let names = |edits| -> Vec<String> {
        Toolbox::built_in(edits).set().names(Mode::Code).map(str::to_owned).collect()
    };
    let all: Vec<String> = EditTool::ALL.into_iter().flat_map(names).collect();
    let all: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(all, TOOLS.into_iter().collect(), "and their names differ");
    assert_eq!(all.len(), TOOLS.len());
}

#[test]
fn n24_a_model_that_edits_by_patches_has_no_other_tool_to_edit() {
    let set = Toolbox::built_in(EditTool::ApplyPatch).set().clone();
    let edits = set.names(Mode::Code).filter(|name| set.effect_of(name) == Effect::OwnEdit);
    assert_eq!(edits.collect::<Vec<_>>(), ["apply_patch"]);
    assert!(!set.names(Mode::Ask).any(|name| name == "apply_patch"));
    assert_ne!(set.hash(), Toolbox::default().set().hash());
    let spec = set.specs(Mode::Code).iter().find(|spec| spec.free_form).cloned().expect("it takes text");
    assert_eq!(spec.name, "apply_patch");
    let patch = "*** Begin Patch\n*** Delete File: a\n*** Add File: b\n*** Add File: c\n*** End Patch";
    let arguments = serde_json::json!({ "input": patch }).to_string();
    assert_eq!(set.title_of("apply_patch", &arguments), "Edit a, b and 1 more");
    let why = set.parse(Mode::Code, "apply_patch", r#"{"input":"*** Begin"}"#).expect_err("it is no patch");
    assert_eq!(why.cause, Cause::WrongArgument);
    // A run that is opened again finds its own tools by their hash.
    let registry = ToolRegistry::default();
    let found = registry.of_hash(set.hash()).expect("it is there");
    assert!(found.set().has("apply_patch") && registry.of_hash("none").is_none());
}
