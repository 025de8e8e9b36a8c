//! A scene in Neovim about comments on changes: written at a change, shown there, sent together.
//!
//! Never looks into the server.

use super::changes::{EDITED, HINT, all_three, run, three, wait_drawn, wait_told};
use super::scenes::{each, press};
use crate::editor::Editor;
use crate::scenes::everyday::last_request;

#[test]
fn p06_comments_are_written_at_a_change_drawn_there_and_sent_together() {
    each(three, |editor| {
        run(editor);
        editor.wait_buffer(EDITED);
        wait_drawn(editor, &all_three(""));
        editor.lua("vim.cmd('Adjutant send')");
        wait_told(editor, "no comment waits; :Adjutant comment writes one on a change");
        press(editor, "]h");
        editor.lua("vim.cmd('Adjutant comment: use words · all of them')");
        let commented = |text: &str| {
            let two = format!("  DiffDelete two\n+ DiffAdd 2 {HINT}\n");
            all_three("")
                .replace(&two, &format!("  DiffDelete two\n  Comment » {text}\n+ DiffAdd 2 {HINT}\n"))
        };
        wait_drawn(editor, &commented("use words · all of them"));
        wait_told(editor, "1 comment waits; :Adjutant send sends it");
        // The key asks for the words, with those of before.
        editor.lua(
            "vim.ui.input = function(options, done) vim.g.default = options.default done('use letters') end",
        );
        press(editor, "\\\\ac");
        wait_drawn(editor, &commented("use letters"));
        assert_eq!(editor.lua("return vim.g.default"), "use words · all of them");
        press(editor, "[h");
        press(editor, "\\\\ac");
        wait_told(editor, "2 comments wait; :Adjutant send sends them");
        let both = commented("use letters")
            .replace(&format!("+ DiffAdd 1 {HINT}"), &format!("  Comment » use letters\n+ DiffAdd 1 {HINT}"));
        wait_drawn(editor, &both);
        // An empty one takes it back.
        editor.lua("vim.ui.input = function(_, done) done('') end");
        press(editor, "\\\\ac");
        wait_told(editor, "Adjutant: taken back; 1 comment waits");
        wait_drawn(editor, &commented("use letters"));
        editor.lua("vim.cmd('Adjutant send: Once more.')");
        editor.stage.model.wait_for_requests(4);
        let told = last_request(editor.stage);
        let round = "Once more.\\n\\nMy comments on your changes.";
        assert!(
            told.contains(round) && told.contains("use letters") && !told.contains("use words"),
            "{told}"
        );
        wait_told(editor, "1 comment sent");
        wait_drawn(editor, &all_three(""));
    });
}
