//! The text of a file without some of its hunks, and the diff from it to the text of now.
//!
//! Never takes out a hunk that a later one stands on: it stays, and is counted.

use std::io::Read;

use adjutant_core::record::{FileOperation, ReviewState};
use adjutant_core::session::AppliedHunk;
use adjutant_core::text::display::unescaped;
use adjutant_core::text::edit::{lines, split_bom};
use adjutant_core::text::review::{git_deletion, git_diff, git_move};
use adjutant_core::text::trace::{HunkText, Side, SideTarget, trace_all, with_side};
use adjutant_core::wire::review::is_in_text;
use adjutant_protocol::review::{LeftOutFile, ReviewBaseResult, ReviewDiffResult};

use super::away::is_deleted_elsewhere;
use super::whole_files::{self, FileLife};
use super::{FileChanges, FileNow, OwnedChange, Reviews, file_now, operation_found};
use crate::documents::Documents;
use crate::tools::paths::{ResolvedPath, Roots, open_read, resolve};
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
        let mut targets: Vec<SideTarget> = hunks
            .filter(|(_, (hunk, trace))| is_wanted(owned, hunk) && is_in_text(hunk, trace))
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

/// The diff of one file, and how many hunks are not in it because later ones stand on them; or why there is none.
type FileDiff = Result<(String, usize), String>;

/// Returns the diffs of files as one, as long as it may be.
fn joined(diffs: Vec<(String, FileDiff)>) -> ReviewDiffResult {
    let mut result = ReviewDiffResult { diff: String::new(), cut: false, left_out: Vec::new() };
    for (path, diff) in diffs {
        let why = match diff {
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

/// Whether a change is the deletion of a file that is there again, or still there on the branch that is checked out. Blocks.
fn is_back(owned: &OwnedChange) -> bool {
    let is_deletion = matches!(owned.change.operation, Some(FileOperation::Delete { .. }));
    is_deletion && (operation_found(owned) == HunkText::Is(Side::Before) || is_deleted_elsewhere(owned))
}

impl<D: Fn(&Roots, &ResolvedPath) -> Option<String>> EarlierTexts<'_, D> {
    /// Returns the diff of the changes that are `wanted`, without those that were undone: from the files without them to the files
    /// of now, in the order of the paths. Blocks.
    pub fn diff(&self, wanted: impl Fn(&OwnedChange) -> bool) -> ReviewDiffResult {
        let mut diffs: Vec<(String, FileDiff)> = Vec::new();
        let mut all = self.reviews.of(|_| true);
        all.retain(|owned| !is_back(owned));
        for file in whole_files::files(all, &wanted) {
            let last = file.edits.iter().rev().find(|owned| wanted(owned)).map(|owned| &owned.change.path);
            let first = file.moved.as_ref().map(|(path, _)| path);
            let path = match &file.deletion {
                Some(deletion) => first.or(Some(&deletion.change.path)),
                None => last.or(first),
            };
            let Some(path) = path.cloned() else { continue };
            let diff = match &file.deletion {
                Some(deletion) => self.deletion_diff(&path, deletion, file.edits, &wanted),
                None => self.file_diff(&path, file, &wanted),
            };
            diffs.push((path, diff));
        }
        // The sort is stable: the deletion of a file is before one that has its name now.
        diffs.sort_by(|(one, _), (other, _)| one.cmp(other));
        joined(diffs)
    }

    /// Returns the diff of a file that is deleted. `edits` are all changes of its lines.
    fn deletion_diff(
        &self,
        path: &str,
        deletion: &OwnedChange,
        edits: Vec<OwnedChange>,
        wanted: impl Fn(&OwnedChange) -> bool,
    ) -> FileDiff {
        let change = &deletion.change;
        let Some(FileOperation::Delete { mode }) = change.operation else { return Ok((String::new(), 0)) };
        self.may_read(deletion, &change.path)?;
        let bytes = change.before.as_deref().and_then(|hash| deletion.blobs.get(hash).ok());
        let bytes = bytes.ok_or("its text before the deletion is not kept any more")?;
        let text = String::from_utf8(bytes).map_err(|_| "it was deleted, and it was no text")?;
        let (has_mark, text) = split_bom(&text);
        let before = without(&FileChanges::read(self.reviews, edits), text, |owned, _| wanted(owned));
        if before.made_file && before.text.is_empty() {
            // It came and went.
            return Ok((String::new(), before.stayed));
        }
        let mark = if has_mark { "\u{feff}" } else { "" };
        Ok((git_deletion(&unescaped(path), mode, &format!("{mark}{}", before.text)), before.stayed))
    }

    /// Returns the diff of a file that has a name, which may be another than before.
    fn file_diff(&self, path: &str, file: FileLife, wanted: impl Fn(&OwnedChange) -> bool) -> FileDiff {
        let FileLife { edits, moved, moved_later, .. } = file;
        let names = moved.as_ref().and_then(|(from, last)| match &last.change.operation {
            Some(FileOperation::Move { path: to, .. }) => Some((unescaped(from), to, last)),
            _ => None,
        });
        if let Some((_, to, last)) = &names {
            self.may_read(last, to)?;
            let is_there = resolve(&last.roots, to).is_ok_and(|at| at.inside && at.exists());
            if moved_later || !is_there {
                return Err("it is not under the name that it was given".to_owned());
            }
        }
        let renamed = |before: &str, now: &str| {
            names.as_ref().map(|(from, to, _)| git_move(from, &unescaped(to), before, now))
        };
        let only_renamed = |stayed| Ok((renamed("", "").unwrap_or_default(), stayed));
        let Some(last) = edits.last() else { return only_renamed(0) };
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
        let before = without(&FileChanges::read(self.reviews, edits), &now.text, |owned, _| wanted(owned));
        if before.out == 0 {
            return only_renamed(before.stayed);
        }
        let mark = if now.has_mark() { "\u{feff}" } else { "" };
        let [earlier, text] = [&before.text, &now.text].map(|text| format!("{mark}{text}"));
        if before.made_file && before.text.is_empty() {
            return Ok((git_diff(&unescaped(path), None, &text), before.stayed));
        }
        let diff = renamed(&earlier, &text);
        Ok((diff.unwrap_or_else(|| git_diff(&unescaped(path), Some(&earlier), &text)), before.stayed))
    }

    /// Fails if a rule denies to read a file of this change under this name.
    fn may_read(&self, owned: &OwnedChange, path: &str) -> Result<(), String> {
        let at = resolve(&owned.roots, path).map_err(|_| "its name leads to no file of the workspace")?;
        (self.denied)(&owned.roots, &at).map_or(Ok(()), Err)
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
        let before = without(&changes, &now.text, |_, hunk| hunk.state != ReviewState::Kept);
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
