//! What a terminal, or whoever started this process, tells it to do.
//!
//! Only hears it. Once listened to, a signal has no effect of its own any more for the rest of the process.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What this process is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Ctrl-C.
    Interrupt,
    /// To end: SIGTERM, a terminal that was closed, or Ctrl-\.
    Terminate,
}

/// Where it is heard.
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

    /// Returns what this process is told next; may be dropped and called again.
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
