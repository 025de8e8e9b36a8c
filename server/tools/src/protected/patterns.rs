//! Compares the folded names of a path with the patterns of the table.
//!
//! `name` matches a file or folder of that name, `a/b` one in a folder `a`. With a slash at its end, a pattern
//! matches a folder and everything below it. `*` matches any part of a name. Never reads the disk.

use std::collections::HashMap;

use adjutant_core::policy::observation::FileClass;

use super::table::Family;

/// Families, indexed for the lookup.
pub(super) struct Patterns {
    /// Patterns by their last name, if it has no `*`.
    exact: HashMap<&'static str, Vec<Pattern>>,
    wild: Vec<Pattern>,
}

struct Pattern {
    names: Vec<&'static str>,
    folder: bool,
    class: FileClass,
    /// The position of the family; the first family that matches counts.
    order: usize,
}

impl Patterns {
    pub(super) fn of(families: &'static [Family]) -> Self {
        let mut patterns = Self { exact: HashMap::new(), wild: Vec::new() };
        for (order, family) in families.iter().enumerate() {
            for text in family.patterns {
                let (plain, folder) = match text.strip_suffix('/') {
                    Some(plain) => (plain, true),
                    None => (*text, false),
                };
                let names: Vec<&'static str> = plain.split('/').collect();
                let Some(last) = names.last().copied() else { continue };
                let pattern = Pattern { names, folder, class: family.class, order };
                if last.contains('*') {
                    patterns.wild.push(pattern);
                } else {
                    patterns.exact.entry(last).or_default().push(pattern);
                }
            }
        }
        patterns
    }

    /// Returns the class of the first family that matches a path; none if no family matches.
    ///
    /// `counts` filters the matches by class and by the index of the last name that matched.
    pub(super) fn find(
        &self,
        names: &[String],
        counts: impl Fn(FileClass, usize) -> bool,
    ) -> Option<FileClass> {
        let found = names.iter().enumerate().flat_map(|(at, name)| {
            let exact = self.exact.get(name.as_str()).into_iter().flatten();
            exact
                .chain(&self.wild)
                .filter(move |pattern| pattern.ends_at(names, at))
                .map(move |found| (at, found))
        });
        let found = found.filter(|(at, pattern)| counts(pattern.class, *at));
        found.min_by_key(|(_, pattern)| pattern.order).map(|(_, pattern)| pattern.class)
    }
}

impl Pattern {
    fn ends_at(&self, names: &[String], at: usize) -> bool {
        let Some(from) = (at + 1).checked_sub(self.names.len()) else { return false };
        (self.folder || at + 1 == names.len())
            && names
                .get(from..=at)
                .is_some_and(|part| part.iter().zip(&self.names).all(|(name, like)| matches_name(name, like)))
    }
}

/// Whether a name matches a pattern, in which `*` matches any part.
fn matches_name(name: &str, like: &str) -> bool {
    let mut pieces = like.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}
