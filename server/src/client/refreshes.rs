//! Asks the client to read again what it shows of a review: code lenses, and the texts before the changes.
//!
//! Never more than one request at a time: what changes meanwhile is asked for together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_protocol::review::{ReviewHunk, ReviewUpdateParams};
use adjutant_protocol::update::HunkState;
use adjutant_protocol::{ChangeSetId, SessionId};
use tokio::sync::Notify;

use super::ClientLink;

/// The most documents whose text before the changes a client is told of; of more, some are not.
const MOST_TEXTS: usize = 100;

/// What a client can read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshTarget {
    Lenses,
    /// The text before the changes of the document with this URI.
    TextBefore(String),
}

/// What is to be read again; clones share it.
#[derive(Clone, Default)]
pub struct Refreshes {
    shared: Arc<RefreshState>,
}

#[derive(Default)]
struct RefreshState {
    due: Mutex<DueRefreshes>,
    wake: Notify,
}

#[derive(Default)]
struct DueRefreshes {
    lenses: bool,
    /// What the lenses of each document are about.
    lenses_of: BTreeMap<String, Vec<LensSubject>>,
    /// The documents whose text before the changes the client has read.
    read: BTreeSet<String>,
    texts: BTreeSet<String>,
}

/// A hunk as its lenses name it. Its lines do not count: a client asks for lenses whenever the text changes.
type LensSubject = (SessionId, ChangeSetId, String, HunkState, Option<String>);

impl Refreshes {
    fn lock(&self) -> MutexGuard<'_, DueRefreshes> {
        self.shared.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the client has read the text before the changes of a document.
    pub fn read(&self, uri: &str) {
        let mut due = self.lock();
        if due.read.len() == MOST_TEXTS {
            due.read.pop_first();
        }
        due.read.insert(uri.to_owned());
    }

    /// Notes the hunks of a document as they are now. `lenses`: the client reads lenses again when it is asked to.
    pub(super) fn reviewed(&self, update: &ReviewUpdateParams, lenses: bool) {
        let mut due = self.lock();
        let subject = |hunk: &ReviewHunk| {
            let (session, change) = (hunk.session_id.clone(), hunk.change_set_id.clone());
            (session, change, hunk.hunk_id.clone(), hunk.state, hunk.text.clone())
        };
        let subjects: Vec<LensSubject> = update.hunks.iter().map(subject).collect();
        let before = match subjects.is_empty() {
            true => due.lenses_of.remove(&update.uri).unwrap_or_default(),
            false => due.lenses_of.insert(update.uri.clone(), subjects.clone()).unwrap_or_default(),
        };
        due.lenses |= lenses && before != subjects;
        if due.read.contains(&update.uri) {
            due.texts.insert(update.uri.clone());
        }
        if due.lenses || !due.texts.is_empty() {
            self.shared.wake.notify_one();
        }
    }

    /// Sends what is due, until the future is dropped.
    pub(super) async fn send(&self, link: &ClientLink) {
        loop {
            self.shared.wake.notified().await;
            let (lenses, texts) = {
                let mut due = self.lock();
                (std::mem::take(&mut due.lenses), std::mem::take(&mut due.texts))
            };
            let wanted = lenses.then_some(RefreshTarget::Lenses).into_iter();
            for target in wanted.chain(texts.into_iter().map(RefreshTarget::TextBefore)) {
                if let Some(request) = link.face.refresh(&target) {
                    // A client that does not read it again shows what it has.
                    let _ = link.request(request).await;
                }
            }
        }
    }
}
