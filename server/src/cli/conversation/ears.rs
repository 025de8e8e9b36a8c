//! Everything that can wake a conversation, in one place.
//!
//! Never acts on what it hears.

use std::future::pending;
use std::time::Instant;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::client::Hearing;
use crate::cli::present::Typed;
use crate::transport::client::Incoming;

use super::Answers;

/// What was heard.
#[derive(Debug)]
pub enum Heard {
    Said(Incoming),
    /// The connection is over.
    Closed,
    Typed(Typed),
    Interrupt,
    Terminate,
    /// It is time for something.
    Wake,
}

/// Ctrl-C, and being told to end.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("listen for signals");
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }
}

pub struct Ears {
    hearing: Hearing,
    signals: Signals,
    wake: Option<Instant>,
}

impl Ears {
    pub fn new(hearing: Hearing, signals: Signals) -> Self {
        Ears { hearing, signals, wake: None }
    }

    pub fn wake_at(&mut self, at: Option<Instant>) {
        self.wake = at;
    }

    pub fn into_hearing(self) -> Hearing {
        self.hearing
    }

    /// Returns what was said already and not heard yet.
    pub fn said(&mut self) -> Option<Heard> {
        self.hearing.try_recv().ok().map(Heard::Said)
    }

    /// Returns what is heard next; may be dropped and called again.
    pub async fn next(&mut self, answers: &mut Answers) -> Heard {
        let typed = async {
            match answers {
                Answers::Person(person) => person.typed().await,
                Answers::Nobody | Answers::Elsewhere | Answers::Demo => pending().await,
            }
        };
        let wake = async {
            match self.wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(()) = self.signals.interrupt.recv() => Heard::Interrupt,
            Some(()) = self.signals.terminate.recv() => Heard::Terminate,
            Some(()) = self.signals.hangup.recv() => Heard::Terminate,
            typed = typed => Heard::Typed(typed),
            () = wake => Heard::Wake,
            said = self.hearing.recv() => said.map_or(Heard::Closed, Heard::Said),
        }
    }
}
