//! The facts of a session on their way to the disk: written as one batch, folded,
//! and let go once they are durable.
//!
//! Decides nothing about a fact. Never goes on over a log that cannot be trusted:
//! the session is read-only then, and says so.

use std::ops::Range;

use adjutant_core::accept::Refusal;
use adjutant_core::event::{Event, Fact};
use adjutant_core::input::Stamp;
use adjutant_protocol::errors::ErrorName;

use super::log::AppendError;
use super::mailbox::{Message, Refused};
use super::{SessionTask, verdicts};
use crate::faults::point;

/// Why an input became no facts.
#[derive(Debug)]
pub(super) enum Unrecorded {
    Refused(Refusal),
    /// A fact is larger than one record of the log may be.
    TooLarge {
        limit: usize,
    },
    /// Nothing was written, for a reason that passes; it says what to do.
    Later(String),
}

impl SessionTask {
    /// Writes the facts that follow from one input, folds them and queues what is told.
    pub(super) fn record(&mut self, stamp: &Stamp, events: &[Event]) -> Result<(), Unrecorded> {
        if self.stopped.is_some() {
            return Err(Unrecorded::Refused(Refusal::Nothing));
        }
        let seqs = match self.append(stamp, events) {
            Ok(seqs) => seqs,
            // Nothing was written, and the log is as sound as before.
            Err(AppendError::TooLarge { limit, .. }) => return Err(Unrecorded::TooLarge { limit }),
            Err(error @ AppendError::Scarce(_)) => return Err(Unrecorded::Later(error.to_string())),
            Err(error) => {
                self.read_only(error.to_string());
                return Err(Unrecorded::Refused(Refusal::Nothing));
            }
        };
        point("facts-written");
        let end = seqs.end;
        for (seq, event) in seqs.zip(events) {
            if event.is_barrier() {
                self.barrier = seq;
            }
            let fact = Fact { seq, at: stamp.now, last: seq + 1 == end, event: event.clone() };
            self.session.apply(&fact);
            tracing::debug!(session = %self.place.id, seq, event = event.name(), state = ?self.session.shown(), "fact");
            if let Some(why) = verdicts::why(event) {
                tracing::debug!(session = %self.place.id, seq, why, "verdict");
            }
            self.publisher.told(&self.session, &fact, self.barrier);
            self.replies.of_event(event);
            if matches!(event, Event::AskOpened { .. }) {
                self.inbox.stirred();
            }
        }
        self.summary.changed(&self.session, self.log.mark());
        self.answer_waits();
        if self.barrier > self.publisher.durable() {
            self.sync();
        }
        Ok(())
    }

    /// Appends a batch; where a sync has failed and nobody has looked yet, what was written is saved first.
    fn append(&mut self, stamp: &Stamp, events: &[Event]) -> Result<Range<u64>, AppendError> {
        match self.log.append(stamp.now, events, false) {
            Err(AppendError::SyncFailed(_)) => {
                self.log.recover()?;
                self.log.append(stamp.now, events, false)
            }
            appended => appended,
        }
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
        self.publisher.fail_all(&Refused::new(ErrorName::SessionReadOnly, why.clone()));
        self.stopped = Some(why);
    }

    fn sync(&mut self) {
        if self.syncing {
            self.sync_again = true;
            return;
        }
        self.syncing = true;
        let mailbox = self.place.mailbox.clone();
        self.log.request_sync(move |result| {
            mailbox.post(Message::Synced(result.map_err(|error| error.to_string())));
        });
    }

    /// Lets go what waited for the disk; what could not be synced is saved elsewhere, or nothing more is written.
    pub(super) fn synced(&mut self, result: Result<u64, String>) {
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
            Err(why) => match self.log.recover() {
                Ok(()) => {
                    self.sync_again = false;
                    self.sync();
                }
                Err(error) => self.read_only(format!("{why}; {error}")),
            },
        }
    }
}
