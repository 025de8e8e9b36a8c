//! Whole runs undone and restored, over the wire: shown first, to the byte, and never against another text.

mod operations;

use adjutant_protocol::ask::AskKind;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{ReviewDecideResult, ReviewListResult};
use adjutant_protocol::rewind::RewindPreview;
use adjutant_protocol::update::HunkState;
use adjutant_protocol::{RunId, SessionId, methods};
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::plain::Plain;
use crate::rig::Rig;

const FILES: &str =
    "//- /a.txt\none\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n//- /b.txt\nfour\n//- /c.txt\nfive\n";
const A: &str = "one\n.\n.\n.\n.\ntwo\n.\n.\n.\n.\nthree\n";
/// After the first run, and after the second.
const A1: &str = "1\n.\n.\n.\n.\nZwei\nzwei\n.\n.\n.\n.\nthree\n";
const A2: &str = "1\n.\n.\n.\n.\nZWEI\nzwei\n.\n.\n.\n.\n3\n";

struct Rewound {
    rig: Rig,
    model: ModelServer,
    workspace: Workspace,
    session: SessionId,
    runs: Vec<RunId>,
}

fn edit(path: &str, old: &str, new: &str) -> Reply {
    Reply::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
}

impl Rewound {
    /// Lets two runs edit `a.txt`, which is open, several times at the same place, and `b.txt`. The first also makes
    /// `new.txt` and runs a command.
    fn start() -> Rewound {
        let command = json!({"command": "echo made it"});
        let replies = [
            edit("a.txt", "one\n", "1\n"),
            edit("a.txt", "two\n", "2\n")
                .and_call("write_file", json!({"path": "d/new.txt", "content": "made\nby it\n"})),
            edit("a.txt", "2\n", "Zwei\nzwei\n")
                .and_call("edit_file", json!({"path": "b.txt", "old_text": "four\n", "new_text": "4\n"})),
            Reply::call("run_command", command),
            Reply::text("Done."),
            edit("a.txt", "Zwei\n", "ZWEI\n"),
            edit("a.txt", "three\n", "3\n"),
            edit("d/new.txt", "by it\n", "by them\n"),
            Reply::text("Done again."),
            Reply::text("Seen."),
        ];
        let model = ModelServer::start(replies);
        let workspace = Workspace::new(FILES);
        workspace.openai(&model.base_url());
        let mut options = Options::new(&workspace);
        options.capabilities.agent.as_mut().expect("a rich client").workspace.trusted = true;
        let rig = Rig::start_with(&workspace, options);
        rig.open("a.txt");
        let session = rig.new_session();
        let first = rig.prompt(&session, "count them").run_id;
        let ask = rig.await_ask_of(AskKind::Command);
        rig.answer(&ask.ask_id, "allow");
        rig.await_run_end(&session, &first);
        assert_eq!(rig.text_of("a.txt"), A1);
        let second = rig.prompt(&session, "in capitals").run_id;
        rig.await_run_end(&session, &second);
        assert_eq!(rig.text_of("a.txt"), A2);
        Rewound { rig, model, workspace, session, runs: vec![first, second] }
    }

    fn preview(&self, run: usize, more: Value) -> RewindPreview {
        self.rig.call(methods::REVIEW_PREVIEW, self.params(run, more))
    }

    fn params(&self, run: usize, more: Value) -> Value {
        let mut params = json!({"sessionId": self.session, "runId": self.runs[run]});
        let more = more.as_object().cloned().unwrap_or_default();
        params.as_object_mut().expect("an object").extend(more);
        params
    }

    /// Carries out a preview.
    fn rewind(&self, preview: &RewindPreview, user_lines: bool) -> ReviewDecideResult {
        self.rig.call(methods::REVIEW_REWIND, decision(preview, user_lines))
    }
}

fn decision(preview: &RewindPreview, user_lines: bool) -> Value {
    let RewindPreview { session_id, run_id, later, restore, expect, .. } = preview;
    json!({
        "sessionId": session_id, "runId": run_id, "later": later, "restore": restore, "expect": expect,
        "userLines": user_lines,
    })
}

fn titles(preview: &RewindPreview) -> Vec<&str> {
    preview.choices.iter().map(|choice| choice.title.as_str()).collect()
}

#[test]
fn p04_everything_since_a_prompt_is_shown_undone_and_restored_to_the_byte() {
    let rewound = Rewound::start();
    let (rig, workspace) = (&rewound.rig, &rewound.workspace);
    let preview = rewound.preview(0, json!({"later": true}));
    let expected = [
        "Undo “count them” and everything after it: 8 changes in 3 files",
        "  a.txt: 5 changes",
        "  b.txt: 1 change",
        "  d/new.txt: 2 changes, the file goes away",
        "Not covered: what 1 command changed that ran meanwhile:",
        "  echo made it",
    ];
    assert_eq!(preview.lines, expected);
    assert_eq!(titles(&preview), ["Yes, undo 8 changes"]);
    assert_eq!(rig.text_of("a.txt"), A2, "a preview changes nothing");
    let edits = rig.applies().len();
    let decided = rewound.rewind(&preview, false);
    assert_eq!(decided.hunks.len(), 8);
    assert!(decided.hunks.iter().all(|hunk| hunk.state == HunkState::Undone), "{decided:#?}");
    assert_eq!(rig.text_of("a.txt"), A);
    assert_eq!(rig.applies().len(), edits + 1, "one undo step in the editor");
    assert_eq!(workspace.read("b.txt"), "four\n");
    assert!(!workspace.exists("d/new.txt"));
    assert_eq!(rewound.preview(0, json!({"later": true})).choices, [], "nothing is left to undo");
    let restore = rewound.preview(0, json!({"later": true, "restore": true}));
    assert_eq!(titles(&restore), ["Yes, restore 8 changes"]);
    let restored = rewound.rewind(&restore, false);
    assert!(restored.hunks.iter().all(|hunk| hunk.state == HunkState::Applied), "{restored:#?}");
    assert_eq!(rig.text_of("a.txt"), A2);
    assert_eq!(workspace.read("b.txt"), "4\n");
    assert_eq!(workspace.read("d/new.txt"), "made\nby them\n");
    rewound.rig.end();
}

#[test]
fn p04_the_last_run_is_undone_and_the_model_is_told_in_one_line() {
    let rewound = Rewound::start();
    let rig = &rewound.rig;
    let preview: RewindPreview = rig.call(methods::REVIEW_PREVIEW, json!({"sessionId": rewound.session}));
    assert_eq!((&preview.run_id, preview.later), (&rewound.runs[1], false));
    let mut params = decision(&preview, false);
    params["reason"] = json!("no capitals");
    let _: ReviewDecideResult = rig.call(methods::REVIEW_REWIND, params);
    assert_eq!(rig.text_of("a.txt"), A1);
    assert_eq!(rewound.workspace.read("d/new.txt"), "made\nby it\n");
    let run = rig.prompt(&rewound.session, "go on").run_id;
    rig.await_run_end(&rewound.session, &run);
    let request = rewound.model.requests();
    let told = String::from_utf8(request.last().expect("a request").body.clone()).expect("text");
    assert_eq!(told.matches("The user undid your edits of a whole run").count(), 1, "{told}");
    assert!(told.contains("The user says: no capitals") && !told.contains("undid this part"), "{told}");
    rewound.rig.end();
}

#[test]
fn p04_an_earlier_run_is_not_undone_from_under_a_later_one() {
    let rewound = Rewound::start();
    let rig = &rewound.rig;
    let preview = rewound.preview(0, json!({}));
    let a = &preview.files[0];
    assert_eq!((a.path.as_str(), a.hunks), ("a.txt", 1), "{preview:#?}");
    assert_eq!((a.left.len(), a.left[0].hunks), (1, 2), "{:?}", a.left);
    assert!(a.left[0].why.contains("in capitals"), "{:?}", a.left);
    rewound.rewind(&preview, false);
    assert_eq!(rig.text_of("a.txt"), A2.replace("1\n", "one\n"));
    rewound.rig.end();
}

#[test]
fn p04_lines_of_the_user_are_named_and_go_only_if_they_were_chosen() {
    let rewound = Rewound::start();
    let rig = &rewound.rig;
    rig.replace("a.txt", "3\n", "3\nmine\nand mine\n");
    rig.replace("a.txt", "3\n", "3!\n");
    rig.type_at("a.txt", 0, "top\n");
    let preview = rewound.preview(1, json!({}));
    assert_eq!((preview.files[0].user_hunks, preview.files[0].user_lines), (1, 1), "{preview:#?}");
    assert_eq!(titles(&preview), ["Yes, undo 2 changes", "Yes, undo 3 changes, also your 1 line"]);
    rewound.rewind(&preview, false);
    let text = rig.text_of("a.txt");
    assert_eq!(text, format!("top\n{}", A1.replace("three\n", "3!\nmine\nand mine\n")));
    let preview = rewound.preview(1, json!({}));
    assert_eq!(titles(&preview), ["Yes, undo 1 change, also your 1 line"]);
    rewound.rewind(&preview, true);
    assert_eq!(rig.text_of("a.txt"), format!("top\n{A1}").replace("three\n", "three\nmine\nand mine\n"));
    rewound.rig.end();
}

#[test]
fn p04_a_text_that_is_not_as_it_was_shown_is_named_and_nothing_is_done() {
    let rewound = Rewound::start();
    let rig = &rewound.rig;
    let preview = rewound.preview(0, json!({"later": true}));
    rewound.workspace.write("b.txt", "4\nmine\n");
    let error = rig.request(methods::REVIEW_REWIND, decision(&preview, false)).expect_err("a conflict");
    assert_eq!(error.code, ErrorName::HunkConflict.code());
    assert!(error.message.contains("because b.txt changed since it was shown"), "{error:?}");
    assert_eq!(rig.text_of("a.txt"), A2);
    assert_eq!(rewound.workspace.read("b.txt"), "4\nmine\n");
    // Typing into a change while the undo is on its way: that file stays, and it is said.
    let preview = rewound.preview(0, json!({"later": true}));
    let mut once = true;
    rig.before_apply(move |buffers| {
        if std::mem::take(&mut once) {
            buffers.replace("a.txt", "3\n", "3 mine\n");
        }
    });
    let decided = rewound.rewind(&preview, false);
    let left: Vec<_> = decided.hunks.iter().filter_map(|hunk| hunk.why.as_deref()).collect();
    assert!(left.len() == 5 && left.iter().any(|why| why.contains("not what was shown")), "{decided:#?}");
    assert_eq!(rig.text_of("a.txt"), A2.replace("3\n", "3 mine\n"));
    assert_eq!(rewound.workspace.read("b.txt"), "four\nmine\n");
    rewound.rig.end();
}

#[test]
fn p04_kept_changes_go_too_and_single_undos_are_not_restored_with_the_run() {
    let rewound = Rewound::start();
    let rig = &rewound.rig;
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({}));
    let of =
        |inserted: &str| listed.hunks.iter().find(|hunk| hunk.inserted == inserted).expect("a hunk").clone();
    for (hunk, action) in [(of("4\n"), "keep"), (of("3\n"), "undo")] {
        let target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
        let params = json!({"sessionId": hunk.session_id, "targets": [target], "action": action});
        let _: ReviewDecideResult = rig.call(methods::REVIEW_DECIDE, params);
    }
    let preview = rewound.preview(0, json!({"later": true}));
    assert_eq!((preview.files[0].hunks, preview.files[0].already), (4, 1), "{preview:#?}");
    assert!(preview.lines.contains(&"  b.txt: 1 change, 1 of them kept before".to_owned()), "{preview:#?}");
    rewound.rewind(&preview, false);
    assert_eq!((rig.text_of("a.txt").as_str(), rewound.workspace.read("b.txt").as_str()), (A, "four\n"));
    let restore = rewound.preview(0, json!({"later": true, "restore": true}));
    rewound.rewind(&restore, false);
    assert_eq!(rig.text_of("a.txt"), A2.replace("3\n", "three\n"));
    rewound.rig.end();
}

#[test]
fn p04_texts_before_edits_are_kept_within_their_limit_and_never_removed_while_needed() {
    let rewound = Rewound::start();
    let Rewound { rig, model, workspace, session, runs } = rewound;
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({}));
    let four = listed.hunks.iter().find(|hunk| hunk.inserted == "4\n").expect("a hunk");
    let target = json!({"changeSetId": four.change_set_id});
    let keep = json!({"sessionId": session, "targets": [target], "action": "keep"});
    let _: ReviewDecideResult = rig.call(methods::REVIEW_DECIDE, keep);
    rig.save("a.txt");
    rig.end();
    let blobs = crate::rig::session_dir(&workspace, &session).join("blobs");
    let kept = || std::fs::read_dir(&blobs).expect("a folder").count();
    let all = kept();
    let old = blobs.join(adjutant_store::blobs::hash_of(b"four\n"));
    assert!(old.exists());
    workspace.add_config("[edits]\nkeep_mb = 0\n");
    let rig = Rig::start(&workspace);
    adjutant_testkit::process::wait_until("the old text is removed", || !old.exists());
    assert_eq!(kept(), all - 1, "what a review needs stays");
    // Its place cannot be told any more without the text before it.
    workspace.write("b.txt", "rewritten\n");
    let rewound = Rewound { rig, model, workspace, session, runs };
    let preview = rewound.preview(0, json!({"later": true}));
    let b = preview.files.iter().find(|file| file.path == "b.txt").expect("the file");
    assert!(b.left[0].why.contains("edits.keep_mb"), "{preview:#?}");
    rewound.rewind(&preview, false);
    assert_eq!(rewound.workspace.read("a.txt"), A);
    assert_eq!(rewound.workspace.read("b.txt"), "rewritten\n");
    rewound.rig.end();
}

#[test]
fn p04_a_run_is_undone_after_a_restart_and_not_while_it_is_open() {
    let rewound = Rewound::start();
    let Rewound { rig, model, workspace, session, runs } = rewound;
    rig.save("a.txt");
    rig.end();
    let rig = Rig::start(&workspace);
    let rewound = Rewound { rig, model, workspace, session, runs };
    let preview = rewound.preview(0, json!({"later": true}));
    assert_eq!(titles(&preview), ["Yes, undo 8 changes"]);
    rewound.rewind(&preview, false);
    assert_eq!(rewound.workspace.read("a.txt"), A);
    assert!(!rewound.workspace.exists("d/new.txt"));
    let unknown = rewound
        .rig
        .request(methods::REVIEW_PREVIEW, json!({"sessionId": rewound.session, "runId": "run-of-nobody"}));
    assert!(unknown.expect_err("no run").message.contains("no such run"));
    rewound.rig.end();
    let model = ModelServer::start([edit("b.txt", "four\n", "4\n"), Reply::text("Done.")]);
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "number it").run_id;
    let ask = rig.await_ask_of(AskKind::Tool);
    let open = rig.request(methods::REVIEW_PREVIEW, json!({"sessionId": session, "runId": run}));
    assert!(open.expect_err("an open run").message.contains("not over"));
    rig.answer(&ask.ask_id, "allow");
    rig.await_run_end(&session, &run);
    rig.end();
}

#[test]
fn p04_an_editor_without_a_plugin_undoes_a_run_after_a_popup() {
    let replies = [
        edit("a.txt", "one\n", "1\n"),
        edit("a.txt", "three\n", "3\n"),
        Reply::text("Done."),
        Reply::text("Seen."),
    ];
    let plain = Plain::new(FILES, replies);
    plain.rig.open("a.txt");
    let started = plain.command("adjutant.start", json!(["count", "them"])).expect("it is started");
    let always = plain.await_action("a.txt", "Adjutant: Yes, always");
    plain.pick(&always).expect("the answer is accepted");
    plain.finish(&started);
    let edited = A.replace("one\n", "1\n").replace("three\n", "3\n");
    plain.rig.await_text("a.txt", &edited);
    plain.rig.replace("a.txt", "3\n", "3\nmine\n");
    plain.rig.replace("a.txt", "3\n", "3!\n");
    let offered = || {
        plain.command("adjutant.undoRun", json!([])).expect("it is asked");
        // Earlier ones asked about the edit.
        let popup = || Some(plain.rig.await_popup()).filter(|popup| popup.message.contains("Undo"));
        std::iter::repeat_with(popup).flatten().next().expect("a popup")
    };
    let popup = offered();
    assert_eq!(
        popup.message,
        "Adjutant: Undo “count them”: 2 changes in 1 file\n  a.txt: 1 change, 1 of them kept before, 1 change more with 1 line of yours"
    );
    let titles = ["Leave as it is", "Yes, undo 1 change", "Yes, undo 2 changes, also your 1 line"];
    assert_eq!(popup.actions, titles);
    plain.rig.press(&popup, Some("Leave as it is"));
    let popup = offered();
    plain.rig.press(&popup, Some("Yes, undo 2 changes, also your 1 line"));
    plain.rig.await_text("a.txt", &A.replace("three\n", "three\nmine\n"));
    assert_eq!(plain.rig.await_message(), "Adjutant: 2 changes undone.");
    plain.rig.end();
}
