//! Everything that can wake a conversation, in one place.
//!
//! Never acts on an event.

use std::future::pending;
use std::time::Instant;

use crate::cli::client::IncomingStream;
use crate::cli::signals::{ProcessSignal, Signals};
use crate::cli::typed::TerminalInput;
use crate::transport::client::Incoming;

use super::Answers;

/// One event of a conversation.
#[derive(Debug)]
pub enum IncomingEvent {
    Message(Incoming),
    /// The connection is over.
    Closed,
    Typed(TerminalInput),
    Interrupt,
    Terminate,
    /// The time of `wake_at` has come.
    Wake,
}

pub struct Ears {
    incoming: IncomingStream,
    signals: Signals,
    wake: Option<Instant>,
}

impl Ears {
    pub fn new(incoming: IncomingStream, signals: Signals) -> Self {
        Ears { incoming, signals, wake: None }
    }

    /// Sets when the next `Wake` comes; it comes once.
    pub fn wake_at(&mut self, at: Option<Instant>) {
        self.wake = at;
    }

    pub fn into_incoming(self) -> IncomingStream {
        self.incoming
    }

    /// Returns the next message that has already arrived.
    pub fn arrived(&mut self) -> Option<IncomingEvent> {
        self.incoming.try_recv().ok().map(IncomingEvent::Message)
    }

    /// Returns the next event. The future may be dropped, and the function called again.
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
            signal = self.signals.next_signal() => match signal {
                ProcessSignal::Interrupt => IncomingEvent::Interrupt,
                ProcessSignal::Terminate => IncomingEvent::Terminate,
            },
            typed = typed => IncomingEvent::Typed(typed),
            () = wake => {
                // Only once: a time that has passed would come before every message of the server.
                self.wake = None;
                IncomingEvent::Wake
            }
            message = self.incoming.recv() => message.map_or(IncomingEvent::Closed, IncomingEvent::Message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn finding_e4_a_time_that_is_over_is_heard_once_and_then_what_is_said() {
        let (sender, incoming) = tokio::sync::mpsc::channel(4);
        let mut ears = Ears::new(incoming, Signals::new().expect("signals are received"));
        ears.wake_at(Instant::now().checked_sub(std::time::Duration::from_secs(1)));
        let message = Incoming::Notification { method: "m".to_owned(), params: None };
        sender.send(message).await.expect("it is received");
        let first = ears.next(&mut Answers::Nobody).await;
        let second = ears.next(&mut Answers::Nobody).await;
        assert!(
            matches!((&first, &second), (IncomingEvent::Wake, IncomingEvent::Message(_))),
            "{first:?}, {second:?}"
        );
    }
}
