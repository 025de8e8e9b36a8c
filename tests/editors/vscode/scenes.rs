//! Scenes in VS Code.
//!
//! Never looks into the server: screen, bytes on disk and the message log say what happened.

use super::Code;
use crate::stage::Stage;

#[test]
fn s01_the_extension_starts_the_server_and_shows_that_it_is_there() {
    let stage = Stage::new("//- /greet.py\nprint('hi')\n", []);
    let code = Code::open(&stage, "greet.py");
    assert_eq!(code.do_("buffer", serde_json::json!([])), "print('hi')\n");
    crate::stage::wait_for("the status bar to show Adjutant", || {
        code.status().contains("Adjutant").then_some(())
    });
    code.picture("attached");
}
