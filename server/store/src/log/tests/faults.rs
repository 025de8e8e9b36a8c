//! Tests with failing disks and lost power: acknowledged records are there, others may be lost, and no
//! other record is ever read.

use super::*;
use crate::storage::faulty::{Fault, Loss, Op};

/// Returns the text of each record.
fn texts(records: &[RecordRaw]) -> Vec<(u64, String)> {
    let text = |record: &RecordRaw| {
        let event: serde_json::Value = serde_json::from_str(record.event.get()).unwrap();
        (record.seq, event["text"].as_str().unwrap().to_owned())
    };
    records.iter().map(text).collect()
}

/// Checks that a disk has all acknowledged records, and no record that was never appended.
fn check(disk: &FaultyDisk, acknowledged: u64, attempted: &[String], when: &str) {
    let opened = match open(disk) {
        Ok(opened) => opened,
        Err(OpenError::Missing { .. }) if acknowledged == 0 => return,
        Err(error) => panic!("{when}: {error}"),
    };
    let found = texts(&opened.records);
    for (seq, text) in &found {
        assert!(attempted.contains(text), "{when}: record {seq} was never appended");
    }
    for seq in 1..=acknowledged {
        let there = found.iter().any(|(number, _)| *number == seq);
        assert!(there, "{when}: record {seq} is lost\n{:#?}", opened.notices);
    }
    check_continues(disk, opened);
}

#[test]
fn f2_power_lost_during_a_repair_keeps_the_original() {
    let mut bytes = valid_log(6);
    bytes[400] ^= 1;
    for tail in [&b""[..], b"torn"] {
        let whole = [&bytes[..], tail].concat();
        let disk = holding(&whole);
        let records = seqs(&open(&disk).unwrap().records);
        assert_eq!(records.len(), 5);
        for point in 0..=disk.crash_points() {
            let seed = point as u64;
            for loss in [Loss::Unsynced, Loss::Nothing, Loss::Torn(seed), Loss::Shuffled(seed)] {
                let after = disk.after_power_loss(point, loss);
                let opened = open(&after).unwrap();
                assert_eq!(seqs(&opened.records), records, "power lost at {point}, {loss:?}");
                drop(opened);
                let is_copied = (1..=2).any(|number| {
                    let name = format!("events.jsonl.damaged-{number}");
                    after.content(&Path::new(DIR).join(name)).is_ok_and(|copy| copy == whole)
                });
                assert!(is_copied, "the original is gone at {point}, {loss:?}");
            }
        }
    }
}

/// The outcome of sixty batches.
struct Outcome {
    acknowledged: u64,
    attempted: Vec<String>,
    failures: usize,
}

/// Appends sixty batches on a disk with a planned fault, each with a sync. Continues after every error,
/// as a session does.
fn sixty_batches(disk: &FaultyDisk) -> Outcome {
    let mut log = Log::create(place(disk), 1);
    let attempted = vec!["go on".to_owned()];
    let mut outcome = Outcome { acknowledged: 0, attempted, failures: 0 };
    for number in 0..60 {
        let text = format!("batch {number} {}", "x".repeat(number * 13));
        let appended = log.append(number as u64, &[prompted(&text)], true);
        outcome.attempted.push(text);
        match appended {
            Ok(seqs) => assert_eq!(seqs.end - 1, log.last_seq()),
            Err(AppendError::NoSpace { .. } | AppendError::Io { .. }) => {
                outcome.failures += 1;
                continue;
            }
            // The sync of the previous batch has failed meanwhile.
            Err(AppendError::SyncFailed(_)) => {}
            Err(AppendError::Stopped { .. }) => break,
            Err(error) => panic!("{error}"),
        }
        match synced(&log) {
            Ok(seq) => outcome.acknowledged = seq,
            Err(_) => {
                outcome.failures += 1;
                if log.recover().is_err() {
                    break;
                }
            }
        }
    }
    outcome
}

#[test]
fn f10_a_failing_write_or_sync_loses_nothing_acknowledged() {
    let faults = [
        (Op::Write, Fault::Broken),
        (Op::Write, Fault::Full),
        (Op::Write, Fault::Short(7)),
        (Op::Write, Fault::Partial(30)),
        (Op::Sync, Fault::Broken),
        (Op::SyncDir, Fault::Broken),
        (Op::Create, Fault::Full),
    ];
    for (op, fault) in faults {
        for nth in 1..=60 {
            let disk = FaultyDisk::new();
            disk.fail(op, nth, fault);
            let outcome = sixty_batches(&disk);
            let when = format!("{op:?} {nth} {fault:?}");
            if matches!(op, Op::Write | Op::Sync) {
                let failures = usize::from(!matches!(fault, Fault::Short(_)));
                assert_eq!(outcome.failures, failures, "{when}");
                assert!(outcome.acknowledged as usize >= 60 - failures, "{when}");
            }
            disk.heal();
            let after = disk.after_power_loss(disk.crash_points(), Loss::Unsynced);
            let (acknowledged, attempted) = (outcome.acknowledged, outcome.attempted);
            check(&after, acknowledged, &attempted, &format!("{when}, then power lost"));
            check(&disk, acknowledged, &attempted, &when);
        }
    }
}

#[test]
fn f10_a_disk_that_stays_full_is_told_and_leaves_a_log_that_opens() {
    for nth in 1..=10 {
        let disk = FaultyDisk::new();
        disk.fail_from(Op::Write, nth, Fault::Full);
        let outcome = sixty_batches(&disk);
        assert_eq!((outcome.acknowledged, outcome.failures), (nth as u64 - 1, 61 - nth));
        if nth > 1 {
            let error = open(&disk).err().expect("no epoch can be written").to_string();
            assert!(error.contains("space"), "{error}");
            assert_eq!(Log::read(&disk, Path::new(DIR), ID).unwrap().records.len(), nth - 1);
        } else {
            assert!(disk.content(&events_path()).is_err(), "a partly created session is left");
        }
        disk.heal();
        check(&disk, outcome.acknowledged, &outcome.attempted, "after space was made");
    }
}

#[test]
fn l4_a_failed_append_is_cut_back_before_the_next_one() {
    let disk = FaultyDisk::new();
    let mut log = Log::create(place(&disk), 1);
    log.append(1, &[prompted("a")], false).unwrap();
    let good = disk.content(&events_path()).unwrap();
    disk.fail(Op::Write, 1, Fault::Partial(20));
    disk.fail(Op::Cut, 1, Fault::Broken);
    assert!(matches!(log.append(2, &[prompted("b")], false), Err(AppendError::Io { .. })));
    assert_eq!(disk.content(&events_path()).unwrap().len(), good.len() + 20);
    // The cut fails again: nothing may be written after the leftover bytes.
    disk.fail(Op::Cut, 1, Fault::Broken);
    assert!(log.append(2, &[prompted("b")], false).is_err());
    assert_eq!(log.append(2, &[prompted("c")], false).unwrap(), 2..3);
    assert!(disk.content(&events_path()).unwrap().starts_with(&good));
    drop(log);
    let opened = open(&disk).unwrap();
    assert_eq!((seqs(&opened.records), opened.notices), (vec![1, 2], vec![]));
}

#[test]
fn l4_a_failed_sync_is_not_repeated_on_the_same_descriptor() {
    let disk = FaultyDisk::new();
    let mut log = Log::create(place(&disk), 1);
    log.append(1, &[prompted("a")], false).unwrap();
    assert_eq!(synced(&log), Ok(1));
    disk.fail(Op::Sync, 1, Fault::Broken);
    log.append(2, &[prompted("b")], false).unwrap();
    assert!(matches!(synced(&log), Err(SyncError::Failed(_))));
    let syncs = disk.count(Op::Sync);
    assert!(matches!(synced(&log), Err(SyncError::Failed(_))));
    let error = log.append(3, &[prompted("c")], true).unwrap_err();
    assert!(matches!(error, AppendError::SyncFailed(_)), "{error}");
    assert_eq!(disk.count(Op::Sync), syncs);
    log.recover().unwrap();
    assert_eq!(synced(&log), Ok(2));
    assert_eq!(log.append(4, &[prompted("d")], false).unwrap(), 3..4);
    let after = disk.after_power_loss(disk.crash_points(), Loss::Unsynced);
    assert_eq!(seqs(&open(&after).unwrap().records), [1, 2]);
}

#[test]
fn l4_what_cannot_be_saved_makes_the_log_read_only() {
    let disk = FaultyDisk::new();
    let mut log = Log::create(place(&disk), 1);
    log.append(1, &[prompted("a")], false).unwrap();
    disk.fail_from(Op::Sync, 1, Fault::Broken);
    assert!(synced(&log).is_err());
    assert!(matches!(log.recover(), Err(AppendError::Stopped { reason: Stop::Unsaved(_), .. })));
    disk.heal();
    for _ in 0..2 {
        assert!(log.append(2, &[prompted("b")], false).is_err());
        assert!(log.recover().is_err());
    }
    assert_eq!(Log::read(&disk, Path::new(DIR), ID).unwrap().records.len(), 1);
}

#[test]
fn l1_a_process_that_dies_loses_nothing_written() {
    let disk = FaultyDisk::new();
    let mut log = Log::create(place(&disk), 1);
    for number in 0..20 {
        log.append(number, &[prompted("a")], false).unwrap();
        let after = disk.after_power_loss(disk.crash_points(), Loss::Nothing);
        assert_eq!(open(&after).unwrap().records.len() as u64, number + 1);
    }
}
