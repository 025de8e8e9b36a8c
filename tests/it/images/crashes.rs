//! A server that dies between storing an image and its event: there is no prompt, and nothing prevents the next
//! one.

use std::fs;

use adjutant::faults::PROMPT_POINTS;
use adjutant_testkit::command::Line;
use adjutant_testkit::fixture::Workspace;

use super::{BINARY, png};

#[test]
fn s85_a_kill_between_an_image_and_its_fact_leaves_no_prompt_and_nothing_in_the_way() {
    for point in PROMPT_POINTS {
        let workspace = Workspace::new("//- /a.txt\nhello\n");
        workspace
            .script("[[turn]]\ntext = \"A cat.\"\n[[turn]]\ntext = \"A dog.\"\n")
            .add_config("images = true\n");
        fs::write(workspace.path().join("cat.png"), png(1)).unwrap();
        let run = |args: &[&str], fault: bool| {
            let line = Line::new(BINARY, &workspace, args);
            if fault { line.env("ADJUTANT_FAULT", format!("{point}:1")).run() } else { line.run() }
        };
        let first = ["run", "What is this?", "--image", "cat.png"];
        assert!(run(&first, true).was_killed(), "{point} was not reached");
        let listed = run(&["sessions", "list"], false);
        assert!(!listed.expect(0).stdout.contains("What is this?"), "{listed}");
        run(&first, false).expect(0);
        let more = ["run", "--continue", "And this?", "--image", "cat.png"];
        assert!(run(&more, true).was_killed(), "{point} was not reached again");
        // The session is unchanged: intact, idle, and ready for the same prompt.
        let listed = run(&["sessions", "list"], false);
        let stdout = &listed.expect(0).stdout;
        assert!(stdout.contains("idle") && !stdout.contains("damaged"), "{listed}");
        let shown = run(&more, false);
        assert!(shown.expect(0).stdout.contains("A dog."), "{shown}");
    }
}
