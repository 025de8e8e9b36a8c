//! What a formatter made of a text while the editor saved it after an edit.
//!
//! A user who types during the save changes the same lines. So only what adds and takes no word counts as a formatter's: all else
//! is the user's, and an undo says so before it takes it.

use std::collections::BTreeMap;

use super::{ExpectedText, HunkText, PastChange, PastHunk, Side, trace_all};
use crate::text::edit::lines;
use crate::text::review::{Hunk, hunks};

/// What a formatter changed when the editor saved an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formatting {
    /// By the hunks of the edit whose lines it changed, in their order: the lines in their place.
    pub inside: Vec<(String, String)>,
    /// How many lines it changed elsewhere.
    pub outside: u32,
}

/// Returns what differs from the text that the edit left. `before` is the text before the edit, `now` the text after the save.
pub fn formatting(before: &str, edit: &[Hunk], now: &str) -> Formatting {
    let past = |hunk| PastHunk { hunk, formatted: None, amended: None, expected: Side::After };
    let change = PastChange { before: Some(before), hunks: edit.iter().map(past).collect() };
    let all: Vec<&str> = lines(now).collect();
    let traces = trace_all(now, std::slice::from_ref(&change)).into_iter().flatten();
    let changed =
        edit.iter().zip(traces).filter(|(_, trace)| matches!(trace.found, HunkText::Amended { .. }));
    let inside: Vec<(String, String)> = changed
        .map(|(hunk, trace)| (hunk, all.get(trace.lines).unwrap_or_default().concat()))
        .filter(|(hunk, text)| has_the_words_of(&hunk.inserted.concat(), text))
        .map(|(hunk, text)| (hunk.id.clone(), text))
        .collect();
    let texts: BTreeMap<&str, &str> = inside.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let as_saved: Vec<PastHunk<'_>> = change
        .hunks
        .iter()
        .map(|past| PastHunk { formatted: texts.get(past.hunk.id.as_str()).copied(), ..*past })
        .collect();
    let elsewhere = ExpectedText::of(before, &as_saved).map(|text| hunks(&text.lines.concat(), now));
    let is_laid_out = |hunk: &&Hunk| has_the_words_of(&hunk.removed.concat(), &hunk.inserted.concat());
    let lines = |hunk: &Hunk| hunk.removed.len().max(hunk.inserted.len());
    let outside: usize = elsewhere.iter().flatten().filter(is_laid_out).map(lines).sum();
    Formatting { inside, outside: u32::try_from(outside).unwrap_or(u32::MAX) }
}

/// What formatters add, take and exchange around words.
const LAYOUT: &str = ",;'\"`(){}";

/// Whether two texts have the same words, in any order and layout.
fn has_the_words_of(one: &str, other: &str) -> bool {
    let words = |text: &str| {
        let is_between = |character: char| character.is_whitespace() || LAYOUT.contains(character);
        let mut letters: Vec<char> = text.chars().filter(|character| !is_between(*character)).collect();
        letters.sort_unstable();
        letters
    };
    words(one) == words(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n06_the_lines_of_the_edit_and_those_elsewhere_are_told_apart() {
        let before = "a  = 1\n.\n.\n.\n.\n.\nb = 2\n.\n.\n.\n.\n.\nc = 3\n";
        let after = "a  = 1\n.\n.\n.\n.\n.\nb  =  3\nd  = 4\n.\n.\n.\n.\n.\nc = 4\n";
        let edit = hunks(before, after);
        let saved = after.replace("  ", " ");
        let inside = vec![(edit[0].id.clone(), "b = 3\nd = 4\n".to_owned())];
        assert_eq!(formatting(before, &edit, &saved), Formatting { inside, outside: 1 });
        let elsewhere = after.replacen("a  = 1", "a = 1", 1);
        assert_eq!(formatting(before, &edit, &elsewhere), Formatting { inside: Vec::new(), outside: 1 });
        assert_eq!(formatting(before, &edit, after), Formatting::default());
    }

    #[test]
    fn n06_what_the_user_types_during_a_save_is_no_formatting() {
        let before = "a  = 1\n.\n.\n.\n.\n.\nb = 2\n";
        let edit = hunks(before, "a  = 1\n.\n.\n.\n.\n.\nb  =  3\n");
        let saved = "a = 1\n.\n.\n.\n.\n.\nb = 3;\n";
        let inside = vec![(edit[0].id.clone(), "b = 3;\n".to_owned())];
        assert_eq!(formatting(before, &edit, saved), Formatting { inside, outside: 1 });
        for typed in ["b = 3; // mine\n", "mine: b = 3\n", "b = 33\n", "b = 😀 3\n", "b =\n"] {
            let now = saved.replace("b = 3;\n", typed).replace("a = 1", "a = 1 mine");
            assert_eq!(formatting(before, &edit, &now), Formatting::default(), "{typed:?}");
        }
    }

    #[test]
    fn n06_formatted_lines_are_those_of_the_hunk_and_go_with_it() {
        let (before, after) = ("a\n.\n.\n.\nz\n", "a\nb  =  3\n.\n.\n.\nz\n");
        let edit = hunks(before, after);
        let past =
            PastHunk { hunk: &edit[0], formatted: Some("b = 3\n"), amended: None, expected: Side::After };
        let change = PastChange { before: Some(before), hunks: vec![past] };
        let found = |now: &str| trace_all(now, std::slice::from_ref(&change))[0][0].found;
        assert_eq!(found("a\nb = 3\n.\n.\n.\nz\n"), HunkText::Is(Side::After));
        assert_eq!(found("a\nb = 3!\n.\n.\n.\nz\n"), HunkText::Amended { others: 1 });
        assert_eq!(found(before), HunkText::Is(Side::Before));
        let target = crate::text::trace::SideTarget { change: 0, hunk: 0, seen: None };
        let undone = crate::text::trace::with_side(
            "a\nb = 3\n.\n.\n.\nz\n",
            std::slice::from_ref(&change),
            &[target],
            Side::Before,
        );
        assert_eq!(undone.as_deref(), Ok(before));
    }
}
