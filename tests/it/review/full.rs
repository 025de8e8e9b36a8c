//! Decisions while the disk with the state directory is full: what was refused is not carried out later.

use std::collections::BTreeSet;
use std::sync::Arc;

use adjutant::session::storage::faulty::{Fault, FaultyDisk, Op};
use adjutant_testkit::command::Line;
use adjutant_testkit::editor::Answer;

use super::*;
use crate::rig::twin_for;

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// Pages of the kernel that are enough for an undo.
const MOST_PAGES: usize = 10;
/// More bytes than an undo takes.
const ENOUGH: usize = 24_000;
/// The steps between two amounts of room.
const STEP: usize = 157;

/// A workspace whose sessions are on a disk that can be full, and a session that changed `b.txt` there.
struct Disked {
    workspace: Workspace,
    _model: ModelServer,
    disk: FaultyDisk,
}

impl Disked {
    fn start() -> Disked {
        let edit = |old: &str, new: &str| {
            Reply::call("edit_file", json!({"path": "b.txt", "old_text": old, "new_text": new}))
        };
        let model = ModelServer::start([edit("four\n", "4\n"), Reply::text("Done.")]);
        let workspace = Workspace::new(FILES);
        workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"review\"\n");
        let disked = Disked { disk: twin_for(&workspace), workspace, _model: model };
        let rig = disked.rig();
        let session = rig.new_session();
        let run = rig.prompt(&session, "make it a number").run_id;
        rig.await_run_end(&session, &run);
        assert_eq!(disked.workspace.read("b.txt"), "4\n");
        rig.end();
        disked
    }

    fn rig(&self) -> Rig {
        let rig = Rig::start_on(&self.workspace, Arc::new(self.disk.clone()));
        rig.on_ask(|_| Answer::option("allow"));
        rig
    }
}

fn only(rig: &Rig) -> ReviewHunk {
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({"all": true}));
    let [hunk] = &listed.hunks[..] else { panic!("{:#?}", listed.hunks) };
    hunk.clone()
}

/// Undoes a hunk. Fails with the reason if it was refused.
fn undo(rig: &Rig, hunk: &ReviewHunk) -> Result<(), String> {
    let target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
    let params = json!({"sessionId": hunk.session_id, "targets": [target], "action": "undo"});
    let result = rig.request(methods::REVIEW_DECIDE, params).map_err(|refused| refused.message)?;
    let result: ReviewDecideResult = serde_json::from_value(result).expect("a result");
    result.hunks[0].why.clone().map_or(Ok(()), Err)
}

/// Ends a server whose messages say why a session cannot be written.
fn end(rig: Rig) {
    rig.messages().iter().for_each(|_| drop(rig.await_message()));
    rig.end();
}

#[test]
fn n03_an_undo_that_a_full_disk_refused_is_not_carried_out_later() {
    let disked = Disked::start();
    let mut ends = BTreeSet::new();
    for room in (0..ENOUGH).step_by(STEP) {
        let rig = disked.rig();
        let hunk = only(&rig);
        disked.disk.leave_room(room);
        let result = undo(&rig, &hunk);
        disked.disk.heal();
        let text = disked.workspace.read("b.txt");
        end(rig);
        let undone = result.is_ok();
        let why = result.err().unwrap_or_default().to_lowercase();
        assert!(undone || why.contains("no space"), "{room} bytes were left: {why}");
        assert_eq!(text, if undone { "four\n" } else { "4\n" }, "{room} bytes were left");
        // The next look.
        let rig = disked.rig();
        let state = only(&rig).state;
        assert_eq!(disked.workspace.read("b.txt"), text, "{room} bytes were left: it was carried out later");
        let is_left = state == HunkState::Applied;
        assert_eq!(is_left, !undone, "{room} bytes were left: {state:?}");
        assert_eq!(rig.messages(), [""; 0], "{room} bytes were left");
        rig.end();
        ends.insert(undone);
        if undone {
            break;
        }
    }
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), [false, true]);
}

#[test]
fn n03_an_undo_whose_end_cannot_be_recorded_is_not_carried_out_later() {
    let mut refused = 0;
    for nth in 1..=6 {
        let disked = Disked::start();
        let rig = disked.rig();
        let hunk = only(&rig);
        disked.disk.fail(Op::Write, nth, Fault::Broken);
        let result = undo(&rig, &hunk);
        let text = disked.workspace.read("b.txt");
        end(rig);
        disked.disk.heal();
        refused += usize::from(result.is_err());
        // The next look changes nothing, so it has nothing to say.
        let rig = disked.rig();
        only(&rig);
        assert_eq!(disked.workspace.read("b.txt"), text, "write {nth}, {result:?}");
        assert_eq!(rig.messages(), [""; 0], "write {nth}, {result:?}");
        rig.end();
    }
    assert!(refused >= 3, "an undo writes three times");
}

#[test]
fn n03_a_refusal_says_so_if_the_next_look_carries_the_decision_out() {
    let disked = Disked::start();
    let rig = disked.rig();
    let hunk = only(&rig);
    // Answered once all that was written before is durable.
    let comment = json!({
        "sessionId": hunk.session_id, "changeSetId": hunk.change_set_id, "hunkId": hunk.hunk_id, "text": "why?",
    });
    rig.request(methods::REVIEW_COMMENT, comment).expect("a comment");
    disked.disk.fail_from(Op::Sync, 1, Fault::Broken);
    let why = undo(&rig, &hunk).expect_err("the disk is broken");
    assert!(why.ends_with("; what was decided is carried out when the session is opened again"), "{why}");
    disked.disk.heal();
    end(rig);
    let rig = disked.rig();
    assert_eq!((only(&rig).state, disked.workspace.read("b.txt")), (HunkState::Undone, "four\n".to_owned()));
    assert!(rig.await_message().contains("cut short"));
    rig.end();
}

/// The same on a disk of the kernel: it has 256 KiB, and is filled but for some pages.
#[test]
fn n03_an_undo_that_a_full_disk_of_the_kernel_refused_is_not_carried_out_later() {
    let script = r#"
        mount -t tmpfs -o size=256k,mode=700 none "$ADJUTANT_STATE_DIR" && : > "$0.mounted" || exit 99
        "$2" run -y "make it a number" > "$0.ran" 2>&1 || exit 98
        dd if=/dev/zero of="$ADJUTANT_STATE_DIR/filled" bs=4096 2> "$0.filled"
        size=$(stat -c %s "$ADJUTANT_STATE_DIR/filled")
        truncate -s $((size - 4096 * $1)) "$ADJUTANT_STATE_DIR/filled"
        "$2" review undo b.txt; code=$?; cat b.txt > "$0.then"
        rm "$ADJUTANT_STATE_DIR/filled"
        "$2" review --json > "$0.listed" 2> "$0.said"
        exit $code"#;
    let edit = "[[turn]]\n[[turn.call]]\ntool = \"edit_file\"\n\
                arguments = { path = \"b.txt\", old_text = \"four\", new_text = \"4\" }\n[[turn]]\ntext = \"Done.\"\n";
    let mut ends = BTreeSet::new();
    for pages in 0..MOST_PAGES {
        let workspace = Workspace::new(FILES);
        workspace.script(edit);
        let mark = workspace.write_beside("kept", "");
        let words = ["-rm", "sh", "-c", script, &mark.to_string_lossy(), &pages.to_string(), BINARY];
        let ran = Line::new("unshare", &workspace, &words).run();
        let read = |end: &str| {
            let name = format!("{}.{end}", mark.display());
            std::fs::read_to_string(name).unwrap_or_else(|error| panic!("{end}: {error}: {ran}"))
        };
        read("mounted");
        let undone = ran.status.success();
        assert!(undone || ran.stderr.to_lowercase().contains("no space"), "{pages} pages: {ran}");
        let text = if undone { "four\n" } else { "4\n" };
        assert_eq!(
            (read("then").as_str(), workspace.read("b.txt").as_str()),
            (text, text),
            "{pages} pages: {ran}"
        );
        assert_eq!(
            (read("listed").lines().count(), read("said").as_str()),
            (usize::from(!undone), ""),
            "{pages}: {ran}"
        );
        ends.insert(undone);
    }
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), [false, true]);
}
