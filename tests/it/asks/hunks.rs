//! Decisions about single hunks, over the wire: what is applied, what is not, and what the model reads of it.

use std::collections::BTreeMap;

use adjutant_protocol::ask::{AskKind, AskSubject, AskView};
use adjutant_protocol::review::{ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::update::{AskChange, HunkState, ToolStatus, Update};
use adjutant_protocol::{RunId, SessionId, methods};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::rig::{Rig, tool_outputs};

/// Three places of one file, too far from each other to be one hunk, and one of another.
const FILES: &str = "//- /a.txt\none\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n//- /b.txt\nfour\n";

struct Reviewed {
    rig: Rig,
    model: ModelServer,
    workspace: Workspace,
    session: SessionId,
    run: RunId,
    ask: AskView,
}

impl Reviewed {
    /// Starts a run that asks about three edits of `a.txt` and one of `b.txt`.
    fn start() -> Reviewed {
        let arguments = |path: &str, old: &str, new: &str| json!({ "path": path, "old_text": format!("{old}\n"), "new_text": format!("{new}\n") });
        let reply = Reply::call("edit_file", arguments("a.txt", "one", "1"))
            .and_call("edit_file", arguments("a.txt", "two", "2"))
            .and_call("edit_file", arguments("b.txt", "four", "4"))
            .and_call("edit_file", arguments("a.txt", "three", "3"));
        Reviewed::start_with(reply)
    }

    /// Starts a run whose first reply is this one.
    fn start_with(reply: Reply) -> Reviewed {
        let model = ModelServer::start([reply, Reply::text("Done.")]);
        let workspace = Workspace::new(FILES);
        workspace.openai(&model.base_url());
        let rig = Rig::start(&workspace);
        rig.open("a.txt");
        let session = rig.new_session();
        let run = rig.prompt(&session, "go").run_id;
        let ask = rig.await_ask_of(AskKind::Tool);
        Reviewed { rig, model, workspace, session, run, ask }
    }

    fn hunks(&self) -> Vec<ReviewHunk> {
        let result: ReviewListResult =
            self.rig.call(methods::REVIEW_LIST, json!({"sessionId": self.session}));
        result.hunks
    }

    /// Returns the hunk that inserts this line.
    fn hunk(&self, inserted: &str) -> ReviewHunk {
        let hunks = self.hunks();
        let found = hunks.iter().find(|hunk| hunk.inserted.trim_end() == inserted);
        found.unwrap_or_else(|| panic!("no hunk inserts {inserted:?}: {hunks:#?}")).clone()
    }

    fn params(&self, hunks: &[&ReviewHunk], action: &str, reason: Option<&str>) -> Value {
        let target =
            |hunk: &&ReviewHunk| json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
        let targets: Vec<Value> = hunks.iter().map(target).collect();
        json!({"sessionId": self.session, "targets": targets, "action": action, "reason": reason})
    }

    fn decide(&self, hunks: &[&ReviewHunk], action: &str, reason: Option<&str>) -> Vec<HunkState> {
        let result: ReviewDecideResult =
            self.rig.call(methods::REVIEW_DECIDE, self.params(hunks, action, reason));
        result.hunks.into_iter().map(|hunk| hunk.state).collect()
    }

    /// Waits for the end of the run and returns what the model read of each call.
    fn outputs(&self) -> Vec<String> {
        self.rig.await_run_end(&self.session, &self.run);
        tool_outputs(self.model.requests().last().expect("a second request"))
    }
}

#[test]
fn p01_hunks_are_listed_with_their_place_and_their_makers() {
    let reviewed = Reviewed::start();
    let hunks = reviewed.hunks();
    let shown: Vec<(&str, u32, &str, &str)> = hunks
        .iter()
        .map(|hunk| (hunk.path.as_str(), hunk.line, hunk.removed.as_str(), hunk.inserted.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("a.txt", 0, "one\n", "1\n"),
            ("a.txt", 5, "two\n", "2\n"),
            ("a.txt", 10, "three\n", "3\n"),
            ("b.txt", 0, "four\n", "4\n"),
        ]
    );
    for hunk in &hunks {
        assert_eq!(hunk.state, HunkState::Proposed);
        assert_eq!(hunk.tool_call_ids.len(), 1, "{hunk:?}");
        assert_eq!((hunk.ask_id.as_ref(), &hunk.run_id), (Some(&reviewed.ask.ask_id), &reviewed.run));
        assert!(hunk.diff.contains(&format!("-{}+{}", hunk.removed, hunk.inserted)), "{}", hunk.diff);
    }
    let makers: BTreeMap<_, _> = hunks.iter().map(|hunk| (&hunk.tool_call_ids[0], ())).collect();
    assert_eq!(makers.len(), 4, "each call made one");
    reviewed.rig.answer(&reviewed.ask.ask_id, "reject");
    reviewed.rig.await_run_end(&reviewed.session, &reviewed.run);
    assert_eq!(reviewed.hunks(), []);
    reviewed.rig.end();
}

#[test]
fn p01_each_hunk_is_decided_by_itself_while_the_user_types() {
    let reviewed = Reviewed::start();
    let (rig, one) = (&reviewed.rig, reviewed.hunk("1"));
    assert_eq!(reviewed.decide(&[&one], "apply", None), [HunkState::Applying]);
    rig.await_text("a.txt", "1\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n");
    assert!(rig.held_asks().iter().any(|ask| ask.ask_id == reviewed.ask.ask_id), "the rest is still asked");
    // The user types between the hunks; the others are found where their text is.
    rig.replace("a.txt", "1\n", "1\nmine\n");
    let left = rig.await_update(|params| matches!(params.update, Update::Ask(AskChange::Changed { .. })));
    let Update::Ask(AskChange::Changed { ask }) = left.update else { unreachable!() };
    let shown: Vec<&str> = ask.subject.iter().flat_map(AskSubject::files).map(|file| &*file.diff).collect();
    assert!(!shown.concat().contains("+1\n") && shown.concat().contains("+2\n"), "{shown:?}");
    let two = reviewed.hunk("2");
    assert_eq!(reviewed.decide(&[&two], "reject", Some("two is fine")), [HunkState::Rejected]);
    let (three, four) = (reviewed.hunk("3"), reviewed.hunk("4"));
    let states = reviewed.decide(&[&three, &four], "apply", None);
    assert_eq!(states, [HunkState::Applying; 2]);
    let outputs = reviewed.outputs();
    assert!(outputs[0].starts_with("Edited a.txt: +1 -1 lines."), "{outputs:?}");
    assert_eq!(outputs[1], "The user rejected this and says: two is fine");
    assert!(outputs[2].starts_with("Edited b.txt: +1 -1 lines."), "{outputs:?}");
    assert!(outputs[3].starts_with("Edited a.txt: +1 -1 lines."), "{outputs:?}");
    assert_eq!(rig.text_of("a.txt"), "1\nmine\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\n3\n");
    assert_eq!(reviewed.workspace.read("b.txt"), "4\n");
    let files: Vec<String> = rig.applies().iter().map(|apply| format!("{apply:?}")).collect();
    assert_eq!(files.len(), 2, "one edit of each open file for each decision: {files:#?}");
    reviewed.rig.end();
}

#[test]
fn a_decision_that_is_wrong_in_one_part_changes_nothing() {
    let reviewed = Reviewed::start();
    let (one, four) = (reviewed.hunk("1"), reviewed.hunk("4"));
    let unknown = ReviewHunk { hunk_id: "h9".to_owned(), ..one.clone() };
    let refused = |hunks: &[&ReviewHunk]| {
        let params = reviewed.params(hunks, "apply", None);
        reviewed.rig.request(methods::REVIEW_DECIDE, params).expect_err("it is refused")
    };
    for wrong in [&[&one, &unknown][..], &[&unknown]] {
        let why = refused(wrong);
        assert!(why.message.contains("not wait for an answer any more"), "{why:?}");
    }
    assert_eq!(reviewed.decide(&[&four, &four], "reject", None), [HunkState::Rejected; 2]);
    assert!(
        refused(&[&one, &four]).message.contains("not wait for an answer any more"),
        "it is decided once"
    );
    assert_eq!(reviewed.hunks().len(), 3);
    assert_eq!(reviewed.rig.text_of("a.txt"), "one\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n");
    reviewed.rig.answer(&reviewed.ask.ask_id, "allow");
    let outputs = reviewed.outputs();
    assert_eq!(outputs[2], "The user rejected this.");
    assert_eq!(reviewed.rig.text_of("a.txt"), "1\n.\n.\n.\n.\n2\n.\n.\n.\n.\n3\n");
    assert_eq!(reviewed.workspace.read("b.txt"), "four\n");
    reviewed.rig.end();
}

#[test]
fn the_ask_closes_with_the_last_decision_and_a_late_answer_to_it_is_told_so() {
    let reviewed = Reviewed::start();
    let hunks = reviewed.hunks();
    let all: Vec<&ReviewHunk> = hunks.iter().collect();
    reviewed.decide(&all[..3], "apply", None);
    reviewed.decide(&all[3..], "reject", None);
    let late = reviewed.rig.respond(&reviewed.ask.ask_id, "allow");
    assert_eq!(json!(late.resolution), json!({"type": "decided"}));
    let outputs = reviewed.outputs();
    assert_eq!(outputs.iter().filter(|output| output.starts_with("Edited ")).count(), 3, "{outputs:?}");
    assert_eq!(reviewed.workspace.read("b.txt"), "four\n");
    reviewed.rig.end();
}

/// The hunks of one call are decided at different times: its one result says what became of each.
#[test]
fn a_call_ends_when_all_its_hunks_have_ended() {
    let content = "1\n.\n.\n.\n.\n2\n.\n.\n.\n.\n3\n";
    let call = Reply::call("write_file", json!({ "path": "a.txt", "content": content }));
    let reviewed = Reviewed::start_with(call);
    let (one, two, three) = (reviewed.hunk("1"), reviewed.hunk("2"), reviewed.hunk("3"));
    reviewed.decide(&[&three], "apply", None);
    reviewed.rig.await_text("a.txt", "one\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\n3\n");
    reviewed.decide(&[&two], "reject", Some("keep two"));
    reviewed.decide(&[&one], "apply", None);
    assert_eq!(
        reviewed.outputs(),
        [
            "Edited a.txt: +2 -2 lines. Not applied at line 6 of a.txt: The user rejected this and says: keep two"
        ]
    );
    reviewed.rig.end();
}

/// The server dies between two decisions: what is applied stays, the rest is asked again, with the same lines.
#[test]
fn p01_a_review_goes_on_after_the_server_died() {
    let reviewed = Reviewed::start();
    let one = reviewed.hunk("1");
    reviewed.decide(&[&one], "apply", None);
    reviewed.rig.await_text("a.txt", "1\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n");
    let Reviewed { rig, model, workspace, session, run, .. } = reviewed;
    let is_done = |update: &Update| matches!(update, Update::ToolCallUpdate(call) if call.status == ToolStatus::Completed);
    rig.await_update(|params| is_done(&params.update));
    rig.save("a.txt");
    rig.die();
    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    rig.resume(&session, None);
    let ask = rig.await_ask_of(AskKind::Tool);
    let reviewed = Reviewed { rig, model, workspace, session, run, ask };
    assert_eq!(reviewed.hunks().len(), 3);
    let two = reviewed.hunk("2");
    reviewed.decide(&[&two], "reject", None);
    reviewed.rig.answer(&reviewed.ask.ask_id, "allow");
    let outputs = reviewed.outputs();
    assert_eq!(outputs.iter().filter(|output| output.starts_with("Edited ")).count(), 3, "{outputs:?}");
    assert_eq!(reviewed.rig.text_of("a.txt"), "1\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\n3\n");
    reviewed.rig.end();
}

/// A proposal that the user never allowed does not count as a missing edit.
#[test]
fn a_change_that_lost_its_place_before_it_was_allowed_counts_as_not_wanted() {
    let reviewed = Reviewed::start();
    let Reviewed { rig, model, workspace, session, run, .. } = reviewed;
    rig.die();
    workspace.write("a.txt", "something else\n");
    let rig = Rig::start(&workspace);
    rig.resume(&session, None);
    let gone = |update: &Update| match update {
        Update::ChangeSet(view) if view.path == "a.txt" => {
            view.hunks.iter().all(|hunk| hunk.state == HunkState::Rejected)
        }
        _ => false,
    };
    rig.await_update(|params| gone(&params.update));
    let is_left = |ask: &AskView| ask.title == "Edit b.txt";
    let ask = rig.await_ask_of(AskKind::Tool);
    assert!(is_left(&ask), "{ask:?}");
    let reviewed = Reviewed { rig, model, workspace, session, run, ask };
    reviewed.rig.answer(&reviewed.ask.ask_id, "allow");
    let outputs = reviewed.outputs();
    assert!(outputs[0].starts_with("The edit of a.txt was not applied: "), "{outputs:?}");
    reviewed.rig.end();
}

#[test]
fn p01_hunks_that_wait_are_drawn_where_they_would_be_applied() {
    let reviewed = Reviewed::start();
    let rig = &reviewed.rig;
    let lines = |hunks: &[ReviewHunk]| -> Vec<(HunkState, u32, Option<u32>)> {
        hunks.iter().map(|hunk| (hunk.state, hunk.line, hunk.end_line)).collect()
    };
    use HunkState::{Applied, Proposed};
    let first = rig.await_hunks("a.txt", |hunks| hunks.len() == 3);
    assert_eq!(lines(&first), [(Proposed, 0, Some(1)), (Proposed, 5, Some(6)), (Proposed, 10, Some(11))]);
    rig.type_at("a.txt", 0, "mine\n");
    let moved = rig.await_hunks("a.txt", |hunks| hunks.first().is_some_and(|hunk| hunk.line == 1));
    assert_eq!(lines(&moved), [(Proposed, 1, Some(2)), (Proposed, 6, Some(7)), (Proposed, 11, Some(12))]);
    // What a person has allowed needs no review.
    reviewed.decide(&[&reviewed.hunk("1")], "apply", None);
    let left = rig.await_hunks("a.txt", |hunks| hunks.len() == 2);
    assert!(left.iter().all(|hunk| hunk.state != Applied));
    rig.answer(&reviewed.ask.ask_id, "reject");
    rig.await_run_end(&reviewed.session, &reviewed.run);
    rig.await_hunks("a.txt", <[ReviewHunk]>::is_empty);
    reviewed.rig.end();
}
