//! Hunks by example, and round trips of any two texts.

use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::machine_tests::spent::spent;
use crate::text::edit::tests::similar_texts;
use crate::text::position::tests::odd_text;

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

fn one(before: &str, after: &str) -> Hunk {
    let mut all = hunks(before, after);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn check(before: &str, after: &str, expected: Expect) {
    let show = |hunk: Hunk| {
        let side = |sign, lines: Vec<String>| {
            lines.into_iter().map(move |line| format!("{sign}{line:?}")).collect::<Vec<_>>()
        };
        let rows = [
            side(' ', hunk.context_before),
            side('-', hunk.removed),
            side('+', hunk.inserted),
            side(' ', hunk.context_after),
        ];
        format!("{} at {}\n{}\n", hunk.id, hunk.line, rows.concat().join("\n"))
    };
    expected.assert_eq(&hunks(before, after).into_iter().map(show).collect::<String>());
}

#[test]
fn hunks_have_three_lines_of_context_and_their_own_line_ends() {
    let before = numbered(12);
    let after = before.replace("line 2\n", "two\r\n").replace("line 8\n", "").replace("line 12\n", "line 12");
    check(
        &before,
        &after,
        expect![[r#"
        h1 at 1
         "line 1\n"
        -"line 2\n"
        +"two\r\n"
         "line 3\n"
         "line 4\n"
         "line 5\n"
        h2 at 7
         "line 5\n"
         "line 6\n"
         "line 7\n"
        -"line 8\n"
         "line 9\n"
         "line 10\n"
         "line 11\n"
        h3 at 11
         "line 9\n"
         "line 10\n"
         "line 11\n"
        -"line 12\n"
        +"line 12"
    "#]],
    );
}

#[test]
fn changes_close_together_are_one_hunk() {
    check(
        "a\nb\nc\nd\n",
        "A\nb\nc\nD\n",
        expect![[r#"
        h1 at 0
        -"a\n"
        -"b\n"
        -"c\n"
        -"d\n"
        +"A\n"
        +"b\n"
        +"c\n"
        +"D\n"
    "#]],
    );
    assert_eq!(hunks("same\n", "same\n"), []);
}

#[test]
fn context_grows_where_the_surroundings_repeat() {
    let before = format!("start\n{}end\n", "\n".repeat(8));
    let after = before.replacen('\n', "\n\n", 1);
    let hunk = one(&before, &after);
    assert!(hunk.context_before.len() > CONTEXT_LINES, "{hunk:?}");
    for typed in ["", "typed\n"] {
        assert_eq!(present(&format!("{typed}{before}"), &hunk), Presence::NotLanded);
        assert_eq!(present(&format!("{typed}{after}"), &hunk), Presence::Landed);
    }
}

#[test]
fn n05_a_landed_edit_is_told_from_the_text_whatever_is_typed_elsewhere() {
    let text = numbered(20);
    let changes = [
        ("insertion", text.replace("line 9\n", "line 9\nnew\n")),
        ("deletion", text.replace("line 9\n", "")),
        ("replacement", text.replace("line 9\n", "nine\n")),
        ("at the start", format!("new\n{text}")),
        ("at the end", format!("{text}new\n")),
        ("without the first", text.replace("line 1\n", "")),
        ("without the last", text.replace("line 20\n", "")),
    ];
    for (what, after) in changes {
        let hunk = one(&text, &after);
        let typings: [fn(&str) -> String; 5] = [
            |text| text.to_owned(),
            |text| format!("typed\n{text}"),
            |text| format!("{text}typed\n"),
            |text| text.replace("line 5\n", "line five\n"),
            |text| text.replace("line 15\n", "x\ny\n"),
        ];
        for typed in typings {
            let answer = |text: &str, clear| {
                if same_place(&hunk, text, &typed(text)) { Presence::Unclear } else { clear }
            };
            // Text typed where a line was added or removed fits both states.
            let inserts = !hunk.inserted.is_empty();
            let before = if inserts { answer(&text, Presence::NotLanded) } else { Presence::NotLanded };
            let landed = if inserts { Presence::Landed } else { answer(&after, Presence::Landed) };
            assert_eq!(present(&typed(&text), &hunk), before, "{what}");
            assert_eq!(present(&typed(&after), &hunk), landed, "{what}");
        }
    }
}

/// Whether text was typed at the edge of the text where the hunk adds or removes lines.
fn same_place(hunk: &Hunk, text: &str, typed: &str) -> bool {
    (hunk.removed.is_empty() || hunk.inserted.is_empty())
        && (hunk.context_before.is_empty() && typed.starts_with("typed") && !text.starts_with("typed")
            || hunk.context_after.is_empty() && typed.ends_with("typed\n") && !text.ends_with("typed\n"))
}

#[test]
fn n05_a_keystroke_in_the_context_of_one_side_changes_no_answer() {
    let text = numbered(20);
    for after in [
        text.replace("line 9\n", "line 9\nnew\n"),
        text.replace("line 9\n", ""),
        text.replace("line 9\n", "nine\n"),
    ] {
        let hunk = one(&text, &after);
        for near in ["line 7\n", "line 8\n", "line 11\n", "line 12\n"] {
            let typed = |text: &str| text.replace(near, "typed\n");
            assert_eq!(present(&typed(&text), &hunk), Presence::NotLanded, "{near} {hunk:?}");
            assert_eq!(present(&typed(&after), &hunk), Presence::Landed, "{near} {hunk:?}");
            assert_eq!(apply_hunks(&typed(&text), std::slice::from_ref(&hunk)).unwrap(), typed(&after));
        }
    }
}

#[test]
fn n05_typing_in_an_added_function_does_not_hide_that_it_landed() {
    let function = |name: &str| format!("fn {name}() {{\n    {name}_call();\n}}\n\n");
    let before = function("a") + &function("c");
    let after = function("a") + &function("b") + &function("c");
    let hunk = one(&before, &after);
    assert_eq!(present(&after.replace("fn b()", "fn bee()"), &hunk), Presence::Unclear);
    assert_eq!(present(&before.replace("fn c()", "fn see()"), &hunk), Presence::NotLanded);
}

#[test]
fn n05_an_edit_of_the_hunk_itself_is_unclear() {
    let text = numbered(20);
    let after = text.replace("line 9\n", "line 9\nnew\n}\n");
    let hunk = one(&text, &after);
    assert_eq!(present(&after.replace("new\n", "newer\n"), &hunk), Presence::Unclear);
    let replaced = one(&text, &text.replace("line 9\n", "nine\n"));
    assert_eq!(present(&text.replace("line 9\n", "neun\n"), &replaced), Presence::Unclear);
    assert_eq!(
        placement(&text.replace("line 9\n", "neun\n"), &replaced),
        Placement::Conflict {
            why: "the lines it changes, or those around them, are not there any more".into(),
        }
    );
}

#[test]
fn n05_the_empty_new_file_and_the_emptied_one() {
    let hunk = one("", "a\nb\n");
    assert_eq!(present("", &hunk), Presence::NotLanded);
    assert_eq!(present("a\nb\n", &hunk), Presence::Landed);
    assert_eq!(present("typed\na\nb\n", &hunk), Presence::Landed);
    assert_eq!(present("a\nb\ntyped", &hunk), Presence::Landed);
    assert_eq!(present("other\n", &hunk), Presence::Unclear);
    assert!(matches!(placement("other\n", &hunk), Placement::Conflict { .. }));
    let emptied = one("a\nb\n", "");
    assert_eq!(present("a\nb\n", &emptied), Presence::NotLanded);
    assert_eq!(present("", &emptied), Presence::Landed);
}

#[test]
fn n14_a_hunk_moves_with_its_lines_and_says_whether_they_are_unchanged() {
    let text = numbered(20);
    let hunk = one(&text, &text.replace("line 9\n", "nine\n"));
    assert_eq!(placement(&text, &hunk), Placement::At { line: 8, unchanged: true });
    assert_eq!(placement(&format!("a\nb\n{text}"), &hunk), Placement::At { line: 10, unchanged: true });
    assert_eq!(
        placement(&text.replace("line 7\n", "seven\n"), &hunk),
        Placement::At { line: 8, unchanged: false }
    );
    let landed = format!("a\n{}", text.replace("line 9\n", "nine\n"));
    assert_eq!(placement(&landed, &hunk), Placement::AlreadyThere { line: 9 });
    assert_eq!(apply_hunks(&landed, &[hunk]).unwrap(), landed, "is not applied twice");
}

#[test]
fn n14_of_several_places_only_the_original_one_counts() {
    let block = "{\na\nb\nc\nd\ne\nf\ng\n}\n";
    let text = block.repeat(9);
    let mut after: Vec<&str> = lines(&text).collect();
    after[9 * 4 + 4] = "D\n";
    let hunk = one(&text, &after.concat());
    assert_eq!(placement(&text, &hunk), Placement::At { line: 40, unchanged: true });
    assert_eq!(
        placement(&format!("typed\n{text}"), &hunk),
        Placement::Conflict {
            why: "its lines are in several places, lines 6, 15, 24, 33, 42 and more".into(),
        }
    );
}

#[test]
fn finding_c3_a_hunk_goes_with_the_lines_it_replaces_when_those_around_it_change() {
    let before = numbered(9);
    let hunk = one(&before, &before.replace("line 5\n", "five\n"));
    let made = |now: &str| {
        let hunks = follow(&before, now, std::slice::from_ref(&hunk))?;
        Some(apply_hunks(now, &hunks).unwrap())
    };
    let typed = |changes: &[(&str, &str)]| {
        changes.iter().fold(before.clone(), |text, (from, to)| text.replace(from, to))
    };
    for now in [
        typed(&[("line 4", "line 4, mine")]),
        typed(&[("line 4", "mine"), ("line 6", "mine too")]),
        typed(&[("line 4\n", "line 4\nmine\n"), ("line 6\n", "mine\nline 6\n")]),
        typed(&[("line 2\nline 3\n", ""), ("line 6\nline 7\n", "")]),
    ] {
        assert_eq!(made(&now).as_deref(), Some(now.replace("line 5\n", "five\n").as_str()), "{now}");
    }
    for now in [
        // The line is changed, occurs twice, is gone, or has other lines around it.
        typed(&[("line 5", "line 5, mine"), ("line 4", "mine")]),
        typed(&[("line 4", "line 5"), ("line 6", "mine")]),
        typed(&[("line 5\n", ""), ("line 4", "mine")]),
        typed(&[
            ("line 4", "a"),
            ("line 3", "b"),
            ("line 2", "c"),
            ("line 6", "d"),
            ("line 7", "e"),
            ("line 8", "f"),
        ]),
        // The user made the same change by hand on the neighbouring line.
        typed(&[("line 4", "five"), ("line 6", "mine")]),
    ] {
        assert_eq!(made(&now), None, "{now}");
    }
    // An insertion replaces no lines that it could move with, and blank lines do not identify a place.
    let before = "\n\n\nx\n\n\n\n";
    let hunk = one(before, "\n\n\ny\n\n\n\n");
    let moved = "\n\nmine\nx\nmine\n\n\n";
    assert_eq!(follow(before, moved, &[hunk]), None);
    let before = numbered(9);
    let hunk = one(&before, &before.replace("line 5\n", "line 5\nnew\n"));
    assert_eq!(follow(&before, &before.replace("line 6", "mine"), &[hunk]), None);
}

#[test]
fn n14_lines_never_run_into_one() {
    let at_end = one("a\n", "a\nb\n");
    assert!(matches!(placement("a", &at_end), Placement::Conflict { .. }));
    let open = one("a\nb\nc\nd\n", "a\nb\nc\ne");
    let grown = "a\nb\nc\nd\ntyped\n";
    assert_eq!(
        placement(grown, &open),
        Placement::Conflict { why: "it ends the file without a line end, and the file goes on now".into() }
    );
}

#[test]
fn conflicts_are_all_named_and_nothing_is_applied() {
    let text = numbered(30);
    let after =
        text.replace("line 5\n", "five\n").replace("line 15\n", "").replace("line 25\n", "twenty-five\n");
    let all = hunks(&text, &after);
    let typed = text.replace("line 5\n", "x\n").replace("line 25\n", "y\n");
    let report = apply_hunks(&typed, &all).unwrap_err();
    assert_eq!(
        report.to_string(),
        "apply hunk \"h1\": the lines it changes, or those around them, are not there any more; hunk \"h3\": the lines it changes, or those around them, are not there any more"
    );
    assert_eq!(apply_hunks(&typed, &all[1..2]).unwrap(), typed.replace("line 15\n", ""));
    let twice = [all[0].clone(), Hunk { id: "h9".into(), ..all[0].clone() }];
    assert_eq!(
        apply_hunks(&text, &twice).unwrap_err().to_string(),
        "apply hunk \"h9\": its lines are also those of hunk \"h1\""
    );
}

#[test]
fn a_diff_shows_all_hunks_and_says_what_is_no_whole_line() {
    let shown =
        |before: &str, after: &str| unified_diff("src/a b.rs", !before.is_empty(), &hunks(before, after));
    let old = numbered(20);
    expect![[r#"
        --- a/src/a b.rs
        +++ b/src/a b.rs
        @@ -1,5 +1,6 @@
         line 1
        -line 2
        +two
        +and a half
         line 3
         line 4
         line 5
        @@ -16,5 +17,4 @@
         line 16
         line 17
         line 18
        -line 19
         line 20
    "#]]
    .assert_eq(&shown(&old, &old.replace("line 2\n", "two\nand a half\n").replace("line 19\n", "")));
    expect![[r#"
        --- /dev/null
        +++ b/src/a b.rs
        @@ -0,0 +1,1 @@
        +a
        \ No newline at end of file
    "#]]
    .assert_eq(&shown("", "a"));
    expect![[r#"
        --- a/src/a b.rs
        +++ b/src/a b.rs
        @@ -1,2 +0,0 @@
        -a
        -b
    "#]]
    .assert_eq(&shown("a\nb\n", ""));
    let carriage = shown("a\rb\r", "a\rc\r").replace('\r', "␍");
    expect![[r#"
        --- a/src/a b.rs
        +++ b/src/a b.rs
        @@ -1,2 +1,2 @@
         a␍
        \ Ends with a carriage return alone
        -b␍
        \ Ends with a carriage return alone
        +c␍
        \ Ends with a carriage return alone
    "#]]
    .assert_eq(&carriage);
}

#[test]
fn many_hunks_and_many_equal_lines_take_bounded_time() {
    let started = spent();
    let before = "x\ny\nz\n\n}\n".repeat(6_000);
    let after: String =
        lines(&before).enumerate().map(|(n, line)| if n % 30 == 7 { "w\n" } else { line }).collect();
    // The number of hunks depends on the time limit of the diff; their correctness does not.
    let all = hunks(&before, &after);
    assert!(!all.is_empty() && all.len() <= 1_000, "{} hunks", all.len());
    assert_eq!(apply_hunks(&before, &all).unwrap(), after);
    let blank = "\n".repeat(100_000);
    let hunk = one(&blank, &"\n".repeat(100_500));
    assert_eq!(apply_hunks(&blank, &[hunk]).unwrap().len(), 100_500);
    assert!(spent() - started < Duration::from_secs(10), "took {:?}", spent() - started);
}

/// Reads a diff as a person does: the first character gives each row its meaning, and only `\n` ends a row.
fn read_diff(diff: &str) -> Vec<(char, String)> {
    let mut read: Vec<(char, String)> = Vec::new();
    for row in diff.split_inclusive('\n').skip_while(|row| !row.starts_with("@@")) {
        match (row.split_at(1), read.last_mut()) {
            (("@", _), _) => {}
            // It says that the line before has another line end than its row.
            (("\\", _), Some((_, line))) => assert_eq!(line.pop(), Some('\n')),
            ((sign, line), _) => read.extend(sign.chars().map(|sign| (sign, line.to_owned()))),
        }
    }
    read
}

/// Applies a diff as a tool does: the lines of each head come after those of the head before.
fn follow_diff(before: &str, diff: &str) -> String {
    let old: Vec<&str> = lines(before).collect();
    let (mut after, mut done) = (String::new(), 0);
    let heads: Vec<usize> = diff.match_indices("@@ -").map(|(at, _)| at).collect();
    for (index, at) in heads.iter().enumerate() {
        let part = &diff[*at..heads.get(index + 1).copied().unwrap_or(diff.len())];
        let (start, rest) = part["@@ -".len()..].split_once(',').unwrap();
        let (count, _) = rest.split_once(' ').unwrap();
        let (start, count): (usize, usize) = (start.parse().unwrap(), count.parse().unwrap());
        let start = if count == 0 { start } else { start - 1 };
        assert!(start > done || index == 0, "the head at line {start} is within the one before in\n{diff}");
        after.extend(old[done..start].iter().copied());
        let rows = read_diff(part);
        let of = |but: char| rows.iter().filter(move |(sign, _)| *sign != but).map(|(_, line)| line.as_str());
        assert_eq!(of('+').collect::<Vec<_>>(), old[start..start + count], "{diff}");
        after.extend(of('-'));
        done = start + count;
    }
    after.extend(old[done..].iter().copied());
    after
}

/// Two texts with distinct lines that have a part in common.
fn distinct_texts() -> impl Strategy<Value = (String, String)> {
    let kinds = proptest::collection::vec(0..6_usize, 1..40);
    kinds.prop_map(|kinds| {
        let (mut before, mut after) = (String::new(), String::new());
        for (n, kind) in kinds.into_iter().enumerate() {
            let kept = if kind == 1 { None } else { Some(format!("line {n}\r\n")) };
            let made = match kind {
                0 => Some(format!("other {n}\n")),
                2 => None,
                _ => Some(format!("line {n}\r\n")),
            };
            before.extend(kept);
            after.extend(made);
        }
        (before, after)
    })
}

/// Two texts with most functions in common. All functions end with the same lines.
fn functions() -> impl Strategy<Value = (String, String)> {
    let function = |n: usize, changed: bool| {
        let name = if changed { "other" } else { "name" };
        format!("fn {name}_{n}() {{\n    if x {{\n        call_{n}();\n    }}\n}}\n\n")
    };
    proptest::collection::vec(0..6_usize, 1..10).prop_map(move |kinds| {
        let (mut before, mut after) = (String::new(), String::new());
        for (n, kind) in kinds.into_iter().enumerate() {
            before += &if kind == 0 { String::new() } else { function(n, false) };
            after += &if kind == 1 { String::new() } else { function(n, kind == 2) };
        }
        (before, after)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn n05_hunks_lead_from_one_text_to_the_other_and_are_never_misjudged((before, after) in similar_texts(24)) {
        let all = hunks(&before, &after);
        prop_assert_eq!(all.is_empty(), before == after);
        prop_assert_eq!(apply_hunks(&before, &all).unwrap(), after.clone());
        let judged = present_all(&after, &all);
        for (index, hunk) in all.iter().enumerate() {
            prop_assert_eq!(present(&after, hunk), judged[index]);
            prop_assert_eq!(&hunk.id, &format!("h{}", index + 1));
            // These texts repeat a few lines: `Unclear` is allowed, a wrong answer is not.
            prop_assert_ne!(present(&before, hunk), Presence::Landed);
            prop_assert_ne!(present(&after, hunk), Presence::NotLanded);
        }
    }

    #[test]
    fn n05_hunks_of_odd_texts_lead_there_too(before in odd_text(30), after in odd_text(30)) {
        prop_assert_eq!(apply_hunks(&before, &hunks(&before, &after)).unwrap(), after);
    }

    #[test]
    fn n05_distinct_lines_always_give_a_clear_answer((before, after) in distinct_texts(), typed in 0..3_usize) {
        let typed = |text: &str| match typed {
            0 => text.to_owned(),
            1 => format!("typed\n{text}"),
            _ => format!("{text}typed\n"),
        };
        let all = hunks(&before, &after);
        let at_edge = |hunk: &Hunk| same_place(hunk, &before, &typed(&before));
        for hunk in &all {
            let (not_yet, landed) = (present(&typed(&before), hunk), present(&typed(&after), hunk));
            if at_edge(hunk) {
                prop_assert!(not_yet != Presence::Landed && landed != Presence::NotLanded);
            } else {
                prop_assert_eq!(not_yet, Presence::NotLanded);
                prop_assert_eq!(landed, Presence::Landed);
            }
        }
        if !all.iter().any(at_edge) {
            prop_assert_eq!(apply_hunks(&typed(&before), &all).unwrap(), typed(&after));
            prop_assert_eq!(apply_hunks(&typed(&after), &all).unwrap(), typed(&after));
        }
    }

    #[test]
    fn n05_no_single_keystroke_makes_the_answer_wrong(
        (before, after) in prop_oneof![distinct_texts(), functions()], at in any::<prop::sample::Index>(), insert in any::<bool>(),
    ) {
        let typed = |text: &str| {
            let mut all: Vec<&str> = lines(text).collect();
            let place = at.index(all.len() + 1);
            let replaced = usize::from(!insert && place < all.len());
            all.splice(place..place + replaced, ["typed\n"]);
            all.concat()
        };
        for hunk in hunks(&before, &after) {
            prop_assert_ne!(present(&typed(&before), &hunk), Presence::Landed);
            prop_assert_ne!(present(&typed(&after), &hunk), Presence::NotLanded);
        }
    }

    #[test]
    fn n04_each_hunk_may_be_applied_alone_in_any_order((before, after) in distinct_texts(), seed in any::<u64>()) {
        let mut left = hunks(&before, &after);
        let mut text = before;
        let mut seed = seed;
        while !left.is_empty() {
            let hunk = left.remove(seed as usize % left.len());
            seed = seed.rotate_left(7) ^ 0x9e37;
            prop_assert_eq!(present(&text, &hunk), Presence::NotLanded);
            text = apply_hunks(&text, std::slice::from_ref(&hunk)).unwrap();
            prop_assert_eq!(present(&text, &hunk), Presence::Landed);
        }
        prop_assert_eq!(text, after);
    }

    #[test]
    fn finding_d11_a_diff_shows_every_line_once_and_leads_from_one_text_to_the_other(
        (before, after) in similar_texts(60),
    ) {
        let all = hunks(&before, &after);
        let diff = unified_diff("a", true, &all);
        prop_assert_eq!(follow_diff(&before, &diff), after);
        let rows = read_diff(&diff);
        for hunk in &all {
            let own: Vec<&String> = [&hunk.context_before, &hunk.removed].into_iter().flatten().collect();
            let old: Vec<&String> = rows.iter().filter(|(sign, _)| *sign != '+').map(|(_, line)| line).collect();
            prop_assert!(own.is_empty() || old.windows(own.len()).any(|rows| rows == own), "{:?}", hunk);
        }
    }

    #[test]
    fn any_hunk_on_any_text_is_judged_without_panic(
        text in odd_text(14), made in (odd_text(8), odd_text(8)), line in 0..20_usize,
    ) {
        for hunk in hunks(&made.0, &made.1) {
            let hunk = Hunk { line, ..hunk };
            if let Ok(result) = apply_hunks(&text, std::slice::from_ref(&hunk)) {
                let there = matches!(placement(&text, &hunk), Placement::AlreadyThere { .. });
                prop_assert_eq!(result == text, there);
            }
        }
    }
}

#[test]
fn finding_b11_a_hunk_among_blank_lines_does_not_move_into_another_function() {
    let function = |name: &str, body: &str| format!("fn {name}() {{\n\n\n\n{body}\n\n\n}}\n\n\n\n");
    let before = function("one", "    x = 1;") + &function("two", "    y = 2;");
    let after = before.replace("x = 1", "x = 10");
    let hunk = one(&before, &after);
    assert!(hunk.context_before.iter().any(|line| line.contains("fn one")), "{hunk:?}");
    // The function is gone, and another function has the same line.
    let moved = function("other", "    x = 1;") + &function("two", "    y = 2;");
    let placed = placement(&moved, &hunk);
    assert!(!matches!(placed, Placement::At { unchanged: true, .. }), "{placed:?}");
    // A hunk of an older log has only blank lines as context.
    let blank = || vec!["\n".to_owned(); 3];
    let bare = Hunk { context_before: blank(), context_after: blank()[..2].to_vec(), ..hunk };
    let shifted = "use a;\n".to_owned() + &moved;
    let placed = placement(&shifted, &bare);
    assert!(!matches!(placed, Placement::At { unchanged: true, .. }), "{placed:?}");
}

/// Checks that the results for all hunks at once equal the results for each hunk alone.
fn all_at_once_as_one_by_one(text: &str, hunks: &[Hunk]) {
    let presences: Vec<Presence> = hunks.iter().map(|hunk| present(text, hunk)).collect();
    assert_eq!(present_all(text, hunks), presences);
    let places: Vec<Placement> = hunks.iter().map(|hunk| placement(text, hunk)).collect();
    assert_eq!(placement_all(text, hunks), places);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn n05_all_hunks_at_once_are_where_each_is_by_itself(
        (before, after) in similar_texts(24), other in odd_text(30),
    ) {
        let all = hunks(&before, &after);
        for text in [&before, &after, &other] {
            all_at_once_as_one_by_one(text, &all);
        }
    }
}

/// A text of a part that repeats, with lines that tell the repetitions apart, and the same with a few lines replaced or removed.
pub(super) fn edited_texts() -> impl Strategy<Value = (String, String)> {
    let part = proptest::collection::vec(0..9_usize, 3..12);
    let apart = proptest::collection::vec((any::<prop::sample::Index>(), 10..60_usize), 1..9);
    let edits = proptest::collection::vec((any::<prop::sample::Index>(), 0..3_usize, 0..70_usize), 1..4);
    (part, 2..9_usize, apart, edits).prop_map(|(part, times, apart, edits)| {
        let mut before = part.repeat(times);
        apart.into_iter().for_each(|(at, kind)| before[at.index(part.len() * times)] = kind);
        let mut after = before.clone();
        for (at, removed, kind) in edits {
            let at = at.index(after.len());
            let end = after.len().min(at + removed);
            after.splice(at..end, [kind]);
        }
        let text = |kinds: Vec<usize>| kinds.iter().map(|kind| format!("line {kind}\n")).collect();
        (text(before), text(after))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn n05_lines_that_are_not_searched_for_change_no_hunk(
        (before, after) in prop_oneof![similar_texts(60), edited_texts()],
    ) {
        let (old, new): (Vec<&str>, Vec<&str>) = (lines(&before).collect(), lines(&after).collect());
        let every_line = Interner::of(old.iter().chain(&new).copied());
        prop_assert_eq!(hunks_of(&old, &new, &changes(&old, &new), &every_line), hunks(&before, &after));
    }
}

/// The text is read once for all hunks. Otherwise each of a thousand hunks would read five megabytes.
#[test]
fn n05_a_thousand_hunks_are_found_in_five_megabytes_at_once() {
    let line = |n: usize| format!("    let value_{n} = compute({n}); // {}\n", n % 7);
    let before: String = (0..125_000).map(line).collect();
    let changed = |n: usize| if n % 125 == 60 { format!("changed {n}\n") } else { line(n) };
    let after: String = (0..125_000).map(changed).collect();
    // Written by hand, because a diff of this size would use up its time limit.
    let around = |lines: Range<usize>| lines.map(line).collect();
    let hunk = |n: usize| Hunk {
        id: format!("h{n}"),
        line: n,
        removed: vec![line(n)],
        inserted: vec![changed(n)],
        context_before: around(n - 3..n),
        context_after: around(n + 1..n + 4),
    };
    let all: Vec<Hunk> = (60..125_000).step_by(125).map(hunk).collect();
    assert!(before.len() > 5_000_000 && all.len() == 1_000, "{} bytes, {} hunks", before.len(), all.len());
    let started = spent();
    let typed = format!("// typed above\n{after}");
    assert!(present_all(&typed, &all).iter().all(|presence| *presence == Presence::Landed));
    let at =
        |(place, hunk): (&Placement, &Hunk)| *place == Placement::At { line: hunk.line, unchanged: true };
    assert!(placement_all(&before, &all).iter().zip(&all).all(at));
    assert!(spent() - started < Duration::from_secs(10), "took {:?}", spent() - started);
}

/// An order of the campaign, reduced: other changes of the same lines were undone, so the text looks as if it had this one.
#[test]
fn n05_a_change_that_was_never_made_is_not_in_its_context() {
    let before = "# Title\n\n- one\nagent9\n- two\n- three\n\n## Part\n\ntext\nagent6\ntext\nagent7\nend";
    let after = "# Title\n\n- one\nagent9\n- two\n- three\n\n\n## Part\n\ntext\ntext\nagent7\nend";
    let now = "# Title\n\n- one\n- two\n- three\n- one\n\n## Part\n\ntext\ntext\ntext\nend";
    let change = hunks(before, after);
    assert!(present_all(now, &change).iter().all(|one| *one == Presence::Landed), "so it looks");
    assert!(!has_in_context(now, &change));
    assert!(has_in_context(after, &change) && has_in_context(&format!("mine\n{after}"), &change));
    assert!(!has_in_context(before, &change));
}
