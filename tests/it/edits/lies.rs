//! Editors whose answer and action differ (N05): the text decides, and the model gets what the text shows.

use adjutant_protocol::update::HunkState;
use adjutant_testkit::editor::{ApplyBehaviour, Capabilities, Encoding, Place, RpcError, SaveBehaviour};
use adjutant_testkit::fixture::Workspace;

use super::super::stage::{Stage, edit, states, write};

/// Nine lines, so that changes of the first and the last line are two hunks.
const NINE: &str = "
    //- /a.txt
    1
    2
    3
    4
    5
    6
    7
    8
    9
";
/// The content of that file.
const TEXT: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn stage(behaviour: ApplyBehaviour) -> Stage {
    let stage = Stage::with(Workspace::new(NINE), |options| options.apply(behaviour)).answering("allow");
    stage.rig.open("a.txt");
    stage
}

#[test]
fn n05_applied_without_the_text_is_not_believed() {
    let stage = stage(ApplyBehaviour::SayAppliedDoNothing);
    let output = stage.edit("a.txt", "5", "five");
    assert_eq!(
        output,
        "The edit of a.txt was not applied: the editor said it was applied, but the text does not show it. \
         It may still appear; read the file before you continue."
    );
    assert_eq!(stage.rig.applies().len(), 1, "it is not sent again: it might come twice");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
    assert_eq!(stage.workspace.read("a.txt"), TEXT);
    stage.await_hunks(HunkState::NotApplied);
    // A later call finds the current file, and the model gets a note about the first edit.
    stage.rig.set_apply(ApplyBehaviour::Faithful);
    let output = stage.edit("a.txt", "5", "five");
    assert!(output.starts_with("Edited "), "{output}");
    assert!(stage.conversation().iter().any(|(_, text)| text.contains("is not in the file")));
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('5', "five"));
}

#[test]
fn n05_a_stale_edit_that_was_skipped_and_called_applied_is_placed_anew() {
    let stage = stage(ApplyBehaviour::SkipStaleButSayApplied);
    let mut typed = false;
    stage.rig.before_apply(move |buffers| {
        if !std::mem::replace(&mut typed, true) {
            buffers.type_at("a.txt", Place::Start, "mine\n");
        }
    });
    assert!(stage.edit("a.txt", "5", "five").starts_with("Edited "));
    assert_eq!(stage.rig.applies().len(), 2);
    assert_eq!(stage.rig.text_of("a.txt"), format!("mine\n{}", TEXT.replace('5', "five")));
}

#[test]
fn n05_applied_and_called_failed_is_applied_once() {
    let stage = stage(ApplyBehaviour::ApplyButSayFailed);
    assert!(stage.edit("a.txt", "5", "5\nfive").starts_with("Edited "));
    assert_eq!(stage.rig.applies().len(), 1);
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace("5\n", "5\nfive\n"));
    assert_eq!(states(&stage.change_set()), [HunkState::Kept]);
}

#[test]
fn n05_a_refusal_is_told_with_its_reason_and_nothing_is_written() {
    let stage = stage(ApplyBehaviour::RefuseAlways("the buffer is read-only".to_owned()));
    let output = stage.edit("a.txt", "5", "five");
    assert_eq!(output, "The edit of a.txt was not applied: the buffer is read-only.");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
    assert_eq!(states(&stage.change_set()), [HunkState::NotApplied]);
    assert!(stage.notes().is_empty(), "the result of the call already says so: {:?}", stage.notes());
}

#[test]
fn n05_an_error_in_place_of_an_answer_is_told() {
    let error = RpcError { code: -32603, message: "out of cheese".to_owned(), data: None };
    let stage = stage(ApplyBehaviour::Fail(error));
    let output = stage.edit("a.txt", "5", "five");
    assert!(output.starts_with("The edit of a.txt was not applied: "), "{output}");
    assert!(output.contains("out of cheese"), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
}

#[test]
fn n05_an_answer_that_comes_late_is_waited_for() {
    let stage = stage(ApplyBehaviour::ApplyLate);
    let run = stage.send([edit("a.txt", "5", "five")]);
    stage.rig.await_apply(1);
    stage.rig.release_applies();
    assert!(stage.finish(&run)[0].starts_with("Edited "));
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('5', "five"));
}

#[test]
fn n05_an_answer_before_the_change_is_told_is_no_reason_to_send_again() {
    let stage = stage(ApplyBehaviour::ReplyFirst);
    assert!(stage.edit("a.txt", "5", "five").starts_with("Edited "));
    assert_eq!(stage.rig.applies().len(), 1);
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('5', "five"));
}

#[test]
fn n05_silence_ends_and_the_text_decides() {
    let limits = "[limits]\neditor_seconds = 1";
    let silent = |behaviour| {
        let stage = Stage::configured(Workspace::new(NINE), limits, |options| options.apply(behaviour));
        let stage = stage.answering("allow");
        stage.rig.open("a.txt");
        stage
    };
    let stage = silent(ApplyBehaviour::NeverAnswer);
    let output = stage.edit("a.txt", "5", "five");
    assert!(output.contains("did not answer within 1 s"), "{output}");
    assert!(output.contains("It may still appear"), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
    assert_eq!(stage.rig.withdrawn().len(), 1, "the request to the editor is withdrawn");

    let stage = silent(ApplyBehaviour::ApplyNeverAnswer);
    assert!(stage.edit("a.txt", "5", "five").starts_with("Edited "));
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('5', "five"));
    assert_eq!(stage.rig.applies().len(), 1);
}

/// As in VS Code on a remote host, whose connection to the window is cut.
#[test]
fn n05_an_edit_waits_for_a_window_that_is_away_and_is_made_on_its_return() {
    let away = |behaviour| {
        let limits = "[limits]\neditor_seconds = 1";
        let stage = Stage::configured(Workspace::new(NINE), limits, |options| {
            let mut options = options.apply(behaviour);
            options.capabilities.agent.as_mut().expect("a rich client").window.reach = true;
            options
        });
        let stage = stage.answering("allow");
        stage.rig.open("a.txt");
        stage
    };
    let stage = away(ApplyBehaviour::ApplyLate);
    let run = stage.send([edit("a.txt", "5", "five")]);
    stage.rig.await_reach();
    assert_eq!(stage.rig.withdrawn().len(), 0, "the edit is not withdrawn");
    stage.rig.release_applies();
    assert!(stage.finish(&run)[0].starts_with("Edited "));
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('5', "five"));
    assert_eq!(stage.rig.applies().len(), 1);

    // A window that is there and does not make the edit is silent.
    let stage = away(ApplyBehaviour::NeverAnswer);
    let run = stage.send([edit("a.txt", "5", "five")]);
    stage.rig.await_reach();
    stage.rig.reached();
    let output = &stage.finish(&run)[0];
    assert!(output.contains("did not answer within 1 s"), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT);
}

#[test]
fn n05_a_change_nobody_tells_of_is_found_when_the_text_comes() {
    let stage = stage(ApplyBehaviour::ApplyUntold);
    let output = stage.edit("a.txt", "5", "five");
    assert!(output.contains("the text does not show it. It may still appear"), "{output}");
    assert_eq!(stage.rig.applies().len(), 1, "it is not sent again, or it would be there twice");
    stage.rig.edit(|buffers| buffers.tell_again("a.txt"));
    stage.await_hunks(HunkState::Kept);
    stage.rig.set_apply(ApplyBehaviour::Faithful);
    let output = stage.edit("a.txt", "six", "sechs");
    assert!(output.contains("is not in the file"), "{output}");
    assert!(stage.conversation().iter().any(|(_, text)| text.ends_with("is in the file.")));
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('5', "five"));
}

#[test]
fn n05_what_the_user_unticked_stays_out_and_the_model_knows() {
    let stage = stage(ApplyBehaviour::ApplyFirstOnly);
    let content = TEXT.replace("1\n", "one\n").replace("9\n", "nine\n");
    let outputs = stage.play([write("a.txt", &content)]);
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace("1\n", "one\n"));
    assert_eq!(stage.rig.applies().len(), 1, "a hunk that the user left out is not sent again");
    assert_eq!(states(&stage.change_set()), [HunkState::Kept, HunkState::NotApplied]);
    assert!(outputs[0].contains("applied only in part"), "{outputs:?}");
    assert!(outputs[0].contains("left out what was at line 9 before"), "{outputs:?}");
}

#[test]
fn n05_an_editor_that_applies_twice_is_put_right() {
    let stage = stage(ApplyBehaviour::ApplyTwice);
    stage.rig.apply_next(ApplyBehaviour::ApplyTwice);
    stage.rig.set_apply(ApplyBehaviour::Faithful);
    let output = stage.edit("a.txt", "5", "5\nfive");
    // The second application was made for a text that no longer existed, so it is undone.
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace("5\n", "5\nfive\n"));
    assert_eq!(stage.rig.applies().len(), 2);
    // Applying a replacement twice has the same result as once.
    stage.rig.apply_next(ApplyBehaviour::ApplyTwice);
    assert!(stage.edit("a.txt", "8", "eight").starts_with("Edited "));
    assert_eq!(stage.rig.applies().len(), 3);
}

#[test]
fn n05_an_editor_that_ignores_versions_corrupts_nothing_of_ours() {
    let stage = stage(ApplyBehaviour::IgnoreVersions);
    let mut typed = false;
    stage.rig.before_apply(move |buffers| {
        if !std::mem::replace(&mut typed, true) {
            buffers.type_at("a.txt", Place::Start, "mine\n");
        }
    });
    // The editor applies the edit one line too high, over a line that was not approved. Adjutant undoes it and
    // makes it again.
    let output = stage.edit("a.txt", "5", "five");
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), format!("mine\n{}", TEXT.replace('5', "five")));
    let applies = stage.rig.applies();
    assert_eq!(applies.len(), 3);
    assert!(applies[1].params["label"].as_str().unwrap().contains("taken back"), "{:?}", applies[1].params);
    // Typing below the edit moves nothing.
    stage.rig.before_apply(|buffers| buffers.type_at("a.txt", Place::End, "mine\n"));
    assert!(stage.edit("a.txt", "2", "two").starts_with("Edited "));
    let text = format!("mine\n{}mine\n", TEXT.replace('5', "five").replace('2', "two"));
    assert_eq!(stage.rig.text_of("a.txt"), text);
    assert_eq!(stage.rig.applies().len(), 4);
}

#[test]
fn n05_an_edit_that_comes_inside_a_character_is_taken_back_too() {
    for (encoding, line) in [(Encoding::Utf8, "abc"), (Encoding::Utf16, "ab")] {
        let workspace = Workspace::new("//- /keep.txt\n");
        // The last line has no line end, so a position after it is not the beginning of a line.
        workspace.write("a.txt", &format!("1😀2\n{line}"));
        let can = Capabilities::full().with_encodings(&[encoding]);
        let stage = Stage::with(workspace, |options| options.capabilities(can)).answering("allow");
        stage.rig.open("a.txt");
        stage.rig.set_apply(ApplyBehaviour::IgnoreVersions);
        let mut typed = false;
        stage.rig.before_apply(move |buffers| {
            if !std::mem::replace(&mut typed, true) {
                buffers.type_at("a.txt", Place::Start, "mine\n");
            }
        });
        let output = stage.edit("a.txt", line, &format!("{line}\nnew"));
        assert!(output.starts_with("Edited "), "{encoding:?}: {output}");
        assert_eq!(stage.rig.text_of("a.txt"), format!("mine\n1😀2\n{line}\nnew"));
        assert_eq!(stage.rig.applies().len(), 3, "made, undone, made again");
    }
}

#[test]
fn n05_an_edit_that_takes_what_was_typed_in_its_line_is_taken_back_although_it_looks_right() {
    let stage = stage(ApplyBehaviour::IgnoreVersions);
    let mut typed = false;
    stage.rig.before_apply(move |buffers| {
        if !std::mem::replace(&mut typed, true) {
            // Types into the line that the edit replaces.
            buffers.type_at("a.txt", TEXT.find('5').expect("the line"), "mine ");
        }
    });
    let output = stage.edit("a.txt", "5", "five");
    let text = stage.rig.text_of("a.txt");
    assert!(text.contains("mine 5"), "what the user typed is lost: {text:?}; {output}");
    assert!(output.contains("not applied") && !text.contains("five"), "{text:?}; {output}");
}

#[test]
fn n05_an_editor_that_ignores_versions_and_a_user_who_types_on_are_told_of_what_is_wrong() {
    let stage = stage(ApplyBehaviour::IgnoreVersions);
    stage.rig.before_apply(|buffers| buffers.type_at("a.txt", Place::Start, "mine\n"));
    let output = stage.edit("a.txt", "5", "five");
    assert!(output.contains("at the wrong place") && output.contains("tell the user to undo"), "{output}");
    assert_eq!(stage.rig.applies().len(), 2, "no further edit is made blindly");
}

#[test]
fn n05_saved_is_believed_when_the_file_shows_it() {
    let stage = Stage::opening_files(NINE).answering("allow");
    stage.rig.set_save(SaveBehaviour::SaySavedDoNothing);
    let output = stage.edit("a.txt", "5", "five");
    let why = "The editor has the change in a buffer, but did not save it: the editor said it was saved, but the \
               file does not show it.";
    assert_eq!(output, format!("Edited a.txt: +1 -1 lines. {why}"));
    assert_eq!(stage.workspace.read("a.txt"), TEXT);
    stage.workspace.write("b.txt", "b\n");
    stage.rig.set_save(SaveBehaviour::Refuse("the disk is full".to_owned()));
    let output = stage.edit("b.txt", "b", "c");
    assert!(
        output.ends_with("but did not save it: the editor refused the request: the disk is full."),
        "{output}"
    );
    assert_eq!(
        (stage.rig.text_of("b.txt"), stage.workspace.read("b.txt")),
        ("c\n".to_owned(), "b\n".to_owned())
    );
}

#[test]
fn n05_a_save_counts_only_if_the_file_can_be_read_afterwards() {
    let stage = Stage::opening_files(NINE).answering("allow");
    stage.rig.set_save(SaveBehaviour::SaySavedLeaveFolder);
    let result = stage.edit("a.txt", "5", "five");
    let why = "the editor said it was saved, but the file could not be checked: \"a.txt\" is a directory";
    assert!(result.ends_with(&format!("did not save it: {why}.")), "{result}");
}
