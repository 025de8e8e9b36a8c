//! Scenes in VS Code about the answer's text, and about answers in the user's own words.
//!
//! Never looks into the server: it checks the screen, the bytes on disk and the requests to the model.

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::Code;
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

/// Runs a command that asks for a text, and enters one.
fn say(code: &Code<'_>, command: &str, words: &str) {
    code.do_("palette", json!([format!("Adjutant: {command}")]));
    code.do_("input", json!([command, words]));
    code.do_("confirm", json!([]));
}

pub fn notified(code: &Code<'_>, part: &str) {
    wait_for(&format!("a notification with {part:?}"), || {
        let popups = code.do_("popups", json!([]));
        let shown =
            |popup: &serde_json::Value| popup["text"].as_str().is_some_and(|text| text.contains(part));
        popups.as_array()?.iter().any(shown).then_some(())
    });
}

/// Finding D9: no answer was ever on the screen, and the user could not continue.
#[test]
fn finding_d9_s105_the_answer_streams_into_a_view_beside_the_file_and_goes_on() {
    let answer = "The function greets.\n\nIt does so loudly.";
    let stage = Stage::new(
        "//- /greet.py\nprint(1)\n",
        [Reply::text(answer).hold_behind("greets"), Reply::text("Since 2019."), Reply::text("No more.")],
    );
    let code = Code::open(&stage, scenes::FILE);
    code.command("Explain it");
    stage.model.wait_for_holding(1);
    wait_for("its beginning, while it streams", || {
        code.all_text().contains("The function greets").then_some(())
    });
    assert!(!code.all_text().contains("so loudly"), "it is held back");
    code.picture("answer-streams");
    code.type_at_top("x = 1");
    wait_for("what was typed, in the file", || code.buffer().starts_with("x = 1\n").then_some(()));
    stage.model.release();
    wait_for("its end", || code.all_text().contains("so loudly").then_some(()));
    code.wait_end("done");
    say(&code, "Go On", "since when?");
    wait_for("the next answer, in the same view", || {
        let text = code.all_text();
        (text.contains("Since 2019.") && text.contains("The function greets")).then_some(())
    });
    assert!(stage.model.wait_for_requests(2)[1].json().to_string().contains("since when?"));
    assert_eq!(stage.sessions().len(), 1, "it is the same conversation");
    // A view that the user closed stays closed at the next task.
    code.wait_end("done");
    code.do_("closeTab", json!(["Answer.txt"]));
    code.command("And now?");
    stage.model.wait_for_requests(3);
    code.wait_end("done");
    assert!(!code.all_text().contains("No more."), "{}", code.all_text());
    code.do_("palette", json!(["Adjutant: Show Answer"]));
    wait_for("it, on request", || code.all_text().contains("No more.").then_some(()));
}

/// The plan stays in one place of the view, and its call is not shown besides.
#[test]
fn s45_the_plan_is_shown_in_the_answer_as_it_goes_on() {
    let plan = |first: &str, second: &str| {
        let steps =
            json!([{"step": "Read greet.py", "status": first}, {"step": "Mend it", "status": second}]);
        Reply::call("update_plan", json!({ "plan": steps }))
    };
    let turns = [plan("in_progress", "pending"), plan("completed", "in_progress"), Reply::text("Mended.")];
    let stage = Stage::new("//- /greet.py\nprint(1)\n", turns);
    let code = Code::open(&stage, scenes::FILE);
    code.command("Mend it");
    code.wait_end("done");
    wait_for("the plan", || {
        let text = code.all_text();
        (text.contains("- [x] Read greet.py") && text.contains("- [~] Mend it")).then_some(())
    });
    let text = code.all_text();
    assert!(!text.contains("[ ] Mend it") && !text.contains("Plan 2 steps"), "{text}");
    code.picture("plan");
}

#[test]
fn finding_d9_a_rejection_has_a_reason() {
    let stage = scenes::one_edit();
    let code = Code::open(&stage, scenes::FILE);
    let before = code.buffer();
    code.command("Mend the greeting");
    stage.model.wait_for_holding(1);
    stage.model.release();
    wait_for("the question", || code.asked());
    say(&code, "Reject With a Reason", "not in this file");
    let request = stage.model.wait_for_requests(2)[1].json().to_string();
    assert!(request.contains("not in this file"), "{request}");
    code.wait_end("done");
    assert_eq!(code.buffer(), before);
    // VS Code closes no notification, so the old one is still there: its button has no effect and says so.
    code.choose("Reject");
    notified(&code, "this question is gone");
    say_nothing_is_asked(&code);
}

/// Finding: the reason that the user typed for one question was the draft of the next one.
#[test]
fn finding_d9_a_reason_that_was_begun_is_for_its_own_question() {
    let run = |line: &str| Reply::call("run_command", json!({ "command": line }));
    let stage =
        Stage::new("//- /greet.py\nprint(1)\n", [run("echo one"), run("echo two"), Reply::text("Neither.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.command("Try both");
    wait_for("the first question", || code.asked().filter(|asked| asked.contains("echo one")));
    code.do_("palette", json!(["Adjutant: Reject With a Reason"]));
    code.do_("input", json!(["Reject With a Reason", "the first is wrong"]));
    code.do_("focus", json!([]));
    code.choose("Reject");
    wait_for("the second question", || code.asked().filter(|asked| asked.contains("echo two")));
    code.do_("palette", json!(["Adjutant: Reject With a Reason"]));
    assert_eq!(code.do_("draft", json!(["Reject With a Reason"])), "", "the reason for the first");
    code.do_("input", json!(["Reject With a Reason", "so is the second"]));
    code.do_("confirm", json!([]));
    let request = stage.model.wait_for_requests(3)[2].json().to_string();
    assert!(request.contains("so is the second"), "{request}");
    code.wait_end("done");
}

fn say_nothing_is_asked(code: &Code<'_>) {
    code.do_("palette", json!(["Adjutant: Reject With a Reason"]));
    notified(code, "nothing is asked");
}

#[test]
fn finding_d9_a_question_is_answered_in_words() {
    let question = Reply::call("ask_user", json!({ "question": "Which one?", "options": ["red", "green"] }));
    let stage = Stage::new("//- /greet.py\nprint(1)\n", [question, Reply::text("Blue it is.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.command("Paint");
    wait_for("the question", || code.asked());
    say(&code, "Answer in My Words", "neither, take blue");
    let request = stage.model.wait_for_requests(2)[1].json().to_string();
    assert!(request.contains("neither, take blue"), "{request}");
    code.wait_end("done");
}

/// Finding D13: after a reload, the status bar showed no open question.
#[test]
fn finding_d13_after_a_reload_the_status_bar_shows_what_is_asked() {
    let stage = scenes::edit_again();
    let code = Code::open(&stage, scenes::FILE);
    code.command("Mend the greeting");
    stage.model.wait_for_holding(1);
    stage.model.release();
    wait_for("the question", || code.asked());
    code.do_("reload", json!([scenes::FILE]));
    stage.seen().wait("in", "initialized", 2);
    wait_for("the status bar to show it", || code.status().contains("Adjutant: 1 question").then_some(()));
    code.wait_asked("Edit greet.py");
    code.picture("after-reload");
    let before = code.buffer();
    code.choose("Yes, once");
    wait_for("the edit", || (code.buffer() != before).then_some(()));
    code.wait_end("done");
}

/// Finding D15: a failed run could not be retried.
#[test]
fn finding_d15_a_failed_run_can_be_tried_again() {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", [Reply::status(401), Reply::text("Here I am.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.command("Say something");
    wait_for("the failure", || code.asked());
    assert_eq!(code.buttons(), ["Try Again"]);
    code.picture("failed-run");
    code.choose("Try Again");
    stage.model.wait_for_requests(2);
    wait_for("the answer", || code.all_text().contains("Here I am.").then_some(()));
    code.wait_end("done");
}
