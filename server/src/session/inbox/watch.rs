//! Watches all inboxes of this process with one watcher, however many sessions there
//! are.
//!
//! Never reads a file: it wakes the session of the inbox, which scans it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::session::mailbox::{Mailbox, Message};
use crate::session::storage::UNFINISHED;

/// The reader of one inbox: the session that the watch wakes.
#[derive(Clone)]
pub struct Reader {
    mailbox: Mailbox,
    /// Whether a wake-up is posted and no scan has begun since, so that many files make one message.
    notified: Arc<AtomicBool>,
}

impl Reader {
    pub fn new(mailbox: Mailbox) -> Self {
        Reader { mailbox, notified: Arc::default() }
    }

    /// Notes that a scan begins: a file that comes from now on makes another wake-up.
    pub fn start_scan(&self) {
        self.notified.store(false, Ordering::Release);
    }

    pub fn notify(&self) {
        if !self.notified.swap(true, Ordering::AcqRel) {
            self.mailbox.post(Message::InboxChanged);
        }
    }
}

type Readers = Arc<Mutex<HashMap<PathBuf, Reader>>>;

/// The watch of this process; it starts with the first inbox.
#[derive(Default)]
pub struct Watch {
    watcher: Mutex<Option<RecommendedWatcher>>,
    readers: Readers,
}

impl Watch {
    /// Begins to watch an inbox. Blocks for a short time.
    pub fn begin(&self, inbox: &Path, reader: Reader) -> notify::Result<()> {
        let inbox = inbox.canonicalize().map_err(notify::Error::io)?;
        lock(&self.readers).insert(inbox.clone(), reader);
        let watched = self.with_watcher(|watcher| watcher.watch(&inbox, RecursiveMode::NonRecursive));
        if watched.is_err() {
            lock(&self.readers).remove(&inbox);
        }
        watched
    }

    /// Ends the watch of an inbox. Blocks for a short time.
    pub fn end(&self, inbox: &Path) {
        let Ok(inbox) = inbox.canonicalize() else { return };
        if lock(&self.readers).remove(&inbox).is_some() {
            // The error is ignored: if the inbox was removed, so was its watch.
            let _ = self.with_watcher(|watcher| watcher.unwatch(&inbox));
        }
    }

    fn with_watcher(
        &self,
        work: impl FnOnce(&mut RecommendedWatcher) -> notify::Result<()>,
    ) -> notify::Result<()> {
        let mut watcher = lock(&self.watcher);
        if watcher.is_none() {
            let readers = self.readers.clone();
            *watcher = Some(notify::recommended_watcher(move |event| notify_readers(&readers, event))?);
        }
        watcher.as_mut().map_or(Ok(()), work)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notifies the readers whose inbox has a new file. Events of Adjutant's own scans are ignored.
fn notify_readers(readers: &Readers, event: notify::Result<Event>) {
    let readers = lock(readers);
    match event {
        // Events were lost, so any inbox may have a new file.
        Ok(event) if event.need_rescan() => readers.values().for_each(Reader::notify),
        Ok(event) if may_add_file(&event.kind) => {
            let whole = event.paths.iter().filter(|path| !is_unfinished(path));
            whole.filter_map(|path| readers.get(path.parent()?)).for_each(Reader::notify);
        }
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(%error, "the watch of inboxes failed; all of them are scanned again");
            readers.values().for_each(Reader::notify);
        }
    }
}

/// Whether an event can mean a new file.
fn may_add_file(kind: &EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Any => true,
        EventKind::Modify(_) | EventKind::Access(_) | EventKind::Remove(_) | EventKind::Other => false,
    }
}

fn is_unfinished(path: &Path) -> bool {
    path.file_name().map(OsStr::as_bytes).is_some_and(|name| name.starts_with(UNFINISHED.as_bytes()))
}
