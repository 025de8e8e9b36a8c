//! Folds a session from its log, and replays its lasting updates.
//!
//! Keeps the session and one record in memory at a time, however long the log is.
//! Never locks a log and never changes one.

use std::sync::Arc;

use adjutant_core::record::{self, Event, Record};
use adjutant_core::session::Session;
use adjutant_core::wire::items::Items;
use adjutant_core::wire::state::{self, Projector};
use adjutant_protocol::ask::AskResolvedParams;
use adjutant_protocol::update::{SessionUpdateParams, Update};
use adjutant_protocol::{RunId, SessionId};
use tokio::sync::{Semaphore, mpsc};

use super::catalog::Catalog;
use super::log::{Log, LogMark, Notice, RecordRaw};
use crate::client::backfill::{Backfill, LastingMessage, UpdateCursor, UpdateRange};

/// How the JSON of an event is read: `None` for an unknown event that this version may skip, and an error for any other that
/// it cannot read.
type EventReader = fn(&str) -> Result<Option<Event>, serde_json::Error>;

/// Parses one record.
pub fn read_record(record: &RecordRaw) -> Result<Option<Record>, String> {
    read_by(record::read, record)
}

fn read_by(read: EventReader, record: &RecordRaw) -> Result<Option<Record>, String> {
    let parsed = |event| Record { seq: record.seq, at: record.at_ms, last: record.last, event };
    read(record.event.get())
        .map(|event| event.map(parsed))
        .map_err(|error| {
            let seq = record.seq;
            format!("this version cannot read record {seq} ({error}); if a newer version wrote it, update to continue it")
        })
}

/// How deep arrays and objects of a record may be nested: the JSON parser reads them up to this depth.
const MAX_NESTING: usize = 127;

/// Returns how deep arrays and objects of a JSON text are nested.
fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_text) = (0_usize, 0_usize, false);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_text => _ = bytes.next(),
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A session that is folded from its log, record by record.
pub struct FoldedSession {
    pub session: Session,
    /// When its last event was written, in milliseconds since the Unix epoch; 0 without one.
    pub at: u64,
    read: EventReader,
    /// Out-of-order events: the number of the first, and how many there are.
    strays: Option<(u64, u64)>,
    failed: Option<String>,
}

impl FoldedSession {
    pub fn new(id: &SessionId) -> Self {
        Self::of(Session::new(id.clone(), Vec::new()), record::read)
    }

    fn of(session: Session, read: EventReader) -> Self {
        Self { session, at: 0, read, strays: None, failed: None }
    }

    /// Applies one record. After a record that cannot be read, all others are ignored, because the session
    /// would be a guess.
    pub fn fold(&mut self, record: &RecordRaw) -> Option<Record> {
        if self.failed.is_some() {
            return None;
        }
        match read_by(self.read, record) {
            Ok(None) => {
                self.at = record.at_ms;
                None
            }
            Ok(Some(record)) => {
                if self.session.is_out_of_place(&record.event) {
                    self.strays.get_or_insert((record.seq, 0)).1 += 1;
                }
                self.session.apply(&record);
                self.at = record.at;
                Some(record)
            }
            // No version nests a record so deep: it is damaged, and is skipped.
            Err(_) if nesting(record.event.get()) > MAX_NESTING => {
                self.strays.get_or_insert((record.seq, 0)).1 += 1;
                None
            }
            Err(why) => {
                self.failed = Some(why);
                None
            }
        }
    }

    /// Returns an error if a record could not be read.
    pub fn whole(&self) -> Result<(), String> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Returns a notice if the log has out-of-order events.
    pub fn strays(&self) -> Option<Notice> {
        self.strays.map(|(seq, facts)| Notice::OutOfPlace { seq, records: facts })
    }
}

/// A session that is folded from its log, and the number of its lasting updates.
pub struct ReplayedSession {
    pub folded: FoldedSession,
    projector: Projector,
    /// The items of its lasting updates.
    pub items: Items,
    /// The number of the last lasting update.
    pub seq: u64,
}

/// One record and its lasting updates.
struct ReplayedRecord {
    record: Record,
    run: Option<RunId>,
    updates: Vec<Update>,
}

impl ReplayedSession {
    pub fn new(id: &SessionId) -> Self {
        let folded = FoldedSession::new(id);
        Self { projector: Projector::new(&folded.session), folded, items: Items::default(), seq: 0 }
    }

    /// Applies one record and numbers its updates.
    pub fn fold(&mut self, record: &RecordRaw) {
        if let Some(ReplayedRecord { run, updates, .. }) = self.replay(record) {
            updates.iter().for_each(|update| self.items.add(run.as_ref(), update));
        }
    }

    fn replay(&mut self, record: &RecordRaw) -> Option<ReplayedRecord> {
        let record = self.folded.fold(record)?;
        let run = self.projector.run_of(&self.folded.session, &record);
        let updates = match self.projector.project(&self.folded.session, &record) {
            state::Updates::Lasting(updates) => updates,
            state::Updates::Passing(_) => Vec::new(),
        };
        self.seq += updates.len() as u64;
        Some(ReplayedRecord { record, run, updates })
    }
}

/// Folds a session from its log, without what the model knows of files. Blocks.
pub fn fold(catalog: &Catalog, id: &SessionId) -> Result<Session, String> {
    fold_by(record::read, catalog, id).map(|folded| folded.session)
}

/// A session as its log has it.
pub struct FoldedLog {
    pub session: Session,
    /// How far the log went; `None` if anything in it is damaged or missing, so that the same mark may name another text.
    pub whole: Option<LogMark>,
}

/// Folds the changes of a session from its log. What the model said and what tools returned is missing in it. Blocks.
pub fn fold_changes(catalog: &Catalog, id: &SessionId) -> Result<FoldedLog, String> {
    fold_by(record::read_for_review, catalog, id)
}

fn fold_by(read: EventReader, catalog: &Catalog, id: &SessionId) -> Result<FoldedLog, String> {
    let place = catalog.place(&id.0).map_err(|error| error.to_string())?;
    let mut folded = FoldedSession::of(Session::new(id.clone(), Vec::new()).without_reads(), read);
    let mut sink = |record| drop(folded.fold(&record));
    let read =
        Log::read_each(&*place.storage, &place.dir, &id.0, &mut sink).map_err(|error| error.to_string())?;
    folded.whole()?;
    let is_whole = read.notices.is_empty() && folded.strays().is_none();
    Ok(FoldedLog { session: folded.session, whole: is_whole.then_some(read.mark) })
}

/// Publishes the lasting updates of a range again, the same as at the first time. Returns the notices about
/// the log itself. Blocks.
pub fn replay_range(
    catalog: &Catalog,
    id: &SessionId,
    range: UpdateRange,
    mut publish: impl FnMut(LastingMessage),
) -> Result<Vec<Notice>, String> {
    let place = catalog.place(&id.0).map_err(|error| error.to_string())?;
    let mut replayed = ReplayedSession::new(id);
    let mut sink = |record| {
        let before = replayed.seq;
        if before > range.last.seq {
            // Records after the end of the range are not needed.
            return;
        }
        let Some(ReplayedRecord { record, run, updates }) = replayed.replay(&record) else { return };
        // The history for the model is most of a log, and no update needs it.
        replayed.folded.session.forget_published(&record.event);
        for (seq, update) in (before + 1..).zip(updates) {
            if range.contains(UpdateCursor { seq, behind: false }) {
                let (session_id, run_id) = (id.clone(), run.clone());
                let params = SessionUpdateParams { session_id, seq, sub: None, run_id, update };
                publish(LastingMessage::Update(Box::new(params)));
            }
        }
        if let Event::AskClosed { ask, resolution } = record.event
            && !replayed.folded.session.inherits
            && range.contains(UpdateCursor { seq: replayed.seq, behind: true })
        {
            let session_id = id.clone();
            publish(LastingMessage::Resolved(Box::new(AskResolvedParams {
                session_id,
                ask_id: ask,
                resolution: resolution.into(),
            })));
        }
    };
    let read = Log::read_each(&*place.storage, &place.dir, &id.0, &mut sink);
    let mut read = read.map_err(|error| error.to_string())?;
    read.notices.extend(replayed.folded.strays());
    let newer = read.notices.iter().find(|notice| matches!(notice, Notice::NewerFormat { .. }));
    match (replayed.folded.whole(), newer) {
        (Ok(()), _) => Ok(read.notices),
        (Err(why), None) => Err(why),
        (Err(why), Some(newer)) => Err(format!("{newer} ({why})")),
    }
}

/// Logs that are read at once for backfills. A read that never ends keeps its permit for good.
const MAX_READERS: usize = 4;

/// Serves the backfills of clients until no client can ask any more. A disk that hangs delays only the backfills
/// that read from it.
pub async fn serve(catalog: Catalog, mut backfills: mpsc::Receiver<Backfill>) {
    let readers = Arc::new(Semaphore::new(MAX_READERS));
    while let Some(Backfill { session, range, messages }) = backfills.recv().await {
        if messages.is_closed() {
            // The client no longer waits for it.
            continue;
        }
        let Ok(reader) = Arc::clone(&readers).acquire_owned().await else { return };
        let catalog = catalog.clone();
        // After a panic one client has a gap, and the next backfill is served.
        tokio::task::spawn_blocking(move || {
            let _reader = reader;
            // The send fails if the client has gone meanwhile.
            let read = replay_range(&catalog, &session, range, |past| drop(messages.blocking_send(past)));
            if let Err(why) = read {
                tracing::error!(%session, %why, "what the client missed cannot be read from the log");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::session::log::line;
    use crate::session::storage::faulty::FaultyDisk;
    use crate::session::watermark::Syncer;

    #[tokio::test]
    async fn f8_a_disk_that_hangs_holds_up_only_who_waits_for_it() {
        let (disk, state) = (FaultyDisk::new(), Path::new("/state"));
        let catalog = Catalog::new(Arc::new(disk.clone()), Syncer::start().unwrap(), state);
        let plant = |id: &str| {
            let mut log = Vec::new();
            line::put_header(&mut log, id, 1);
            line::put_epoch(&mut log, id, 1, 1);
            let dir = catalog.place(id).unwrap().dir;
            disk.plant(&dir.join("events.jsonl"), &log);
            dir
        };
        let (sick, _well) = (plant("s-1"), plant("s-2"));
        disk.hold(&sick);
        let (backfills, requests) = mpsc::channel(1);
        tokio::spawn(serve(catalog.clone(), requests));
        let backfill = async |id: &str| {
            let (messages, past) = mpsc::channel(1);
            let range = UpdateRange::of_updates(1, 9);
            backfills.send(Backfill { session: id.into(), range, messages }).await.expect("it is served");
            past
        };
        let mut hangs = backfill("s-1").await;
        let mut other = backfill("s-2").await;
        let read = tokio::time::timeout(Duration::from_secs(10), other.recv()).await;
        let hung = hangs.try_recv();
        // Before the assertions: the runtime of a test that fails waits for its threads.
        disk.release();
        assert!(read.expect("it is read").is_none(), "there is nothing in it");
        assert_eq!(hung.err(), Some(mpsc::error::TryRecvError::Empty));
        assert!(hangs.recv().await.is_none());
    }

    #[test]
    fn so_deep_as_is_counted_a_record_is_read() {
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for depth in [1, 2, MAX_NESTING, MAX_NESTING + 1, 1_000] {
            let text = deep(depth);
            assert_eq!(nesting(&text), depth);
            let read = serde_json::from_str::<serde_json::Value>(&text);
            assert_eq!(read.is_ok(), depth <= MAX_NESTING, "{depth}");
        }
        assert_eq!(nesting(r#"{"a":"[[[\"[{","b":[{}],"c\\":[]}"#), 3);
        assert_eq!(nesting("7"), 0);
    }
}
