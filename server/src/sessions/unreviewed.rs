//! Reads the applied changes of sessions that are not in memory, so that their review goes on in any editor.
//!
//! Never opens a session for writing: a decision does.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use adjutant_core::session::KEPT_AFTER_MS;

use super::reading::SummedReview;
use super::{Sessions, reading};
use crate::aside::aside;
use crate::clock::now_ms;
use crate::session::World;
use crate::session::blobs::Blobs;
use crate::session::replay;
use crate::tools::paths::Roots;
use crate::uri;

/// Sessions that are read: those that are left to review before all others, the last changed first.
const MOST: usize = 200;

/// Reads the changes of the sessions of these folders that are not in memory: of those that have hunks to
/// review or comments to send, of those whose last change is younger than two weeks and that have hunks that were undone, or of
/// `all`.
pub async fn load(sessions: &Sessions, folders: Vec<PathBuf>, all: bool) {
    let here = sessions.clone();
    aside(move || {
        let world = here.world();
        // Held until all are known: whoever asks meanwhile would read the same logs again.
        let _alone = here.review_reads.lock().unwrap_or_else(PoisonError::into_inner);
        let root = |folder: PathBuf| uri::of_path(&folder.canonicalize().unwrap_or(folder));
        let roots: Vec<String> = folders.into_iter().map(root).collect();
        let mut entries = match reading::reviews(&world.catalog) {
            Ok(entries) => entries,
            Err(error) => return tracing::warn!(%error, "what is left to review cannot be listed"),
        };
        entries.sort_by_key(|entry| (!entry.is_open, std::cmp::Reverse(entry.updated_at)));
        // Text of older ones that comes back would be kept by its age.
        let may_return =
            |entry: &SummedReview| entry.has_undone && now_ms() < entry.updated_at + KEPT_AFTER_MS;
        let is_wanted = |entry: &&SummedReview| {
            let is_here = |own: &String| roots.iter().any(|root| overlaps(root, own));
            (all || entry.is_open || may_return(entry)) && entry.roots.iter().any(is_here)
        };
        for entry in entries.iter().filter(is_wanted).take(MOST) {
            let is_known = world.reviews.has_read(&entry.session, entry.updated_at);
            if !is_known && here.in_memory(&entry.session).is_none() {
                read(world, entry);
            }
        }
    })
    .await;
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
    let Ok(session) = replay::fold(&world.catalog, id) else { return };
    let Ok(place) = world.catalog.place(&id.0) else { return };
    let folders: Vec<PathBuf> = session.roots.iter().map(PathBuf::from).collect();
    let (roots, _) = Roots::open(&folders);
    let blobs = Arc::new(Blobs::new(place.storage.clone(), &place.dir));
    world.reviews.set_read(id, &roots, &blobs, &session.applied, entry.updated_at);
}
