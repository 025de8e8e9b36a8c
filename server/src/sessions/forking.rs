//! Copies the conversation of a session into a new one, record by record.
//!
//! Never locks, opens or changes the session that is copied, so another process may have it. The copy is hidden until it is whole
//! and durable.

use std::collections::BTreeSet;
use std::sync::mpsc;

use adjutant_core::machine::accept::{fork_title, forked};
use adjutant_core::prompt::image::Image;
use adjutant_core::record::{Event, Record};
use adjutant_core::session::Session;
use adjutant_core::session::maker::split_words;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::session::SessionForkResult;
use adjutant_protocol::{MessageId, SessionId};
use serde_json::value::RawValue;

use super::opening::{catalog_error, open_error};
use crate::clock::now_ms;
use crate::faults::point;
use crate::session::World;
use crate::session::blobs::{BlobError, Blobs};
use crate::session::log::{AppendError, Log, LogPlace, Notice, RecordRaw};
use crate::session::mailbox::ClientError;
use crate::session::replay::{self, FoldedSession};

/// Copies the conversation of the session `from` into the new session `to`, up to before the prompt `at` if it is named. Blocks.
pub fn fork(
    world: &World,
    from: &SessionId,
    to: &SessionId,
    at: Option<&MessageId>,
) -> Result<SessionForkResult, ClientError> {
    let catalog = &world.catalog;
    let copied = copy(world, from, to, at).and_then(|result| {
        point("fork-whole");
        catalog.appear(&to.0).map_err(catalog_error)?;
        point("fork-appeared");
        Ok(result)
    });
    if copied.is_err()
        && let Err(error) = catalog.discard_hidden(&to.0)
    {
        tracing::warn!(%error, "what is left of a copy that failed stays until the next start");
    }
    copied
}

fn copy(
    world: &World,
    from: &SessionId,
    to: &SessionId,
    at: Option<&MessageId>,
) -> Result<SessionForkResult, ClientError> {
    let source = world.catalog.place(&from.0).map_err(catalog_error)?;
    let mut copy = Copying::new(&source, world.catalog.hidden_place(&to.0).map_err(catalog_error)?, at);
    let mut sink = |record: RecordRaw| copy.read(record);
    let read = Log::read_each(&*source.storage, &source.dir, &from.0, &mut sink).map_err(open_error)?;
    if let Some(newer) = read.notices.iter().find(|notice| matches!(notice, Notice::NewerFormat { .. })) {
        return Err(ClientError::new(ErrorName::VersionUnsupported, newer.to_string()));
    }
    let mut notices: Vec<String> = read
        .notices
        .iter()
        .filter(|notice| notice.is_damage())
        .map(|notice| format!("In the original, {notice}."))
        .collect();
    let result = copy.finish()?;
    notices.extend(result.notices);
    Ok(SessionForkResult { notices, ..result })
}

/// A copy that is being made.
struct Copying<'a> {
    to: SessionId,
    /// The prompt before which the copy ends.
    at: Option<&'a MessageId>,
    log: Log,
    /// The session that is copied, as far as it was read.
    source: FoldedSession,
    /// Where the copy ends: the session at that moment, and the words of the prompt that follows.
    end: Option<(Session, String)>,
    /// The records of the batch that is being read: a batch is copied whole or not at all.
    batch: Vec<RecordRaw>,
    images: CopiedImages,
    is_begun: bool,
    failed: Option<ClientError>,
}

impl<'a> Copying<'a> {
    fn new(source: &LogPlace, hidden: LogPlace, at: Option<&'a MessageId>) -> Self {
        let blobs = |place: &LogPlace| Blobs::new(place.storage.clone(), &place.dir);
        let from = SessionId(source.session.clone());
        let mut folded = FoldedSession::new(&from);
        folded.session = folded.session.without_reads();
        Self {
            to: SessionId(hidden.session.clone()),
            at,
            source: folded,
            end: None,
            batch: Vec::new(),
            images: CopiedImages {
                from: blobs(source),
                to: blobs(&hidden),
                copied: BTreeSet::new(),
                lost: BTreeSet::new(),
            },
            log: Log::create(hidden, now_ms()),
            is_begun: false,
            failed: None,
        }
    }

    fn read(&mut self, record: RecordRaw) {
        if self.failed.is_some() {
            return;
        }
        let is_last = record.last;
        self.batch.push(record);
        if is_last {
            let batch = std::mem::take(&mut self.batch);
            self.failed = self.read_batch(batch).err();
        }
    }

    fn read_batch(&mut self, batch: Vec<RecordRaw>) -> Result<(), ClientError> {
        if self.end.is_none()
            && let Some(words) = batch.iter().find_map(|record| self.words_of_prompt(record))
        {
            // A prompt is recorded together with what it begins.
            self.end = Some((self.source.session.clone(), words));
        }
        let mut copied: Vec<Box<RawValue>> = Vec::new();
        let at = batch.first().map_or(0, |record| record.at_ms);
        for raw in batch {
            let known = self.source.fold(&raw);
            if let Some(record) = &known {
                // Of a long conversation only the present turn is in memory.
                self.source.session.forget_published(&record.event);
            }
            if self.end.is_some() || known.as_ref().is_some_and(|record| !is_copied(record)) {
                continue;
            }
            if let Some(Record { event: Event::Prompted { images, .. }, .. }) = &known
                && !images.is_empty()
            {
                self.begin()?;
                self.images.copy(images)?;
            }
            copied.push(raw.event);
        }
        self.source.whole().map_err(|why| ClientError::new(ErrorName::VersionUnsupported, why))?;
        if copied.is_empty() {
            return Ok(());
        }
        self.begin()?;
        self.log.append(at, &copied, false).map(drop).map_err(append_error)
    }

    /// Returns the words of the prompt before which the copy ends, if this record is that prompt.
    fn words_of_prompt(&self, raw: &RecordRaw) -> Option<String> {
        let wanted = self.at?;
        // Most records are no prompts, and parsing them would take the most time.
        if !raw.event.get().contains("\"prompted\"") || !raw.event.get().contains(&wanted.0) {
            return None;
        }
        match replay::read_record(raw).ok()??.event {
            Event::Prompted { message, text, added, .. } if message == *wanted => {
                Some(split_words(&text, added).0.to_owned())
            }
            _ => None,
        }
    }

    /// Writes the first record of the copy, unless it was written.
    fn begin(&mut self) -> Result<(), ClientError> {
        if self.is_begun {
            return Ok(());
        }
        let Session { id, roots, title, choices, .. } = &self.source.session;
        let created = Event::SessionCreated {
            session: self.to.clone(),
            roots: roots.clone(),
            title: title.clone(),
            choices: choices.clone(),
            parent: Some(id.clone()),
        };
        self.log.append(now_ms(), &[created], false).map_err(append_error)?;
        self.is_begun = true;
        point("fork-begun");
        Ok(())
    }

    /// Ends the copy and makes it durable.
    fn finish(mut self) -> Result<SessionForkResult, ClientError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        if self.source.session.seq == 0 {
            return Err(ClientError::new(ErrorName::SessionNotFound, "its log has no record yet"));
        }
        self.begin()?;
        let title = fork_title(&self.source.session.title);
        let choices = self.source.session.choices.clone();
        let (end, prompt) = match self.end {
            Some((end, prompt)) => (end, Some(prompt)),
            None if self.at.is_some() => {
                let why = "no prompt of this conversation has this id: name one that the user sent in it";
                return Err(ClientError::new(ErrorName::AnswerInvalid, why));
            }
            None => (self.source.session, None),
        };
        let mut notices = Vec::new();
        if end.open_run().is_some() {
            notices.push(
                "A task was at work there: in this copy it ends here, and goes on in the original."
                    .to_owned(),
            );
        }
        if !self.images.lost.is_empty() {
            notices.push(
                "An image of the conversation could not be read, so it is missing in this copy too."
                    .to_owned(),
            );
        }
        let events = forked(&end, title.clone(), choices, self.at.cloned());
        self.log.append(now_ms(), &events, false).map_err(append_error)?;
        let (durable, synced) = mpsc::channel();
        self.log.request_sync(move |result| drop(durable.send(result)));
        match synced.recv() {
            Ok(Ok(_)) => Ok(SessionForkResult { session_id: self.to, title, prompt, notices }),
            Ok(Err(error)) => {
                Err(ClientError::new(ErrorName::SessionReadOnly, format!("the copy was not saved: {error}")))
            }
            Err(_) => {
                Err(ClientError::new(ErrorName::SessionReadOnly, "the copy was not saved: the server stops"))
            }
        }
    }
}

/// Whether a record of the session is one of its copy too. Its beginning, its writers and the end of what it has copied itself are its
/// own.
fn is_copied(record: &Record) -> bool {
    !matches!(
        record.event,
        Event::SessionCreated { .. }
            | Event::SessionOpened { .. }
            | Event::Forked { .. }
            | Event::Titled { .. }
    )
}

/// The images of the prompts, which lie next to a log.
struct CopiedImages {
    from: Blobs,
    to: Blobs,
    copied: BTreeSet<String>,
    lost: BTreeSet<String>,
}

impl CopiedImages {
    fn copy(&mut self, images: &[Image]) -> Result<(), ClientError> {
        for image in images {
            if self.copied.contains(&image.hash) || self.lost.contains(&image.hash) {
                continue;
            }
            match self.from.get(&image.hash) {
                Ok(bytes) => {
                    self.to.put(&bytes).map_err(|error| blob_error(&error))?;
                    self.copied.insert(image.hash.clone());
                }
                Err(BlobError::Io { .. }) => {
                    let why = "an image of the conversation cannot be read now; try again";
                    return Err(ClientError::new(ErrorName::Overloaded, why));
                }
                // The original does without it, too.
                Err(_) => _ = self.lost.insert(image.hash.clone()),
            }
        }
        Ok(())
    }
}

fn blob_error(error: &BlobError) -> ClientError {
    match error {
        error if error.passes() => ClientError::new(ErrorName::Overloaded, error.to_string()),
        BlobError::NoSpace { .. } => no_space(),
        error => ClientError::new(ErrorName::SessionReadOnly, error.to_string()),
    }
}

fn append_error(error: AppendError) -> ClientError {
    match error {
        AppendError::Scarce(why) => ClientError::new(ErrorName::Overloaded, why),
        AppendError::NoSpace { .. } => no_space(),
        error => ClientError::new(ErrorName::SessionReadOnly, format!("the copy was not written: {error}")),
    }
}

fn no_space() -> ClientError {
    let why = "no space is left on the disk with Adjutant's state, so nothing was copied; free some, then try again";
    ClientError::new(ErrorName::SessionReadOnly, why)
}
