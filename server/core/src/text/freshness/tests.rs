//! Which edits count as known, by examples and by random texts with lines from outside.
//!
//! Never compares with a second implementation: lines from outside are marked, so that each can be followed.

use proptest::prelude::*;

use super::*;
use crate::text::review::{apply_hunks, hunks};

/// The lines `from..to` of a text as a read shows them.
fn seen(text: &str, from: usize, to: usize) -> KnownLines {
    let all = line_hashes(text);
    KnownLines { first: from, to_end: to == all.len(), hashes: all[from..to].to_vec() }
}

fn whole(text: &str) -> KnownLines {
    seen(text, 0, lines(text).count())
}

fn judged(known: &[KnownLines], now: &str, after: &str) -> Vec<Freshness> {
    let text = KnownText::of(known, &line_hashes(now));
    hunks(now, after).iter().map(|hunk| text.freshness(hunk)).collect()
}

const TEXT: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";

#[test]
fn n14_an_edit_far_from_a_change_is_known_and_one_inside_is_not() {
    let known = [whole(TEXT)];
    let now = TEXT.replace("b\n", "B\nnew\n");
    for (edit, freshness) in [
        (("g\n", "G\n"), Freshness::Known),
        (("c\n", "C\n"), Freshness::Known),
        (("B\n", "x\n"), Freshness::Changed),
        (("new\n", ""), Freshness::Changed),
        (("a\nB\n", "z\n"), Freshness::Changed),
    ] {
        assert_eq!(judged(&known, &now, &now.replace(edit.0, edit.1)), [freshness], "{edit:?}");
    }
    // What came before the first line that was read, and after the last one.
    for edge in [format!("top\n{TEXT}"), format!("{TEXT}end\n")] {
        let after = edge.replace("top\n", "x\n").replace("end\n", "x\n");
        assert_eq!(judged(&known, &edge, &after), [Freshness::Changed], "{edge}");
    }
    // Two edits on both sides of what changed are one hunk, and replace nothing of it.
    assert_eq!(judged(&known, &now, &now.replace("a\n", "A\n").replace("c\n", "C\n")), [Freshness::Known]);
}

#[test]
fn n14_the_same_text_in_another_place_is_not_the_place_that_was_read() {
    let known = [whole("one\nx = 1\ntwo\nthree\nfour\n")];
    let now = "one\nx = 2\ntwo\nthree\nfour\nfive\nx = 1\n";
    assert_eq!(judged(&known, now, &now.replace("x = 1", "x = 3")), [Freshness::Changed]);
}

#[test]
fn n14_lines_that_were_never_read_are_unread_and_pieces_join_where_they_end() {
    let now = TEXT.replace("h\n", "h\ni\n");
    let known = [seen(TEXT, 0, 3), seen(TEXT, 3, 6)];
    assert_eq!(judged(&known, &now, &now.replace("h\n", "H\n")), [Freshness::Unread]);
    assert_eq!(judged(&known, &now, &now.replace("b\nc\nd\ne\n", "x\n")), [Freshness::Known]);
    // A line that was removed where two pieces meet parts them.
    for gone in ["c\n", "d\n"] {
        let now = TEXT.replace(gone, "");
        let (from, to) = if gone == "c\n" { ("b\nd\n", "x\n") } else { ("c\ne\n", "x\n") };
        assert_eq!(judged(&known, &now, &now.replace(from, to)), [Freshness::Changed], "without {gone}");
    }
    // A line that came between two pieces is in neither.
    let now = TEXT.replace("d\n", "new\nd\n");
    assert_ne!(judged(&known, &now, &now.replace("b\nc\nnew\nd\ne\n", "x\n")), [Freshness::Known]);
}

#[test]
fn n14_a_quoted_part_of_a_line_that_others_changed_is_found_if_it_can_be_no_other() {
    let before = "one\nx = 1\ntwo\nthree\nx = 2\nfive\n";
    let known = [whole(before)];
    let found = |known: &[KnownLines], now: &str, old: &str| {
        KnownText::of(known, &line_hashes(now)).quoted_lines(now, old)
    };
    let now = before.replace("x = 1", "x = 1 # mine").replace("three\n", "three\nnew\n");
    assert_eq!(found(&known, &now, "= 1"), Ok(1..2));
    assert_eq!(found(&known, &now, "one\nx = 1"), Ok(0..2));
    // Line ends and the order of the lines count, and a part is once in the file.
    for old in ["x =", "x = 1\n", "one\nx = 1\ntwo", "x  = 1"] {
        assert_ne!(found(&known, &now, old), Ok(1..2), "{old}");
    }
    assert_eq!(found(&known, &now, "x = 1 # mine"), Err(NotPlaced::NewLines), "all of a line that is new");
    for (now, why) in [
        // The line moved, became two, or went and came back elsewhere.
        (before.replace("x = 1\n", "") + "x = 1 # mine\n", NotPlaced::NewLines),
        (before.replace("x = 1\n", "# mine\nx = 1 # mine\n"), NotPlaced::NewLines),
        (before.replace("x = 1", "y").replace("x = 2", "x = 2, x = 1"), NotPlaced::OthersGone),
    ] {
        assert_eq!(found(&known, &now, "x = 1"), Err(why), "{now}");
    }
    // At the edge of what was read nothing says which line it was; at an end of the file it is the one.
    let now = before.replace("five", "5 five");
    assert_eq!(found(&known, &now, "five"), Ok(5..6));
    assert_eq!(found(&[seen(before, 0, 5)], &now, "five"), Err(NotPlaced::NewLines));
    let now = before.replace("three", "3 three");
    assert_eq!(found(&[seen(before, 0, 4)], &now, "three"), Err(NotPlaced::NewLines));
    assert_eq!(found(&[seen(before, 2, 5)], &now, "three"), Ok(3..4));
}

#[test]
fn n14_what_the_model_knows_follows_its_own_edits() {
    let mut known = whole(TEXT);
    let edit = |from: &str, to: &str| {
        let after = TEXT.replace(from, to);
        (hunks(TEXT, &after), after)
    };
    let (made, after) = edit("d\n", "D\nD2\n");
    for hunk in made.iter().rev() {
        assert!(follow(&mut known, hunk));
    }
    assert_eq!(known, whole(&after));
    // Far below a change from outside, at other line numbers.
    let mut known = whole(TEXT);
    let now = format!("0\n0\n0\n{TEXT}");
    let after = now.replace("f\n", "F\n");
    hunks(&now, &after).iter().rev().for_each(|hunk| assert!(follow(&mut known, hunk)));
    assert_eq!(known.hashes, line_hashes(&TEXT.replace("f\n", "F\n")));
    // An edit beyond what was read is not a part of it, also where its context is.
    for (known, edited) in [(seen(TEXT, 0, 2), "g\n"), (seen(TEXT, 0, 2), "d\n"), (seen(TEXT, 6, 8), "e\n")] {
        let mut after = known.clone();
        let edit = hunks(TEXT, &TEXT.replace(edited, "X\n"));
        edit.iter().for_each(|hunk| assert!(!follow(&mut after, hunk), "{edited}"));
        assert_eq!(after, known);
    }
    // What is next to it is.
    let mut known = seen(TEXT, 0, 2);
    hunks(TEXT, &TEXT.replace("c\n", "C\n")).iter().for_each(|hunk| assert!(follow(&mut known, hunk)));
    assert_eq!(known.hashes, line_hashes("a\nb\nC\n"));
}

fn follow(known: &mut KnownLines, hunk: &Hunk) -> bool {
    let of = |lines: &[String]| lines.iter().map(|line| LineHash::of(line)).collect::<Vec<_>>();
    let (before, after) = (of(&hunk.context_before), of(&hunk.context_after));
    let (removed, inserted) = (of(&hunk.removed), of(&hunk.inserted));
    let line = hunk.line;
    known.replace(&LineEdit { line, before: &before, removed: &removed, inserted: &inserted, after: &after })
}

#[test]
fn n14_a_newer_read_replaces_the_same_lines_of_an_older_one() {
    let old = whole(TEXT);
    let left = old.clone().without(&seen(TEXT, 2, 4));
    assert_eq!(left, [seen(TEXT, 0, 2), seen(TEXT, 4, 8)]);
    assert_eq!(old.clone().without(&whole("x\n")), []);
    assert_eq!(seen(TEXT, 0, 2).without(&seen(TEXT, 2, 4)), [seen(TEXT, 0, 2)]);
    assert_eq!(seen(TEXT, 4, 6).without(&seen(TEXT, 2, 4)), [seen(TEXT, 4, 6)]);
}

#[test]
fn the_log_has_hashes_as_hexadecimal_digits() {
    let known = seen("a\nb\n", 1, 2);
    let json = serde_json::to_string(&known).expect("json");
    assert_eq!(json, format!(r#"{{"first":1,"to_end":true,"hashes":"{:012x}"}}"#, known.hashes[0].0));
    assert_eq!(serde_json::from_str::<KnownLines>(&json).expect("known"), known);
    for bad in [r#"{"first":0,"hashes":"12"}"#, r#"{"first":0,"hashes":"zzzzzzzzzzzz"}"#] {
        assert!(serde_json::from_str::<KnownLines>(bad).is_err(), "{bad}");
    }
}

/// A text of few different lines, so that many look alike.
fn text(lines: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-c]", lines)
        .prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

/// Replaces the lines from `at` on.
fn replaced(text: &[String], (at, count): (usize, usize), with: &[String]) -> Vec<String> {
    let (from, to) = (at.min(text.len()), (at + count).min(text.len()));
    [&text[..from], with, &text[to..]].concat()
}

proptest! {
    /// Lines from outside are other lines than those of the read, so each can be followed.
    #[test]
    fn n14_a_known_edit_removes_no_line_from_outside(
        before in text(0..14),
        outside in (0..14usize, 0..4usize, prop::collection::vec("[x-z]\n", 0..4)),
        edit in (0..16usize, 0..5usize, prop::collection::vec("[A-C]\n", 0..3)),
        shown in (0..14usize, 0..14usize),
    ) {
        let now = replaced(&before, (outside.0, outside.1), &outside.2);
        let after = replaced(&now, (edit.0, edit.1), &edit.2);
        let count = before.len();
        let (from, to) = (shown.0.min(shown.1).min(count), shown.0.max(shown.1).min(count));
        let known = [seen(&before.concat(), from, to)];
        let (now, after) = (now.concat(), after.concat());
        let text = KnownText::of(&known, &line_hashes(&now));
        let known: Vec<Hunk> =
            hunks(&now, &after).into_iter().filter(|hunk| text.freshness(hunk) == Freshness::Known).collect();
        let applied = apply_hunks(&now, &known).expect("the text is the one that they were made from");
        let of_outside = |text: &str| lines(text).filter(|line| "xyz".contains(&line[..1])).count();
        prop_assert_eq!(of_outside(&applied), of_outside(&now));
    }

    /// An edit of lines that were read, with a change from outside before or after them, is known, whatever the lines say.
    #[test]
    fn n14_an_edit_beyond_a_change_is_known_and_applies_byte_for_byte(
        head in prop::collection::vec("[a-c]\n", 0..6),
        tail in prop::collection::vec("[a-c]\n", 0..6),
        outside in prop::collection::vec("[x-z]\n", 1..4),
        above in any::<bool>(),
    ) {
        let (head, tail, outside) = (head.concat(), tail.concat(), outside.concat());
        let known = [whole(&format!("{head}old\nmark\n{tail}"))];
        let (now, after) = if above {
            (format!("{outside}{head}old\nmark\n{tail}"), format!("{outside}{head}new\nmark\n{tail}"))
        } else {
            (format!("{head}old\nmark\n{tail}{outside}"), format!("{head}new\nmark\n{tail}{outside}"))
        };
        prop_assert_eq!(judged(&known, &now, &after), [Freshness::Known]);
        prop_assert_eq!(apply_hunks(&now, &hunks(&now, &after)), Ok(after));
    }

    /// What the model knows after its own edits is what the file has.
    #[test]
    fn n14_the_known_lines_are_the_file_after_any_own_edits(
        before in text(0..14),
        edits in prop::collection::vec((0..16usize, 0..4usize, prop::collection::vec("[a-d]\n", 0..3)), 1..5),
    ) {
        let mut now = before;
        let mut known = whole(&now.concat());
        for (at, count, with) in edits {
            let after = replaced(&now, (at, count), &with);
            for hunk in hunks(&now.concat(), &after.concat()).iter().rev() {
                prop_assert!(follow(&mut known, hunk));
            }
            now = after;
            prop_assert!(known.stand_in(&line_hashes(&now.concat())), "{:?} {:?}", known, now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    /// Others write and delete characters and lines around a quoted text, and may write it once more: what is replaced is
    /// the place that was read, and only what was quoted goes.
    #[test]
    fn n14_an_edit_beside_what_others_wrote_removes_nothing_of_it(
        before in prop::collection::vec("[a-e]{1,3}", 1..8),
        quoted in (0..8usize, 0..3usize, 1..3usize),
        outside in prop::collection::vec((0..5usize, 0..10usize, 0..4usize, "[a-exyz]{1,3}"), 0..4),
        shown in (0..8usize, 0..8usize),
    ) {
        let line = quoted.0 % before.len();
        let from = quoted.1.min(before[line].len() - 1);
        let old = &before[line][from..(from + quoted.2).min(before[line].len())];
        // Each line with the number that it had; none for a new one.
        let mut all: Vec<(Option<usize>, String)> = before.iter().cloned().enumerate().map(|(at, text)| (Some(at), text)).collect();
        for (what, at, column, text) in outside {
            let count = all.len();
            match what {
                0 => all.insert(at % (count + 1), (None, text)),
                1 if count > 1 => drop(all.remove(at % count)),
                2 if count > 0 => {
                    let line = &mut all[at % count].1;
                    let end = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
                    line.truncate(end);
                    line.push_str(&text);
                }
                _ if count > 0 => {
                    let line = &mut all[at % count].1;
                    let place = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
                    line.insert_str(place, &text);
                }
                _ => {}
            }
        }
        let (from, to) = (shown.0.min(shown.1).min(before.len()), shown.0.max(shown.1).min(before.len()));
        let read = before.iter().map(|line| format!("{line}\n")).collect::<String>();
        if read.matches(old).count() != 1 || !(from..to).contains(&line) {
            return Ok(());
        }
        let now = all.iter().map(|(_, text)| format!("{text}\n")).collect::<String>();
        let known = KnownText::of(&[seen(&read, from, to)], &line_hashes(&now));
        if let Ok(place) = known.quoted_lines(&now, old) {
            prop_assert_eq!(place.len(), 1);
            let after = crate::text::locate::replace(&now, old, "Z", false).expect("it is there once");
            prop_assert_eq!(after.replace('Z', old), now.clone(), "other text went");
            let is_there = all[place.start].0 == Some(line);
            // The check cannot tell the removed line from a new one in its place, or with its text.
            let above = place.start.checked_sub(1).map(|at| all[at].0);
            let below = all.get(place.start + 1).map(|(number, _)| *number);
            let is_after = if line == 0 { above.is_none() } else { above == Some(Some(line - 1)) };
            let is_before = if line + 1 == before.len() { below.is_none() } else { below == Some(Some(line + 1)) };
            let (number, text) = &all[place.start];
            let stands_for = number.is_none() && (is_after || is_before || *text == before[line]);
            prop_assert!(is_there || stands_for,
                "{:?} in {:?}, read {:?} at {}", old, now, read, line);
        }
    }
}
