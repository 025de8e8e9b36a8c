//! Which lines of one text are which lines of another.

use std::ops::Range;

use similar::DiffOp;

use crate::text::edit::line_diff;

/// The most pairs of lines that are compared to align changed lines.
const MOST_PAIRS: usize = 10_000;
/// How much of two lines must be equal so that one counts as a changed form of the other, in thousandths.
const ALIKE: usize = 300;

/// The lines of an old text in a new one.
pub(super) struct Alignment {
    pieces: Vec<Piece>,
    /// The numbers of lines of both texts.
    ends: (usize, usize),
}

/// Lines of the old text and what they are in the new one.
struct Piece {
    old: Range<usize>,
    new: Range<usize>,
    is_equal: bool,
    /// For changed lines: for each boundary between two old lines, the new boundaries that it may be.
    splits: Option<Vec<Range<usize>>>,
    /// For changed lines: the old lines that the new text has in a changed form.
    alike: Vec<usize>,
}

impl Piece {
    /// Returns the new boundaries that the first or last boundary of the old lines may be.
    fn edge(&self, at: usize) -> Range<usize> {
        let whole = if at == 0 { self.new.start..self.new.start } else { self.new.end..self.new.end };
        self.splits.as_ref().and_then(|splits| splits.get(at)).cloned().unwrap_or(whole)
    }
}

impl Alignment {
    /// Compares two texts.
    pub(super) fn of(old: &[&str], new: &[&str]) -> Self {
        let same = |(one, other): &(&&str, &&str)| one == other;
        let head = old.iter().zip(new).take_while(same).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(same).count();
        let (middle_old, middle_new) = (head..old.len() - tail, head..new.len() - tail);
        let mut pieces = Vec::new();
        let equal = |old: Range<usize>, new: Range<usize>| Piece {
            old,
            new,
            is_equal: true,
            splits: None,
            alike: Vec::new(),
        };
        if head > 0 {
            pieces.push(equal(0..head, 0..head));
        }
        for op in line_diff(&old[middle_old.clone()], &new[middle_new.clone()]) {
            let (from, to) = (op.old_range(), op.new_range());
            let (from, to) = (from.start + head..from.end + head, to.start + head..to.end + head);
            if matches!(op, DiffOp::Equal { .. }) {
                pieces.push(equal(from, to));
            } else {
                push_change(&mut pieces, from, to);
            }
        }
        if tail > 0 {
            pieces.push(equal(middle_old.end..old.len(), middle_new.end..new.len()));
        }
        for piece in &mut pieces {
            if !piece.is_equal && !piece.old.is_empty() {
                let (from, to) = (&old[piece.old.clone()], &new[piece.new.clone()]);
                let Some(pairs) = pairs(from, to) else { continue };
                piece.alike = pairs.iter().map(|(line, _)| piece.old.start + line).collect();
                piece.splits = Some(splits(&pairs, (from.len(), to.len()), piece.new.start));
            }
        }
        Self { pieces, ends: (old.len(), new.len()) }
    }

    /// Returns how many lines the texts have in common.
    pub(super) fn equal_lines(&self) -> usize {
        self.pieces.iter().filter(|piece| piece.is_equal).map(|piece| piece.old.len()).sum()
    }

    /// Returns the new boundaries that a boundary between two old lines may be: several if lines were inserted there.
    /// `None` if it is inside lines that have become other lines.
    pub(super) fn boundary(&self, at: usize) -> Option<Range<usize>> {
        let first = self.pieces.partition_point(|piece| piece.old.end < at);
        let (mut low, mut high) = (None, None);
        for piece in &self.pieces[first..] {
            if piece.old.start > at {
                break;
            }
            if piece.old.start < at && at < piece.old.end {
                return self.inside(piece, at);
            }
            if piece.old.is_empty() {
                low = low.or(Some(piece.new.start));
                high = Some(piece.new.end);
            } else if piece.old.end == at {
                (low, high) = (Some(piece.edge(piece.old.len()).start), Some(piece.new.end));
            } else {
                low = low.or(Some(piece.new.start));
                high = Some(piece.edge(0).end);
            }
        }
        let end = if at == 0 { 0 } else { self.ends.1 };
        let low = low.unwrap_or(end);
        Some(low..high.unwrap_or(low))
    }

    fn inside(&self, piece: &Piece, at: usize) -> Option<Range<usize>> {
        if piece.is_equal {
            let new = piece.new.start + (at - piece.old.start);
            return Some(new..new);
        }
        if piece.new.is_empty() {
            return Some(piece.new.start..piece.new.start);
        }
        piece.splits.as_ref()?.get(at - piece.old.start).cloned()
    }

    /// Returns the nearest boundary at or before this one that both texts surely have: an end of the texts, or one inside
    /// or at an edge of equal lines.
    pub(super) fn fixed_at_or_before(&self, at: usize) -> usize {
        let is_fixed = |piece: &&Piece| piece.is_equal && piece.old.start <= at;
        self.pieces.iter().rev().find(is_fixed).map_or(0, |piece| at.min(piece.old.end))
    }

    /// Like [`Alignment::fixed_at_or_before`], in the other direction.
    pub(super) fn fixed_at_or_after(&self, at: usize) -> usize {
        let is_fixed = |piece: &&Piece| piece.is_equal && piece.old.end >= at;
        self.pieces.iter().find(is_fixed).map_or(self.ends.0, |piece| at.max(piece.old.start))
    }

    /// Returns the new boundary of a fixed one.
    pub(super) fn fixed(&self, at: usize) -> usize {
        let inside = |piece: &&Piece| piece.is_equal && piece.old.start <= at && at <= piece.old.end;
        match self.pieces.iter().find(inside) {
            Some(piece) => piece.new.start + (at - piece.old.start),
            None if at == 0 => 0,
            None => self.ends.1,
        }
    }

    /// Returns these new lines with all changed lines that touch a part of the old text.
    pub(super) fn touching(&self, old: &Range<usize>, new: &Range<usize>) -> Range<usize> {
        let is_beside = |piece: &&Piece| piece.old.start <= old.end && old.start <= piece.old.end;
        let changed = self.pieces.iter().filter(|piece| !piece.is_equal).filter(is_beside);
        changed.fold(new.clone(), |all, piece| all.start.min(piece.new.start)..all.end.max(piece.new.end))
    }

    /// Whether a line of this part of the old text is in the new text.
    pub(super) fn has_equal(&self, part: Range<usize>) -> bool {
        let equal = self.pieces.iter().filter(|piece| piece.is_equal);
        equal.into_iter().any(|piece| piece.old.start < part.end && part.start < piece.old.end)
    }

    /// Whether a line of this part of the old text is in the new text in a changed form.
    pub(super) fn has_alike(&self, part: &Range<usize>) -> bool {
        self.pieces.iter().flat_map(|piece| &piece.alike).any(|line| part.contains(line))
    }

    /// Returns how many new lines of a part are none of these old lines.
    pub(super) fn strangers(&self, new: &Range<usize>, old: &Range<usize>) -> usize {
        let own = |piece: &Piece| {
            let shift = piece.new.start as isize - piece.old.start as isize;
            let start = old.start.max(piece.old.start).saturating_add_signed(shift).max(new.start);
            let end = old.end.min(piece.old.end).saturating_add_signed(shift).min(new.end);
            if old.start.max(piece.old.start) < old.end.min(piece.old.end) {
                end.saturating_sub(start)
            } else {
                0
            }
        };
        let known: usize = self.pieces.iter().filter(|piece| piece.is_equal).map(own).sum();
        new.len().saturating_sub(known)
    }
}

/// Adds a change; changes next to each other are one.
fn push_change(pieces: &mut Vec<Piece>, old: Range<usize>, new: Range<usize>) {
    match pieces.last_mut() {
        Some(last) if !last.is_equal => {
            last.old.end = old.end;
            last.new.end = new.end;
        }
        _ => pieces.push(Piece { old, new, is_equal: false, splits: None, alike: Vec::new() }),
    }
}

/// Pairs old lines with new ones so that together they are as alike as possible, in the order of both. `None` if there are
/// too many to compare.
fn pairs<'a>(old: &[&'a str], new: &[&'a str]) -> Option<Vec<(usize, usize)>> {
    if old.len() * new.len() > MOST_PAIRS {
        return None;
    }
    let compared = |lines: &[&'a str]| lines.iter().map(|line| ComparedLine::of(line)).collect::<Vec<_>>();
    let (old, new) = (compared(old), compared(new));
    let width = new.len() + 1;
    // The best sum for the first lines of both.
    let mut best = vec![0_usize; (old.len() + 1) * width];
    for (i, one) in old.iter().enumerate() {
        for (j, other) in new.iter().enumerate() {
            let skipped = best[i * width + j + 1].max(best[(i + 1) * width + j]);
            let paired = one.likeness(other).map_or(0, |like| best[i * width + j] + like);
            best[(i + 1) * width + j + 1] = skipped.max(paired);
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (old.len(), new.len());
    while i > 0 && j > 0 {
        let here = best[i * width + j];
        if here == best[(i - 1) * width + j] {
            i -= 1;
        } else if here == best[i * width + j - 1] {
            j -= 1;
        } else {
            (i, j) = (i - 1, j - 1);
            pairs.push((i, j));
        }
    }
    pairs.reverse();
    Some(pairs)
}

/// Returns for each boundary between old lines, with those before the first and after the last, the new boundaries that may
/// be the same place. `counts` is how many old and new lines there are; `shift` is the number of the first new line.
fn splits(pairs: &[(usize, usize)], counts: (usize, usize), shift: usize) -> Vec<Range<usize>> {
    let (old, new) = counts;
    let boundary = |at: usize| {
        if pairs.is_empty() && (at == 0 || at == old) {
            // Nothing tells the lines apart, so all of them have become all of the others.
            let edge = if at == 0 { 0 } else { new };
            return edge..edge;
        }
        let before = pairs.iter().rev().find(|(line, _)| *line < at).map_or(0, |(_, line)| line + 1);
        let after = pairs.iter().find(|(line, _)| *line >= at).map_or(new, |(_, line)| *line);
        before..after
    };
    (0..=old).map(boundary).map(|range| range.start + shift..range.end + shift).collect()
}

/// A line that is compared with others.
struct ComparedLine<'a> {
    text: &'a str,
    /// In alphabetical order.
    words: Vec<&'a str>,
}

impl<'a> ComparedLine<'a> {
    fn of(line: &'a str) -> Self {
        let text = line.trim();
        let mut words: Vec<&str> = text.split(|char: char| !char.is_alphanumeric()).collect();
        words.retain(|word| !word.is_empty());
        words.sort_unstable();
        Self { text, words }
    }

    /// Returns how alike two lines are, in thousandths; `None` if one is not a changed form of the other.
    ///
    /// Somebody may have written at both ends of a line, so its words count as much as its ends.
    fn likeness(&self, other: &Self) -> Option<usize> {
        let (one, two) = (self.text, other.text);
        let total = one.len() + two.len();
        if total == 0 {
            return Some(ALIKE);
        }
        let head = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
        let rest = (one.bytes().skip(head).rev()).zip(two.bytes().skip(head).rev());
        let tail = rest.take_while(|(one, two)| one == two).count();
        let like = 2 * (head + tail).max(self.common_words(other)) * 1_000 / total;
        (like >= ALIKE).then_some(like)
    }

    /// Returns the length of the words that both have.
    fn common_words(&self, other: &Self) -> usize {
        let (mut one, mut two) = (self.words.as_slice(), other.words.as_slice());
        let mut common = 0;
        while let (Some((first, after)), Some((second, behind))) = (one.split_first(), two.split_first()) {
            match first.cmp(second) {
                std::cmp::Ordering::Less => one = after,
                std::cmp::Ordering::Greater => two = behind,
                std::cmp::Ordering::Equal => {
                    common += first.len();
                    (one, two) = (after, behind);
                }
            }
        }
        common
    }
}
