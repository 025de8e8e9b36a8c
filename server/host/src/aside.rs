//! Work that waits for the disk or computes for long, on threads that may do so.
//!
//! The threads of the runtime serve every session and the editor, so nothing there reads a file, follows a path or
//! compares texts. Dropping the wait never ends work that has begun: only work that nobody has to know the end of,
//! or that a later look at the world finds again, may be dropped.

use std::panic::resume_unwind;

use tokio::task::{JoinError, spawn_blocking};

/// Returns what the work returns, or that it panicked.
///
/// The runtime has 512 threads for such work, and further pieces wait. Each session has at most eight calls at once;
/// work that was begun for a call that is cancelled keeps its thread to its end.
pub async fn attempt<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    let span = tracing::Span::current();
    spawn_blocking(move || span.in_scope(work)).await
}

/// Returns what the work returns. A panic in it goes on in the caller, as if it had called the work itself.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match attempt(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime ends, and the caller with it.
        Err(Err(_)) => std::future::pending().await,
    }
}
