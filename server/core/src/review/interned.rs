//! Lines as numbers, and a search for runs of them in linear time.
//!
//! Never compares the text of two lines twice.

use std::collections::HashMap;

/// A line that does not occur in the text, and so matches nothing.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Gives equal lines equal numbers.
#[derive(Default)]
pub(super) struct Interner<'t> {
    ids: HashMap<&'t str, u32>,
}

impl<'t> Interner<'t> {
    /// Returns the number of a line, a new one if the line is new.
    pub(super) fn add(&mut self, line: &'t str) -> u32 {
        let next = u32::try_from(self.ids.len()).unwrap_or(UNKNOWN);
        *self.ids.entry(line).or_insert(next)
    }

    /// Returns the numbers of lines, of which some may not be known.
    pub(super) fn known(&self, lines: &[String]) -> Vec<u32> {
        lines.iter().map(|line| self.ids.get(line.as_str()).copied().unwrap_or(UNKNOWN)).collect()
    }

    /// Returns how many different lines there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Returns where a run of lines occurs, also overlapping, in order (Knuth, Morris, Pratt).
///
/// An empty run occurs nowhere.
pub(super) fn find_all(text: &[u32], pattern: &[u32]) -> Vec<usize> {
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
            text in proptest::collection::vec(0..3_u32, 0..40), pattern in proptest::collection::vec(0..3_u32, 1..6),
        ) {
            let naive: Vec<usize> = (0..text.len()).filter(|at| text[*at..].starts_with(&pattern)).collect();
            prop_assert_eq!(find_all(&text, &pattern), naive);
        }
    }
}
