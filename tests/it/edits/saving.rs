//! The setting `edits.save`: what is saved after an edit, an undo and a restore, and that the model is told the truth.
//!
//! Never looks into the server.

use adjutant_protocol::methods;
use adjutant_protocol::review::{ReviewDecideResult, ReviewListResult};
use adjutant_testkit::editor::Place;
use adjutant_testkit::fixture::Workspace;
use serde_json::json;

use super::super::stage::Stage;

const FILES: &str = "
    //- /saved.txt
    one
    //- /unsaved.txt
    one
    //- /closed.txt
    one
";
const WAITS: &str = " The file is open in the editor and not saved yet.";

/// Returns a stage with one document that is saved and one with text of the user that is not. Edits are applied at once.
fn stage(save: &str, complete: bool) -> Stage {
    let config = format!("[edits]\nmode = \"review\"\n{save}");
    let stage = Stage::configured(Workspace::new(FILES), &config, |mut options| {
        options.capabilities.agent.as_mut().expect("a rich client").documents.complete = complete;
        options
    });
    stage.rig.open("saved.txt");
    stage.rig.open("unsaved.txt");
    stage.rig.type_at("unsaved.txt", Place::End, "mine\n");
    stage
}

/// Undoes or restores all that the agent did in a file.
fn decide(stage: &Stage, file: &str, action: &str) {
    let listed: ReviewListResult = stage.rig.call(methods::REVIEW_LIST, json!({"all": true}));
    let hunk = listed.hunks.into_iter().find(|hunk| hunk.path == file).expect("a hunk of the file");
    let target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
    let params = json!({"sessionId": stage.session, "targets": [target], "action": action});
    let decided: ReviewDecideResult = stage.rig.call(methods::REVIEW_DECIDE, params);
    assert_eq!(decided.hunks[0].why, None);
}

#[test]
fn n06_each_value_of_edits_save_leaves_each_kind_of_document_as_it_says() {
    // What is saved of each file after an edit; the same holds after an undo and a restore.
    let rows = [
        ("", [true, false]),
        ("save = \"as-left\"\n", [true, false]),
        ("save = \"never\"\n", [false, false]),
        ("save = \"always\"\n", [true, true]),
    ];
    for (save, saved) in rows {
        for complete in [true, false] {
            let stage = stage(save, complete);
            for (file, saved) in [("saved.txt", saved[0]), ("unsaved.txt", saved[1]), ("closed.txt", true)] {
                let shown = format!("{file} with {save:?}, complete: {complete}");
                let before = stage.workspace.read(file);
                let mine = if file == "unsaved.txt" { "mine\n" } else { "" };
                let output = stage.edit(file, "one", "1");
                let waits = if saved { "" } else { WAITS };
                assert_eq!(output, format!("Edited {file}: +1 -1 lines.{waits}"), "{shown}");
                let check = |text: &str, when: &str| {
                    let text = format!("{text}\n{mine}");
                    assert_eq!(stage.rig.text_of(file), text, "{shown} {when}");
                    let disk = if saved { &text } else { &before };
                    assert_eq!(stage.workspace.read(file), *disk, "{shown} {when}");
                    let dirty = stage.rig.buffer(file).is_some_and(|buffer| buffer.dirty);
                    assert_eq!(dirty, !saved, "{shown} {when}");
                };
                check("1", "after the edit");
                decide(&stage, file, "undo");
                check("one", "after the undo");
                decide(&stage, file, "restore");
                check("1", "after the restore");
            }
            let opened = stage.rig.buffer("closed.txt").is_some();
            assert_eq!(opened, !complete, "a closed file is opened only where it may be open");
            stage.rig.shutdown();
        }
    }
}

#[test]
fn n06_a_command_says_what_edits_save_left_unsaved() {
    let stage = stage("save = \"never\"\n", true);
    stage.edit("saved.txt", "one", "1");
    let run = stage
        .send([adjutant_testkit::model::Reply::call("run_command", json!({"command": "cat saved.txt"}))]);
    let ask = stage.rig.await_ask();
    let why = ask.description.clone().unwrap_or_default();
    assert!(why.contains("Not saved yet: saved.txt, unsaved.txt."), "{why}");
    stage.rig.answer(&ask.ask_id, "allow");
    assert!(stage.finish(&run)[0].contains("one\n"), "the command sees the file as it was");
    let warned = stage.rig.await_message();
    assert!(warned.contains("saw saved.txt, unsaved.txt as they were saved last"), "{warned}");
    stage.rig.shutdown();
}
