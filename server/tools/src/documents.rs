//! The mirror of the editor's open documents, and the disk for the rest.
//!
//! The only seat of "buffer or disk", and of how the editor names a file.
//! Written by the client's notifications alone, in the order they arrive: the
//! server never writes what it mirrors.

mod buffers;
mod expected;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use adjutant_core::text::document::{ContentChange, Document, Snapshot};
use adjutant_core::text::position::Encoding;
use tokio::sync::watch;

use adjutant_host::uri;

pub use buffers::{Buffer, Buffers};
use expected::ExpectedEdits;
pub use expected::{Expectation, ExpectedText, MisplacedEdit};

/// Documents one client may have open; a client that opens more is not an editor.
const MAX_OPEN: usize = 10_000;

/// A handle on the mirror; clones share it.
#[derive(Clone)]
pub struct Documents {
    shared: Arc<MirrorState>,
}

struct MirrorState {
    state: Mutex<Mirror>,
    /// Counts notifications, so that a step can wait for the next one.
    changed: watch::Sender<u64>,
}

struct Mirror {
    encoding: Encoding,
    open: HashMap<String, Open>,
    /// The workspace folders as the editor names them, and where their links lead.
    folders: Vec<(PathBuf, PathBuf)>,
    expected: Vec<Weak<ExpectedEdits>>,
    /// Something the client opened may not be known here.
    missed: bool,
    /// The last change, if its document was not open: Helix may tell of our edit of a closed file before it
    /// tells, with the text before it, that it has opened the file.
    early: Option<Early>,
    /// Built on demand, dropped by the next notification.
    buffers: Option<Buffers>,
}

/// A change of a document that is not open yet.
struct Early {
    uri: String,
    version: i32,
    changes: Vec<ContentChange>,
}

/// An open document and what is known of its file.
struct Open {
    document: Document,
    /// Where the links of its name led when it was first looked for.
    resolved: Option<PathBuf>,
    /// It was opened by an edit of ours, not by the user.
    ours: bool,
}

/// Where the text of a file is now.
pub enum Text {
    /// Open in the editor.
    Open(Snapshot),
    /// Open, but its text is not known; the reason is for the model and the user.
    Unsynced(String),
    /// Not open.
    Closed,
}

impl Text {
    fn of(open: Option<&Open>) -> Self {
        match open.map(|open| open.document.snapshot()) {
            Some(Ok(snapshot)) => Text::Open(snapshot),
            Some(Err(reason)) => Text::Unsynced(reason.to_string()),
            None => Text::Closed,
        }
    }
}

impl Default for Documents {
    fn default() -> Self {
        let mirror = Mirror {
            encoding: Encoding::Utf16,
            open: HashMap::new(),
            folders: Vec::new(),
            expected: Vec::new(),
            missed: false,
            early: None,
            buffers: None,
        };
        Self { shared: Arc::new(MirrorState { state: Mutex::new(mirror), changed: watch::Sender::new(0) }) }
    }
}

impl Documents {
    fn lock(&self) -> MutexGuard<'_, Mirror> {
        // A panic under this lock leaves each document whole: they are replaced, not half-written.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, change: impl FnOnce(&mut Mirror)) {
        {
            let mut mirror = self.lock();
            change(&mut mirror);
            mirror.buffers = None;
        }
        self.shared.changed.send_modify(|count| *count += 1);
    }

    /// Sets the encoding of positions, once, from `initialize`.
    pub fn set_encoding(&self, encoding: Encoding) {
        self.lock().encoding = encoding;
    }

    pub fn encoding(&self) -> Encoding {
        self.lock().encoding
    }

    /// Sets the workspace folders, once, from `initialize`.
    pub fn set_folders(&self, folders: &[PathBuf]) {
        let resolved = folders.iter().map(|folder| (folder.clone(), resolved(folder))).collect();
        self.lock().folders = resolved;
    }

    /// Makes the names of more folders known; those known before stay.
    pub fn add_folders(&self, folders: &[PathBuf]) {
        let more: Vec<_> = folders.iter().map(|folder| (folder.clone(), resolved(folder))).collect();
        let mut mirror = self.lock();
        for known in more {
            if !mirror.folders.contains(&known) {
                mirror.folders.push(known);
            }
        }
    }

    pub fn opened(&self, uri: &str, version: i32, text: &str) {
        self.write(|mirror| {
            let early = mirror.early.take();
            if mirror.open.len() < MAX_OPEN || mirror.open.contains_key(uri) {
                let mut document = Document::open(uri, version, text);
                if let Some(early) = early.filter(|early| early.uri == uri && early.version - 1 == version)
                    && let Err(reason) =
                        document.apply_changes(early.version, &early.changes, mirror.encoding)
                {
                    tracing::warn!(uri, %reason, "document is unsynced");
                }
                mirror.meet(&document);
                mirror.open.insert(uri.to_owned(), Open { document, resolved: None, ours: false });
            } else {
                tracing::warn!(uri, "too many open documents; this one is not mirrored");
                mirror.missed = true;
            }
        });
    }

    pub fn changed(&self, uri: &str, version: i32, changes: &[ContentChange]) {
        self.write(|mirror| {
            let encoding = mirror.encoding;
            let Some(Open { document, .. }) = mirror.open.get_mut(uri) else {
                tracing::warn!(uri, "a change of a document that is not open");
                mirror.early = Some(Early { uri: uri.to_owned(), version, changes: changes.to_vec() });
                return;
            };
            mirror.early = None;
            let before = document.clone();
            if let Err(reason) = document.apply_changes(version, changes, encoding) {
                tracing::warn!(uri, %reason, "document is unsynced");
            }
            let document = document.clone();
            mirror.meet(&document);
            mirror.compare(&before, &document);
        });
    }

    pub fn closed(&self, uri: &str) {
        self.write(|mirror| {
            mirror.open.remove(uri);
        });
    }

    /// Notes that a message of the client was lost: it may have changed any document, or opened one.
    pub fn lost(&self) {
        self.write(|mirror| {
            mirror.open.values_mut().for_each(|open| open.document.lose());
            mirror.missed = true;
        });
    }

    /// Whether every document the client announced is known here.
    pub fn are_complete(&self) -> bool {
        !self.lock().missed
    }

    /// Wakes those that wait for a document without changing one (didSave).
    pub fn saved(&self) {
        self.write(|_| {});
    }

    /// Returns a receiver that sees every later notification.
    pub fn watch(&self) -> watch::Receiver<u64> {
        let mut receiver = self.shared.changed.subscribe();
        receiver.mark_unchanged();
        receiver
    }

    /// Returns the text of a file as the editor has it, if it has it open. The path is free of links.
    pub fn text(&self, path: &Path) -> Text {
        self.resolve();
        Text::of(self.lock().find(path))
    }

    /// Returns the document the editor has open under this very name; asks no disk.
    pub fn under(&self, uri: &str) -> Text {
        Text::of(self.lock().open.get(uri))
    }

    /// Whether a path lies in a workspace folder by its name alone; asks no disk.
    pub fn is_in_folder(&self, path: &Path) -> bool {
        let inside =
            |(named, resolved): &(PathBuf, PathBuf)| path.starts_with(named) || path.starts_with(resolved);
        self.lock().folders.iter().any(inside)
    }

    /// Returns the URI by which the editor knows a file whose path is free of links: that of the
    /// open document, else one below a workspace folder as the editor names it.
    pub fn name_of(&self, path: &Path) -> String {
        self.resolve();
        let mirror = self.lock();
        if let Some(open) = mirror.find(path) {
            return open.document.uri().to_owned();
        }
        let below = mirror.folders.iter().find_map(|(named, resolved)| {
            let way = path.strip_prefix(resolved).ok()?;
            Some(if way.as_os_str().is_empty() { named.clone() } else { named.join(way) })
        });
        uri::of_path(below.as_deref().unwrap_or(path))
    }

    /// Looks at every text the document of this name has from now on: a user who types on at once
    /// may hide in the next version what was there in one.
    pub fn expect(&self, uri: &str, awaited: ExpectedText) -> Expectation {
        let (expected, expectation) = ExpectedEdits::new(uri, awaited);
        self.lock().expected.push(expected);
        expectation
    }

    /// Notes that an edit of ours made the editor open a file.
    pub fn opened_by_us(&self, path: &Path) {
        self.resolve();
        let mut mirror = self.lock();
        if let Some(uri) = mirror.find(path).map(|open| open.document.uri().to_owned())
            && let Some(open) = mirror.open.get_mut(&uri)
        {
            open.ours = true;
        }
    }

    /// Whether a file is open only because an edit of ours opened it.
    pub fn is_ours(&self, path: &Path) -> bool {
        self.resolve();
        self.lock().find(path).is_some_and(|open| open.ours)
    }

    /// Follows the links of the names not looked at yet; the disk is asked without the lock.
    fn resolve(&self) {
        let fresh = |(uri, open): (&String, &Open)| open.resolved.is_none().then(|| uri.clone());
        let new: Vec<String> = self.lock().open.iter().filter_map(fresh).collect();
        for uri in new {
            let path = uri::to_document_path(&uri).ok().map(|path| resolved(&path)).unwrap_or_default();
            if let Some(open) = self.lock().open.get_mut(&uri) {
                open.resolved = Some(path);
            }
        }
    }

    /// Returns all open texts for the tools, by path.
    pub fn buffers(&self) -> Buffers {
        self.resolve();
        let mut mirror = self.lock();
        if let Some(buffers) = &mirror.buffers {
            return buffers.clone();
        }
        let mut open: Vec<&Open> = mirror.open.values().collect();
        // The last of two documents of one file counts, so the best comes last.
        open.sort_by(|one, other| other.rank().cmp(&one.rank()));
        let buffers = Buffers::new(open.into_iter().filter_map(|Open { document, resolved, .. }| {
            let named = uri::to_document_path(document.uri()).ok()?;
            let path = resolved.clone().unwrap_or(named);
            let buffer = match document.snapshot() {
                Ok(snapshot) => Ok(Buffer { text: snapshot.string().into(), version: document.version() }),
                Err(reason) => Err(reason.to_string()),
            };
            Some((path, buffer))
        }));
        mirror.buffers = Some(buffers.clone());
        buffers
    }
}

impl Mirror {
    /// Compares the new text of a document with those that are waited for.
    fn meet(&mut self, document: &Document) {
        self.expected.retain(|expected| expected.strong_count() > 0);
        self.expected.iter().filter_map(Weak::upgrade).for_each(|expected| expected.meet(document));
    }

    /// Looks whether a change was an edit of ours, made for another text than this one.
    fn compare(&self, before: &Document, after: &Document) {
        let waiting = self.expected.iter().filter_map(Weak::upgrade);
        waiting.for_each(|expected| expected.compare(before, after, self.encoding));
    }

    /// The document of a file: links make several names of one, and an editor knows it by the one it opened.
    fn find(&self, path: &Path) -> Option<&Open> {
        self.open.values().filter(|open| open.is_at(path)).min_by(|one, other| one.rank().cmp(&other.rank()))
    }
}

impl Open {
    fn is_at(&self, path: &Path) -> bool {
        match &self.resolved {
            Some(resolved) => resolved == path,
            None => uri::to_document_path(self.document.uri()).ok().as_deref() == Some(path),
        }
    }

    /// Which of two documents of one file counts: the one under its own name, then any, but always the same.
    fn rank(&self) -> (bool, &str) {
        let uri = self.document.uri();
        (uri::to_document_path(uri).ok() != self.resolved, uri)
    }
}

/// Follows every link of a path, as far as the path exists; what is behind goes by its names.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) else { continue };
        if !rest.components().any(|part| part == Component::ParentDir) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
        // A folder that is not there cannot be left by the disk's rules, only by its name.
        let plain = rest.components().fold(real, |mut way, part| {
            match part {
                Component::ParentDir => _ = way.pop(),
                Component::Normal(name) => way.push(name),
                _ => {}
            }
            way
        });
        return resolved(&plain);
    }
    path.to_owned()
}
