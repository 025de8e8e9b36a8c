//! Decisions about single hunks, in every order with outcomes, restarts and limits.

use proptest::prelude::*;

use super::edits::{EDIT, READ, answer, asked_together, call, decide, file, outputs, report_on, turn_of};
use super::random::change;
use super::{Bench, files_of, is_prepare, is_reobserve, is_tool, landed, names, option, prepared_calls};
use crate::machine::input::{Answer, ChangeNow, Decision, EditOutcome, EditReport, Input, Report};
use crate::machine::step::{Step, next_steps};
use crate::record::{Ask, AskKind, Event, FileChange, HunkSet, Policy, ToolCallId};
use crate::session::{Call, HunkState};

fn steps(bench: &Bench) -> String {
    format!("{:#?}", next_steps(&bench.session))
}

#[test]
fn a_rejection_beside_a_running_edit_of_the_file_leaves_it_alone() {
    let (mut bench, _) = asked_together();
    decide(&mut bench, "a", &["h1"], true, None);
    let events = decide(&mut bench, "a", &["h2"], false, None);
    assert_eq!(names(&events), "hunk_decided tool_finished");
    assert!(
        bench.session.unsettled().next().is_none(),
        "call 0 is open and its edit is on its way: {}",
        steps(&bench)
    );
}

#[test]
fn two_decisions_about_one_file_are_both_applied() {
    let (mut bench, _) = asked_together();
    decide(&mut bench, "a", &["h1"], true, None);
    decide(&mut bench, "a", &["h2"], true, None);
    report_on(&mut bench, "a", landed());
    assert!(bench.session.unsettled().next().is_none(), "{}", steps(&bench));
    report_on(&mut bench, "a", landed());
    assert!(call(&bench, 0).is_finished() && call(&bench, 2).is_finished());
}

fn open_a(bench: &Bench) -> Report {
    let ids = prepared_calls(bench);
    files_of(vec![FileChange { open: true, ..file("a", &[(&ids[0], &["h1", "h2"])]) }])
}

#[test]
fn a_killed_run_whose_ask_closes_with_it_waits_for_resume() {
    let mut bench = turn_of(&[EDIT]);
    let report = open_a(&bench);
    bench.report(is_prepare, report);
    decide(&mut bench, "a", &["h1"], true, None);
    let events = bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    assert!(bench.session.has_open_ask(AskKind::ResumeTask), "{} {}", names(&events), steps(&bench));
}

#[test]
fn a_run_that_ends_while_it_is_observed_again_asks_nothing_else() {
    let mut bench = Bench::new();
    bench.prompt_with("go", Policy { mistakes: 1, ..Policy::default() }).unwrap();
    bench.reply("", &[EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(
        is_prepare,
        files_of(vec![file("b", &[(&ids[0], &["h1"])]), file("a", &[(&ids[1], &["h1"])])]),
    );
    bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    let Report::Reobserved(mut found) = super::same(&bench) else { unreachable!() };
    let state = bench.session.changes.values().find(|state| state.change.path == "b").unwrap();
    let of_b = found.iter_mut().find(|one| one.change_set == state.change.change_set).unwrap();
    of_b.found = ChangeNow::Gone { why: "the file is gone".to_owned() };
    let events = bench.report(is_reobserve, Report::Reobserved(found));
    assert!(bench.session.open_run().is_none(), "{}", names(&events));
    let open: Vec<AskKind> = bench.session.open_asks().map(|ask| ask.kind).collect();
    assert_eq!(open, [AskKind::MistakeLimitReached], "{}", names(&events));
}

fn overtaken(bench: &Bench, name: &str, parts: &[(&ToolCallId, &[&str])]) -> EditOutcome {
    let change = FileChange { ..file(name, parts) };
    let hunks = change
        .hunks
        .iter()
        .filter(|h| parts.iter().any(|(_, ids)| ids.contains(&h.id.as_str())))
        .cloned()
        .collect();
    let change = FileChange { hunks, ..change };
    let seen = Box::new(crate::policy::observation::ObservedPath {
        overtaken: Some("it moved".to_owned()),
        ..call(bench, 0).seen.unwrap()
    });
    EditOutcome::Overtaken { change: Box::new(change), seen, why: "it moved".to_owned() }
}

fn report_hunk(bench: &mut Bench, hunk: &str, outcome: EditOutcome) -> Vec<Event> {
    let state = bench
        .session
        .changes
        .values()
        .find(|s| s.batches.values().any(|h| h.iter().any(|i| i == hunk)))
        .unwrap();
    let batch = state.batches.iter().find(|(_, h)| h.iter().any(|i| i == hunk)).unwrap().0.clone();
    let report = Report::Edited {
        change_set: state.change.change_set.clone(),
        report: EditReport { outcome, elapsed_ms: 3, on: None },
    };
    let is_of = |step: &Step| matches!(step, Step::Apply { batch: of, .. } if *of == batch);
    let step = next_steps(&bench.session).into_iter().find(is_of).expect("it is applied now");
    bench.input(Input::Step { step, report }).expect("the report is accepted")
}

#[test]
fn an_edit_in_doubt_closes_every_question_about_its_file() {
    let mut bench = turn_of(&[EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("a", &[(&ids[0], &["h1", "h2"])])]));
    let first = bench.session.changes.keys().next().unwrap().clone();
    decide(&mut bench, "a", &["h1"], true, None);
    let outcome = overtaken(&bench, "a", &[(&ids[0], &["h1"])]);
    report_on(&mut bench, "a", outcome);
    assert_eq!(bench.session.open_asks().count(), 2);
    let targets = vec![HunkSet { change_set: first, hunks: vec!["h2".to_owned()] }];
    bench.input(Input::Decide(Decision { targets, apply: true, reason: None })).unwrap();
    let events = report_hunk(
        &mut bench,
        "h2",
        EditOutcome::NotApplied { why: "no answer".to_owned(), in_doubt: true },
    );
    assert!(call(&bench, 0).is_finished(), "{}", names(&events));
    let open: Vec<&Ask> = bench.session.open_asks().collect();
    assert!(open.is_empty(), "{} still open {open:#?} {}", names(&events), steps(&bench));
}

#[test]
fn a_call_whose_first_hunk_was_applied_before_a_restart_may_complete() {
    let mut bench = turn_of(&[EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("a", &[(&ids[0], &["h1", "h2"])])]));
    decide(&mut bench, "a", &["h1"], true, None);
    report_on(&mut bench, "a", landed());
    bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    let report = super::same(&bench);
    bench.report(is_reobserve, report);
    decide(&mut bench, "a", &["h2"], false, None);
    let mut session = crate::session::Session::new("s1".into(), vec!["/ws".to_owned()]);
    for record in &bench.log {
        assert!(!session.is_out_of_place(&record.event), "{:?}", record.event);
        session.apply(record);
    }
}

#[test]
fn a_cancel_tells_what_was_made() {
    let mut bench = turn_of(&[EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("a", &[(&ids[0], &["h1", "h2"])])]));
    decide(&mut bench, "a", &["h1"], true, None);
    report_on(&mut bench, "a", landed());
    bench.input(Input::Cancel { run: None }).unwrap();
    assert!(outputs(&bench)[0].contains("Edited a"), "{:?}", outputs(&bench));
}

#[test]
fn the_end_of_a_run_tells_what_was_made() {
    let mut bench = Bench::new();
    bench.prompt_with("go", Policy { mistakes: 1, ..Policy::default() }).unwrap();
    bench.reply("", &[EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(
        is_prepare,
        files_of(vec![file("a", &[(&ids[0], &["h1"])]), file("b", &[(&ids[1], &["h1", "h2"])])]),
    );
    decide(&mut bench, "b", &["h1"], true, None);
    report_on(&mut bench, "b", landed());
    decide(&mut bench, "a", &["h1"], true, None);
    report_on(&mut bench, "a", EditOutcome::NotApplied { why: "read only".to_owned(), in_doubt: false });
    assert!(bench.session.open_run().is_none());
    assert!(outputs(&bench)[1].starts_with("Edited b: +1 -1 lines."), "{:?}", outputs(&bench));
}

fn decide_in(
    bench: &mut Bench,
    change_set: &crate::record::ChangeSetId,
    hunks: &[&str],
    apply: bool,
) -> Vec<Event> {
    let hunks = hunks.iter().map(|id| (*id).to_owned()).collect();
    let targets = vec![HunkSet { change_set: change_set.clone(), hunks }];
    bench.input(Input::Decide(Decision { targets, apply, reason: None })).unwrap()
}

/// An allowed hunk is never applied.
#[test]
fn a_hunk_that_is_allowed_later_is_applied_too() {
    let mut bench = turn_of(&[EDIT, EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    let mut change = file("a", &[(&ids[0], &["h1"]), (&ids[1], &["h2"]), (&ids[2], &["h3"])]);
    let mut hunks = change.hunks.to_vec();
    hunks.push(crate::text::review::Hunk { id: "h3".to_owned(), line: 30, ..hunks[0].clone() });
    change.hunks = hunks.into();
    bench.report(is_prepare, files_of(vec![change]));
    decide(&mut bench, "a", &["h1"], true, None);
    decide(&mut bench, "a", &["h2"], false, None);
    let events = answer(&mut bench, option("allow"));
    let now = next_steps(&bench.session);
    assert!(now.iter().any(|step| matches!(step, Step::Apply { .. })), "{} {now:#?}", names(&events));
}

/// The shell keeps the part of a call whose hunks are not in the batch, with no hunks (`of_hunks`, `parts_after`).
#[test]
fn a_part_that_is_proposed_again_is_of_its_own_calls() {
    let mut bench = turn_of(&[EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("a", &[(&ids[0], &["h1"]), (&ids[1], &["h2"])])]));
    let first = bench.session.changes.keys().next().unwrap().clone();
    decide_in(&mut bench, &first, &["h1"], true);
    // What `apply.rs` reports: `change` comes from `state.of_hunks(["h1"])`.
    let sent = bench.session.changes[&first].of_hunks(&["h1".to_owned()]);
    assert_eq!(sent.parts.len(), 1);
    let seen = Box::new(crate::policy::observation::ObservedPath {
        overtaken: Some("it moved".to_owned()),
        ..call(&bench, 0).seen.unwrap()
    });
    report_on(
        &mut bench,
        "a",
        EditOutcome::Overtaken { change: Box::new(sent), seen, why: "it moved".to_owned() },
    );
    let second = bench.session.changes.keys().find(|id| **id != first).unwrap().clone();
    let events = decide_in(&mut bench, &first, &["h2"], false);
    eprintln!("{}", names(&events));
    decide_in(&mut bench, &second, &["h1"], true);
    report_on(&mut bench, "a", landed());
    eprintln!("{:?}", outputs(&bench));
    assert!(outputs(&bench)[1].starts_with("The user rejected"), "{:?}", outputs(&bench));
}

/// A log of 0.1: the edit was asked, the server restarted, the file had changed, so it was proposed again (no `replaces`).
#[test]
fn a_log_of_0_1_with_a_change_proposed_twice_asks_about_the_last() {
    let mut bench = turn_of(&[EDIT]);
    let id = call(&bench, 0).id;
    let run = bench.session.open_run().unwrap().id.clone();
    let propose = |bench: &mut Bench, set: &str, line: usize| {
        let mut change = FileChange { change_set: set.into(), ..change(false) };
        let mut hunks = change.hunks.to_vec();
        hunks.iter_mut().for_each(|hunk| hunk.line += line);
        change.hunks = hunks.into();
        bench.record(Event::ChangeProposed {
            call: id.clone(),
            change: Box::new(change),
            seen: None,
            replaces: None,
        });
    };
    let ask = |bench: &mut Bench, name: &str| {
        let ask = Ask {
            id: name.into(),
            kind: AskKind::Tool,
            run: run.clone(),
            calls: vec![id.clone()],
            changes: Vec::new(),
            title: "Edit a".to_owned(),
            description: None,
            options: crate::policy::ask::options(AskKind::Tool, Some("x"), &[]),
            free_text: true,
            digest: String::new(),
            opened_at: 1,
            cause: None,
            unsaved: Vec::new(),
        };
        bench.record(Event::AskOpened { ask: Box::new(ask) });
    };
    propose(&mut bench, "change-old", 0);
    ask(&mut bench, "ask-1");
    bench.record(Event::SessionOpened { epoch: 2 });
    bench.record(Event::AskClosed { ask: "ask-1".into(), resolution: crate::record::Resolution::Superseded });
    propose(&mut bench, "change-new", 5);
    ask(&mut bench, "ask-2");
    // This version opens the log.
    let events = bench.input(Input::Opened { epoch: 3 }).unwrap();
    eprintln!("{} {:#?}", names(&events), next_steps(&bench.session));
    let report = super::same(&bench);
    let events = bench.report(is_reobserve, report);
    eprintln!("{} {:#?}", names(&events), next_steps(&bench.session));
    let waiting: Vec<String> = bench
        .session
        .open_asks()
        .flat_map(|ask| {
            bench.session.changes_of(ask).map(|s| s.change.change_set.0.clone()).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(waiting, ["change-new"], "what nobody asks about any more is asked again");
}

/// The same log, and the ask is answered at once: the call does not end with its edit.
#[test]
fn a_log_of_0_1_with_a_change_proposed_twice_ends_with_the_last() {
    let mut bench = turn_of(&[EDIT]);
    let id = call(&bench, 0).id;
    let run = bench.session.open_run().unwrap().id.clone();
    for (set, name) in [("change-old", "ask-1"), ("change-new", "ask-2")] {
        let change = FileChange { change_set: set.into(), ..change(false) };
        bench.record(Event::ChangeProposed {
            call: id.clone(),
            change: Box::new(change),
            seen: None,
            replaces: None,
        });
        let ask = Ask {
            id: name.into(),
            kind: AskKind::Tool,
            run: run.clone(),
            calls: vec![id.clone()],
            changes: Vec::new(),
            title: "Edit a".to_owned(),
            description: None,
            options: crate::policy::ask::options(AskKind::Tool, Some("x"), &[]),
            free_text: true,
            digest: String::new(),
            opened_at: 1,
            cause: None,
            unsaved: Vec::new(),
        };
        bench.record(Event::AskOpened { ask: Box::new(ask) });
        if name == "ask-1" {
            bench.record(Event::AskClosed {
                ask: "ask-1".into(),
                resolution: crate::record::Resolution::Superseded,
            });
        }
    }
    // 0.1 had recorded the answer and the start, and was killed.
    bench.record(Event::AskClosed { ask: "ask-2".into(), resolution: crate::record::Resolution::Decided });
    let hunks = vec!["h1".to_owned(), "h2".to_owned()];
    bench.record(Event::ApplyStarted {
        call: id.clone(),
        change_set: "change-new".into(),
        hunks,
        batch: None,
        allowed_by: None,
    });
    bench.input(Input::Opened { epoch: 2 }).unwrap();
    answer(&mut bench, option("resume"));
    report_on(&mut bench, "a", landed());
    assert!(call(&bench, 0).is_finished(), "its edit is made: {:#?}", next_steps(&bench.session));
}

/// A kill while one edit of an open document is under way and another proposal of the same call is asked.
#[test]
fn a_kill_closes_every_question_about_a_file_in_doubt() {
    let mut bench = turn_of(&[EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(
        is_prepare,
        files_of(vec![FileChange { open: true, ..file("a", &[(&ids[0], &["h1", "h2"])]) }]),
    );
    let first = bench.session.changes.keys().next().unwrap().clone();
    decide_in(&mut bench, &first, &["h1"], true);
    let EditOutcome::Overtaken { mut change, seen, why } = overtaken(&bench, "a", &[(&ids[0], &["h1"])])
    else {
        unreachable!()
    };
    change.open = true;
    report_on(&mut bench, "a", EditOutcome::Overtaken { change, seen, why });
    decide_in(&mut bench, &first, &["h2"], true);
    let events = bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    let open: Vec<(AskKind, bool)> = bench
        .session
        .open_asks()
        .map(|ask| (ask.kind, ask.calls.iter().all(|c| bench.session.call(c).is_none_or(Call::is_finished))))
        .collect();
    assert_eq!(open, [(AskKind::ResumeTask, true)], "{} {}", names(&events), steps(&bench));
}

#[test]
fn each_hunk_may_be_proposed_three_times() {
    let mut bench = turn_of(&[EDIT]);
    let ids = prepared_calls(&bench);
    let mut change = file("a", &[(&ids[0], &["h1", "h2", "h3"])]);
    let mut hunks = change.hunks.to_vec();
    hunks.push(crate::text::review::Hunk { id: "h3".to_owned(), line: 30, ..hunks[0].clone() });
    change.hunks = hunks.into();
    bench.report(is_prepare, files_of(vec![change]));
    let first = bench.session.changes.keys().next().unwrap().clone();
    for hunk in ["h1", "h2", "h3"] {
        let known: Vec<_> = bench.session.changes.keys().cloned().collect();
        decide_in(&mut bench, &first, &[hunk], true);
        let sent = bench.session.changes[&first].of_hunks(&[hunk.to_owned()]);
        let seen = Box::new(crate::policy::observation::ObservedPath {
            overtaken: Some("it moved".to_owned()),
            ..call(&bench, 0).seen.unwrap()
        });
        let events = report_on(
            &mut bench,
            "a",
            EditOutcome::Overtaken { change: Box::new(sent), seen, why: "it moved".to_owned() },
        );
        let again = bench.session.changes.keys().find(|id| !known.contains(id)).cloned();
        let again = again.unwrap_or_else(|| panic!("{hunk} was proposed once only: {}", names(&events)));
        decide_in(&mut bench, &again, &[hunk], true);
        report_on(&mut bench, "a", landed());
    }
}

fn check(bench: &Bench, tag: &str) {
    let s = &bench.session;
    let tail = || {
        let n = bench.log.len().saturating_sub(25);
        bench.log[n..].iter().map(|r| r.event.name()).collect::<Vec<_>>().join(" ")
    };
    for step in next_steps(s) {
        if let Step::RunTool { call } = &step {
            assert!(!s.call(call).unwrap().is_edit(), "{tag}: RunTool of an edit; {}", tail());
        }
    }
    for ask in s.open_asks() {
        use crate::record::AskGroup;
        if ask.kind.group() == AskGroup::Interactive {
            assert!(s.open_run().is_some(), "{tag}: ask after the run; {}", tail());
            assert!(
                ask.calls.iter().any(|c| s.call(c).is_some_and(|c| !c.is_finished())),
                "{tag}: ask of ended calls; {}",
                tail()
            );
            if s.call(&ask.calls[0]).is_some_and(Call::is_edit) {
                assert!(
                    s.changes_of(ask).any(|state| state.has(HunkState::Proposed)),
                    "{tag}: nothing to decide; {}",
                    tail()
                );
            }
        }
    }
    // Two live proposals of one hunk set etc.
    if let Some(turn) = s.open_run().and_then(|r| r.turn.as_ref()) {
        for call in turn.runnable_calls().filter(|c| c.is_edit() && c.change_set.is_some()) {
            assert!(
                !crate::session::hunks::has_ended(&s.changes, &call.id),
                "{tag}: has ended and is open; {}",
                tail()
            );
        }
    }
    if s.open_run().is_some() && !s.has_blocking_ask() && !s.has_open_ask(AskKind::ResumeTask) {
        assert!(
            next_steps(s).iter().any(|st| !matches!(st, Step::Settle { .. } | Step::DeliverAsk { .. })),
            "{tag}: hangs; {}",
            tail()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn decisions_in_any_order_leave_nothing_open_and_apply_nothing_twice(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut bench = Bench::new();
        let mut dice = super::random::Dice::new(&bytes);
        while !dice.is_used_up() {
            let input = super::random::input(&bench, &mut dice);
            let opened = matches!(input, Input::Opened { .. });
            let before = bench.session.clone();
            let was_decide = format!("{input:?}");
            let ok = bench.input(input);
            check(&bench, &was_decide);
            if let (Ok(events), true) = (&ok, opened) {
                let s = &bench.session;
                let was_running = before.open_run().is_some();
                if was_running {
                    prop_assert!(s.has_open_ask(AskKind::ResumeTask) || s.has_blocking_ask(), "goes on by itself: {}", names(events));
                }
            }
            if let Ok(events) = &ok {
                let mut closed = std::collections::BTreeSet::new();
                for event in events {
                    match event {
                        Event::AskClosed { ask, .. } => { prop_assert!(closed.insert(ask.clone()), "closed twice"); prop_assert!(before.asks.contains_key(ask)); }
                        Event::ApplyStarted { change_set, hunks, .. } => {
                            if let Some(state) = before.changes.get(change_set) {
                                for h in hunks { prop_assert!(state.hunks[h] == HunkState::Proposed, "{h} {:?}", state.hunks[h]); }
                            }
                        }
                        Event::Applied { change_set, hunks, .. } => {
                            let state = &before.changes[change_set];
                            for h in hunks { prop_assert!(state.hunks[h] == HunkState::Applying, "{h} {:?}", state.hunks[h]); }
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// The ask that a doubt left behind is closed twice when the session is opened again.
#[test]
fn an_ask_is_closed_once_when_the_session_is_opened_again() {
    let mut bench = turn_of(&[EDIT, READ, EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("a", &[(&ids[0], &["h1", "h2"])])]));
    let first = bench.session.changes.keys().next().unwrap().clone();
    decide_in(&mut bench, &first, &["h1"], true);
    let outcome = overtaken(&bench, "a", &[(&ids[0], &["h1"])]);
    report_on(&mut bench, "a", outcome);
    decide_in(&mut bench, &first, &["h2"], true);
    report_hunk(&mut bench, "h2", EditOutcome::NotApplied { why: "no answer".to_owned(), in_doubt: true });
    bench.report(is_prepare, super::read_of(crate::policy::observation::ObservedPath::inside("a")));
    bench.report(is_tool, Report::Finished(super::done(crate::record::CallEnd::Completed)));
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("b", &[(&ids[0], &["h1"])])]));
    let ask = bench.session.open_asks().last().unwrap().id.clone();
    bench
        .input(Input::Answer(Answer {
            ask,
            choice: option("allow"),
            surface: "t".to_owned(),
            consent: None,
            budget: None,
        }))
        .unwrap();
    let events = bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).unwrap();
    let closed: Vec<_> = events
        .iter()
        .filter_map(|e| match e {
            Event::AskClosed { ask, .. } => Some(ask.0.clone()),
            _ => None,
        })
        .collect();
    let mut once = closed.clone();
    once.dedup();
    assert_eq!(closed, once, "{}", names(&events));
}

/// After a step broke, what it had made already is not said.
#[test]
fn a_step_that_broke_tells_what_was_made() {
    let mut bench = turn_of(&[EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("a", &[(&ids[0], &["h1", "h2"])])]));
    decide(&mut bench, "a", &["h1"], true, None);
    report_on(&mut bench, "a", landed());
    decide(&mut bench, "a", &["h2"], true, None);
    bench.report(is_tool, Report::Finished(super::done(crate::record::CallEnd::Failed)));
    assert!(outputs(&bench)[0].contains("Edited a"), "{:?}", outputs(&bench));
}

/// The mode "ask" is chosen... a standing answer given while another proposal waits.
#[test]
fn an_edit_in_doubt_voids_what_waits_for_its_file() {
    let mut bench = turn_of(&[EDIT, EDIT]);
    let ids = prepared_calls(&bench);
    bench.report(is_prepare, files_of(vec![file("a", &[(&ids[0], &["h1"]), (&ids[1], &["h2"])])]));
    let first = bench.session.changes.keys().next().unwrap().clone();
    decide_in(&mut bench, &first, &["h1"], true);
    let outcome = overtaken(&bench, "a", &[(&ids[0], &["h1"])]);
    report_on(&mut bench, "a", outcome);
    decide_in(&mut bench, &first, &["h2"], true);
    report_hunk(&mut bench, "h2", EditOutcome::NotApplied { why: "no answer".to_owned(), in_doubt: true });
    assert!(
        bench.session.changes.values().all(|state| !state.has(HunkState::Proposed)),
        "what is in the file is not known, and its other proposal can be allowed"
    );
}

fn truth(bench: &Bench, before: &crate::session::Session, events: &[Event]) {
    if events.iter().any(|e| matches!(e, Event::RunEnded { .. })) {
        return;
    }
    let tail = || {
        let n = bench.log.len().saturating_sub(25);
        bench.log[n..].iter().map(|r| r.event.name()).collect::<Vec<_>>().join(" ")
    };
    let changes = crate::session::hunks::after(&before.changes, events);
    for event in events {
        let Event::ToolFinished { call, result } = event else { continue };
        if result.output.contains("Interrupted")
            || result.output.contains("may still appear")
            || result.output.contains("may still happen")
            || &*result.output == "out"
        {
            continue;
        }
        let mut any = false;
        let mut applied = 0;
        let mut replaced = false;
        let mut strayed = false;
        for state in changes.values().filter(|s| s.is_of(call)) {
            any = true;
            for part in state.change.parts.iter().filter(|p| p.call == *call) {
                replaced |= part.hunks.is_empty();
                applied += part.hunks.iter().filter(|h| state.hunks[*h] == HunkState::Applied).count();
            }
            strayed |= state.notes.iter().any(|(_, n)| n.text.contains("was made, but"));
        }
        if !any || replaced || strayed {
            continue;
        }
        let deeds = ["Edited a", "Edited b", "Deleted a.", "Deleted b.", "Moved a to c.", "Moved b to c."];
        let says = deeds.iter().any(|deed| result.output.contains(deed));
        assert_eq!(applied > 0, says, "{:?} {applied} {}", result, tail());
        if applied == 0 {
            assert_ne!(result.end, crate::record::CallEnd::Completed, "{}", tail());
        }
        assert!(!result.output.is_empty(), "empty {:?} {}", result, tail());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn a_result_tells_exactly_what_is_in_the_text(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut bench = Bench::new();
        let mut dice = super::random::Dice::new(&bytes);
        while !dice.is_used_up() {
            let input = super::random::input(&bench, &mut dice);
            let before = bench.session.clone();
            if let Ok(events) = bench.input(input) { truth(&bench, &before, &events); }
        }
    }
}
