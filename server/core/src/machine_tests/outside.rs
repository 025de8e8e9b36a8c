//! Tests what the model knows of files, and what it hears when other programs or the user change them.

use super::edits::{EDIT, READ, outputs, turn_of};
use super::random::change;
use super::{Bench, done, edit_of, is_prepare, is_tool, landed, names, read_of};
use crate::machine::accept::outside_moment;
use crate::machine::input::{
    EditOutcome, Input, OutsideLook, PreparedEdits, Report, ReviewAct, ReviewInput, ReviewOutcome,
    ReviewTarget,
};
use crate::machine::step::{Step, next_steps};
use crate::policy::observation::{ObservedPath, UnseenLines};
use crate::prompt::message::ModelMessage;
use crate::record::{CallEnd, CallResult, ChangedFile, EditsMode, Event, FileRead, Policy, SeenHunk};
use crate::text::freshness::{KnownLines, line_hashes};

const TARGET: &str = "file:///ws/a";
/// Has the lines that the hunks of `change` replace.
const TEXT: &str = "x\n1\n2\n3\n4\n5\n6\n7\n8\nx\n";

/// Returns a bench whose model has read the file `a` on the branch `main`.
fn after_read(policy: Policy, then: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new();
    bench.prompt_with("go", policy).unwrap();
    let calls: Vec<(&str, &str)> = [READ].iter().chain(then).copied().collect();
    bench.reply("", &calls);
    bench.report(is_prepare, read_of(ObservedPath::inside("a")));
    let lines = KnownLines { first: 0, to_end: true, hashes: line_hashes(TEXT) };
    let read = FileRead { path: "a".into(), target: TARGET.into(), lines, head: Some("main".into()) };
    let result = CallResult { reads: vec![read], ..done(CallEnd::Completed) };
    bench.report(is_tool, Report::Finished(result));
    bench
}

fn look(bench: &mut Bench, look: Option<OutsideLook>) -> Vec<Event> {
    let is_look = |step: &Step| matches!(step, Step::LookOutside { .. });
    let step = next_steps(&bench.session).into_iter().find(is_look).expect("the model knows a file");
    bench.input(Input::Step { step, report: Report::LookedOutside(look) }).expect("it is accepted")
}

/// Begins a turn after a look, which reads nothing more.
fn turn(bench: &mut Bench, found: Option<OutsideLook>) -> Vec<Event> {
    let events = look(bench, found);
    let is_model = super::is_model;
    bench.report(is_model, Report::ReplyStarted);
    bench.report(is_model, Report::Replied(super::reply("", &[("search_text", r#"{"pattern":"x"}"#)])));
    bench.report(is_prepare, read_of(ObservedPath::inside("b")));
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    events
}

fn changed() -> OutsideLook {
    let file = ChangedFile { path: "a".into(), target: TARGET.into(), gone: false, open: false };
    OutsideLook { changed: vec![file], ..same() }
}

fn same() -> OutsideLook {
    OutsideLook { head: Some("main".to_owned()), ..OutsideLook::default() }
}

fn notes(bench: &Bench) -> Vec<String> {
    let text = |message: &ModelMessage| match message {
        ModelMessage::User { text, .. } => text.strip_prefix("[note] ").map(str::to_owned),
        _ => None,
    };
    bench.session.history.iter().filter_map(text).collect()
}

#[test]
fn n17_a_change_is_told_once_until_it_is_gone_again() {
    let mut bench = after_read(Policy::default(), &[]);
    assert_eq!(names(&turn(&mut bench, Some(changed()))), "outside_changed turn_started");
    assert_eq!(names(&turn(&mut bench, Some(changed()))), "turn_started");
    // What could not be compared is neither changed nor back.
    let unknown = OutsideLook { unknown: vec![TARGET.to_owned()], ..same() };
    assert_eq!(names(&turn(&mut bench, Some(unknown))), "turn_started");
    assert_eq!(names(&turn(&mut bench, None)), "turn_started");
    assert_eq!(names(&turn(&mut bench, Some(same()))), "outside_changed turn_started");
    assert_eq!(names(&turn(&mut bench, Some(same()))), "turn_started");
    let other = OutsideLook { head: Some("other".to_owned()), ..same() };
    assert_eq!(names(&turn(&mut bench, Some(other.clone()))), "outside_changed turn_started");
    assert_eq!(names(&turn(&mut bench, Some(other))), "turn_started");
    assert_eq!(
        notes(&bench),
        [
            "1 file that you read has changed since: a. Read it again before you edit it.",
            "As you read it again has: a.",
            "The branch is now \"other\". No other file that you read has changed since."
        ]
    );
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn n14_what_is_known_follows_own_edits_and_decisions_of_the_user() {
    let policy = Policy { edits: EditsMode::Review, ..Policy::default() };
    let mut bench = after_read(policy, &[EDIT]);
    let report = edit_of(&bench, change(false));
    bench.report(is_prepare, report);
    let report = super::edited(&bench, landed());
    bench.report(is_tool, report);
    let known =
        |bench: &Bench| bench.session.reads.of(TARGET).map(|read| read.lines.clone()).collect::<Vec<_>>();
    let whole = |text: &str| vec![KnownLines { first: 0, to_end: true, hashes: line_hashes(text) }];
    assert_eq!(known(&bench), whole(&TEXT.replace('x', "y")));
    let id = bench.session.applied.all()[0].change_set.clone();
    let hunk = SeenHunk { hunk: "h1".to_owned(), seen: None };
    let target = ReviewTarget { change_set: id.clone(), hunks: vec![hunk], open: false };
    let mut decide = |act: ReviewAct| {
        let input = ReviewInput { targets: vec![target.clone()], act, reason: None, as_one: false };
        bench.input(Input::Review(input)).expect("it is accepted");
        let outcome = ReviewOutcome { done: vec!["h1".to_owned()], ..ReviewOutcome::default() };
        let report = Report::Reviewed { change_set: id.clone(), outcome };
        bench.report(|step| matches!(step, Step::Review { .. }), report);
        assert_eq!(bench.replayed(), bench.session);
        known(&bench)
    };
    assert_eq!(decide(ReviewAct::Undo), whole(&TEXT.replace("8\nx", "8\ny")));
    assert_eq!(decide(ReviewAct::Restore), whole(&TEXT.replace('x', "y")));
}

/// Returns what becomes of an edit of lines that the model has not seen, and the output of its call if it ended.
fn unseen_edit(edits: EditsMode, changed: bool) -> (String, Vec<String>, Option<String>) {
    let mut bench = turn_of(&[]);
    bench.prompt_with("go", Policy { edits, ..Policy::default() }).unwrap();
    bench.reply("", &[EDIT]);
    let Report::PreparedEdits(PreparedEdits { mut files, refused }) = edit_of(&bench, change(false)) else {
        panic!("edits are prepared");
    };
    files[0].seen.unseen =
        Some(UnseenLines { changed, stays: false, why: "\"a\" has other lines".to_owned() });
    let events = bench.report(is_prepare, Report::PreparedEdits(PreparedEdits { files, refused }));
    let why = bench.session.open_asks().next().and_then(|ask| ask.description.clone());
    (names(&events), outputs(&bench), why)
}

#[test]
fn n14_lines_that_nobody_has_seen_are_replaced_only_if_the_user_says_so() {
    for mode in [EditsMode::Auto, EditsMode::Review] {
        for changed in [true, false] {
            let (events, outputs, why) = unseen_edit(mode, changed);
            assert_eq!((events.as_str(), why), ("tool_finished", None));
            let output = "\"a\" has other lines, so nothing was written. Read the file, then write it again";
            assert_eq!(outputs, [output]);
        }
    }
    let (events, _, why) = unseen_edit(EditsMode::Ask, true);
    assert_eq!(events, "file_change_proposed ask_opened");
    assert_eq!(why.unwrap(), "\"a\" has other lines; every edit asks until you allow edits for this session");
    let (_, _, why) = unseen_edit(EditsMode::Ask, false);
    assert_eq!(why.unwrap(), "every edit asks until you allow edits for this session");
}

/// An edit that did not land changes nothing of what is known.
#[test]
fn n14_an_edit_that_was_not_made_is_not_known() {
    let mut bench = after_read(Policy { edits: EditsMode::Auto, ..Policy::default() }, &[EDIT]);
    let before = bench.session.reads.clone();
    let report = edit_of(&bench, change(false));
    bench.report(is_prepare, report);
    let report =
        super::edited(&bench, EditOutcome::NotApplied { why: "it is read-only".to_owned(), in_doubt: false });
    bench.report(is_tool, report);
    assert_eq!(bench.session.reads, before);
}

#[test]
fn n17_what_changes_while_the_model_answers_is_recorded_at_once_and_only_then() {
    let mut bench = after_read(Policy::default(), &[]);
    // Between the turns the step looks by itself.
    assert_eq!(outside_moment(&bench.session), None);
    look(&mut bench, Some(same()));
    let moment = outside_moment(&bench.session).expect("the model answers");
    let heard = |bench: &mut Bench, look: OutsideLook, moment| bench.input(Input::Outside { look, moment });
    assert!(heard(&mut bench, same(), moment).is_err(), "nothing has changed");
    let other = (moment.0 + 1, moment.1);
    assert!(heard(&mut bench, changed(), other).is_err(), "it is a look of another turn");
    let events = heard(&mut bench, changed(), moment).expect("it is news");
    assert_eq!(names(&events), "outside_changed");
    assert!(heard(&mut bench, changed(), moment).is_err(), "it was told");
    let calls = [("search_text", r#"{"pattern":"x"}"#)];
    bench.report(super::is_model, Report::Replied(super::reply("", &calls)));
    // A call may change files itself.
    assert_eq!(outside_moment(&bench.session), None);
    bench.report(is_prepare, read_of(ObservedPath::inside("b")));
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    assert_eq!(names(&look(&mut bench, Some(changed()))), "turn_started");
    assert_eq!(notes(&bench).len(), 1);
}
