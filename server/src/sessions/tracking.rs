//! Follows the applied hunks of open documents while their text changes: tells the client where they are, and the sessions
//! what the user undid or redid in the editor, or closed without saving.
//!
//! Never decides about a hunk and never remembers where one is: each look starts from the text.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_core::record::{ReviewState, ReviewedBy};
use adjutant_core::text::trace::{HunkText, Side, Trace};
use adjutant_core::wire::review::WaitingHunks;
use adjutant_protocol::review::{ReviewHunk, ReviewUpdateParams};
use adjutant_protocol::update::HunkState;
use adjutant_protocol::{ChangeSetId, SessionId};

use super::Sessions;
use crate::aside::aside;
use crate::clock::now_ms;
use crate::documents::Text;
use crate::reviews::away::{self, AwayHunks};
use crate::reviews::{FileChanges, text_now};
use crate::session::World;
use crate::session::mailbox::Message;
use crate::uri;

/// The least time between two looks: at most ten updates per second and document.
const EVERY: Duration = Duration::from_millis(100);
/// How long the text must show a hunk in another state before its session is told: an undo is often followed by a redo.
const SETTLED: Duration = Duration::from_millis(700);

/// A hunk by its session, its change and itself.
type HunkKey = (SessionId, ChangeSetId, String);

/// What is known of one open document, or of one that was just closed.
#[derive(Default)]
struct OpenReview {
    /// The opening and the version of its text, and the number of the registry at the last look; `None` if it is closed.
    looked: Option<(u64, i32, u64)>,
    uri: String,
    sent: Vec<ReviewHunk>,
    hunks: HashMap<HunkKey, FoundState>,
}

/// What the text showed of a hunk.
struct FoundState {
    is_in_text: bool,
    /// Since when the log says otherwise.
    differs: Option<Instant>,
    /// How it came into this state: by the editor, or by closing the document.
    by: ReviewedBy,
}

impl FoundState {
    fn has_settled(&self) -> bool {
        self.differs.is_some_and(|since| since.elapsed() >= SETTLED)
    }
}

/// Follows the hunks until the registry is gone.
pub async fn follow(sessions: Sessions) {
    let world = sessions.world().clone();
    let (mut texts, mut changes) = (world.documents.watch(), world.reviews.watch());
    let mut documents: BTreeMap<String, OpenReview> = BTreeMap::new();
    let began = now_ms();
    loop {
        let due = documents
            .values()
            .flat_map(|followed| followed.hunks.values())
            .filter_map(|hunk| hunk.differs)
            .min();
        let settled = async {
            match due {
                Some(since) => tokio::time::sleep_until((since + SETTLED).into()).await,
                None => std::future::pending().await,
            }
        };
        let watched = tokio::select! {
            changed = texts.changed() => changed.is_ok(),
            changed = changes.changed() => changed.is_ok(),
            () = settled => true,
        };
        if !watched {
            return;
        }
        let (notification, number) = (*texts.borrow_and_update(), *changes.borrow_and_update());
        if world.reviews.is_empty() && documents.is_empty() {
            continue;
        }
        let here = world.clone();
        let (followed, seen) = aside(move || look(&here, documents, number, began)).await;
        documents = followed;
        seen.updates.into_iter().for_each(|update| world.link.review(update));
        world.link.items().looked(notification);
        for ((session, change_set), FoundHunks { hunks, is_in_text, by }) in seen.found {
            if let Some(mailbox) = sessions.in_memory(&session) {
                mailbox.post(Message::Found { change_set, hunks, is_in_text, by });
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// What one look has found.
#[derive(Default)]
struct LookResult {
    updates: Vec<ReviewUpdateParams>,
    /// The hunks of each change that the text shows in another state than the log.
    found: HashMap<(SessionId, ChangeSetId), FoundHunks>,
}

/// Hunks of one change whose state in the text has settled.
struct FoundHunks {
    hunks: Vec<String>,
    is_in_text: bool,
    by: ReviewedBy,
}

/// Looks at all open documents that have applied hunks, and at those that were just closed. Blocks.
fn look(
    world: &Arc<World>,
    mut before: BTreeMap<String, OpenReview>,
    number: u64,
    began: u64,
) -> (BTreeMap<String, OpenReview>, LookResult) {
    let mut files = world.reviews.targets(|_| true);
    let mut waiting: BTreeMap<String, Vec<(SessionId, WaitingHunks)>> = BTreeMap::new();
    for (session, change) in world.reviews.waiting() {
        let target = change.change.target.clone();
        files.insert(target.clone());
        waiting.entry(target).or_default().push((session, change));
    }
    let (mut now, mut seen) = (BTreeMap::new(), LookResult::default());
    for target in files {
        let waiting = waiting.remove(&target).unwrap_or_default();
        let Some(OpenText { text, uri, version, opening }) = open_text(world, &target) else {
            let closed = before
                .remove(&target)
                .and_then(|followed| followed.look_closed(world, &target, began, &mut seen));
            now.extend(closed.map(|closed| (target, closed)));
            continue;
        };
        let mut followed = before.remove(&target).unwrap_or_default();
        let is_due = followed.is_due();
        if is_due || followed.looked != Some((opening, version, number)) {
            let changes = FileChanges::read(&world.reviews, world.reviews.of_file(&target));
            let traces = changes.trace(&text);
            let away = away::look(&changes, &traces);
            followed.note(&changes, &traces, &away, began, ReviewedBy::Editor);
            let mut hunks = changes.views_of(&text, &traces, &away);
            hunks.retain(|hunk| !hunk.is_decided() && hunk.state != HunkState::Away);
            hunks.extend(waiting.iter().flat_map(|(session, waiting)| waiting.views_in(session, &text)));
            hunks.sort_by_key(|hunk| hunk.line);
            // A client draws and decides only on the version of its text, so it needs the hunks for each.
            let is_known = followed.looked.is_some_and(|(of, seen, _)| (of, seen) == (opening, version));
            if hunks != followed.sent || !is_known && !hunks.is_empty() {
                let update =
                    ReviewUpdateParams { uri: uri.clone(), version: Some(version), hunks: hunks.clone() };
                seen.updates.push(update);
                followed.sent = hunks;
            }
            (followed.looked, followed.uri) = (Some((opening, version, number)), uri);
        }
        // While git writes files, they are not yet those of its branch.
        if is_due && away::is_git_busy(&target) {
            followed.wait();
        }
        followed.report(&mut seen);
        now.insert(target, followed);
    }
    // Documents that have no applied hunks any more.
    before.into_values().for_each(|mut followed| followed.clear(&mut seen));
    (now, seen)
}

/// The text of an open document.
struct OpenText {
    text: String,
    uri: String,
    version: i32,
    /// The number of its `didOpen`: a version of one opening says nothing about another.
    opening: u64,
}

fn open_text(world: &World, target: &str) -> Option<OpenText> {
    let path = uri::to_path(target).ok()?;
    let Text::Open(snapshot) = world.documents.text(&path) else { return None };
    let (version, uri) = (snapshot.version?, world.documents.name_of(&path));
    let opening = world.documents.opening(&path)?;
    Some(OpenText { text: snapshot.string(), uri, version, opening })
}

impl OpenReview {
    /// Notes which hunks are in the text. One that is away is neither in it nor undone. A hunk counts as undone in the editor only if it was in the text since this server
    /// began: what happened to a file before is not known.
    fn note(
        &mut self,
        changes: &FileChanges,
        traces: &[Vec<Trace>],
        away: &AwayHunks,
        began: u64,
        by: ReviewedBy,
    ) {
        let mut hunks = HashMap::new();
        for (change, (owned, traces)) in changes.changes.iter().zip(traces).enumerate() {
            for (number, (hunk, trace)) in owned.change.hunks.iter().zip(traces).enumerate() {
                let key = (owned.session.clone(), owned.change.change_set.clone(), hunk.id.clone());
                let known = self.hunks.remove(&key);
                let is_away = away.contains_key(&(change, number));
                let (HunkText::Is(side), false) = (trace.found, is_away) else {
                    hunks.extend(known.map(|known| (key, FoundState { differs: None, ..known })));
                    continue;
                };
                let is_in_text = side == Side::After;
                let log = hunk.state != ReviewState::Undone;
                let was_as_in_log = match &known {
                    Some(known) => known.differs.is_some() || known.is_in_text == log,
                    None => owned.change.at >= began,
                };
                // A document that is open again was closed anyway.
                let was_closed = known
                    .as_ref()
                    .is_some_and(|known| known.differs.is_some() && known.by == ReviewedBy::Close);
                let by = if was_closed { ReviewedBy::Close } else { by };
                let since = known.and_then(|known| known.differs).unwrap_or_else(Instant::now);
                let differs = (is_in_text != log && was_as_in_log && hunk.pending.is_none()).then_some(since);
                hunks.insert(key, FoundState { is_in_text, differs, by });
            }
        }
        self.hunks = hunks;
    }

    /// Looks at the file of a document that was closed. Its last text is gone, so the disk says what became of the hunks. Returns
    /// what is left to look at: a state that has not settled.
    fn look_closed(mut self, world: &World, target: &str, began: u64, seen: &mut LookResult) -> Option<Self> {
        self.clear(seen);
        self.looked = None;
        let owned = world.reviews.of_file(target);
        let text = text_now(&world.documents, owned.first()?)?;
        let changes = FileChanges::read(&world.reviews, owned);
        let traces = changes.trace(&text);
        self.note(&changes, &traces, &away::look(&changes, &traces), began, ReviewedBy::Close);
        if self.is_due() && away::is_git_busy(target) {
            self.wait();
        }
        self.report(seen);
        self.hunks.values().any(|hunk| hunk.differs.is_some()).then_some(self)
    }

    /// Takes the drawn hunks of the document away from the client.
    fn clear(&mut self, seen: &mut LookResult) {
        if !std::mem::take(&mut self.sent).is_empty() {
            let (uri, hunks) = (self.uri.clone(), Vec::new());
            seen.updates.push(ReviewUpdateParams { uri, version: None, hunks });
        }
    }

    /// Whether another state of a hunk has settled.
    fn is_due(&self) -> bool {
        self.hunks.values().any(FoundState::has_settled)
    }

    /// Lets the states that have settled do so once more.
    fn wait(&mut self) {
        for hunk in self.hunks.values_mut().filter(|hunk| hunk.has_settled()) {
            hunk.differs = Some(Instant::now());
        }
    }

    /// Reports the hunks whose other state has settled.
    fn report(&mut self, seen: &mut LookResult) {
        for ((session, change_set, hunk), state) in &mut self.hunks {
            if state.has_settled() {
                state.differs = None;
                let key = (session.clone(), change_set.clone());
                let FoundState { is_in_text, by, .. } = *state;
                let first = || FoundHunks { hunks: Vec::new(), is_in_text, by };
                let entry = seen.found.entry(key).or_insert_with(first);
                if entry.is_in_text == is_in_text {
                    entry.hunks.push(hunk.clone());
                }
            }
        }
    }
}
