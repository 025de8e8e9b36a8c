//! Scenes in Emacs with eglot.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::Emacs;
use crate::scenes;
use crate::screen::Screen;
use crate::stage::{Stage, shipped};

fn with(stage: impl Fn() -> Stage, scene: impl Fn(&Emacs<'_>)) {
    scene(&Emacs::open(&stage(), scenes::FILE));
}

crate::scenes::every_editor!(with);
crate::scenes::typing!(with);

#[test]
fn n01_n03_a_review_goes_on_after_its_server_was_killed() {
    with(scenes::three_changes, |editor| scenes::reviews_over_a_kill(editor));
}

/// Plays it in a small terminal, with the set-up of the page and with eglot alone.
#[test]
fn finding_a3_a_command_of_ten_lines_is_seen_whole_or_cannot_be_allowed() {
    let lines: Vec<String> = (0..10).map(|line| format!("echo step {line} >> out.txt")).collect();
    let bare =
        "(require 'eglot)\n(add-to-list 'eglot-server-programs '(text-mode . (\"adjutant\" \"lsp\")))\n";
    let shipped = std::fs::read_to_string(shipped("editors/emacs/adjutant.el")).expect("the shipped set-up");
    for (set_up, whole) in [(shipped.as_str(), true), (bare, false)] {
        let stage = Stage::new(
            "//- /notes.txt\nhello\n",
            [Reply::call("run_command", json!({ "command": lines.join("\n") })), Reply::text("Done.")],
        );
        let init = stage.beside("init.el");
        std::fs::write(&init, set_up).expect("write the set-up");
        let line = format!("emacs -nw -Q -l '{}' notes.txt", init.display());
        let screen = Screen::sized(&stage, &line, ("80", "24"));
        screen.wait("hello");
        screen.keys(&["M-x"]);
        screen.text_in("eglot");
        screen.keys(&["Enter"]);
        stage.seen().wait("in", "textDocument/didOpen", 1);
        screen.keys(&["M-:"]);
        screen.text_in(
            "(eglot-execute (eglot-current-server) '(:command \"adjutant.start\" :arguments [\"go\"]))",
        );
        screen.keys(&["Enter"]);
        let asked = screen.wait("Choose an option");
        screen.keys(&["C-a", "C-k", "Tab"]);
        let offered = screen.wait(" possible completions:");
        let count = if whole { "4 possible" } else { "2 possible" };
        assert!(
            offered.contains(count),
            "Reject and Show; with the whole command in view also the approvals\n{offered}"
        );
        if whole {
            for line in &lines {
                assert!(asked.contains(line.as_str()), "{line} is not visible\n{asked}");
                assert!(
                    offered.contains(line.as_str()),
                    "{line} is not visible next to the choices\n{offered}"
                );
            }
        }
    }
}
