//! Scenes of what is attached to a prompt: selections, files and images, by the keyboard and by the mouse.
//!
//! Never waits for a time, only for what the page shows or the model gets.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Code;
use crate::scenes;
use crate::stage::{Stage, wait_for};

const FILES: &str = "//- /greet.py\none = 1\ntwo = 2\nthree = 3\nfour = 4\n//- /other.py\nother = 1\n";
/// A red picture of one pixel, as it is in a request.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

impl Code<'_> {
    /// Waits until these are the labels of what is attached.
    #[track_caller]
    fn wait_chips(&self, labels: &[&str]) -> Value {
        let mut last = Value::Null;
        let shows = || {
            last = self.do_("chatChips", json!([]));
            let all = last.as_array()?;
            (all.iter().map(|chip| &chip["label"]).eq(labels.iter())).then(|| last.clone())
        };
        crate::stage::wait_or(shows).unwrap_or_else(|| panic!("attached is {last:#}\nnot {labels:?}"))
    }

    fn paste(&self, files: Value) {
        self.do_("chatFiles", json!(["paste", files]));
    }

    fn wait_focus(&self, name: &str) {
        wait_for("the focus", || (self.do_("chatFocus", json!([])) == name).then_some(()));
    }
}

fn image(name: &str) -> Value {
    json!({ "name": name, "type": "image/png", "data": PNG })
}

/// Names, blocks, moved lines and drafts.
#[test]
fn n08_what_is_attached_has_short_names_and_follows_its_lines() {
    super::node_finds_nothing("chips.mjs", "editors/vscode/src/chat/drafts.ts");
}

#[test]
fn n08_a_selection_waits_as_a_chip_until_it_is_sent_with_words() {
    let stage = Stage::new(FILES, ["Seen.", "Seen again."].map(Reply::text));
    let code = Code::open(&stage, scenes::FILE);
    // Lines two and three, by the keyboard.
    code.do_("goTo", json!([2]));
    code.do_("key", json!(["Shift+ArrowDown"]));
    code.do_("key", json!(["Shift+ArrowDown"]));
    code.do_("palette", json!(["Adjutant: Ask About This…"]));
    let chips = code.wait_chips(&["greet.py:2–3"]);
    assert_eq!(chips[0]["buttons"], json!(["Open greet.py, lines 2 to 3", "Remove greet.py, lines 2 to 3"]));
    assert!(stage.model.requests().is_empty(), "nothing is sent by itself");
    code.wait_focus("Prompt");
    assert_eq!(code.do_("chatFlaws", json!([])), json!([]));
    // What is written above it moves it.
    code.do_("key", json!(["Control+Home"]));
    code.do_("type", json!(["# new\n"]));
    code.wait_chips(&["greet.py:3–4"]);
    // The same by the code actions, and a file by the menu; both outlive the window.
    code.do_("openFile", json!(["other.py"]));
    code.do_("key", json!(["Shift+End"]));
    code.do_("action", json!(["Adjutant: Ask About This…"]));
    code.wait_chips(&["greet.py:3–4", "other.py:1"]);
    code.do_("editorMenu", json!(["Add File to Adjutant's Prompt"]));
    code.wait_chips(&["greet.py:3–4", "other.py:1", "other.py"]);
    code.do_("chatType", json!(["What are these?"]));
    code.picture("chat-attached");
    // Another view in its place, then the window itself, which opens with the file of before.
    code.do_("palette", json!(["View: Show Explorer"]));
    code.do_("chatOpen", json!([]));
    code.do_("reload", json!(["greet.py"]));
    code.do_("chatOpen", json!([]));
    code.wait_chips(&["greet.py:3–4", "other.py:1", "other.py"]);
    assert_eq!(code.chat()["draft"], "What are these?");
    // One goes by its button and one by the keys.
    code.do_("chatPress", json!(["×"]));
    code.wait_chips(&["other.py:1", "other.py"]);
    code.do_("chatKey", json!(["Home"]));
    code.do_("chatKey", json!(["Backspace"]));
    code.wait_chips(&["other.py:1"]);
    code.do_("palette", json!(["Adjutant: Add File to Prompt"]));
    code.wait_chips(&["other.py:1", "greet.py"]);
    code.wait_focus("Prompt");
    code.do_("pageKey", json!(["Shift+Tab"]));
    code.wait_focus("Remove greet.py");
    code.do_("pageKey", json!(["Delete"]));
    code.wait_chips(&["other.py:1"]);
    code.wait_focus("Remove other.py, line 1");
    assert_eq!(code.chat()["draft"], "What are these?");
    code.do_("chatKey", json!(["Enter"]));
    let request = stage.model.wait_for_requests(1)[0].json().to_string();
    assert!(request.contains("other.py, `other = 1` in line 1:"), "{request}");
    code.wait_chat(&[
        "prompt: What are these? other.py, `other = 1` in line 1 Sent with it",
        "reply: Seen.",
        "end: Done",
    ]);
    code.wait_chips(&[]);
    // The next prompt has none of it.
    code.say_in_chat("And now?");
    let requests = stage.model.wait_for_requests(2);
    let again = requests[1].json().to_string();
    assert_eq!(again.matches("other = 1` in line 1").count(), 1, "only in the first prompt: {again}");
    code.picture("chat-attached-sent");
}

#[test]
fn s85_a_pasted_image_is_a_chip_and_reaches_the_model() {
    let stage = Stage::new(FILES, [Reply::text("Red.")]).without_edits_mode();
    // The settings of its provider come last.
    stage.workspace.add_config("images = true\n");
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    // Words beside a picture are meant as words.
    code.paste(json!([{ "text": "a cell" }, image("image.png")]));
    code.paste(json!([image("image.png")]));
    let chips = code.wait_chips(&["Pasted image"]);
    assert_eq!(
        (&chips[0]["picture"], &chips[0]["buttons"]),
        (&json!(true), &json!(["Remove Pasted image: image/png, 70 bytes"]))
    );
    code.do_("chatFiles", json!(["drop", [{ "name": "a.svg", "type": "image/svg+xml", "data": PNG }]]));
    let says = wait_for("why not", || Some(code.chat()["problem"].clone()).filter(|says| says != ""));
    assert!(says.as_str().is_some_and(|says| says.starts_with("Only PNG, JPEG, GIF and WebP")), "{says}");
    code.do_("chatFiles", json!(["drop", [image("shot.png")]]));
    code.wait_chips(&["Pasted image", "shot.png"]);
    // Another view in its place, then the window itself.
    code.do_("palette", json!(["View: Show Explorer"]));
    code.do_("chatOpen", json!([]));
    code.wait_chips(&["Pasted image", "shot.png"]);
    code.do_("reload", json!(["greet.py"]));
    code.do_("chatOpen", json!([]));
    let chips = code.wait_chips(&["Pasted image", "shot.png"]);
    assert!(chips[1]["picture"] == true, "the picture outlives the window: {chips}");
    assert_eq!(code.do_("chatFlaws", json!([])), json!([]));
    // Without words nothing is asked.
    code.do_("chatKey", json!(["Enter"]));
    code.do_("chatType", json!(["Which colour?"]));
    code.picture("chat-image");
    code.do_("chatKey", json!(["Enter"]));
    let requests = stage.model.wait_for_requests(1);
    let request = requests[0].json().to_string();
    assert_eq!(request.matches(PNG).count(), 2, "{request}");
    code.wait_chat(&[
        "prompt: Which colour? Image: image/png, 70 bytes Image: image/png, 70 bytes Sent with it",
        "reply: Red.",
        "end: Done",
    ]);
    code.wait_chips(&[]);
}

#[test]
fn s85_an_image_that_the_model_does_not_take_stays_in_the_box() {
    let stage = Stage::new(FILES, [Reply::text("A file.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.paste(json!([image("shot.png")]));
    code.wait_chips(&["shot.png"]);
    code.do_("chatFiles", json!(["drop", [{ "uris": stage.workspace.uri("other.py") }]]));
    code.wait_chips(&["shot.png", "other.py"]);
    code.say_in_chat("What is it?");
    let problem = wait_for("why not", || {
        let says = code.chat()["problem"].as_str().unwrap_or_default().to_owned();
        (!says.is_empty()).then_some(says)
    });
    assert!(problem.contains("images") && problem.ends_with("Choose Another Model…"), "{problem}");
    code.wait_chips(&["shot.png", "other.py"]);
    assert_eq!(code.chat()["draft"], "What is it?");
    code.picture("chat-image-refused");
    assert!(stage.model.requests().is_empty(), "nothing was sent");
    // Without the image it goes.
    code.do_("chatPress", json!(["×"]));
    code.wait_chips(&["other.py"]);
    code.do_("chatKey", json!(["Enter"]));
    let request = stage.model.wait_for_requests(1)[0].json().to_string();
    assert!(request.contains("\\n1\\tother = 1"), "{request}");
}
