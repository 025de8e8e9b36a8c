//! Which applied changes the next commit would have that nobody has kept: they are looked for in the staged texts.
//!
//! Never looks at the work tree: a commit does not either.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use adjutant_core::record::ReviewState;
use adjutant_core::session::AppliedHunk;
use adjutant_core::text::display::shown_path;
use adjutant_core::text::edit::{LineEnd, LineEnds, split_bom, with_line_ends};
use adjutant_core::text::review::Hunk;
use adjutant_core::text::trace::{HunkText, Side, Trace, is_version};
use adjutant_core::wire::review::is_out;
use adjutant_git::{Repository, Unknown};
use adjutant_protocol::review::ReviewHunk;

use super::{FileChanges, OwnedChange, Reviews};
use crate::uri;

/// Returns what [`hunks`] finds in the repositories that these folders are in. `index` is another index of the first repository.
/// Blocks.
///
/// Returns why if there is no repository, or one cannot be read with certainty.
pub fn of_folders(
    reviews: &Reviews,
    folders: &[PathBuf],
    index: Option<&str>,
) -> Result<Vec<ReviewHunk>, String> {
    let mut repositories: Vec<Repository> = Vec::new();
    for folder in folders {
        let folder = folder.canonicalize().map_err(|error| format!("{folder:?}: {error}"))?;
        let found = Repository::find(&folder).map_err(|why| why.to_string())?;
        let is_new =
            |found: &Repository| !repositories.iter().any(|known| known.work_tree() == found.work_tree());
        repositories.extend(found.filter(is_new));
    }
    if repositories.is_empty() {
        return Err("no workspace folder is in a git repository".to_owned());
    }
    let mut all = Vec::new();
    for (number, repository) in repositories.into_iter().enumerate() {
        let index = index.filter(|_| number == 0);
        let repository = index.map_or(repository.clone(), |index| repository.with_index(Path::new(index)));
        all.extend(hunks(reviews, &repository).map_err(|why| why.to_string())?);
    }
    Ok(all)
}

/// Returns the hunks that are in staged texts and not in the last commit, and that nobody has kept. Their places, and their
/// states, are those in the staged texts; a file that was moved has its new name. Blocks.
///
/// Returns `Unknown` if the repository cannot be read with certainty.
pub fn hunks(reviews: &Reviews, repository: &Repository) -> Result<Vec<ReviewHunk>, Unknown> {
    let mut files: BTreeMap<PathBuf, Vec<OwnedChange>> = BTreeMap::new();
    for owned in reviews.of(|_| true) {
        let path = uri::to_path(&owned.change.target).ok();
        let path = path.and_then(|path| Some(path.strip_prefix(repository.work_tree()).ok()?.to_owned()));
        if let Some(path) = path {
            files.entry(path).or_default().push(owned);
        }
    }
    let is_open = |owned: &OwnedChange| owned.change.hunks.iter().any(|hunk| hunk.state != ReviewState::Kept);
    files.retain(|_, changes| changes.iter().any(is_open));
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let files: BTreeMap<PathBuf, FileChanges> =
        files.into_iter().map(|(path, changes)| (path, FileChanges::read(reviews, changes))).collect();
    let (mut hunks, mut seen) = (Vec::new(), BTreeSet::new());
    repository.each_staged(|path, bytes| {
        if let Some((own, changes)) = files.get_key_value(path) {
            let Some(text) = text_of(bytes, changes) else { return };
            let found = open_in(&text, changes);
            // Without any of them it may be another file, which was moved here.
            if !found.is_empty() {
                seen.insert(own);
            }
            hunks.extend(found.into_iter().map(|hunk| (own, hunk)));
        }
    })?;
    // The others may have been moved, as git says it: by the text.
    let elsewhere: Vec<(&PathBuf, &FileChanges)> =
        files.iter().filter(|(path, _)| !seen.contains(path)).collect();
    if !elsewhere.is_empty() {
        repository.each_staged(|path, bytes| {
            let here = files.get(path);
            for (own, changes) in elsewhere.iter().filter(|(own, _)| own.as_path() != path) {
                let Some(text) = text_of(bytes, changes) else { continue };
                let latest = changes.past().pop();
                if !latest.is_some_and(|latest| is_version(&text, &latest)) {
                    continue;
                }
                // What the agent did in this file was judged with this file, also where it did the same in both.
                let judged =
                    here.map(|here| here.views_where(&text, |_, trace| !is_out(trace))).unwrap_or_default();
                let is_new =
                    |hunk: &ReviewHunk| !judged.iter().any(|known| meet(&known.lines(), &hunk.lines()));
                for mut hunk in open_in(&text, changes).into_iter().filter(is_new) {
                    hunk.path = shown_path(&path.to_string_lossy()).into_owned();
                    hunk.uri = uri::of_path(&repository.work_tree().join(path));
                    hunks.push((*own, hunk));
                }
            }
        })?;
    }
    without_committed(repository, &files, hunks)
}

/// Whether two ranges of lines have one in common.
fn meet(one: &Range<u32>, other: &Range<u32>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Returns the hunks that the last commit does not have.
fn without_committed(
    repository: &Repository,
    files: &BTreeMap<PathBuf, FileChanges>,
    hunks: Vec<(&PathBuf, ReviewHunk)>,
) -> Result<Vec<ReviewHunk>, Unknown> {
    let mut committed: BTreeMap<&Path, BTreeSet<(String, String, String)>> = BTreeMap::new();
    let key = |hunk: &ReviewHunk| {
        (hunk.session_id.to_string(), hunk.change_set_id.to_string(), hunk.hunk_id.clone())
    };
    let mut left = Vec::new();
    for (path, hunk) in hunks {
        if !committed.contains_key(path.as_path()) {
            let changes = files.get(path);
            let bytes = repository.committed(path)?;
            let text = changes.zip(bytes.as_ref()).and_then(|(changes, bytes)| text_of(bytes, changes));
            let is_in = |_: &AppliedHunk, trace: &Trace| trace.found == HunkText::Is(Side::After);
            let known = changes.zip(text).map(|(changes, text)| changes.views_where(&text, is_in));
            committed.insert(path, known.unwrap_or_default().iter().map(key).collect());
        }
        if !committed.get(path.as_path()).is_some_and(|known| known.contains(&key(&hunk))) {
            left.push(hunk);
        }
    }
    Ok(left)
}

/// Returns a stored text as the work tree has it; `None` if it is not UTF-8. Git may store other line ends.
pub(super) fn text_of<'a>(bytes: &'a [u8], changes: &FileChanges) -> Option<Cow<'a, str>> {
    let (_, text) = split_bom(std::str::from_utf8(bytes).ok()?);
    let is_crlf = changes.changes.last().is_some_and(|owned| {
        let lines = owned.change.hunks.iter().filter_map(|hunk| owned.change.lines_of(hunk));
        let of_hunk = |hunk: &Hunk| {
            [&hunk.context_before, &hunk.removed, &hunk.inserted, &hunk.context_after]
                .map(|lines| lines.concat())
                .concat()
        };
        let text: String = lines.map(of_hunk).collect();
        LineEnds::of(&text).dominant() == Some(LineEnd::CrLf)
    });
    Some(if is_crlf && !text.contains('\r') { with_line_ends(text, LineEnd::CrLf) } else { text.into() })
}

/// Returns the hunks that this text has and nobody has kept.
fn open_in(text: &str, changes: &FileChanges) -> Vec<ReviewHunk> {
    changes.views_where(text, |hunk, trace| match (hunk.state, trace.found) {
        (ReviewState::Kept, _) => false,
        (_, HunkText::Is(side)) => side == Side::After,
        // The user wrote there too, and lines of the agent are left.
        (ReviewState::Applied, HunkText::Amended { others }) => trace.lines.len() > others,
        (ReviewState::Undone, HunkText::Amended { .. }) | (_, HunkText::Gone) => false,
    })
}
