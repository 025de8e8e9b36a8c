//! Tests of the limits of a log: one writer, bounded batches, and a writer stops if its file was
//! changed by others.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{CWD, FileType, mknodat};
use serde_json::value::RawValue;

use super::*;
use crate::storage::faulty::Op;

fn new_log(here: &LogPlace) -> Log {
    let mut log = Log::create(here.clone(), 1);
    log.append(1, &[prompted("a")], false).unwrap();
    log
}

#[test]
fn l5_two_writers_are_one_too_many() {
    for real in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::new();
        let here = if real { real_place(dir.path()) } else { place(&disk) };
        let log = new_log(&here);
        let refused = Log::open(here.clone(), 2).err().expect("the lock is held");
        assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
        if real {
            let pid = format!("process {}", std::process::id());
            assert!(refused.to_string().contains(&pid), "{refused}");
        }
        let read = Log::read(&*here.storage, &here.dir, ID).unwrap();
        assert_eq!((seqs(&read.records), read.notices), (vec![1], vec![]));
        drop(log);
        assert_eq!(Log::open(here, 3).unwrap().epoch, 2);
    }
}

#[test]
fn l5_a_lock_file_with_a_live_process_in_it_is_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    let here = real_place(dir.path());
    drop(new_log(&here));
    fs::write(here.dir.join(LOCK), "1\n").unwrap();
    assert_eq!(Log::open(here, 2).unwrap().records.len(), 1);
}

#[test]
fn l5_a_writer_that_sees_a_newer_epoch_stops() {
    let dir = tempfile::tempdir().unwrap();
    let here = real_place(dir.path());
    let mut old = new_log(&here);
    // Another program removes the lock file, so a second writer can lock.
    fs::remove_file(here.dir.join(LOCK)).unwrap();
    let mut new = Log::open(here.clone(), 2).unwrap();
    for _ in 0..2 {
        let error = old.append(3, &[prompted("stale")], false).unwrap_err();
        let AppendError::Stopped { reason, .. } = &error else { panic!("{error}") };
        assert_eq!(*reason, Stop::Fenced { own: 1, newest: 2 });
    }
    new.log.append(4, &[prompted("b")], false).unwrap();
    let read = Log::read(&*here.storage, &here.dir, ID).unwrap();
    assert_eq!((seqs(&read.records), read.notices), (vec![1, 2], vec![]));
}

#[test]
fn l5_a_replaced_removed_or_cut_file_stops_the_writer() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("log-053 replaced", |path| {
            fs::copy(path, path.with_extension("copy")).unwrap();
            fs::rename(path.with_extension("copy"), path).unwrap();
        }),
        ("removed", |path| fs::remove_file(path).unwrap()),
        ("log-055 cut", |path| {
            fs::File::options().write(true).open(path).unwrap().set_len(100).unwrap();
        }),
        ("grown", |path| {
            let mut file = fs::File::options().append(true).open(path).unwrap();
            std::io::Write::write_all(&mut file, b"foreign\n").unwrap();
        }),
    ];
    for (name, change) in changes {
        let dir = tempfile::tempdir().unwrap();
        let here = real_place(dir.path());
        let mut log = new_log(&here);
        change(&here.events());
        let before = fs::read(here.events()).ok();
        let error = log.append(2, &[prompted("b")], false).unwrap_err();
        assert!(matches!(error, AppendError::Stopped { .. }), "{name}: {error}");
        assert!(log.stop().is_some(), "{name}");
        assert_eq!(fs::read(here.events()).ok(), before, "{name}: written anyway");
    }
}

#[test]
fn l2_nothing_of_a_batch_is_written_when_one_event_is_too_large() {
    let disk = FaultyDisk::new();
    let mut log = new_log(&place(&disk));
    let before = disk.content(&events_path()).unwrap();
    let huge = prompted(&"x".repeat(line::MAX_LINE));
    let error = log.append(2, &[prompted("small"), huge], false).unwrap_err();
    assert!(matches!(error, AppendError::TooLarge { index: 1, limit: line::MAX_LINE }), "{error}");
    assert_eq!(disk.content(&events_path()).unwrap(), before);
    assert_eq!(log.append(3, &[prompted("b")], false).unwrap(), 2..3);

    // The largest event that fits is written and read back.
    let frame = r#"{"seq":3,"at":4,"event":{"type":"prompted","text":""},"sum":"00000000"}"#;
    let largest = prompted(&"x".repeat(line::MAX_LINE - frame.len() - 1));
    assert_eq!(log.append(4, &[largest], false).unwrap(), 3..4);
    let one_more = prompted(&"x".repeat(line::MAX_LINE - frame.len()));
    assert!(log.append(4, &[one_more], false).is_err());
    let read = Log::read(&disk, Path::new(DIR), ID).unwrap();
    assert_eq!((seqs(&read.records), read.notices), (vec![1, 2, 3], vec![]));
}

#[test]
fn l2_what_is_no_event_is_refused() {
    let disk = FaultyDisk::new();
    let mut log = Log::create(place(&disk), 1);
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let bad = ["1", "[]", "\"type\"", "{}", "{\"type\":1}"];
    let split = ["{\"a\":1,\n\"type\":\"x\"}", "{\"type\":\"x\",\n\"a\":1}"];
    for text in bad.into_iter().chain(split) {
        let error = log.append(1, &[raw(text)], false).unwrap_err();
        assert!(matches!(error, AppendError::NotAnEvent { index: 0, .. }), "{text}: {error}");
    }
    assert_eq!(log.append(1, &[raw("{\"a\":1,\"type\":\"x\"}")], false).unwrap(), 1..2);
}

#[test]
fn f6_a_batch_is_one_write() {
    let disk = FaultyDisk::new();
    let mut log = Log::create(place(&disk), 1);
    assert_eq!(log.append(1, &[] as &[Event], true).unwrap(), 1..1);
    assert_eq!(disk.crash_points(), 0, "a session without a record leaves no trace");
    for number in 1..=5 {
        let batch = vec![prompted("x"); 20];
        log.append(1, &batch, false).unwrap();
        assert_eq!(disk.count(Op::Write), number);
    }
    assert_eq!(disk.count(Op::Sync), 0, "nothing asked for a sync");
}

#[test]
fn f13_a_huge_line_costs_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let here = real_place(dir.path());
    drop(new_log(&here));
    let len = fs::metadata(here.events()).unwrap().len();
    // Zeros without a line end; the file has a hole there.
    let file = fs::File::options().write(true).open(here.events()).unwrap();
    file.set_len(len + (1 << 28)).unwrap();
    let before = peak_kib();
    let read = Log::read(&*here.storage, &here.dir, ID).unwrap();
    // Other tests run at the same time, so the limit is generous.
    assert!(peak_kib() - before < 128 << 10, "{} KiB", peak_kib() - before);
    assert_eq!(seqs(&read.records), [1]);
    assert_eq!(read.notices, [Notice::TornTail { at: len, len: 1 << 28 }]);
}

/// Returns the peak memory of this process in KiB; 0 if the system does not report it.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[test]
fn files_are_for_their_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    let here = real_place(dir.path());
    drop(new_log(&here));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&here.dir), 0o700);
    assert_eq!(mode(here.dir.parent().unwrap()), 0o700);
    assert_eq!(mode(&here.events()), 0o600);
    assert_eq!(mode(&here.dir.join(LOCK)), 0o600);
    fs::set_permissions(here.events(), fs::Permissions::from_mode(0o666)).unwrap();
    drop(Log::open(here.clone(), 2).unwrap());
    assert_eq!(mode(&here.events()), 0o600);
}

#[test]
fn links_and_pipes_are_neither_followed_nor_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let here = real_place(dir.path());
    drop(new_log(&here));
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(here.events(), &elsewhere).unwrap();
    symlink(&elsewhere, here.events()).unwrap();
    let refused = Log::open(here.clone(), 2).err().expect("a link").to_string();
    assert!(refused.contains("symbolic link"), "{refused}");
    assert!(Log::read(&*here.storage, &here.dir, ID).is_err());

    // log-057
    fs::remove_file(here.events()).unwrap();
    mknodat(CWD, here.events(), FileType::Fifo, 0o600.into(), 0).unwrap();
    for refused in [
        Log::read(&*here.storage, &here.dir, ID).expect_err("a pipe").to_string(),
        Log::open(here.clone(), 2).err().expect("a pipe").to_string(),
    ] {
        assert!(refused.contains("a pipe"), "{refused}");
    }

    let moved = dir.path().join("moved");
    fs::rename(&here.dir, &moved).unwrap();
    symlink(&moved, &here.dir).unwrap();
    assert!(Log::open(here, 2).is_err(), "the directory is a link");
}

#[test]
fn a_session_that_exists_is_not_created_again() {
    let dir = tempfile::tempdir().unwrap();
    let here = real_place(dir.path());
    drop(new_log(&here));
    let before = fs::read(here.events()).unwrap();
    assert!(Log::create(here.clone(), 2).append(1, &[prompted("b")], false).is_err());
    assert_eq!(fs::read(here.events()).unwrap(), before);
    let missing = LogPlace { dir: dir.path().join("sessions/none"), ..here };
    assert!(matches!(Log::open(missing.clone(), 1), Err(OpenError::Missing { .. })));
    assert!(missing.storage.stat(&missing.dir).is_err(), "a missing session leaves no trace");
}
