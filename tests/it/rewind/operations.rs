//! Runs that deleted and moved files, undone and restored as a whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use adjutant_protocol::methods;
use adjutant_protocol::review::ReviewDecideResult;
use adjutant_protocol::rewind::RewindPreview;
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::{decision, edit, titles};
use crate::rig::Rig;
use crate::stage::Stage;

const FILES: &str = "//- /a.txt\none\n.\n.\ntwo\n//- /b.txt\nfour\n//- /c.txt\nfive\n";

/// Every file of a folder with its bytes.
type Tree = BTreeMap<String, Vec<u8>>;

fn tree(stage: &Stage) -> Tree {
    fn walk(folder: &Path, root: &Path, found: &mut Tree) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                let name = path.strip_prefix(root).expect("below").display().to_string();
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    let mut found = Tree::new();
    walk(stage.workspace.path(), stage.workspace.path(), &mut found);
    found
}

fn call(tool: &str, arguments: Value) -> Reply {
    Reply::call(tool, arguments)
}

/// Every kind of step that a file can go through in a run, some of them twice.
fn steps() -> Vec<Reply> {
    vec![
        edit("a.txt", "one\n", "1\n"),
        call("move_file", json!({"from": "a.txt", "to": "d/moved.txt"})),
        edit("d/moved.txt", "two\n", "2\n2\n"),
        call("move_file", json!({"from": "d/moved.txt", "to": "d/e/again.txt"})),
        edit("d/e/again.txt", "1\n", "uno\n"),
        edit("b.txt", "four\n", "4\n"),
        call("delete_file", json!({"path": "b.txt"})),
        call("write_file", json!({"path": "b.txt", "content": "anew\n"})),
        edit("b.txt", "anew\n", "anew\nand more\n"),
        call("delete_file", json!({"path": "c.txt"})),
        call("write_file", json!({"path": "new.txt", "content": "made\n"})),
        call("delete_file", json!({"path": "new.txt"})),
        // The name is free again.
        call("write_file", json!({"path": "a.txt", "content": "another\n"})),
    ]
}

struct Operated {
    stage: Stage,
    before: Tree,
    after: Tree,
}

impl Operated {
    fn start() -> Operated {
        let stage = Stage::new(FILES).answering("allow");
        let before = tree(&stage);
        let outputs = stage.play(steps());
        assert_eq!(outputs.len(), steps().len(), "{outputs:#?}");
        let after = tree(&stage);
        let names: Vec<&str> = after.keys().map(String::as_str).collect();
        assert_eq!(names, ["a.txt", "b.txt", "d/e/again.txt"], "{outputs:#?}");
        Operated { stage, before, after }
    }

    fn preview(&self, restore: bool) -> RewindPreview {
        let params = json!({"sessionId": self.stage.session, "restore": restore});
        self.stage.rig.call(methods::REVIEW_PREVIEW, params)
    }

    /// Carries out a preview, and returns why hunks were left.
    fn rewind(&self, preview: &RewindPreview) -> Vec<String> {
        let done: ReviewDecideResult = self.stage.rig.call(methods::REVIEW_REWIND, decision(preview, false));
        done.hunks.into_iter().filter_map(|hunk| hunk.why).collect()
    }
}

#[test]
fn p04_deletions_and_moves_of_a_run_are_undone_and_restored_with_it_to_the_byte() {
    let operated = Operated::start();
    for is_first in [true, false] {
        let preview = operated.preview(false);
        // Restored changes wait for a review again.
        let kept = |hunks: u32| match is_first {
            true => format!(", {hunks} of them kept before"),
            false => String::new(),
        };
        let expected = [
            "Undo “go on”: 13 changes in 5 files".to_owned(),
            format!("  a.txt: 1 change{}, the file goes away", kept(1)),
            format!("  b.txt: 4 changes{}, the file goes away, the deleted file comes back", kept(4)),
            format!("  c.txt: 1 change{}, the deleted file comes back", kept(1)),
            format!(
                "  d/e/again.txt: 5 changes{}, the file is called d/moved.txt again, the file is called a.txt again",
                kept(5)
            ),
            format!("  new.txt: 2 changes{}", kept(2)),
        ];
        assert_eq!(preview.lines, expected);
        assert_eq!(operated.rewind(&preview), [""; 0]);
        assert_eq!(tree(&operated.stage), operated.before);
        let restore = operated.preview(true);
        assert_eq!(titles(&restore), ["Yes, restore 13 changes"], "{restore:#?}");
        assert_eq!(operated.rewind(&restore), [""; 0]);
        assert_eq!(tree(&operated.stage), operated.after);
    }
    operated.stage.rig.shutdown();
}

#[test]
fn p04_what_the_user_wrote_since_keeps_a_name_and_the_rest_is_undone() {
    let operated = Operated::start();
    let stage = &operated.stage;
    stage.workspace.write("c.txt", "mine\n");
    let moved = stage.workspace.read("d/e/again.txt");
    stage.workspace.write("d/e/again.txt", &format!("{moved}mine too\n"));
    let preview = operated.preview(false);
    let left: Vec<(&str, u32, &str)> = preview
        .files
        .iter()
        .flat_map(|file| file.left.iter().map(|left| (file.path.as_str(), left.hunks, left.why.as_str())))
        .collect();
    let expected = [
        ("c.txt", 1, "another file has its name now"),
        ("d/e/again.txt", 1, "the file has another text now; undo what was changed later first"),
        ("d/e/again.txt", 1, "another deletion or move of the file stays"),
    ];
    assert_eq!(left, expected, "{preview:#?}");
    assert_eq!(titles(&preview), ["Yes, undo 10 changes"]);
    assert_eq!(operated.rewind(&preview), [""; 0]);
    let now = tree(stage);
    let names: Vec<&str> = now.keys().map(String::as_str).collect();
    assert_eq!(names, ["b.txt", "c.txt", "d/e/again.txt"]);
    assert_eq!(stage.workspace.read("d/e/again.txt"), "one\n.\n.\ntwo\nmine too\n");
    assert_eq!(stage.workspace.read("c.txt"), "mine\n");
    assert_eq!(stage.workspace.read("b.txt"), "four\n");
    operated.stage.rig.shutdown();
}

#[test]
fn p04_names_that_a_run_used_twice_are_told_apart_after_a_restart() {
    let Operated { stage, before, after } = Operated::start();
    let Stage { rig, model, session, workspace } = stage;
    rig.end();
    let rig = Rig::start(&workspace);
    let operated = Operated { stage: Stage { rig, model, session, workspace }, before, after };
    assert_eq!(operated.rewind(&operated.preview(false)), [""; 0]);
    assert_eq!(tree(&operated.stage), operated.before);
    let Operated { stage, before, after } = operated;
    let Stage { rig, model, session, workspace } = stage;
    rig.end();
    let rig = Rig::start(&workspace);
    let operated = Operated { stage: Stage { rig, model, session, workspace }, before, after };
    assert_eq!(operated.rewind(&operated.preview(true)), [""; 0]);
    assert_eq!(tree(&operated.stage), operated.after);
    operated.stage.rig.shutdown();
}

#[test]
fn p04_a_file_that_was_opened_after_the_preview_is_not_undone_in_another_way() {
    let operated = Operated::start();
    let preview = operated.preview(false);
    operated.stage.rig.open("b.txt");
    let refused = operated.stage.rig.request(methods::REVIEW_REWIND, decision(&preview, false));
    assert!(refused.expect_err("a conflict").message.contains("b.txt changed since it was shown"));
    assert_eq!(tree(&operated.stage), operated.after, "nothing is half done");
    // What is left then is said before.
    let preview = operated.preview(false);
    let b = preview.files.iter().find(|file| file.path == "b.txt").expect("the file");
    assert!(!b.left.is_empty(), "{preview:#?}");
    assert_eq!(operated.rewind(&preview), [""; 0]);
    operated.stage.rig.shutdown();
}
