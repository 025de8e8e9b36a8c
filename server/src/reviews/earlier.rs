//! The text of a file without some of its hunks, and the diff from it to the text of now.
//!
//! Never takes out a hunk that a later one stands on: it stays, and is counted.

use std::collections::BTreeMap;
use std::io::Read;

use adjutant_core::record::ReviewState;
use adjutant_core::session::AppliedHunk;
use adjutant_core::text::display::unescaped;
use adjutant_core::text::edit::{lines, split_bom};
use adjutant_core::text::review::git_diff;
use adjutant_core::text::trace::{HunkText, Side, SideTarget, trace_all, with_side};
use adjutant_protocol::review::{LeftOutFile, ReviewBaseResult, ReviewDiffResult};

use super::{FileChanges, FileNow, OwnedChange, Reviews, file_now};
use crate::documents::Documents;
use crate::tools::paths::{ResolvedPath, Roots, open_read};
use crate::uri;

/// The most bytes of a diff.
const MOST_DIFF: usize = 8 * 1024 * 1024;

/// The applied changes, the texts of now, and which files may be read.
pub struct EarlierTexts<'a, D> {
    pub reviews: &'a Reviews,
    pub documents: &'a Documents,
    /// Returns why a rule denies to read a file of a workspace.
    pub denied: D,
}

/// A text without some hunks.
struct TextWithout {
    text: String,
    /// How many hunks were taken out.
    out: usize,
    /// How many stayed, because later ones stand on them.
    stayed: usize,
    /// Whether one that was taken out made the file.
    made_file: bool,
}

/// Takes the hunks that are in the text and `is_wanted` out of it, the latest changes first. What the user wrote into a hunk
/// goes with it.
fn without(
    changes: &FileChanges,
    now: &str,
    is_wanted: impl Fn(&OwnedChange, &AppliedHunk) -> bool,
) -> TextWithout {
    let mut past = changes.past();
    let mut result = TextWithout { text: now.to_owned(), out: 0, stayed: 0, made_file: false };
    for (number, owned) in changes.changes.iter().enumerate().rev() {
        if !owned.change.hunks.iter().any(|hunk| is_wanted(owned, hunk)) {
            continue;
        }
        let traces = trace_all(&result.text, &past).swap_remove(number);
        let all: Vec<&str> = lines(&result.text).collect();
        let hunks = owned.change.hunks.iter().zip(&traces).enumerate();
        let is_there = |found| matches!(found, HunkText::Is(Side::After) | HunkText::Amended { .. });
        let mut targets: Vec<SideTarget> = hunks
            .filter(|(_, (hunk, trace))| is_wanted(owned, hunk) && is_there(trace.found))
            .map(|(hunk, (_, trace))| {
                let seen = all.get(trace.lines.clone()).map(<[_]>::concat);
                SideTarget { change: number, hunk, seen }
            })
            .collect();
        let text = loop {
            match with_side(&result.text, &past, &targets, Side::Before) {
                Ok(text) => break text,
                Err((_, refused, _)) => {
                    targets.retain(|target| target.hunk != refused);
                    result.stayed += 1;
                }
            }
        };
        result.text = text;
        result.out += targets.len();
        result.made_file |= !owned.change.existed && !targets.is_empty();
        targets.iter().for_each(|target| past[number].hunks[target.hunk].expected = Side::Before);
    }
    result
}

impl<D: Fn(&Roots, &ResolvedPath) -> Option<String>> EarlierTexts<'_, D> {
    /// Returns the diff of the changes that are `wanted`, without hunks that were undone: from the texts without them to the texts
    /// of now, in the order of the paths. Blocks.
    pub fn diff(&self, wanted: impl Fn(&OwnedChange) -> bool) -> ReviewDiffResult {
        let mut files: BTreeMap<String, Vec<OwnedChange>> = BTreeMap::new();
        for owned in self.reviews.of(|_| true) {
            files.entry(owned.change.target.clone()).or_default().push(owned);
        }
        let of_path = |changes: Vec<OwnedChange>| {
            let path = changes.iter().rev().find(|owned| wanted(owned))?.change.path.clone();
            Some((path, changes))
        };
        let mut files: Vec<(String, Vec<OwnedChange>)> = files.into_values().filter_map(of_path).collect();
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut result = ReviewDiffResult { diff: String::new(), cut: false, left_out: Vec::new() };
        for (path, changes) in files {
            let why = match self.file_diff(&path, changes, &wanted) {
                Ok((diff, _)) if result.diff.len() + diff.len() > MOST_DIFF => {
                    result.cut = true;
                    Some("the diff would be too long with it".to_owned())
                }
                Ok((diff, stayed)) => {
                    result.diff.push_str(&diff);
                    (stayed > 0).then(|| format!("later changes stand on {stayed} of its changes"))
                }
                Err(why) => Some(why),
            };
            result.left_out.extend(why.map(|why| LeftOutFile { path, why }));
        }
        result
    }

    /// Returns the diff of one file, and how many hunks are not in it because later ones stand on them. `changes` are all of
    /// the file.
    fn file_diff(
        &self,
        path: &str,
        changes: Vec<OwnedChange>,
        wanted: impl Fn(&OwnedChange) -> bool,
    ) -> Result<(String, usize), String> {
        let Some(last) = changes.last() else { return Ok((String::new(), 0)) };
        let Some(now) = file_now(self.documents, last) else {
            let is_gone = uri::to_path(&last.change.target).is_ok_and(|path| !path.exists());
            return if is_gone {
                Ok((String::new(), 0))
            } else {
                Err("its text cannot be read now".to_owned())
            };
        };
        if let Some(why) = (self.denied)(&last.roots, &now.at) {
            return Err(why);
        }
        let changes = FileChanges::read(self.reviews, changes);
        let is_wanted =
            |owned: &OwnedChange, hunk: &AppliedHunk| wanted(owned) && hunk.state != ReviewState::Undone;
        let before = without(&changes, &now.text, is_wanted);
        if before.out == 0 {
            return Ok((String::new(), before.stayed));
        }
        let mark = if now.has_mark() { "\u{feff}" } else { "" };
        let is_new = before.made_file && before.text.is_empty();
        let earlier = (!is_new).then(|| format!("{mark}{}", before.text));
        Ok((git_diff(&unescaped(path), earlier.as_deref(), &format!("{mark}{}", now.text)), before.stayed))
    }

    /// Returns the text of a file without the changes that nobody has looked at; `target` is its URI after following every
    /// link. Blocks. Fails, in words for the user, if there is none or a rule denies to read it.
    pub fn base(&self, target: &str) -> Result<ReviewBaseResult, String> {
        let changes = self.reviews.of_file(target);
        let last = changes.last().ok_or("Adjutant knows of no change of this document")?;
        let now = file_now(self.documents, last).ok_or("the text of this document cannot be read now")?;
        if let Some(why) = (self.denied)(&last.roots, &now.at) {
            return Err(why);
        }
        let changes = FileChanges::read(self.reviews, changes);
        let before = without(&changes, &now.text, |_, hunk| hunk.state == ReviewState::Applied);
        let left_out = u32::try_from(before.stayed).unwrap_or(u32::MAX);
        Ok(ReviewBaseResult { text: before.text, version: now.version, left_out })
    }
}

impl FileNow {
    /// Whether the file begins with a byte order mark, which the text does not have.
    fn has_mark(&self) -> bool {
        let mut start = Vec::new();
        let is_read = open_read(&self.at).is_ok_and(|file| file.take(3).read_to_end(&mut start).is_ok());
        is_read && split_bom(&String::from_utf8_lossy(&start)).0
    }
}
