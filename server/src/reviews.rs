//! The applied changes of all sessions of this process, by their files, and where their hunks are in a text.
//!
//! Never decides about a hunk. A session puts its changes here when they change.

pub mod away;
mod befores;
pub mod committed;
pub mod earlier;
mod known;
mod listed;
pub mod opened;
pub mod renamed;
pub mod staged;
mod texts;
mod whole_files;

use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_core::record::{FileOperation, ReviewState};
use adjutant_core::session::applied::ChangeHead;
use adjutant_core::session::rewind::FoundChange;
use adjutant_core::session::{AppliedChange, AppliedChanges, AppliedHunk};
use adjutant_core::text::edit::lines;
use adjutant_core::text::trace::{HunkText, PastChange, Side, SideRefusal, Trace, trace_all};
use adjutant_core::wire::review::{FoundHunk, WaitingHunks, applied_hunk};
use adjutant_host::clock::now_ms;
use adjutant_host::uri;
use adjutant_protocol::review::{HunkName, ReviewHunk};
use adjutant_protocol::{ChangeSetId, SessionId};
use adjutant_store::blobs::{Blobs, hash_of};
use adjutant_tools::paths::{Roots, open_read, resolve};
use tokio::sync::watch;

use away::AwayHunks;

pub use known::KnownChange;
pub use listed::{formatted_of, hunks};
pub use texts::{FileNow, file_now, target_of, text_before, text_now};
use texts::{MAX_FILE, text_at};

/// The registry; clones share it.
#[derive(Clone)]
pub struct Reviews {
    shared: Arc<ReviewRegistry>,
}

struct ReviewRegistry {
    sessions: Mutex<KnownSessions>,
    /// Counts changes of the registry.
    changed: watch::Sender<u64>,
    /// What the last look at an open document has found.
    last: Mutex<Option<opened::LastLook>>,
    befores: befores::KeptTexts,
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
    /// The hunks that wait for an answer or are on their way.
    waiting: Vec<WaitingHunks>,
    source: ChangesSource,
    changes: Vec<KnownChange>,
}

/// Where the changes of a session are from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangesSource {
    /// The session in memory: the number of its changes.
    Memory { number: u64 },
    /// Its log, as it was at this time.
    Log { updated_at: u64 },
    /// The session has left memory, or nothing is known yet.
    Left,
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
            shared: Arc::new(ReviewRegistry {
                sessions: Mutex::default(),
                changed: watch::Sender::new(0),
                last: Mutex::default(),
                befores: befores::KeptTexts::default(),
            }),
        }
    }
}

impl Reviews {
    fn lock(&self) -> MutexGuard<'_, KnownSessions> {
        self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the hunks of a session that wait for an answer or are on their way.
    pub fn set_waiting(&self, session: &SessionId, waiting: Vec<WaitingHunks>) {
        let mut sessions = self.lock();
        let Some(known) = sessions.all.get_mut(session).filter(|known| known.waiting != waiting) else {
            return;
        };
        known.waiting = waiting;
        drop(sessions);
        self.shared.changed.send_modify(|count| *count += 1);
    }

    /// Returns the changes of all sessions with hunks that wait for an answer or are on their way.
    pub fn waiting(&self) -> Vec<(SessionId, WaitingHunks)> {
        let sessions = self.lock();
        let of_session = |(id, known): (&SessionId, &SessionChanges)| {
            let id = id.clone();
            known.waiting.clone().into_iter().map(move |waiting| (id.clone(), waiting))
        };
        sessions.all.iter().flat_map(of_session).collect()
    }

    /// Sets the changes of a session, if they differ from those that are known.
    pub fn set(&self, session: &SessionId, roots: &Roots, blobs: &Arc<Blobs>, applied: &AppliedChanges) {
        let changes = || applied.all().into_iter().cloned().map(KnownChange::Read).collect();
        self.put(session, roots, blobs, ChangesSource::Memory { number: applied.number }, changes);
    }

    /// Sets the changes of a session that is not in memory, as its log had them at a time; milliseconds since the Unix
    /// epoch.
    pub fn set_read(
        &self,
        session: &SessionId,
        roots: &Roots,
        blobs: &Arc<Blobs>,
        changes: Vec<KnownChange>,
        updated_at: u64,
    ) {
        self.put(session, roots, blobs, ChangesSource::Log { updated_at }, || changes);
    }

    /// Whether the changes of a session are known as its log had them at this time, or later because it is in memory.
    pub fn has_read(&self, session: &SessionId, updated_at: u64) -> bool {
        self.lock().all.get(session).is_some_and(|known| match known.source {
            ChangesSource::Memory { .. } => true,
            ChangesSource::Log { updated_at: then } => then == updated_at,
            ChangesSource::Left => false,
        })
    }

    fn put(
        &self,
        session: &SessionId,
        roots: &Roots,
        blobs: &Arc<Blobs>,
        source: ChangesSource,
        changes: impl FnOnce() -> Vec<KnownChange>,
    ) {
        let mut sessions = self.lock();
        let KnownSessions { all, roots: open } = &mut *sessions;
        let known = all.entry(session.clone()).or_insert_with(|| {
            let workspace: Workspace = roots.paths().map(Path::to_path_buf).collect();
            open.entry(workspace.clone()).or_insert_with(|| roots.clone());
            let (waiting, changes, source) = (Vec::new(), Vec::new(), ChangesSource::Left);
            SessionChanges { workspace, blobs: blobs.clone(), waiting, source, changes }
        });
        if known.source == source {
            return;
        }
        known.source = source;
        let changes = changes();
        let is_empty = changes.is_empty() && known.changes.is_empty();
        known.changes = changes;
        drop(sessions);
        if !is_empty {
            self.shared.changed.send_modify(|count| *count += 1);
        }
    }

    /// Forgets what needs no review of a session that leaves memory.
    pub fn leaves(&self, session: &SessionId) {
        let mut sessions = self.lock();
        let Some(known) = sessions.all.get_mut(session) else { return };
        (known.source, known.waiting) = (ChangesSource::Left, Vec::new());
        let is_kept =
            |change: Arc<AppliedChange>| change.hunks.iter().all(|hunk| hunk.state == ReviewState::Kept);
        known.changes.retain(|change| !change.read().is_some_and(is_kept));
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

    /// Whether no session has hunks.
    pub fn is_empty(&self) -> bool {
        self.lock().all.values().all(|known| known.changes.is_empty() && known.waiting.is_empty())
    }

    /// Shows hunks as kept because they were committed, until their session says itself what they are: a session that is not in
    /// memory records it when it is opened.
    pub fn show_committed(
        &self,
        session: &SessionId,
        change_set: &ChangeSetId,
        hunks: &[String],
        on: Option<&str>,
    ) {
        let mut sessions = self.lock();
        let Some(known) = sessions.all.get_mut(session) else { return };
        for known in known.changes.iter_mut().filter(|known| known.head().change_set == change_set.0) {
            let Some(change) = known.read() else { continue };
            *known = KnownChange::Read(Arc::new(change.committed(hunks, on)));
        }
        drop(sessions);
        self.shared.changed.send_modify(|count| *count += 1);
    }

    /// Returns a number that grows with every change of the registry.
    pub fn number(&self) -> u64 {
        *self.shared.changed.borrow()
    }

    /// Waits for changes of the registry.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// Returns the titles of the tasks of other sessions with changes of a file that nobody has decided about, oldest first.
    pub fn undecided_elsewhere(&self, target: &str, session: &SessionId) -> Vec<String> {
        let mut titles = Vec::new();
        let is_open =
            |owned: &OwnedChange| owned.change.hunks.iter().any(|hunk| hunk.state == ReviewState::Applied);
        let others = self.of_file(target).into_iter().filter(|owned| owned.session != *session);
        for owned in others.filter(is_open) {
            if !titles.contains(&owned.change.maker.title) {
                titles.push(owned.change.maker.title.clone());
            }
        }
        titles
    }

    /// Whether the file of a document has changes. Blocks.
    pub fn has_changes(&self, uri: &str) -> bool {
        let target = target_of(uri);
        self.has(|change| change.target == target)
    }

    /// Whether there is a change that is wanted by its head.
    pub fn has(&self, is_wanted: impl Fn(ChangeHead<&str>) -> bool) -> bool {
        self.lock().all.values().flat_map(|known| &known.changes).any(|known| is_wanted(known.head()))
    }

    /// Returns the files of the changes that are wanted by their heads: their URIs after following every link.
    pub fn targets(&self, is_wanted: impl Fn(ChangeHead<&str>) -> bool) -> BTreeSet<String> {
        let sessions = self.lock();
        let heads = sessions.all.values().flat_map(|known| &known.changes).map(KnownChange::head);
        let files: BTreeSet<&str> =
            heads.filter(|head| is_wanted(head.clone())).map(|head| head.target).collect();
        files.into_iter().map(str::to_owned).collect()
    }

    /// Returns the changes of one file, oldest first. `target` is its URI after following every link.
    pub fn of_file(&self, target: &str) -> Vec<OwnedChange> {
        self.of(|change| change.target == target)
    }

    /// Returns the changes that are wanted by their heads, oldest first. Blocks while it reads them.
    pub fn of(&self, is_wanted: impl Fn(ChangeHead<&str>) -> bool) -> Vec<OwnedChange> {
        let mut wanted = Vec::new();
        {
            let sessions = self.lock();
            for (session, of_session) in &sessions.all {
                let Some(roots) = sessions.roots.get(&of_session.workspace) else { continue };
                let changes = of_session.changes.iter().filter(|known| is_wanted(known.head()));
                wanted.extend(
                    changes.map(|known| {
                        (session.clone(), known.clone(), roots.clone(), of_session.blobs.clone())
                    }),
                );
            }
        }
        known::read_all(wanted.iter().map(|(_, known, ..)| known));
        let now = now_ms();
        let owned = |(session, known, roots, blobs): (SessionId, KnownChange, Roots, Arc<Blobs>)| {
            Some(OwnedChange { session, change: known.read()?.at_time(now), roots, blobs })
        };
        let mut all: Vec<OwnedChange> = wanted.into_iter().filter_map(owned).collect();
        all.sort_by_key(|owned| (owned.change.at, owned.change.seq));
        all
    }
}

/// Why a decision about another text is not carried out.
pub const NOT_AS_SHOWN: &str =
    "the text in its place is not what was shown; look at it again before you decide";

/// The changes of one file with the texts before them, ready to be found in a text.
pub struct FileChanges {
    pub changes: Vec<OwnedChange>,
    befores: Vec<Option<Arc<str>>>,
}

impl FileChanges {
    /// Reads the texts before the changes. Blocks.
    pub fn read(reviews: &Reviews, changes: Vec<OwnedChange>) -> Self {
        let before = |owned: &OwnedChange| reviews.shared.befores.before(&owned.blobs, &owned.change);
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
    pub fn views_of(&self, now: &str, traces: &[Vec<Trace>], away: &AwayHunks) -> Vec<ReviewHunk> {
        self.views(now, traces, away, |_, _| true)
    }

    /// Returns the hunks that are `wanted` by their place in a text, as clients see them with this text.
    pub fn views_where(&self, text: &str, wanted: impl Fn(&AppliedHunk, &Trace) -> bool) -> Vec<ReviewHunk> {
        self.views(text, &self.trace(text), &AwayHunks::new(), wanted)
    }

    fn views(
        &self,
        now: &str,
        traces: &[Vec<Trace>],
        away: &AwayHunks,
        wanted: impl Fn(&AppliedHunk, &Trace) -> bool,
    ) -> Vec<ReviewHunk> {
        // Of a long text only what has hunks.
        let last = traces.iter().flatten().map(|trace| trace.lines.end).max().unwrap_or(0);
        let all: Vec<&str> = lines(now).take(last).collect();
        let mut views = Vec::new();
        for (change, (owned, traces)) in self.changes.iter().zip(traces).enumerate() {
            let pairs = owned.change.hunks.iter().zip(traces).enumerate();
            for (number, (hunk, trace)) in pairs.filter(|(_, (hunk, trace))| wanted(hunk, trace)) {
                let found = FoundHunk {
                    trace,
                    text: all.get(trace.lines.clone()).unwrap_or_default().concat(),
                    beneath: trace.beneath.iter().filter_map(|name| self.name(*name)).collect(),
                    away: away.get(&(change, number)).cloned(),
                };
                views.extend(applied_hunk(&owned.session, &owned.change, hunk, found));
            }
        }
        views
    }

    /// Returns the numbers of a hunk: of its change, and of itself in the change.
    pub fn number_of(
        &self,
        session: &SessionId,
        change_set: &ChangeSetId,
        hunk: &str,
    ) -> Option<(usize, usize)> {
        let is_it = |owned: &OwnedChange| owned.session == *session && owned.change.change_set == *change_set;
        let change = self.changes.iter().position(is_it)?;
        let hunks = &self.changes[change].change.hunks;
        Some((change, hunks.iter().position(|one| one.id == hunk)?))
    }

    /// Returns the hunks that are undone, the last one first.
    pub fn undone_last(&self) -> Vec<(usize, usize)> {
        let hunks = self.changes.iter().enumerate().flat_map(|(change, owned)| {
            let hunks = owned.change.hunks.iter().enumerate();
            hunks.map(move |(number, hunk)| (hunk, (change, number)))
        });
        let mut undone: Vec<_> =
            hunks.filter(|(hunk, _)| hunk.state == ReviewState::Undone && hunk.pending.is_none()).collect();
        undone.sort_by_key(|(hunk, _)| std::cmp::Reverse(hunk.since));
        undone.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the changes for a preview of what it means to take back runs of a session.
    pub fn found(&self, session: &SessionId) -> Vec<FoundChange<'_>> {
        let is_own = |owned: &OwnedChange| owned.session == *session;
        let all = self.changes.iter().zip(self.past());
        all.map(|(owned, past)| FoundChange { change: &owned.change, is_own: is_own(owned), past }).collect()
    }

    /// Returns why a hunk was not undone or restored, for people.
    pub fn refusal(&self, why: SideRefusal) -> String {
        let title =
            |change: usize| self.changes.get(change).map_or("", |owned| owned.change.maker.title.as_str());
        match why {
            SideRefusal::Gone => "neither its lines nor those around it are in the file now".to_owned(),
            SideRefusal::NotKept => {
                "the text before it is not kept any more (setting `edits.keep_mb`), and it \
                                     cannot be found without; change the file by hand"
                    .to_owned()
            }
            SideRefusal::Amended => NOT_AS_SHOWN.to_owned(),
            SideRefusal::Beneath { change, .. } => {
                format!(
                    "a later change (\"{}\") stands on it; undo that one first, or both together",
                    title(change)
                )
            }
            SideRefusal::OnUndone { change, .. } => format!(
                "it was made on an earlier change (\"{}\") that is undone; restore that one first, or both together",
                title(change)
            ),
        }
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

/// Returns whether the disk shows the deletion or the move of a file as done. A deletion is undone while the file has the content
/// that was deleted; once the log says that it is undone, the file may change. Blocks.
pub fn operation_found(owned: &OwnedChange) -> HunkText {
    let change = &owned.change;
    let is_undone = || change.hunks.first().is_some_and(|hunk| hunk.state == ReviewState::Undone);
    let is_there = |path: &str, target: &str| {
        let at = resolve(&owned.roots, path).ok();
        at.filter(|at| at.inside && uri::of_path(&at.absolute) == target).map(|at| at.exists())
    };
    let from = is_there(&change.path, &change.target);
    match &change.operation {
        None => HunkText::Gone,
        Some(FileOperation::Delete { .. }) => match from {
            Some(true) if is_undone() || has_content_before(owned) => HunkText::Is(Side::Before),
            // No file, or another one that has its name now.
            Some(_) => HunkText::Is(Side::After),
            None => HunkText::Gone,
        },
        Some(FileOperation::Move { path, target, .. }) => match (from, is_there(path, target)) {
            (Some(false), Some(true)) => HunkText::Is(Side::After),
            (Some(true), Some(false)) => HunkText::Is(Side::Before),
            _ => HunkText::Gone,
        },
    }
}

/// Whether the file of a change has every byte that it had before it. Blocks.
fn has_content_before(owned: &OwnedChange) -> bool {
    let read = || {
        let (at, mut bytes) = (resolve(&owned.roots, &owned.change.path).ok()?, Vec::new());
        open_read(&at).ok()?.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
        Some(hash_of(&bytes))
    };
    owned.change.before.is_some() && read() == owned.change.before
}
