//! Records the events of a session: writes them as one batch, applies them, and
//! releases their updates once they are durable.
//!
//! Decides nothing about an event. Never continues with a log that cannot be trusted:
//! the session becomes read-only, and the client learns why.

use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use adjutant_core::machine::accept::{Refusal, given_up};
use adjutant_core::record::{Event, Record};
use adjutant_core::wire;
use adjutant_protocol::errors::ErrorName;
use tracing::Instrument;

use super::log::{AppendError, Log};
use super::mailbox::{ClientError, Message};
use super::{SessionTask, spans, verdicts};
use crate::aside::aside;
use crate::clock::now_ms;
use crate::faults::point;

/// Why an input was not recorded.
#[derive(Debug)]
pub(super) enum RecordError {
    Refused(Refusal),
    /// An event is larger than one record of the log may be, in bytes.
    TooLarge {
        limit: usize,
    },
    /// Nothing was written, for a temporary reason; the text says what to do.
    Later(String),
}

/// Why a decision is refused for which the log has no room.
const NO_ROOM: &str =
    "no space is left on the disk with Adjutant's state, so nothing was decided; free some, then try again";

/// Whether these events begin a decision about applied hunks.
fn begins_review(events: &[Event]) -> bool {
    events.iter().all(|event| matches!(event, Event::ReviewStarted { .. }))
}

impl SessionTask {
    /// Writes the events of one input as a batch, applies them and queues their updates. `at` is in
    /// milliseconds since the Unix epoch.
    pub(super) async fn record(&mut self, at: u64, events: &[Event]) -> Result<(), RecordError> {
        if self.stopped.is_some() {
            return Err(RecordError::Refused(Refusal::Nothing));
        }
        let (span, began) = (spans::of_write(&self.session), Instant::now());
        let appended = self.append(at, events).instrument(span.clone()).await;
        span.in_scope(|| {
            let (facts, elapsed_ms) = (events.len(), spans::elapsed_ms(began));
            tracing::debug!(facts, elapsed_ms, "written");
        });
        let seqs = match appended {
            Ok(seqs) => seqs,
            // Nothing was written, and the log can still be trusted.
            Err(AppendError::TooLarge { limit, .. }) => return Err(RecordError::TooLarge { limit }),
            Err(error @ AppendError::Scarce(_)) => return Err(RecordError::Later(error.to_string())),
            // A decision can be made again, so the session need not stop for it.
            Err(AppendError::NoSpace { .. }) if begins_review(events) => {
                return Err(RecordError::Later(NO_ROOM.to_owned()));
            }
            Err(error) => {
                self.read_only(error.to_string());
                return Err(RecordError::Refused(Refusal::Nothing));
            }
        };
        point("facts-written");
        let end = seqs.end;
        for (seq, event) in seqs.zip(events) {
            if event.is_barrier() {
                self.barrier = seq;
            }
            let record = Record { seq, at, last: seq + 1 == end, event: event.clone() };
            self.session.apply(&record);
            tracing::debug!(session = %self.place.id, seq, event = event.name(), state = ?self.session.current_state(), "fact");
            if let Some(why) = verdicts::why(event) {
                tracing::debug!(session = %self.place.id, seq, why, "verdict");
            }
            self.publisher.publish(&self.session, &record, self.barrier);
            self.replies.of_event(event);
            if matches!(event, Event::AskOpened { .. }) {
                self.inbox.wake();
            }
        }
        self.place.world.reviews.set(
            &self.place.id,
            &self.place.roots,
            &self.place.blobs,
            &self.session.applied,
        );
        if self.place.world.link.surfaces().hunks && events.iter().any(Event::touches_hunks) {
            let waiting = wire::review::waiting_changes(&self.session);
            self.place.world.reviews.set_waiting(&self.place.id, waiting);
        }
        self.review_over(events);
        let mark = self.log().summary_mark();
        self.summary.changed(&self.session, mark);
        self.answer_waits();
        if self.barrier > self.publisher.durable() {
            self.sync();
        }
        Ok(())
    }

    /// Appends a batch. If an earlier sync has failed, the log is recovered first.
    ///
    /// The write runs on this task: it goes to the memory of the system, and its order is the order of events.
    /// While a decision of the review is being carried out, the log keeps room for its end: without it, the next process
    /// that opens the session would carry out what was refused here.
    async fn append(&mut self, at: u64, events: &[Event]) -> Result<Range<u64>, AppendError> {
        let room = self.session.applied.room_for_ends(events);
        let appended = self.log().append_and_reserve(at, events, room);
        match appended {
            Err(AppendError::SyncFailed(_)) => {
                self.recover().await?;
                self.log().append_and_reserve(at, events, room)
            }
            appended => appended,
        }
    }

    /// Records that decisions are not carried out. Returns whether none is left that the next opening would carry out.
    fn give_up_reviews(&mut self) -> bool {
        let (at, events) = (now_ms(), given_up(&self.session));
        if events.is_empty() {
            return true;
        }
        let appended = self.log().append(at, &events, true);
        let Ok(seqs) = appended else { return false };
        let last = seqs.end;
        for (seq, event) in seqs.zip(events) {
            self.session.apply(&Record { seq, at, last: seq + 1 == last, event });
        }
        self.place.world.reviews.set(
            &self.place.id,
            &self.place.roots,
            &self.place.blobs,
            &self.session.applied,
        );
        true
    }

    /// Saves elsewhere the records that could not be synced. Only this session waits for it.
    async fn recover(&mut self) -> Result<(), AppendError> {
        let log = self.log.clone();
        aside(move || log.lock().unwrap_or_else(PoisonError::into_inner).recover()).await
    }

    /// Locks the log. A panic under this lock has ended the session, so poisoning is ignored.
    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the session read-only: aborts all steps, publishes the reason once and refuses all that waits.
    pub(super) fn read_only(&mut self, why: String) {
        if self.stopped.is_some() {
            return;
        }
        tracing::error!(session = %self.place.id, %why, "the session is read-only");
        self.running.abort_all();
        let why = match self.give_up_reviews() {
            true => why,
            false => format!("{why}; what was decided is carried out when the session is opened again"),
        };
        let message = format!("This session can no longer be written: {why}");
        self.publisher.stopped(&self.session, message, "stopped: it can no longer be written");
        self.replies.fail_all(&why);
        self.publisher.fail_all(&ClientError::new(ErrorName::SessionReadOnly, why.clone()));
        self.stopped = Some(why);
    }

    fn sync(&mut self) {
        if self.syncing {
            self.sync_again = true;
            return;
        }
        self.syncing = true;
        let mailbox = self.place.mailbox.clone();
        let (span, began) = (spans::of_write(&self.session), Instant::now());
        self.log().request_sync(move |result| {
            span.in_scope(|| tracing::debug!(elapsed_ms = spans::elapsed_ms(began), "synced"));
            mailbox.post(Message::Synced(result.map_err(|error| error.to_string())));
        });
    }

    /// Releases the updates and replies that waited for the disk. After a failed sync the log is recovered;
    /// if that fails too, the session becomes read-only.
    pub(super) async fn synced(&mut self, result: Result<u64, String>) {
        self.syncing = false;
        match result {
            Ok(seq) => {
                point("facts-durable");
                self.publisher.durable_up_to(seq);
                self.replies.durable_up_to(seq);
                if std::mem::take(&mut self.sync_again) && self.barrier > seq {
                    self.sync();
                }
                self.summary.durable(seq);
            }
            // A failed sync is not tried again on the same descriptor (L4).
            Err(why) => match self.recover().await {
                Ok(()) => {
                    self.sync_again = false;
                    self.sync();
                }
                Err(error) => self.read_only(format!("{why}; {error}")),
            },
        }
    }
}
