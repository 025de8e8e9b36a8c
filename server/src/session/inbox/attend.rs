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
use futures_util::future::BoxFuture;
use serde_json::Value;
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
        let taken = blocking(&place, move |inbox| super::take(inbox, messages)).await;
        let messages = taken.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|error| {
            tracing::warn!(%error, session = %place.id, "letters cannot be taken from the inbox");
            Vec::new()
        });
        let JudgedLetters { judged, left } = judge(&place, messages).await;
        let progress = junk + judged.len() > 0;
        if !judged.is_empty() {
            point("letters-judged");
        }
        let _ = blocking(&place, move |inbox| {
            for message in left {
                if let Err(error) = super::put_back(inbox, &message) {
                    tracing::warn!(%error, "a letter that was not judged is lost");
                }
            }
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

/// What became of the letters of one scan.
#[derive(Default)]
struct JudgedLetters {
    /// Each with the reply that its writer waits for.
    judged: Vec<(InboxMessage, Option<LetterReply>)>,
    /// They stay for the next process that opens the session.
    left: Vec<InboxMessage>,
}

/// Posts the letters to the session, and waits until it has judged them.
async fn judge(place: &SessionWorld, messages: Vec<InboxMessage>) -> JudgedLetters {
    enum PostedLetter {
        Answer(oneshot::Receiver<Result<AskRespondResult, ClientError>>),
        Request(BoxFuture<'static, Result<Value, ClientError>>),
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
        Letter::Request(request) => PostedLetter::Request(request.post(&place.mailbox)),
    };
    let posted: Vec<(InboxMessage, PostedLetter)> = messages
        .into_iter()
        .map(|message| {
            let posted = post(&message.letter);
            (message, posted)
        })
        .collect();
    let mut letters = JudgedLetters::default();
    for (message, posted) in posted {
        let (refused, reply) = match posted {
            PostedLetter::Answer(reply) => match reply.await {
                Err(_) => (Some(ClientError::gone()), None),
                Ok(result) => (result.err(), None),
            },
            PostedLetter::Request(result) => {
                let result = result.await;
                let reply = LetterReply::of(&result);
                (result.err(), Some(reply))
            }
        };
        if let Some(refused) = refused {
            // The session has left memory, or it cannot record an answer. A request that it cannot record is refused, because
            // its writer waits, and it must not be carried out later.
            let is_left = match refused.name {
                ErrorName::SessionNotFound => true,
                ErrorName::SessionReadOnly => !message.has_waiting_writer(),
                _ => false,
            };
            if is_left {
                letters.left.push(message);
                continue;
            }
            tracing::info!(%refused, letter = ?message.letter, "a letter from the inbox was refused");
        }
        letters.judged.push((message, reply));
    }
    letters
}

/// Runs work on a thread that may block; `None` if it panicked.
async fn blocking<T: Send + 'static>(
    place: &SessionWorld,
    work: impl FnOnce(&Path) -> T + Send + 'static,
) -> Option<T> {
    let inbox = place.dir.join(INBOX);
    tokio::task::spawn_blocking(move || work(&inbox)).await.ok()
}
