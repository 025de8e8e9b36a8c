//! How the patterns of the table are read: by folded names, from the end of a path or anywhere in it.
//!
//! `name` is a file, or a folder itself, of that name; `a/b` such a file in a folder `a`; with a slash at its end it
//! is a folder and all below it. `*` stands for any part of a name. Never looks at the disk.

use std::collections::HashMap;

use adjutant_core::policy::observation::FileClass;

use super::table::Family;

/// Families made ready to be looked up.
pub(super) struct Patterns {
    /// By the last name of a pattern, where that has no `*`.
    exact: HashMap<&'static str, Vec<Pattern>>,
    wild: Vec<Pattern>,
}

struct Pattern {
    names: Vec<&'static str>,
    folder: bool,
    class: FileClass,
    /// Which family comes first counts first.
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
                match last.contains('*') {
                    true => patterns.wild.push(pattern),
                    false => patterns.exact.entry(last).or_default().push(pattern),
                }
            }
        }
        patterns
    }

    /// Returns why a path is in one of the families; `counts` says which matches do, by the place of the last
    /// name that matched.
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
                .is_some_and(|part| part.iter().zip(&self.names).all(|(name, like)| fits(name, like)))
    }
}

/// Whether a name is like a pattern, in which `*` stands for any part.
fn fits(name: &str, like: &str) -> bool {
    let mut pieces = like.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}
