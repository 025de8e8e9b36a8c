//! The review of applied hunks, over the wire: found again under typing, kept, undone and restored.

mod age;
mod away;
mod closed;
mod comments;
mod committed;
mod elsewhere;
mod formatted;
mod full;
mod interrupted;
mod many;
mod modes;
mod plainly;
mod renamed;
mod returned;
mod shared;
mod sooner;
mod texts;
mod together;

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::review::{DecidedHunk, ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::update::{HunkState, Update};
use adjutant_protocol::{RunId, SessionId, methods};
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::plain::{self, AUTOMATIC, Plain, at, title, titles};
use crate::rig::{Rig, facts_named};

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
        Self::start_in(|_| {})
    }

    /// Like `start`, in a workspace that is prepared before.
    fn start_in(prepare: impl FnOnce(&Workspace)) -> Reviewed {
        let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
        let four = Reply::call("edit_file", edit("a.txt", "one\n", "1\n"))
            .and_call("edit_file", edit("a.txt", "two\n", "2\n"))
            .and_call("edit_file", edit("a.txt", "three\n", "3\n"))
            .and_call("edit_file", edit("b.txt", "four\n", "4\n"));
        let first = Reply::call("edit_file", edit("first.txt", "0\n", "zero\n"));
        let model = ModelServer::start([first, four, Reply::text("Done."), Reply::text("Seen.")]);
        let workspace = Workspace::new(FILES);
        workspace.openai(&model.base_url());
        prepare(&workspace);
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
        rig.open("b.txt");
        assert_eq!(rig.await_hunks_of_now("b.txt"), 1);
        rig.close("b.txt");
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
    let one = reviewed.hunk("1");
    let target = json!({"changeSetId": one.change_set_id, "hunkIds": [one.hunk_id]});
    let params = json!({
        "sessionId": one.session_id, "targets": [target], "action": "undo", "reason": "one stays a word",
    });
    let undone: ReviewDecideResult = rig.call(methods::REVIEW_DECIDE, params);
    assert_eq!(undone.hunks[0].state, HunkState::Undone);
    assert_eq!(reviewed.decide(&reviewed.hunk("2"), "keep").state, HunkState::Kept);
    assert_eq!(reviewed.hunks().len(), 1, "the hunk of b.txt is left");
    let run = rig.prompt(&reviewed.session, "go on").run_id;
    rig.await_run_end(&reviewed.session, &run);
    let told = reviewed.told();
    assert!(told.contains("The user changed your edit of \\\"a.txt\\\" and kept it"), "{told}");
    assert!(told.contains("3 and a half"), "{told}");
    assert!(told.contains("The user undid this part of your edit of \\\"a.txt\\\""), "{told}");
    assert!(told.contains("-one\\n+1") && told.contains("The user says: one stays a word"), "{told}");
    reviewed.rig.end();
}

#[test]
fn p02_what_the_user_wrote_inside_goes_only_if_it_was_shown() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    rig.replace("a.txt", "2\n", "2\nmine\n");
    rig.replace("a.txt", "2\n", "2!\n");
    let two = reviewed.hunk("2");
    let refused = reviewed.decide(&two, "undo");
    assert_eq!(refused.state, HunkState::Conflicted);
    assert!(refused.why.expect("a reason").contains("not what was shown"));
    let stale = reviewed.decide_seen(&two, "undo", json!({two.hunk_id.clone(): "2?\n"}));
    assert_eq!((stale.state, stale.why.is_some()), (HunkState::Conflicted, true));
    let again = reviewed.hunk("2");
    assert_eq!(again.state, HunkState::Amended, "it is as it was");
    let sides = (again.removed.as_str(), again.inserted.as_str(), again.text.as_deref());
    assert_eq!(sides, ("two\n", "2\n", Some("2!\n")));
    assert!(rig.text_of("a.txt").contains("2!\nmine\n"));
    let seen = json!({two.hunk_id.clone(): two.text});
    assert_eq!(reviewed.decide_seen(&two, "undo", seen).state, HunkState::Undone);
    let text = rig.text_of("a.txt");
    assert!(text.contains("two\n") && !text.contains("2!"), "{text}");
    // Restored with what was dropped, which is still the user's.
    assert_eq!(reviewed.decide(&two, "restore").state, HunkState::Applied);
    assert!(rig.text_of("a.txt").contains("2!\n"), "{}", rig.text_of("a.txt"));
    let again = reviewed.hunk("2");
    assert_eq!((again.state, again.user_lines, again.text), (HunkState::Amended, 1, two.text.clone()));
    assert!(reviewed.decide(&two, "undo").why.is_some(), "not without its text");
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

/// The model hears of the net result: a redo takes the note about its undo back, if the model has not read it.
#[test]
fn n13_an_undo_that_is_redone_before_the_model_reads_of_it_is_not_told() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    let _ = reviewed.hunks();
    let found = |count: usize| {
        adjutant_testkit::process::wait_until("the log says what is in the text", || {
            facts_named(&reviewed.workspace, &reviewed.session, "reviewed").len() == count
        });
    };
    // Both hunks of one step back, and one of another; then forwards again.
    rig.replace("a.txt", "2\n", "two\n");
    found(1);
    rig.replace("a.txt", "1\n", "one\n");
    found(2);
    rig.replace("a.txt", "two\n", "2\n");
    found(3);
    reviewed.model.push(Reply::text("Seen."));
    let go_on = || {
        let run = rig.prompt(&reviewed.session, "go on").run_id;
        rig.await_run_end(&reviewed.session, &run);
        let told = reviewed.told();
        ["The user undid in the editor", "that was undone is in the file again"]
            .map(|part| told.matches(part).count())
    };
    assert_eq!(go_on(), [1, 0], "of the first hunk alone");
    // What the model has read is not taken back.
    rig.replace("a.txt", "one\n", "1\n");
    found(4);
    assert_eq!(go_on(), [1, 1]);
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
    // Nobody has opened the session: its log alone says what is left to review.
    let drawn = reviewed.rig.await_hunks("a.txt", |hunks| hunks.len() == 3);
    assert_eq!(drawn.iter().map(|hunk| hunk.line).collect::<Vec<_>>(), [0, 6, 11]);
    assert_eq!(reviewed.hunk("2").line, 6);
    assert_eq!(reviewed.decide(&two, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.rig.text_of("a.txt"), "1\nmine\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\n3\n");
    assert_eq!(reviewed.decide(&four, "keep").state, HunkState::Kept);
    reviewed.rig.end();
}

/// Starts a run of these replies in an editor that draws changes and whose user trusts the workspace.
fn trusting(files: &str, replies: Vec<Reply>, config: &str) -> Reviewed {
    trusting_in(files, replies, config, |_| {})
}

/// Like `trusting`, in a workspace that is prepared before.
fn trusting_in(files: &str, replies: Vec<Reply>, config: &str, prepare: impl FnOnce(&Workspace)) -> Reviewed {
    let model = ModelServer::start(replies);
    let workspace = Workspace::new(files);
    prepare(&workspace);
    workspace.openai(&model.base_url()).add_config(config);
    let mut options = Options::new(&workspace);
    options.capabilities.agent.as_mut().expect("a rich client").workspace.trusted = true;
    let rig = Rig::start_with(&workspace, options);
    let session = rig.new_session();
    let run = rig.prompt(&session, "make them numbers").run_id;
    Reviewed { rig, model, workspace, session, run }
}

fn edit_call(path: &str, old: &str, new: &str) -> Reply {
    Reply::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
}

#[test]
fn undo_of_a_created_file_removes_it_only_while_its_text_is_the_agents() {
    let replies = || {
        let new = json!({"path": "d/new.txt", "content": "made\nby it\n"});
        vec![Reply::call("write_file", new), Reply::text("Done.")]
    };
    let reviewed = trusting(FILES, replies(), "");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    let created = reviewed.hunk("made\nby it");
    assert_eq!(reviewed.decide(&created, "undo").state, HunkState::Undone);
    assert!(!reviewed.workspace.exists("d/new.txt"));
    assert_eq!(reviewed.decide(&created, "restore").state, HunkState::Applied);
    assert_eq!(reviewed.workspace.read("d/new.txt"), "made\nby it\n");
    // With a line of the user it is theirs too.
    reviewed.workspace.write("d/new.txt", "made\nby it\nand me\n");
    let undone = reviewed.decide(&created, "undo");
    assert_eq!(undone.why, None);
    assert_eq!(reviewed.workspace.read("d/new.txt"), "and me\n");
    let left: Vec<_> = std::fs::read_dir(reviewed.workspace.path().join("d")).expect("a folder").collect();
    assert_eq!(left.len(), 1, "nothing else is left: {left:?}");
    reviewed.rig.end();
}

#[test]
fn undo_of_an_empty_file_that_the_agent_made_removes_it_and_restore_brings_it_back() {
    let new = Reply::call("write_file", json!({"path": "empty.txt", "content": ""}));
    let reviewed = trusting(FILES, vec![new, Reply::text("Done.")], "");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    let created = reviewed.hunk("");
    assert_eq!(reviewed.decide(&created, "undo").state, HunkState::Undone);
    assert!(!reviewed.workspace.exists("empty.txt"));
    let restored = reviewed.decide(&created, "restore");
    assert_eq!((restored.state, restored.why), (HunkState::Applied, None));
    assert_eq!(reviewed.workspace.read("empty.txt"), "");
    // With a text it is the user's too, and stays.
    reviewed.workspace.write("empty.txt", "mine\n");
    assert_eq!(reviewed.decide(&created, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.workspace.read("empty.txt"), "mine\n");
    reviewed.rig.end();
}

#[test]
fn a_list_may_be_asked_for_again_and_again() {
    let reviewed = Reviewed::start();
    // More often than requests may wait for a session.
    (0..300).for_each(|_| assert_eq!(reviewed.hunks().len(), 4));
    reviewed.rig.end();
}

#[test]
fn typing_into_a_change_while_its_undo_is_on_its_way_is_no_undo() {
    let reviewed = Reviewed::start();
    let two = reviewed.hunk("2");
    let mut once = true;
    reviewed.rig.before_apply(move |buffers| {
        if std::mem::take(&mut once) {
            buffers.replace("a.txt", "2\n", "2 mine\n");
        }
    });
    let decided = reviewed.decide(&two, "undo");
    assert_eq!(decided.state, HunkState::Conflicted, "{decided:?}");
    assert!(decided.why.expect("a reason").contains("not what was shown"));
    assert!(reviewed.rig.text_of("a.txt").contains("2 mine\n"));
    assert_eq!(reviewed.hunk("2").state, HunkState::Amended);
    reviewed.rig.end();
}

/// What the decision shows as the user's text is not there, although the agent's own text is.
#[test]
fn a_decision_about_another_text_than_the_one_that_is_there_is_refused() {
    let reviewed = Reviewed::start();
    let two = reviewed.hunk("2");
    let seen = json!({two.hunk_id.clone(): "never there\n"});
    let decided = reviewed.decide_seen(&two, "undo", seen);
    assert_eq!(decided.state, HunkState::Conflicted, "{decided:?}");
    assert!(decided.why.expect("a reason").contains("not what was shown"));
    assert_eq!(reviewed.decide(&two, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.decide(&two, "restore").state, HunkState::Applied);
    reviewed.rig.await_text("a.txt", EDITED);
    reviewed.rig.end();
}

#[test]
fn p02_a_file_that_was_emptied_is_filled_again() {
    let emptied = Reply::call("write_file", json!({"path": "b.txt", "content": ""}));
    let read = Reply::call("read_file", json!({"path": "b.txt"}));
    let reviewed = trusting(FILES, vec![read, emptied, Reply::text("Done.")], "");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    assert_eq!(reviewed.workspace.read("b.txt"), "");
    let hunk = reviewed.hunks().pop().expect("a hunk");
    assert_eq!(hunk.state, HunkState::Applied);
    assert_eq!(reviewed.decide(&hunk, "undo").state, HunkState::Undone);
    assert_eq!(reviewed.workspace.read("b.txt"), "four\n");
    reviewed.rig.end();
}
