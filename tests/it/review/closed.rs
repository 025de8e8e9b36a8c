//! A document with changes that are not saved is closed: what the disk has counts, and everyone hears of it.

use adjutant_protocol::review::UndoneBy;
use adjutant_testkit::process::wait_until;

use super::*;
use crate::rig::facts_named;

impl Reviewed {
    /// Returns the state of the change that inserted this line, and how it was undone.
    fn ended(&self, inserted: &str) -> (HunkState, Option<UndoneBy>) {
        let all: ReviewListResult = self.rig.call(methods::REVIEW_LIST, json!({"all": true}));
        let hunk = all.hunks.into_iter().find(|hunk| hunk.inserted.trim_end() == inserted);
        hunk.map(|hunk| (hunk.state, hunk.undone_by)).expect("it is listed")
    }

    /// Waits until the log says that this many hunks came into this state because a document was closed.
    fn await_closed(&self, state: &str, number: usize) {
        wait_until("the log to say what the closed document had", || {
            let all = facts_named(&self.workspace, &self.session, "reviewed");
            let by_close = all.iter().filter(|event| event["by"] == "close" && event["state"] == state);
            by_close.filter_map(|event| event["hunks"].as_array()).map(Vec::len).sum::<usize>() == number
        });
    }

    /// Goes on, and returns what the model is told then.
    fn go_on(&self) -> String {
        let run = self.rig.prompt(&self.session, "go on").run_id;
        self.rig.await_run_end(&self.session, &run);
        self.told()
    }
}

/// Lets a run make its edits of `a.txt` in an editor that does not save them.
fn unsaved() -> Reviewed {
    Reviewed::start_in(|workspace| {
        workspace.add_config("[edits]\nsave = \"never\"\n");
    })
}

const CLOSED: &str =
    "Not applied: this part of your edit of \\\"a.txt\\\", which the user closed without saving.";

#[test]
fn n06_changes_in_a_document_that_is_closed_without_saving_are_not_applied() {
    let reviewed = unsaved();
    let rig = &reviewed.rig;
    let (one, two) = (reviewed.hunk("1"), reviewed.hunk("2"));
    rig.await_hunks("a.txt", |hunks| hunks.len() == 3);
    rig.save("a.txt");
    assert_eq!(reviewed.decide(&two, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.ended("2"), (HunkState::Undone, Some(UndoneBy::Review)));
    rig.await_hunks("a.txt", |hunks| hunks.len() == 2);
    // What is not saved goes with the document: the undo, and the user's own line.
    rig.replace("a.txt", "1\n", "mine\n1\n");
    rig.close("a.txt");
    reviewed.await_closed("applied", 1);
    assert_eq!(rig.text_of("a.txt"), EDITED);
    assert_eq!(reviewed.ended("2"), (HunkState::Applied, None));
    let told = reviewed.go_on();
    assert_eq!(told.matches("that was undone is in the file again").count(), 1, "{told}");
    assert!(!told.contains("without saving"), "{told}");
    assert_eq!(reviewed.decide(&one, "keep").state, HunkState::Kept);
    reviewed.rig.end();
}

#[test]
fn n06_a_change_that_was_never_saved_is_restored_in_the_closed_file() {
    let reviewed = unsaved();
    let rig = &reviewed.rig;
    rig.await_hunks("a.txt", |hunks| hunks.len() == 3);
    // VS Code gives the document the text of the disk before it closes it.
    let edited = reviewed.hunk("2");
    rig.replace("a.txt", EDITED, &reviewed.workspace.read("a.txt"));
    rig.close("a.txt");
    reviewed.await_closed("undone", 3);
    assert_eq!(reviewed.ended("2"), (HunkState::Undone, Some(UndoneBy::Close)));
    let told = reviewed.go_on();
    assert_eq!(told.matches(CLOSED).count(), 1, "{told}");
    assert_eq!(told.matches("The user undid").count(), 0, "{told}");
    assert_eq!(reviewed.decide(&edited, "restore").state, HunkState::Applied);
    assert_eq!(reviewed.workspace.read("a.txt"), "one\n.\n.\n.\n.\n2\n.\n.\n.\n.\nthree\n");
    assert_eq!(reviewed.ended("2"), (HunkState::Applied, None));
    reviewed.rig.end();
}
