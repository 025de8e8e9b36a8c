//! Where tools may read and write: buffers before the disk, the workspace and its borders, and files that no
//! "always" covers.
//!
//! All paths outside the workspace are in the test's own directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use adjutant_protocol::ask::{AskKind, AskSubject};
use adjutant_testkit::editor::{Answer, Place};
use adjutant_testkit::fixture::{Workspace, uri_of_path};
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use super::rig::Rig;
use super::stage::{Stage, edit, write};

const FILES: &str = "
    //- /src/lib.rs
    fn one() {}
    fn two() {}
    //- /notes.md
    remember
";

fn read(path: &str) -> Reply {
    Reply::call("read_file", json!({"path": path}))
}

/// Emacs opens a file that it edits before it knows the language, and then once more.
#[test]
fn n07_a_document_without_a_language_costs_no_other_document_its_text() {
    let stage = Stage::new(FILES).answering("allow");
    stage.rig.open("src/lib.rs");
    stage.rig.replace("src/lib.rs", "two", "zwei");
    let uri = stage.workspace.uri("notes.md");
    let document = json!({"uri": uri, "languageId": null, "version": 0, "text": "remember\n"});
    stage.rig.notify("textDocument/didOpen", json!({"textDocument": document}));
    let outputs = stage.play([read("src/lib.rs"), read("notes.md")]);
    assert!(outputs[0].contains("zwei") && outputs[1].contains("remember"), "{outputs:?}");
}

#[test]
fn n07_an_unsaved_buffer_is_read_before_the_disk() {
    let stage = Stage::new(FILES).answering("allow");
    stage.rig.open("src/lib.rs");
    stage.rig.replace("src/lib.rs", "two", "zwei 😀");
    let uri = stage.workspace.uri("src/lib.rs");
    let path = stage.workspace.path().join("src/lib.rs");
    let outputs = stage.play([
        read("src/lib.rs"),
        read(&uri),
        read(&path.to_string_lossy()),
        read("./src/../src/lib.rs"),
        Reply::call("search_text", json!({"pattern": "fn (two|zwei)"})),
        Reply::call("search_text", json!({"pattern": "two", "path": "src"})),
        Reply::call("search_text", json!({"pattern": "zwei", "path": "src/lib.rs"})),
    ]);
    for output in &outputs[..4] {
        assert_eq!(output, "fn one() {}\nfn zwei 😀() {}\n");
    }
    assert_eq!(outputs[4], "src/lib.rs:2:fn zwei 😀() {}");
    assert!(outputs[5].starts_with("no match for \"two\""), "{}", outputs[5]);
    assert_eq!(outputs[6], "src/lib.rs:2:fn zwei 😀() {}");
    // The file is gone from the disk but open in the editor.
    fs::remove_file(&path).unwrap();
    let outputs = stage.play([
        read("src/lib.rs"),
        Reply::call("search_text", json!({"pattern": "zwei"})),
        edit("src/lib.rs", "one", "eins"),
    ]);
    assert!(outputs[0].contains("zwei") && outputs[1].contains("zwei"), "{outputs:?}");
    assert!(outputs[2].starts_with("Edited ") && !path.exists(), "{outputs:?}");
    stage.rig.close("src/lib.rs");
    let outputs = stage.play([read("src/lib.rs")]);
    assert!(outputs[0].contains("does not exist") || outputs[0].contains("no file"), "{outputs:?}");
    let told = "Adjutant: 1 file changed since the agent read it: src/lib.rs (gone). The agent is told.";
    assert_eq!(stage.rig.await_message(), told);
    assert!(stage.asks().len() <= 1, "reading inside the workspace asks nothing");
}

#[test]
fn s44_reads_are_bounded_and_say_how_to_go_on() {
    let stage = Stage::new("//- /keep.txt\n");
    let long: String = (1..=5_000).map(|line| format!("{line}\n")).collect();
    stage.workspace.write("long.txt", &long);
    stage.workspace.write("wide.txt", &"x".repeat(3_000_000));
    fs::write(stage.workspace.path().join("binary"), b"a\0b").unwrap();
    fs::write(stage.workspace.path().join("latin"), b"caf\xe9").unwrap();
    let at = |offset: u64, limit: u64| {
        Reply::call("read_file", json!({"path": "long.txt", "offset": offset, "limit": limit}))
    };
    let outputs = stage.play([
        read("long.txt"),
        at(4_999, 10),
        at(3, 2),
        at(9_999, 1),
        read("wide.txt"),
        read("binary"),
        read("latin"),
        read("."),
        Reply::call("search_text", json!({"pattern": "^[0-9]+$"})),
    ]);
    assert!(
        outputs[0].ends_with("2000\n[lines 1 to 2000 of 5000; go on with offset 2001]\n"),
        "{}",
        outputs[0].len()
    );
    assert_eq!(outputs[1], "4999\n5000\n");
    assert_eq!(outputs[2], "3\n4\n[lines 3 to 4 of 5000; go on with offset 5]\n");
    assert!(outputs[3].contains("has only 5000 lines"), "{}", outputs[3]);
    assert!(
        outputs[4].len() < 10_000 && outputs[4].contains("[cut, the line has 3000000 bytes]"),
        "{}",
        outputs[4].len()
    );
    assert!(outputs[5].contains("binary file"), "{}", outputs[5]);
    assert!(outputs[6].contains("not UTF-8"), "{}", outputs[6]);
    assert!(outputs[7].contains("is a directory; use list_files"), "{}", outputs[7]);
    assert!(outputs[8].contains("[stopped at 200 matches"), "{}", outputs[8].len());
}

/// Makes a file next to the workspace, and returns its path.
fn outside(stage: &Stage) -> PathBuf {
    let path = stage.workspace.path().parent().unwrap().join("home/outside.txt");
    fs::write(&path, "not yours\n").unwrap();
    path
}

#[test]
fn p1_reading_outside_asks_and_a_rejection_is_told() {
    let stage = Stage::new(FILES);
    let path = outside(&stage);
    let name = path.to_string_lossy();
    symlink(&path, stage.workspace.path().join("link.txt")).unwrap();
    symlink(path.parent().unwrap(), stage.workspace.path().join("folder")).unwrap();
    stage.rig.on_ask(|_| Answer::option("reject"));
    let outputs = stage.play([
        read(&name),
        read("../home/outside.txt"),
        read("link.txt"),
        read("folder/outside.txt"),
        Reply::call("list_files", json!({"path": "folder"})),
        Reply::call("search_text", json!({"pattern": "yours", "path": "folder"})),
        read(&uri_of_path(&path)),
    ]);
    assert!(outputs.iter().all(|output| output == "The user rejected this."), "{outputs:?}");
    let asks = stage.asks();
    assert_eq!(asks.len(), outputs.len());
    assert_eq!(asks[0].kind, AskKind::Tool);
    let reason = format!("\"{name}\" is outside the workspace");
    assert_eq!(asks[2].subject, Some(AskSubject::Read { path: name.to_string(), reason }));

    stage.rig.answer_next(Answer::option("allow_always"));
    let outputs = stage.play([read(&name), read("link.txt")]);
    assert_eq!(outputs, ["not yours\n", "not yours\n"], "\"always\" covers this file under any name");
    // A search of the workspace does not follow links out of it.
    let outputs = stage.play([Reply::call("search_text", json!({"pattern": "yours"}))]);
    assert!(outputs[0].starts_with("no match"), "{outputs:?}");
}

#[test]
fn p1_a_link_exchanged_while_the_ask_is_open_is_not_followed() {
    let stage = Stage::new(FILES);
    let path = outside(&stage);
    let link = stage.workspace.path().join("link.txt");
    symlink(&path, &link).unwrap();
    let run = stage.send([read("link.txt")]);
    let ask = stage.rig.await_ask();
    let other = path.with_file_name("other.txt");
    fs::write(&other, "something else\n").unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("leads elsewhere than when it was allowed"), "{outputs:?}");

    let run = stage.send([write("notes.md", "changed\n")]);
    let ask = stage.rig.await_ask();
    let notes = stage.workspace.path().join("notes.md");
    fs::remove_file(&notes).unwrap();
    symlink(&other, &notes).unwrap();
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("leads elsewhere than when it was shown"), "{outputs:?}");
    assert_eq!(fs::read_to_string(&other).unwrap(), "something else\n");
}

#[test]
fn p1_writing_outside_is_denied_without_asking() {
    let stage = Stage::new(FILES).answering("allow");
    let path = outside(&stage);
    symlink(path.parent().unwrap(), stage.workspace.path().join("folder")).unwrap();
    let outputs = stage.play([
        edit(&path.to_string_lossy(), "not", "all"),
        write("../home/new.txt", "x"),
        write("folder/new.txt", "x"),
        edit("folder/outside.txt", "not", "all"),
        edit("folder/outside.txt", "no such text", "all"),
    ]);
    for output in &outputs {
        assert!(output.starts_with("Denied: ") && output.contains("outside the workspace"), "{output}");
        assert!(!output.contains("yours"), "{output}");
    }
    assert!(stage.asks().is_empty());
    assert_eq!(fs::read_to_string(&path).unwrap(), "not yours\n");
    assert!(!path.with_file_name("new.txt").exists());
}

#[test]
fn p3_protected_files_are_denied_whatever_was_allowed_before() {
    let workspace = Workspace::new(FILES);
    for path in [".git/hooks/pre-commit", ".git/config", ".vscode/tasks.json", ".adjutant/config.toml"] {
        workspace.write(path, "# kept\n");
    }
    let stage = Stage::with(workspace, |options| options);
    stage.rig.answer_next(Answer::option("allow_always"));
    assert!(stage.edit("notes.md", "remember", "forget").starts_with("Edited "));
    let config = stage.workspace.config_file();
    let state = stage.workspace.state_dir().join("sessions/x/events.jsonl");
    let protected = || {
        [
            write(".git/hooks/pre-commit", "rm -rf"),
            edit(".git/config", "# kept", "[core]"),
            write(".GIT/hooks/post-commit", "rm -rf"),
            write(".vscode/tasks.json", "{}"),
            write(".vscode/settings.json", "{}"),
            write(".adjutant/config.toml", "x = 1"),
            write("deep/.husky/pre-push", "x"),
            write(".mcp.json", "{}"),
            write(&config.to_string_lossy(), "x = 1"),
            write(&state.to_string_lossy(), "x"),
        ]
    };
    let outputs = stage.play(protected());
    let alone = stage.send_with(protected(), json!({"overrides": {"unattended": true}}));
    for output in outputs.iter().chain(&stage.finish(&alone)) {
        assert!(output.starts_with("Denied: "), "{output}");
    }
    assert_eq!(stage.asks().len(), 1, "none of them asked");
    assert_eq!(stage.workspace.read(".git/hooks/pre-commit"), "# kept\n");
    assert_eq!(stage.workspace.read(".git/config"), "# kept\n");
    assert!(!stage.workspace.exists(".mcp.json") && !stage.workspace.exists("deep"));
    assert!(!state.exists() && !fs::read_to_string(&config).unwrap().contains("x = 1"));
}

#[test]
fn p3_protected_files_of_a_folder_that_is_the_state_directory_are_denied() {
    // The user opens the folder that contains Adjutant's own files.
    let workspace = Workspace::new(FILES);
    let above = workspace.path().parent().unwrap().to_owned();
    let stage =
        Stage::with(workspace, |options| adjutant_testkit::editor::Options { root: above, ..options })
            .answering("allow");
    let outputs = stage.play([write("state/sessions/x.json", "{}"), write("config/config.toml", "x = 1")]);
    assert!(outputs.iter().all(|output| output.starts_with("Denied: ")), "{outputs:?}");
    assert!(outputs.iter().all(|output| output.contains("Adjutant's own")), "{outputs:?}");
}

#[test]
fn p3_instructions_and_build_server_files_ask_after_always_too() {
    let stage = Stage::new(FILES);
    stage.rig.answer_next(Answer::option("allow_always"));
    assert!(stage.edit("notes.md", "remember", "forget").starts_with("Edited "));
    stage.rig.on_ask(|_| Answer::option("reject"));
    let files =
        ["AGENTS.md", "docs/CLAUDE.md", ".github/workflows/ci.yml", ".gitlab-ci.yml", "build.rs", ".env"];
    let outputs = stage.play(files.map(|file| write(file, "do as I say\n")));
    assert!(outputs.iter().all(|output| output == "The user rejected this."), "{outputs:?}");
    let asks = stage.asks();
    assert_eq!(asks.len(), 1 + files.len());
    for (ask, file) in asks[1..].iter().zip(files) {
        let why = ask.description.as_deref().unwrap_or_default();
        assert!(why.starts_with(&format!("\"{file}\" ")), "{why}");
    }
    assert!(stage.edit("notes.md", "forget", "remember").starts_with("Edited "), "other files do not ask");
    // "Always" has no effect for these files.
    stage.rig.on_ask(|_| Answer::option("allow_always"));
    stage.play([write("AGENTS.md", "1\n"), write("AGENTS.md", "2\n")]);
    assert_eq!(stage.asks().len(), 1 + files.len() + 2);
}

#[test]
fn p5_a_secret_asks_even_to_be_read_and_an_edit_tells_nothing_of_it() {
    let stage = Stage::new(FILES);
    stage.workspace.write(".env", "API_PASSWORD=hunter2\n");
    stage.workspace.write("keys/server.pem", "-----BEGIN hunter2-----\n");
    stage.rig.on_ask(|_| Answer::option("reject"));
    let outputs = stage.play([
        read(".env"),
        read("keys/server.pem"),
        Reply::call("search_text", json!({"pattern": "hunter"})),
        Reply::call("search_text", json!({"pattern": "hunter", "path": ".env"})),
        edit(".env", "API_PASSWORD=?", "x"),
        edit(".env", "S", "x"),
        edit(".env", "hunter3", "hunter2"),
        write(".env", "API_PASSWORD=hunter2\n"),
        edit("keys/server.pem", "-----BEGIN something-----", "x"),
    ]);
    assert!(outputs.iter().all(|output| !output.contains("hunter2")), "{outputs:#?}");
    assert!(
        outputs[4..]
            .iter()
            .all(|output| output.contains("the reason is not given, because it may show text of the file")),
        "{outputs:#?}"
    );
    assert!(outputs[2].contains("[not searched: 2 files that may hold secrets]"), "{}", outputs[2]);
    let asks = stage.asks();
    assert_eq!(asks.len(), 3, "two reads and the search in one: {asks:#?}");
    let Some(AskSubject::Read { path, reason }) = &asks[0].subject else { panic!("{:?}", asks[0]) };
    assert_eq!(path, ".env");
    assert!(reason.contains("often holds secrets"), "{reason}");
    stage.rig.on_ask(|_| Answer::option("allow"));
    assert_eq!(stage.play([read(".env")]), ["API_PASSWORD=hunter2\n"]);
}

/// Returns a stage whose client sends these workspace folders.
fn with_folders(workspace: Workspace, folders: Value) -> Stage {
    let model = ModelServer::start([]);
    workspace.openai(&model.base_url()).add_config("[limits]\nmistakes = 50");
    let rig = Rig::connect(&workspace, adjutant_testkit::editor::Options::new(&workspace));
    let agent = json!({"version": 0, "updates": {"chunks": true}, "asks": {"request": true},
        "documents": {"save": true, "complete": true}});
    let capabilities = json!({
        "workspace": {"applyEdit": true,
            "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create"]}},
        "experimental": {"agent": agent},
    });
    let params = json!({"processId": null, "rootUri": null, "workspaceFolders": folders, "capabilities": capabilities});
    rig.request("initialize", params).unwrap();
    rig.notify("initialized", json!({}));
    let session = rig.new_session();
    Stage { rig, model, session, workspace }
}

#[test]
fn s55_every_folder_of_the_workspace_counts_and_the_first_is_where_paths_start() {
    let workspace =
        Workspace::new("//- /one/a.txt\nalpha\n//- /two/b.txt\nalpha beta\n//- /three/c.txt\nalpha\n");
    let folder = |name: &str| json!({"uri": workspace.uri(name), "name": name});
    let folders = json!([folder("one"), folder("two")]);
    let stage = with_folders(workspace, folders);
    stage.rig.on_ask(|_| Answer::option("allow"));
    let two = stage.workspace.path().join("two/b.txt");
    let three = stage.workspace.path().join("three/c.txt");
    let outputs = stage.play([
        read("a.txt"),
        read("b.txt"),
        read(&two.to_string_lossy()),
        Reply::call("search_text", json!({"pattern": "alpha"})),
        Reply::call("find_files", json!({"pattern": "*.txt"})),
        edit(&two.to_string_lossy(), "beta", "gamma"),
        edit("../two/b.txt", "alpha ", ""),
        edit(&three.to_string_lossy(), "alpha", "omega"),
        Reply::call("run_command", json!({"command": "pwd", "cwd": two.parent().unwrap()})),
    ]);
    assert_eq!(outputs[0], "alpha\n");
    assert!(outputs[1].contains("b.txt"), "{}", outputs[1]);
    assert_eq!(outputs[2], "alpha beta\n");
    assert!(
        outputs[3].contains("a.txt:1:alpha") && outputs[3].contains("two/b.txt:1:alpha beta"),
        "{}",
        outputs[3]
    );
    assert!(!outputs[3].contains("c.txt"), "{}", outputs[3]);
    assert!(outputs[4].contains("a.txt") && outputs[4].contains("two/b.txt"), "{}", outputs[4]);
    assert!(outputs[5].starts_with("Edited ") && outputs[6].starts_with("Edited "), "{outputs:?}");
    assert!(outputs[7].starts_with("Denied: "), "{outputs:?}");
    assert!(outputs[8].ends_with("/two\n"), "{outputs:?}");
    assert_eq!(
        fs::read_to_string(&two).unwrap(),
        "gamma\n",
        "a file that the first edit opened is saved too"
    );
    assert_eq!(fs::read_to_string(&three).unwrap(), "alpha\n");
}

#[test]
fn s55_without_a_folder_nothing_is_guessed() {
    let stage = with_folders(Workspace::new(FILES), Value::Null);
    stage.rig.on_ask(|_| Answer::option("allow"));
    let absolute = stage.workspace.path().join("notes.md");
    let outputs = stage.play([
        read("notes.md"),
        Reply::call("search_text", json!({"pattern": "x"})),
        Reply::call("find_files", json!({"pattern": "*"})),
        Reply::call("list_files", json!({"path": "."})),
        Reply::call("run_command", json!({"command": "pwd"})),
        write("new.txt", "x"),
        write(&absolute.to_string_lossy(), "x"),
        read(&absolute.to_string_lossy()),
    ]);
    for output in &outputs[..6] {
        assert!(output.contains("no workspace folder is open"), "{output}");
    }
    assert!(outputs[6].starts_with("Denied: "), "{}", outputs[6]);
    assert_eq!(outputs[7], "remember\n", "a read outside can be allowed");
    assert_eq!(stage.asks().len(), 1);
    assert_eq!(fs::read_to_string(&absolute).unwrap(), "remember\n");
}

#[test]
fn s55_odd_paths_are_answered_with_what_to_do() {
    let stage = Stage::new(FILES).answering("reject");
    symlink("loop", stage.workspace.path().join("loop")).unwrap();
    let outputs = stage.play([
        read("~/x"),
        read("$HOME/x"),
        read("loop"),
        read("notes.md/x"),
        read("file://elsewhere/etc/passwd"),
        read("file:///%2e%2e/etc/passwd"),
        read("/proc/self/root/etc/passwd"),
        read("src/lib.r"),
        read(&"x/".repeat(2_000)),
    ]);
    let parts = [
        "are not expanded",
        "are not expanded",
        "more than 40 links",
        "is not a directory",
        "names another machine",
        "encoded",
        "link of the process file system",
        "src/lib.r",
        "",
    ];
    for (output, part) in outputs.iter().zip(parts) {
        assert!(output.contains(part) && output.len() < 6_000, "{output}");
    }
    assert!(stage.asks().is_empty(), "{:?}", stage.asks());
    stage.rig.open("notes.md");
    stage.rig.type_at("notes.md", Place::End, "more");
    assert!(stage.play([read("notes.md")])[0].contains("more"));
}
