//! Tests of the watermark: syncs coalesce, notify every caller in order, and never run on the caller's
//! thread.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;

use super::*;
use crate::storage::faulty::FaultyDisk;
use crate::storage::{EntryType, Stat};

const LIMIT: Duration = Duration::from_secs(10);

/// A file in which each sync waits for a permit.
struct SlowFile {
    started: Sender<ThreadId>,
    permits: Mutex<Receiver<io::Result<()>>>,
    syncs: AtomicUsize,
}

impl StoredFile for SlowFile {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn reserve(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        _ = self.started.send(std::thread::current().id());
        lock(&self.permits).recv_timeout(LIMIT).unwrap_or(Ok(()))
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(Stat { id: (1, 1), len: 0, written: 0, kind: EntryType::File })
    }
}

/// The watermark of a slow file, with the channels by which a test drives it.
struct Slow {
    watermark: Arc<Watermark>,
    file: Arc<SlowFile>,
    started: Receiver<ThreadId>,
    permit: Sender<io::Result<()>>,
}

fn slow(syncer: &Syncer) -> Slow {
    let (started_tx, started) = channel();
    let (permit, permits) = channel();
    let file =
        Arc::new(SlowFile { started: started_tx, permits: Mutex::new(permits), syncs: AtomicUsize::new(0) });
    let watermark = Watermark::new(syncer);
    watermark.watch(Arc::clone(&file) as Arc<dyn StoredFile>, Vec::new(), LogPosition::default());
    Slow { watermark, file, started, permit }
}

impl Slow {
    fn wrote(&self, seq: u64) {
        self.watermark.wrote(LogPosition { len: seq * 10, seq });
    }

    fn ask(&self) -> Receiver<Result<u64, SyncError>> {
        let (tx, outcome) = channel();
        self.watermark.notify(Box::new(move |result| _ = tx.send(result)));
        outcome
    }
}

fn answer(outcome: &Receiver<Result<u64, SyncError>>) -> Result<u64, SyncError> {
    outcome.recv_timeout(LIMIT).expect("an answer within ten seconds")
}

#[test]
fn f6_one_sync_covers_all_that_was_written_before_it() {
    let syncer = Syncer::start().unwrap();
    let slow = slow(&syncer);
    assert_eq!(answer(&slow.ask()), Ok(0), "nothing is written, nothing to wait for");
    slow.wrote(1);
    let first = slow.ask();
    let worker = slow.started.recv_timeout(LIMIT).unwrap();
    assert_ne!(worker, std::thread::current().id());
    // These are written while a sync runs that does not cover them.
    let later: Vec<_> = (2..=500)
        .map(|seq| {
            slow.wrote(seq);
            slow.ask()
        })
        .collect();
    slow.permit.send(Ok(())).unwrap();
    assert_eq!(answer(&first), Ok(1));
    slow.started.recv_timeout(LIMIT).unwrap();
    assert_eq!(slow.watermark.durable(), 1);
    slow.permit.send(Ok(())).unwrap();
    for outcome in &later {
        assert_eq!(answer(outcome), Ok(500));
    }
    assert_eq!(slow.file.syncs.load(Ordering::SeqCst), 2);
    assert_eq!(answer(&slow.ask()), Ok(500), "already durable");
    assert_eq!(slow.file.syncs.load(Ordering::SeqCst), 2);
}

#[test]
fn f6_one_slow_file_does_not_hold_up_another() {
    let syncer = Syncer::start().unwrap();
    let (stuck, other) = (slow(&syncer), slow(&syncer));
    stuck.wrote(1);
    let never = stuck.ask();
    stuck.started.recv_timeout(LIMIT).unwrap();
    other.wrote(7);
    other.permit.send(Ok(())).unwrap();
    assert_eq!(answer(&other.ask()), Ok(7));
    assert!(never.try_recv().is_err());
    stuck.permit.send(Ok(())).unwrap();
    assert_eq!(answer(&never), Ok(1));
}

#[test]
fn l4_a_failed_sync_is_told_to_everybody_and_not_tried_again() {
    let syncer = Syncer::start().unwrap();
    let slow = slow(&syncer);
    slow.wrote(1);
    let first = slow.ask();
    slow.started.recv_timeout(LIMIT).unwrap();
    slow.wrote(2);
    let second = slow.ask();
    slow.permit.send(Err(io::Error::other("broken"))).unwrap();
    for outcome in [first, second, slow.ask()] {
        assert_eq!(answer(&outcome), Err(SyncError::Failed("broken".to_owned())));
    }
    assert_eq!(slow.file.syncs.load(Ordering::SeqCst), 1);
    assert_eq!(slow.watermark.durable(), 0);
}

#[test]
fn waiting_for_one_file_is_bounded() {
    let syncer = Syncer::start().unwrap();
    let slow = slow(&syncer);
    slow.wrote(1);
    let outcomes: Vec<_> = (0..MAX_WAITING).map(|_| slow.ask()).collect();
    assert_eq!(answer(&slow.ask()), Err(SyncError::Busy));
    slow.permit.send(Ok(())).unwrap();
    assert!(outcomes.iter().all(|outcome| answer(outcome) == Ok(1)));
}

#[test]
fn f24_a_panic_of_one_caller_stops_nobody_else() {
    let syncer = Syncer::start().unwrap();
    let slow = slow(&syncer);
    slow.wrote(1);
    slow.watermark.notify(Box::new(|_| panic!("a caller of this test")));
    let outcome = slow.ask();
    slow.permit.send(Ok(())).unwrap();
    assert_eq!(answer(&outcome), Ok(1));
    slow.wrote(2);
    slow.permit.send(Ok(())).unwrap();
    assert_eq!(answer(&slow.ask()), Ok(2));
}

#[test]
fn closing_finishes_the_queue_and_refuses_the_rest() {
    let syncer = Syncer::start().unwrap();
    let slow = slow(&syncer);
    slow.wrote(1);
    let outcome = slow.ask();
    slow.started.recv_timeout(LIMIT).unwrap();
    assert!(!syncer.finish(Duration::ZERO), "one sync is still under way");
    slow.permit.send(Ok(())).unwrap();
    assert!(syncer.finish(LIMIT));
    assert_eq!(answer(&outcome), Ok(1));
    slow.wrote(2);
    assert_eq!(answer(&slow.ask()), Err(SyncError::Closed));
}

#[test]
fn f6_ten_thousand_events_over_two_hundred_files_are_all_told_in_order() {
    let syncer = Syncer::start().unwrap();
    let disk = FaultyDisk::new();
    let (tx, outcomes) = channel();
    let mut logs: Vec<_> = (0..200)
        .map(|number| {
            let session = format!("s-{number}");
            let dir = Path::new("/sessions").join(&session);
            let storage = Arc::new(disk.clone());
            let syncer = syncer.clone();
            let place = crate::log::LogPlace { storage, syncer, dir, session };
            crate::log::Log::create(place, 0)
        })
        .collect();
    for round in 0..50 {
        for (number, log) in logs.iter_mut().enumerate() {
            let event = serde_json::json!({"type": "x", "round": round});
            let seq = log.append(round, &[event], true).unwrap().end - 1;
            let tx = tx.clone();
            log.request_sync(move |outcome| _ = tx.send((number, seq, outcome)));
        }
    }
    let mut last = vec![0; 200];
    for _ in 0..10_000 {
        let (number, seq, outcome) = outcomes.recv_timeout(LIMIT).unwrap();
        assert!(outcome.unwrap() >= seq);
        assert_eq!(last[number] + 1, seq);
        last[number] = seq;
    }
}
