//! Scenes in VS Code: those of every editor, and its own.
//!
//! Never looks into the server: it checks the screen, the bytes on disk and the message log.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

use adjutant_testkit::model::Reply;
use adjutant_testkit::process::is_running;
use serde_json::json;

use super::{Code, answers};
use crate::editor::Editor;
use crate::opening;
use crate::scenes;
use crate::stage::{SERVER, Stage, shipped, wait_for, wait_or};

fn on(stage: impl Fn() -> Stage, scene: impl Fn(&Code<'_>)) {
    scene(&Code::open(&stage(), scenes::FILE));
}

crate::scenes::every_editor!(on);
crate::scenes::typing!(on);

#[test]
fn n19_the_extension_says_what_is_kept() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    let sent = stage.record_input();
    let _code = Code::open(&stage, "greet.py");
    opening::check("vscode-1.100", &opening::scrubbed(opening::params(&sent), &stage));
}

const LISTING: &str = "\
from dataclasses import dataclass


@dataclass
class Entry:
    name: str
    size: int


def largest(entries):
    found = entries[0]
    for entry in entries:
        if entry.size > found.size:
            found = entry
    return found
";

/// A task with a real change of several lines, for the pictures in the README.
#[test]
fn s03_the_story_that_the_pictures_tell() {
    let old = "    found = entries[0]\n    for entry in entries:\n        if entry.size > found.size:\n            \
               found = entry\n    return found\n";
    let new = "    return max(entries, key=lambda entry: entry.size, default=None)\n";
    let edit = json!({"path": "listing.py", "old_text": old, "new_text": new});
    let stage = Stage::new(
        &format!("//- /listing.py\n{LISTING}"),
        [
            Reply::text("An empty list has no first entry.").and_call("edit_file", edit).hold_after(200),
            Reply::text("`largest` now returns `None` for an empty list."),
        ],
    );
    let code = Code::open(&stage, "listing.py");
    code.do_("begin", json!(["Let largest() work for an empty list"]));
    code.picture("1-start");
    code.do_("confirm", json!([]));
    code.wait_progress("Let largest()");
    stage.model.wait_for_holding(1);
    code.picture("2-work");
    stage.model.release();
    wait_for("the question", || code.asked());
    assert_eq!(code.buttons(), ["Review", "Reject"], "a notification allows nothing");
    let card = code.wait_asked("Edit listing.py");
    assert!(card.contains("-    found = entries[0]"), "the whole change: {card}");
    assert_eq!(code.answers(), ["Show", "Reject", "Yes, once", "Yes, always…"]);
    assert!(code.status().contains("Adjutant: 1 question"), "{}", code.status());
    code.picture("3-ask");
    code.choose("Yes, once");
    code.wait_buffer(&LISTING.replace(old, new));
    code.wait_end("done");
    // The user had no unsaved text, so the edit is saved.
    wait_for("the saved file", || {
        (stage.workspace.read("listing.py") == LISTING.replace(old, new)).then_some(())
    });
    wait_for("the tab to be marked as saved", || (!code.unsaved()).then_some(()));
    code.picture("4-edit");
    code.do_("palette", json!(["Adjutant: Show Transcript"]));
    wait_for("the transcript", || code.all_text().contains("Asked:").then_some(()));
    code.picture("5-transcript");
    code.do_("key", json!(["Control+End"]));
    wait_for("its end", || code.all_text().contains("now returns").then_some(()));
}

/// *Fix* works on the editor's own diagnostic, from its own language server.
#[test]
fn n08_a_problem_that_the_editor_shows_is_fixed_from_its_menu() {
    let stage = Stage::new(
        "//- /list.json\n{ \"sizes\": [1, 2,, 3] }\n",
        [
            Reply::text("A comma too many.")
                .and_call("edit_file", json!({"path": "list.json", "old_text": "2,, 3", "new_text": "2, 3"})),
            Reply::text("The comma is gone."),
        ],
    );
    let code = Code::open(&stage, "list.json");
    wait_for("the diagnostic of VS Code", || (code.errors() > 0).then_some(()));
    code.do_("key", json!(["F8"]));
    code.do_("key", json!(["Escape"]));
    code.action("Fix");
    code.wait_asked("Edit list.json");
    code.choose("Yes, once");
    code.wait_buffer("{ \"sizes\": [1, 2, 3] }\n");
    wait_for("no diagnostic", || (code.errors() == 0).then_some(()));
    let asked = stage.model.requests()[0].json().to_string();
    assert!(asked.contains("Value expected"), "the model was told the diagnostic: {asked}");
}

/// A file that is not open is edited and saved on request; afterwards it is closed or clean.
#[test]
fn n05_a_file_that_was_not_open_is_written_and_gets_no_tab() {
    let stage = Stage::new(
        "//- /greet.py\nprint(1)\n//- /other.py\nprint(2)\n",
        [
            Reply::text("It is there.").and_call(
                "edit_file",
                json!({"path": "other.py", "old_text": "print(2)", "new_text": "print(3)"}),
            ),
            Reply::text("Done."),
        ],
    );
    let code = Code::open(&stage, "greet.py");
    code.command("Change the other file");
    code.wait_asked("Edit other.py");
    code.choose("Yes, once");
    wait_for("the saved file", || (stage.workspace.read("other.py") == "print(3)\n").then_some(()));
    code.wait_end("done");
    let seen = stage.seen();
    let asked = ["workspace/applyEdit", "agent/document/save"].map(|method| seen.count("out", method));
    assert_eq!(asked, [0, 0], "{}", seen.shown());
    assert_eq!(code.buffer(), "print(1)\n", "what the user looks at stays");
}

/// The settings of a workspace can choose neither the program nor the model, and loosen nothing.
#[test]
fn what_a_workspace_sets_is_not_used() {
    let settings = json!({
        "adjutant.server.path": "/nowhere/evil",
        "adjutant.model": "evil/model",
        "adjutant.unattended": {"command": true},
        "adjutant.noSuchKey": 1,
    });
    let fixture = format!("//- /greet.py\nprint(1)\n//- /.vscode/settings.json\n{settings}\n");
    let stage = Stage::new(&fixture, [Reply::text("Here I am.")]);
    let code = Code::open(&stage, "greet.py");
    code.command("Say something");
    stage.model.wait_for_requests(1);
    code.wait_end("done");
    assert_eq!(
        code.do_("popups", json!([])),
        json!([]),
        "the server complains of a key it should not have seen"
    );
}

/// An untitled document is announced too, so the server knows every open document.
#[test]
fn n07_every_open_document_is_announced() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    let code = Code::open(&stage, "greet.py");
    code.do_("palette", json!(["File: New Untitled Text File"]));
    stage.seen().wait("in", "textDocument/didOpen", 2);
    code.type_at_top("not saved anywhere");
    stage.seen().wait("in", "textDocument/didChange", 1);
}

/// Without the program, the user reads what to do.
#[test]
fn a_missing_program_is_said_in_words() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    stage.server_is("exit 127");
    let code = Code::open_at_once(&stage, "greet.py");
    wait_for("the status bar to say so", || code.status().contains("Adjutant: not running").then_some(()));
}

/// Finding: two restarts at the same time left two servers.
#[test]
fn finding_two_restarts_at_once_leave_one_server() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    let code = Code::open(&stage, "greet.py");
    // A new server waits at a pipe, so that the second restart comes before it runs.
    let gate = stage.beside("gate");
    let made = Command::new("mkfifo").arg(&gate).status().expect("mkfifo is part of every system");
    assert!(made.success(), "make the gate");
    stage.server_is(&format!("read line <'{}'; exec '{SERVER}' --debug \"$@\"", gate.display()));
    for _ in 0..2 {
        code.do_("palette", json!(["Adjutant: Restart the Server"]));
    }
    let seen = stage.seen();
    for which in [1, 2] {
        // An open without a wait succeeds only if a server waits on the other side.
        const NONBLOCK: i32 = 0o4000;
        let mut opened = wait_for(&format!("the server of restart {which}"), || {
            OpenOptions::new().write(true).custom_flags(NONBLOCK).open(&gate).ok()
        });
        writeln!(opened, "in").expect("let it in");
        drop(opened);
        wait_for("it to run", || (seen.servers().len() > which).then_some(()));
    }
    let living = || -> Vec<u32> { seen.servers().into_iter().filter(|id| is_running(*id)).collect() };
    let one = wait_or(|| (seen.servers().len() == 3 && living().len() == 1).then_some(()));
    assert!(one.is_some(), "of {:?} these live: {:?}\n{}", seen.servers(), living(), seen.shown());
    wait_for("the status bar to show it", || {
        code.status().split(" | ").any(|item| item == "Adjutant").then_some(())
    });
}

/// The settings page offers exactly the settings that the extension sends.
#[test]
fn finding_d2_how_adjutant_asks_can_be_set_in_vs_code() {
    let read = |file: &str| fs::read_to_string(shipped(file)).expect("a file of the extension");
    let package: serde_json::Value =
        serde_json::from_str(&read("editors/vscode/package.json")).expect("JSON");
    let offered = package["contributes"]["configuration"]["properties"].as_object().expect("the settings");
    assert!(offered.contains_key("adjutant.asks.popup"), "{offered:?}");
    // What is sent is what is offered: the first words of those settings.
    let source = read("editors/vscode/src/settings.ts");
    assert!(source.contains("Object.keys(contributes.configuration.properties)"), "{source}");
    let built = read("editors/vscode/dist/extension.js");
    assert!(built.contains("adjutant.asks.popup"), "the settings are in the built extension");
}

/// VS Code draws no link from texts that its own rules would turn into one.
#[test]
fn finding_a1_d8_a_command_is_shown_byte_for_byte_and_makes_no_link() {
    let line = "echo \"[tests passed](https://x/`touch${IFS}pwned`)\" [ok](command:adjutant.respond?%5B%5D)";
    let question =
        json!({ "question": "Is [this](command:workbench.action.quit) right?", "options": ["yes", "no"] });
    let stage = Stage::new(
        "//- /greet.py\nprint(1)\n",
        [
            Reply::call("run_command", json!({ "command": line })),
            Reply::call("ask_user", question),
            Reply::text("Done."),
        ],
    );
    let code = Code::open(&stage, "greet.py");
    code.command("Run [it](https://x/y)");
    let asked = wait_for("the question", || code.asked());
    assert!(asked.contains("[tests passed]\\u{28}https://x/`touch${IFS}pwned`)"), "{asked}");
    assert_eq!(
        (code.buttons(), code.do_("links", json!([]))),
        (vec!["Review".to_owned(), "Reject".to_owned()], json!(0))
    );
    code.picture("finding-a1-asked");
    let card = code.wait_asked("echo");
    assert!(card.contains(line), "the command, byte for byte: {card}");
    assert_eq!(
        (code.answers(), code.card().map(|card| card["links"].clone())),
        (answers(&["Reject", "Yes, once"]), Some(json!(0)))
    );
    code.choose("Reject");
    let card = code.wait_asked("Is [this](command:workbench.action.quit) right?");
    assert_eq!(code.answers(), ["yes", "no"], "{card}");
    assert_eq!(code.card().map(|card| card["links"].clone()), Some(json!(0)));
    code.choose("no");
    code.wait_end("done");
    assert!(!stage.workspace.exists("pwned"));
}

#[test]
fn n06_save_and_run_saves_the_file_that_the_question_names() {
    let cat = Reply::call("run_command", json!({ "command": "cat greet.py" }));
    let stage = Stage::new("//- /greet.py\nprint(1)\n", [cat, Reply::text("Seen.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.type_at_top("TYPED = 1");
    code.command("Look at it");
    let asked = code.wait_asked("cat greet.py");
    assert!(asked.contains("Not saved yet: greet.py."), "{asked}");
    assert_eq!(code.answers(), ["Reject", "Save and run", "Run as saved"]);
    assert!(asked.contains("“Save and run”: Save the files that are named here"), "{asked}");
    code.picture("n06-save-and-run");
    code.choose("Save and run");
    let request = stage.model.wait_for_requests(2)[1].json().to_string();
    assert!(request.contains("TYPED = 1"), "the command saw it: {request}");
    assert_eq!(stage.workspace.read("greet.py"), "TYPED = 1\nprint(1)\n");
    code.wait_end("done");
}

/// The extension's function gives the same texts as the server's, and VS Code's own expression finds no link.
#[test]
fn finding_a1_the_extension_shows_texts_as_the_server_does() {
    let mut node = Command::new("node");
    node.arg(shipped("tests/editors/vscode/display.mjs"));
    node.arg(super::runnable("editors/vscode/src/display.ts")).arg(shipped("tests/corpus/display.jsonl"));
    let said = node.output().expect("node is installed: run tests/editors/install.sh");
    let wrong = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && wrong.is_empty(), "{wrong}");
}

#[test]
fn p26_the_setup_is_checked_in_a_list_and_a_cure_waits_in_a_terminal() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    stage.workspace.config("");
    let code = Code::open(&stage, scenes::FILE);
    code.do_("palette", json!(["Adjutant: Check the Set-up"]));
    let rows = wait_for("the checks", || {
        let rows = code.do_("picks", json!([])).to_string();
        rows.contains("sandbox").then_some(rows)
    });
    for part in ["program", "settings", "sessions", "model", "adjutant setup"] {
        assert!(rows.contains(part), "without {part:?}: {rows}");
    }
    code.picture("doctor");
    code.do_("pick", json!(["model"]));
    wait_for("the command in a terminal", || {
        code.do_("terminals", json!([])).to_string().contains("adjutant setup").then_some(())
    });
    assert_eq!(stage.model.requests().len(), 0);
}
