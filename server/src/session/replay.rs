//! A session folded from its log, and what it has told, told again.
//!
//! Keeps one record in memory at a time beside the session itself, however
//! long the log is. Never takes the lock of a log and never changes one.

use std::sync::Arc;

use adjutant_core::record::{self, Event, Record};
use adjutant_core::session::Session;
use adjutant_core::wire::state::{self, Projector};
use adjutant_protocol::ask::AskResolvedParams;
use adjutant_protocol::update::{SessionUpdateParams, Update};
use adjutant_protocol::{RunId, SessionId};
use tokio::sync::{Semaphore, mpsc};

use super::catalog::Catalog;
use super::log::{Log, Notice, RecordRaw};
use crate::client::backfill::{Backfill, LastingMessage, UpdateCursor, UpdateRange};

/// Reads one record as a fact; `None` for an unknown one that this version may skip, an error for any other.
pub fn read_record(record: &RecordRaw) -> Result<Option<Record>, String> {
    let fact = |event| Record { seq: record.seq, at: record.at_ms, last: record.last, event };
    record::read(record.event.get())
        .map(|event| event.map(fact))
        .map_err(|error| {
            let seq = record.seq;
            format!("this version cannot read record {seq} ({error}); if a newer version wrote it, update to continue it")
        })
}

/// How deep arrays and objects of a record may be nested: so deep they are read.
const MAX_NESTING: usize = 127;

/// Counts how deep arrays and objects of a JSON text are nested.
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

/// A session as its log says it is, folded record by record.
pub struct FoldedSession {
    pub session: Session,
    /// When its last fact was written, in milliseconds since the Unix epoch; 0 without one.
    pub at: u64,
    /// Facts that cannot stand where they stand: the first, and how many.
    strays: Option<(u64, u64)>,
    failed: Option<String>,
}

impl FoldedSession {
    pub fn new(id: &SessionId) -> Self {
        Self { session: Session::new(id.clone(), Vec::new()), at: 0, strays: None, failed: None }
    }

    /// Takes one record. Behind one that cannot be read nothing is taken: it would be a guess.
    pub fn fold(&mut self, record: &RecordRaw) -> Option<Record> {
        if self.failed.is_some() {
            return None;
        }
        match read_record(record) {
            Ok(None) => {
                self.at = record.at_ms;
                None
            }
            Ok(Some(fact)) => {
                if self.session.is_out_of_place(&fact.event) {
                    self.strays.get_or_insert((fact.seq, 0)).1 += 1;
                }
                self.session.apply(&fact);
                self.at = fact.at;
                Some(fact)
            }
            // One that is nested deeper than any version writes is damage, and is passed over.
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

    /// Says why not all records could be taken, if so.
    pub fn whole(&self) -> Result<(), String> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Returns what is to be told of facts that cannot stand where they stand.
    pub fn strays(&self) -> Option<Notice> {
        self.strays.map(|(seq, facts)| Notice::OutOfPlace { seq, records: facts })
    }
}

/// A session folded from its log, and what it told on the way.
pub struct ReplayedSession {
    pub folded: FoldedSession,
    teller: Projector,
    /// The number of the last lasting update.
    pub seq: u64,
}

/// One fact, and the lasting updates that told of it.
struct ReplayedRecord {
    fact: Record,
    run: Option<RunId>,
    updates: Vec<Update>,
}

impl ReplayedSession {
    pub fn new(id: &SessionId) -> Self {
        let folded = FoldedSession::new(id);
        Self { teller: Projector::new(&folded.session), folded, seq: 0 }
    }

    /// Takes one record.
    pub fn fold(&mut self, record: &RecordRaw) {
        self.replay(record);
    }

    fn replay(&mut self, record: &RecordRaw) -> Option<ReplayedRecord> {
        let fact = self.folded.fold(record)?;
        let run = self.teller.run_of(&self.folded.session, &fact);
        let updates = match self.teller.told(&self.folded.session, &fact) {
            state::Updates::Lasting(updates) => updates,
            state::Updates::Passing(_) => Vec::new(),
        };
        self.seq += updates.len() as u64;
        Some(ReplayedRecord { fact, run, updates })
    }
}

/// Returns a session as its log says it is. Blocks.
pub fn fold(catalog: &Catalog, id: &SessionId) -> Result<Session, String> {
    let place = catalog.place(&id.0).map_err(|error| error.to_string())?;
    let mut folded = FoldedSession::new(id);
    let mut sink = |record| drop(folded.fold(&record));
    Log::read_each(&*place.storage, &place.dir, &id.0, &mut sink).map_err(|error| error.to_string())?;
    folded.whole().map(|()| folded.session)
}

/// Tells a stretch again, folded from the log as it was told the first time, and returns what is
/// to be told of the log itself. Blocks.
pub fn replay_range(
    catalog: &Catalog,
    id: &SessionId,
    stretch: UpdateRange,
    mut publish: impl FnMut(LastingMessage),
) -> Result<Vec<Notice>, String> {
    let place = catalog.place(&id.0).map_err(|error| error.to_string())?;
    let mut retold = ReplayedSession::new(id);
    let mut sink = |record| {
        let before = retold.seq;
        if before > stretch.last.seq {
            // Behind the end of the stretch nothing is of interest.
            return;
        }
        let Some(ReplayedRecord { fact, run, updates }) = retold.replay(&record) else { return };
        // What a model sees of the past is most of a log, and is told to nobody.
        retold.folded.session.forget_published(&fact.event);
        for (seq, update) in (before + 1..).zip(updates) {
            if stretch.contains(UpdateCursor { seq, behind: false }) {
                let (session_id, run_id) = (id.clone(), run.clone());
                let params = SessionUpdateParams { session_id, seq, sub: None, run_id, update };
                publish(LastingMessage::Update(Box::new(params)));
            }
        }
        if let Event::AskClosed { ask, resolution } = fact.event
            && stretch.contains(UpdateCursor { seq: retold.seq, behind: true })
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
    read.notices.extend(retold.folded.strays());
    let newer = read.notices.iter().find(|notice| matches!(notice, Notice::NewerFormat { .. }));
    match (retold.folded.whole(), newer) {
        (Ok(()), _) => Ok(read.notices),
        (Err(why), None) => Err(why),
        (Err(why), Some(newer)) => Err(format!("{newer} ({why})")),
    }
}

/// Logs read at once for what clients have missed. One that a disk never gives up takes a place for good.
const MAX_READERS: usize = 4;

/// Serves what clients have missed, until nobody can ask any more. A slow disk holds up only who
/// waits for it.
pub async fn serve(catalog: Catalog, mut recalls: mpsc::Receiver<Backfill>) {
    let readers = Arc::new(Semaphore::new(MAX_READERS));
    while let Some(Backfill { session, stretch, told }) = recalls.recv().await {
        if told.is_closed() {
            // Nobody waits for it any more.
            continue;
        }
        let Ok(reader) = Arc::clone(&readers).acquire_owned().await else { return };
        let catalog = catalog.clone();
        // A panic is one client's gap, and the next is served.
        tokio::task::spawn_blocking(move || {
            let _reader = reader;
            // The client may go while it is told; then nobody listens.
            let read = replay_range(&catalog, &session, stretch, |past| drop(told.blocking_send(past)));
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
        let (recalls, asked) = mpsc::channel(1);
        tokio::spawn(serve(catalog.clone(), asked));
        let recall = async |id: &str| {
            let (told, past) = mpsc::channel(1);
            let stretch = UpdateRange::of_updates(1, 9);
            recalls.send(Backfill { session: id.into(), stretch, told }).await.expect("it is served");
            past
        };
        let mut hangs = recall("s-1").await;
        let mut other = recall("s-2").await;
        let read = tokio::time::timeout(Duration::from_secs(10), other.recv()).await;
        let hung = hangs.try_recv();
        // Before anything is judged: the runtime of a test that fails waits for its threads.
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
