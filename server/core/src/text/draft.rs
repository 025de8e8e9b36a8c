//! The text of one file as the edits of a turn would leave it, and which edits made each hunk.
//!
//! Never reads a file: the caller has the text.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::text::review::{Hunk, hunks};

/// A file with the edits of a turn so far. Its hunks always lead from the text before the first edit to the text
/// after the last, so that no hunk of a file depends on another.
#[derive(Clone, Debug)]
pub struct Draft {
    before: Arc<str>,
    text: Arc<str>,
    hunks: Vec<Hunk>,
    /// For each hunk the numbers of the edits that made it.
    makers: Vec<BTreeSet<usize>>,
}

impl Draft {
    /// Returns a draft without edits.
    pub fn of(before: Arc<str>) -> Self {
        Self { text: before.clone(), before, hunks: Vec::new(), makers: Vec::new() }
    }

    /// Returns the text after all edits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the hunks of all edits, in order.
    pub fn hunks(&self) -> &[Hunk] {
        &self.hunks
    }

    /// Returns the ids of the hunks that an edit made, alone or with others.
    pub fn made_by(&self, edit: usize) -> Vec<String> {
        let pairs = self.hunks.iter().zip(&self.makers);
        pairs.filter(|(_, makers)| makers.contains(&edit)).map(|(hunk, _)| hunk.id.clone()).collect()
    }

    /// Returns the draft after one more edit, which leaves `text`. A hunk that stays as it was keeps its makers. Any
    /// other is made by this edit, and by the makers of the hunks that it touches.
    #[must_use]
    pub fn after(&self, edit: usize, text: Arc<str>) -> Self {
        let hunks = hunks(&self.before, &text);
        let makers = hunks.iter().map(|hunk| self.makers_of(hunk, edit)).collect();
        Self { before: self.before.clone(), text, hunks, makers }
    }

    fn makers_of(&self, hunk: &Hunk, edit: usize) -> BTreeSet<usize> {
        // The hunks are in order, so that most are skipped by a search.
        let first = self.hunks.partition_point(|old| place(old).end() < place(hunk).start());
        let near = self.hunks.iter().zip(&self.makers).skip(first);
        let near = near.take_while(|(old, _)| place(old).start() <= place(hunk).end());
        let mut makers = BTreeSet::from([edit]);
        for (old, before) in near {
            if is_same(old, hunk) {
                return before.clone();
            }
            makers.extend(before);
        }
        makers
    }
}

/// Returns the lines of the text before that a hunk replaces, with the line after them.
fn place(hunk: &Hunk) -> RangeInclusive<usize> {
    hunk.line..=hunk.line + hunk.removed.len()
}

/// Whether two hunks replace the same lines by the same.
fn is_same(one: &Hunk, other: &Hunk) -> bool {
    one.line == other.line && one.removed == other.removed && one.inserted == other.inserted
}
