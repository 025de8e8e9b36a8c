//! The phases of a connection, from `initialize` to `exit`: which messages are served.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::transport::{ErrorBody, code};

/// LSP: a request came before `initialize` was answered.
const NOT_INITIALIZED: i64 = -32002;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// `initialize` has not come yet, or failed.
    New,
    /// `initialize` is being served.
    Starting,
    Serving,
    /// `shutdown` came.
    ShutDown,
}

/// The phase of a connection; clones share it.
#[derive(Clone)]
pub struct Lifecycle(Arc<Mutex<Phase>>);

/// An `initialize` in flight. If it is dropped without success, the client may send it again.
pub struct Beginning(Lifecycle);

impl Beginning {
    /// Marks that the connection serves from now on.
    pub fn succeeded(self) {
        *self.0.phase() = Phase::Serving;
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        let mut phase = self.0.phase();
        if *phase == Phase::Starting {
            *phase = Phase::New;
        }
    }
}

impl Lifecycle {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Phase::New)))
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with `initialize`.
    pub fn begin(&self) -> Result<Beginning, ErrorBody> {
        let mut phase = self.phase();
        match *phase {
            Phase::New => {
                *phase = Phase::Starting;
                Ok(Beginning(self.clone()))
            }
            Phase::Starting => Err(invalid("\"initialize\" is in flight")),
            Phase::Serving | Phase::ShutDown => Err(invalid("\"initialize\" came before")),
        }
    }

    /// Returns an error if a request may not be served now.
    pub fn serves(&self) -> Result<(), ErrorBody> {
        match *self.phase() {
            Phase::Serving => Ok(()),
            Phase::New | Phase::Starting => Err(not_initialized()),
            Phase::ShutDown => Err(invalid("\"shutdown\" came before; only \"exit\" may follow")),
        }
    }

    /// Ends with `shutdown`.
    pub fn shut_down(&self) -> Result<(), ErrorBody> {
        self.serves()?;
        *self.phase() = Phase::ShutDown;
        Ok(())
    }

    pub fn is_shut_down(&self) -> bool {
        *self.phase() == Phase::ShutDown
    }
}

/// Returns the error of a request that came before `initialize` was answered.
pub fn not_initialized() -> ErrorBody {
    ErrorBody::new(NOT_INITIALIZED, "Server not initialized")
}

fn invalid(why: &str) -> ErrorBody {
    ErrorBody::new(code::INVALID_REQUEST, why)
}
