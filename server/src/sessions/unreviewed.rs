//! Reads the applied changes of sessions that are not in memory, so that their review goes on in any editor.
//!
//! Opens a session for writing only if its process was killed while it changed files, so that this is finished first.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use adjutant_core::machine::step::unproved_edits;
use adjutant_core::session::{HunkState, KEPT_AFTER_MS};
use adjutant_protocol::SessionId;
use adjutant_protocol::errors::ErrorName;

use super::reading::SummedReview;
use super::{Sessions, reading};
use crate::aside::aside;
use crate::client::Level;
use crate::clock::now_ms;
use crate::session::World;
use crate::session::blobs::Blobs;
use crate::session::edits::is_made_by_text;
use crate::session::kept_changes::{self, ReadChanges};
use crate::session::mailbox::{ClientError, Message};
use crate::session::replay;
use crate::tools::paths::Roots;
use crate::uri;

/// Sessions that are read: those that are left to review before all others, the last changed first.
const MOST: usize = 200;
/// How long to wait for what a killed process left on its way; a session itself waits less.
const PATIENCE: Duration = Duration::from_secs(12);

/// Reads the changes of the sessions of these folders that are not in memory: of those that have hunks to
/// review or comments to send, of those whose last change is younger than two weeks and that have hunks that were undone, or of
/// `all`. Finishes first what a killed process left on its way. Warns the user of sessions where that failed,
/// and returns them.
pub async fn load(sessions: &Sessions, folders: Vec<PathBuf>, all: bool) -> Vec<SessionId> {
    let (here, own) = (sessions.clone(), folders.clone());
    let unfinished = aside(move || {
        // One reader at a time, because a second one would read the same logs again.
        let _alone = here.review_reads.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = of_folders(here.world(), own);
        let unfinished = unfinished(&here, &entries);
        if unfinished.is_empty() {
            read_all(&here, &entries, all);
        }
        unfinished
    })
    .await;
    if unfinished.is_empty() {
        return Vec::new();
    }
    let left = settle(sessions, unfinished).await;
    let here = sessions.clone();
    aside(move || {
        let _alone = here.review_reads.lock().unwrap_or_else(PoisonError::into_inner);
        read_all(&here, &of_folders(here.world(), folders), all);
    })
    .await;
    left
}

/// Reads the changes of sessions that are not in memory and not read yet. Blocks.
fn read_all(sessions: &Sessions, entries: &[SummedReview], all: bool) {
    let world = sessions.world();
    // Text of older ones that comes back would be kept by its age.
    let may_return = |entry: &SummedReview| entry.has_undone && now_ms() < entry.updated_at + KEPT_AFTER_MS;
    let is_wanted = |entry: &&SummedReview| all || entry.is_open || may_return(entry);
    for entry in entries.iter().filter(is_wanted).take(MOST) {
        let is_known = world.reviews.has_read(&entry.session, entry.updated_at);
        if !is_known && sessions.in_memory(&entry.session).is_none() {
            read(world, entry);
        }
    }
}

/// Returns what the summaries say of the sessions of these folders: those that are left to review before all others, the last
/// changed first. Blocks.
fn of_folders(world: &World, folders: Vec<PathBuf>) -> Vec<SummedReview> {
    let root = |folder: PathBuf| uri::of_path(&folder.canonicalize().unwrap_or(folder));
    let roots: Vec<String> = folders.into_iter().map(root).collect();
    let mut entries = match reading::reviews(&world.catalog) {
        Ok(entries) => entries,
        Err(error) => {
            tracing::warn!(%error, "what is left to review cannot be listed");
            return Vec::new();
        }
    };
    entries.retain(|entry| entry.roots.iter().any(|own| roots.iter().any(|root| overlaps(root, own))));
    entries.sort_by_key(|entry| (!entry.is_open, std::cmp::Reverse(entry.updated_at)));
    entries
}

/// Returns the sessions with something on its way that this process has, or that none has. Blocks.
fn unfinished(sessions: &Sessions, entries: &[SummedReview]) -> Vec<SessionId> {
    let is_ours =
        |id: &SessionId| sessions.in_memory(id).is_some() || !sessions.world().catalog.is_written(&id.0);
    let entries = entries.iter().filter(|entry| {
        let is_left = |entry: &SummedReview| {
            entry.is_unfinished || entry.has_unproved && is_made(sessions.world(), entry)
        };
        (entry.is_unfinished || entry.has_unproved) && is_ours(&entry.session) && is_left(entry)
    });
    entries.map(|entry| entry.session.clone()).take(MOST).collect()
}

/// Whether the text of now shows an edit of an open document that has no outcome, because the server was killed behind it. Where
/// it does not, the edit waits: an editor that still lives may have it and not have saved it. Blocks.
fn is_made(world: &Arc<World>, entry: &SummedReview) -> bool {
    let Ok(session) = replay::fold(&world.catalog, &entry.session) else { return false };
    let Ok(place) = world.catalog.place(&entry.session.0) else { return false };
    let blobs = Blobs::new(place.storage.clone(), &place.dir);
    unproved_edits(&session).any(|state| {
        let sent = state.of_hunks(&state.in_state(HunkState::Applying));
        is_made_by_text(&world.documents, &blobs, &sent)
    })
}

/// Opens sessions and waits until what was on its way is finished. Returns those where it was not, and tells the user.
async fn settle(sessions: &Sessions, unfinished: Vec<SessionId>) -> Vec<SessionId> {
    let post = |id: &SessionId| sessions.get(id)?.request(|reply| Message::Settled { reply });
    let posted: Vec<_> = unfinished.into_iter().map(|id| (post(&id), id)).collect();
    let until = tokio::time::Instant::now() + PATIENCE;
    let mut left = Vec::new();
    for (posted, id) in posted {
        let settled = match posted {
            Ok(reply) => match tokio::time::timeout_at(until, reply).await {
                Ok(settled) => settled.unwrap_or_else(|_| Err(ClientError::gone())),
                Err(_) => Err(ClientError::new(ErrorName::Overloaded, "its disk does not answer")),
            },
            Err(refused) => Err(refused),
        };
        let why = match settled {
            Ok(0) => continue,
            Ok(1) => "1 file is left".to_owned(),
            Ok(files) => format!("{files} files are left"),
            // Another process was faster, and finishes it; or it is gone, or this server stops.
            Err(refused) if matches!(refused.name, ErrorName::SessionLocked | ErrorName::SessionNotFound) => {
                continue;
            }
            Err(refused) => refused.message,
        };
        let message = format!(
            "Adjutant: What was cut short in session {id} is not finished ({why}), so its changes may not all be \
             listed."
        );
        sessions.world().link.say(Level::Warning, &message);
        left.push(id);
    }
    left
}

/// Whether one of two folders is in the other.
fn overlaps(one: &str, other: &str) -> bool {
    let is_in = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(one, other) || is_in(other, one)
}

fn read(world: &Arc<World>, entry: &SummedReview) {
    let id = &entry.session;
    // The list of sessions reports a log that cannot be read.
    let Ok(ReadChanges { folders, changes }) = kept_changes::read(&world.catalog, id, entry.log) else {
        return;
    };
    let Ok(place) = world.catalog.place(&id.0) else { return };
    let (roots, _) = Roots::open(&folders);
    let blobs = Arc::new(Blobs::new(place.storage.clone(), &place.dir));
    world.reviews.set_read(id, &roots, &blobs, changes, entry.updated_at);
}
