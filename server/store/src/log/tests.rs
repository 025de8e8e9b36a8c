//! Shared parts of the tests of a log: a disk in memory, a small event, and helpers.
//!
//! Never touches the real disk outside a temporary directory.

mod batches;
mod faults;
mod flips;
mod kills;
mod limits;
mod power;
mod shapes;

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde::Serialize;

use super::*;
use crate::storage::faulty::FaultyDisk;

const ID: &str = "s-1";
const DIR: &str = "/state/sessions/s-1";
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    TurnStarted { turn: u64 },
    Prompted { text: String },
}

fn prompted(text: &str) -> Event {
    Event::Prompted { text: text.to_owned() }
}

/// Returns the pool that all tests of this module share.
fn syncer() -> Syncer {
    static POOL: std::sync::OnceLock<Syncer> = std::sync::OnceLock::new();
    POOL.get_or_init(|| Syncer::start().unwrap()).clone()
}

fn place(disk: &FaultyDisk) -> LogPlace {
    let storage = Arc::new(disk.clone());
    LogPlace { storage, syncer: syncer(), dir: DIR.into(), session: ID.to_owned() }
}

fn real_place(dir: &Path) -> LogPlace {
    let storage = Arc::new(crate::storage::Disk);
    LogPlace { storage, syncer: syncer(), dir: dir.join("sessions").join(ID), session: ID.to_owned() }
}

fn events_path() -> std::path::PathBuf {
    Path::new(DIR).join(EVENTS)
}

/// Waits until all appended records are durable, or until this has failed.
fn synced(log: &Log) -> Result<u64, SyncError> {
    let (tx, outcome) = mpsc::channel();
    log.request_sync(move |result| _ = tx.send(result));
    outcome.recv_timeout(LIMIT).expect("an answer within ten seconds")
}

/// Returns the bytes of a log with this many records.
fn valid_log(records: u64) -> Vec<u8> {
    let disk = FaultyDisk::new();
    let mut log = Log::create(place(&disk), 1_000);
    for number in 1..=records {
        let event = match number % 5 {
            0 => Event::TurnStarted { turn: number / 5 },
            _ => prompted(&format!("line {number} \"quoted\" \\ ünïcode\n{}", "x".repeat(240))),
        };
        log.append(1_000 + number, &[event], false).unwrap();
    }
    disk.content(&events_path()).unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Returns a disk that holds a log of these bytes.
fn holding(bytes: &[u8]) -> FaultyDisk {
    let disk = FaultyDisk::new();
    disk.plant(&events_path(), bytes);
    disk
}

fn open(disk: &FaultyDisk) -> Result<OpenedLog, OpenError> {
    Log::open(place(disk), 9_000)
}

fn seqs(records: &[RecordRaw]) -> Vec<u64> {
    records.iter().map(|record| record.seq).collect()
}

/// Checks that an opened log continues: it appends a record, and the next reader finds it after all the
/// others.
fn check_continues(disk: &FaultyDisk, mut opened: OpenedLog) {
    let before = seqs(&opened.records);
    let new = opened.log.append(9_001, &[prompted("go on")], true).unwrap();
    drop(opened);
    let read = Log::read(disk, Path::new(DIR), ID).unwrap();
    let mut after = before;
    after.extend(new);
    assert_eq!(seqs(&read.records), after);
}
