//! The facts of a session on their way to the disk: written as one batch, folded,
//! and let go once they are durable.
//!
//! Decides nothing about a fact. Never goes on over a log that cannot be trusted:
//! the session is read-only then, and says so.

use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use adjutant_core::machine::accept::Refusal;
use adjutant_core::record::{Event, Record};
use adjutant_protocol::errors::ErrorName;
use tracing::Instrument;

use super::log::{AppendError, Log};
use super::mailbox::{ClientError, Message};
use super::{SessionTask, spans, verdicts};
use crate::aside::aside;
use crate::faults::point;

/// Why an input became no facts.
#[derive(Debug)]
pub(super) enum RecordError {
    Refused(Refusal),
    /// A fact is larger than one record of the log may be.
    TooLarge {
        limit: usize,
    },
    /// Nothing was written, for a reason that passes; it says what to do.
    Later(String),
}

impl SessionTask {
    /// Writes the facts that follow from one input at this time, in milliseconds since the Unix epoch; folds them and queues what is told.
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
            // Nothing was written, and the log is as sound as before.
            Err(AppendError::TooLarge { limit, .. }) => return Err(RecordError::TooLarge { limit }),
            Err(error @ AppendError::Scarce(_)) => return Err(RecordError::Later(error.to_string())),
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
            let fact = Record { seq, at, last: seq + 1 == end, event: event.clone() };
            self.session.apply(&fact);
            tracing::debug!(session = %self.place.id, seq, event = event.name(), state = ?self.session.current_state(), "fact");
            if let Some(why) = verdicts::why(event) {
                tracing::debug!(session = %self.place.id, seq, why, "verdict");
            }
            self.publisher.publish(&self.session, &fact, self.barrier);
            self.replies.of_event(event);
            if matches!(event, Event::AskOpened { .. }) {
                self.inbox.wake();
            }
        }
        let mark = self.log().summary_mark();
        self.summary.changed(&self.session, mark);
        self.answer_waits();
        if self.barrier > self.publisher.durable() {
            self.sync();
        }
        Ok(())
    }

    /// Appends a batch; where a sync has failed and nobody has looked yet, what was written is saved first.
    ///
    /// The write itself is done here: it goes to the memory of the system, and its order is that of the facts.
    async fn append(&mut self, at: u64, events: &[Event]) -> Result<Range<u64>, AppendError> {
        let appended = self.log().append(at, events, false);
        match appended {
            Err(AppendError::SyncFailed(_)) => {
                self.recover().await?;
                self.log().append(at, events, false)
            }
            appended => appended,
        }
    }

    /// Saves elsewhere what could not be synced. The session waits for it, and no other does.
    async fn recover(&mut self) -> Result<(), AppendError> {
        let log = self.log.clone();
        aside(move || log.lock().unwrap_or_else(PoisonError::into_inner).recover()).await
    }

    /// The log; whoever broke under this lock ended the session with it.
    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log takes nothing more: everything running ends, and whoever asks is told why, once.
    pub(super) fn read_only(&mut self, why: String) {
        if self.stopped.is_some() {
            return;
        }
        tracing::error!(session = %self.place.id, %why, "the session is read-only");
        self.running.abort_all();
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

    /// Lets go what waited for the disk; what could not be synced is saved elsewhere, or nothing more is written.
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
