//! What real editors do with an edit that was sent, and what happens to its document meanwhile
//! (design 3, design 4).
//!
//! Each test covers a behaviour that was observed in a real editor.

use adjutant_protocol::update::HunkState;
use adjutant_testkit::editor::{ApplyBehaviour, Capabilities, Place};
use adjutant_testkit::fixture::Workspace;
use serde_json::{Value, json};

use super::super::stage::{Stage, edit, states, write};

const TEXT: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";

fn stage() -> Stage {
    with(Capabilities::full())
}

fn with(can: Capabilities) -> Stage {
    let stage = Stage::with(Workspace::new("//- /keep.txt\n"), |options| options.capabilities(can));
    stage.workspace.write("a.txt", TEXT);
    stage.rig.open("a.txt");
    stage.answering("allow")
}

/// Returns a stage with a rich client that counts as silent after one second.
fn hasty(behaviour: ApplyBehaviour) -> Stage {
    let workspace = Workspace::new("//- /keep.txt\n");
    workspace.write("a.txt", TEXT);
    let limits = "[limits]\neditor_seconds = 1";
    let stage = Stage::configured(workspace, limits, |options| options.apply(behaviour)).answering("allow");
    stage.rig.open("a.txt");
    stage
}

fn sent(stage: &Stage, index: usize) -> Value {
    stage.rig.applies()[index].params["edit"].clone()
}

#[test]
fn n05_a_stale_edit_answered_with_an_error_is_placed_anew() {
    let stage = stage();
    stage.rig.set_apply(ApplyBehaviour::StaleError);
    let mut typed = false;
    stage.rig.before_apply(move |buffers| {
        if !std::mem::replace(&mut typed, true) {
            buffers.type_at("a.txt", Place::Start, "mine\n");
        }
    });
    assert!(stage.edit("a.txt", "e", "E").starts_with("Edited "));
    assert_eq!(stage.rig.applies().len(), 2);
    assert_eq!(stage.rig.text_of("a.txt"), format!("mine\n{}", TEXT.replace('e', "E")));
}

#[test]
fn n05_the_unversioned_form_comes_only_after_a_refusal_and_over_the_same_text() {
    let silent = || Capabilities { document_changes: false, ..Capabilities::full() };
    // The client did not announce the form and accepts it anyway, as Neovim does.
    let stage = with(silent());
    assert!(stage.edit("a.txt", "e", "E").starts_with("Edited "));
    assert!(sent(&stage, 0)["documentChanges"].is_array() && stage.rig.applies().len() == 1);

    // The client refuses it: the other form follows.
    stage.rig.set_apply(ApplyBehaviour::ChangesOnly);
    assert!(stage.edit("a.txt", "f", "F").starts_with("Edited "));
    assert_eq!(stage.rig.applies().len(), 3);
    assert!(sent(&stage, 1)["documentChanges"].is_array());
    assert!(sent(&stage, 2)["changes"].is_object() && sent(&stage, 2).get("documentChanges").is_none());
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('e', "E").replace('f', "F"));

    // The user types meanwhile: no edit without a version is sent for a text that has changed.
    let stage = with(silent());
    stage.rig.set_apply(ApplyBehaviour::ChangesOnly);
    stage.rig.before_apply(|buffers| buffers.type_at("a.txt", Place::Start, "mine\n"));
    let output = stage.edit("a.txt", "h", "H");
    assert!(output.contains("was not applied: the text kept changing"), "{output}");
    assert!((0..stage.rig.applies().len()).all(|index| sent(&stage, index).get("changes").is_none()));

    // The client announced the form: its refusal is final.
    let stage = with(Capabilities::full());
    stage.rig.set_apply(ApplyBehaviour::ChangesOnly);
    let output = stage.edit("a.txt", "e", "E");
    assert!(output.contains("documentChanges are not supported"), "{output}");
    assert_eq!(stage.rig.applies().len(), 1);
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
}

#[test]
fn n05_two_answers_to_one_edit_are_one() {
    let stage = stage();
    stage.rig.set_apply(ApplyBehaviour::AnswerTwice);
    assert!(stage.edit("a.txt", "e", "E").starts_with("Edited "));
    assert!(stage.edit("a.txt", "f", "F").starts_with("Edited "));
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('e', "E").replace('f', "F"));
    assert_eq!(stage.rig.applies().len(), 2);
}

#[test]
fn n05_an_edit_made_after_its_time_was_over_is_there_once() {
    let stage = hasty(ApplyBehaviour::ApplyLate);
    let output = stage.edit("a.txt", "e", "e\nnew");
    assert!(
        output.contains("did not answer within 1 s") && output.contains("It may still appear"),
        "{output}"
    );
    stage.rig.release_applies();
    stage.await_hunks(HunkState::Kept);
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace("e\n", "e\nnew\n"));
    assert_eq!(stage.rig.applies().len(), 1);
    stage.rig.set_apply(ApplyBehaviour::Faithful);
    assert!(stage.edit("a.txt", "f", "F").starts_with("Edited "));
    assert!(stage.conversation().iter().any(|(_, text)| text.ends_with("is in the file.")));
}

#[test]
fn n05_an_edit_the_user_takes_back_at_once_is_told_as_that() {
    let stage = hasty(ApplyBehaviour::ApplyNeverAnswer);
    let run = stage.send([edit("a.txt", "e", "E")]);
    stage.rig.await_text("a.txt", &TEXT.replace('e', "E"));
    stage.rig.undo("a.txt");
    let outputs = stage.finish(&run);
    assert!(outputs[0].contains("was applied and undone at once"), "{outputs:?}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
    assert_eq!(stage.rig.applies().len(), 1, "an edit that the user undid is not made again");
    assert_eq!(states(&stage.change_set()), [HunkState::NotApplied]);
}

#[test]
fn n04_a_document_closed_while_the_edit_is_on_its_way_is_edited_once() {
    // Saved and closed: the editor opens the document again for the edit.
    let stage = stage();
    stage.rig.type_at("a.txt", Place::Start, "top\n");
    let mut once = true;
    stage.rig.before_apply(move |buffers| {
        if std::mem::take(&mut once) {
            buffers.save("a.txt").unwrap();
            buffers.close("a.txt");
        }
    });
    let output = stage.edit("a.txt", "e", "E");
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), format!("top\n{}", TEXT.replace('e', "E")));

    // Closed and discarded: what is on disk has the place of the edit too, so it is made there.
    let stage = self::stage();
    stage.rig.set_apply(ApplyBehaviour::RefuseAlways("the document is closed".to_owned()));
    stage.rig.type_at("a.txt", Place::Start, "top\n");
    let mut once = true;
    stage.rig.before_apply(move |buffers| {
        if std::mem::take(&mut once) {
            buffers.close("a.txt");
        }
    });
    let output = stage.edit("a.txt", "e", "E");
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(stage.workspace.read("a.txt"), TEXT.replace('e', "E"));
    assert_eq!(stage.rig.applies().len(), 1, "then placed again in the text on disk");
}

#[test]
fn n04_a_file_that_is_deleted_or_renamed_meanwhile_is_not_made_anew() {
    let stage = Stage::new("//- /keep.txt\n");
    for renamed in [false, true] {
        stage.workspace.write("b.txt", "whole\n");
        let run = stage.send([write("b.txt", "new\n")]);
        let ask = stage.rig.await_ask();
        let path = stage.workspace.path().join("b.txt");
        match renamed {
            true => std::fs::rename(&path, path.with_file_name("c.txt")).unwrap(),
            false => std::fs::remove_file(&path).unwrap(),
        }
        stage.rig.answer(&ask.ask_id, "allow");
        let outputs = stage.finish(&run);
        assert!(outputs[0].contains("was not applied: the file is gone since it was shown"), "{outputs:?}");
        assert!(!stage.workspace.exists("b.txt") && stage.rig.applies().is_empty());
    }
    assert_eq!(stage.workspace.read("c.txt"), "whole\n");
    // Deleted on disk but open in the editor: the buffer is what the user sees.
    stage.workspace.write("a.txt", TEXT);
    stage.rig.open("a.txt");
    let run = stage.send([edit("a.txt", "e", "E")]);
    let ask = stage.rig.await_ask();
    std::fs::remove_file(stage.workspace.path().join("a.txt")).unwrap();
    stage.rig.answer(&ask.ask_id, "allow");
    assert!(stage.finish(&run)[0].starts_with("Edited "));
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('e', "E"));
    assert!(!stage.workspace.exists("a.txt"), "the user saves it");
}

#[test]
fn n07_a_document_that_cannot_be_followed_on_the_way_is_not_edited_blindly() {
    let stage = Stage::new("//- /keep.txt\n");
    stage.workspace.write("a.txt", TEXT);
    stage.rig.open("a.txt");
    let run = stage.send([edit("a.txt", "e", "E")]);
    let ask = stage.rig.await_ask();
    let at = json!({"line": 900, "character": 0});
    let change = json!({"range": {"start": {"line": 901, "character": 0}, "end": at}, "text": "x"});
    stage.rig.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": stage.workspace.uri("a.txt"), "version": 7}, "contentChanges": [change]}),
    );
    stage.rig.answer(&ask.ask_id, "allow");
    let outputs = stage.finish(&run);
    assert!(
        outputs[0].contains("its text is not known")
            && outputs[0].contains("until the editor sends it whole")
    );
    assert!(stage.rig.applies().is_empty());
    stage.rig.edit(|buffers| buffers.tell_again("a.txt"));
    let stage = stage.answering("allow");
    assert!(stage.edit("a.txt", "e", "E").starts_with("Edited "));
}

#[test]
fn n05_a_closed_file_goes_to_disk_where_its_buffer_could_not_be_saved() {
    let mut can = Capabilities::full();
    can.agent.as_mut().unwrap().documents.save = false;
    let stage = with(can);
    stage.workspace.write("closed.txt", "one\ntwo\n");
    let outputs =
        stage.play([edit("closed.txt", "two", "2"), write("new.txt", "1\n"), edit("a.txt", "e", "E")]);
    assert_eq!(outputs[..2], ["Edited closed.txt: +1 -1 lines.", "Created new.txt: +1 -0 lines."]);
    assert!(outputs[2].contains("not saved yet"), "{outputs:?}");
    assert_eq!(
        (stage.workspace.read("closed.txt"), stage.workspace.read("new.txt")),
        ("one\n2\n".into(), "1\n".into())
    );
    assert_eq!(stage.rig.applies().len(), 1, "only the open file goes through the editor");
    assert!(stage.rig.buffer("closed.txt").is_none());
    assert_eq!(stage.workspace.read("a.txt"), TEXT);
}

#[test]
fn n05_a_client_that_does_not_say_all_is_asked_to_edit_also_what_it_never_opened() {
    let mut can = Capabilities::full();
    let documents = &mut can.agent.as_mut().unwrap().documents;
    (documents.save, documents.complete) = (false, false);
    let stage = Stage::with(Workspace::new("//- /keep.txt\n"), |options| options.capabilities(can));
    stage.workspace.write("closed.txt", "one\ntwo\n");
    let run = stage.send([edit("closed.txt", "two", "2")]);
    let ask = stage.rig.await_ask();
    assert!(!ask.description.as_deref().unwrap_or_default().contains("save it first"));
    stage.rig.answer(&ask.ask_id, "allow");
    stage.finish(&run);
    assert_eq!(stage.rig.text_of("closed.txt"), "one\n2\n");
    assert_eq!(stage.workspace.read("closed.txt"), "one\ntwo\n", "in the buffer, for the user to save");
}

/// Finding C5: kak-lsp counts the byte order mark as part of the first line, and lost it with that line.
#[test]
fn finding_c5_a_closed_file_with_a_mark_is_edited_on_disk_for_a_client_that_may_lose_the_mark() {
    let mut can = Capabilities::full();
    let documents = &mut can.agent.as_mut().unwrap().documents;
    (documents.save, documents.complete) = (false, false);
    let stage = Stage::with(Workspace::new("//- /keep.txt\n"), |options| options.capabilities(can));
    stage.workspace.write("marked.txt", "\u{feff}one\ntwo\n");
    let run = stage.send([edit("marked.txt", "one", "1")]);
    let ask = stage.rig.await_ask();
    assert!(ask.description.as_deref().unwrap_or_default().contains("save it first"), "{ask:?}");
    stage.rig.answer(&ask.ask_id, "allow");
    assert_eq!(stage.finish(&run), ["Edited marked.txt: +1 -1 lines."]);
    assert_eq!(stage.workspace.read("marked.txt"), "\u{feff}1\ntwo\n");
    assert!(stage.rig.applies().is_empty(), "the server keeps the mark");
}

#[test]
fn finding_d7_a_file_that_is_open_and_not_there_yet_reaches_the_disk() {
    let stage = stage();
    for name in ["new.txt", "empty.txt", "typed.txt"] {
        stage.rig.open(name);
    }
    stage.rig.type_at("typed.txt", Place::Start, "mine\n");
    let outputs = stage.play([write("new.txt", "1\n2\n"), write("empty.txt", ""), write("typed.txt", "1\n")]);
    assert_eq!(outputs[..2], ["Created new.txt: +2 -0 lines.", "Created empty.txt: +0 -0 lines."]);
    assert_eq!(stage.workspace.read("new.txt"), "1\n2\n");
    assert_eq!(stage.rig.text_of("new.txt"), "1\n2\n", "there is an extra empty line");
    assert!(stage.workspace.exists("empty.txt"));
    // The user's own text is the user's to save.
    assert!(
        outputs[2].starts_with("Edited typed.txt") && outputs[2].contains("not saved yet"),
        "{outputs:?}"
    );
    assert!(!stage.workspace.exists("typed.txt"));
}
