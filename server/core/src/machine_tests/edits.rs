//! The edits of one turn: prepared together, asked together, applied together, each call with a result of its own.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::random::change;
use super::{Bench, files_of, is_prepare, is_reobserve, is_tool, landed, names, option, prepared_calls};
use crate::machine::input::{
    Answer, ChangeNow, Choice, Decision, EditOutcome, EditReport, Input, PreparedEdits, RefusedEdit, Report,
};
use crate::machine::step::{BatchPart, Step, next_steps};
use crate::policy::cause::{Cause, Reason};
use crate::prompt::message::ModelMessage;
use crate::record::{Ask, AskKind, CallPart, Event, FileChange, HunkSet, Policy, ToolCallId};
use crate::session::Call;
use crate::session::HunkState;
use crate::text::draft::Draft;
use crate::text::review::apply_hunks;

pub const EDIT: (&str, &str) = ("edit_file", r#"{"path":"a","old_text":"x","new_text":"y"}"#);
pub const READ: (&str, &str) = ("read_file", r#"{"path":"a"}"#);

pub fn turn_of(calls: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", calls);
    bench
}

pub fn call(bench: &Bench, index: usize) -> Call {
    bench.session.open_run().unwrap().turn.as_ref().unwrap().calls[index].clone()
}

/// Returns the change of a file by these calls, each with its hunks.
pub fn file(name: &str, parts: &[(&ToolCallId, &[&str])]) -> FileChange {
    let part = |(call, hunks): &(&ToolCallId, &[&str])| CallPart {
        call: (*call).clone(),
        hunks: hunks.iter().map(|id| (*id).to_owned()).collect(),
    };
    let uri = format!("file:///ws/{name}");
    let parts = parts.iter().map(part).collect();
    FileChange { parts, path: name.to_owned(), target: uri.clone(), uri, ..change(false) }
}

/// Returns a bench whose three edits, two of `a` and one of `b`, wait for one answer.
pub fn asked_together() -> (Bench, Vec<Event>) {
    let mut bench = turn_of(&[EDIT, EDIT, EDIT]);
    let report = prepared(&bench);
    let events = bench.report(is_prepare, report);
    (bench, events)
}

/// Returns the report of `Prepare` on three edits: the first and the third of `a`, the second of `b`.
fn prepared(bench: &Bench) -> Report {
    let ids = prepared_calls(bench);
    let [one, two, three] = ids.as_slice() else { panic!("three edits are prepared together: {ids:?}") };
    files_of(vec![file("a", &[(one, &["h1"]), (three, &["h2"])]), file("b", &[(two, &["h1", "h2"])])])
}

pub fn answer(bench: &mut Bench, choice: Choice) -> Vec<Event> {
    bench.answer(choice).unwrap()
}

/// Reports on the file `name` of the batch that is applied now.
pub fn report_on(bench: &mut Bench, name: &str, outcome: EditOutcome) -> Vec<Event> {
    let state = bench.session.changes.values().filter(|state| state.is_applying() && !state.unsettled);
    let state = state.into_iter().find(|state| state.change.path == name);
    let state = state.unwrap_or_else(|| panic!("{name} is on its way: {:#?}", bench.session.changes));
    let report = Report::Edited {
        change_set: state.change.change_set.clone(),
        report: EditReport { outcome, elapsed_ms: 3, on: None },
    };
    let batch = state.batches.keys().next().unwrap().clone();
    let is_of = |step: &Step| matches!(step, Step::Apply { batch: of, .. } if *of == batch);
    let step = next_steps(&bench.session).into_iter().find(is_of).expect("it is applied now");
    bench.input(Input::Step { step, report }).expect("the report is accepted")
}

pub fn outputs(bench: &Bench) -> Vec<String> {
    let output = |message: &ModelMessage| match message {
        ModelMessage::Tool { output, .. } => Some(output.to_string()),
        _ => None,
    };
    bench.session.history.iter().filter_map(output).collect()
}

#[test]
fn the_edits_of_a_turn_are_one_ask_with_all_files() {
    let (bench, events) = asked_together();
    assert_eq!(names(&events), "file_change_proposed file_change_proposed ask_opened");
    let asks: Vec<&Ask> = bench.session.open_asks().collect();
    let [ask] = asks.as_slice() else { panic!("{asks:?}") };
    assert_eq!(ask.title, "Edit 2 files: a, b");
    assert_eq!(ask.calls.len(), 3);
    let steps = next_steps(&bench.session);
    assert!(matches!(steps[..], [Step::DeliverAsk { .. }]), "{steps:?}");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn a_read_or_a_command_between_edits_parts_them() {
    let mut bench = turn_of(&[EDIT, EDIT, READ, EDIT]);
    let first = prepared_calls(&bench);
    assert_eq!(first, [call(&bench, 0).id, call(&bench, 1).id]);
    let report = super::edit_of(&bench, change(true));
    bench.report(is_prepare, report);
    answer(&mut bench, option("reject"));
    assert_eq!(prepared_calls(&bench), [call(&bench, 2).id]);
}

#[test]
fn one_answer_applies_all_files_as_one_batch_and_each_call_has_its_own_result() {
    let (mut bench, _) = asked_together();
    let events = answer(&mut bench, option("allow_always"));
    assert_eq!(
        names(&events),
        "ask_closed hunk_decided rule_added apply_started hunk_decided apply_started",
        "one rule for both files"
    );
    let steps = next_steps(&bench.session);
    assert!(matches!(steps[..], [Step::Apply { .. }]), "{steps:?}");
    // The second file is finished first: results enter the history in the order of the calls.
    assert_eq!(names(&report_on(&mut bench, "b", landed())), "applied tool_finished");
    assert_eq!(next_steps(&bench.session), steps, "the batch goes on");
    assert_eq!(names(&report_on(&mut bench, "a", landed())), "applied tool_finished tool_finished");
    assert_eq!(
        outputs(&bench),
        ["Edited a: +1 -1 lines.", "Edited b: +2 -2 lines.", "Edited a: +1 -1 lines."]
    );
    assert!(matches!(next_steps(&bench.session)[..], [Step::LookOutside { turn: 2 }]));
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn one_rejection_rejects_all_with_its_reason_and_a_cancel_closes_it_once() {
    let (mut bench, _) = asked_together();
    let because = Choice::Option { id: "reject".to_owned(), text: Some("use tabs".to_owned()) };
    let events = answer(&mut bench, because);
    assert_eq!(
        names(&events),
        "ask_closed hunk_decided hunk_decided tool_finished tool_finished tool_finished"
    );
    assert_eq!(outputs(&bench), ["The user rejected this and says: use tabs"; 3]);

    let (mut bench, _) = asked_together();
    let events = bench.input(Input::Cancel { run: None }).unwrap();
    assert_eq!(names(&events), "ask_closed tool_finished tool_finished tool_finished run_ended");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn an_edit_that_cannot_be_made_ends_alone() {
    let mut bench = turn_of(&[EDIT, EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    let Report::PreparedEdits(good) = files_of(vec![file("a", &[(&ids[0], &["h1"]), (&ids[2], &["h2"])])])
    else {
        unreachable!()
    };
    let why = Some(Reason::new(Cause::NotFound, "it is not there"));
    let refused = vec![RefusedEdit { call: ids[1].clone(), seen: None, why, may_reveal: false }];
    let events = bench.report(is_prepare, Report::PreparedEdits(PreparedEdits { refused, ..good }));
    assert_eq!(names(&events), "call_prepared file_change_proposed ask_opened tool_finished");
    assert_eq!(bench.session.open_asks().next().unwrap().calls, [ids[0].clone(), ids[2].clone()]);
    answer(&mut bench, option("allow"));
    report_on(&mut bench, "a", landed());
    assert_eq!(outputs(&bench)[1], "it is not there");
    assert_eq!(outputs(&bench).len(), 3);
}

#[test]
fn an_edit_that_no_report_mentions_fails_by_name() {
    let mut bench = turn_of(&[EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("a", &[(&ids[0], &["h1", "h2"])])]));
    assert!(call(&bench, 1).is_finished());
    assert!(!call(&bench, 0).is_finished());
    // A report that mentions nothing ends all.
    let mut bench = turn_of(&[EDIT, EDIT]);
    bench.report(is_prepare, files_of(Vec::new()));
    assert!(
        outputs(&bench).iter().all(|output| output.contains("was not prepared")),
        "{:?}",
        outputs(&bench)
    );
}

#[test]
fn too_many_edits_that_fail_end_the_run_and_nothing_else_of_the_turn_is_asked() {
    let mut bench = Bench::new();
    bench.prompt_with("go", Policy { mistakes: 3, ..Policy::default() }).unwrap();
    bench.reply("", &[EDIT; 4]);
    let ids = prepared_calls(&bench);
    let Report::PreparedEdits(good) = files_of(vec![file("a", &[(&ids[3], &["h1", "h2"])])]) else {
        unreachable!()
    };
    let refused = |call: &ToolCallId| RefusedEdit {
        call: call.clone(),
        seen: None,
        why: Some(Reason::new(Cause::NotFound, "it is not there")),
        may_reveal: false,
    };
    let refused = ids[..3].iter().map(refused).collect();
    let events = bench.report(is_prepare, Report::PreparedEdits(PreparedEdits { refused, ..good }));
    let open: Vec<AskKind> = bench.session.open_asks().map(|ask| ask.kind).collect();
    assert_eq!(open, [AskKind::MistakeLimitReached], "{}", names(&events));
    assert!(bench.session.open_run().is_none());
    assert_eq!(outputs(&bench).len(), 4);
}

#[test]
fn a_deny_rule_of_one_file_leaves_the_others() {
    let mut bench = Bench::new();
    let deny = vec!["write(b)".to_owned()];
    bench.prompt_with("go", Policy { deny, ..Policy::default() }).unwrap();
    bench.reply("", &[EDIT, EDIT, EDIT]);
    let report = prepared(&bench);
    let events = bench.report(is_prepare, report);
    assert_eq!(
        names(&events),
        "file_change_proposed file_change_proposed hunk_decided ask_opened tool_finished"
    );
    assert_eq!(bench.session.open_asks().next().unwrap().title, "Edit a");

    // A rule that was added while the ask was open.
    let (mut bench, _) = asked_together();
    bench.input(Input::Denials(vec!["write(b)".to_owned()])).unwrap();
    let events = answer(&mut bench, option("allow"));
    assert_eq!(names(&events), "ask_closed hunk_decided apply_started hunk_decided tool_finished");
    report_on(&mut bench, "a", landed());
    assert!(outputs(&bench)[1].starts_with("Denied: "), "{:?}", outputs(&bench));
}

#[test]
fn after_a_restart_all_are_observed_again_and_the_ask_stays_while_it_shows_the_same() {
    let (mut bench, _) = asked_together();
    let ask = bench.session.open_asks().next().unwrap().id.clone();
    bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    let report = super::same(&bench);
    assert_eq!(names(&bench.report(is_reobserve, report)), "ask_reobserved");
    assert_eq!(bench.session.open_asks().next().unwrap().id, ask);

    bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    let Report::Reobserved(mut found) = super::same(&bench) else { unreachable!() };
    let state = bench.session.changes.values().find(|state| state.change.path == "b").unwrap();
    let mut change = Box::new(state.change.clone());
    Arc::make_mut(&mut change.hunks)[0].inserted = vec!["other\n".to_owned()];
    let seen = Box::new(call(&bench, 1).seen.unwrap());
    let of_b = found.iter_mut().find(|one| one.change_set == state.change.change_set).unwrap();
    of_b.found = ChangeNow::Other { change, seen };
    let events = bench.report(is_reobserve, Report::Reobserved(found));
    assert_eq!(names(&events), "ask_closed file_change_proposed ask_opened");
    let asks: Vec<&Ask> = bench.session.open_asks().collect();
    assert_eq!((asks.len(), asks[0].title.as_str()), (1, "Edit 2 files: a, b"));
    assert_ne!(asks[0].id, ask);
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn a_change_that_has_no_place_after_a_restart_fails_and_the_others_are_asked_again() {
    let (mut bench, _) = asked_together();
    bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    let Report::Reobserved(mut found) = super::same(&bench) else { unreachable!() };
    let state = bench.session.changes.values().find(|state| state.change.path == "b").unwrap();
    let of_b = found.iter_mut().find(|one| one.change_set == state.change.change_set).unwrap();
    of_b.found = ChangeNow::Gone { why: "the file is gone".to_owned() };
    let events = bench.report(is_reobserve, Report::Reobserved(found));
    assert_eq!(names(&events), "ask_closed hunk_decided ask_opened tool_finished");
    assert_eq!(bench.session.open_asks().next().unwrap().title, "Edit a");
    answer(&mut bench, option("allow"));
    report_on(&mut bench, "a", landed());
    assert_eq!(outputs(&bench)[1], "The edit of b was not applied: the file is gone.");
}

/// Decides about hunks of one file.
pub fn decide(
    bench: &mut Bench,
    name: &str,
    hunks: &[&str],
    apply: bool,
    reason: Option<&str>,
) -> Vec<Event> {
    let state = bench.session.changes.values().find(|state| state.change.path == name).unwrap();
    let hunks = hunks.iter().map(|id| (*id).to_owned()).collect();
    let targets = vec![HunkSet { change_set: state.change.change_set.clone(), hunks }];
    let reason = reason.map(str::to_owned);
    bench.input(Input::Decide(Decision { targets, apply, reason })).unwrap()
}

#[test]
fn hunks_are_decided_one_by_one_and_the_ask_is_open_until_the_last() {
    let (mut bench, _) = asked_together();
    assert_eq!(names(&decide(&mut bench, "a", &["h1"], true, None)), "hunk_decided apply_started");
    // The first call made that hunk alone, so it ends while the others wait.
    assert_eq!(names(&report_on(&mut bench, "a", landed())), "applied tool_finished");
    assert!(!next_steps(&bench.session).iter().any(|step| is_prepare(step) || is_tool(step)));
    let because = Some("use tabs");
    assert_eq!(names(&decide(&mut bench, "b", &["h1"], false, because)), "hunk_decided");
    assert_eq!(names(&decide(&mut bench, "a", &["h2"], false, None)), "hunk_decided tool_finished");
    assert_eq!(names(&decide(&mut bench, "b", &["h2"], true, None)), "ask_closed hunk_decided apply_started");
    assert_eq!(names(&report_on(&mut bench, "b", landed())), "applied tool_finished");
    assert_eq!(
        outputs(&bench),
        [
            "Edited a: +1 -1 lines.",
            "Edited b: +1 -1 lines. Not applied at line 1 of b: The user rejected this and says: use tabs",
            "The user rejected this.",
        ]
    );
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn a_hunk_is_decided_once_and_only_while_it_waits() {
    let (mut bench, _) = asked_together();
    decide(&mut bench, "a", &["h1"], true, None);
    let again = |bench: &mut Bench, hunks: &[&str]| {
        let state = bench.session.changes.values().find(|state| state.change.path == "a").unwrap();
        let hunks = hunks.iter().map(|id| (*id).to_owned()).collect();
        let targets = vec![HunkSet { change_set: state.change.change_set.clone(), hunks }];
        bench.input(Input::Decide(Decision { targets, apply: true, reason: None }))
    };
    for hunks in [&["h1"][..], &["h1", "h2"], &["h7"], &[]] {
        assert!(again(&mut bench, hunks).is_err(), "{hunks:?}");
    }
    // After a restart nothing is decided before the proposal was observed again.
    bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    assert!(again(&mut bench, &["h2"]).is_err());
}

#[test]
fn what_is_left_of_an_ask_is_answered_as_a_whole() {
    let (mut bench, _) = asked_together();
    decide(&mut bench, "a", &["h1"], false, Some("not this one"));
    let events = answer(&mut bench, option("allow"));
    assert_eq!(names(&events), "ask_closed hunk_decided apply_started hunk_decided apply_started");
    report_on(&mut bench, "b", landed());
    report_on(&mut bench, "a", landed());
    assert_eq!(outputs(&bench)[0], "The user rejected this and says: not this one");
    assert_eq!(outputs(&bench)[2], "Edited a: +1 -1 lines.");
}

#[test]
fn after_a_restart_what_was_decided_goes_on_and_what_waits_is_asked_again() {
    let (mut bench, _) = asked_together();
    decide(&mut bench, "a", &["h1"], true, None);
    let events = bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    assert_eq!(names(&events), "session_opened ask_closed ask_opened");
    answer(&mut bench, option("resume"));
    report_on(&mut bench, "a", landed());
    let report = super::same(&bench);
    assert_eq!(names(&bench.report(is_reobserve, report)), "ask_opened");
    let ask = bench.session.open_asks().next().unwrap();
    assert_eq!((ask.title.as_str(), ask.calls.len()), ("Edit 2 files: a, b", 2));
    answer(&mut bench, option("allow"));
    report_on(&mut bench, "a", landed());
    report_on(&mut bench, "b", landed());
    assert_eq!(outputs(&bench).len(), 3);
    assert!(outputs(&bench).iter().all(|output| output.starts_with("Edited ")), "{:?}", outputs(&bench));
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn a_batch_that_was_cut_short_goes_on_with_the_files_that_are_left() {
    let (mut bench, _) = asked_together();
    answer(&mut bench, option("allow"));
    report_on(&mut bench, "b", landed());
    bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    answer(&mut bench, option("resume"));
    // The files were closed, so the edit is looked for and finished under the same approval.
    assert!(next_steps(&bench.session).iter().any(is_tool));
    report_on(&mut bench, "a", landed());
    assert_eq!(outputs(&bench).len(), 3);
    assert_eq!(bench.replayed(), bench.session);
}

/// Of open documents at most one may have got the edit: the others go on after the restart, each under its approval.
#[test]
fn l6_open_documents_are_edited_one_by_one_after_the_closed_files() {
    let mut bench = turn_of(&[EDIT, EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    let open =
        |name: &str, call: &ToolCallId| FileChange { open: true, ..file(name, &[(call, &["h1", "h2"])]) };
    bench.report(
        is_prepare,
        files_of(vec![open("a", &ids[0]), open("b", &ids[1]), file("c", &[(&ids[2], &["h1"])])]),
    );
    answer(&mut bench, option("allow"));
    let parts = |bench: &Bench| -> Vec<BatchPart> {
        let part = |step| match step {
            Step::Apply { part, .. } => Some(part),
            _ => None,
        };
        next_steps(&bench.session).into_iter().filter_map(part).collect()
    };
    assert_eq!(parts(&bench), [BatchPart::Closed]);
    // Cut short before any open document began: all go on.
    let mut early = Bench { session: bench.session.clone(), log: bench.log.clone(), ..Bench::new() };
    early.input(Input::Opened { epoch: early.session.epoch + 1 }).unwrap();
    answer(&mut early, option("resume"));
    assert_eq!(parts(&early), [BatchPart::Closed]);

    report_on(&mut bench, "c", landed());
    let first = bench.session.change_of(&call(&bench, 0)).unwrap().change.change_set.clone();
    assert_eq!(parts(&bench), [BatchPart::Open { change_set: first }]);
    let events = bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    assert_eq!(names(&events), "session_opened tool_finished ask_opened");
    assert!(call(&bench, 0).is_finished() && !call(&bench, 1).is_finished());
    assert_eq!(bench.session.unsettled().count(), 1);
    answer(&mut bench, option("resume"));
    report_on(&mut bench, "b", landed());
    assert_eq!(outputs(&bench).len(), 3);
    assert!(outputs(&bench)[0].starts_with("Interrupted"), "{:?}", outputs(&bench));
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn a_cancel_during_a_batch_settles_each_file_by_its_text() {
    let (mut bench, _) = asked_together();
    answer(&mut bench, option("allow"));
    report_on(&mut bench, "b", landed());
    bench.input(Input::Cancel { run: None }).unwrap();
    let left: Vec<&str> =
        bench.session.unsettled().map(|id| bench.session.changes[id].change.path.as_str()).collect();
    assert_eq!(left, ["a"]);
    assert!(matches!(next_steps(&bench.session)[..], [Step::Settle { .. }]));
}

#[test]
fn a_file_that_changed_is_asked_again_while_the_others_go_on() {
    let (mut bench, _) = asked_together();
    answer(&mut bench, option("allow"));
    let change =
        bench.session.changes.values().find(|state| state.change.path == "a").unwrap().change.clone();
    let seen = Box::new(call(&bench, 0).seen.unwrap());
    let outcome = EditOutcome::Overtaken { change: Box::new(change), seen, why: "it moved".to_owned() };
    assert_eq!(names(&report_on(&mut bench, "a", outcome)), "file_change_proposed ask_opened");
    assert_eq!(bench.session.open_asks().next().unwrap().title, "Edit a");
    assert_eq!(names(&report_on(&mut bench, "b", landed())), "applied tool_finished");
    assert!(!next_steps(&bench.session).iter().any(is_prepare), "the ask of `a` is open");
    answer(&mut bench, option("allow"));
    assert_eq!(names(&report_on(&mut bench, "a", landed())), "applied tool_finished tool_finished");
    assert_eq!(bench.replayed(), bench.session);
}

#[test]
fn hunks_that_several_calls_made_and_lines_that_were_replaced_are_told_as_such() {
    let mut bench = turn_of(&[EDIT, EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    let report = files_of(vec![file("a", &[(&ids[0], &[]), (&ids[1], &["h1"]), (&ids[2], &["h1", "h2"])])]);
    bench.report(is_prepare, report);
    answer(&mut bench, option("allow"));
    report_on(&mut bench, "a", EditOutcome::Partly { landed: vec!["h1".to_owned()] });
    let left = "The edit of a was applied only in part: 1 of 2 changes are in the text. The editor left out what was at \
                line 10 before; perhaps the user did not want it. Read the file before you continue.";
    assert_eq!(
        outputs(&bench),
        [
            format!("Edited a. A later edit of the same turn replaced what this one wrote. {left}"),
            "Edited a: +1 -1 lines, with other edits of this turn.".to_owned(),
            format!("Edited a: +1 -1 lines, with other edits of this turn. {left}"),
        ]
    );
    let state = bench.session.changes.values().next().unwrap();
    assert_eq!(state.hunks["h2"], HunkState::NotApplied);
}

#[test]
fn edits_that_undo_each_other_are_not_asked() {
    let mut bench = turn_of(&[EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    let nothing = FileChange { hunks: Arc::default(), ..file("a", &[(&ids[0], &[]), (&ids[1], &[])]) };
    let events = bench.report(is_prepare, files_of(vec![nothing]));
    assert_eq!(names(&events), "tool_finished tool_finished");
}

#[test]
fn a_log_has_the_one_call_of_an_ask_by_name_and_several_as_a_list() {
    let (bench, _) = asked_together();
    let all = bench.session.open_asks().next().unwrap().clone();
    assert_eq!(serde_json::to_value(&all).unwrap()["call"], json!(all.calls));
    let one = Ask { calls: all.calls[..1].to_vec(), ..all.clone() };
    assert_eq!(serde_json::to_value(&one).unwrap()["call"], json!(all.calls[0]));
    let none = Ask { calls: Vec::new(), kind: AskKind::ResumeTask, ..all.clone() };
    assert_eq!(serde_json::to_value(&none).unwrap().get("call"), None);
    for ask in [all, one, none] {
        let text = serde_json::to_string(&ask).unwrap();
        assert_eq!(serde_json::from_str::<Ask>(&text).unwrap(), ask);
    }
}

#[test]
fn an_answer_to_another_ask_than_the_open_one_applies_nothing() {
    let (mut bench, _) = asked_together();
    let answer = Answer {
        ask: "ask-other".into(),
        choice: option("allow"),
        surface: "t".to_owned(),
        consent: None,
        budget: None,
    };
    assert!(bench.input(Input::Answer(answer)).is_err());
    assert!(!next_steps(&bench.session).iter().any(is_tool));
}

/// Replaces line `at`, or inserts a line before it, or removes it.
fn edited(text: &str, (at, kind, number): (usize, u8, u8)) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = at % lines.len().max(1);
    let line = format!("edit {number} of line {at}\n");
    match kind {
        0 if at < lines.len() => lines[at] = line,
        1 if lines.len() > 1 => drop(lines.remove(at)),
        _ => lines.insert(at, line),
    }
    lines.concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_hunks_of_a_draft_lead_from_the_first_text_to_the_last_and_each_has_a_maker(
        edits in prop::collection::vec((0..40_usize, 0..3_u8, any::<u8>()), 1..8),
    ) {
        let before: String = (0..30).map(|line| format!("line {line}\n")).collect();
        let mut draft = Draft::of(before.as_str().into());
        for (number, edit) in edits.iter().enumerate() {
            let earlier = draft.clone();
            draft = draft.after(number, edited(draft.text(), *edit).as_str().into());
            // A hunk that the last edit did not change has the makers it had.
            for hunk in draft.hunks() {
                let is_made = |edit: usize, of: &Draft, id: &str| of.made_by(edit).iter().any(|made| made == id);
                prop_assert!((0..=number).any(|edit| is_made(edit, &draft, &hunk.id)), "nobody made {}", hunk.id);
                let same = earlier.hunks().iter().find(|old| (old.line, &old.removed, &old.inserted) == (hunk.line, &hunk.removed, &hunk.inserted));
                if let Some(same) = same {
                    for edit in 0..=number {
                        prop_assert_eq!(is_made(edit, &draft, &hunk.id), is_made(edit, &earlier, &same.id));
                    }
                }
            }
        }
        prop_assert_eq!(apply_hunks(&before, draft.hunks()).unwrap(), draft.text());
        // Hunks of one file depend on nothing else, so that any choice of them can be applied.
        for left_out in draft.hunks() {
            let others: Vec<_> = draft.hunks().iter().filter(|hunk| hunk.id != left_out.id).cloned().collect();
            prop_assert!(apply_hunks(&before, &others).is_ok());
        }
    }
}
