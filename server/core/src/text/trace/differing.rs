//! The part of long texts in which they differ: what is the same before and after it needs no comparison line by line.

use super::{HunkText, PastChange, PastHunk, Trace};
use crate::text::edit::{lines, prefix_of_lines};
use crate::text::review::Hunk;

/// A text of fewer bytes is compared whole.
const LONG: usize = 256 * 1024;
/// How many equal lines around the part belong to it: more than are compared to find a hunk.
const MARGIN: usize = 300;

/// The part of a text of now, and the changes as if there were no more of it.
pub(super) struct DifferingPart<'a> {
    /// The text before the part, the part, and the text after it.
    pub(super) now: [&'a str; 3],
    /// The number of lines before the part.
    first: usize,
    /// The texts before the changes and their hunks, in the lines of the part.
    changes: Vec<(&'a str, Vec<Hunk>, &'a [PastHunk<'a>])>,
}

impl<'a> DifferingPart<'a> {
    /// Returns the part; `None` if the text is short, or if the part would be nearly all of it.
    pub(super) fn of(now: &'a str, changes: &'a [PastChange<'a>]) -> Option<Self> {
        if now.len() < LONG { None } else { Self::cut(now, changes) }
    }

    /// As [`DifferingPart::of`], also of a short text.
    pub(super) fn cut(now: &'a str, changes: &'a [PastChange<'a>]) -> Option<Self> {
        if changes.is_empty() {
            return None;
        }
        let befores: Vec<&str> = changes.iter().map(|change| change.before).collect::<Option<_>>()?;
        let equal_head = befores.iter().map(|before| common_head(now.as_bytes(), before.as_bytes())).min()?;
        // What is equal behind the first hunk belongs to the tail, if it can.
        let lines_of_hunks = changes.iter().flat_map(|change| &change.hunks).map(|past| past.hunk.line);
        let to_hunks = lines_of_hunks.min().map_or(now.len(), |line| prefix_of_lines(now, line).len());
        let equal_head = equal_head.min(to_hunks);
        let equal_tail = |before: &&str| {
            let rest = now.len().min(before.len()) - equal_head;
            common_tail(now.as_bytes(), before.as_bytes()).min(rest)
        };
        let equal_tail = befores.iter().map(equal_tail).min()?;
        // Both end behind a line feed, which ends a line of every kind.
        let head = &now[..line_start(now, equal_head)];
        let tail = now.len() - equal_tail;
        let end_of_line = now.as_bytes()[tail..].iter().position(|byte| *byte == b'\n');
        let tail = end_of_line.map_or("", |end| &now[tail + end + 1..]);
        let (head_lines, all_tail_lines) = (lines(head).count(), lines(tail).count());
        let (mut first, mut last) = (head_lines, all_tail_lines);
        for (change, before) in changes.iter().zip(&befores) {
            let middle = before.len().checked_sub(head.len() + tail.len())?;
            let count = head_lines + lines(&before[head.len()..head.len() + middle]).count();
            let start = change.hunks.iter().map(|past| past.hunk.line).min().unwrap_or(usize::MAX);
            let end =
                change.hunks.iter().map(|past| past.hunk.line.saturating_add(past.hunk.removed.len())).max();
            // Lines of a hunk belong to the part, also where they are equal.
            first = first.min(start);
            last = last.min(all_tail_lines.checked_sub(end.unwrap_or(0).saturating_sub(count))?);
        }
        let first = first.saturating_sub(MARGIN);
        let skipped = all_tail_lines - last.saturating_sub(MARGIN);
        let head = prefix_of_lines(head, first);
        let tail = &tail[prefix_of_lines(tail, skipped).len()..];
        if head.len() + tail.len() < now.len() / 2 {
            return None;
        }
        let part = |text: &'a str| &text[head.len()..text.len() - tail.len()];
        let shifted = |past: &PastHunk<'_>| Hunk { line: past.hunk.line - first, ..past.hunk.clone() };
        let of_part = |(change, before): (&'a PastChange<'a>, &&'a str)| {
            (part(before), change.hunks.iter().map(shifted).collect(), change.hunks.as_slice())
        };
        let changes = changes.iter().zip(&befores).map(of_part).collect();
        Some(Self { now: [head, part(now), tail], first, changes })
    }

    /// Returns the changes, whose lines are those of the part.
    pub(super) fn changes(&self) -> Vec<PastChange<'_>> {
        self.changes
            .iter()
            .map(|(before, hunks, past)| PastChange {
                before: Some(before),
                hunks: hunks.iter().zip(*past).map(|(hunk, past)| PastHunk { hunk, ..*past }).collect(),
            })
            .collect()
    }

    /// Returns traces in the lines of the whole text.
    pub(super) fn whole(&self, mut traces: Vec<Vec<Trace>>) -> Vec<Vec<Trace>> {
        for trace in traces.iter_mut().flatten().filter(|trace| trace.found != HunkText::Gone) {
            trace.lines = trace.lines.start + self.first..trace.lines.end + self.first;
        }
        traces
    }
}

/// Returns the begin of the line that has this byte, by line feeds alone.
fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

/// How many bytes are compared at once.
const BLOCK: usize = 4096;

/// Returns how many bytes are equal at the begin of two texts.
fn common_head(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
    let equal = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    equal + one[equal..].iter().zip(&other[equal..]).take_while(|(one, other)| one == other).count()
}

/// Returns how many bytes are equal at the end of two texts.
fn common_tail(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.rchunks_exact(BLOCK).zip(other.rchunks_exact(BLOCK));
    let equal = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let (one, other) = (&one[..one.len() - equal], &other[..other.len() - equal]);
    equal + one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::review::hunks;
    use crate::text::trace::side::turn_whole;
    use crate::text::trace::{Side, SideTarget, UserText, trace_whole};

    /// Lines that are the same in all texts; some repeat.
    fn around(name: &str) -> String {
        (0..900)
            .map(|line| if line % 7 == 0 { "}\n".to_owned() } else { format!("{name} {line}\r\n") })
            .collect()
    }

    fn edited(text: &str, edits: &[(usize, usize, Vec<String>)]) -> String {
        let mut all: Vec<&str> = lines(text).collect();
        for (at, remove, insert) in edits {
            let at = at % (all.len() + 1);
            let end = (at + remove).min(all.len());
            all.splice(at..end, insert.iter().map(String::as_str));
        }
        all.concat()
    }

    proptest! {
        #[test]
        fn the_part_in_which_texts_differ_is_as_good_as_the_whole(
            middle in prop::collection::vec("[ab}]{0,1}\n", 0..20),
            rounds in prop::collection::vec(prop::collection::vec((any::<usize>(), 0..4_usize, prop::collection::vec("[ab}]{0,1}\n", 0..3)), 1..4), 1..4),
            typed in prop::collection::vec((any::<usize>(), 0..3_usize, prop::collection::vec("[abu]{0,1}\n", 0..3)), 0..3),
        ) {
            let (head, tail) = (around("head"), around("tail"));
            let whole = |text: &str| format!("{head}{text}{tail}");
            let mut texts = vec![middle.concat()];
            for edits in &rounds {
                texts.push(edited(texts.last().expect("a text"), edits));
            }
            let now = whole(&edited(texts.last().expect("a text"), &typed));
            let texts: Vec<String> = texts.iter().map(|text| whole(text)).collect();
            let made: Vec<Vec<Hunk>> = texts.windows(2).map(|pair| hunks(&pair[0], &pair[1])).collect();
            let past = |hunk| PastHunk { hunk, formatted: None, amended: None, expected: Side::After };
            let befores = texts.iter().map(|text| Some(text.as_str()));
            let of_hunks = made.iter().map(|hunks| hunks.iter().map(past).collect::<Vec<_>>());
            let changes: Vec<PastChange<'_>> =
                befores.zip(of_hunks).map(|(before, hunks)| PastChange { before, hunks }).collect();
            let window = DifferingPart::cut(&now, &changes).expect("most of the text is the same");
            prop_assert!(lines(window.now[1]).count() < 2 * MARGIN + 100, "it has little more than the margins");
            prop_assert_eq!(window.now.concat(), now.as_str());
            prop_assert_eq!(window.whole(trace_whole(window.now[1], &window.changes())), trace_whole(&now, &changes));
            let hunks = |(number, change): (usize, &PastChange<'_>)| {
                (0..change.hunks.len()).map(move |hunk| SideTarget { change: number, hunk, seen: None }).collect::<Vec<_>>()
            };
            let targets: Vec<SideTarget> = changes.iter().enumerate().flat_map(hunks).collect();
            let turned = turn_whole(window.now[1], &window.changes(), &targets, Side::Before, UserText::Any);
            let expected = turn_whole(&now, &changes, &targets, Side::Before, UserText::Any);
            prop_assert_eq!([window.now[0], &turned.text, window.now[2]].concat(), expected.text);
            prop_assert_eq!(turned.results, expected.results);
        }
    }
}
