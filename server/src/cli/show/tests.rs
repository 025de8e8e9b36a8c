//! Updates in, text out; what is printed adds up to what was said.

use adjutant_protocol::session::UsageView;
use adjutant_protocol::state::StopReason;
use proptest::prelude::*;

use super::message_view::point;
use super::*;
use crate::cli::page::tests::plain;

fn chunk(text: &str) -> Update {
    Update::AgentMessageChunk { message_id: "msg-1".into(), text: text.to_owned() }
}

fn message(text: &str, interrupted: bool) -> Update {
    Update::AgentMessage { message_id: "msg-1".into(), text: text.to_owned(), interrupted }
}

fn call(status: ToolStatus, title: &str, summary: Option<&str>) -> Update {
    Update::ToolCallUpdate(ToolCallView {
        kind: adjutant_protocol::update::ToolKind::Other,
        locations: Vec::new(),
        arguments_text: String::new(),
        minor: false,
        tool_call_id: "call-1".into(),
        tool: "read_file".to_owned(),
        title: title.to_owned(),
        status,
        summary: summary.map(str::to_owned),
        elapsed_ms: None,
    })
}

fn failed_attempt(retry_at: u64) -> Update {
    Update::Turn(TurnView {
        turn: 1,
        phase: TurnPhase::AttemptFailed,
        attempt: 1,
        usage: None,
        cost: None,
        failure: None,
        message: Some("the model did not answer".to_owned()),
        model: None,
        retry_at: Some(retry_at),
        cache_break: None,
        compacts: false,
    })
}

fn end(outcome: Outcome, summary: Option<&str>) -> Update {
    let usage = UsageView { input_tokens: 1200, output_tokens: 34, ..UsageView::default() };
    Update::Run(RunView::Ended {
        run_id: "run-1".into(),
        end: RunEnd {
            ended_at: 0,
            outcome,
            stop_reason: StopReason::EndTurn,
            summary: summary.map(str::to_owned),
            usage,
            cost: None,
            turns: 2,
            edits: None,
        },
    })
}

fn shown(width: usize, quiet: bool, updates: &[Update]) -> String {
    drawn(width, Show::new(quiet), updates)
}

fn drawn(width: usize, mut show: Show, updates: &[Update]) -> String {
    let (page, paper) = plain(width, width < 1000);
    let mut pages = Pages::one(page);
    for update in updates {
        show.update(&mut pages, update, 1_000);
    }
    pages.fresh_line();
    paper.text()
}

#[test]
fn a_run_reads_as_a_story() {
    let updates = [
        Update::Run(RunView::Started {
            run_id: "run-1".into(),
            continues: None,
            model: "demo/m".to_owned(),
            not_before: None,
            previous_model: None,
            title: String::new(),
            origin: None,
        }),
        chunk("Let me "),
        chunk("look."),
        message("Let me look.", false),
        call(ToolStatus::Pending, "Read src/main.rs", None),
        call(ToolStatus::InProgress, "Read src/main.rs", None),
        call(ToolStatus::Completed, "Read src/main.rs", Some("120 lines")),
        failed_attempt(3_000),
        call(ToolStatus::Denied, "Run rm x", Some("not allowed: nobody is present to answer")),
        Update::Complete { summary: "All is well.".to_owned(), said: false },
        end(Outcome::Completed, Some("All is well.")),
    ];
    let text = "• demo/m\nLet me look.\n• Read src/main.rs … 120 lines\n\
                … the model did not answer, trying again in 2 s\n\
                ✗ Run rm x … not allowed: nobody is present to answer\n\
                All is well.\nDone · 2 turns · 1200 tokens in, 34 out\n";
    assert_eq!(shown(80, false, &updates), text);
    assert_eq!(shown(80, true, &updates), "All is well.\n");
}

#[test]
fn s102_steps_that_went_well_are_left_out_or_unfolded_as_the_user_wants() {
    let with_arguments = |status, title, summary| match call(status, title, summary) {
        Update::ToolCallUpdate(call) => Update::ToolCallUpdate(ToolCallView {
            arguments_text: "path: a.rs\nlines: 1-9".to_owned(),
            minor: true,
            ..call
        }),
        other => other,
    };
    let updates = [
        Update::AgentThought { message_id: "t".into(), text: "It may be in a.rs.".to_owned() },
        message("Let me look.", false),
        with_arguments(ToolStatus::InProgress, "Read a.rs", None),
        with_arguments(ToolStatus::Completed, "Read a.rs", Some("9 lines")),
        call(ToolStatus::Completed, "Run false", Some("exit code 1")),
        call(ToolStatus::Failed, "Run rm x", Some("failed: no such file")),
        end(Outcome::Stopped, None),
    ];
    let shown = |detail| {
        let mut show = Show::new(false);
        show.draw(detail);
        drawn(80, show, &updates)
    };
    let (failed, done) = (
        "• Run false … exit code 1\n✗ Run rm x … failed: no such file\n",
        "Done · 2 turns · 1200 tokens in, 34 out\n",
    );
    assert_eq!(shown(Detail::Brief), format!("Let me look.\n{failed}{done}"));
    assert_eq!(shown(Detail::Normal), format!("Let me look.\n• Read a.rs … 9 lines\n{failed}{done}"));
    let arguments = "    path: a.rs\n    lines: 1-9\n";
    let full =
        format!("    It may be in a.rs.\nLet me look.\n• Read a.rs … 9 lines\n{arguments}{failed}{done}");
    assert_eq!(shown(Detail::Full), full);
}

#[test]
fn s76_a_compaction_is_a_line_and_in_full_what_the_model_reads_from_then_on() {
    let view = |kind, status, title: &str, text: Option<&str>| {
        Update::CompactionUpdate(CompactionView {
            compaction_id: "compaction-3".into(),
            title: title.to_owned(),
            kind,
            status,
            before: 12_800,
            after: None,
            text: text.map(str::to_owned),
            message: None,
        })
    };
    let updates = [
        view(CompactionKind::Outputs, CompactionStatus::Completed, "Left out old outputs", None),
        view(CompactionKind::Summary, CompactionStatus::InProgress, "Compacting", None),
        view(CompactionKind::Summary, CompactionStatus::Completed, "Compacted", Some("## Goal\nMend it.")),
        view(CompactionKind::Summary, CompactionStatus::Failed, "The summary failed", None),
    ];
    let shown = |detail| {
        let mut show = Show::new(false);
        show.draw(detail);
        drawn(80, show, &updates)
    };
    assert_eq!(shown(Detail::Brief), "• Compacted\n✗ The summary failed\n");
    let minor = "• Left out old outputs\n• Compacting\n";
    assert_eq!(shown(Detail::Normal), format!("{minor}• Compacted\n✗ The summary failed\n"));
    let full = format!("{minor}• Compacted\n    ## Goal\n    Mend it.\n✗ The summary failed\n");
    assert_eq!(shown(Detail::Full), full);
}

#[test]
fn s14_a_retry_goes_on_where_it_diverges() {
    let broken = [chunk("The quick bro"), message("The quick", true), failed_attempt(1_000)];
    let same =
        [&broken[..], &[chunk("The quick "), chunk("brown fox"), message("The quick brown fox", false)]];
    assert_eq!(
        shown(80, false, &same.concat()),
        "The quick bro\n… the model did not answer, trying again now\nwn fox\n"
    );
    let other =
        [&broken[..], &[chunk("The quick "), chunk("blue fox"), message("The quick blue fox", false)]]
            .concat();
    assert_eq!(
        shown(80, false, &other),
        "The quick bro\n… the model did not answer, trying again now\n[the answer broke off; again:]\nblue fox\n"
    );
}

#[test]
fn a_summary_that_was_the_answer_is_not_said_again() {
    let updates = [
        message("Done.", false),
        Update::Complete { summary: "Done.".to_owned(), said: true },
        end(Outcome::Completed, Some("Done.")),
    ];
    assert_eq!(shown(80, true, &updates), "Done.\n");
}

#[test]
fn s104_a_summary_that_was_said_before_a_step_is_the_answer_of_a_quiet_run() {
    let updates = [
        message("It is 42.", false),
        call(ToolStatus::Completed, "Read a.txt", Some("1 line")),
        Update::Complete { summary: "It is 42.".to_owned(), said: true },
        end(Outcome::Completed, Some("It is 42.")),
    ];
    assert_eq!(shown(80, true, &updates), "It is 42.\n");
}

#[test]
fn a_failed_run_says_why_also_when_quiet() {
    for quiet in [false, true] {
        let text = shown(80, quiet, &[end(Outcome::Failed, Some("the key was refused"))]);
        assert_eq!(text, "Failed: the key was refused · 2 turns · 1200 tokens in, 34 out\n");
    }
}

#[test]
fn finding_e2_on_two_pages_one_has_the_answer_alone() {
    let ((answer, said), (rest, remarks)) = (plain(80, false), plain(80, false));
    let mut pages = Pages::two(answer, rest);
    let mut show = Show::new(false);
    for update in [
        chunk("Let me look."),
        message("Let me look.", false),
        call(ToolStatus::InProgress, "Read a.txt", None),
        call(ToolStatus::Completed, "Read a.txt", Some("1 line of a.txt")),
        end(Outcome::Stopped, None),
    ] {
        show.update(&mut pages, &update, 0);
    }
    assert_eq!(said.text(), "Let me look.\n");
    assert_eq!(remarks.text(), "• Read a.txt … 1 line of a.txt\nDone · 2 turns · 1200 tokens in, 34 out\n");
}

#[test]
fn a_command_shows_what_it_writes_and_how_it_ended() {
    let output =
        |text: &str| Update::ToolCallContentChunk { tool_call_id: "call-1".into(), text: text.to_owned() };
    let begun = call(ToolStatus::InProgress, "Run sh test.sh", None);
    let ended = call(ToolStatus::Completed, "Run sh test.sh", Some("exit code 0"));
    let text = shown(80, false, &[begun.clone(), output("ok: 1\r\nok"), output(": 2\nlast"), ended.clone()]);
    assert_eq!(text, "• Run sh test.sh\n    ok: 1\n    ok: 2\n    last\n  … exit code 0\n");
    assert_eq!(shown(80, false, &[begun.clone(), ended.clone()]), "• Run sh test.sh … exit code 0\n");
    let flood = output(&"line\n".repeat(10_000));
    let text = shown(80, false, &[begun, flood.clone(), flood, ended]);
    assert!(
        text.lines().count() < 50 && text.ends_with("(more output is not shown)\n  … exit code 0\n"),
        "{text}"
    );
}

#[test]
fn forty_columns_are_enough() {
    let updates = [
        chunk("A sentence that is a good deal longer than one line of forty cells, "),
        chunk("and it comes in pieces."),
        call(ToolStatus::InProgress, "Search a_rather_long_pattern in server/src/transport", None),
        call(
            ToolStatus::Completed,
            "Search a_rather_long_pattern in server/src/transport",
            Some("12 matches in 3 files"),
        ),
        failed_attempt(90_000),
        end(Outcome::Limit, Some("the limit of 50 requests was reached before the task was complete")),
    ];
    let text = shown(40, false, &updates);
    for line in text.lines() {
        assert!(adjutant_core::text::cells::cells(line) <= 40, "{line:?}");
    }
    assert!(text.contains("12 matches"), "{text}");
}

/// Returns the text that remains if a reader strikes out the replaced part at each mark.
fn read_out(final_text: &str, pieces: &[Print]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Print::Nothing => {}
            Print::More(more) => text.push_str(more),
            Print::Again { text: again, .. } => {
                // The mark replaces the text from the word at which the texts differ.
                text.truncate(point(&text, final_text));
                text.push_str(again);
            }
        }
    }
    text
}

fn pieces_of(text: &str, cuts: &[usize]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (characters.len() + 1)).collect();
    places.extend([0, characters.len()]);
    places.sort_unstable();
    places.windows(2).map(|two| characters[two[0]..two[1]].iter().collect()).collect()
}

proptest! {
    #[test]
    fn s14_pieces_add_up_to_the_reply(
        text in "[ab \né]{0,40}", cuts in proptest::collection::vec(0_usize..40, 0..6), streamed in 0_usize..8,
    ) {
        // Any split, any number of pieces streamed before the finished text comes.
        let mut view = MessageView::default();
        let mut prints: Vec<Print> =
            pieces_of(&text, &cuts).iter().take(streamed).map(|piece| view.chunk(piece)).collect();
        prints.push(view.whole(&text));
        let said: String = prints.iter().map(|print| match print {
            Print::Nothing => "",
            Print::More(text) => text,
            Print::Again { .. } => "a text that only grew was taken back",
        }).collect();
        prop_assert_eq!(said, text);
    }

    #[test]
    fn s14_an_attempt_that_broke_off_is_never_repeated(
        first in "[ab ]{0,20}", text in "[ab ]{0,20}", cut in 0_usize..20, streamed in 0_usize..20,
    ) {
        let mut view = MessageView::default();
        let first: String = first.chars().take(cut).collect();
        let mut prints = vec![view.chunk(&first)];
        view.broke_off();
        let seen: String = text.chars().take(streamed).collect();
        prints.push(view.chunk(&seen));
        prints.push(view.whole(&text));
        prop_assert_eq!(read_out(&text, &prints), text.clone());
        let again: Vec<&Print> = prints.iter().filter(|print| matches!(print, Print::Again { .. })).collect();
        let parts = !text.starts_with(&first);
        prop_assert_eq!(again.len(), usize::from(parts), "{:?}", prints);
        if let [Print::Again { text: printed, .. }] = again[..] {
            prop_assert!(printed.len() <= text.len() - point(&first, &text), "more than from the divergence on");
        }
    }

    #[test]
    fn s14_a_piece_that_was_not_streamed_is_made_good(
        text in "[ab ]{0,30}", cuts in proptest::collection::vec(0_usize..30, 2..5), lost in 0_usize..5,
    ) {
        let mut view = MessageView::default();
        let pieces = pieces_of(&text, &cuts);
        let mut prints = Vec::new();
        for (_, piece) in pieces.iter().enumerate().filter(|(at, _)| *at != lost) {
            prints.push(view.chunk(piece));
        }
        prints.push(view.whole(&text));
        prop_assert_eq!(read_out(&text, &prints), text);
    }
}
