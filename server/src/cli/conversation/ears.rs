//! Everything that can wake a conversation, in one place.
//!
//! Never acts on what it hears.

use std::future::pending;
use std::time::Instant;

use crate::cli::client::IncomingStream;
use crate::cli::present::TerminalInput;
use crate::cli::signals::{ProcessSignal, Signals};
use crate::transport::client::Incoming;

use super::Answers;

/// What was heard.
#[derive(Debug)]
pub enum IncomingEvent {
    Said(Incoming),
    /// The connection is over.
    Closed,
    Typed(TerminalInput),
    Interrupt,
    Terminate,
    /// It is time for something.
    Wake,
}

pub struct Ears {
    hearing: IncomingStream,
    signals: Signals,
    wake: Option<Instant>,
}

impl Ears {
    pub fn new(hearing: IncomingStream, signals: Signals) -> Self {
        Ears { hearing, signals, wake: None }
    }

    /// When something is to be done, whatever is heard; that is heard once.
    pub fn wake_at(&mut self, at: Option<Instant>) {
        self.wake = at;
    }

    pub fn into_hearing(self) -> IncomingStream {
        self.hearing
    }

    /// Returns what was said already and not heard yet.
    pub fn said(&mut self) -> Option<IncomingEvent> {
        self.hearing.try_recv().ok().map(IncomingEvent::Said)
    }

    /// Returns what is heard next; may be dropped and called again.
    pub async fn next(&mut self, answers: &mut Answers) -> IncomingEvent {
        let typed = async {
            match answers {
                Answers::Person(person) => person.typed().await,
                Answers::Nobody | Answers::Elsewhere | Answers::Demo => pending().await,
            }
        };
        let wake = self.wake;
        let wake = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            told = self.signals.next_signal() => match told {
                ProcessSignal::Interrupt => IncomingEvent::Interrupt,
                ProcessSignal::Terminate => IncomingEvent::Terminate,
            },
            typed = typed => IncomingEvent::Typed(typed),
            () = wake => {
                // Once: a time that is over would be heard before all that the server says.
                self.wake = None;
                IncomingEvent::Wake
            }
            said = self.hearing.recv() => said.map_or(IncomingEvent::Closed, IncomingEvent::Said),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn finding_e4_a_time_that_is_over_is_heard_once_and_then_what_is_said() {
        let (say, hearing) = tokio::sync::mpsc::channel(4);
        let mut ears = Ears::new(hearing, Signals::new().expect("signals are heard"));
        ears.wake_at(Instant::now().checked_sub(std::time::Duration::from_secs(1)));
        let said = Incoming::Notification { method: "m".to_owned(), params: None };
        say.send(said).await.expect("it is heard");
        let first = ears.next(&mut Answers::Nobody).await;
        let second = ears.next(&mut Answers::Nobody).await;
        assert!(
            matches!((&first, &second), (IncomingEvent::Wake, IncomingEvent::Said(_))),
            "{first:?}, {second:?}"
        );
    }
}
