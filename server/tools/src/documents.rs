//! The mirror of the editor's open documents.
//!
//! Only this module decides whether the text of a file is the editor's or the disk's, and how the editor names a file.
//! Only the client's notifications write the mirror, in the order of their arrival; the server itself never does.

mod buffers;
mod expected;

use std::collections::{HashMap, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use adjutant_core::text::document::{ContentChange, Document, Snapshot};
use adjutant_core::text::position::Encoding;
use tokio::sync::watch;

use adjutant_host::uri;

pub use buffers::{Buffer, Buffers};
use expected::ExpectedEdits;
pub use expected::{Expectation, ExpectedText, MisplacedEdit};

/// The last used files that are remembered.
const MAX_USED: usize = 100;

/// The most documents that one client may have open; a client that opens more is not an editor.
const MAX_OPEN: usize = 10_000;

/// A handle to the mirror; clones share it.
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
    /// How often the client has opened a document.
    openings: u64,
    /// The workspace folders: each as the editor names it, and as a resolved path.
    folders: Vec<(PathBuf, PathBuf)>,
    expected: Vec<Weak<ExpectedEdits>>,
    /// Whether the client may have opened a document that is not mirrored.
    missed: bool,
    /// The last change, if its document was not open. When Adjutant edits a closed file, Helix may report the change
    /// first, and then that it has opened the file with the text before the change.
    early: Option<EarlyChange>,
    /// Built on demand, dropped by the next notification.
    buffers: Option<Buffers>,
    /// The URIs of the files that were used last, the newest last.
    used: VecDeque<String>,
}

/// A change of a document that is not open yet.
struct EarlyChange {
    uri: String,
    version: i32,
    changes: Vec<ContentChange>,
}

/// An open document, with the place of its file.
struct Open {
    document: Document,
    /// The number of its `didOpen`.
    opening: u64,
    /// The path to which its links led at the first lookup.
    resolved: Option<PathBuf>,
    /// Whether an edit of Adjutant opened it, not the user.
    by_edit: bool,
}

/// The editor's text of a file, if it is open.
pub enum Text {
    /// Open in the editor.
    Open(Snapshot),
    /// Open, but its text is unknown; the reason is for the model and the user.
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
            openings: 0,
            folders: Vec::new(),
            expected: Vec::new(),
            missed: false,
            early: None,
            buffers: None,
            used: VecDeque::new(),
        };
        Self { shared: Arc::new(MirrorState { state: Mutex::new(mirror), changed: watch::Sender::new(0) }) }
    }
}

impl Documents {
    fn lock(&self) -> MutexGuard<'_, Mirror> {
        // A panic under this lock leaves no document half-written: a document is replaced as a whole.
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

    /// Sets the encoding of positions, once, at `initialize`.
    pub fn set_encoding(&self, encoding: Encoding) {
        self.lock().encoding = encoding;
    }

    pub fn encoding(&self) -> Encoding {
        self.lock().encoding
    }

    /// Sets the workspace folders, once, at `initialize`.
    pub fn set_folders(&self, folders: &[PathBuf]) {
        let resolved = folders.iter().map(|folder| (folder.clone(), resolved(folder))).collect();
        self.lock().folders = resolved;
    }

    /// Adds workspace folders to those that are known.
    pub fn add_folders(&self, folders: &[PathBuf]) {
        let more: Vec<_> = folders.iter().map(|folder| (folder.clone(), resolved(folder))).collect();
        let mut mirror = self.lock();
        for known in more {
            if !mirror.folders.contains(&known) {
                mirror.folders.push(known);
            }
        }
    }

    /// Mirrors a document that the client opened.
    pub fn opened(&self, uri: &str, version: i32, text: &str) {
        self.write(|mirror| {
            let early = mirror.early.take();
            mirror.note_used(uri);
            if mirror.open.len() < MAX_OPEN || mirror.open.contains_key(uri) {
                let mut document = Document::open(uri, version, text);
                if let Some(early) = early.filter(|early| early.uri == uri && early.version - 1 == version)
                    && let Err(reason) =
                        document.apply_changes(early.version, &early.changes, mirror.encoding)
                {
                    tracing::warn!(uri, %reason, "document is unsynced");
                }
                mirror.check_expected(&document);
                mirror.openings += 1;
                let opening = mirror.openings;
                let open = Open { document, opening, resolved: None, by_edit: false };
                mirror.open.insert(uri.to_owned(), open);
            } else {
                tracing::warn!(uri, "too many open documents; this one is not mirrored");
                mirror.missed = true;
            }
        });
    }

    /// Notes that the user has mentioned a file.
    pub fn note_mentioned(&self, path: &Path) {
        self.lock().note_used(&uri::of_path(path));
    }

    /// Returns the files that were opened or mentioned last, the newest first, at most `most`.
    pub fn used_last(&self, most: usize) -> Vec<PathBuf> {
        let mirror = self.lock();
        let paths = mirror.used.iter().rev().filter_map(|uri| uri::to_document_path(uri).ok());
        paths.take(most).collect()
    }

    /// Applies changes to a document; it becomes unsynced if they do not fit.
    pub fn changed(&self, uri: &str, version: i32, changes: &[ContentChange]) {
        self.write(|mirror| {
            let encoding = mirror.encoding;
            let Some(Open { document, .. }) = mirror.open.get_mut(uri) else {
                tracing::warn!(uri, "a change of a document that is not open");
                mirror.early = Some(EarlyChange { uri: uri.to_owned(), version, changes: changes.to_vec() });
                return;
            };
            mirror.early = None;
            let before = document.clone();
            if let Err(reason) = document.apply_changes(version, changes, encoding) {
                tracing::warn!(uri, %reason, "document is unsynced");
            }
            let document = document.clone();
            mirror.check_expected(&document);
            mirror.check_misplaced(&before, &document);
        });
    }

    /// Removes a document that the client closed.
    pub fn closed(&self, uri: &str) {
        self.write(|mirror| {
            mirror.open.remove(uri);
        });
    }

    /// Notes that a message of the client was lost. It may have changed or opened any document, so all are unsynced.
    pub fn lost(&self) {
        self.write(|mirror| {
            mirror.open.values_mut().for_each(|open| open.document.lose());
            mirror.missed = true;
        });
    }

    /// Whether every document that the client opened is mirrored.
    pub fn are_complete(&self) -> bool {
        !self.lock().missed
    }

    /// Wakes the steps that wait for a document, without a change (didSave).
    pub fn saved(&self) {
        self.write(|_| {});
    }

    /// Returns a receiver that changes with every later notification.
    pub fn watch(&self) -> watch::Receiver<u64> {
        let mut receiver = self.shared.changed.subscribe();
        receiver.mark_unchanged();
        receiver
    }

    /// Returns the editor's text of a file, if it is open. The path must be resolved.
    pub fn text(&self, path: &Path) -> Text {
        self.resolve();
        Text::of(self.lock().find(path))
    }

    /// Returns a number that differs between two openings of a file, whose versions can be equal. The path must be
    /// resolved.
    pub fn opening(&self, path: &Path) -> Option<u64> {
        self.resolve();
        self.lock().find(path).map(|open| open.opening)
    }

    /// Returns the text of the document that is open under exactly this URI; does not read the disk.
    pub fn under(&self, uri: &str) -> Text {
        Text::of(self.lock().open.get(uri))
    }

    /// Whether a path is in a workspace folder by its name alone; does not read the disk.
    pub fn is_in_folder(&self, path: &Path) -> bool {
        let inside =
            |(named, resolved): &(PathBuf, PathBuf)| path.starts_with(named) || path.starts_with(resolved);
        self.lock().folders.iter().any(inside)
    }

    /// Returns the editor's URI for a file with a resolved path: that of the open document, otherwise one below a
    /// workspace folder as the editor names it.
    pub fn name_of(&self, path: &Path) -> String {
        self.resolve();
        let mirror = self.lock();
        if let Some(open) = mirror.find(path) {
            return open.document.uri().to_owned();
        }
        let below = mirror.folders.iter().find_map(|(named, resolved)| {
            let relative = path.strip_prefix(resolved).ok()?;
            Some(if relative.as_os_str().is_empty() { named.clone() } else { named.join(relative) })
        });
        uri::of_path(below.as_deref().unwrap_or(path))
    }

    /// Compares every later text of a document with the expected one.
    ///
    /// A single look afterwards could miss it: a user who continues to type may have changed the text already.
    pub fn expect(&self, uri: &str, awaited: ExpectedText) -> Expectation {
        let (expected, expectation) = ExpectedEdits::new(uri, awaited);
        self.lock().expected.push(expected);
        expectation
    }

    /// Notes that an edit of Adjutant made the editor open a file.
    pub fn note_opened_by_edit(&self, path: &Path) {
        self.resolve();
        let mut mirror = self.lock();
        if let Some(uri) = mirror.find(path).map(|open| open.document.uri().to_owned())
            && let Some(open) = mirror.open.get_mut(&uri)
        {
            open.by_edit = true;
        }
    }

    /// Whether a file is open only because an edit of Adjutant opened it.
    pub fn is_opened_by_edit(&self, path: &Path) -> bool {
        self.resolve();
        self.lock().find(path).is_some_and(|open| open.by_edit)
    }

    /// Resolves the paths of new documents. Reads the disk without the lock.
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
        // Of two documents for one file the last counts, so the best one comes last.
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
    fn note_used(&mut self, uri: &str) {
        self.used.retain(|used| used != uri);
        self.used.push_back(uri.to_owned());
        if self.used.len() > MAX_USED {
            self.used.pop_front();
        }
    }

    /// Compares the new text of a document with the expected ones.
    fn check_expected(&mut self, document: &Document) {
        self.expected.retain(|expected| expected.strong_count() > 0);
        self.expected.iter().filter_map(Weak::upgrade).for_each(|expected| expected.check(document));
    }

    /// Checks whether a change was an edit of Adjutant that was made for an older text.
    fn check_misplaced(&self, before: &Document, after: &Document) {
        let waiting = self.expected.iter().filter_map(Weak::upgrade);
        waiting.for_each(|expected| expected.check_misplaced(before, after, self.encoding));
    }

    /// Returns the document of a file. Links give a file several names, and the editor uses the one that it opened.
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

    /// Orders the documents of one file: the one under its resolved name counts first, then always the same one.
    fn rank(&self) -> (bool, &str) {
        let uri = self.document.uri();
        (uri::to_document_path(uri).ok() != self.resolved, uri)
    }
}

/// Follows every link of a path as far as it exists, and adds the rest by name.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) else { continue };
        if !rest.components().any(|part| part == Component::ParentDir) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
        // The rest does not exist, so its `..` can only be resolved by name.
        let plain = rest.components().fold(real, |mut path, part| {
            match part {
                Component::ParentDir => _ = path.pop(),
                Component::Normal(name) => path.push(name),
                _ => {}
            }
            path
        });
        return resolved(&plain);
    }
    path.to_owned()
}
