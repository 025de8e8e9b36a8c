//! Tests of the catalog: a list is quick, never hides a session, and never trusts a summary that does
//! not match its log.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::log::line;
use crate::storage::Disk;

fn catalog(root: &Path) -> Catalog {
    Catalog::new(Arc::new(Disk), Syncer::start().unwrap(), root)
}

fn event(text: &str) -> serde_json::Value {
    serde_json::json!({"type": "prompted", "text": text})
}

/// Creates a session with this many events and a matching summary.
fn session(catalog: &Catalog, id: &str, events: usize, updated_at: u64) -> Log {
    let mut log = Log::create(catalog.place(id).unwrap(), 1);
    log.append(1, &vec![event("a"); events], false).unwrap();
    let summary = Summary { log: log.summary_mark(), updated_at, ..titled(id) };
    catalog.write_summary(id, &summary).unwrap();
    log
}

fn titled(title: &str) -> Summary {
    let roots = vec!["/project".to_owned()];
    Summary { title: title.to_owned(), roots, state: "idle".to_owned(), ..Summary::default() }
}

/// Rebuilds a summary; counts the records as turns.
fn rebuild(catalog: &Catalog, id: &str) -> Result<Summary, CatalogError> {
    let count = |turns: &mut u64, _| *turns += 1;
    catalog.rebuild(id, 0, count, |turns, log| Summary { turns: *turns, log, ..titled(id) })
}

fn conditions(catalog: &Catalog) -> Vec<(String, Condition)> {
    let list = catalog.list().unwrap();
    list.into_iter().map(|listed| (listed.id, listed.condition)).collect()
}

#[test]
fn a_list_shows_what_changed_last_first() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    assert_eq!(conditions(&catalog), []);
    for (id, updated_at) in [("b", 2), ("c", 9), ("a", 2)] {
        drop(session(&catalog, id, 1, updated_at));
    }
    fs::create_dir(dir.path().join("sessions/NotAnId")).unwrap();
    fs::create_dir(dir.path().join("sessions/no-log")).unwrap();
    fs::write(dir.path().join("sessions/file"), "").unwrap();
    symlink("a", dir.path().join("sessions/link")).unwrap();
    let current = |id: &str| (id.to_owned(), Condition::Current);
    assert_eq!(conditions(&catalog), [current("c"), current("a"), current("b")]);
    assert_eq!(catalog.list().unwrap()[0].summary.as_ref().unwrap().title, "c");
}

#[test]
fn a_summary_that_does_not_fit_is_stale_until_it_is_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    let mut log = session(&catalog, "a", 2, 1);
    assert_eq!(catalog.summary("a").unwrap().unwrap().log.last_seq, 2);
    log.append(2, &[event("more")], false).unwrap();
    assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Stale)]);
    assert_eq!(catalog.summary("a").unwrap(), None);
    let rebuilt = rebuild(&catalog, "a").unwrap();
    assert_eq!((rebuilt.turns, rebuilt.log, rebuilt.damage.as_ref()), (3, log.summary_mark(), None));
    assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Current)]);
    assert_eq!(catalog.summary("a").unwrap(), Some(rebuilt));
    for text in ["", "{", "[]", "null", "{\"title\":1}"] {
        fs::write(dir.path().join("sessions/a/summary.json"), text).unwrap();
        assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Stale)], "{text}");
    }
    fs::remove_file(dir.path().join("sessions/a/summary.json")).unwrap();
    assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Stale)]);
}

#[test]
fn a_log_of_equal_length_with_other_records_does_not_fit() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    let log = session(&catalog, "a", 1, 1);
    let path = log.place().events();
    drop(log);
    let mut other = Vec::new();
    line::put_header(&mut other, "a", 1);
    line::put_epoch(&mut other, "a", 1, 1);
    line::put_record(&mut other, "a", (1, 1, false), &event("b")).unwrap();
    assert_eq!(other.len() as u64, fs::metadata(&path).unwrap().len());
    fs::write(&path, other).unwrap();
    assert_eq!(catalog.summary("a").unwrap(), None);
}

#[test]
fn log_011_damaged_sessions_are_shown_and_not_hidden() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    let path = |id: &str| dir.path().join("sessions").join(id).join(EVENTS);
    let ids = ["cut", "empty", "gone", "head", "link", "middle", "torn"];
    for id in ids {
        drop(session(&catalog, id, 9, 1));
    }
    let change = |id: &str, change: fn(&mut Vec<u8>)| {
        let mut bytes = fs::read(path(id)).unwrap();
        change(&mut bytes);
        fs::write(path(id), bytes).unwrap();
    };
    change("cut", |bytes| bytes.truncate(20));
    change("empty", Vec::clear);
    fs::remove_file(path("gone")).unwrap();
    change("head", |bytes| drop(bytes.splice(3..4, *b"xx")));
    fs::rename(path("link"), dir.path().join("elsewhere")).unwrap();
    symlink(dir.path().join("elsewhere"), path("link")).unwrap();
    change("middle", |bytes| bytes[400] ^= 1);
    change("torn", |bytes| bytes.extend(b"torn"));
    // Damage after the header is found when the log is read.
    rebuild(&catalog, "middle").unwrap();
    rebuild(&catalog, "torn").unwrap();
    let list = conditions(&catalog);
    assert_eq!(list.len(), ids.len());
    for (id, condition) in list {
        let damaged = matches!(condition, Condition::Damaged(_));
        assert_eq!(damaged, id != "torn", "{id}: {condition:?}");
    }
}

/// Changes one byte of a log without changing its length. With `quiet`, its time does not change either.
fn flip(path: &Path, at: usize, quiet: bool) {
    let before = fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, &bytes).unwrap();
    // The clock of a file system may be too coarse for a test.
    let after = if quiet { before } else { before + Duration::from_millis(1) };
    fs::File::options().append(true).open(path).unwrap().set_modified(after).unwrap();
}

#[test]
fn finding_f5_a_log_that_changed_is_read_again_although_its_summary_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    let log = session(&catalog, "a", 9, 1);
    let path = log.place().events();
    drop(log);
    let len = fs::metadata(&path).unwrap().len() as usize;
    let good = fs::read(&path).unwrap();
    // A change in the middle is found by the time; one at the end also without a new time.
    for (at, quiet) in [(len / 2, false), (len - 9, false), (len - 9, true)] {
        flip(&path, at, quiet);
        assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Stale)], "byte {at} of {len}");
        assert!(!catalog.find("a").unwrap().unwrap().fits);
        let damage = rebuild(&catalog, "a").unwrap().damage.expect("it is damaged");
        assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Damaged(damage))]);
        // The summary has the damage now, so the next list does not read the log again.
        assert!(catalog.find("a").unwrap().unwrap().fits);
        fs::write(&path, &good).unwrap();
        flip(&path, at, false);
        flip(&path, at, false);
        assert_eq!(rebuild(&catalog, "a").unwrap().damage, None);
        assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Current)]);
    }
    // An interrupted write is not damage, and the log is read once.
    fs::write(&path, [&good[..], b"{\"seq\":"].concat()).unwrap();
    assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Stale)]);
    assert_eq!(rebuild(&catalog, "a").unwrap().damage, None);
    assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Current)]);
    // A summary of an older version has no time.
    let summary = dir.path().join("sessions/a/summary.json");
    let mut known: serde_json::Value = serde_json::from_slice(&fs::read(&summary).unwrap()).unwrap();
    known.as_object_mut().unwrap().remove("written").unwrap();
    fs::write(&summary, known.to_string()).unwrap();
    assert_eq!(conditions(&catalog), [("a".to_owned(), Condition::Stale)]);
}

#[test]
fn finding_f5_where_no_summary_can_be_written_no_session_is_called_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let disk = crate::storage::faulty::FaultyDisk::new();
    let storage = Arc::new(disk.clone());
    let catalog = Catalog::new(storage, Syncer::start().unwrap(), dir.path());
    let mut log = Log::create(catalog.place("a").unwrap(), 1);
    log.append(1, &[event("a")], false).unwrap();
    use crate::storage::faulty::{Fault, Op};
    disk.fail_from(Op::Write, 1, Fault::Full);
    let rebuilt = rebuild(&catalog, "a").unwrap();
    assert_eq!((rebuilt.turns, rebuilt.damage), (1, None));
}

#[test]
fn f5_a_list_costs_a_bounded_time_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    let log = session(&catalog, "s-0", 1, 0);
    let events = fs::read(log.place().dir.join(EVENTS)).unwrap();
    let known = Summary { log: log.summary_mark(), ..titled("s-0") };
    for number in 1..1_000 {
        let dir = dir.path().join("sessions").join(format!("s-{number}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(EVENTS), &events).unwrap();
        catalog.write_summary(&format!("s-{number}"), &known).unwrap();
    }
    let start = Instant::now();
    assert_eq!(catalog.list().unwrap().len(), 1_000);
    let took = start.elapsed();
    // The target is one second for ten times as many. This build has no optimization, and other tests
    // run at the same time.
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn delete_removes_all_of_a_session_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    let log = session(&catalog, "a", 1, 1);
    drop(session(&catalog, "b", 1, 1));
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    let here = log.place().dir.clone();
    fs::create_dir_all(here.join("blobs/deep")).unwrap();
    fs::write(here.join("blobs/deep/x"), "x").unwrap();
    symlink(&outside, here.join("asks")).unwrap();

    let error = catalog.delete("a").unwrap_err();
    assert!(matches!(error, CatalogError::InUse { .. }), "{error}");
    assert!(here.join(EVENTS).exists());
    drop(log);
    catalog.delete("a").unwrap();
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"kept");
    let left: Vec<_> =
        fs::read_dir(dir.path().join("sessions")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["b"]);
    assert!(matches!(catalog.delete("a"), Err(CatalogError::Missing { .. })));
    let place = catalog.place("a").unwrap();
    assert!(matches!(Log::open(place, 1), Err(OpenError::Missing { .. })));
}

#[test]
fn a_deletion_that_was_cut_short_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    catalog.sweep().unwrap();
    drop(session(&catalog, "a", 1, 1));
    let sessions = dir.path().join("sessions");
    fs::rename(sessions.join("a"), sessions.join(".deleted-a")).unwrap();
    assert_eq!(conditions(&catalog), []);
    drop(session(&catalog, "a", 1, 1));
    catalog.delete("a").unwrap();
    drop(session(&catalog, "a", 1, 1));
    fs::rename(sessions.join("a"), sessions.join(".deleted-a")).unwrap();
    catalog.sweep().unwrap();
    assert_eq!(fs::read_dir(sessions).unwrap().count(), 0);
}

#[test]
fn an_id_is_never_a_path() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = catalog(dir.path());
    let long = "a".repeat(65);
    for bad in ["", ".", "..", "../x", "a/b", "A", "a b", "ä", "a\0", "a.b", ".deleted-a", &long] {
        assert!(matches!(catalog.place(bad), Err(CatalogError::BadId { .. })), "{bad}");
        assert!(matches!(catalog.delete(bad), Err(CatalogError::BadId { .. })), "{bad}");
        let rebuilt = rebuild(&catalog, bad);
        assert!(matches!(rebuilt, Err(CatalogError::BadId { .. })), "{bad}");
    }
    assert!(catalog.place(&"a".repeat(64)).is_ok());
    let missing = rebuild(&catalog, "none");
    assert!(matches!(missing, Err(CatalogError::Missing { .. })));
}

/// A start looks for what is left while another window, or this one, begins a copy.
#[test]
fn p05_a_copy_that_has_just_been_begun_is_not_swept_and_one_of_a_process_that_is_gone_is() {
    let mut gone = std::process::Command::new("true").spawn().expect("it is part of every system");
    let pid = gone.id();
    gone.wait().expect("it ends");
    for (name, left) in [
        (format!(".copied-{}-s-1", std::process::id()), false),
        (format!(".copied-{pid}-s-1"), true),
        (".copied-s-1".to_owned(), true),
        ("s-1".to_owned(), false),
    ] {
        assert_eq!(is_left_copy(&name), left, "{name}");
    }
}
