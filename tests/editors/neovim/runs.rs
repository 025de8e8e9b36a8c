//! Scenes in Neovim about whole runs: shown, undone and restored by a command.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::scenes::{each, notices, press};
use super::terminal::{command, key_of, open_sized, read};
use super::{Neovim, VERSIONS};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

const BEFORE: &str = "def greet(): pass\none\n.\n.\n.\ntwo\n";
const EDITED: &str = "def greet(): pass\n1\nuno\n.\n.\n.\n2\n";
/// With a line of the user inside of the first change.
const AMENDED: &str = "def greet(): pass\n1\nmine\nuno\n.\n.\n.\n2\n";
const NEW: &str = "d/new.txt";

const FIRST: &str = "Make them numbers";
const SECOND: &str = "Also the other one";

/// Returns a stage whose model edits the open file and makes another in one run, and edits a third file in the next.
fn two_runs() -> Stage {
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let first = Reply::call("edit_file", edit(scenes::FILE, "one\n", "1\nuno\n"))
        .and_call("edit_file", edit(scenes::FILE, "two\n", "2\n"))
        .and_call("write_file", json!({"path": NEW, "content": "made by it\n"}));
    let second = Reply::call("edit_file", edit(scenes::OTHER, "four\n", "4\n"));
    let files = format!("//- /{}\n{BEFORE}//- /{}\nfour\n", scenes::FILE, scenes::OTHER);
    let stage = Stage::new(&files, [first, Reply::text("Done."), second, Reply::text("Done.")]);
    let stage = stage.without_edits_mode();
    stage.workspace.add_config("[edits]\nmode = \"review\"\n");
    stage
}

/// Lets both runs make their edits, and types a line into the first change.
fn run_both(editor: &Neovim<'_>) {
    let ended = |runs: usize| {
        wait_for("the end of a run", || (editor.progress().matches("done").count() >= runs).then_some(()));
    };
    editor.command(FIRST);
    ended(1);
    editor.lua(&format!("vim.cmd.Adjutant('{SECOND}')"));
    ended(2);
    editor.wait_buffer(EDITED);
    editor.lua("vim.api.nvim_buf_set_lines(File(), 2, 2, false, { 'mine' })");
}

fn told(editor: &Neovim<'_>) -> String {
    editor.lua("return table.concat(vim.g.told, '|')").as_str().unwrap_or_default().to_owned()
}

fn waiting(editor: &Neovim<'_>) -> u64 {
    editor.lua("return require('adjutant.asks').count()").as_u64().unwrap_or_default()
}

fn disk(stage: &Stage) -> (bool, String) {
    (stage.workspace.exists(NEW), stage.workspace.read(scenes::OTHER))
}

#[test]
fn p04_a_run_and_everything_after_it_is_shown_undone_and_restored() {
    each(two_runs, |editor| {
        run_both(editor);
        editor.lua("vim.cmd('Adjutant undo run later')");
        let listed = wait_for("the list of runs", || editor.asked());
        let rows: Vec<&str> = listed.lines().skip(1).collect();
        assert!(rows[0].starts_with("Also the other one · 1 change in 1 file · "), "{listed}");
        assert!(rows[1].starts_with("Make them numbers · 3 changes in 2 files · "), "{listed}");
        editor.choose(FIRST);
        let asked =
            editor.wait_asked("Undo “Make them numbers” and everything after it: 4 changes in 3 files");
        for part in [
            "greet.py: 1 change, 1 change more with 1 line of yours",
            "d/new.txt: 1 change, the file goes away",
        ] {
            assert!(asked.contains(part), "no {part:?} in\n{asked}");
        }
        assert!(
            asked.contains("\n1  Leave as it is\n2  Yes, undo 3 changes\n"),
            "the safe one is the first\n{asked}"
        );
        editor.choose("Leave as it is");
        assert_eq!((editor.buffer().as_str(), waiting(editor)), (AMENDED, 0));
        undo_and_restore(editor);
    });
}

fn undo_and_restore(editor: &Neovim<'_>) {
    editor.lua("vim.cmd('Adjutant undo run later')");
    wait_for("the list of runs", || editor.asked());
    editor.choose(FIRST);
    editor.wait_asked("everything after it");
    // A text that is not as it was shown is shown again, with what it is now.
    editor.type_at_top("typed");
    editor.choose("Yes, undo 4 changes, also your 1 line");
    let why = "greet.py changed since it was shown";
    wait_for("what is not as it was shown", || notices(editor).contains(why).then_some(()));
    editor.wait_asked("everything after it");
    assert_eq!(editor.buffer(), format!("typed\n{AMENDED}"), "nothing is done before it is seen");
    editor.choose("Yes, undo 4 changes, also your 1 line");
    editor.wait_buffer(&format!("typed\n{BEFORE}"));
    let done = "4 changes undone; to restore: :Adjutant restore run later";
    wait_for("what was done", || told(editor).contains(done).then_some(()));
    assert_eq!(disk(editor.stage), (false, "four\n".to_owned()));
    editor.lua("vim.cmd('Adjutant restore run later')");
    wait_for("the list of runs", || editor.asked());
    editor.choose(FIRST);
    editor.wait_asked("Restore “Make them numbers” and everything after it: 4 changes in 3 files");
    editor.choose("Yes, restore 4 changes");
    editor.wait_buffer(&format!("typed\n{AMENDED}"));
    wait_for("what was done", || told(editor).contains("4 changes restored").then_some(()));
    assert_eq!(disk(editor.stage), (true, "4\n".to_owned()));
}

/// A key that was pressed before the question could be read decides nothing.
#[test]
fn p04_keys_that_were_typed_before_the_preview_came_undo_nothing() {
    let edit = json!({"path": scenes::FILE, "old_text": "one\n", "new_text": "1\n"});
    let one_run = || {
        let replies = [Reply::call("edit_file", edit.clone()), Reply::text("Done.")];
        let stage = Stage::new(&format!("//- /{}\n{BEFORE}", scenes::FILE), replies).without_edits_mode();
        stage.workspace.add_config("[edits]\nmode = \"review\"\n");
        stage
    };
    each(one_run, |editor| {
        editor.command(FIRST);
        editor.wait_end("done");
        let after = BEFORE.replace("one\n", "1\n");
        editor.wait_buffer(&after);
        let at_once = "vim.cmd('Adjutant undo run') \
            vim.wait(20000, function() return require('adjutant.asks').count() == 1 end, 1) \
            vim.api.nvim_feedkeys('2', 'mx', false)";
        editor.lua(at_once);
        assert_eq!((editor.buffer(), waiting(editor)), (after.clone(), 1));
        // The user leaves it, and it is over.
        press(editor, "q");
        assert_eq!(waiting(editor), 0);
        // Who types meanwhile is not interrupted: the question waits in a corner.
        editor.lua("vim.cmd('Adjutant undo run') vim.cmd('startinsert')");
        editor.wait_true("the question", "return require('adjutant.asks').count() == 1");
        assert_eq!(editor.lua("return vim.api.nvim_get_mode().mode .. vim.bo.filetype"), "ipython");
        editor.wait_asked("Undo “Make them numbers”: 1 change in 1 file");
        editor.choose("Yes, undo 1 change");
        editor.wait_buffer(BEFORE);
        assert_eq!(editor.stage.seen().count("in", "agent/review/rewind"), 1);
    });
}

#[test]
fn p04_a_narrow_terminal_shows_what_undoing_a_run_means() {
    for version in VERSIONS {
        let stage = two_runs();
        let screen = open_sized(&stage, version, ("40", "24"));
        command(&screen, &format!(":Adjutant {FIRST}"));
        screen.wait("done");
        command(&screen, ":Adjutant undo run");
        let shown = screen.wait_until("the whole question", |text| text.contains("1  Leave as it is"));
        for part in [
            "Undo “Make them numbers”: 3 changes in",
            "1 change, the file goes",
            "2  Yes, undo 3 changes",
            "q close",
        ] {
            assert!(shown.contains(part), "no {part:?} on\n{shown}");
        }
        read();
        screen.keys(&[&key_of(&shown, "Yes, undo")]);
        screen.wait(":Adjutant restore run ");
        assert!(!screen.text().contains("Press ENTER"), "{}", screen.text());
        wait_for("the file to go away", || (!stage.workspace.exists(NEW)).then_some(()));
    }
}
