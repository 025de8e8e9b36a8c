//! Scenes in a plain client on the library.
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

/// Only this client of the tests cancels through the progress.
#[test]
fn s90_the_progress_cancels_the_run() {
    with(scenes::silence, |editor| {
        scenes::cancels(editor);
        let seen = editor.stage.seen();
        assert_eq!(seen.count("in", "window/workDoneProgress/cancel"), 1, "{}", seen.shown());
        assert_eq!(seen.count("in", "workspace/executeCommand"), 1, "no command cancels\n{}", seen.shown());
    });
}
