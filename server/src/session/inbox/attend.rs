//! The inbox of one session: watched while an ask is open or there are changes to decide about, and scanned after a
//! wake-up, when the watch begins and when the session is opened.
//!
//! Never judges a letter: it goes through the mailbox like every other message. Its file
//! is removed once the session has judged it durably.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_protocol::ask::AskRespondResult;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::DecidedHunk;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::letter::{Letter, LetterReply};
use super::watch::Reader;
use super::{INBOX, InboxMessage, InboxScan, SURFACE};
use crate::faults::point;
use crate::session::mailbox::{ClientError, Message};
use crate::session::{SessionTask, SessionWorld};

/// How often an inbox is scanned while it is watched, if the system reports no events.
const WITHOUT_EVENTS: Duration = Duration::from_secs(1);

/// The state of a session's inbox: whether it is watched, and whether a scan runs or is due.
pub struct Inbox {
    place: Arc<SessionWorld>,
    dir: PathBuf,
    reader: Reader,
    watched: bool,
    scanning: bool,
    /// Whether there was a wake-up since the last scan began.
    due: bool,
    /// Wakes the session regularly if the system reports no events.
    pulse: Option<JoinHandle<()>>,
}

impl Inbox {
    pub fn new(place: Arc<SessionWorld>) -> Self {
        let (dir, reader) = (place.dir.join(INBOX), Reader::new(place.mailbox.clone()));
        Inbox { place, dir, reader, watched: false, scanning: false, due: false, pulse: None }
    }

    /// Notes that there may be a letter.
    pub fn wake(&mut self) {
        self.due = true;
    }

    /// Notes that a scan has ended. `events` says whether the system reports events of the inbox.
    pub fn scan_finished(&mut self, events: bool) {
        self.scanning = false;
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
    /// Watches the inbox exactly while there is something to decide, and starts a scan if one is due.
    pub(in crate::session) fn attend(&mut self) {
        let is_needed = self.session.open_asks().next().is_some() || !self.session.applied.is_empty();
        let inbox = &mut self.inbox;
        if inbox.scanning {
            return;
        }
        if !is_needed {
            inbox.end_watch();
        }
        let begin = is_needed && !inbox.watched;
        if begin || std::mem::take(&mut inbox.due) {
            inbox.scanning = true;
            inbox.watched |= begin;
            inbox.due = false;
            tokio::spawn(scan_all(inbox.place.clone(), inbox.reader.clone(), begin));
        }
    }
}

/// Scans again until the inbox has no files that one scan could not read.
async fn scan_all(place: Arc<SessionWorld>, reader: Reader, begin: bool) {
    let events = !begin || begun(&place, &reader).await;
    loop {
        reader.start_scan();
        let found = blocking(&place, super::scan).await;
        let scan = match found {
            Some(Ok(scan)) => scan,
            Some(Err(error)) => {
                tracing::warn!(%error, session = %place.id, "the inbox cannot be read");
                InboxScan::default()
            }
            None => InboxScan::default(),
        };
        let InboxScan { messages, junk, more } = scan;
        let judged = judge(&place, messages).await;
        let progress = junk + judged.len() > 0;
        if !judged.is_empty() {
            point("letters-judged");
        }
        let _ = blocking(&place, move |inbox| {
            for (message, reply) in judged {
                if let Some(reply) = reply
                    && let Err(error) = super::reply_to(inbox, &message, &reply)
                {
                    tracing::warn!(%error, "the reply to a letter cannot be left in the inbox");
                }
                if let Err(error) = super::remove(inbox, &message) {
                    tracing::warn!(%error, "a letter that was judged stays in the inbox");
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

/// Begins the watch, before the first scan, so that no answer is missed in between. Returns whether the system
/// reports events.
async fn begun(place: &Arc<SessionWorld>, reader: &Reader) -> bool {
    let (owned, reader) = (place.clone(), reader.clone());
    let begun = blocking(place, move |inbox| {
        let world = &owned.world;
        world.catalog.make_folder(inbox).map_err(notify::Error::io)?;
        world.inboxes.begin(inbox, reader)
    });
    match begun.await {
        Some(Ok(())) => true,
        failed => {
            tracing::warn!(?failed, session = %place.id, "no events of the inbox; it is scanned every second");
            false
        }
    }
}

/// Posts the letters to the session and returns those that it judged, each with the reply that its writer waits for. The
/// others stay for the next process that opens the session.
async fn judge(
    place: &SessionWorld,
    messages: Vec<InboxMessage>,
) -> Vec<(InboxMessage, Option<LetterReply>)> {
    enum PostedLetter {
        Answer(oneshot::Receiver<Result<AskRespondResult, ClientError>>),
        Decision(oneshot::Receiver<Result<Vec<DecidedHunk>, ClientError>>),
    }
    let post = |letter: &Letter| match letter.clone() {
        Letter::Answer { ask, choice } => {
            PostedLetter::Answer(place.mailbox.admit(|reply| Message::Answer {
                ask,
                choice,
                surface: SURFACE,
                // Consent holds only in the process that received it, and an inbox cannot give it.
                unattended: false,
                reply: Some(reply),
            }))
        }
        Letter::Decision(decision) => {
            PostedLetter::Decision(place.mailbox.admit(|reply| Message::Decide { decision, reply }))
        }
    };
    let posted: Vec<(InboxMessage, PostedLetter)> = messages
        .into_iter()
        .map(|message| {
            let posted = post(&message.letter);
            (message, posted)
        })
        .collect();
    let mut judged = Vec::new();
    for (message, posted) in posted {
        let (refused, reply) = match posted {
            PostedLetter::Answer(reply) => match reply.await {
                Err(_) => continue,
                Ok(result) => (result.err(), None),
            },
            PostedLetter::Decision(reply) => match reply.await {
                Err(_) => continue,
                Ok(result) => {
                    let reply = LetterReply::of(&result);
                    (result.err(), Some(reply))
                }
            },
        };
        if let Some(refused) = refused {
            // The session cannot judge it, or has left memory.
            if [ErrorName::SessionReadOnly, ErrorName::SessionNotFound].contains(&refused.name) {
                continue;
            }
            tracing::info!(%refused, letter = ?message.letter, "a letter from the inbox was refused");
        }
        judged.push((message, reply));
    }
    judged
}

/// Runs work on a thread that may block; `None` if it panicked.
async fn blocking<T: Send + 'static>(
    place: &SessionWorld,
    work: impl FnOnce(&Path) -> T + Send + 'static,
) -> Option<T> {
    let inbox = place.dir.join(INBOX);
    tokio::task::spawn_blocking(move || work(&inbox)).await.ok()
}
