//! Cancels while an edit is on its way: the text shows whether it was made. The model gets a note, and the edit
//! is never made twice.

use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::HunkState;
use adjutant_testkit::editor::ApplyBehaviour;
use adjutant_testkit::fixture::Workspace;

use super::super::stage::{Stage, edit, states};

fn cancelled_while_applying() -> Stage {
    let workspace = Workspace::new("//- /a.txt\none\ntwo\nthree\n");
    let stage = Stage::with(workspace, |options| options.apply(ApplyBehaviour::ApplyLate)).answering("allow");
    stage.rig.open("a.txt");
    let run = stage.send([edit("a.txt", "two", "2")]);
    stage.rig.await_apply(1);
    stage.rig.cancel_run(&stage.session);
    let end = stage.rig.await_run_end(&stage.session, &run);
    assert_eq!(end.outcome, Outcome::Cancelled);
    assert_eq!(stage.model.requests().len(), 1);
    stage
}

/// Returns the messages that the model gets when the session continues.
fn next_request(stage: &Stage) -> Vec<String> {
    stage.rig.set_apply(ApplyBehaviour::Faithful);
    // The model's queued turn from the cancelled run is used first.
    let run = stage.rig.prompt(&stage.session, "and now?").run_id;
    stage.rig.await_run_end(&stage.session, &run);
    stage.conversation().into_iter().filter(|(role, _)| role != "system").map(|(_, text)| text).collect()
}

#[test]
fn s91_an_edit_that_lands_after_the_cancel_is_found_and_told() {
    let stage = cancelled_while_applying();
    stage.rig.release_applies();
    stage.await_hunks(HunkState::Kept);
    assert_eq!(stage.rig.text_of("a.txt"), "one\n2\nthree\n");
    let messages = next_request(&stage);
    let note = "[note] The edit of \"a.txt\" that was cut short is in the file.";
    assert!(messages.iter().any(|text| text == note), "{messages:?}");
    assert!(messages.iter().any(|text| text == "The user cancelled the run."), "{messages:?}");
    assert_eq!(stage.rig.text_of("a.txt"), "one\n2\nthree\n", "it is not made again");
    assert_eq!(stage.rig.applies().len(), 1);
}

#[test]
fn s91_an_edit_that_never_lands_after_the_cancel_is_told_too() {
    let stage = cancelled_while_applying();
    assert_eq!(stage.rig.withdrawn(), [stage.rig.applies()[0].id.clone()]);
    stage.await_hunks(HunkState::NotApplied);
    assert_eq!(states(&stage.change_set()), [HunkState::NotApplied]);
    let messages = next_request(&stage);
    let note = "[note] The edit of \"a.txt\" that was cut short is not in the file.";
    assert!(messages.iter().any(|text| text == note), "{messages:?}");
    assert_eq!(stage.rig.text_of("a.txt"), "one\ntwo\nthree\n");
    assert_eq!(stage.rig.applies().len(), 1, "a cancelled edit is not sent again");
}
