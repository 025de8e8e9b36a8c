//! What a popup says and offers, and which replies are answers.

use adjutant_core::policy::ask::options;
use adjutant_core::wire::ask::options as shown_options;
use proptest::prelude::*;

use super::*;

const LINES: SurfaceRoom = SurfaceRoom { lines: MAX_LINES, one_line: false };
const LINE: SurfaceRoom = SurfaceRoom { lines: MAX_LINES, one_line: true };

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
        tool_call_ids: Vec::new(),
        origin: None,
        options: shown_options(&options(kind.into(), Some("Always allow exactly this"), &suggestions)),
        free_text: true,
        opened_at: 0,
    }
}

fn command(line: &str) -> AskView {
    let subject = AskSubject::Command {
        command: line.to_owned(),
        cwd: "/project".to_owned(),
        timeout_seconds: Some(120),
        unsaved: Vec::new(),
    };
    ask(AskKind::Command, Some(subject), &[])
}

fn edit(diff: &str) -> AskView {
    let (uri, path) = ("file:///project/a.txt".to_owned(), "a.txt".to_owned());
    ask(
        AskKind::Tool,
        Some(AskSubject::Edit(EditedFile { uri, path, diff: diff.into(), new_file: false, operation: None })),
        &[],
    )
}

fn titles(offers: &[Offer]) -> Vec<&str> {
    offers.iter().map(|offer| offer.title.as_str()).collect()
}

#[test]
fn d15_an_approval_is_never_the_first_button() {
    let ask = command("echo hi");
    let all = ["Reject", "Show", "Yes, once", "Yes, always…"];
    assert_eq!(titles(&buttons(&ask, false, LINES)), all);
    let said = text(&ask, None, LINES);
    assert_eq!(
        said,
        "Adjutant: Run echo\ncommands are asked about\nin /project, for at most 120 s:\necho hi\n\
         “Yes, always…” = Always allow exactly this"
    );
    for kind in AskKind::ALL {
        let of_kind = self::ask(kind, None, &["one", "two", "three", "four"]);
        let buttons = buttons(&of_kind, false, LINES);
        let first = buttons.first().map(|offer| &offer.choice);
        assert!(!matches!(first, Some(Choice::Option { approves: true, .. })), "{kind:?}: {buttons:?}");
        assert!(buttons.len() <= MAX_OPTIONS + 1, "{kind:?}: {buttons:?}");
    }
}

#[test]
fn d15_what_does_not_fit_can_be_shown_or_rejected_and_nothing_else() {
    let line = "x".repeat(MAX_CHARS + 1);
    let many = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,20 @@\n{}", "+more\n".repeat(20));
    for ask in [command(&line), edit(&many)] {
        assert_eq!(titles(&buttons(&ask, false, LINES)), ["Reject", "Show"]);
        let said = text(&ask, None, LINES);
        assert!(said.contains("choose \"Show\"") && said.len() < 2_000, "{said}");
        assert!(!said.contains("xxx") && !said.contains("+more"), "no part stands for the whole: {said}");
        let shown = titles(&buttons(&ask, true, LINES)).join(" ");
        assert_eq!(shown, "Reject Show Yes, once Yes, always…");
        assert!(text(&ask, Some("/tmp/ask-1.diff"), LINES).contains("/tmp/ask-1.diff"));
    }
}

#[test]
fn d15_odd_characters_are_seen() {
    let ask = command("echo \u{202e}safe\u{1b}[2K");
    let said = text(&ask, None, LINES);
    assert!(said.contains("\\u{202e}safe\\u{1b}[2K"), "{said}");
    let crlf = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-a\r\n+b\r\n";
    assert!(!text(&edit(crlf), None, LINES).contains("\\u{d}"), "line ends that are all alike are no news");
    let mixed = "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-a\r\n+a\n";
    assert!(text(&edit(mixed), None, LINES).contains("-a\\u{d}"), "a changed line end is the change");
}

#[test]
fn a_question_offers_three_suggestions_and_says_how_to_answer_in_words() {
    let ask = ask(AskKind::Followup, None, &["red", "green", "blue", "white", "red"]);
    assert_eq!(titles(&buttons(&ask, false, LINES)), ["red", "green", "blue"]);
    let said = text(&ask, None, LINES);
    assert!(said.contains("Or: white · red") && said.contains("adjutant.respond"), "{said}");
}

#[test]
fn two_buttons_never_look_alike() {
    let ask = ask(AskKind::Followup, None, &["red", "red", "red"]);
    let buttons = buttons(&ask, false, LINES);
    assert_eq!(titles(&buttons), ["red", "red (2)", "red (3)"]);
    assert_eq!(buttons.iter().map(Offer::id).collect::<Vec<_>>(), ["option-1", "option-2", "option-3"]);
}

proptest! {
    /// A popup that offers an approval shows every visible character, for any command.
    #[test]
    fn d15_an_approval_stands_beside_the_whole(line in "[ -~\u{80}-\u{300}\u{202e}\n]{0,900}") {
        let ask = command(&line);
        let offers = buttons(&ask, false, LINES);
        let approves = offers.iter().any(|offer| matches!(offer.choice, Choice::Option { approves: true, .. }));
        let said = text(&ask, None, LINES);
        prop_assert!(!approves || said.contains(display_command(&line, Surface::Plain).text.trim_end()), "{said}");
        prop_assert!(said.chars().count() < 2_000);
    }
}

#[test]
fn s03_a_popup_of_one_line_allows_nothing_of_several_before_it_was_shown() {
    let ask = edit("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n");
    assert!(titles(&buttons(&ask, false, LINES)).contains(&"Yes, once"));
    assert_eq!(titles(&buttons(&ask, false, LINE)), ["Reject", "Show"]);
    let said = text(&ask, None, LINE);
    assert!(!said.contains('\n') && !said.contains("@@") && said.contains("\"Show\""), "{said}");
    assert!(titles(&buttons(&ask, true, LINE)).contains(&"Yes, once"));
}

#[test]
fn finding_d8_no_button_comes_to_stand_where_show_was() {
    let long = command(&"x".repeat(MAX_CHARS + 1));
    let at_left = |titles: &[&str]| titles.iter().position(|title| *title == SHOW);
    let at_right = |titles: &[&str]| titles.iter().rev().position(|title| *title == SHOW);
    // Lists and dialogs begin at the left, notifications end at the right.
    let [before, after] = [false, true].map(|seen| buttons(&long, seen, LINES));
    assert_eq!(titles(&before), ["Reject", "Show"]);
    assert_eq!(titles(&after), ["Reject", "Show", "Yes, once", "Yes, always…"]);
    assert_eq!(at_left(&titles(&before)), at_left(&titles(&after)));
    let [before, after] = [false, true].map(|seen| buttons(&long, seen, LINE));
    assert_eq!(titles(&before), ["Reject", "Show"]);
    assert_eq!(titles(&after), ["Reject", "Yes, once", "Yes, always…", "Show"]);
    assert_eq!(at_right(&titles(&before)), at_right(&titles(&after)));
}

#[test]
fn finding_d8_a_button_has_sixteen_characters_at_most_and_the_rest_is_in_words() {
    let always =
        "Allow exactly this command in this directory for this session, even if what it runs changes";
    let mut ask = command("echo hi");
    ask.options = shown_options(&options(AskKind::Command.into(), Some(always), &[]));
    assert!(text(&ask, None, LINES).ends_with(&format!("“Yes, always…” = {always}")));
    for kind in AskKind::ALL {
        let mut of_kind = self::ask(kind, None, &["the first of three long ones", "the second one", "3"]);
        of_kind.title = "Which?".to_owned();
        for room in [LINES, LINE] {
            let shown = buttons(&of_kind, false, room);
            let long = shown.iter().find(|offer| offer.title.chars().count() > MAX_LABEL);
            assert_eq!(long, None, "{kind:?}");
        }
    }
    let question =
        self::ask(AskKind::Followup, None, &["the first of three long ones", "the second one", "3"]);
    assert_eq!(titles(&buttons(&question, false, LINES)), ["1. the first of…", "2. the second o…", "3. 3"]);
    let said = text(&question, None, LINES);
    assert!(said.contains("1. the first of three long ones · 2. the second one · 3. 3\n"), "{said}");
}

#[test]
fn finding_a4_sorted_by_title_the_first_button_never_approves() {
    for kind in AskKind::ALL {
        for seen in [false, true] {
            let of_kind = self::ask(kind, None, &["one", "two"]);
            let mut all = offers(&of_kind, seen, LINES);
            all.sort_by(|one, other| one.title.cmp(&other.title));
            let first = all.first().map(|offer| &offer.choice);
            assert!(!matches!(first, Some(Choice::Option { approves: true, .. })), "{kind:?}: {all:?}");
        }
    }
}

#[test]
fn finding_a1_what_is_drawn_in_another_form_is_never_allowed_unseen() {
    for line in [
        "echo \"[passed](https://x/`id`)\"",
        "rm\u{a0}x",
        "ls ",
        "echo \u{202e}x",
        "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    ] {
        let ask = command(line);
        assert_eq!(titles(&buttons(&ask, false, LINES)), ["Reject", "Show"], "{line}");
        assert!(text(&ask, None, LINES).contains("\\u{"), "{line}");
        let after = buttons(&ask, true, LINES);
        assert!(titles(&after).contains(&"Yes, once"), "{line}");
    }
    let diff = |line: &str| format!("--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-a\n+{line}\n");
    assert_eq!(titles(&buttons(&edit(&diff("[a](command:x)")), false, LINES)), ["Reject", "Show"]);
    assert!(titles(&buttons(&edit(&diff("[a](b.md)")), false, LINES)).contains(&"Yes, once"));
    let whole = whole(&command("echo \"[a](https://x)\"")).text;
    assert_eq!(whole, "In /project, for at most 120 s:\n\necho \"[a](https://x)\"", "byte for byte");
}

#[test]
fn finding_a6_a_line_that_is_cut_is_shown_before_it_is_allowed() {
    let mut far = command("echo hi");
    let cwd = format!("/project/{}", "d/".repeat(200));
    far.subject = Some(AskSubject::Command {
        command: "echo hi".into(),
        cwd: cwd.clone(),
        timeout_seconds: None,
        unsaved: Vec::new(),
    });
    let mut read = command("");
    let reason = "it is outside the workspace".to_owned();
    read.subject = Some(AskSubject::Read { path: cwd.clone(), reason });
    let mut marked = command("echo hi");
    marked.description = Some(cwd.clone());
    for ask in [far, read, marked] {
        assert_eq!(titles(&buttons(&ask, false, LINES)), ["Reject", "Show"]);
        assert!(whole(&ask).text.contains(&cwd), "{ask:?}");
    }
    // VS Code shows a thousand characters and cuts the rest without a sign.
    let mut wordy = command(&"x".repeat(500));
    wordy.title = format!("Run {}", "x".repeat(290));
    wordy.description = Some("why ".repeat(75).trim().to_owned());
    let cwd = "/long".repeat(30);
    wordy.subject = Some(AskSubject::Command {
        command: "x".repeat(500),
        cwd,
        timeout_seconds: None,
        unsaved: Vec::new(),
    });
    assert_eq!(titles(&buttons(&wordy, false, LINE)), ["Reject", "Show"]);
}

#[test]
fn finding_a3_a_client_that_does_not_say_how_much_it_shows_gets_show_first_from_four_lines_on() {
    let few = SurfaceRoom { lines: 3, one_line: false };
    for (line, fits) in [
        ("one", true),
        ("one\ntwo\nthree", true),
        ("one\ntwo\nthree\nfour", false),
        (&"x".repeat(240), true),
        (&"x".repeat(241), false),
        (&format!("{}\n{}", "x".repeat(81), "y".repeat(81)), false),
    ] {
        let offered = buttons(&command(line), false, few);
        assert_eq!(titles(&offered).contains(&"Yes, once"), fits, "{line}");
    }
    let ten = "line\n".repeat(9) + "line";
    assert!(
        titles(&buttons(&command(&ten), false, LINES)).contains(&"Yes, once"),
        "it says that it shows twelve"
    );
}

/// If an ask does not fit, its whole can be opened, and then it can be allowed.
#[track_caller]
fn can_be_allowed(ask: &AskView, parts: &[&str]) {
    for room in
        [LINES, LINE, SurfaceRoom { lines: 3, one_line: false }, SurfaceRoom { lines: 1, one_line: false }]
    {
        let approves = |seen| {
            let buttons = buttons(ask, seen, room);
            buttons.iter().any(|offer| matches!(offer.choice, Choice::Option { approves: true, .. }))
        };
        let shows = titles(&buttons(ask, false, room)).contains(&SHOW);
        assert!(approves(false) || shows, "{room:?}: {ask:?}");
        assert!(approves(true), "{room:?}: {ask:?}");
        assert_eq!(text(ask, None, room).contains("choose \"Show\""), !fits(ask, room) && !room.one_line);
        let whole = whole(ask).text;
        assert!(parts.iter().all(|part| whole.contains(part)), "{whole}");
    }
}

#[test]
fn d15_a_read_of_any_path_can_be_allowed() {
    let reason = "it is outside of the workspace folders";
    for length in 1..400 {
        let path = format!("/{}", "p".repeat(length));
        let mut read = ask(AskKind::Tool, None, &[]);
        read.title = format!("Read {path}");
        read.subject = Some(AskSubject::Read { path: path.clone(), reason: reason.to_owned() });
        can_be_allowed(&read, &[&path, reason]);
        // This ask has no subject, only a title.
        let mut named = ask(AskKind::Tool, None, &[]);
        named.title = path.clone();
        can_be_allowed(&named, &[&path, "commands are asked about"]);
    }
}

#[test]
fn d15_a_long_question_is_opened_whole_beside_its_answers() {
    let mut question = ask(AskKind::Followup, None, &["red", "green", "blue", "white"]);
    question.title = "why ".repeat(100).trim().to_owned();
    assert_eq!(titles(&buttons(&question, false, LINES)), ["red", "green", "blue", "Show"]);
    let whole = whole(&question).text;
    assert!(whole.contains(&question.title) && whole.contains("4. white\n"), "{whole}");
}

#[test]
fn finding_a3_a_wide_character_takes_two_columns() {
    let few = SurfaceRoom { lines: 3, one_line: false };
    for (line, fits) in [("日".repeat(120), true), ("日".repeat(121), false)] {
        let offered = buttons(&command(&line), false, few);
        assert_eq!(titles(&offered).contains(&"Yes, once"), fits, "{}", line.chars().count());
    }
}
