//! Comments on changes: collected, sent as one round, and seen by the model with path, lines and code (P06).

use adjutant_protocol::methods;
use adjutant_protocol::review::{ReviewCommentResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::session::PromptResult;
use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::Reviewed;
use crate::rig::Rig;

fn comment(rig: &Rig, hunk: &ReviewHunk, text: &str) -> u32 {
    let ReviewHunk { session_id, change_set_id, hunk_id, .. } = hunk;
    let params =
        json!({"sessionId": session_id, "changeSetId": change_set_id, "hunkId": hunk_id, "text": text});
    let result: ReviewCommentResult = rig.call(methods::REVIEW_COMMENT, params);
    result.waiting
}

#[test]
fn p06_comments_reach_the_model_as_one_round_with_path_lines_and_code() {
    let reviewed = Reviewed::start();
    let (one, three, four) = (reviewed.hunk("1"), reviewed.hunk("3"), reviewed.hunk("4"));
    let Reviewed { rig, model, workspace, session, .. } = reviewed;
    let nothing = rig.request(methods::REVIEW_SEND, json!({"sessionId": session})).expect_err("no comment");
    assert!(nothing.message.contains("no comment waits"), "{nothing:?}");
    assert_eq!(comment(&rig, &three, "use words"), 1);
    assert_eq!(comment(&rig, &one, "taken back"), 2);
    assert_eq!(comment(&rig, &one, " "), 1);
    assert_eq!(comment(&rig, &four, "not this"), 2);
    assert_eq!(comment(&rig, &four, "rather 44"), 2, "it replaces the one before");
    // A decision about the change leaves its comment, which is still listed.
    let target = json!({"changeSetId": four.change_set_id, "hunkIds": [four.hunk_id]});
    let keep = json!({"sessionId": session, "targets": [target], "action": "keep"});
    rig.call::<Value>(methods::REVIEW_DECIDE, keep);
    // They wait over a restart, and move with the text.
    rig.save("a.txt");
    rig.end();
    let rig = Rig::start(&workspace);
    rig.open("a.txt");
    rig.type_at("a.txt", 0, "top\n");
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({}));
    let mut waiting: Vec<&str> = listed.hunks.iter().filter_map(|hunk| hunk.comment.as_deref()).collect();
    waiting.sort_unstable();
    assert_eq!(waiting, ["rather 44", "use words"]);
    let sent: PromptResult =
        rig.call(methods::REVIEW_SEND, json!({"sessionId": session, "text": "Some words."}));
    rig.await_run_end(&session, &sent.run_id);
    let told = model.requests().into_iter().map(|request| String::from_utf8(request.body).expect("text"));
    let told = told.into_iter().find(|body| body.contains("Some words.")).expect("the round");
    let round = "Some words.\\n\\nMy comments on your changes. The lines are those of now; `-` was there before, `+` is there \
        now.\\n\\n1. a.txt, line 12\\n```diff\\n-three\\n+3\\n```\\nuse words\\n\\n2. b.txt, line 1\\n```diff\\n-four\\n+4\\n```\\n\
        rather 44\\n";
    assert!(told.contains(round), "{told}");
    model.push(Reply::call("edit_file", json!({"path": "b.txt", "old_text": "4\n", "new_text": "44\n"})));
    model.push(Reply::text("Done."));
    let run = rig.prompt(&session, "do it").run_id;
    rig.await_run_end(&session, &run);
    // The next round is about new changes alone.
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({"new": true}));
    let new: Vec<&str> = listed.hunks.iter().map(|hunk| hunk.inserted.as_str()).collect();
    assert_eq!(new, ["44\n"]);
    let listed: ReviewListResult = rig.call(methods::REVIEW_LIST, json!({}));
    assert!(listed.hunks.len() > 1 && listed.hunks.iter().all(|hunk| hunk.comment.is_none()), "{listed:#?}");
    let nothing = rig.request(methods::REVIEW_SEND, json!({"sessionId": session})).expect_err("all are sent");
    assert!(nothing.message.contains("no comment waits"), "{nothing:?}");
    rig.end();
}

#[test]
fn p06_a_comment_that_cannot_be_kept_is_refused_with_the_reason() {
    let reviewed = Reviewed::start();
    let four = reviewed.hunk("4");
    let params = |hunk: &str, text: &str| json!({"sessionId": four.session_id, "changeSetId": four.change_set_id, "hunkId": hunk, "text": text});
    let refused =
        |params| reviewed.rig.request(methods::REVIEW_COMMENT, params).expect_err("it is refused").message;
    assert!(refused(params("h9", "x")).contains("is not among the applied ones"));
    assert!(refused(params(&four.hunk_id, &"x".repeat(4_001))).contains("at most 4000 bytes"));
    assert_eq!(comment(&reviewed.rig, &four, &"x".repeat(4_000)), 1);
    reviewed.rig.end();
}

#[test]
fn p06_a_round_that_is_sent_twice_at_once_reaches_the_model_once() {
    let reviewed = Reviewed::start();
    comment(&reviewed.rig, &reviewed.hunk("4"), "only once");
    let Reviewed { rig, model, session, .. } = reviewed;
    let editor: &adjutant_testkit::editor::Editor = &rig;
    let sends: Vec<bool> = std::thread::scope(|scope| {
        let send = || editor.request(methods::REVIEW_SEND, json!({"sessionId": session})).is_ok();
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    assert_eq!(sends.iter().filter(|sent| **sent).count(), 1, "{sends:?}");
    model.wait_for_requests(4);
    let last = model.requests().pop().expect("a request");
    assert_eq!(String::from_utf8(last.body).expect("text").matches("only once").count(), 1);
    rig.end();
}
