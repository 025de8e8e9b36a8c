//! A server that is killed while it deletes or moves a file: the file is there or its effect is, nothing is left over, and the
//! session says which.

use adjutant::faults::OPERATION_POINTS;
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::process::{Server, wait_until};

use crate::kill::{BINARY, finished, left};

const SCRIPT: &str = "
[[turn]]
[[turn.call]]
tool = \"write_file\"
arguments = { path = \"sub/a.txt\", content = \"draft\\n\" }
[[turn]]
[[turn.call]]
tool = \"CALL\"
arguments = ARGUMENTS
[[turn]]
text = \"Done.\"
";

#[test]
fn n15_a_kill_at_each_point_leaves_the_file_or_its_effect_and_nothing_else() {
    for point in OPERATION_POINTS {
        let workspace = Workspace::new("//- /b.txt\nthree\n");
        let (tool, arguments, to) = match point.starts_with("move") {
            true => ("move_file", "{ from = \"sub/a.txt\", to = \"sub/c.txt\" }", Some("sub/c.txt")),
            false => ("delete_file", "{ path = \"sub/a.txt\" }", None),
        };
        workspace.script(&SCRIPT.replace("CALL", tool).replace("ARGUMENTS", arguments));
        let run = Line::new(BINARY, &workspace, &["run", "-y", "go"]);
        let ran = run.env("ADJUTANT_FAULT", format!("{point}:1")).run();
        assert!(ran.was_killed(), "{point}: {ran}");
        let is_done = !matches!(point, "removal-begun" | "move-compared");
        let check = |when: &str, is_done: bool| {
            assert_eq!(workspace.exists("sub/a.txt"), !is_done, "{point} {when}");
            if let Some(to) = to {
                assert_eq!(workspace.exists(to), is_done, "{point} {when}");
            }
        };
        check("after the kill", is_done);
        assert_eq!(left(workspace.path()).len(), usize::from(point == "removal-aside"), "{point}");
        let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
        let editor = server.editor(Options::new(&workspace));
        wait_until(&format!("{point}: the leftovers to be gone"), || left(workspace.path()).is_empty());
        finished(&editor);
        check("after the next start", true);
        editor.shutdown();
        server.wait();
        // The run continues: what is done is not done again, and what is not is done now.
        let resumed = Line::new(BINARY, &workspace, &["run", "-y", "--continue"]).run();
        let said = format!("{resumed}");
        resumed.expect(0);
        assert!(!workspace.exists("sub/a.txt"), "{point}: {said}");
        assert!(to.is_none_or(|to| workspace.read(to) == "draft\n"), "{point}: {said}");
    }
}
