//! Scenes in Kakoune: a bell in the status line opens a menu, and *Enter* chooses its first entry.
//!
//! Never looks into the server.

use super::Kakoune;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::Stage;

fn with(stage: impl Fn() -> Stage, scene: impl Fn(&Kakoune<'_>)) {
    scene(&Kakoune::open(&stage(), scenes::FILE));
}

crate::scenes::every_editor!(with);

/// Other versions sort their menus by title, and Enter chooses the first entry. That entry never approves,
/// neither in a question nor among the code actions.
#[test]
fn finding_d5_enter_in_a_menu_never_approves() {
    with(scenes::one_edit, |editor| {
        editor.stage.model.release();
        editor.command(scenes::TASK);
        editor.wait_asked("Edit greet.py");
        editor.choose("");
        editor.wait_end("done");
        assert_eq!(editor.buffer(), scenes::BEFORE);
        assert_eq!(editor.stage.seen().count("out", "workspace/applyEdit"), 0);
    });
    with(scenes::one_edit, |editor| {
        editor.stage.model.release();
        editor.command(scenes::TASK);
        editor.stage.seen().wait("out", "window/showMessageRequest", 1);
        editor.menu("Reject");
        editor.screen.keys(&["Enter"]);
        editor.wait_end("done");
        assert_eq!(editor.buffer(), scenes::BEFORE);
        assert_eq!(editor.stage.seen().count("out", "workspace/applyEdit"), 0);
    });
}

/// A shell builds the JSON of a task; special characters arrive as the user typed them.
#[test]
fn finding_d5_a_task_with_quotes_and_backslashes_reaches_the_model() {
    with(scenes::silence, |editor| {
        editor.command(r#"it's 5" \o/ 100%"#);
        let asked = editor.stage.model.wait_for_requests(1)[0].json().to_string();
        assert!(asked.contains(r#"it's 5\" \\o/ 100%"#), "{asked}");
    });
}

/// Finding: the end of a range is exclusive, and the last selected line was missing.
#[test]
fn finding_d5_a_task_is_about_every_selected_line() {
    with(scenes::silence, |editor| {
        editor.screen.text_in("ggJ");
        editor.screen.wait("2:1 ");
        editor.command("Look at them");
        let asked = editor.stage.model.wait_for_requests(1)[0].json().to_string();
        assert!(asked.contains("The user is at lines 1 to 2 of greet.py"), "{asked}");
    });
}
