//! The durable watermark of a log, and the thread pool that syncs logs.
//!
//! Syncs of one file coalesce: at most one runs and one waits. Each covers everything written before
//! it started. Never syncs on the caller's thread, and never repeats a failed sync on the same descriptor.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::storage::{StoredDir, StoredFile};

/// Threads of the pool; with two, one slow sync does not delay all other files.
const WORKERS: usize = 2;
/// The most callers that wait for one file.
const MAX_WAITING: usize = 4096;

/// Why written records are not known to be durable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// The system reported an error; which bytes are on disk is unknown.
    #[error("make the log durable: {0}")]
    Failed(String),
    /// The content is durable, but the name of the file may not be. Writing the file again does not help.
    #[error("make the name of the log durable: {0}")]
    Names(String),
    /// Too many callers already wait for this file; the disk does not answer.
    #[error("make the log durable: {MAX_WAITING} syncs already wait for the disk")]
    Busy,
    /// The pool is closed.
    #[error("make the log durable: the server is stopping")]
    Closed,
}

/// A callback that receives the last durable sequence number. It runs on a thread of the pool, or on the
/// caller's thread if there is nothing to wait for. It must not block.
pub type Notify = Box<dyn FnOnce(Result<u64, SyncError>) + Send>;

/// The thread pool. Clones share it. When the last clone is dropped, the pool finishes its queue and ends.
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

    /// Accepts no more work and waits for the queued syncs, at most `limit`. Returns whether all of them
    /// finished.
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

    fn push(&self, watermark: Arc<Watermark>) -> Result<(), SyncError> {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return Err(SyncError::Closed);
        }
        queue.ready.push_back(watermark);
        self.changed.notify_one();
        Ok(())
    }

    fn work(&self) {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(watermark) = queue.ready.pop_front() {
                queue.working += 1;
                drop(queue);
                watermark.run();
                queue = lock(&self.queue);
                if watermark.needs_another_sync() {
                    queue.ready.push_back(watermark);
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

/// A position in a log: a length and the last record up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogPosition {
    /// Bytes from the start of the file.
    pub len: u64,
    /// The last sequence number before that byte.
    pub seq: u64,
}

/// How much of one log is written and how much is durable.
pub struct Watermark {
    pool: Arc<Pool>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    file: Option<Arc<dyn StoredFile>>,
    /// Directories whose names must be durable before the file counts as durable. They are held open, so
    /// that a sync never fails because no descriptor is free.
    dirs: Vec<Arc<dyn StoredDir>>,
    written: LogPosition,
    synced: LogPosition,
    /// The length that a caller wants durable.
    wanted: u64,
    /// Whether the file is in the queue or with a worker.
    busy: bool,
    waiting: VecDeque<(u64, Notify)>,
    failed: Option<SyncError>,
}

impl Watermark {
    /// Returns the watermark of a log that is not on disk yet.
    pub fn new(syncer: &Syncer) -> Arc<Self> {
        let pool = Arc::clone(&syncer.0.0);
        Arc::new(Self { pool, progress: Mutex::default() })
    }

    /// Sets the file to sync from now on. Nothing in it counts as durable yet.
    pub fn watch(&self, file: Arc<dyn StoredFile>, dirs: Vec<Arc<dyn StoredDir>>, written: LogPosition) {
        let mut progress = lock(&self.progress);
        progress.file = Some(file);
        progress.dirs = dirs;
        progress.written = written;
        progress.synced = LogPosition::default();
        progress.failed = None;
    }

    /// Records that the file has grown.
    pub fn wrote(&self, written: LogPosition) {
        lock(&self.progress).written = written;
    }

    /// Returns the last durable sequence number.
    pub fn durable(&self) -> u64 {
        lock(&self.progress).synced.seq
    }

    /// Returns the error of the sync that failed, if one did.
    pub fn failed(&self) -> Option<SyncError> {
        lock(&self.progress).failed.clone()
    }

    /// Starts a sync of everything written so far, without waiting for it.
    pub fn start(self: &Arc<Self>) {
        self.request(None);
    }

    /// Calls `notify` when everything written so far is durable, or when this has failed.
    pub fn notify(self: &Arc<Self>, notify: Notify) {
        self.request(Some(notify));
    }

    fn request(self: &Arc<Self>, notify: Option<Notify>) {
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

    /// Syncs the file once and notifies the callers that the sync covers. Runs on the pool.
    fn run(&self) {
        let progress = lock(&self.progress);
        let covers = progress.written;
        let Some(file) = progress.file.clone() else {
            return;
        };
        let dirs = progress.dirs.clone();
        drop(progress);
        let sync_names = || dirs.iter().try_for_each(|dir| dir.sync());
        let outcome = match file.sync() {
            Err(error) => Err(SyncError::Failed(error.to_string())),
            Ok(()) => sync_names().map_err(|error| SyncError::Names(error.to_string())),
        };
        let mut progress = lock(&self.progress);
        let covered = match &outcome {
            Ok(()) => {
                progress.dirs.clear();
                progress.synced = covers;
                let done = progress.waiting.iter().take_while(|(len, _)| *len <= covers.len).count();
                progress.waiting.drain(..done).collect::<Vec<_>>()
            }
            Err(error) => {
                progress.failed = Some(error.clone());
                progress.waiting.drain(..).collect()
            }
        };
        let outcome = progress.failed.clone().map_or(Ok(covers.seq), Err);
        drop(progress);
        for (_, notify) in covered {
            let outcome = outcome.clone();
            // A panic of a callback must not end the pool.
            _ = catch_unwind(AssertUnwindSafe(move || notify(outcome)));
        }
    }

    /// Whether records written meanwhile need another sync. If not, the file leaves the queue.
    fn needs_another_sync(&self) -> bool {
        let mut progress = lock(&self.progress);
        let more = progress.failed.is_none() && progress.wanted > progress.synced.len;
        progress.busy = more;
        more
    }
}

#[cfg(test)]
mod tests;
