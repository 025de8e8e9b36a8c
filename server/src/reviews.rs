//! The applied changes of all sessions of this process, by their files, and where their hunks are in a text.
//!
//! Never decides about a hunk. A session puts its changes here when they change.

use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_core::record::ReviewState;
use adjutant_core::session::{AppliedChange, AppliedChanges};
use adjutant_core::text::edit::{lines, split_bom};
use adjutant_core::text::trace::{PastChange, Trace, trace_all};
use adjutant_core::wire::review::{FoundHunk, applied_hunk};
use adjutant_protocol::SessionId;
use adjutant_protocol::review::{HunkName, ReviewHunk};
use adjutant_protocol::update::HunkState;
use adjutant_store::blobs::Blobs;
use adjutant_tools::documents::{Documents, Text};
use adjutant_tools::paths::{Roots, open_read, resolve};
use tokio::sync::watch;

/// The registry; clones share it.
#[derive(Clone)]
pub struct Reviews {
    shared: Arc<ReviewRegistry>,
}

struct ReviewRegistry {
    sessions: Mutex<KnownSessions>,
    /// Counts changes of the registry.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct KnownSessions {
    all: HashMap<SessionId, SessionChanges>,
    /// The open folders of each workspace, shared by its sessions.
    roots: HashMap<Workspace, Roots>,
}

/// The paths of the folders of a workspace.
type Workspace = Vec<PathBuf>;

/// The changes of one session.
struct SessionChanges {
    workspace: Workspace,
    blobs: Arc<Blobs>,
    /// The number of the session's changes; `None` once it has left memory.
    number: Option<u64>,
    changes: Vec<Arc<AppliedChange>>,
}

/// An applied change with its session.
#[derive(Clone)]
pub struct OwnedChange {
    pub session: SessionId,
    pub change: Arc<AppliedChange>,
    roots: Roots,
    blobs: Arc<Blobs>,
}

impl Default for Reviews {
    fn default() -> Self {
        Self {
            shared: Arc::new(ReviewRegistry { sessions: Mutex::default(), changed: watch::Sender::new(0) }),
        }
    }
}

impl Reviews {
    fn lock(&self) -> MutexGuard<'_, KnownSessions> {
        self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the changes of a session, if they differ from those that are known.
    pub fn set(&self, session: &SessionId, roots: &Roots, blobs: &Arc<Blobs>, applied: &AppliedChanges) {
        let mut sessions = self.lock();
        let known = sessions.all.get(session).map(|known| known.number);
        if known == Some(Some(applied.number)) || known.is_none() && applied.number == 0 {
            return;
        }
        let workspace: Workspace = roots.paths().map(Path::to_path_buf).collect();
        sessions.roots.entry(workspace.clone()).or_insert_with(|| roots.clone());
        let changes = applied.all().into_iter().cloned().collect();
        let (blobs, number) = (blobs.clone(), Some(applied.number));
        let entry = SessionChanges { workspace, blobs, number, changes };
        sessions.all.insert(session.clone(), entry);
        drop(sessions);
        self.shared.changed.send_modify(|count| *count += 1);
    }

    /// Forgets what needs no review of a session that leaves memory.
    pub fn leaves(&self, session: &SessionId) {
        let mut sessions = self.lock();
        let Some(known) = sessions.all.get_mut(session) else { return };
        known.number = None;
        known.changes.retain(|change| change.hunks.iter().any(|hunk| hunk.state == ReviewState::Applied));
        if known.changes.is_empty() {
            sessions.all.remove(session);
        }
        let KnownSessions { all, roots } = &mut *sessions;
        roots.retain(|workspace, _| all.values().any(|session| session.workspace == *workspace));
        drop(sessions);
        self.shared.changed.send_modify(|count| *count += 1);
    }

    /// Forgets a session whose files are deleted.
    pub fn remove(&self, session: &SessionId) {
        if self.lock().all.remove(session).is_some() {
            self.shared.changed.send_modify(|count| *count += 1);
        }
    }

    /// Whether no session has applied changes.
    pub fn is_empty(&self) -> bool {
        self.lock().all.is_empty()
    }

    /// Waits for changes of the registry.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// Returns the changes of one file, oldest first. `target` is its URI after following every link.
    pub fn of_file(&self, target: &str) -> Vec<OwnedChange> {
        self.of(|change| change.target == target)
    }

    /// Returns the changes that `is_wanted`, oldest first.
    pub fn of(&self, is_wanted: impl Fn(&AppliedChange) -> bool) -> Vec<OwnedChange> {
        let sessions = self.lock();
        let mut all: Vec<OwnedChange> = Vec::new();
        for (session, of_session) in &sessions.all {
            let Some(roots) = sessions.roots.get(&of_session.workspace) else { continue };
            let wanted = of_session.changes.iter().filter(|change| is_wanted(change));
            all.extend(wanted.map(|change| OwnedChange {
                session: session.clone(),
                change: change.clone(),
                roots: roots.clone(),
                blobs: of_session.blobs.clone(),
            }));
        }
        all.sort_by_key(|owned| (owned.change.at, owned.change.seq));
        all
    }
}

/// The text of a file now.
pub struct TextNow {
    pub text: String,
    /// The open document, if the file is open.
    pub open: Option<OpenFile>,
}

/// The open document of a file.
pub struct OpenFile {
    pub uri: String,
    pub version: i32,
    /// The number of its `didOpen`: a version of one opening says nothing about another.
    pub opening: u64,
}

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Returns the text of the file of a change: the buffer if it is open, else the disk. `None` if it cannot be read, or if
/// its path leads to another file now. Blocks.
pub fn text_now(documents: &Documents, owned: &OwnedChange) -> Option<TextNow> {
    let at = resolve(&owned.roots, &owned.change.path).ok()?;
    if !at.inside || adjutant_host::uri::of_path(&at.absolute) != owned.change.target {
        return None;
    }
    match documents.text(&at.absolute) {
        Text::Open(snapshot) => {
            let (uri, opening) = (documents.name_of(&at.absolute), documents.opening(&at.absolute));
            let open = snapshot.version.zip(opening);
            let open = open.map(|(version, opening)| OpenFile { uri, version, opening });
            Some(TextNow { text: snapshot.string(), open })
        }
        Text::Unsynced(_) => None,
        Text::Closed => {
            let mut bytes = Vec::new();
            open_read(&at).ok()?.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MAX_FILE)?;
            Some(TextNow { text: split_bom(&text).1.to_owned(), open: None })
        }
    }
}

/// The changes of one file with the texts before them, ready to be found in a text.
pub struct FileChanges {
    pub changes: Vec<OwnedChange>,
    befores: Vec<Option<String>>,
}

impl FileChanges {
    /// Reads the texts before the changes. Blocks.
    pub fn read(changes: Vec<OwnedChange>) -> Self {
        let before = |owned: &OwnedChange| {
            let bytes = owned.blobs.get(owned.change.before.as_deref()?).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            Some(split_bom(&text).1.to_owned())
        };
        let is_kept = |owned: &OwnedChange| owned.change.past(None).is_some();
        let changes: Vec<OwnedChange> = changes.into_iter().filter(is_kept).collect();
        Self { befores: changes.iter().map(before).collect(), changes }
    }

    /// Returns the changes in the form in which they are found in a text.
    pub fn past(&self) -> Vec<PastChange<'_>> {
        let pairs = self.changes.iter().zip(&self.befores);
        pairs.filter_map(|(owned, before)| owned.change.past(before.as_deref())).collect()
    }

    /// Returns where the hunks of each change are in a text.
    pub fn trace(&self, now: &str) -> Vec<Vec<Trace>> {
        trace_all(now, &self.past())
    }

    /// Returns the hunks as clients see them; `traces` is where they are in this text.
    pub fn views_of(&self, now: &str, traces: &[Vec<Trace>]) -> Vec<ReviewHunk> {
        let all: Vec<&str> = lines(now).collect();
        let mut views = Vec::new();
        for (owned, traces) in self.changes.iter().zip(traces) {
            for (hunk, trace) in owned.change.hunks.iter().zip(traces) {
                let found = FoundHunk {
                    trace,
                    text: all.get(trace.lines.clone()).unwrap_or_default().concat(),
                    beneath: trace.beneath.iter().filter_map(|name| self.name(*name)).collect(),
                };
                views.extend(applied_hunk(&owned.session, &owned.change, hunk, found));
            }
        }
        views
    }

    /// Returns the ids of a hunk by the numbers of its change and itself.
    pub fn name(&self, (change, hunk): (usize, usize)) -> Option<HunkName> {
        let owned = self.changes.get(change)?;
        Some(HunkName {
            session_id: owned.session.clone(),
            change_set_id: owned.change.change_set.clone(),
            hunk_id: owned.change.hunks.get(hunk)?.id.clone(),
        })
    }
}

/// Returns the applied hunks that nobody has looked at, of all files, oldest change first. Blocks.
pub fn unreviewed(reviews: &Reviews, documents: &Documents) -> Vec<ReviewHunk> {
    let all = reviews.of(|_| true);
    let is_open = |owned: &OwnedChange| {
        let mut hunks = owned.change.hunks.iter();
        hunks.any(|hunk| hunk.state == ReviewState::Applied || hunk.pending.is_some())
    };
    let files: BTreeSet<String> =
        all.iter().filter(|owned| is_open(owned)).map(|owned| owned.change.target.clone()).collect();
    let mut hunks = Vec::new();
    for file in files {
        let changes =
            FileChanges::read(all.iter().filter(|owned| owned.change.target == file).cloned().collect());
        let now = changes.changes.last().and_then(|owned| text_now(documents, owned));
        let now = now.map(|now| now.text).unwrap_or_default();
        hunks.extend(changes.views_of(&now, &changes.trace(&now)));
    }
    let is_wanted = |hunk: &ReviewHunk| !matches!(hunk.state, HunkState::Kept | HunkState::Undone);
    hunks.retain(is_wanted);
    hunks.sort_by_key(|hunk| hunk.made_by.as_ref().map(|made| made.at));
    hunks
}
