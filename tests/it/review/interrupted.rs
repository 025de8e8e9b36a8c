//! A decision that waits for the process that has the session, and whose user does not wait any more.

use std::path::PathBuf;

use adjutant_protocol::SessionId;
use adjutant_protocol::methods;
use adjutant_protocol::review::{ReviewHunk, ReviewListResult};
use adjutant_protocol::update::HunkState;
use adjutant_testkit::command::{Line, Ran, Running};
use adjutant_testkit::editor::{ApplyBehaviour, Editor, Options};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::inbox;
use adjutant_testkit::model::ModelServer;
use adjutant_testkit::process::{Server, wait_until};
use rustix::process::Signal;
use serde_json::json;

use super::{EDITED, Reviewed};
use crate::kill::ends::send;
use crate::rig::{Rig, facts_named};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

/// A process that has the session of a review, with `a.txt` open.
struct Holder {
    // Dropped first: the editor before its server.
    editor: Editor,
    server: Server,
    _model: ModelServer,
    workspace: Workspace,
    session: SessionId,
}

impl Holder {
    fn start() -> Holder {
        let Reviewed { rig, model, workspace, session, .. } = Reviewed::start();
        rig.save("a.txt");
        rig.end();
        let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
        let editor = server.editor(Options::new(&workspace));
        editor.open("a.txt");
        editor.resume(&session, None);
        Holder { editor, server, _model: model, workspace, session }
    }

    /// Lets another process undo the change of a place. Returns once its letter was seen.
    fn undoing(&self, place: &str) -> Running {
        self.asking(&["undo", place])
    }

    /// Like `undoing`, with these words after `adjutant review`.
    fn asking(&self, words: &[&str]) -> Running {
        let words: Vec<&str> = ["review"].into_iter().chain(words.iter().copied()).collect();
        let running = Line::new(BINARY, &self.workspace, &words).start();
        wait_until("the letter", || !self.letters(".json").is_empty() || !self.letters(".taken").is_empty());
        running
    }

    /// Returns the files of the inbox whose names end so.
    fn letters(&self, end: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(inbox::folder(&self.workspace, &self.session)).into_iter().flatten();
        let paths = entries.flatten().map(|entry| entry.path());
        paths.filter(|path| path.to_string_lossy().ends_with(end)).collect()
    }

    fn states(&self) -> Vec<(String, HunkState)> {
        let listed: ReviewListResult = self.editor.call(methods::REVIEW_LIST, json!({"all": true}));
        let state = |hunk: ReviewHunk| (hunk.inserted.trim_end().to_owned(), hunk.state);
        let mut states: Vec<_> = listed.hunks.into_iter().map(state).collect();
        states.sort_by(|one, other| one.0.cmp(&other.0));
        states.retain(|(inserted, _)| inserted != "zero");
        states
    }

    fn end(mut self) {
        self.editor.shutdown();
        self.server.wait();
    }
}

fn all_but(undone: &str) -> Vec<(String, HunkState)> {
    let state = |inserted: &str| if inserted == undone { HunkState::Undone } else { HunkState::Applied };
    ["1", "2", "3", "4"].map(|inserted| (inserted.to_owned(), state(inserted))).to_vec()
}

fn interrupted(running: Running, signal: Signal) -> Ran {
    send(running.pid(), signal);
    running.wait()
}

#[test]
fn n03_a_decision_that_is_interrupted_before_it_is_taken_changes_nothing_and_says_so() {
    let holder = Holder::start();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        send(holder.server.pid(), Signal::STOP);
        let ran = interrupted(holder.undoing("b.txt"), signal);
        assert!(ran.expect(code).stderr.contains("nothing was changed"), "{ran}");
        assert_eq!(holder.letters(".json"), [] as [PathBuf; 0], "{ran}");
        send(holder.server.pid(), Signal::CONT);
        assert_eq!(holder.states(), all_but(""), "{ran}");
    }
    // So is a comment.
    send(holder.server.pid(), Signal::STOP);
    let ran = interrupted(holder.asking(&["comment", "b.txt:1", "why?"]), Signal::INT);
    assert!(ran.expect(130).stderr.contains("nothing was changed"), "{ran}");
    send(holder.server.pid(), Signal::CONT);
    assert_eq!(holder.states(), all_but(""), "{ran}");
    assert_eq!(holder.workspace.read("b.txt"), "4\n");
    holder.end();
}

#[test]
fn n03_a_decision_that_is_interrupted_too_late_is_carried_out_and_says_so() {
    let holder = Holder::start();
    holder.editor.set_apply(ApplyBehaviour::ApplyLate);
    let running = holder.undoing("a.txt:6");
    wait_until("the edit", || !holder.editor.applies().is_empty());
    let ran = interrupted(running, Signal::INT);
    assert!(ran.expect(130).stderr.contains("It is too late to withdraw"), "{ran}");
    // What is on its way is not cut short, so a list does not warn of it.
    holder.states();
    holder.editor.release_applies();
    wait_until("the undo", || holder.editor.text_of("a.txt") == EDITED.replace("2\n", "two\n"));
    let is_recorded = || !facts_named(&holder.workspace, &holder.session, "reviewed").is_empty();
    wait_until("the end of the decision", is_recorded);
    assert_eq!(holder.states(), all_but("2"));
    wait_until("the letter to be removed", || holder.letters(".taken").is_empty());
    holder.end();
}

#[test]
fn n03_a_client_that_cancels_a_decision_withdraws_it() {
    let holder = Holder::start();
    let second = Rig::start(&holder.workspace);
    let listed: ReviewListResult = second.call(methods::REVIEW_LIST, json!({}));
    let hunk = listed.hunks.iter().find(|hunk| hunk.path == "b.txt").expect("it is listed");
    let target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
    let params = json!({"sessionId": hunk.session_id, "targets": [target], "action": "undo"});
    send(holder.server.pid(), Signal::STOP);
    let id = second.request_nowait(methods::REVIEW_DECIDE, params);
    wait_until("the letter", || !holder.letters(".json").is_empty());
    second.cancel_request(&id);
    let refused = second.await_response(&id).expect_err("it was cancelled");
    assert_eq!(refused.code, -32800);
    assert!(second.await_message().contains("nothing was changed"));
    assert_eq!(holder.letters(".json"), [] as [PathBuf; 0]);
    send(holder.server.pid(), Signal::CONT);
    assert_eq!(holder.states(), all_but(""));
    second.end();
    holder.end();
}
