//! Scenes in VS Code about the card of a question in the chat, and about the other ways to answer.
//!
//! Never looks into the server: it checks the screen, the bytes on disk and the requests to the model.

use adjutant_testkit::model::Reply;
use serde_json::{Value, json};

use super::{Code, answers};
use crate::editor::Editor;
use crate::scenes;
use crate::stage::{Stage, wait_for};

const FILES: &str = "//- /greet.py\nprint(1)\n";

fn run(line: &str) -> Reply {
    Reply::call("run_command", json!({ "command": line }))
}

/// Returns a file of so many lines, and the call that changes each of them.
fn rewritten(lines: usize) -> (String, Reply) {
    let all = |word: &str| (1..=lines).map(|at| format!("{word} {at}\n")).collect::<String>();
    let call = json!({ "path": "greet.py", "old_text": all("old"), "new_text": all("new") });
    (format!("//- /greet.py\n{}", all("old")), Reply::text("All of it.").and_call("edit_file", call))
}

/// Returns a list of a card, such as its dead buttons.
fn of(card: &Value, what: &str) -> Vec<String> {
    card[what].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn finding_d8_s03_an_approval_at_once_does_not_count() {
    let stage = Stage::new(FILES, [run("echo one").hold_after(1), Reply::text("Done.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.command("Try it");
    stage.model.wait_for_holding(1);
    stage.model.release();
    let took = code.do_("cardHammer", json!(["Yes, once"])).as_f64().unwrap_or_default();
    assert!(took >= 400.0, "it was allowed {took} ms after it appeared");
    code.wait_end("done");
}

#[test]
fn finding_d8_s03_what_is_longer_than_the_screen_is_allowed_once_all_of_it_was_in_sight() {
    let (files, change) = rewritten(60);
    let stage = Stage::new(&files, [change, Reply::text("Done.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.command("Rewrite it");
    let hint = || code.card().filter(|card| card["hint"] == true);
    let card = wait_for("the hint that there is more", hint);
    assert_eq!(of(&card, "dead"), ["Yes, once", "Yes, always…"]);
    code.picture("question-long");
    // The end alone is not all of it.
    code.do_("cardEnd", json!([]));
    let card = wait_for("the end", hint);
    assert_eq!(of(&card, "dead"), ["Yes, once", "Yes, always…"]);
    code.wait_asked("Edit greet.py");
    assert_eq!(code.card().map(|card| card["hint"].clone()), Some(json!(false)));
    code.choose("Yes, once");
    wait_for("the change", || stage.workspace.read("greet.py").starts_with("new 1\n").then_some(()));
}

#[test]
fn finding_d8_s03_deeply_indented_code_is_drawn_whole_in_a_narrow_chat() {
    let indented = "\t\t\t\tok();rm_all(); steal(secret);\n";
    let write = json!({"path": "deep.py", "content": indented});
    let stage = Stage::new(FILES, [Reply::call("write_file", write), Reply::text("Done.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.do_("resize", json!([400, 700]));
    code.command("Write it");
    code.wait_asked("deep.py");
    code.do_("cardRead", json!([]));
    assert_eq!(code.do_("cardOutside", json!([])), json!([]));
    code.picture("question-deep");
    code.do_("resize", json!([1100, 700]));
    code.choose("Yes, once");
    wait_for("the file", || (stage.workspace.exists("deep.py")).then_some(()));
}

#[test]
fn finding_d8_s03_what_does_not_fit_a_card_is_allowed_once_it_was_opened() {
    let (files, change) = rewritten(300);
    let stage = Stage::new(&files, [change, Reply::text("Done.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.command("Rewrite it");
    let card = wait_for("the question", || code.card());
    assert_eq!(code.answers(), ["Show", "Reject"]);
    assert!(card["text"].as_str().is_some_and(|text| text.contains("too many for here")), "{card}");
    code.do_("cardPress", json!(["Show"]));
    wait_for("the whole, and the ways to allow it", || {
        (code.all_text().contains("-old 1\n") && code.answers().len() == 4).then_some(())
    });
    assert_eq!(code.answers(), ["Show", "Reject", "Yes, once", "Yes, always…"]);
    code.wait_asked("Edit greet.py");
    code.choose("Yes, once");
    wait_for("the change", || stage.workspace.read("greet.py").ends_with("new 300\n").then_some(()));
}

#[test]
fn finding_d9_s03_a_question_is_rejected_with_a_reason_in_its_card() {
    let stage = Stage::new(FILES, [run("echo one"), run("echo two > two"), Reply::text("Neither.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.command("Try both");
    code.wait_asked("echo one");
    code.do_("cardType", json!(["not this"]));
    // What is typed is there again when the chat is.
    code.do_("palette", json!(["View: Show Explorer"]));
    code.do_("chatOpen", json!([]));
    wait_for("the reason so far", || code.card().filter(|card| card["words"] == "not this"));
    code.do_("cardType", json!([" one"]));
    code.do_("confirm", json!([]));
    let request = stage.model.wait_for_requests(2)[1].json().to_string();
    assert!(request.contains("not this one"), "{request}");
    let card = wait_for("the next one", || {
        code.card().filter(|card| card["text"].as_str().is_some_and(|text| text.contains("echo two")))
    });
    assert_eq!(card["words"], "", "what was typed for the first");
    code.do_("cardType", json!(["nor that"]));
    // The keys that allow it elsewhere in the question.
    code.do_("pageKey", json!(["Control+Enter"]));
    let request = stage.model.wait_for_requests(3)[2].json().to_string();
    assert!(request.contains("nor that"), "{request}");
    code.wait_end("done");
    assert!(!stage.workspace.exists("two"), "it did not run");
}

/// Finding: a title that was taller than the chat, and a row of blanks, were never in sight as a whole.
#[test]
fn finding_d8_s03_a_command_of_many_rows_and_blanks_can_be_allowed() {
    let line = format!("echo {}{}> made", "word ".repeat(150), " ".repeat(100));
    let stage = Stage::new(FILES, [run(&line), Reply::text("Done.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.command("Try it");
    code.wait_asked("word word");
    code.choose("Yes, once");
    wait_for("what the command makes", || stage.workspace.exists("made").then_some(()));
}

#[test]
fn s03_a_question_is_answered_by_keys_alone() {
    let stage = Stage::new(FILES, [run("echo one > made"), Reply::text("Done.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.command("Try it");
    wait_for("the question", || code.asked());
    code.do_("palette", json!(["Adjutant: Show Question"]));
    wait_for("the question in the chat, alive", || code.card().filter(|card| card["dead"] == json!([])));
    code.do_("cardKey", json!(["Control+Enter"]));
    wait_for("what the command makes", || stage.workspace.exists("made").then_some(()));
}

#[test]
fn s03_a_question_is_answered_in_a_list_once_it_was_opened() {
    let stage = scenes::one_edit();
    let code = Code::open(&stage, scenes::FILE);
    code.command("Mend the greeting");
    stage.model.wait_for_holding(1);
    stage.model.release();
    wait_for("the question", || code.asked());
    code.do_("palette", json!(["Adjutant: Answer Here…"]));
    let picks = wait_for("the answers", || {
        let picks = code.do_("picks", json!([]));
        picks.to_string().contains("Yes, once").then_some(picks)
    });
    assert!(picks[0].as_str().is_some_and(|first| first.starts_with("Reject")), "{picks}");
    assert!(code.all_text().contains("+    return \"Hello"), "the whole is open beside it");
    code.picture("answer-here");
    code.do_("input", json!(["", "not in this file"]));
    wait_for("the reason as an answer", || {
        let picks = code.do_("picks", json!([])).to_string();
        picks.contains("Reject with the reason: not in this file").then_some(())
    });
    code.do_("confirm", json!([]));
    let request = stage.model.wait_for_requests(2)[1].json().to_string();
    assert!(request.contains("not in this file"), "{request}");
    code.wait_end("done");
}

#[test]
fn finding_d13_the_question_of_another_conversation_is_notified_and_shown() {
    let stage = Stage::new(FILES, [run("echo one"), run("echo two"), Reply::text("Done.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Try the first");
    code.wait_asked("echo one");
    code.command("Try the second");
    wait_for("the notification", || (code.buttons() == ["Review", "Reject"]).then_some(()));
    assert!(
        code.card().is_some_and(|card| card["text"].as_str().is_some_and(|text| text.contains("echo one")))
    );
    code.do_("press", json!(["Review"]));
    wait_for("the other question", || {
        code.card().filter(|card| card["text"].as_str().is_some_and(|text| text.contains("echo two")))
    });
    assert_eq!(code.answers(), answers(&["Reject", "Yes, once", "Yes, always…"]));
    assert!(code.status().contains("Adjutant: 2 questions"), "{}", code.status());
}

#[test]
fn finding_d15_a_failed_task_is_tried_again_in_the_chat() {
    let stage = Stage::new(FILES, [Reply::status(401), Reply::text("Here I am.")]);
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Say something");
    wait_for("the ways to go on", || code.card());
    assert_eq!(code.do_("popups", json!([])), json!([]), "the chat says it");
    code.picture("question-failed");
    code.do_("cardPress", json!(["Try again"]));
    wait_for("the answer", || code.chat()["items"].to_string().contains("reply: Here I am.").then_some(()));
    wait_for("no question", || code.card().is_none().then_some(()));
}

/// What a card shows, under node alone.
#[test]
fn finding_a1_d8_a_card_shows_all_of_a_question_or_allows_nothing() {
    super::node_finds_nothing("question.mjs", "editors/vscode/src/chat/question.ts");
}
