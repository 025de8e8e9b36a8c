//! A conversation in a Markdown buffer of Helix, without a plugin: completion of a mention, sending, the answer, the next prompt.
//!
//! Never looks into the server; reads the request to the model.

use adjutant_testkit::model::Reply;

use super::Helix;
use crate::editor::Editor;
use crate::stage::Stage;

const FILES: &str = "
    //- /task.adjutant.md
    Look at
    //- /src/greet.py
    print('hello')
";

#[test]
fn n11_a_task_of_two_prompts_grows_in_a_markdown_buffer() {
    let stage = Stage::new(FILES, [Reply::text("It greets."), Reply::text("It still does.")]);
    let helix = Helix::open(&stage, "task.adjutant.md");
    helix.screen.keys(&["A"]);
    helix.screen.paste(" @gree");
    helix.screen.wait("Look at @gree");
    // A typed letter brings the menu.
    helix.screen.text_in("t");
    helix.screen.wait("src/greet.py");
    helix.screen.keys(&["Tab"]);
    helix.screen.wait("Look at @src/greet.py");
    helix.leave_insert_mode();
    helix.action("Send this prompt");
    helix.screen.wait("It greets.");
    let requests = stage.model.requests();
    let first = String::from_utf8_lossy(&requests[0].body).into_owned();
    assert!(first.contains("Look at @src/greet.py") && first.contains("print('hello')"), "{first}");

    helix.screen.keys(&["g", "e"]);
    helix.insert("And now?");
    helix.leave_insert_mode();
    helix.action("Send this prompt");
    helix.screen.wait("It still does.");
    let text = helix.buffer();
    let sessions: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("## Adjutant · ")?.split(" · ").next()).collect();
    assert!(sessions.len() == 2 && sessions[0] == sessions[1], "one conversation: {text}");
    let without =
        |text: &str| text.lines().filter(|line| !line.starts_with("## ")).collect::<Vec<_>>().join("\n");
    assert_eq!(
        without(&text).trim_end(),
        "Look at @src/greet.py\n\n\nIt greets.\n\n---\nAnd now?\n\n\nIt still does.\n\n---"
    );
    let second = String::from_utf8_lossy(&stage.model.requests()[1].body).into_owned();
    assert!(second.contains("It greets.") && second.contains("And now?"), "{second}");
}
