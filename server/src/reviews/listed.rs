//! The list of applied hunks: of all files or of one, each file in its text of now.
//!
//! Never reads a log, and never decides where a hunk is.

use std::collections::BTreeSet;

use adjutant_core::record::ReviewState;
use adjutant_core::text::trace::Trace;
use adjutant_core::wire::review::{FoundHunk, applied_hunk};
use adjutant_host::parallel::in_parts;
use adjutant_protocol::review::{FormattedFile, ReviewHunk};
use adjutant_protocol::{ChangeSetId, SessionId};
use adjutant_tools::documents::Documents;

use super::{FileChanges, OwnedChange, Reviews, away, operation_found, target_of, text_now};

/// The fewest files for which another thread looks for the hunks of a list.
const MIN_SHARE: usize = 8;

/// Returns the deletion or the move of a file as clients see it. Blocks.
fn operation_view(owned: &OwnedChange) -> Option<ReviewHunk> {
    let change = &owned.change;
    let trace = Trace { found: operation_found(owned), lines: 0..0, beneath: Vec::new() };
    let found = FoundHunk { trace: &trace, text: String::new(), beneath: Vec::new(), away: None };
    applied_hunk(&owned.session, change, change.hunks.first()?, found)
}

/// Returns what formatters changed beside these hunks.
pub fn formatted_of(reviews: &Reviews, hunks: &[ReviewHunk]) -> Vec<FormattedFile> {
    let listed: BTreeSet<(&SessionId, &ChangeSetId)> =
        hunks.iter().map(|hunk| (&hunk.session_id, &hunk.change_set_id)).collect();
    let is_listed = |owned: &OwnedChange| listed.contains(&(&owned.session, &owned.change.change_set));
    let file = |owned: OwnedChange| FormattedFile {
        session_id: owned.session,
        change_set_id: owned.change.change_set.clone(),
        uri: owned.change.uri.clone(),
        path: owned.change.path.clone(),
        lines: owned.change.formatted_elsewhere,
    };
    let formatted = reviews.of(|change| change.is_formatted);
    formatted.into_iter().filter(is_listed).map(file).collect()
}

/// Returns the hunks of one file in its text of now. Blocks.
fn hunks_in(documents: &Documents, changes: &FileChanges) -> Vec<ReviewHunk> {
    let now = changes.changes.last().and_then(|owned| text_now(documents, owned));
    // An empty file that is not there has no text that could tell.
    let is_shown =
        |hunk: &ReviewHunk| now.is_some() || !(hunk.removed.is_empty() && hunk.inserted.is_empty());
    let text = now.as_deref().unwrap_or_default();
    let traces = changes.trace(text);
    let away = away::look(changes, &traces);
    changes.views_of(text, &traces, &away).into_iter().filter(is_shown).collect()
}

/// Returns the applied hunks that the user has not decided about or has a comment on; with `decided`, all applied hunks. `uri`
/// names one file; without it, the hunks of all files are returned. Oldest change first. Blocks.
pub fn hunks(reviews: &Reviews, documents: &Documents, decided: bool, uri: Option<&str>) -> Vec<ReviewHunk> {
    let target = uri.map(target_of);
    let all = reviews.of(|change| {
        let is_named = uri.is_some_and(|uri| change.uri == uri);
        target.as_ref().is_none_or(|target| *target == change.target) || is_named
    });
    let is_open = |owned: &OwnedChange| {
        let mut hunks = owned.change.hunks.iter();
        hunks.any(|hunk| {
            let waits = hunk.pending.is_some() || hunk.comment.is_some();
            // Text that was undone may be in the file again. What was kept is decided, whatever the file has.
            decided || hunk.state != ReviewState::Kept || waits
        })
    };
    let files: BTreeSet<&str> =
        all.iter().filter(|owned| is_open(owned)).map(|owned| owned.change.target.as_str()).collect();
    let files: Vec<&str> = files.into_iter().collect();
    // The deletion or the move of a file is on disk, not in a text.
    let of_file = |file: &&str| {
        let of_it = all.iter().filter(|owned| owned.change.target == *file).cloned();
        hunks_in(documents, &FileChanges::read(reviews, of_it.collect()))
    };
    let of_files = |files: &[&str]| files.iter().flat_map(of_file).collect::<Vec<_>>();
    let mut hunks: Vec<ReviewHunk> = in_parts(&files, MIN_SHARE, of_files).into_iter().flatten().collect();
    let operations = all.iter().filter(|owned| owned.change.operation.is_some() && is_open(owned));
    hunks.extend(operations.filter_map(operation_view));
    let is_wanted = |hunk: &ReviewHunk| decided || !hunk.is_decided() || hunk.comment.is_some();
    hunks.retain(is_wanted);
    hunks.sort_by_key(|hunk| hunk.made_by.as_ref().map(|made| made.at));
    hunks
}
