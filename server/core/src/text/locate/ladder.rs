//! The rungs: the comparisons that find a quotation in a text.
//!
//! Never does more than linear work for ordinary text, and has a fixed budget for all other text.

use std::ops::Range;

use super::view::{Fold, View};
use super::{MAX_CANDIDATES, Rung, Shift};

/// The most matches that cut a character before a rung gives up.
const MAX_CUT: usize = 1_000;
/// The most places of whole lines that are found.
pub(crate) const MAX_LINE_PLACES: usize = 10_000;
/// The most lines that a rung compares.
const MAX_COMPARED: usize = 4_000_000;

/// A match in the body of a file.
pub(super) struct Match {
    pub range: Range<usize>,
    pub shift: Option<Shift>,
    pub lacks_line_end: bool,
}

/// Which matches of a quotation are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchLimit {
    /// Up to one more than an error names. They may overlap, because overlapping ones are ambiguous too.
    Few,
    /// All that do not overlap.
    All,
    /// All that begin a line, up to [`MAX_LINE_PLACES`]. They may overlap.
    Lines,
}

impl MatchLimit {
    /// Returns how many matches are enough.
    fn most(self) -> usize {
        match self {
            MatchLimit::Few => MAX_CANDIDATES + 1,
            MatchLimit::All => usize::MAX,
            MatchLimit::Lines => MAX_LINE_PLACES,
        }
    }
}

/// Returns the first rung that finds anything, with its matches in order.
pub(super) fn climb(body: &str, old: &str, all: MatchLimit) -> Option<(Rung, Vec<Match>)> {
    let found = |rung, matches: Vec<Match>| (!matches.is_empty()).then_some((rung, matches));
    let view = |fold| View::new(body, fold).complete(body.len());

    let exact = View::new(old, Fold::LineEnds).text;
    if let Some(result) = found(Rung::Exact, substrings(&View::new(body, Fold::LineEnds), &exact, all)) {
        return Some(result);
    }
    // A quotation of white space alone would match too much in a lenient comparison.
    if old.trim().is_empty() {
        return None;
    }
    let (trimmed, text) = (View::new(old, Fold::TrailingSpace).text, view(Fold::TrailingSpace));
    found(Rung::TrailingSpace, substrings(&text, &trimmed, all))
        .or_else(|| found(Rung::Indentation, shifted(&text, &trimmed, all)))
        .or_else(|| {
            // A quotation of zero-width characters alone is blank in this view.
            let (plain, text) = (View::new(old, Fold::Typography).text, view(Fold::Typography));
            if plain.trim().is_empty() {
                return None;
            }
            found(Rung::Typography, substrings(&text, &plain, all))
                .or_else(|| found(Rung::Typography, shifted(&text, &plain, all)))
        })
}

fn substrings(view: &View, wanted: &str, all: MatchLimit) -> Vec<Match> {
    let mut matches = Vec::new();
    let (mut from, mut cut) = (0, 0);
    if wanted.is_empty() {
        return matches;
    }
    while matches.len() < all.most()
        && cut <= MAX_CUT
        && let Some(at) = view.text[from..].find(wanted).map(|at| from + at)
    {
        let end = at + wanted.len();
        let origin = view.origin(at..end);
        let next_char = at + view.text[at..].chars().next().map_or(1, char::len_utf8);
        from = if all == MatchLimit::All && origin.is_some() { end } else { next_char };
        if all == MatchLimit::Lines && at > 0 && !view.text[..at].ends_with('\n') {
            continue;
        }
        match origin {
            Some(range) => matches.push(Match {
                range,
                shift: None,
                lacks_line_end: view.completed && end == view.text.len() && wanted.ends_with('\n'),
            }),
            None => cut += 1,
        }
    }
    matches
}

/// One line of a view.
struct ViewLine<'v> {
    /// From its beginning to the end of its content, in bytes.
    bounds: Range<usize>,
    indent: &'v str,
    content: &'v str,
}

/// Finds whole lines that all differ by the same indentation.
fn shifted(view: &View, wanted: &str, all: MatchLimit) -> Vec<Match> {
    let text_lines = split(&view.text);
    let wanted_lines = split(wanted);
    let mut matches = Vec::new();
    let Some(key) = wanted_lines.iter().position(|line| !line.content.is_empty()) else {
        return matches;
    };
    let (mut window, mut compared) = (0, 0);
    while matches.len() < all.most()
        && compared <= MAX_COMPARED
        && window + wanted_lines.len() <= text_lines.len()
    {
        let candidate = &text_lines[window..window + wanted_lines.len()];
        window += 1;
        if candidate[key].content != wanted_lines[key].content {
            continue;
        }
        let Some(shift) = shift_of(candidate[key].indent, wanted_lines[key].indent) else {
            continue;
        };
        let fitting =
            candidate.iter().zip(&wanted_lines).take_while(|(have, want)| fits(have, want, &shift)).count();
        compared += fitting + 1;
        if fitting < wanted_lines.len() {
            continue;
        }
        let with_line_end = wanted.ends_with('\n');
        let start = candidate[0].bounds.start;
        let end = candidate[fitting - 1].bounds.end + usize::from(with_line_end);
        if let Some(range) = view.origin(start..end) {
            let lacks_line_end = view.completed && with_line_end && end == view.text.len();
            matches.push(Match { range, shift: Some(shift), lacks_line_end });
            if all == MatchLimit::All {
                window += wanted_lines.len() - 1;
            }
        }
    }
    matches
}

fn split(text: &str) -> Vec<ViewLine<'_>> {
    let mut at = 0;
    let line = |line: &str| {
        let start = at;
        at += line.len();
        start..start + line.strip_suffix('\n').unwrap_or(line).len()
    };
    let bounds: Vec<Range<usize>> = text.split_inclusive('\n').map(line).collect();
    bounds
        .into_iter()
        .map(|bounds| {
            let line = &text[bounds.clone()];
            let content = line.trim();
            ViewLine { indent: &line[..line.len() - line.trim_start().len()], content, bounds }
        })
        .collect()
}

fn shift_of(have: &str, want: &str) -> Option<Shift> {
    if have == want {
        return None;
    }
    match (have.strip_suffix(want), want.strip_suffix(have)) {
        (Some(more), _) => Some(Shift::Deeper(more.to_owned())),
        (_, Some(less)) => Some(Shift::Shallower(less.to_owned())),
        _ => None,
    }
}

fn fits(have: &ViewLine<'_>, want: &ViewLine<'_>, shift: &Shift) -> bool {
    if have.content != want.content {
        return false;
    }
    // The indentation of a blank line means nothing.
    have.content.is_empty()
        || match shift {
            Shift::Deeper(by) => have.indent.strip_prefix(by.as_str()) == Some(want.indent),
            Shift::Shallower(by) => want.indent.strip_prefix(by.as_str()) == Some(have.indent),
        }
}
