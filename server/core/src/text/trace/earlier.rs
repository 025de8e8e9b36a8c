//! An earlier text, made from the text of now by taking hunks out, and where its lines are now.

use std::ops::Range;

use super::{HunkNumber, PastChange, Side};

/// A text without the hunks that were taken out of it.
pub(super) struct EarlierText<'a> {
    pub(super) lines: Vec<&'a str>,
    /// For each line, the hunks that were taken out in its place.
    over_lines: Vec<Vec<HunkNumber>>,
    /// For each boundary between lines, its place in the text of now. One more than lines.
    boundaries: Vec<Boundary>,
}

/// A boundary between two lines.
#[derive(Clone, Default)]
struct Boundary {
    /// The boundary of now where lines begin that begin here. What was taken out at this boundary is before it.
    as_start: usize,
    /// The boundary of now where lines end that end here. What was taken out at this boundary is after it.
    as_end: usize,
    /// The hunks that were taken out here and have left no line.
    over: Vec<HunkNumber>,
}

impl<'a> EarlierText<'a> {
    /// Returns the text of now.
    pub(super) fn of(lines: Vec<&'a str>) -> Self {
        let boundary = |at| Boundary { as_start: at, as_end: at, over: Vec::new() };
        Self {
            over_lines: vec![Vec::new(); lines.len()],
            boundaries: (0..=lines.len()).map(boundary).collect(),
            lines,
        }
    }

    /// Returns the lines of now for lines of this text.
    pub(super) fn lines_of_now(&self, lines: &Range<usize>) -> Range<usize> {
        let end = self.boundaries[lines.end].as_end;
        let start = if lines.is_empty() { end } else { self.boundaries[lines.start].as_start };
        start..end.max(start)
    }

    /// Returns the hunks that were taken out inside these lines; for a place between two lines, those that were taken out with
    /// both lines.
    pub(super) fn hunks_inside(&self, lines: &Range<usize>) -> Vec<HunkNumber> {
        if lines.is_empty() {
            let above = lines.start.checked_sub(1).and_then(|above| self.over_lines.get(above));
            let below = self.over_lines.get(lines.start);
            let (above, below) = (above.into_iter().flatten(), below.map_or(&[][..], Vec::as_slice));
            return above.filter(|hunk| below.contains(hunk)).copied().collect();
        }
        let between = self.boundaries.get(lines.start + 1..lines.end).unwrap_or_default();
        let over = self.over_lines[lines.clone()].iter().chain(between.iter().map(|boundary| &boundary.over));
        let mut hunks: Vec<HunkNumber> = over.flatten().copied().collect();
        hunks.sort_unstable();
        hunks.dedup();
        hunks
    }

    /// Takes hunks of a change out: their removed lines take the place of their lines. `taken` has the number of each hunk
    /// and its lines, in order.
    pub(super) fn take_out(
        &mut self,
        number: usize,
        change: &PastChange<'a>,
        taken: &[(usize, Range<usize>)],
    ) {
        let mut result =
            Self { lines: Vec::new(), over_lines: Vec::new(), boundaries: vec![self.boundaries[0].clone()] };
        let mut done = 0;
        for (index, lines) in taken {
            if lines.start < done {
                continue;
            }
            result.copy(self, done..lines.start);
            let mut over = self.hunks_inside(lines);
            over.push((number, *index));
            let (before, after) = (&self.boundaries[lines.start], &self.boundaries[lines.end]);
            let removed = change.hunks[*index].side(Side::Before);
            // Lines that stand for others begin and end where these do.
            let inside = Boundary { as_start: before.as_start, as_end: after.as_end, over: Vec::new() };
            for (at, line) in removed.iter().enumerate() {
                result.lines.push(line);
                result.over_lines.push(over.clone());
                let is_last = at + 1 == removed.len();
                result.boundaries.push(if is_last { after.clone() } else { inside.clone() });
            }
            if let Some(boundary) = result.boundaries.last_mut().filter(|_| removed.is_empty()) {
                let hunks = boundary.over.iter().chain(&after.over).copied().chain(over);
                let hunks = hunks.collect();
                *boundary = Boundary { as_start: after.as_start, as_end: before.as_end, over: hunks };
            }
            done = lines.end;
        }
        result.copy(self, done..self.lines.len());
        *self = result;
    }

    /// Appends lines of another text, each with the boundary after it.
    fn copy(&mut self, from: &Self, lines: Range<usize>) {
        self.lines.extend(&from.lines[lines.clone()]);
        self.over_lines.extend_from_slice(&from.over_lines[lines.clone()]);
        self.boundaries.extend_from_slice(&from.boundaries[lines.start + 1..=lines.end]);
    }
}
