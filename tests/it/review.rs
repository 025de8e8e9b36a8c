//! The review of applied hunks, over the wire: found again under typing, kept, undone and restored.

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::review::{DecidedHunk, ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::update::{HunkState, Update};
use adjutant_protocol::{RunId, SessionId, methods};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::rig::Rig;

/// Three places of one file, too far from each other to be one hunk.
const FILES: &str =
    "//- /a.txt\none\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n//- /b.txt\nfour\n//- /first.txt\n0\n";
const EDITED: &str = "1\n.\n.\n.\n.\n2\n.\n.\n.\n.\n3\n";

struct Reviewed {
    rig: Rig,
    model: ModelServer,
    workspace: Workspace,
    session: SessionId,
    run: RunId,
}

impl Reviewed {
    /// Lets a run make three edits of `a.txt`, which is open, and one of `b.txt`, without a question.
    fn start() -> Reviewed {
        let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
        let four = Reply::call("edit_file", edit("a.txt", "one\n", "1\n"))
            .and_call("edit_file", edit("a.txt", "two\n", "2\n"))
            .and_call("edit_file", edit("a.txt", "three\n", "3\n"))
            .and_call("edit_file", edit("b.txt", "four\n", "4\n"));
        let first = Reply::call("edit_file", edit("first.txt", "0\n", "zero\n"));
        let model = ModelServer::start([first, four, Reply::text("Done."), Reply::text("Seen.")]);
        let workspace = Workspace::new(FILES);
        workspace.openai(&model.base_url());
        let rig = Rig::start(&workspace);
        rig.open("a.txt");
        let session = rig.new_session();
        let run = rig.prompt(&session, "make them numbers").run_id;
        let ask = rig.await_ask_of(AskKind::Tool);
        rig.answer(&ask.ask_id, "allow_always");
        rig.await_run_end(&session, &run);
        assert_eq!(rig.text_of("a.txt"), EDITED);
        Reviewed { rig, model, workspace, session, run }
    }

    fn hunks(&self) -> Vec<ReviewHunk> {
        let result: ReviewListResult = self.rig.call(methods::REVIEW_LIST, json!({}));
        result.hunks
    }

    /// Returns the hunk that inserted this line.
    fn hunk(&self, inserted: &str) -> ReviewHunk {
        let hunks = self.hunks();
        let found = hunks.iter().find(|hunk| hunk.inserted.trim_end() == inserted);
        found.unwrap_or_else(|| panic!("no hunk inserts {inserted:?}: {hunks:#?}")).clone()
    }

    /// Returns the last request to the model.
    fn told(&self) -> String {
        String::from_utf8(self.model.requests().last().expect("a request").body.clone()).expect("text")
    }

    fn decide(&self, hunk: &ReviewHunk, action: &str) -> DecidedHunk {
        self.decide_seen(hunk, action, json!({}))
    }

    fn decide_seen(&self, hunk: &ReviewHunk, action: &str, seen: Value) -> DecidedHunk {
        let target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id], "seen": seen});
        let params = json!({"sessionId": hunk.session_id, "targets": [target], "action": action});
        let result: ReviewDecideResult = self.rig.call(methods::REVIEW_DECIDE, params);
        assert_eq!(result.hunks.len(), 1);
        result.hunks.into_iter().next().expect("one hunk")
    }
}

#[test]
fn n03_applied_hunks_are_listed_with_their_place_and_who_made_them() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    rig.replace("a.txt", "1\n.\n", "1\nmine\n.\n");
    let mut hunks = reviewed.hunks();
    hunks.sort_by(|one, other| one.path.cmp(&other.path));
    let shown: Vec<(&str, u32, Option<u32>, &str)> = hunks
        .iter()
        .map(|hunk| (hunk.path.as_str(), hunk.line, hunk.end_line, hunk.inserted.as_str()))
        .collect();
    let places = [("a.txt", 0, Some(1), "1\n"), ("a.txt", 6, Some(7), "2\n"), ("a.txt", 11, Some(12), "3\n")];
    assert_eq!(shown[..3], places, "what a person answered for is not listed");
    assert_eq!((shown[3], shown.len()), (("b.txt", 0, Some(1), "4\n"), 4));
    for hunk in &hunks {
        let made = hunk.made_by.as_ref().expect("it was applied");
        assert_eq!((hunk.state, made.task.as_str()), (HunkState::Applied, "make them numbers"));
        assert_eq!((&hunk.run_id, &hunk.session_id), (&reviewed.run, &reviewed.session));
        assert_eq!(hunk.tool_call_ids.len(), 1);
        assert!(made.allowed_by.contains("all edits in this session"), "{made:?}");
    }
    reviewed.rig.end();
}

/// A client draws hunks only at the version of its text. So typing that moves no hunk must bring them too.
#[test]
fn n03_each_version_of_a_text_comes_with_its_hunks() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    assert_eq!(rig.await_hunks_of_now("a.txt"), 3);
    rig.replace("a.txt", "3\n", "3\nbelow every hunk\n");
    assert_eq!(rig.await_hunks_of_now("a.txt"), 3);
    reviewed.rig.end();
}

/// A reopened document has lost its drawing. Its version can be the same as before.
#[test]
fn n03_each_opening_of_a_document_brings_its_hunks() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    for _ in 0..2 {
        rig.close("b.txt");
        rig.open("b.txt");
        assert_eq!(rig.await_hunks_of_now("b.txt"), 1);
    }
    reviewed.rig.end();
}

#[test]
fn p02_an_undone_hunk_is_restored_and_the_user_keeps_what_they_typed() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    rig.replace("a.txt", "1\n.\n", "1\nmine\n.\n");
    let two = reviewed.hunk("2");
    assert_eq!(reviewed.decide(&two, "undo").state, HunkState::Undone);
    rig.await_text("a.txt", "1\nmine\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\n3\n");
    assert!(reviewed.hunks().iter().all(|hunk| hunk.inserted != "2\n"));
    assert_eq!(reviewed.decide(&two, "restore").state, HunkState::Applied);
    rig.await_text("a.txt", "1\nmine\n.\n.\n.\n.\n2\n.\n.\n.\n.\n3\n");
    // A closed file is written on disk.
    let four = reviewed.hunk("4");
    assert_eq!(reviewed.decide(&four, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.workspace.read("b.txt"), "four\n");
    reviewed.rig.end();
}

#[test]
fn p07_the_model_is_told_what_was_undone_and_what_the_user_made_of_the_rest() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    rig.replace("a.txt", "3\n", "3 and a half\n");
    let three = reviewed.hunk("3");
    assert_eq!((three.state, three.text.as_deref()), (HunkState::Amended, Some("3 and a half\n")));
    assert_eq!(three.user_lines, 1);
    assert_eq!(reviewed.decide(&three, "keep").state, HunkState::Kept);
    assert_eq!(reviewed.decide(&reviewed.hunk("1"), "undo").state, HunkState::Undone);
    assert_eq!(reviewed.decide(&reviewed.hunk("2"), "keep").state, HunkState::Kept);
    assert_eq!(reviewed.hunks().len(), 1, "the hunk of b.txt is left");
    let run = rig.prompt(&reviewed.session, "go on").run_id;
    rig.await_run_end(&reviewed.session, &run);
    let told = reviewed.told();
    assert!(told.contains("The user changed your edit of \\\"a.txt\\\" and kept it"), "{told}");
    assert!(told.contains("3 and a half"), "{told}");
    assert!(told.contains("The user undid this part of your edit of \\\"a.txt\\\""), "{told}");
    assert!(told.contains("-one\\n+1"), "{told}");
    reviewed.rig.end();
}

#[test]
fn what_the_user_wrote_inside_goes_only_if_it_was_shown() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    rig.replace("a.txt", "2\n", "2\nmine\n");
    rig.replace("a.txt", "2\n", "2!\n");
    let two = reviewed.hunk("2");
    let refused = reviewed.decide(&two, "undo");
    assert_eq!(refused.state, HunkState::Applied);
    assert!(refused.why.expect("a reason").contains("not what was shown"));
    let stale = reviewed.decide_seen(&two, "undo", json!({two.hunk_id.clone(): "2?\n"}));
    assert!(stale.why.is_some());
    assert!(rig.text_of("a.txt").contains("2!\nmine\n"));
    let seen = json!({two.hunk_id.clone(): two.text});
    assert_eq!(reviewed.decide_seen(&two, "undo", seen).state, HunkState::Undone);
    let text = rig.text_of("a.txt");
    assert!(text.contains("two\n") && !text.contains("2!"), "{text}");
    // Restored with what was dropped.
    assert_eq!(reviewed.decide(&two, "restore").state, HunkState::Applied);
    assert!(rig.text_of("a.txt").contains("2!\n"), "{}", rig.text_of("a.txt"));
    reviewed.rig.end();
}

#[test]
fn n13_an_undo_in_the_editor_is_understood_and_told_once() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    let _ = reviewed.hunks();
    rig.replace("a.txt", "2\n", "two\n");
    let undone = |state: HunkState| {
        rig.await_update(move |params| match &params.update {
            Update::ChangeSet(view) => {
                view.path == "a.txt" && view.hunks.iter().any(|hunk| hunk.state == state)
            }
            _ => false,
        })
    };
    undone(HunkState::Undone);
    let states: Vec<HunkState> = reviewed.hunks().iter().map(|hunk| hunk.state).collect();
    assert_eq!(states, [HunkState::Applied; 3]);
    let run = rig.prompt(&reviewed.session, "go on").run_id;
    rig.await_run_end(&reviewed.session, &run);
    let told = reviewed.told();
    assert_eq!(told.matches("The user undid in the editor").count(), 1, "{told}");
    reviewed.rig.end();
}

#[test]
fn n03_the_review_goes_on_after_a_restart() {
    let reviewed = Reviewed::start();
    let (two, four) = (reviewed.hunk("2"), reviewed.hunk("4"));
    let Reviewed { rig, model, workspace, session, run } = reviewed;
    rig.save("a.txt");
    rig.end();
    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    rig.replace("a.txt", "1\n.\n", "1\nmine\n.\n");
    let reviewed = Reviewed { rig, model, workspace, session, run };
    let resumed: Value = reviewed.rig.call(methods::SESSION_RESUME, json!({"sessionId": reviewed.session}));
    assert!(resumed.is_object());
    assert_eq!(reviewed.hunk("2").line, 6);
    assert_eq!(reviewed.decide(&two, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.rig.text_of("a.txt"), "1\nmine\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\n3\n");
    assert_eq!(reviewed.decide(&four, "keep").state, HunkState::Kept);
    reviewed.rig.end();
}
