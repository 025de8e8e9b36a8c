//! Deny rules bind files for every tool, and no answer lifts them (finding B2). Adjutant's own files are read
//! only after an approval, and never written (finding B5).

use std::fs;
use std::os::unix::fs::symlink;

use adjutant_testkit::editor::{Answer, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::stage::{Stage, edit, write};

const FILES: &str = "
    //- /src/lib.rs
    fn one() {}
    //- /Cargo.lock
    locked one
    //- /private/plan.md
    the needle is here
    second line
    //- /open.md
    no needle of yours
";

fn read(path: &str) -> Reply {
    Reply::call("read_file", json!({"path": path}))
}

fn search(arguments: serde_json::Value) -> Reply {
    Reply::call("search_text", arguments)
}

/// Returns a stage whose settings have these deny rules, and where every ask is allowed.
fn denying(workspace: Workspace, rules: &str) -> Stage {
    let config = format!("[limits]\nmistakes = 50\n[permissions]\ndeny = [{rules}]");
    Stage::configured(workspace, &config, |options| options).answering("allow")
}

#[test]
fn finding_b2_a_file_denied_to_reading_is_shown_by_no_tool() {
    let stage = denying(Workspace::new(FILES), "\"read_file(private/**)\"");
    let outputs = stage.play([
        read("private/plan.md"),
        search(json!({"pattern": "needle"})),
        search(json!({"pattern": "needle", "path": "."})),
        search(json!({"pattern": "needle", "path": "private"})),
        search(json!({"pattern": "needle", "path": "private/plan.md"})),
        Reply::call("list_files", json!({"path": "private"})),
        Reply::call("find_files", json!({"pattern": "**/*.md"})),
        edit("private/plan.md", "not there", "x"),
        write("private/plan.md", "the needle is here\nsecond line\n"),
        read("private/../private//plan.md"),
    ]);
    for (call, output) in outputs.iter().enumerate() {
        assert!(!output.contains("is here") && !output.contains("plan.md:"), "call {call}: {output}");
    }
    for denied in [0, 4, 7, 9] {
        assert!(
            outputs[denied].contains("the rule \"read_file(private/**)\""),
            "{denied}: {}",
            outputs[denied]
        );
    }
    assert!(
        outputs[1].starts_with("open.md:1:") && outputs[1].contains("[not searched: 1 name that a deny rule"),
        "{}",
        outputs[1]
    );
    assert!(outputs[5].contains("[not listed: 1 name that a deny rule"), "{}", outputs[5]);
    assert!(outputs[6].starts_with("open.md\n[not listed: 1 name"), "{}", outputs[6]);
}

#[test]
fn finding_b2_a_file_denied_to_editing_is_written_by_no_tool() {
    let stage = denying(Workspace::new(FILES), "\"edit_file(**/*.lock)\"");
    let outputs =
        stage.play([write("Cargo.lock", "mine\n"), edit("Cargo.lock", "one", "two"), read("Cargo.lock")]);
    assert!(
        outputs[0].contains("the rule \"edit_file(**/*.lock)\"") && outputs[1].contains("the rule"),
        "{outputs:?}"
    );
    assert!(
        outputs[2].contains("locked one"),
        "a rule against writing does not prevent reading: {outputs:?}"
    );
    assert_eq!(stage.workspace.read("Cargo.lock"), "locked one\n");
}

#[test]
fn finding_b2_the_pattern_of_a_search_is_no_path() {
    let stage = denying(Workspace::new(FILES), "\"search_text(needle)\", \"find_files(open.md)\"");
    let outputs = stage.play([
        search(json!({"pattern": "needle"})),
        Reply::call("find_files", json!({"pattern": "*.md"})),
        Reply::call("find_files", json!({"pattern": "open.md"})),
    ]);
    // The rules mean the file `needle` and the file `open.md`.
    assert!(outputs[0].starts_with("private/plan.md:1:"), "{outputs:?}");
    assert!(outputs[1].contains("plan.md") && !outputs[1].contains("open.md"), "{outputs:?}");
    assert!(outputs[2].starts_with("no file matches"), "{outputs:?}");
    // A rule without a path denies the tool itself.
    let stage = denying(Workspace::new(FILES), "\"search_text\"");
    let outputs = stage.play([search(json!({"pattern": "needle"})), read("open.md")]);
    assert!(outputs[0].contains("the rule \"search_text\"") && outputs[1].contains("needle"), "{outputs:?}");
}

#[test]
fn finding_b2_relative_rules_hold_in_every_folder() {
    let second = Workspace::new("//- /private/far.md\nthe needle is far\n");
    let workspace = Workspace::new(FILES);
    let config = "[limits]\nmistakes = 50\n[permissions]\ndeny = [\"read_file(private/**)\", \"write_file(private/)\"]";
    let mut stage = Stage::configured(workspace, config, |options| options).answering("allow");
    let added = json!([{"uri": second.uri(""), "name": "second"}]);
    stage
        .rig
        .notify("workspace/didChangeWorkspaceFolders", json!({"event": {"added": added, "removed": []}}));
    stage.session = stage.rig.new_session();
    let far = second.path().join("private/far.md").display().to_string();
    let outputs = stage.play([read(&far), search(json!({"pattern": "needle"})), edit(&far, "far", "near")]);
    assert!(outputs[0].contains("the rule \"read_file(private/**)\""), "{outputs:?}");
    assert!(!outputs[1].contains("is far") && outputs[1].contains("2 names that a deny rule"), "{outputs:?}");
    assert!(outputs[2].contains("the rule") && second.read("private/far.md").contains("far"), "{outputs:?}");
}

#[test]
fn finding_b2_neither_a_second_name_nor_another_spelling_passes() {
    let workspace = Workspace::new(FILES);
    let root = workspace.path().to_owned();
    fs::hard_link(root.join("private/plan.md"), root.join("copy.md")).unwrap();
    symlink("private/plan.md", root.join("link.md")).unwrap();
    // The same letters, once composed and once decomposed.
    workspace.write("cafe\u{301}.md", "the needle is here\n");
    workspace.write("PRIV\u{c9}.md", "the needle is here\n");
    let rules = "\"read_file(private/**)\", \"read_file(caf\u{e9}.md)\", \"read_file(prive\u{301}.md)\"";
    let stage = denying(workspace, rules);
    let outputs = stage.play([
        read("copy.md"),
        read("link.md"),
        read("cafe\u{301}.md"),
        read("PRIV\u{c9}.md"),
        search(json!({"pattern": "needle"})),
        search(json!({"pattern": "needle", "path": "copy.md"})),
    ]);
    for (call, output) in outputs.iter().enumerate() {
        assert!(!output.contains("is here"), "call {call}: {output}");
    }
    assert!(outputs[..4].iter().all(|output| output.contains("the rule \"read_file(")), "{outputs:?}");
    // A second name of a file without a rule is allowed.
    fs::hard_link(root.join("open.md"), root.join("other.md")).unwrap();
    assert!(stage.play([read("other.md")])[0].contains("no needle"));
}

#[test]
fn finding_b2_a_start_quotes_nothing_that_may_not_be_read() {
    let stage = denying(Workspace::new(FILES), "\"read_file(private/**)\"");
    stage.rig.open("private/plan.md");
    stage.model.push(Reply::text("Done."));
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}});
    let params =
        json!({"template": "explain", "uri": stage.workspace.uri("private/plan.md"), "range": range});
    let started = stage.rig.request("agent/start", params).expect("it starts");
    let session = serde_json::from_value(started["sessionId"].clone()).unwrap();
    let run = serde_json::from_value(started["runId"].clone()).unwrap();
    stage.rig.await_run_end(&session, &run);
    let said = format!("{:?}", stage.conversation());
    assert!(said.contains("private/plan.md") && !said.contains("is here"), "{said}");
}

/// Returns a stage whose root also holds Adjutant's settings and state, and the path of that root.
fn home() -> (Stage, std::path::PathBuf) {
    let workspace = Workspace::new("//- /notes.md\nno sk-secret of mine\n");
    let base = workspace.path().parent().unwrap().to_owned();
    let key = workspace.write_beside("work.key", "sk-secret-key\n");
    let own = format!(
        "[limits]\nmistakes = 50\n[providers.work]\nbase_url = \"http://127.0.0.1:9\"\napi_key_file = \"{}\"\n\
         [providers.work.headers]\nAuthorization = \"sk-secret-header\"\n",
        key.display()
    );
    let root = base.clone();
    let stage = Stage::configured(workspace, &own, |options| Options { root, ..options });
    (stage, base)
}

#[test]
fn finding_b5_own_files_are_asked_for_left_out_and_never_written() {
    let (stage, base) = home();
    stage.rig.on_ask(|_| Answer::option("reject"));
    let outputs = stage.play([
        read("config/config.toml"),
        read("config/work.key"),
        Reply::call("list_files", json!({"path": "state/sessions"})),
        search(json!({"pattern": "sk-secret", "path": "config"})),
        read("/proc/self/root/etc/passwd"),
    ]);
    assert!(outputs[..4].iter().all(|output| output == "The user rejected this."), "{outputs:?}");
    assert!(outputs[4].contains("process file system"), "{outputs:?}");
    let outputs = stage.play([
        search(json!({"pattern": "sk-secret"})),
        search(json!({"pattern": "ask_opened|session_created"})),
        Reply::call("find_files", json!({"pattern": "**/*"})),
        write("config/config.toml", "model = \"x/y\"\n"),
        write("config/new.toml", "x"),
        edit("config/work.key", "sk", "x"),
        write("state/sessions/x/inbox/answer.json", "{}"),
    ]);
    assert!(outputs[0].contains("notes.md:1:") && !outputs[0].contains("sk-secret-"), "{}", outputs[0]);
    assert!(outputs[1].starts_with("no match"), "{}", outputs[1]);
    assert!(!outputs[2].contains("config.toml") && !outputs[2].contains("events.jsonl"), "{}", outputs[2]);
    for output in &outputs[3..] {
        assert!(output.starts_with("Denied: ") && output.contains("Adjutant's own"), "{output}");
    }
    // A second name of the key file, in a folder that is not Adjutant's.
    fs::hard_link(base.join("config/work.key"), base.join("home/k")).unwrap();
    let outputs = stage.play([read("home/k"), search(json!({"pattern": "sk-secret", "path": "home"}))]);
    assert_eq!(outputs[0], "The user rejected this.");
    assert!(outputs[1].starts_with("no match"), "{}", outputs[1]);
    // After an approval, the file is read.
    stage.rig.on_ask(|_| Answer::option("allow"));
    assert!(stage.play([read("config/work.key")])[0].contains("sk-secret-key"));
}

#[test]
fn finding_b11_nothing_is_told_of_what_is_outside_before_an_answer() {
    let stage = Stage::new(FILES);
    let outside = stage.workspace.path().with_file_name("home");
    fs::write(outside.join("there.txt"), "x").unwrap();
    symlink("there.txt", outside.join("way")).unwrap();
    symlink("loop", outside.join("loop")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(outside.join("sock")).unwrap();
    stage.rig.on_ask(|_| Answer::option("reject"));
    let names =
        ["there.txt", "none.txt", "there.txt/x", "none.txt/x", "loop", "way/x", "sock", "there.txt/../x"];
    let outputs = stage.play(names.map(|name| read(&format!("../home/{name}"))));
    assert!(outputs.iter().all(|output| output == "The user rejected this."), "{outputs:?}");
    let outputs = stage.play(names.map(|name| write(&format!("../home/{name}"), "x")));
    for (name, output) in names.iter().zip(&outputs) {
        assert!(output.contains(&format!("\"../home/{name}\" is outside the workspace")), "{name}: {output}");
    }
    let in_folder =
        |name: &str| Reply::call("run_command", json!({"command": "pwd", "cwd": format!("../home/{name}")}));
    let outputs = stage.play(["there.txt", "none.txt/x", "there.txt/x", "way"].map(in_folder));
    assert!(outputs.iter().all(|output| output.contains("is outside the workspace")), "{outputs:?}");
    assert!(!outputs.iter().any(|output| output.contains(&*outside.to_string_lossy())), "{outputs:?}");
    // After an approval, the reason is reported.
    stage.rig.on_ask(|_| Answer::option("allow"));
    assert!(stage.play([read("../home/there.txt/x")])[0].contains("is not a directory"));
}
