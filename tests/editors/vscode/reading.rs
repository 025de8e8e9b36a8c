//! Scenes of a user who reads in the chat: how much it draws, and where the code of an answer goes.
//!
//! Never looks into the server: it checks the screen.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::Code;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

const FILES: &str = "//- /greet.py\nprint(1)\n";

/// Code of an answer goes where a paste would go, and only when the user presses.
#[test]
fn s105_code_of_an_answer_is_copied_and_put_at_the_cursor() {
    let stage = Stage::new(FILES, [Reply::text("Try this:\n\n```python\nprint(2)\nprint(3)\n```\n")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("What would you write?");
    wait_for("the end", || code.chat()["items"].to_string().contains("end: Done").then_some(()));
    let before = code.buffer();
    code.do_("chatPress", json!(["Insert"]));
    code.wait_buffer(&format!("print(2)\nprint(3){before}"));
    // The cursor is behind it, and the keys go there.
    code.do_("type", json!(["  # mine\n"]));
    let typed = format!("print(2)\nprint(3)  # mine\n{before}");
    code.wait_buffer(&typed);
    code.do_("chatPress", json!(["Copy"]));
    wait_for("the note", || {
        code.do_("status", json!([])).to_string().contains("The code is in the clipboard").then_some(())
    });
    code.picture("chat-code");
    code.do_("focus", json!([]));
    code.do_("key", json!(["Control+v"]));
    code.wait_buffer(&typed.replacen("# mine\n", "# mine\nprint(2)\nprint(3)", 1));
}

/// What is left out is not lost: it comes back with the next choice, and the model and the log had it all the time.
#[test]
fn s102_the_chat_draws_as_much_as_the_user_wants() {
    let read = |path: &str| json!({ "path": path });
    let replies = [
        Reply::text("I look.")
            .and_reasoning("It may be in the greeting.")
            .and_call("read_file", read(scenes::FILE)),
        Reply::call("read_file", read("gone.py")),
        Reply::text("Seen."),
    ];
    let stage = Stage::new(FILES, replies);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Look at it");
    let thought = "thought: Thought";
    let [prompt, look, seen, done] =
        ["prompt: Look at it Sent with it", "reply: I look.", "reply: Seen.", "end: Done"];
    let fine = "tool: ✓ Read greet.py · 1 line of greet.py";
    let failed = "tool: ✗ Read gone.py · there is no file \"gone.py\"; the nearest names there are \"greet.py\", \".git\"";
    code.wait_chat(&[prompt, thought, look, fine, failed, seen, done]);
    let choose = |label: &str| {
        code.do_("palette", json!(["Adjutant: Choose How Much the Chat Shows…"]));
        wait_for("the choices", || code.do_("picks", json!([])).to_string().contains("Brief").then_some(()));
        code.do_("pick", json!([label]));
    };
    choose("Brief");
    code.wait_chat(&[prompt, look, failed, seen, done]);
    code.picture("chat-brief");
    choose("Full");
    let thought = format!("{thought} It may be in the greeting.");
    let [fine_too, failed_too] =
        [(fine, scenes::FILE), (failed, "gone.py")].map(|(line, path)| format!("{line} path: {path}"));
    code.wait_chat(&[prompt, &thought, look, &fine_too, &failed_too, seen, done]);
    code.picture("chat-full");
    // The choice is the user's, also in the next window.
    code.do_("reload", json!([scenes::FILE]));
    code.do_("chatOpen", json!([]));
    code.wait_chat(&[prompt, &thought, look, &fine_too, &failed_too, seen, done]);
    choose("Normal");
    code.wait_chat(&[prompt, "thought: Thought", look, fine, failed, seen, done]);
}
