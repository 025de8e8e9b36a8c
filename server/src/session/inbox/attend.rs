//! A session and its inbox: watched while an ask is open, looked into when it
//! stirs, when an ask opens and when the session is opened.
//!
//! Never judges: each answer goes the way of every other one, and its file is
//! removed once that was judged, durably.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_protocol::errors::ErrorName;
use tokio::task::JoinHandle;

use super::watch::Reader;
use super::{INBOX, InboxMessage, InboxScan, SURFACE};
use crate::faults::point;
use crate::session::mailbox::Message;
use crate::session::{SessionTask, SessionWorld};

/// How often an inbox is looked into where the system tells no events, while an ask is open.
const WITHOUT_EVENTS: Duration = Duration::from_secs(1);

/// Whether and how a session minds its inbox.
pub struct Inbox {
    place: Arc<SessionWorld>,
    dir: PathBuf,
    reader: Reader,
    watched: bool,
    looking: bool,
    /// Something stirred, or an ask opened, since the last look began.
    due: bool,
    /// Looks regularly where there are no events.
    pulse: Option<JoinHandle<()>>,
}

impl Inbox {
    pub fn new(place: Arc<SessionWorld>) -> Self {
        let (dir, reader) = (place.dir.join(INBOX), Reader::new(place.mailbox.clone()));
        Inbox { place, dir, reader, watched: false, looking: false, due: false, pulse: None }
    }

    /// Says that there may be something to find.
    pub fn wake(&mut self) {
        self.due = true;
    }

    /// A look is over; `events` says whether the inbox is watched.
    pub fn scan_finished(&mut self, events: bool) {
        self.looking = false;
        if self.watched && !events && self.pulse.is_none() {
            let reader = self.reader.clone();
            self.pulse = Some(tokio::spawn(async move {
                loop {
                    tokio::time::sleep(WITHOUT_EVENTS).await;
                    reader.notify();
                }
            }));
        }
    }

    fn end_watch(&mut self) {
        if std::mem::take(&mut self.watched) {
            self.place.world.inboxes.end(&self.dir);
        }
        if let Some(pulse) = self.pulse.take() {
            pulse.abort();
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.end_watch();
    }
}

impl SessionTask {
    /// Watches the inbox exactly while an ask is open, and looks into it when that is due.
    pub(in crate::session) fn attend(&mut self) {
        let asks = self.session.open_asks().next().is_some();
        let inbox = &mut self.inbox;
        if inbox.looking {
            return;
        }
        if !asks {
            inbox.end_watch();
        }
        let begin = asks && !inbox.watched;
        if begin || std::mem::take(&mut inbox.due) {
            inbox.looking = true;
            inbox.watched |= begin;
            inbox.due = false;
            tokio::spawn(scan_all(inbox.place.clone(), inbox.reader.clone(), begin));
        }
    }
}

/// Looks until nothing is left that one look could not take.
async fn scan_all(place: Arc<SessionWorld>, reader: Reader, begin: bool) {
    let events = !begin || begun(&place, &reader).await;
    loop {
        reader.start_scan();
        let found = blocking(&place, super::scan).await;
        let looked = match found {
            Some(Ok(looked)) => looked,
            Some(Err(error)) => {
                tracing::warn!(%error, session = %place.id, "the inbox cannot be read");
                InboxScan::default()
            }
            None => InboxScan::default(),
        };
        let InboxScan { letters, junk, more } = looked;
        let judged = answer(&place, letters).await;
        let progress = junk + judged.len() > 0;
        if !judged.is_empty() {
            point("letters-judged");
        }
        let _ = blocking(&place, move |inbox| {
            for letter in judged {
                if let Err(error) = super::remove(inbox, &letter) {
                    tracing::warn!(%error, "an answer that was judged stays in the inbox");
                }
            }
        })
        .await;
        if !(more && progress) {
            break;
        }
    }
    place.mailbox.post(Message::InboxScanned { events });
}

/// Watches first and looks then, so that nothing comes in between.
async fn begun(place: &Arc<SessionWorld>, reader: &Reader) -> bool {
    let (of, reader) = (place.clone(), reader.clone());
    let begun = blocking(place, move |inbox| {
        let world = &of.world;
        world.catalog.make_folder(inbox).map_err(notify::Error::io)?;
        world.inboxes.begin(inbox, reader)
    });
    match begun.await {
        Some(Ok(())) => true,
        failed => {
            tracing::warn!(?failed, session = %place.id, "no events of the inbox; it is looked into each second");
            false
        }
    }
}

/// Puts answers before the session and returns those that it judged. One that could not be
/// judged stays for whoever opens the session next.
async fn answer(place: &SessionWorld, letters: Vec<InboxMessage>) -> Vec<InboxMessage> {
    let asked: Vec<_> = letters
        .into_iter()
        .map(|letter| {
            let (ask, choice) = (letter.ask.clone(), letter.choice.clone());
            let reply = place.mailbox.admit(|reply| Message::Answer {
                ask,
                choice,
                surface: SURFACE,
                // Consent belongs to the process that gave it, and this one did not.
                unattended: false,
                reply: Some(reply),
            });
            (letter, reply)
        })
        .collect();
    let mut judged = Vec::new();
    for (letter, reply) in asked {
        match reply.await {
            Err(_) => {}
            Ok(Err(refused)) if refused.name == ErrorName::SessionReadOnly => {}
            Ok(Err(refused)) => {
                tracing::info!(%refused, ask = %letter.ask, "an answer from the inbox was refused");
                judged.push(letter);
            }
            Ok(Ok(_)) => judged.push(letter),
        }
    }
    judged
}

/// Does work on the disk away from the runtime; nothing when it broke.
async fn blocking<T: Send + 'static>(
    place: &SessionWorld,
    work: impl FnOnce(&Path) -> T + Send + 'static,
) -> Option<T> {
    let inbox = place.dir.join(INBOX);
    tokio::task::spawn_blocking(move || work(&inbox)).await.ok()
}
