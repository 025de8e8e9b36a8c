//! An allowed edit ends in the text (and on disk where it belongs) or in one warning; never in silence.
//!
//! [`Stage::finish`] asserts that a warning appears if an edit was not made.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use adjutant_protocol::update::{HunkState, ToolStatus};
use adjutant_testkit::editor::{ApplyBehaviour, Capabilities, Place, RpcError, Rule, SaveBehaviour};
use adjutant_testkit::fixture::Workspace;

use super::super::stage::{Stage, edit, states};

const TEXT: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";

fn with(can: Capabilities, behaviour: ApplyBehaviour) -> Stage {
    let workspace = Workspace::new("//- /keep.txt\n");
    workspace.write("a.txt", TEXT);
    let stage = Stage::with(workspace, |options| options.capabilities(can).apply(behaviour));
    stage.rig.open("a.txt");
    stage
}

fn stage() -> Stage {
    with(Capabilities::full(), ApplyBehaviour::default())
}

/// Returns the capabilities of a client that announces no edits.
fn silent() -> Capabilities {
    Capabilities {
        apply_edit: false,
        file_operations: false,
        document_changes: false,
        ..Capabilities::full()
    }
}

fn unknown() -> ApplyBehaviour {
    let message = "Unhandled method workspace/applyEdit".to_owned();
    ApplyBehaviour::Fail(RpcError { code: -32601, message, data: None })
}

#[test]
fn finding_c2_an_edit_is_sent_where_it_is_not_announced_and_the_text_decides() {
    let stage = with(silent(), ApplyBehaviour::default()).answering("allow");
    assert!(stage.edit("a.txt", "e", "E").starts_with("Edited "));
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('e', "E"));
    // The client makes the edit and never answers.
    stage.rig.set_apply(ApplyBehaviour::ApplyNeverAnswer);
    let since = Instant::now();
    assert!(stage.edit("a.txt", "f", "F").starts_with("Edited "));
    assert!(since.elapsed() < Duration::from_secs(8), "the text has the edit, whatever the client answers");
}

#[test]
fn finding_c2_where_no_way_is_left_it_is_said_before_anybody_is_asked() {
    let stage = with(silent(), unknown()).answering("allow");
    let output = stage.edit("a.txt", "e", "E");
    assert_eq!(output, "The edit of a.txt was not applied: the editor knows no such request.");
    assert_eq!((stage.rig.applies().len(), stage.asks().len()), (1, 1));
    let output = stage.edit("a.txt", "e", "E");
    assert!(output.contains("is open in the editor, which accepts no edits from Adjutant"), "{output}");
    assert!(output.contains("close the file"), "says what to do: {output}");
    assert_eq!((stage.rig.applies().len(), stage.asks().len()), (1, 1), "no useless ask is opened");
    assert_eq!(stage.status(), Some(ToolStatus::Failed));
    // After the user closes the file, the edit goes to disk.
    stage.rig.edit(|buffers| buffers.close("a.txt"));
    assert_eq!(stage.edit("a.txt", "e", "E"), "Edited a.txt: +1 -1 lines.");
    assert_eq!(stage.workspace.read("a.txt"), TEXT.replace('e', "E"));
}

#[test]
fn finding_c2_n05_every_allowed_edit_that_is_not_made_is_one_warning() {
    let behaviours = [
        ApplyBehaviour::SayAppliedDoNothing,
        ApplyBehaviour::RefuseAlways("no".to_owned()),
        ApplyBehaviour::Fail(RpcError { code: -32603, message: "broken".to_owned(), data: None }),
    ];
    for behaviour in behaviours {
        let stage = with(Capabilities::full(), behaviour).answering("allow");
        let output = stage.edit("a.txt", "e", "E");
        assert!(output.starts_with("The edit of a.txt was not applied: "), "{output}");
        stage.await_hunks(HunkState::NotApplied);
        assert!(stage.rig.messages().is_empty(), "more than one warning: {:?}", stage.rig.messages());
    }
    // The edit is dropped after it was shown the maximum number of times.
    let stage = stage().answering("allow");
    stage.rig.before_apply(|buffers| buffers.type_at("a.txt", Place::Start, "mine\n"));
    let output = stage.edit("a.txt", "e", "E");
    assert!(output.contains("was not applied: the text kept changing"), "{output}");
}

#[test]
fn finding_c3_n04_typing_beside_an_allowed_edit_does_not_drop_it() {
    for (old, new) in [("d\n", "d, mine\n"), ("f\n", "mine\nf\n"), ("c\nd\n", ""), ("d\ne\nf\n", "x\ne\ny\n")]
    {
        let stage = stage();
        let run = stage.send([edit("a.txt", "e", "E")]);
        let ask = stage.rig.await_ask();
        stage.rig.replace("a.txt", old, new);
        stage.rig.answer(&ask.ask_id, "allow");
        assert!(stage.finish(&run)[0].starts_with("Edited "), "{old:?} by {new:?}");
        assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace(old, new).replace("\ne\n", "\nE\n"));
        assert_eq!(stage.asks().len(), 1, "the replaced line is unchanged and occurs once");
    }
    // The line now occurs twice: the user has to say which one was meant.
    let stage = stage();
    let run = stage.send([edit("a.txt", "e", "E")]);
    let ask = stage.rig.await_ask();
    stage.rig.replace("a.txt", "d\n", "e\n");
    stage.rig.answer(&ask.ask_id, "allow");
    let new_ask = stage.rig.await_ask();
    stage.rig.answer(&new_ask.ask_id, "reject");
    assert_eq!(stage.finish(&run), ["The user rejected this."]);
}

#[test]
fn finding_c4_a_client_that_passes_over_one_form_gets_the_other() {
    let can = Capabilities { document_changes: false, ..Capabilities::full() };
    let stage = with(can, ApplyBehaviour::ChangesOnlySilently).answering("allow");
    let (sent, at) = mpsc::channel();
    stage.rig.before_apply(move |_| {
        let _ = sent.send(Instant::now());
    });
    let output = stage.edit("a.txt", "e", "E");
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('e', "E"));
    let at: Vec<Instant> = at.try_iter().collect();
    assert!(
        at[1] - at[0] >= Duration::from_secs(3),
        "a client that reports its change late would make it twice"
    );
    let forms: Vec<bool> =
        stage.rig.applies().iter().map(|sent| sent.params["edit"].get("changes").is_some()).collect();
    assert_eq!(forms, [false, true]);
    // The user types meanwhile. The other form has no version, so it is never sent for a text that has changed.
    let mut once = true;
    stage.rig.before_apply(move |buffers| {
        if std::mem::take(&mut once) {
            buffers.type_at("a.txt", Place::Start, "mine\n");
        }
    });
    assert!(stage.edit("a.txt", "f", "F").starts_with("Edited "));
    assert_eq!(stage.rig.text_of("a.txt"), format!("mine\n{}", TEXT.replace('e', "E").replace('f', "F")));
    let forms: Vec<bool> =
        stage.rig.applies()[2..].iter().map(|sent| sent.params["edit"].get("changes").is_some()).collect();
    assert_eq!(forms, [false, false, true]);
    // The test editor does not know that the first form had no effect.
    stage.rig.forgive(Rule::Unversioned);
}

#[test]
fn finding_c5_a_file_with_a_byte_order_mark_is_edited_and_saved_and_keeps_it() {
    let stage = stage().answering("allow");
    for open in [false, true] {
        let name = format!("{open}.txt");
        stage.workspace.write(&name, "\u{feff}one\ntwo\n");
        if open {
            stage.rig.open(&name);
        }
        assert_eq!(stage.edit(&name, "one", "1"), format!("Edited {name}: +1 -1 lines."));
        assert_eq!(stage.edit(&name, "two", "2"), format!("Edited {name}: +1 -1 lines."));
        assert_eq!(stage.workspace.read(&name), "\u{feff}1\n2\n");
    }
    // A command's result does not call such a file unsaved.
    let output = stage.call("run_command", serde_json::json!({"command": "true"}));
    assert!(!output.contains("unsaved"), "{output}");
}

#[test]
fn finding_d12_n06_an_edit_of_a_document_without_the_users_own_unsaved_text_is_saved() {
    let stage = stage().answering("allow");
    assert_eq!(stage.edit("a.txt", "e", "E"), "Edited a.txt: +1 -1 lines.");
    assert_eq!(stage.workspace.read("a.txt"), TEXT.replace('e', "E"), "a command sees what was edited");
    assert_eq!(stage.rig.saves_asked().len(), 1);
    // The user's own text is for the user to save.
    stage.rig.type_at("a.txt", Place::Start, "mine\n");
    assert!(stage.edit("a.txt", "f", "F").ends_with("is open in the editor and not saved yet."));
    assert_eq!(stage.rig.saves_asked().len(), 1);
    assert_eq!(stage.workspace.read("a.txt"), TEXT.replace('e', "E"));
}

#[test]
fn finding_d12_a_save_that_fails_is_a_warning() {
    let stage = stage().answering("allow");
    stage.rig.set_save(SaveBehaviour::Refuse("No space left on device".to_owned()));
    let output = stage.edit("a.txt", "e", "E");
    assert!(output.contains("did not save it") && output.contains("No space left on device"), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('e', "E"));
    assert_eq!(states(&stage.change_set()), [HunkState::Kept]);
}

#[test]
fn finding_b3_an_edit_that_an_editor_wrote_elsewhere_is_told() {
    let stage = Stage::opening_files("//- /d/a.txt\none\ntwo\n").answering("allow");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.txt"), "one\ntwo\n").unwrap();
    let (folder, away) = (stage.workspace.path().join("d"), outside.path().to_owned());
    let mut once = true;
    stage.rig.before_apply(move |_| {
        if std::mem::take(&mut once) {
            fs::rename(&folder, folder.with_file_name("was")).unwrap();
            symlink(&away, &folder).unwrap();
        }
    });
    let output = stage.edit("d/a.txt", "two", "2");
    assert!(output.contains("the path leads elsewhere since it was allowed"), "{output}");
    assert_eq!(stage.status(), Some(ToolStatus::Failed), "success is never reported");
}

#[test]
fn finding_b3_an_edit_whose_path_cannot_be_followed_any_more_is_told_with_the_reason() {
    let stage = Stage::new("//- /d/a.txt\none\ntwo\n").answering("allow");
    stage.rig.open("d/a.txt");
    let folder = stage.workspace.path().join("d");
    let mut once = true;
    stage.rig.before_apply(move |_| {
        if std::mem::take(&mut once) {
            fs::rename(&folder, folder.with_file_name("was")).unwrap();
            fs::write(&folder, "a file by now").unwrap();
        }
    });
    let output = stage.edit("d/a.txt", "two", "2");
    assert!(
        output.contains("where it is now is not known: ") && output.contains("is not a directory"),
        "{output}"
    );
    assert_eq!(stage.status(), Some(ToolStatus::Failed), "success is never reported");
}
