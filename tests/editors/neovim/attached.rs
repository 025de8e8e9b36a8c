//! Scenes in Neovim about lines that wait with the prompt.
//!
//! Never looks into the server.

use adjutant_testkit::model::Reply;

use super::Neovim;
use super::changes::wait_told;
use super::conversation::{BELOW, go, text, wait_below, wait_done};
use super::scenes::{chat, each, press};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

fn talk() -> Stage {
    let stage = scenes::stage(["First words.", "Second words.", "Third words."].map(Reply::text));
    stage.workspace.write("notes.txt", "one note\ntwo notes\n");
    stage
}

/// Returns what waits with the prompt in sight.
fn waiting(editor: &Neovim<'_>) -> Vec<String> {
    let below = editor.lua(BELOW);
    let lines = below.as_str().unwrap_or_default().lines().filter(|line| line.starts_with("+ "));
    lines.map(|line| line.trim_end_matches(" · :Adjutant prompt drop").to_owned()).collect()
}

#[track_caller]
fn wait_waiting(editor: &Neovim<'_>, wanted: &[&str]) {
    wait_for(&format!("{wanted:?} below the prompt"), || (waiting(editor) == wanted).then_some(()));
}

fn request(editor: &Neovim<'_>, count: usize) -> String {
    editor.stage.model.wait_for_requests(count)[count - 1].json().to_string()
}

/// Goes back to the file, and runs a command there.
fn in_file(editor: &Neovim<'_>, command: &str) {
    editor.lua(&format!(
        "vim.cmd.stopinsert() vim.cmd.wincmd('t') vim.cmd([[{command}]]) vim.cmd.stopinsert()"
    ));
}

#[test]
fn n08_selected_lines_wait_with_the_prompt_and_go_along_once() {
    each(talk, |editor| {
        in_file(editor, "2,3Adjutant");
        editor.wait_true("the prompt", super::conversation::IN_PROMPT);
        wait_waiting(editor, &["+ greet.py:2-3"]);
        // The same lines wait once, and they are those lines wherever they are.
        in_file(editor, "2,3Adjutant prompt");
        wait_waiting(editor, &["+ greet.py:2-3"]);
        editor.type_at_top("MOOD = 7");
        in_file(editor, "edit notes.txt");
        in_file(editor, "2Adjutant prompt");
        wait_waiting(editor, &["+ greet.py:3-4", "+ notes.txt:2"]);
        // They are those lines also after their file was closed.
        in_file(
            editor,
            "call append(0, ['a new note']) | silent write | buffer greet.py | bunload notes.txt",
        );
        go(editor);
        wait_waiting(editor, &["+ greet.py:3-4", "+ notes.txt:3"]);
        // Without words nothing is sent.
        press(editor, "<CR>");
        press(editor, "ccExplain it<Esc><CR>");
        let first = request(editor, 1);
        assert!(first.contains("Explain it") && first.contains("greet.py, lines 3 to 4"), "{first}");
        assert!(first.contains("return \\\"Helo, \\\"") && first.contains("two notes"), "{first}");
        assert!(!first.contains("one note\\n"), "{first}");
        wait_done(editor, "First words.");
        wait_waiting(editor, &[]);
        in_file(editor, "edit notes.txt");
        let said = chat(editor);
        assert!(said.contains("# Explain it\n\n+ greet.py, lines 3 to 4\n+ notes.txt, line 3\n"), "{said}");
        // In the session that goes on; another one has its own.
        in_file(editor, "2Adjutant prompt");
        wait_waiting(editor, &["+ notes.txt:2"]);
        in_file(editor, "Adjutant!");
        wait_waiting(editor, &[]);
        in_file(editor, "Adjutant sessions");
        editor.choose("Explain it");
        wait_waiting(editor, &["+ notes.txt:2"]);
        go(editor);
        press(editor, "ccAnd this<Esc><CR>");
        let second = request(editor, 2);
        assert!(second.contains("First words.") && second.contains("one note"), "{second}");
        wait_done(editor, "Second words.");
        wait_waiting(editor, &[]);
    });
}

#[test]
fn n08_lines_that_wait_can_be_dropped_and_stay_when_the_prompt_is_refused() {
    each(talk, |editor| {
        in_file(editor, "2,3Adjutant prompt");
        wait_waiting(editor, &["+ greet.py:2-3"]);
        in_file(editor, "Adjutant prompt drop");
        wait_waiting(editor, &[]);
        in_file(editor, "Adjutant prompt drop");
        wait_told(editor, "Adjutant: no lines wait with the prompt");
        // A text without a file goes along whole, as it was then.
        in_file(editor, "enew");
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a loose line', 'another' })");
        press(editor, "Vj:Adjutant prompt<CR><Esc>");
        wait_waiting(editor, &["+ a buffer without a name:1-2"]);
        go(editor);
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { ('x'):rep(1100000) })");
        press(editor, "<CR>");
        wait_below(editor, "Not sent: ");
        wait_waiting(editor, &["+ a buffer without a name:1-2"]);
        press(editor, "ccShort<Esc><CR>");
        let first = request(editor, 1);
        assert!(first.contains("Short") && first.contains("a loose line"), "{first}");
        wait_done(editor, "First words.");
        assert_eq!(text(editor), "");
        wait_waiting(editor, &[]);
    });
}
