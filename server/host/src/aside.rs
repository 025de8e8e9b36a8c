//! Runs blocking or long work on threads that may block.
//!
//! The threads of the runtime serve every session and the editor, so they never read a file, follow a path or
//! compare texts. Dropping the future never stops work that has begun. Drop it only if the result is not needed, or
//! if a later check finds the effect of the work.

use std::panic::resume_unwind;

use tokio::task::{JoinError, spawn_blocking};

/// Returns the result of the work. Fails if the work panicked.
///
/// The runtime has 512 threads for such work; further work waits. Each session has at most eight calls at once.
/// The work of a cancelled call keeps its thread until it ends.
pub async fn attempt<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    let span = tracing::Span::current();
    spawn_blocking(move || span.in_scope(work)).await
}

/// Returns the result of the work. A panic of the work continues in the caller.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match attempt(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime is ending, and so does the caller.
        Err(Err(_)) => std::future::pending().await,
    }
}
