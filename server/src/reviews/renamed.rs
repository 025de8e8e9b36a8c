//! The changes of a file that others than Adjutant gave another name: found by its text, as git says it.
//!
//! Never guesses: if two files that are gone could be it, it is neither.

use std::sync::Arc;

use adjutant_core::text::display::shown_path;
use adjutant_core::text::trace::{HunkText, Side, is_version};
use adjutant_protocol::review::ReviewHunk;
use adjutant_tools::documents::Documents;
use adjutant_tools::paths::resolve;

use super::away::AwayHunks;
use super::{FileChanges, FileNow, Reviews, target_of, text_at};
use crate::uri;

/// Returns the applied hunks in the text of a file that had another name when they were made, with the name of now. Empty for
/// a file with changes of its own. Blocks.
pub fn hunks(reviews: &Reviews, documents: &Documents, uri: &str) -> Vec<ReviewHunk> {
    found(reviews, documents, uri).map(|(_, hunks)| hunks).unwrap_or_default()
}

/// Returns the same, with the text in which they are.
pub(super) fn found(
    reviews: &Reviews,
    documents: &Documents,
    uri: &str,
) -> Option<(FileNow, Vec<ReviewHunk>)> {
    let target = target_of(uri);
    let path = uri::to_path(&target).ok()?;
    let files = reviews.targets(|change| !change.is_operation);
    if files.contains(&target) {
        return None;
    }
    let is_gone = |file: &String| uri::to_path(file).is_ok_and(|path| !path.exists());
    let mut now: Option<FileNow> = None;
    let mut found: Option<(FileChanges, Vec<Vec<_>>)> = None;
    for gone in files.into_iter().filter(is_gone) {
        let own = reviews.of(|change| !change.is_operation && change.target == gone);
        if now.is_none() {
            let at = resolve(&own.last()?.roots, path.to_str()?).ok().filter(|at| at.inside)?;
            now = text_at(documents, at);
        }
        let text = now.as_ref()?.text.as_str();
        let changes = FileChanges::read(reviews, own);
        let is_it =
            changes.past().last().is_some_and(|latest| latest.before.is_some() && is_version(text, latest));
        let traces = changes.trace(text);
        let is_in = traces.iter().flatten().any(|trace| trace.found == HunkText::Is(Side::After));
        if !is_it || !is_in {
            continue;
        }
        if found.replace((changes, traces)).is_some() {
            return None;
        }
    }
    let (now, (changes, traces)) = (now?, found?);
    let mut hunks = changes.views_of(&now.text, &traces, &AwayHunks::new());
    let name: Arc<str> = shown_path(&now.at.display).into();
    for hunk in &mut hunks {
        (hunk.uri, hunk.path) = (uri.to_owned(), name.to_string());
    }
    Some((now, hunks))
}
