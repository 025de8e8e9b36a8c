//! Scenes in Helix: it has no popups, so questions are diagnostics and answers are code actions.
//!
//! Never looks into the server.

use super::Helix;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::Stage;

fn with(stage: impl Fn() -> Stage, scene: impl Fn(&Helix<'_>)) {
    scene(&Helix::open(&stage(), scenes::FILE));
}

crate::scenes::every_editor!(with);
crate::scenes::typing!(with);

#[test]
fn n01_n03_a_review_goes_on_after_its_server_was_killed() {
    with(scenes::three_changes, |editor| scenes::reviews_over_a_kill(editor));
}

/// Helix gets at most one popup.
#[test]
fn s03_questions_are_diagnostics_where_there_are_no_popups() {
    with(scenes::one_edit, |editor| {
        scenes::rejects(editor);
        let seen = editor.stage().seen();
        let popups = seen.answers("out", "window/showMessageRequest");
        assert!(popups.iter().all(|popup| popup.refused), "Helix has no popups:\n{}", seen.shown());
        assert!(popups.len() <= 1, "a client that has no popups is offered one once:\n{}", seen.shown());
        assert!(seen.count("out", "textDocument/publishDiagnostics") >= 2, "{}", seen.shown());
    });
}
