//! Keeps the texts before edits within their limit: the oldest go first.
//!
//! Never removes one of a session that a process has open, of a run that is not over, or of a file with changes that nobody
//! has looked at.

use std::collections::BTreeSet;

use adjutant_core::record::ReviewState;
use adjutant_core::session::{AppliedChange, Session};
use adjutant_protocol::SessionId;
use adjutant_store::log::{LOCK, LogPlace};

use crate::session::blobs::Blobs;
use crate::session::{World, replay};

/// Removes texts before edits until all sessions together have at most `limit` bytes. Blocks.
pub fn keep_within(world: &World, limit: u64) {
    let Ok(listed) = world.catalog.list() else { return };
    // The last changed is first in a list.
    let mut places: Vec<(SessionId, LogPlace, Blobs)> = Vec::new();
    for id in listed.into_iter().rev().map(|listed| SessionId(listed.id)) {
        let Ok(place) = world.catalog.place(&id.0) else { continue };
        let blobs = Blobs::new(place.storage.clone(), &place.dir);
        places.push((id, place, blobs));
    }
    let size = |blobs: &Blobs| blobs.sizes().iter().map(|(_, len)| len).sum::<u64>();
    let mut all: u64 = places.iter().map(|(.., blobs)| size(blobs)).sum();
    for (id, place, blobs) in places {
        if all <= limit {
            return;
        }
        // A process that has the session open holds its lock.
        let Ok(_lock) = place.storage.lock(&place.dir.join(LOCK)) else { continue };
        let Ok(session) = replay::fold(&world.catalog, &id) else { continue };
        let sizes = blobs.sizes();
        for hash in spare(&session) {
            let Some((_, len)) = sizes.iter().find(|(name, _)| *name == hash) else { continue };
            if all > limit && blobs.remove(&hash) {
                all -= len;
            }
        }
    }
}

/// Returns the texts before changes that no open review needs, oldest first.
fn spare(session: &Session) -> Vec<String> {
    if session.open_run().is_some() {
        return Vec::new();
    }
    let is_open = |change: &AppliedChange| {
        let mut hunks = change.hunks.iter();
        hunks.any(|hunk| hunk.state == ReviewState::Applied || hunk.pending.is_some())
    };
    let all = session.applied.all();
    let open: BTreeSet<&String> =
        all.iter().filter(|change| is_open(change)).map(|change| &change.target).collect();
    let (needed, spare): (Vec<_>, Vec<_>) = all.into_iter().partition(|change| open.contains(&change.target));
    let needed: BTreeSet<&String> = needed.iter().filter_map(|change| change.before.as_ref()).collect();
    let spare = spare.into_iter().filter_map(|change| change.before.as_ref());
    spare.filter(|hash| !needed.contains(hash)).cloned().collect()
}
