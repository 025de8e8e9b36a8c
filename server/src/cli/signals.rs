//! The signals that a terminal, or another process, sends to this one.
//!
//! Never acts on a signal. After the first call of `new`, these signals no longer end the process by themselves.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Ctrl-C.
    Interrupt,
    /// To end: SIGTERM, a terminal that was closed, or Ctrl-\.
    Terminate,
}

/// The listeners for the signals.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
}

impl Signals {
    pub fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("listen for signals");
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            quit: listen(SignalKind::quit())?,
        })
    }

    /// Returns the next signal. The future may be dropped, and the function called again.
    pub async fn next_signal(&mut self) -> ProcessSignal {
        tokio::select! {
            biased;
            Some(()) = self.interrupt.recv() => ProcessSignal::Interrupt,
            Some(()) = self.terminate.recv() => ProcessSignal::Terminate,
            Some(()) = self.hangup.recv() => ProcessSignal::Terminate,
            Some(()) = self.quit.recv() => ProcessSignal::Terminate,
            else => std::future::pending().await,
        }
    }
}
