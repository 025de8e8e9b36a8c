//! Events of the system for all inboxes of this process: one watch, however
//! many sessions.
//!
//! Never looks into a file; a session whose inbox stirs is told, and looks itself.

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

/// Whom to tell of one inbox.
#[derive(Clone)]
pub struct Reader {
    mailbox: Mailbox,
    /// It was told and has not looked since: a flood of files is one message.
    told: Arc<AtomicBool>,
}

impl Reader {
    pub fn new(mailbox: Mailbox) -> Self {
        Reader { mailbox, told: Arc::default() }
    }

    /// Begins to look: what comes from now on is told anew.
    pub fn start_scan(&self) {
        self.told.store(false, Ordering::Release);
    }

    pub fn notify(&self) {
        if !self.told.swap(true, Ordering::AcqRel) {
            self.mailbox.post(Message::InboxChanged);
        }
    }
}

type Readers = Arc<Mutex<HashMap<PathBuf, Reader>>>;

/// The watch of a process; it starts with the first inbox.
#[derive(Default)]
pub struct Watch {
    watcher: Mutex<Option<RecommendedWatcher>>,
    readers: Readers,
}

impl Watch {
    /// Watches an inbox from now on. Blocks shortly.
    pub fn begin(&self, inbox: &Path, reader: Reader) -> notify::Result<()> {
        let inbox = inbox.canonicalize().map_err(notify::Error::io)?;
        lock(&self.readers).insert(inbox.clone(), reader);
        let watched = self.with_watcher(|watcher| watcher.watch(&inbox, RecursiveMode::NonRecursive));
        if watched.is_err() {
            lock(&self.readers).remove(&inbox);
        }
        watched
    }

    /// Watches an inbox no more. Blocks shortly.
    pub fn end(&self, inbox: &Path) {
        let Ok(inbox) = inbox.canonicalize() else { return };
        if lock(&self.readers).remove(&inbox).is_some() {
            // An inbox that is gone took its watch with it.
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
            *watcher = Some(notify::recommended_watcher(move |event| heard(&readers, event))?);
        }
        watcher.as_mut().map_or(Ok(()), work)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells those whose inbox has a new file. Our own looking is heard as well, and passed over.
fn heard(readers: &Readers, event: notify::Result<Event>) {
    let readers = lock(readers);
    match event {
        // Events were lost, so every inbox may have stirred.
        Ok(event) if event.need_rescan() => readers.values().for_each(Reader::notify),
        Ok(event) if brings(&event.kind) => {
            let whole = event.paths.iter().filter(|path| !is_unfinished(path));
            whole.filter_map(|path| readers.get(path.parent()?)).for_each(Reader::notify);
        }
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(%error, "the watch of inboxes failed; they are looked at once more");
            readers.values().for_each(Reader::notify);
        }
    }
}

/// Whether after an event there may be a file that was not there before.
fn brings(kind: &EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Any => true,
        EventKind::Modify(_) | EventKind::Access(_) | EventKind::Remove(_) | EventKind::Other => false,
    }
}

fn is_unfinished(path: &Path) -> bool {
    path.file_name().map(OsStr::as_bytes).is_some_and(|name| name.starts_with(UNFINISHED.as_bytes()))
}
