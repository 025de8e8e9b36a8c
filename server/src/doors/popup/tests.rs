//! What a popup says and offers, and which replies are answers.

use adjutant_core::ask::options;
use proptest::prelude::*;

use super::*;

fn ask(kind: AskKind, subject: Option<AskSubject>, suggestions: &[&str]) -> AskView {
    let suggestions: Vec<String> = suggestions.iter().map(|text| (*text).to_owned()).collect();
    AskView {
        session_id: "s-1".into(),
        ask_id: "ask-1".into(),
        kind,
        group: kind.group(),
        title: "Run echo".to_owned(),
        description: Some("commands are asked about".to_owned()),
        subject,
        run_id: None,
        tool_call_id: None,
        origin: None,
        options: options(kind, Some("Always allow exactly this"), &suggestions),
        free_text: true,
        opened_at: 0,
    }
}

fn command(line: &str) -> AskView {
    let subject = AskSubject::Command { command: line.to_owned(), cwd: "/project".to_owned() };
    ask(AskKind::Command, Some(subject), &[])
}

fn edit(diff: &str) -> AskView {
    let (uri, path) = ("file:///project/a.txt".to_owned(), "a.txt".to_owned());
    ask(AskKind::Tool, Some(AskSubject::Edit { uri, path, diff: diff.into(), new_file: false }), &[])
}

fn titles(offers: &[Offer]) -> Vec<&str> {
    offers.iter().map(|offer| offer.title.as_str()).collect()
}

#[test]
fn d15_an_approval_is_never_the_first_button() {
    let ask = command("echo hi");
    let all = ["Reject", "Show", "Allow once", "Always allow exactly this"];
    assert_eq!(titles(&buttons(&ask, false, Room::Lines)), all);
    let said = text(&ask, None, Room::Lines);
    assert_eq!(said, "Agent: Run echo\ncommands are asked about\nin /project:\necho hi");
    for kind in AskKind::ALL {
        let of_kind = self::ask(kind, None, &["one", "two", "three", "four"]);
        let buttons = buttons(&of_kind, false, Room::Lines);
        let first = buttons.first().map(|offer| &offer.choice);
        assert!(!matches!(first, Some(Choice::Option { approves: true, .. })), "{kind:?}: {buttons:?}");
        assert!(buttons.len() <= MAX_ACTIONS, "{kind:?}: {buttons:?}");
    }
}

#[test]
fn d15_what_does_not_fit_can_be_shown_or_rejected_and_nothing_else() {
    let line = "x".repeat(MAX_CHARS + 1);
    let many = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,20 @@\n{}", "+more\n".repeat(20));
    for ask in [command(&line), edit(&many)] {
        assert_eq!(titles(&buttons(&ask, false, Room::Lines)), ["Reject", "Show"]);
        let said = text(&ask, None, Room::Lines);
        assert!(said.contains("choose \"Show\"") && said.len() < 2_000, "{said}");
        assert!(!said.contains("xxx") && !said.contains("+more"), "no part stands for the whole: {said}");
        let shown = titles(&buttons(&ask, true, Room::Lines)).join(" ");
        assert_eq!(shown, "Reject Show Allow once Always allow exactly this");
        assert!(text(&ask, Some("/tmp/ask-1.diff"), Room::Lines).contains("/tmp/ask-1.diff"));
    }
}

#[test]
fn d15_odd_characters_are_seen() {
    let ask = command("echo \u{202e}safe\u{1b}[2K");
    let said = text(&ask, None, Room::Lines);
    assert!(said.contains("\\u{202e}safe\\u{1b}[2K"), "{said}");
    let crlf = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-a\r\n+b\r\n";
    assert!(
        !text(&edit(crlf), None, Room::Lines).contains("\\u{d}"),
        "line ends that are all alike are no news"
    );
    let mixed = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-a\r\n+a\n";
    assert!(text(&edit(mixed), None, Room::Lines).contains("-a\\u{d}"), "a changed line end is the change");
}

#[test]
fn a_question_offers_three_suggestions_and_says_how_to_answer_in_words() {
    let ask = ask(AskKind::Followup, None, &["red", "green", "blue", "white", "red"]);
    assert_eq!(titles(&buttons(&ask, false, Room::Lines)), ["red", "green", "blue"]);
    let said = text(&ask, None, Room::Lines);
    assert!(said.contains("Or: white · red") && said.contains("adjutant.respond"), "{said}");
}

#[test]
fn two_buttons_never_look_alike() {
    let ask = ask(AskKind::Followup, None, &["red", "red", "red"]);
    let buttons = buttons(&ask, false, Room::Lines);
    assert_eq!(titles(&buttons), ["red", "red (2)", "red (3)"]);
    let chosen = pressed(&ask, &buttons, &json!({ "title": "red (2)" }));
    assert_eq!(chosen.map(Offer::id), Some("option-2"));
}

#[test]
fn n02_nothing_but_an_offered_button_is_an_answer() {
    let ask = command("echo hi");
    let all = buttons(&ask, false, Room::Lines);
    let answer = |reply: Value| pressed(&ask, &all, &reply).map(Offer::id);
    assert_eq!(answer(json!({ "title": "Allow once" })), Some("allow"));
    let whole = json!({ "title": "Allow once", "askId": "ask-1", "optionId": "allow" });
    assert_eq!(answer(whole), Some("allow"));
    for wrong in [
        json!(null),
        json!(true),
        json!("Allow once"),
        json!([{ "title": "Allow once" }]),
        json!({}),
        json!({ "title": "allow" }),
        json!({ "title": "Allow" }),
        json!({ "title": 1 }),
        json!({ "title": "Allow once", "askId": "ask-2", "optionId": "allow" }),
        json!({ "title": "Allow once", "askId": "ask-1" }),
        json!({ "title": "Allow once", "optionId": "allow" }),
        json!({ "title": "Allow once", "askId": "ask-1", "optionId": "reject" }),
        json!({ "title": "Reject", "askId": "ask-1", "optionId": "allow" }),
        json!({ "title": "Allow once", "askId": null, "optionId": null }),
    ] {
        assert_eq!(answer(wrong.clone()), None, "{wrong}");
    }
    let long = command(&"x".repeat(MAX_CHARS + 1));
    let few = buttons(&long, false, Room::Lines);
    assert_eq!(pressed(&long, &few, &json!({ "title": "Allow once" })), None, "it was not offered");
}

proptest! {
    /// However long and odd it is: a popup that may allow shows every visible character of it.
    #[test]
    fn d15_an_approval_stands_beside_the_whole(line in "[ -~\u{80}-\u{300}\u{202e}\n]{0,900}") {
        let ask = command(&line);
        let offers = buttons(&ask, false, Room::Lines);
        let approves = offers.iter().any(|offer| matches!(offer.choice, Choice::Option { approves: true, .. }));
        let said = text(&ask, None, Room::Lines);
        prop_assert!(!approves || said.contains(shown_command(&line).trim_end()), "{said}");
        prop_assert!(said.chars().count() < 2_000);
    }
}

#[test]
fn s03_a_popup_of_one_line_allows_nothing_of_several_before_it_was_shown() {
    let ask = edit("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n");
    assert!(titles(&buttons(&ask, false, Room::Lines)).contains(&"Allow once"));
    assert_eq!(titles(&buttons(&ask, false, Room::Line)), ["Reject", "Show"]);
    let said = text(&ask, None, Room::Line);
    assert!(!said.contains('\n') && !said.contains("@@") && said.contains("\"Show\""), "{said}");
    assert!(titles(&buttons(&ask, true, Room::Line)).contains(&"Allow once"));
}
