//! Deleting and moving files that are or may be open: by editors that can, and refused in all others.

use adjutant_testkit::editor::{ApplyBehaviour, Capabilities, Options};
use adjutant_testkit::fixture::Workspace;
use serde_json::{Value, json};

use super::{FILES, decide_operation, delete, exists, moving};
use crate::stage::Stage;

/// Returns a stage whose editor announces these abilities.
fn stage(complete: bool, file_operations: bool) -> Stage {
    let adapt = |mut options: Options| {
        options.capabilities = Capabilities { file_operations, ..options.capabilities };
        options.capabilities.agent.as_mut().expect("a rich client").documents.complete = complete;
        options
    };
    Stage::with(Workspace::new(FILES), adapt).answering("allow")
}

/// Returns the operations that the editor was sent.
fn sent(stage: &Stage) -> Vec<Value> {
    let change = |params: &Value| params["edit"]["documentChanges"][0].clone();
    stage.rig.applies().iter().map(|apply| change(&apply.params)).collect()
}

#[test]
fn n15_the_buffer_of_an_open_file_follows_a_move_and_goes_with_a_deletion() {
    for complete in [true, false] {
        let stage = stage(complete, true);
        stage.rig.open("a.txt");
        assert_eq!(stage.play([moving("a.txt", "sub/c.txt")]), ["Moved a.txt to sub/c.txt."]);
        let (from, to) = (stage.workspace.uri("a.txt"), stage.workspace.uri("sub/c.txt"));
        let options = json!({"overwrite": false, "ignoreIfExists": false});
        assert_eq!(
            sent(&stage),
            [json!({"kind": "rename", "oldUri": from, "newUri": to, "options": options})]
        );
        assert!(stage.rig.buffer("a.txt").is_none());
        assert_eq!(stage.rig.text_of("sub/c.txt"), "one\ntwo\n");
        decide_operation(&stage, "undo");
        assert_eq!(stage.rig.text_of("a.txt"), "one\ntwo\n");

        assert_eq!(stage.play([delete("a.txt")]), ["Deleted a.txt."]);
        let options = json!({"recursive": false, "ignoreIfNotExists": false});
        assert_eq!(sent(&stage)[2..], [json!({"kind": "delete", "uri": from, "options": options})]);
        assert!(stage.rig.buffer("a.txt").is_none() && !exists(&stage, "a.txt"));
        stage.rig.shutdown();
    }
}

#[test]
fn n21_a_move_and_a_deletion_carry_a_label_where_the_editor_shows_whose_they_are() {
    let adapt = |mut options: Options| {
        options.capabilities.extra = json!({"workspace": {"workspaceEdit": {"changeAnnotationSupport": {}}}});
        options
    };
    let stage = Stage::with(Workspace::new(FILES), adapt).answering("allow");
    stage.rig.open("a.txt");
    stage.play([moving("a.txt", "c.txt"), delete("c.txt")]);
    let labels = ["Adjutant: Move a.txt to c.txt", "Adjutant: Delete c.txt"];
    let applies = stage.rig.applies();
    assert_eq!(applies.len(), labels.len());
    for (apply, label) in applies.iter().zip(labels) {
        let edit = &apply.params["edit"];
        assert_eq!(edit["documentChanges"][0]["annotationId"], "adjutant", "{edit}");
        let annotation = json!({"adjutant": {"label": label, "needsConfirmation": false}});
        assert_eq!(edit["changeAnnotations"], annotation);
    }
    assert!(!exists(&stage, "a.txt") && !exists(&stage, "c.txt"));
    stage.rig.shutdown();
}

#[test]
fn n15_a_closed_file_is_handled_on_disk_where_the_editor_tells_of_every_open_one() {
    let stage = stage(true, true);
    stage.play([moving("a.txt", "c.txt"), delete("b.txt")]);
    assert!(stage.rig.applies().is_empty());
    assert!(exists(&stage, "c.txt") && !exists(&stage, "b.txt"));
    stage.rig.shutdown();
}

#[test]
fn n15_where_a_file_may_be_open_unannounced_only_the_editor_does_it() {
    let with = stage(false, true);
    assert_eq!(with.play([delete("b.txt")]), ["Deleted b.txt."]);
    assert_eq!(sent(&with).len(), 1);
    with.rig.shutdown();

    let without = stage(false, false);
    let output = without.call("delete_file", json!({"path": "a.txt"}));
    assert!(
        output.contains("may be open in the editor") && output.contains("has to be done by hand"),
        "{output}"
    );
    let output = without.call("move_file", json!({"from": "b.txt", "to": "c.txt"}));
    assert!(output.contains("may be open in the editor"), "{output}");
    assert!(without.asks().is_empty() && exists(&without, "a.txt") && exists(&without, "b.txt"));
    without.rig.shutdown();
}

#[test]
fn n15_an_open_file_stays_where_the_editor_has_no_such_operation() {
    let stage = stage(true, false);
    stage.rig.open("a.txt");
    let output = stage.call("delete_file", json!({"path": "a.txt"}));
    assert!(output.contains("is open in the editor, which deletes no files for Adjutant"), "{output}");
    stage.rig.open("b.txt");
    let output = stage.call("move_file", json!({"from": "b.txt", "to": "c.txt"}));
    assert!(output.contains("which moves no files for Adjutant"), "{output}");
    assert!(stage.asks().is_empty());
    stage.rig.shutdown();
}

#[test]
fn n15_a_name_that_the_editor_has_a_document_under_is_not_free() {
    let stage = stage(true, true);
    stage.rig.open("c.txt");
    let output = stage.call("move_file", json!({"from": "a.txt", "to": "c.txt"}));
    assert!(output.contains("\"c.txt\" is open in the editor"), "{output}");
    assert!(exists(&stage, "a.txt") && !exists(&stage, "c.txt"));
    stage.rig.shutdown();
}

#[test]
fn n15_only_the_disk_decides_whether_the_editor_did_it() {
    let done = "Moved a.txt to c.txt.";
    let cases = [
        (ApplyBehaviour::SayAppliedDoNothing, "the disk does not show it. It may still happen"),
        (ApplyBehaviour::RefuseAlways("no moves today".to_owned()), "was not done: no moves today."),
        (ApplyBehaviour::ApplyButSayFailed, done),
        (ApplyBehaviour::ApplyNeverAnswer, done),
        (ApplyBehaviour::ReplyFirst, done),
    ];
    for (behaviour, expected) in cases {
        let stage = stage(true, true);
        stage.rig.open("a.txt");
        stage.rig.set_apply(behaviour.clone());
        let outputs = stage.play([moving("a.txt", "c.txt")]);
        assert!(outputs[0].contains(expected), "{behaviour:?}: {outputs:?}");
        assert_eq!(exists(&stage, "c.txt"), expected == done, "{behaviour:?}");
        stage.rig.shutdown();
    }
}
