//! What of a log is durable, and the small pool that makes it so. Syncs of one
//! file coalesce: at most one runs and one waits, and each covers everything
//! written before it started. A sync never runs on the caller's thread, and one
//! that failed is never repeated on the same descriptor.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::storage::{StoredDir, StoredFile};

/// Threads of the pool: one slow disk request must not hold up the others.
const WORKERS: usize = 2;
/// Callers that may wait for one file.
const MAX_WAITING: usize = 4096;

/// Why something written is not known to be durable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// The system reported an error; what it wrote is unknown.
    #[error("make the log durable: {0}")]
    Failed(String),
    /// The content is durable, but perhaps not the name under which it is found;
    /// writing it anew does not help.
    #[error("make the name of the log durable: {0}")]
    Names(String),
    /// Too many callers wait for this file already; the disk does not answer.
    #[error("make the log durable: {MAX_WAITING} others wait for the disk already")]
    Busy,
    /// The pool was closed.
    #[error("make the log durable: the server is stopping")]
    Closed,
}

/// Is told the last durable sequence number, on a thread of the pool, or on the
/// caller's when there is nothing to wait for. It must not block.
pub type Notify = Box<dyn FnOnce(Result<u64, SyncError>) + Send>;

/// The pool; clones share it, and dropping the last one lets it finish its
/// queue and end.
#[derive(Clone)]
pub struct Syncer(Arc<Handle>);

struct Handle(Arc<Pool>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[derive(Default)]
struct Pool {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<Arc<Watermark>>,
    working: usize,
    closed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Syncer {
    /// Starts the pool.
    pub fn start() -> io::Result<Self> {
        let pool = Arc::new(Pool::default());
        let syncer = Self(Arc::new(Handle(Arc::clone(&pool))));
        for number in 0..WORKERS {
            let pool = Arc::clone(&pool);
            let name = format!("log-sync-{number}");
            std::thread::Builder::new().name(name).spawn(move || pool.work())?;
        }
        Ok(syncer)
    }

    /// Takes no more work and waits until what is queued is done, at most
    /// `limit`; returns whether all of it was.
    pub fn finish(&self, limit: Duration) -> bool {
        let pool = &self.0.0;
        pool.close();
        let idle = |queue: &mut Queue| !queue.ready.is_empty() || queue.working > 0;
        let waited = pool.changed.wait_timeout_while(lock(&pool.queue), limit, idle);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Pool {
    fn close(&self) {
        lock(&self.queue).closed = true;
        self.changed.notify_all();
    }

    fn push(&self, frontier: Arc<Watermark>) -> Result<(), SyncError> {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return Err(SyncError::Closed);
        }
        queue.ready.push_back(frontier);
        self.changed.notify_one();
        Ok(())
    }

    fn work(&self) {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(frontier) = queue.ready.pop_front() {
                queue.working += 1;
                drop(queue);
                frontier.run();
                queue = lock(&self.queue);
                if frontier.needs_another_sync() {
                    queue.ready.push_back(frontier);
                }
                queue.working -= 1;
                self.changed.notify_all();
            } else if queue.closed {
                return;
            } else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// How far a log is written: its length, and the last record in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogPosition {
    /// Bytes from the start of the file.
    pub len: u64,
    /// The last sequence number up to there.
    pub seq: u64,
}

/// What of one log is written, syncing and durable.
pub struct Watermark {
    pool: Arc<Pool>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    file: Option<Arc<dyn StoredFile>>,
    /// Directories whose names must be durable before the file counts. They are held, so that a sync
    /// never fails because no descriptor is free.
    dirs: Vec<Arc<dyn StoredDir>>,
    written: LogPosition,
    synced: LogPosition,
    /// Bytes that somebody wants durable.
    wanted: u64,
    /// The file is in the queue, or a worker has it.
    busy: bool,
    waiting: VecDeque<(u64, Notify)>,
    failed: Option<SyncError>,
}

impl Watermark {
    /// Returns the frontier of a log that is not on disk yet.
    pub fn new(syncer: &Syncer) -> Arc<Self> {
        let pool = Arc::clone(&syncer.0.0);
        Arc::new(Self { pool, progress: Mutex::default() })
    }

    /// Says which file is synced from now on; nothing in it counts as durable.
    pub fn watch(&self, file: Arc<dyn StoredFile>, dirs: Vec<Arc<dyn StoredDir>>, written: LogPosition) {
        let mut progress = lock(&self.progress);
        progress.file = Some(file);
        progress.dirs = dirs;
        progress.written = written;
        progress.synced = LogPosition::default();
        progress.failed = None;
    }

    /// Says that the file has grown.
    pub fn wrote(&self, written: LogPosition) {
        lock(&self.progress).written = written;
    }

    /// Returns the last sequence number that is durable.
    pub fn durable(&self) -> u64 {
        lock(&self.progress).synced.seq
    }

    /// Returns the failure that ended syncing, if there was one.
    pub fn failed(&self) -> Option<SyncError> {
        lock(&self.progress).failed.clone()
    }

    /// Starts a sync of all that is written, without waiting for it.
    pub fn start(self: &Arc<Self>) {
        self.want(None);
    }

    /// Calls `notify` once all that is written now is durable, or cannot become so.
    pub fn notify(self: &Arc<Self>, notify: Notify) {
        self.want(Some(notify));
    }

    fn want(self: &Arc<Self>, notify: Option<Notify>) {
        let mut progress = lock(&self.progress);
        let len = progress.written.len;
        let refused = match &progress.failed {
            Some(error) => Some(error.clone()),
            None if progress.waiting.len() >= MAX_WAITING => Some(SyncError::Busy),
            None => None,
        };
        if refused.is_some() || progress.synced.len >= len {
            let outcome = refused.map_or(Ok(progress.synced.seq), Err);
            drop(progress);
            if let Some(notify) = notify {
                notify(outcome);
            }
            return;
        }
        progress.wanted = progress.wanted.max(len);
        if let Some(notify) = notify {
            progress.waiting.push_back((len, notify));
        }
        if progress.busy {
            return;
        }
        progress.busy = true;
        drop(progress);
        if let Err(error) = self.pool.push(Arc::clone(self)) {
            self.refuse_all(error);
        }
    }

    fn refuse_all(&self, error: SyncError) {
        let mut progress = lock(&self.progress);
        progress.busy = false;
        let refused = std::mem::take(&mut progress.waiting);
        drop(progress);
        for (_, notify) in refused {
            notify(Err(error.clone()));
        }
    }

    /// One sync, and the callers it satisfies. Runs on the pool.
    fn run(&self) {
        let progress = lock(&self.progress);
        let covers = progress.written;
        let Some(file) = progress.file.clone() else {
            return;
        };
        let dirs = progress.dirs.clone();
        drop(progress);
        let names = || dirs.iter().try_for_each(|dir| dir.sync());
        let outcome = match file.sync() {
            Err(error) => Err(SyncError::Failed(error.to_string())),
            Ok(()) => names().map_err(|error| SyncError::Names(error.to_string())),
        };
        let mut progress = lock(&self.progress);
        let told = match &outcome {
            Ok(()) => {
                progress.dirs.clear();
                progress.synced = covers;
                let still = progress.waiting.iter().take_while(|(len, _)| *len <= covers.len);
                let done = still.count();
                progress.waiting.drain(..done).collect::<Vec<_>>()
            }
            Err(error) => {
                progress.failed = Some(error.clone());
                progress.waiting.drain(..).collect()
            }
        };
        let outcome = progress.failed.clone().map_or(Ok(covers.seq), Err);
        drop(progress);
        for (_, notify) in told {
            let outcome = outcome.clone();
            // A caller that panics must not take the pool with it.
            _ = catch_unwind(AssertUnwindSafe(move || notify(outcome)));
        }
    }

    /// Returns whether something written meanwhile needs another sync; if not,
    /// the file leaves the queue.
    fn needs_another_sync(&self) -> bool {
        let mut progress = lock(&self.progress);
        let more = progress.failed.is_none() && progress.wanted > progress.synced.len;
        progress.busy = more;
        more
    }
}

#[cfg(test)]
mod tests;
