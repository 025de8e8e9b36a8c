//! Notices that applied changes were committed, and tells their sessions.
//!
//! A server that runs on opens no session for that: one that is not in memory is told once it is, and until then its changes are
//! only shown as kept. A command of the user sees a commit perhaps once, so it opens the session and tells it. Never touches a
//! session that another process has: that one looks itself.

use std::sync::PoisonError;
use std::time::Duration;

use adjutant_protocol::SessionId;

use super::Sessions;
use crate::aside::aside;
use crate::reviews::committed::{self, CommittedHunks, HeadLook};
use crate::reviews::target_of;
use crate::session::mailbox::{Mailbox, Message};

/// The least time between two looks that nobody asked for.
const EVERY: Duration = Duration::from_secs(5);
/// The most time for a session that was opened to record what it was told.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the last look found in the repositories, and the sessions to which a look sent changes. All looks share this value.
#[derive(Default)]
pub struct SharedLook {
    head: HeadLook,
    /// The sessions that have not confirmed yet that they wrote what a look sent them.
    told: Vec<Mailbox>,
}

/// Looks again and again while there are changes that nobody has decided about.
pub async fn follow(sessions: Sessions) {
    let mut changes = sessions.world().reviews.watch();
    loop {
        changes.mark_unchanged();
        let waits = look(&sessions, None).await;
        tokio::time::sleep(EVERY).await;
        if !waits && changes.changed().await.is_err() {
            return;
        }
    }
}

/// Looks at the repositories now, if they or the changes differ from the last look; with `only`, for the changes of the document of
/// this URI. Returns whether a change in one of them waits for a review.
pub async fn look(sessions: &Sessions, only: Option<String>) -> bool {
    let here = sessions.clone();
    let (waits, told) = aside(move || {
        let only = only.map(|uri| target_of(&uri));
        // Held until all of it is shown: whoever finds nothing new must not list what was there before.
        let mut last = here.last_look.lock().unwrap_or_else(PoisonError::into_inner);
        let reviews = &here.world().reviews;
        let look = committed::look(reviews, &mut last.head, only.as_deref());
        // A session that opens shows its changes from its log. The log lacks what an earlier look found until the session writes it.
        let mut told = last.told.clone();
        for CommittedHunks { session, change_set, hunks, on } in look.found {
            reviews.show_committed(&session, &change_set, &hunks, on.as_deref());
            let opened = || opened(&here, &session).inspect(|mailbox| told.push(mailbox.clone()));
            if let Some(mailbox) = here.in_memory(&session).or_else(opened) {
                mailbox.post(Message::Committed { change_set, hunks, on });
            }
        }
        last.told.clone_from(&told);
        (look.waits, told)
    })
    .await;
    for mailbox in told {
        if let Ok(handled) = mailbox.request(|reply| Message::Settled { reply }) {
            let _ = tokio::time::timeout(PATIENCE, handled).await;
        }
        let mut last = sessions.last_look.lock().unwrap_or_else(PoisonError::into_inner);
        last.told.retain(|one| !one.is_same(&mailbox));
    }
    waits
}

/// Opens a session that no process has, if this one would not see the commit again. Blocks.
fn opened(sessions: &Sessions, id: &SessionId) -> Option<Mailbox> {
    let world = sessions.world();
    (world.is_brief && !world.catalog.is_written(&id.0)).then(|| sessions.get(id).ok()).flatten()
}
