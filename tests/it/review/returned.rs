//! Text of the agent that is in a file again although the log says that it was undone: it counts as what the text shows.

use adjutant_protocol::review::{ReviewBaseResult, ReviewDiffResult};

use super::*;

impl Reviewed {
    /// Undoes the change of `b.txt`, and brings its text back without the server, as `git` or `cp` does.
    fn bring_back(&self) -> ReviewHunk {
        let four = self.hunk("4");
        assert_eq!(self.decide(&four, "undo").state, HunkState::Undone);
        assert_eq!(self.workspace.read("b.txt"), "four\n");
        assert!(self.hunks().iter().all(|hunk| hunk.path != "b.txt"));
        self.workspace.write("b.txt", "4\n");
        four
    }
}

#[test]
fn n03_text_that_came_back_is_listed_and_in_the_diff() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    let diff = || -> String {
        let diff: ReviewDiffResult = rig.call(methods::REVIEW_DIFF, json!({}));
        diff.diff
    };
    let four = reviewed.bring_back();
    assert_eq!(reviewed.hunk("4").state, HunkState::Applied);
    assert!(diff().contains("-four\n+4\n"), "{}", diff());
    let uri = json!({"uri": reviewed.workspace.uri("b.txt")});
    let base: ReviewBaseResult = rig.call(methods::REVIEW_BASE, uri);
    assert_eq!(base.text, "four\n");
    // The document has the same when it is opened.
    rig.open("b.txt");
    assert_eq!(rig.await_hunks_of_now("b.txt"), 1);
    rig.close("b.txt");
    // What the user writes in the place of an undone change is the user's.
    reviewed.workspace.write("b.txt", "vier\n");
    assert!(reviewed.hunks().iter().all(|hunk| hunk.path != "b.txt"));
    assert!(!diff().contains("b.txt"), "{}", diff());
    reviewed.workspace.write("b.txt", "4\n");
    assert_eq!(reviewed.decide(&four, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.workspace.read("b.txt"), "four\n");
    reviewed.rig.end();
}

#[test]
fn n03_text_that_came_back_is_listed_after_a_restart() {
    let reviewed = trusting(FILES, vec![edit_call("b.txt", "four\n", "4\n"), Reply::text("Done.")], "");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    reviewed.bring_back();
    let reviewed = reviewed.restarted();
    assert_eq!(reviewed.hunk("4").state, HunkState::Applied);
    reviewed.rig.end();
}
