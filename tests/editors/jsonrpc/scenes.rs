//! What a plain client made of the library does and sees.
//!
//! Never looks into the server.

use super::Client;
use crate::scenes;
use crate::stage::Stage;

fn with(stage: impl Fn() -> Stage, scene: impl Fn(&Client<'_>)) {
    scene(&Client::open(&stage(), scenes::FILE));
}

crate::scenes::every_editor!(with);
crate::scenes::typing!(with);

/// No other client of these tests cancels by its progress.
#[test]
fn s90_the_progress_cancels_the_run() {
    with(scenes::silence, |editor| {
        scenes::cancels(editor);
        let seen = editor.stage.seen();
        assert_eq!(seen.count("in", "window/workDoneProgress/cancel"), 1, "{}", seen.shown());
        assert_eq!(seen.count("in", "workspace/executeCommand"), 1, "no command cancels\n{}", seen.shown());
    });
}
