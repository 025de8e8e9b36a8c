//! Scenes of completion in the box of the chat: mentions after `@`, slash commands after `/`.
//!
//! Never looks into the server: it checks the screen, and what the model is told.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Code;
use crate::scenes;
use crate::stage::{Stage, wait_for};

const FILES: &str = "//- /greet.py\nprint(1)\n//- /docs/my notes.md\none\n//- /docs/other notes.md\ntwo\n\
                     //- /a/folder/with/a/very/long/path/to/a/file/that/nobody/reads/notable.md\nthree\n";

impl Code<'_> {
    /// Waits until the first lines of the list are these.
    #[track_caller]
    fn wait_completions(&self, first: &[&str]) -> Value {
        let mut last = Value::Null;
        let shows = || {
            last = self.do_("chatCompletions", json!([]));
            let items = last["items"].as_array()?;
            let is =
                items.len() >= first.len() && items.iter().zip(first).all(|(item, wanted)| item == wanted);
            (is && items.is_empty() == first.is_empty()).then(|| last.clone())
        };
        crate::stage::wait_or(shows).unwrap_or_else(|| panic!("the list is {last:#}\nnot {first:#?}"))
    }

    fn wait_draft(&self, wanted: &str) {
        wait_for(&format!("{wanted:?} in the box"), || (self.chat()["draft"] == wanted).then_some(()));
    }
}

#[test]
fn n11_the_box_completes_mentions_and_commands_by_the_servers_list() {
    let stage = Stage::new(FILES, [Reply::text("Seen.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    let keys = |keys: &[&str]| keys.iter().for_each(|key| drop(code.do_("chatKey", json!([key]))));
    // Without a click, which would move the cursor.
    let type_on = |text: &str| text.chars().for_each(|key| keys(&[&key.to_string()]));
    code.do_("chatType", json!(["é"]));
    keys(&["Shift+Enter"]);
    type_on("Look at @notes");
    let [mine, other] = ["docs/my notes.md", "docs/other notes.md"];
    let chosen = |label: &str| format!("> {label}");
    let list = code.wait_completions(&[&chosen(mine), other]);
    assert_eq!((&list["led"], &list["inside"]), (&json!(true), &json!(true)), "{list:#}");
    keys(&["ArrowDown"]);
    code.wait_completions(&[mine, &chosen(other)]);
    keys(&["ArrowUp"]);
    code.wait_completions(&[&chosen(mine), other]);
    keys(&["ArrowDown", "Enter"]);
    let draft = "é\nLook at @\"docs/other notes.md\"";
    code.wait_draft(draft);
    code.wait_completions(&[]);
    // Words after it have no list, and one that was closed does not come back by itself.
    type_on(" and @gre");
    code.wait_completions(&["> greet.py"]);
    keys(&["Escape"]);
    code.wait_completions(&[]);
    assert_eq!(code.chat()["draft"], format!("{draft} and @gre"));
    type_on("e");
    code.wait_completions(&["> greet.py"]);
    keys(&["Tab"]);
    code.wait_draft(&format!("{draft} and @greet.py"));
    // What is typed to its end has no list, so Enter sends it.
    keys(&["Enter"]);
    code.wait_chat(&[
        "prompt: é Look at @\"docs/other notes.md\" and @greet.py docs/other notes.md greet.py Sent with it",
        "reply: Seen.",
        "end: Done",
    ]);
    code.do_("chatType", json!(["/rev"]));
    wait_for("the command", || {
        code.do_("chatCompletions", json!([]))["items"].to_string().contains("> /review").then_some(())
    });
    keys(&["Enter"]);
    code.wait_draft("/review ");
}

/// In a narrow window the list is whole, and everyone can use it.
#[test]
fn n11_the_list_of_the_box_is_for_everyone_and_fits_a_narrow_window() {
    let stage = Stage::new(FILES, []);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.do_("resize", json!([400, 700]));
    code.do_("chatType", json!(["/"]));
    wait_for("the commands", || {
        let list = code.do_("chatCompletions", json!([]));
        list["items"].to_string().contains("> /").then_some(())
    });
    code.picture("completion-commands");
    code.do_("chatKey", json!(["Tab"]));
    wait_for("a command", || {
        let draft = code.chat()["draft"].as_str().unwrap_or_default().to_owned();
        (draft.starts_with('/') && draft.ends_with(' ')).then_some(())
    });
    for key in ["@", "n", "o", "t"] {
        code.do_("chatKey", json!([key]));
    }
    wait_for("the files", || {
        let list = code.do_("chatCompletions", json!([]));
        (list["items"].to_string().contains("notable.md") && list["inside"] == true).then_some(())
    });
    assert_eq!(code.do_("chatFlaws", json!([])), json!([]));
    code.picture("completion-narrow");
    code.do_("chatComplete", json!(["other notes"]));
    wait_for("a mention", || {
        code.chat()["draft"].to_string().contains("@\\\"docs/other notes.md").then_some(())
    });
}
