//! Scenes in Emacs with lsp-mode.
//!
//! Never looks into the server.

use super::LspMode;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::Stage;

fn with(stage: impl Fn() -> Stage, scene: impl Fn(&LspMode<'_>)) {
    scene(&LspMode::open(&stage(), scenes::FILE));
}

crate::scenes::every_editor!(with);
crate::scenes::typing!(with);

/// lsp-mode requests code actions whenever the cursor rests, without a sign of it. A question that the user
/// closed with C-g stays closed then, and the menu that the user opens has the answers.
#[test]
fn finding_d5_a_question_that_was_put_away_stays_away_until_the_user_asks_for_it() {
    with(scenes::one_edit, |editor| {
        editor.stage.model.release();
        editor.command(scenes::TASK);
        editor.wait_asked("Edit greet.py");
        editor.put_away();
        let seen = editor.stage.seen();
        seen.answers("out", "window/showMessageRequest");
        let asked = seen.count("in", "textDocument/codeAction");
        editor.screen.keys(&["Down"]);
        seen.wait("in", "textDocument/codeAction", asked + 1);
        editor.screen.keys(&["Down"]);
        seen.wait("in", "textDocument/codeAction", asked + 2);
        assert_eq!(seen.count("out", "window/showMessageRequest"), 1, "{}", seen.shown());
        assert_eq!(editor.asked(), None);
        editor.action("Yes, apply");
        editor.wait_buffer(scenes::AFTER);
        editor.wait_end("done");
        assert_eq!(seen.count("out", "workspace/applyEdit"), 1, "{}", seen.shown());
    });
}
