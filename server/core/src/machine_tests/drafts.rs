//! Several edits of one turn. Each is prepared on the text that the edits before it would leave.

use std::sync::Arc;

use proptest::prelude::*;

use super::random::change;
use super::{Bench, done};
use crate::record::{CallEnd, Event, FileChange};
use crate::session::Call;
use crate::text::draft::draft;
use crate::text::review::{apply_hunks, hunks};

const EDIT: (&str, &str) = ("edit_file", r#"{"path":"a","old_text":"x","new_text":"y"}"#);
const TARGET: &str = "file:///ws/a";

fn turn_of(edits: usize) -> Bench {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &vec![EDIT; edits]);
    bench
}

fn call(bench: &Bench, index: usize) -> Call {
    bench.session.open_run().unwrap().turn.as_ref().unwrap().calls[index].clone()
}

/// Proposes the change from one text to another, as the review of a whole turn will.
fn propose(bench: &mut Bench, index: usize, (before, after): (&str, &str), target: &str) {
    let change_set = format!("change-{index}").as_str().into();
    let hunks = Arc::from(hunks(before, after));
    let change = FileChange { change_set, target: target.to_owned(), hunks, ..change(true) };
    bench.record(Event::ChangeProposed { call: call(bench, index).id, change: Box::new(change), seen: None });
}

fn decide(bench: &mut Bench, index: usize, apply: bool) {
    let call = call(bench, index);
    let change = &bench.session.change_of(&call).unwrap().change;
    let (change_set, ids) = (change.change_set.clone(), change.hunks.iter().map(|hunk| hunk.id.clone()));
    let hunks: Vec<String> = ids.collect();
    let decided =
        Event::HunkDecided { change_set: change_set.clone(), hunks: hunks.clone(), apply, ask: None };
    bench.record(decided);
    if apply {
        bench.record(Event::ApplyStarted { call: call.id, change_set, hunks, allowed_by: None });
    }
}

/// Replaces line `at` or inserts a line before it.
fn edited(text: &str, (at, replaces, number): (usize, bool, u8)) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = at % lines.len();
    let line = format!("edit {number} of line {at}\n");
    if replaces {
        lines[at] = line
    } else {
        lines.insert(at, line)
    }
    lines.concat()
}

fn edits() -> impl Strategy<Value = Vec<(usize, bool, u8)>> {
    prop::collection::vec((0..12_usize, any::<bool>(), any::<u8>()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn each_edit_is_prepared_on_what_those_before_it_leave(edits in edits()) {
        let begun: String = (0..8).map(|line| format!("line {line}\n")).collect();
        let mut bench = turn_of(edits.len() + 1);
        // The text after each edit.
        let mut wanted = vec![begun.clone()];
        for (index, (at, replaces, number)) in edits.iter().enumerate() {
            let sees = draft(&bench.session, &call(&bench, index), TARGET, &begun).unwrap().into_owned();
            prop_assert_eq!(&sees, wanted.last().unwrap());
            let after = edited(&sees, (*at, *replaces, *number));
            propose(&mut bench, index, (&sees, &after), TARGET);
            wanted.push(after);
        }
        let last = call(&bench, edits.len());
        prop_assert_eq!(&*draft(&bench.session, &last, TARGET, &begun).unwrap(), wanted.last().unwrap());
        prop_assert_eq!(&*draft(&bench.session, &last, "file:///ws/b", &begun).unwrap(), &begun);

        // While the edits are applied one by one, the draft stays the same.
        let mut text = begun.clone();
        for index in 0..edits.len() {
            let call = call(&bench, index);
            let change = bench.session.change_of(&call).unwrap().change.clone();
            decide(&mut bench, index, true);
            text = apply_hunks(&text, &change.hunks).unwrap();
            // The text has the edit, but no record says so yet.
            prop_assert_eq!(&*draft(&bench.session, &last, TARGET, &text).unwrap(), wanted.last().unwrap());
            let hunks = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
            bench.record(Event::Applied { change_set: change.change_set.clone(), hunks });
            bench.record(Event::ToolFinished { call: call.id, result: done(CallEnd::Completed) });
            prop_assert_eq!(&*draft(&bench.session, &last, TARGET, &text).unwrap(), wanted.last().unwrap());
        }
        prop_assert_eq!(bench.replayed(), bench.session);
    }
}

#[test]
fn an_edit_on_rejected_ground_is_prepared_anew_or_fails_by_name() {
    let mut bench = turn_of(3);
    propose(&mut bench, 0, ("one\ntwo\n", "one\nTWO\n"), TARGET);
    propose(&mut bench, 1, ("one\nTWO\n", "one\nTWO and more\n"), TARGET);
    let last = call(&bench, 2);
    assert_eq!(draft(&bench.session, &last, TARGET, "one\ntwo\n").unwrap(), "one\nTWO and more\n");
    decide(&mut bench, 0, false);
    let why = draft(&bench.session, &last, TARGET, "one\ntwo\n").unwrap_err();
    assert_eq!(why.conflicts[0].id, "h1");
    // The call whose base was rejected sees the text as it is, and can be prepared on that.
    let second = call(&bench, 1);
    assert_eq!(draft(&bench.session, &second, TARGET, "one\ntwo\n").unwrap(), "one\ntwo\n");
}
