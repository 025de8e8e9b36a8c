//! Finds the hunks of a patch in a text, and replaces them.
//!
//! Never picks the first of several places: the order of the hunks and the `@@` lines have to say which one is meant.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{BadPatch, Lines, PatchFailure, PatchHunk, hunks};
use crate::text::document::MAX_DOCUMENT_BYTES;
use crate::text::edit::{LineEnd, LineEnds, line_end, lines, push_line, split_bom, with_line_ends};
use crate::text::locate::{MAX_CANDIDATES, MAX_LINE_PLACES, Occurrence, locate_lines, nearest_to};

/// The most bytes of a text times hunks: each hunk is searched in the text.
const MAX_SEARCHED: usize = 2 << 30;
/// The most places of a `@@` line that are looked at.
const MAX_HEADS: usize = 100;
/// An edit that was made before is only recognised by so many characters: a brace is in every file.
const DISTINCTIVE: usize = 8;

/// Returns the text of a file after the hunks of a patch.
///
/// Lines that a hunk keeps have the bytes of the file. Other lines get its line ends, and its indentation if that differs.
pub fn updated(text: &str, patch: &str) -> Result<String, PatchFailure> {
    let all = hunks(&mut Lines::of(patch)).map_err(PatchFailure::Bad)?;
    if all.is_empty() {
        let why = "it has no hunks".to_owned();
        return Err(PatchFailure::Bad(BadPatch { line: 0, why }));
    }
    if all.len().saturating_mul(text.len()) > MAX_SEARCHED {
        return Err(PatchFailure::TooLarge);
    }
    let start = text.len() - split_bom(text).1.len();
    let (mut cursor, mut made): (usize, Vec<(Range<usize>, String)>) = (start, Vec::new());
    for (index, hunk) in all.iter().enumerate() {
        let number = index + 1;
        let (range, new) = placed(text, start, cursor, hunk, number)?;
        if made.iter().any(|(other, _)| overlaps(other, &range)) {
            return Err(PatchFailure::Overlap { hunk: number });
        }
        cursor = cursor.max(range.end);
        made.push((range, new));
    }
    made.sort_by_key(|(range, _)| (range.start, range.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in made {
        result.push_str(&text[done..range.start]);
        push_line(&mut result, &new);
        done = range.end;
        if result.len() > MAX_DOCUMENT_BYTES {
            return Err(PatchFailure::TooLarge);
        }
    }
    result.push_str(&text[done..]);
    match result {
        large if large.len() > MAX_DOCUMENT_BYTES => Err(PatchFailure::TooLarge),
        same if same == text => Err(PatchFailure::NoChange),
        result => Ok(result),
    }
}

fn overlaps(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Returns the bytes that a hunk replaces, and by what. `start` is where the text begins after a byte order mark, `cursor`
/// where the hunk before ends.
fn placed(
    text: &str,
    start: usize,
    cursor: usize,
    hunk: &PatchHunk,
    number: usize,
) -> Result<(Range<usize>, String), PatchFailure> {
    if hunk.old.is_empty() {
        return insertion(text, start, cursor, hunk, number);
    }
    if hunk.at_end
        && let Some(found) = at_end(text, start, hunk)
    {
        return Ok(found);
    }
    let after = candidates(text, cursor, hunk);
    let after = match after {
        // Hunks are in the order of the file, but a place that is the only one cannot be another.
        None if cursor > start => candidates(text, start, hunk),
        found => found,
    };
    let Some(Candidates { location, places }) = after else { return Err(missing(text, hunk, number)) };
    if let [only] = places.as_slice() {
        return Ok((only.range.clone(), location.replacement(only, &hunk.new)));
    }
    // What is beyond the limit is not known, so that nothing is unique.
    let knows_all = places.len() < MAX_LINE_PLACES;
    let scopes = if hunk.heads.is_empty() || !knows_all {
        Vec::new()
    } else {
        scopes(text, start, cursor, &hunk.heads)
    };
    // In the innermost block that a `@@` line begins, else anywhere after that line.
    for inside in [true, false] {
        let is_in = |place: &&Occurrence| {
            scopes.iter().any(|scope| {
                let end = if inside { scope.block } else { text.len() };
                (scope.head.start..end).contains(&place.range.start)
            })
        };
        let mut found = places.iter().filter(is_in);
        if let (Some(only), None) = (found.next(), found.next()) {
            return Ok((only.range.clone(), location.replacement(only, &hunk.new)));
        }
    }
    let lines: BTreeSet<usize> = places.iter().map(|place| place.line).take(MAX_CANDIDATES).collect();
    let more = places.len() > MAX_CANDIDATES;
    Err(PatchFailure::Ambiguous { hunk: number, lines: lines.into_iter().collect(), more })
}

struct Candidates<'t> {
    location: crate::text::locate::Location<'t>,
    places: Vec<Occurrence>,
}

/// Returns all places of the old lines of a hunk after `from`.
fn candidates<'t>(text: &'t str, from: usize, hunk: &'t PatchHunk) -> Option<Candidates<'t>> {
    let mut location = locate_lines(text, from, &hunk.old)?;
    let places = std::mem::take(&mut location.places);
    Some(Candidates { location, places })
}

/// Returns the place of a hunk whose lines are the last of the text.
fn at_end(text: &str, start: usize, hunk: &PatchHunk) -> Option<(Range<usize>, String)> {
    let begins: Vec<usize> = lines(&text[start..])
        .scan(start, |at, line| {
            let begin = *at;
            *at += line.len();
            Some(begin)
        })
        .collect();
    // Models do not see empty lines at the end.
    let blank = lines(&text[start..]).collect::<Vec<_>>();
    let blank = blank.iter().rev().take_while(|line| line.trim().is_empty()).count();
    let count = hunk.old.matches('\n').count();
    let tail = |extra: usize| {
        let first = begins.len().checked_sub(count + extra)?;
        let location = locate_lines(text, *begins.get(first)?, &hunk.old)?;
        let end = begins.get(begins.len() - extra).copied().unwrap_or(text.len());
        let is_last = |place: &&Occurrence| place.range.end == end && place.range.start == begins[first];
        let place = location.places.iter().find(is_last)?;
        Some((place.range.clone(), location.replacement(place, &hunk.new)))
    };
    tail(0).or_else(|| (1..=blank).find_map(tail))
}

/// Returns where a hunk without old lines is added: after its `@@` line, else at the end of the file.
fn insertion(
    text: &str,
    start: usize,
    cursor: usize,
    hunk: &PatchHunk,
    number: usize,
) -> Result<(Range<usize>, String), PatchFailure> {
    let style = LineEnds::of(text).dominant().unwrap_or_default();
    let new = with_line_ends(&hunk.new, style).into_owned();
    if hunk.heads.is_empty() || hunk.at_end {
        return Ok((text.len()..text.len(), at_the_end(text, start, new, style)));
    }
    let scopes = scopes(text, start, cursor, &hunk.heads);
    match scopes.as_slice() {
        [scope] => {
            let at = scope.head.end;
            let new = if line_end(&text[scope.head.clone()]).is_empty() {
                at_the_end(text, start, new, style)
            } else {
                new
            };
            Ok((at..at, new))
        }
        [] => {
            let head = hunk.heads.last().cloned().unwrap_or_default();
            Err(PatchFailure::NoHead { hunk: number, head: super::excerpt(&head) })
        }
        many => {
            let line = |scope: &Scope| lines(&text[..scope.head.start]).count() + 1;
            let lines = many.iter().take(MAX_CANDIDATES).map(line).collect();
            Err(PatchFailure::ManyHeads { hunk: number, lines, more: many.len() > MAX_CANDIDATES })
        }
    }
}

/// Returns lines as they follow the last line of a text. If that has no line end, neither has the new last line.
fn at_the_end(text: &str, start: usize, mut new: String, style: LineEnd) -> String {
    if text.len() > start && !text.ends_with(['\n', '\r']) {
        new.insert_str(0, style.as_str());
        new.truncate(new.len() - style.as_str().len());
    }
    new
}

/// Where a `@@` line is, and the block that it begins.
struct Scope {
    /// The line, in bytes.
    head: Range<usize>,
    /// Where the block ends.
    block: usize,
}

/// Returns the places of the innermost `@@` line of a hunk, each inside the places of the lines before it.
fn scopes(text: &str, start: usize, cursor: usize, heads: &[String]) -> Vec<Scope> {
    let found = scopes_from(text, cursor, heads);
    // The head may be before the hunk before, in the same function.
    if found.is_empty() && cursor > start { scopes_from(text, start, heads) } else { found }
}

fn scopes_from(text: &str, from: usize, heads: &[String]) -> Vec<Scope> {
    let rest = from..text.len();
    let mut within: Vec<Range<usize>> = vec![rest];
    let mut found: Vec<Scope> = Vec::new();
    for head in heads {
        let all = within.iter().flat_map(|part| head_lines(text, part.clone(), head));
        let mut known = BTreeSet::new();
        let all = all.filter(|head| known.insert(head.start)).take(MAX_HEADS);
        found = all.map(|head| Scope { block: block_end(text, &head), head }).collect();
        within = found.iter().map(|scope| scope.head.end..scope.block).collect();
    }
    found
}

/// Returns the lines of a part of a text that a `@@` line names: equal ones, else those that begin with it.
fn head_lines(text: &str, part: Range<usize>, head: &str) -> Vec<Range<usize>> {
    let mut at = part.start;
    let mut all: Vec<(Range<usize>, &str)> = Vec::new();
    for line in lines(&text[part]) {
        all.push((at..at + line.len(), line.trim()));
        at += line.len();
    }
    let of = |is: &dyn Fn(&str) -> bool| -> Vec<Range<usize>> {
        all.iter().filter(|(_, line)| is(line)).map(|(range, _)| range.clone()).collect()
    };
    let goes_on = |line: &str| {
        line.strip_prefix(head)
            .and_then(|rest| rest.chars().next())
            .is_some_and(|c| !c.is_alphanumeric() && c != '_')
    };
    let equal = of(&|line| line == head);
    if equal.is_empty() { of(&goes_on) } else { equal }
}

/// Returns where the block of a line ends: at the next line with no more indentation that begins with a word.
fn block_end(text: &str, head: &Range<usize>) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(&text[head.clone()]);
    let mut at = head.end;
    for line in lines(&text[head.end..]) {
        let begins_word =
            line.trim_start().starts_with(|c: char| c.is_alphanumeric() || "_@#\"'/<".contains(c));
        if begins_word && indent(line) <= own {
            return at;
        }
        at += line.len();
    }
    text.len()
}

/// Returns the failure of a hunk whose old lines are not in the text.
fn missing(text: &str, hunk: &PatchHunk, number: usize) -> PatchFailure {
    let is_distinctive = hunk.new.chars().filter(|c| !c.is_whitespace()).count() >= DISTINCTIVE;
    if is_distinctive
        && let Some(found) = locate_lines(text, text.len() - split_bom(text).1.len(), &hunk.new)
        && let [only] = found.places.as_slice()
        && found.rung == crate::text::locate::Rung::Exact
    {
        return PatchFailure::AlreadyThere { hunk: number, line: only.line };
    }
    PatchFailure::Missing { hunk: number, nearest: nearest_to(text, &hunk.old) }
}
