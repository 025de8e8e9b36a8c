//! Lines as numbers, and a search for runs of lines.
//!
//! Never compares the text of two lines twice. A text is read once for any number of searches. Only the lines that are
//! searched for have numbers of their own, because most lines of a long text never are.

use std::collections::HashMap;

/// The number of a line that is not in the text; it matches nothing.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// The number of all lines that are not searched for.
const OTHER: u32 = 0;

/// The lines that are searched for: equal lines have equal numbers.
#[derive(Default)]
pub(super) struct Interner<'t> {
    ids: HashMap<&'t str, u32>,
    /// For each length in bytes, whether a line has it: most other lines need no look at their text.
    lengths: Vec<bool>,
}

impl<'t> Interner<'t> {
    /// Returns the numbers of these lines.
    pub(super) fn of(lines: impl IntoIterator<Item = &'t str>) -> Self {
        let mut interner = Self::default();
        for line in lines {
            let next = u32::try_from(interner.ids.len() + 1).unwrap_or(UNKNOWN);
            interner.ids.entry(line).or_insert(next);
            interner.lengths.resize(interner.lengths.len().max(line.len() + 1), false);
            interner.lengths[line.len()] = true;
        }
        interner
    }

    /// Returns the number of a line of a text.
    fn number(&self, line: &str) -> u32 {
        match self.lengths.get(line.len()) {
            Some(true) => self.ids.get(line).copied().unwrap_or(OTHER),
            _ => OTHER,
        }
    }

    /// Returns the index of the lines of a text.
    pub(super) fn index(&self, lines: &[&str]) -> LineIndex {
        LineIndex::new(lines.iter().map(|line| self.number(line)).collect())
    }

    /// Returns the numbers of lines that are searched for, with [`UNKNOWN`] for those that the text does not have.
    pub(super) fn known<'l>(&self, lines: impl IntoIterator<Item = &'l str>, text: &LineIndex) -> Vec<u32> {
        let in_text = |line: &str| {
            let id = self.ids.get(line).copied().filter(|id| !text.lines_of(*id).is_empty());
            id.unwrap_or(UNKNOWN)
        };
        lines.into_iter().map(in_text).collect()
    }
}

/// The numbers of the lines of a text, and where each number occurs.
pub(super) struct LineIndex {
    ids: Vec<u32>,
    /// The lines sorted by their number, then by their order in the text.
    by_id: Vec<u32>,
    /// For each number, where its lines begin in `by_id`; then the length of `by_id`.
    starts: Vec<u32>,
}

impl LineIndex {
    /// Returns the index of these numbers.
    pub(super) fn new(ids: Vec<u32>) -> Self {
        let kinds = ids.iter().max().map_or(0, |most| *most as usize + 1);
        let mut starts = vec![0_u32; kinds + 1];
        ids.iter().for_each(|id| starts[*id as usize + 1] += 1);
        for id in 0..kinds {
            starts[id + 1] += starts[id];
        }
        let (mut next, mut by_id) = (starts.clone(), vec![0; ids.len()]);
        for (line, id) in (0..).zip(&ids) {
            let next = &mut next[*id as usize];
            by_id[*next as usize] = line;
            *next += 1;
        }
        Self { ids, by_id, starts }
    }

    /// Returns the numbers in the order of the text.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the lines of one number, in order.
    pub(super) fn lines_of(&self, id: u32) -> &[u32] {
        let end = |id: u32| self.starts.get(id as usize).map(|at| *at as usize);
        let range = end(id).zip(id.checked_add(1).and_then(end));
        range.and_then(|(start, end)| self.by_id.get(start..end)).unwrap_or_default()
    }

    /// Returns where a run of lines occurs, in order; places may overlap. An empty run occurs nowhere.
    pub(super) fn find_all(&self, pattern: &[u32]) -> Vec<usize> {
        let rarest = pattern.iter().enumerate().min_by_key(|(_, id)| self.lines_of(**id).len());
        let Some((before, id)) = rarest else { return Vec::new() };
        let lines = self.lines_of(*id);
        if lines.len().saturating_mul(pattern.len()) > self.ids.len() {
            // The line is frequent, so one pass over the text costs less.
            return find_all(&self.ids, pattern);
        }
        let starts = lines.iter().filter_map(|line| (*line as usize).checked_sub(before));
        starts.filter(|start| self.ids[*start..].starts_with(pattern)).collect()
    }
}

/// Returns where a run of lines occurs, in order; places may overlap (Knuth, Morris, Pratt).
///
/// An empty run occurs nowhere.
fn find_all(text: &[u32], pattern: &[u32]) -> Vec<usize> {
    let mut found = Vec::new();
    if pattern.is_empty() || pattern.len() > text.len() || pattern.contains(&UNKNOWN) {
        return found;
    }
    let borders = borders(pattern);
    let mut matched = 0;
    for (at, line) in text.iter().enumerate() {
        while matched > 0 && (matched == pattern.len() || pattern[matched] != *line) {
            matched = borders[matched - 1];
        }
        if pattern[matched] == *line {
            matched += 1;
        }
        if matched == pattern.len() {
            found.push(at + 1 - matched);
        }
    }
    found
}

/// Returns for each prefix the length of its longest proper border.
fn borders(pattern: &[u32]) -> Vec<usize> {
    let mut borders = vec![0; pattern.len()];
    let mut length = 0;
    for at in 1..pattern.len() {
        while length > 0 && pattern[at] != pattern[length] {
            length = borders[length - 1];
        }
        if pattern[at] == pattern[length] {
            length += 1;
        }
        borders[at] = length;
    }
    borders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn every_occurrence_is_found(
            text in (1..30_u32).prop_flat_map(|kinds| proptest::collection::vec(0..kinds, 0..40)),
            pattern in proptest::collection::vec(0..4_u32, 1..6),
        ) {
            let naive: Vec<usize> = (0..text.len()).filter(|at| text[*at..].starts_with(&pattern)).collect();
            prop_assert_eq!(find_all(&text, &pattern), naive.clone());
            prop_assert_eq!(LineIndex::new(text).find_all(&pattern), naive);
        }
    }
}
