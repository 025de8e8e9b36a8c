//! Loses power at every point of a session's work on its disk (F2): log, blobs and summary together.
//! Unsynced changes are dropped, torn at 512 bytes, or survive in any order.
//!
//! The disk is the double; `storage/faulty/loss.rs` has the kinds of loss. Each point is tried with one
//! seed, with three in `tests/run --long`, or with the number in `ADJUTANT_POWER`.

use adjutant_testkit::campaign;

use super::*;
use crate::blobs::Blobs;
use crate::catalog::{Catalog, Condition, Summary};
use crate::storage::faulty::{Loss, Op};

const OPERATIONS: u64 = 200;

/// A recorded run: what was written and what was acknowledged.
#[derive(Default)]
struct Trace {
    /// The text of record N is at N - 1.
    texts: Vec<String>,
    /// Pairs of a crash point and the last record that is acknowledged from there on.
    acknowledged: Vec<(usize, u64)>,
    /// Pairs of a record and the content of the blob that it names.
    blobs: Vec<(u64, Vec<u8>)>,
}

fn catalog(disk: &FaultyDisk) -> Catalog {
    Catalog::new(Arc::new(disk.clone()), syncer(), Path::new("/state"))
}

fn blobs(disk: &FaultyDisk) -> Blobs {
    Blobs::new(Arc::new(disk.clone()), Path::new(DIR))
}

impl Trace {
    /// Runs two hundred operations: batches of one to three records, syncs, blobs, summaries, openings.
    fn record(disk: &FaultyDisk) -> Trace {
        let mut trace = Trace::default();
        let blobs = blobs(disk);
        let mut log = Log::create(place(disk), 1);
        for number in 0..OPERATIONS {
            match number % 10 {
                2 | 9 => {
                    let seq = synced(&log).unwrap();
                    trace.acknowledged.push((disk.crash_points(), seq));
                }
                4 => {
                    let bytes = vec![number as u8; 300 * (number as usize % 17)];
                    let name = blobs.put(&bytes).unwrap();
                    trace.append(&mut log, &[format!("blob {}", name.hash)], true);
                    trace.blobs.push((log.last_seq(), bytes));
                }
                5 => {
                    let turns = log.last_seq();
                    let summary = Summary { log: log.summary_mark(), turns, ..Summary::default() };
                    catalog(disk).write_summary(ID, &summary).unwrap();
                }
                7 if number % 30 == 7 => {
                    drop(log);
                    log = open(disk).unwrap().log;
                }
                step => {
                    let count = 1 + number % 3;
                    let text = |part| format!("{number} {part} {}", "x".repeat(step as usize * 90));
                    let texts: Vec<String> = (0..count).map(text).collect();
                    trace.append(&mut log, &texts, step == 8);
                }
            }
        }
        assert!(synced(&log).is_ok());
        trace
    }

    fn append(&mut self, log: &mut Log, texts: &[String], sync: bool) {
        let events: Vec<Event> = texts.iter().map(|text| prompted(text)).collect();
        let seqs = log.append(self.texts.len() as u64, &events, sync).unwrap();
        assert_eq!(seqs.start, self.texts.len() as u64 + 1);
        self.texts.extend_from_slice(texts);
    }

    /// Returns how many records were acknowledged before a crash point.
    fn acknowledged_at(&self, point: usize) -> u64 {
        self.acknowledged.iter().rfind(|(at, _)| *at <= point).map_or(0, |(_, seq)| *seq)
    }

    /// Checks a disk as the next start finds it.
    fn check(&self, disk: &FaultyDisk, acknowledged: u64, when: &str) {
        self.check_catalog(disk, acknowledged, when);
        let opened = match open(disk) {
            Ok(opened) => opened,
            Err(OpenError::Missing { .. }) if acknowledged == 0 => return,
            Err(error) => panic!("{when}: {error}"),
        };
        let found = seqs(&opened.records);
        for record in &opened.records {
            let event: serde_json::Value = serde_json::from_str(record.event.get()).unwrap();
            let wanted = &self.texts[record.seq as usize - 1];
            assert_eq!(event["text"].as_str(), Some(wanted.as_str()), "{when}: record {}", record.seq);
        }
        // Acknowledged records are there without a gap. A gap after them is possible, with a notice.
        let whole = found.iter().zip(1..).take_while(|(seq, number)| **seq == *number).count() as u64;
        assert!(
            whole >= acknowledged,
            "{when}: {acknowledged} were acknowledged, {whole} are there\n{:?}",
            opened.notices
        );
        assert!(whole == found.len() as u64 || opened.notices.iter().any(Notice::is_damage), "{when}");
        for (seq, bytes) in self.blobs.iter().filter(|(seq, _)| found.contains(seq)) {
            let hash = self.texts[*seq as usize - 1].trim_start_matches("blob ").to_owned();
            let blob = blobs(disk).get(&hash).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert!(blob == *bytes, "{when}: the blob of record {seq}");
        }
        check_continues(disk, opened);
    }

    /// Checks that the list shows the session, and that no stale summary counts as current.
    fn check_catalog(&self, disk: &FaultyDisk, acknowledged: u64, when: &str) {
        let list = catalog(disk).list().unwrap_or_else(|error| panic!("{when}: {error}"));
        assert!(acknowledged == 0 || list.len() == 1, "{when}: the session is not listed");
        let fits = catalog(disk).summary(ID).unwrap_or_else(|error| panic!("{when}: {error}"));
        assert!(fits.is_none_or(|summary| summary.turns == summary.log.last_seq), "{when}");
        let current = list.iter().filter(|listed| listed.condition == Condition::Current);
        for summary in current.filter_map(|listed| listed.summary.as_ref()) {
            assert_eq!(summary.turns, summary.log.last_seq, "{when}");
        }
    }
}

#[test]
fn f2_power_lost_anywhere_in_200_operations_keeps_what_was_acknowledged() {
    let slow = if std::env::var_os("ADJUTANT_SLOW").is_some() { 3 } else { 1 };
    let wanted = std::env::var("ADJUTANT_POWER").ok().and_then(|seeds| seeds.parse().ok());
    let seeds: usize = wanted.unwrap_or(slow);
    let disk = FaultyDisk::new();
    let trace = Trace::record(&disk);
    assert!(trace.acknowledged.len() >= 40 && trace.blobs.len() >= 20, "the trace does too little");
    assert!(disk.crash_points() > 400 && disk.count(Op::Rename) >= 40, "{}", disk.crash_points());
    let lost = std::sync::atomic::AtomicUsize::new(0);
    let half = |from: usize| {
        for point in (from..=disk.crash_points()).step_by(2) {
            let acknowledged = trace.acknowledged_at(point);
            let random = (0..seeds).map(|number| campaign::dice((point * 31 + number) as u64).0);
            let losses = random.flat_map(|seed| [Loss::Torn(seed), Loss::Shuffled(seed)]);
            for loss in losses.chain([Loss::Nothing, Loss::Unsynced]) {
                let after = disk.after_power_loss(point, loss);
                let records = Log::read(&after, Path::new(DIR), ID).map_or(0, |read| read.records.len());
                let whole = records == trace.texts.len();
                lost.fetch_add(usize::from(!whole), std::sync::atomic::Ordering::Relaxed);
                trace.check(&after, acknowledged, &format!("power lost at {point}, {loss:?}"));
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| half(0));
        scope.spawn(|| half(1));
    });
    assert!(lost.into_inner() > disk.crash_points(), "the simulation never lost anything");
}
