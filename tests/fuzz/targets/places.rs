//! Quoted text: found at its place, never chosen from several places, and the rest of the text stays.

use adjutant_core::text::edit::{apply_edits, text_edits};
use adjutant_core::text::locate::{EditFailure, NotLocated, Rung, locate, replace};
use adjutant_core::text::position::Encoding;

use super::{number, parts, text};

pub fn check(mut input: &[u8]) {
    let all = number(&mut input) % 2 == 1;
    let [before, old, new] = parts(input);
    let (before, old, new) = (text(before), text(old), text(new));
    let plain = [&before, &old, &new].iter().all(|text| !text.contains(['\r', '\u{feff}']));
    if plain && !old.is_empty() {
        counts(&before, &old);
    }
    let after = match replace(&before, &old, &new, all) {
        Ok(after) => after,
        Err(failure) => {
            assert!(!failure.to_string().is_empty());
            if let EditFailure::NotLocated(NotLocated::Ambiguous { times, .. }) = failure {
                assert!(!all && times > 1, "{times} places, with all = {all}");
            }
            return;
        }
    };
    assert_ne!(after, before, "success without a change");
    let located = locate(&before, &old, all).expect("replaced text can be located");
    assert!(all || located.places.len() == 1, "one of {} places was chosen", located.places.len());
    let mut rest: &str = &after;
    let mut done = 0;
    for place in &located.places {
        assert!(done <= place.range.start && place.range.start <= place.range.end, "{:?}", located.places);
        // The text between the places is unchanged in the result, and in the same order.
        let between = &before[done..place.range.start];
        rest = rest.strip_prefix(between).expect("the text before a place stays");
        let put = located.replacement(place, &new);
        rest = rest.strip_prefix(put.as_str()).expect("the replacement is at the place");
        done = place.range.end;
    }
    assert_eq!(rest, &before[done..]);
    let back = text_edits(&after, &before, Encoding::Utf16);
    assert_eq!(apply_edits(&after, &back, Encoding::Utf16).as_deref(), Ok(before.as_ref()));
    if plain && located.rung == Rung::Exact && !all {
        undone(&before, &after, (&old, &new), located.places[0].range.start);
    }
}

/// Compares with a simple count of occurrences, for texts whose only line end is `\n`.
fn counts(text: &str, old: &str) {
    let starts = text.char_indices().map(|(at, _)| at);
    let found: Vec<usize> = starts.filter(|at| text[*at..].starts_with(old)).collect();
    match (found.as_slice(), locate(text, old, false)) {
        ([], Ok(located)) => assert_ne!(located.rung, Rung::Exact),
        ([at], Ok(located)) => {
            assert_eq!(located.rung, Rung::Exact);
            assert_eq!(located.places[0].range, *at..at + old.len());
            assert_eq!(located.places[0].line, 1 + text[..*at].matches('\n').count());
        }
        ([], Err(_)) => {}
        ([_, _, ..], Err(NotLocated::Ambiguous { times, .. })) => assert!(times > 1),
        (found, outcome) => panic!("{old:?} is at {found:?}, but the outcome is {outcome:?}"),
    }
}

/// The reverse replacement restores the first text, if it finds the same place.
fn undone(before: &str, after: &str, (old, new): (&str, &str), at: usize) {
    if let Ok(located) = locate(after, new, false)
        && located.rung == Rung::Exact
        && located.places[0].range == (at..at + new.len())
    {
        assert_eq!(replace(after, new, old, false).as_deref(), Ok(before));
    }
}
