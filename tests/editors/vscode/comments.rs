//! A scene in VS Code about comments on changes: written above a change, shown there, sent together.
//!
//! Never looks into the server: it checks the screen and the requests to the model.

use serde_json::{Value, json};

use super::Code;
use super::answers::notified;
use super::changes::{BYE, BYE_LENS, SUM, SUM_LENS, changed, palette, stage, wait_lenses};
use crate::editor::Editor;
use crate::scenes::everyday::last_request;
use crate::stage::wait_for;

/// Writes a comment into the box that a press has opened.
fn comment(code: &Code<'_>, text: &str) {
    code.do_("input", json!(["waits until you send", text]));
    code.do_("confirm", json!([]));
}

#[test]
fn p06_comments_are_written_at_a_change_shown_there_and_sent_together() {
    let stage = stage();
    let code = changed(&stage);
    code.wait_end("done");
    palette(&code, "Send Comments…");
    notified(&code, "no comment waits");
    code.do_("palette", json!(["Notifications: Clear All Notifications"]));
    code.do_("pressLens", json!(["Comment", SUM]));
    comment(&code, "use words that a customer knows");
    let row = "Keep | Undo | Show +1 −4 | Comment | Send";
    wait_lenses(&code, &[(row, SUM), BYE_LENS]);
    let remarks = |wanted: Value| {
        wait_for(&format!("{wanted}"), || (code.do_("remarks", json!([])) == wanted).then_some(()));
    };
    remarks(json!(["“use words that a customer knows”"]));
    code.picture("comment-light");
    let toggle = json!(["Preferences: Toggle between Light/Dark Themes"]);
    code.do_("palette", toggle.clone());
    code.do_("themed", json!(["vs-dark"]));
    code.picture("comment-dark");
    code.do_("palette", toggle);
    code.do_("resize", json!([560, 700]));
    code.picture("comment-narrow");
    code.do_("resize", json!([1100, 700]));
    // A comment is changed, or emptied and so taken back, by the same lens.
    code.do_("pressLens", json!(["Comment", BYE]));
    comment(&code, "not this");
    remarks(json!(["“use words that a customer knows”", "“not this”"]));
    code.do_("pressLens", json!(["Comment", BYE]));
    code.do_("clear", json!(["waits until you send"]));
    code.do_("confirm", json!([]));
    wait_lenses(&code, &[(row, SUM), BYE_LENS]);
    code.do_("pressLens", json!(["Comment", BYE]));
    comment(&code, "say it shorter");
    palette(&code, "Review Changes");
    wait_for("the number of comments", || {
        code.do_("sidebar", json!([])).to_string().contains("2 comments wait to be sent.").then_some(())
    });
    code.picture("comments-list");
    code.do_("pressLens", json!(["Send", SUM]));
    code.do_("input", json!(["2 comments wait. Add words", "Both, please."]));
    code.do_("confirm", json!([]));
    stage.model.wait_for_requests(4);
    let told = last_request(&stage);
    for part in [
        "Both, please.\\n\\nMy comments",
        "use words that a customer knows",
        "say it shorter",
        "shop.py, line 2",
    ] {
        assert!(told.contains(part), "no {part:?} in {told}");
    }
    // What was sent waits no more.
    wait_lenses(&code, &[SUM_LENS, BYE_LENS]);
    remarks(json!([]));
}
