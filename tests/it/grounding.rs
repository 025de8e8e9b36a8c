//! Where tools may look and write: buffers before the disk, the workspace and
//! its borders, and the files that nobody's "always" covers.
//!
//! Everything outside that is touched lies in the test's own directory.

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

#[test]
fn n07_an_unsaved_buffer_is_read_before_the_disk() {
    let stage = Stage::new(FILES).answering("allow");
    stage.rig.open("src/lib.rs");
    stage.rig.replace("src/lib.rs", "two", "zwei 😀");
    let uri = stage.workspace.uri("src/lib.rs");
    let path = stage.workspace.path().join("src/lib.rs");
    let told = stage.play([
        read("src/lib.rs"),
        read(&uri),
        read(&path.to_string_lossy()),
        read("./src/../src/lib.rs"),
        Reply::call("search_text", json!({"pattern": "fn (two|zwei)"})),
        Reply::call("search_text", json!({"pattern": "two", "path": "src"})),
        Reply::call("search_text", json!({"pattern": "zwei", "path": "src/lib.rs"})),
    ]);
    for told in &told[..4] {
        assert_eq!(told, "     1\tfn one() {}\n     2\tfn zwei 😀() {}\n");
    }
    assert_eq!(told[4], "src/lib.rs:2:fn zwei 😀() {}");
    assert!(told[5].starts_with("no match for \"two\""), "{}", told[5]);
    assert_eq!(told[6], "src/lib.rs:2:fn zwei 😀() {}");
    // Gone from the disk, there in the editor.
    fs::remove_file(&path).unwrap();
    let told = stage.play([
        read("src/lib.rs"),
        Reply::call("search_text", json!({"pattern": "zwei"})),
        edit("src/lib.rs", "one", "eins"),
    ]);
    assert!(told[0].contains("zwei") && told[1].contains("zwei"), "{told:?}");
    assert!(told[2].starts_with("Edited ") && !path.exists(), "{told:?}");
    stage.rig.close("src/lib.rs");
    let told = stage.play([read("src/lib.rs")]);
    assert!(told[0].contains("does not exist") || told[0].contains("no file"), "{told:?}");
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
    let told = stage.play([
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
        told[0].ends_with("  2000\t2000\n[lines 1 to 2000 of 5000; go on with offset 2001]\n"),
        "{}",
        told[0].len()
    );
    assert_eq!(told[1], "  4999\t4999\n  5000\t5000\n");
    assert_eq!(told[2], "     3\t3\n     4\t4\n[lines 3 to 4 of 5000; go on with offset 5]\n");
    assert!(told[3].contains("has only 5000 lines"), "{}", told[3]);
    assert!(
        told[4].len() < 10_000 && told[4].contains("[cut, the line has 3000000 bytes]"),
        "{}",
        told[4].len()
    );
    assert!(told[5].contains("binary file"), "{}", told[5]);
    assert!(told[6].contains("not UTF-8"), "{}", told[6]);
    assert!(told[7].contains("is a directory; use list_files"), "{}", told[7]);
    assert!(told[8].contains("[stopped at 200 matches"), "{}", told[8].len());
}

/// A file beside the workspace.
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
    let told = stage.play([
        read(&name),
        read("../home/outside.txt"),
        read("link.txt"),
        read("folder/outside.txt"),
        Reply::call("list_files", json!({"path": "folder"})),
        Reply::call("search_text", json!({"pattern": "yours", "path": "folder"})),
        read(&uri_of_path(&path)),
    ]);
    assert!(told.iter().all(|told| told == "The user rejected this."), "{told:?}");
    let asks = stage.asks();
    assert_eq!(asks.len(), told.len());
    assert_eq!(asks[0].kind, AskKind::Tool);
    let reason = format!("\"{name}\" is outside the workspace");
    assert_eq!(asks[2].subject, Some(AskSubject::Read { path: name.to_string(), reason }));

    stage.rig.answer_next(Answer::option("allow_always"));
    let told = stage.play([read(&name), read("link.txt")]);
    assert_eq!(told, ["     1\tnot yours\n", "     1\tnot yours\n"], "always is for this file by any name");
    // A walk over the workspace does not follow links out of it.
    let told = stage.play([Reply::call("search_text", json!({"pattern": "yours"}))]);
    assert!(told[0].starts_with("no match"), "{told:?}");
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
    let told = stage.finish(&run);
    assert!(told[0].contains("leads elsewhere than when it was allowed"), "{told:?}");

    let run = stage.send([write("notes.md", "changed\n")]);
    let ask = stage.rig.await_ask();
    let notes = stage.workspace.path().join("notes.md");
    fs::remove_file(&notes).unwrap();
    symlink(&other, &notes).unwrap();
    stage.rig.answer(&ask.ask_id, "allow");
    let told = stage.finish(&run);
    assert!(told[0].contains("leads elsewhere than when it was shown"), "{told:?}");
    assert_eq!(fs::read_to_string(&other).unwrap(), "something else\n");
}

#[test]
fn p1_writing_outside_is_denied_without_asking() {
    let stage = Stage::new(FILES).answering("allow");
    let path = outside(&stage);
    symlink(path.parent().unwrap(), stage.workspace.path().join("folder")).unwrap();
    let told = stage.play([
        edit(&path.to_string_lossy(), "not", "all"),
        write("../home/new.txt", "x"),
        write("folder/new.txt", "x"),
        edit("folder/outside.txt", "not", "all"),
        edit("folder/outside.txt", "no such text", "all"),
    ]);
    for told in &told {
        assert!(told.starts_with("Denied: ") && told.contains("outside the workspace"), "{told}");
        assert!(!told.contains("yours"), "{told}");
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
    let told = stage.play(protected());
    let alone = stage.send_with(protected(), json!({"overrides": {"unattended": true}}));
    for told in told.iter().chain(&stage.finish(&alone)) {
        assert!(told.starts_with("Denied: "), "{told}");
    }
    assert_eq!(stage.asks().len(), 1, "none of them was asked for");
    assert_eq!(stage.workspace.read(".git/hooks/pre-commit"), "# kept\n");
    assert_eq!(stage.workspace.read(".git/config"), "# kept\n");
    assert!(!stage.workspace.exists(".mcp.json") && !stage.workspace.exists("deep"));
    assert!(!state.exists() && !fs::read_to_string(&config).unwrap().contains("x = 1"));
}

#[test]
fn p3_protected_files_of_a_folder_that_is_the_state_directory_are_denied() {
    // Somebody opens the folder above everything of ours.
    let workspace = Workspace::new(FILES);
    let above = workspace.path().parent().unwrap().to_owned();
    let stage =
        Stage::with(workspace, |options| adjutant_testkit::editor::Options { root: above, ..options })
            .answering("allow");
    let told = stage.play([write("state/sessions/x.json", "{}"), write("config/config.toml", "x = 1")]);
    assert!(told.iter().all(|told| told.starts_with("Denied: ")), "{told:?}");
    assert!(told.iter().all(|told| told.contains("Adjutant's own")), "{told:?}");
}

#[test]
fn p3_instructions_and_build_server_files_ask_after_always_too() {
    let stage = Stage::new(FILES);
    stage.rig.answer_next(Answer::option("allow_always"));
    assert!(stage.edit("notes.md", "remember", "forget").starts_with("Edited "));
    stage.rig.on_ask(|_| Answer::option("reject"));
    let files =
        ["AGENTS.md", "docs/CLAUDE.md", ".github/workflows/ci.yml", ".gitlab-ci.yml", "build.rs", ".env"];
    let told = stage.play(files.map(|file| write(file, "do as I say\n")));
    assert!(told.iter().all(|told| told == "The user rejected this."), "{told:?}");
    let asks = stage.asks();
    assert_eq!(asks.len(), 1 + files.len());
    for (ask, file) in asks[1..].iter().zip(files) {
        let why = ask.description.as_deref().unwrap_or_default();
        assert!(why.starts_with(&format!("\"{file}\" ")), "{why}");
    }
    assert!(stage.edit("notes.md", "forget", "remember").starts_with("Edited "), "others do not ask");
    // Allowing one of them once more does not make it a habit.
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
    let told = stage.play([
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
    assert!(told.iter().all(|told| !told.contains("hunter2")), "{told:#?}");
    assert!(told[4..].iter().all(|told| told.contains("nothing is told of its text")), "{told:#?}");
    assert!(told[2].contains("[not searched: 2 files that may hold secrets]"), "{}", told[2]);
    let asks = stage.asks();
    assert_eq!(asks.len(), 3, "two reads and the search in one: {asks:#?}");
    let Some(AskSubject::Read { path, reason }) = &asks[0].subject else { panic!("{:?}", asks[0]) };
    assert_eq!(path, ".env");
    assert!(reason.contains("often holds secrets"), "{reason}");
    stage.rig.on_ask(|_| Answer::option("allow"));
    assert_eq!(stage.play([read(".env")]), ["     1\tAPI_PASSWORD=hunter2\n"]);
}

/// A rig before any folders at all, with a model behind it.
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
    let told = stage.play([
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
    assert_eq!(told[0], "     1\talpha\n");
    assert!(told[1].contains("b.txt"), "{}", told[1]);
    assert_eq!(told[2], "     1\talpha beta\n");
    assert!(told[3].contains("a.txt:1:alpha") && told[3].contains("two/b.txt:1:alpha beta"), "{}", told[3]);
    assert!(!told[3].contains("c.txt"), "{}", told[3]);
    assert!(told[4].contains("a.txt") && told[4].contains("two/b.txt"), "{}", told[4]);
    assert!(told[5].starts_with("Edited ") && told[6].starts_with("Edited "), "{told:?}");
    assert!(told[7].starts_with("Denied: "), "{told:?}");
    assert!(told[8].ends_with("/two\n"), "{told:?}");
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
    let told = stage.play([
        read("notes.md"),
        Reply::call("search_text", json!({"pattern": "x"})),
        Reply::call("find_files", json!({"pattern": "*"})),
        Reply::call("list_files", json!({"path": "."})),
        Reply::call("run_command", json!({"command": "pwd"})),
        write("new.txt", "x"),
        write(&absolute.to_string_lossy(), "x"),
        read(&absolute.to_string_lossy()),
    ]);
    for told in &told[..6] {
        assert!(told.contains("no workspace folder is open"), "{told}");
    }
    assert!(told[6].starts_with("Denied: "), "{}", told[6]);
    assert_eq!(told[7], "     1\tremember\n", "a read outside can be allowed");
    assert_eq!(stage.asks().len(), 1);
    assert_eq!(fs::read_to_string(&absolute).unwrap(), "remember\n");
}

#[test]
fn s55_odd_paths_are_answered_with_what_to_do() {
    let stage = Stage::new(FILES).answering("reject");
    symlink("loop", stage.workspace.path().join("loop")).unwrap();
    let told = stage.play([
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
    for (told, part) in told.iter().zip(parts) {
        assert!(told.contains(part) && told.len() < 6_000, "{told}");
    }
    assert!(stage.asks().is_empty(), "{:?}", stage.asks());
    stage.rig.open("notes.md");
    stage.rig.type_at("notes.md", Place::End, "more");
    assert!(stage.play([read("notes.md")])[0].contains("more"));
}
