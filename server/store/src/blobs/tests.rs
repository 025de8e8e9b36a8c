//! Tests of blobs: durable before `put` returns, and verified by `get`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::storage::Disk;
use crate::storage::faulty::{Fault, FaultyDisk, Loss, Op};

const DIR: &str = "/state/sessions/s-1";

#[test]
fn what_is_put_is_given_back_and_kept_once() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(Arc::new(Disk), dir.path());
    for bytes in [&b""[..], b"abc", &[0xff; 100_000]] {
        let name = blobs.put(bytes).unwrap();
        assert_eq!(name.len, bytes.len() as u64);
        assert_eq!(blobs.put(bytes).unwrap(), name);
        assert_eq!(blobs.get(&name.hash).unwrap(), bytes);
        let mode = fs::metadata(dir.path().join(BLOBS).join(&name.hash)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
    let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(blobs.get(known).unwrap(), b"abc");
    assert_eq!(fs::read_dir(dir.path().join(BLOBS)).unwrap().count(), 3);
}

#[test]
fn finding_f5_names_that_found_no_free_descriptor_are_synced_with_the_next_ones() {
    let disk = FaultyDisk::new();
    let blobs = Blobs::new(Arc::new(disk.clone()), Path::new(DIR));
    for first in [true, false] {
        disk.fail(Op::Hold, 1, Fault::Scarce);
        let content = format!("content, the first is {first}");
        let refused = blobs.put(content.as_bytes()).unwrap_err();
        assert!(matches!(&refused, BlobError::Io { source, .. } if scarce::descriptors(source).is_some()));
        let name = blobs.put(b"more").unwrap();
        let after = disk.after_power_loss(disk.crash_points(), Loss::Unsynced);
        assert_eq!(Blobs::new(Arc::new(after), Path::new(DIR)).get(&name.hash).unwrap(), b"more");
    }
}

#[test]
fn damaged_missing_and_nonsense_names_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(Arc::new(Disk), dir.path());
    let name = blobs.put(b"content").unwrap();
    let path = dir.path().join(BLOBS).join(&name.hash);
    for damaged in [&b"cOntent"[..], b"", b"content and more"] {
        fs::write(&path, damaged).unwrap();
        assert!(matches!(blobs.get(&name.hash), Err(BlobError::Damaged { .. })));
        assert_eq!(blobs.put(b"content").unwrap(), name, "putting it again repairs it");
        assert_eq!(blobs.get(&name.hash).unwrap(), b"content");
    }
    fs::File::create(&path).unwrap().set_len(MAX_BLOB + 1).unwrap();
    assert!(matches!(blobs.get(&name.hash), Err(BlobError::Damaged { .. })));
    fs::remove_file(&path).unwrap();
    assert!(matches!(blobs.get(&name.hash), Err(BlobError::Missing { .. })));
    let upper = name.hash.to_uppercase();
    for bad in ["", "..", "../lock", "abc", &upper, &format!("../{}", &name.hash[3..])] {
        assert!(matches!(blobs.get(bad), Err(BlobError::BadName { .. })), "{bad}");
    }
}

#[test]
fn a_blob_has_a_limit() {
    let blobs = Blobs::new(Arc::new(FaultyDisk::new()), Path::new(DIR));
    let huge = vec![0; MAX_BLOB as usize + 1];
    assert!(matches!(blobs.put(&huge), Err(BlobError::TooLarge { .. })));
}

#[test]
fn f2_a_blob_that_was_named_survives_power_loss() {
    let disk = FaultyDisk::new();
    let blobs = Blobs::new(Arc::new(disk.clone()), Path::new(DIR));
    let mut named = vec![];
    for number in 0..10_u8 {
        let bytes = vec![number; 700 * usize::from(number)];
        let name = blobs.put(&bytes).unwrap();
        named.push((disk.crash_points(), name, bytes));
    }
    for point in 0..=disk.crash_points() {
        for loss in [Loss::Unsynced, Loss::Torn(point as u64), Loss::Shuffled(point as u64)] {
            let after = disk.after_power_loss(point, loss);
            let blobs = Blobs::new(Arc::new(after), Path::new(DIR));
            for (at, name, bytes) in &named {
                match blobs.get(&name.hash) {
                    Ok(found) => assert!(found == *bytes),
                    Err(_) => assert!(*at > point, "lost at {point}, {loss:?}"),
                }
                assert_eq!(blobs.put(bytes).unwrap(), *name);
            }
        }
    }
}

#[test]
fn f10_a_failing_disk_names_no_blob_and_leaves_no_rest() {
    for op in [Op::Write, Op::Sync, Op::SyncDir, Op::Rename, Op::Create] {
        for nth in 1..=8 {
            let disk = FaultyDisk::new();
            disk.fail(op, nth, Fault::Full);
            let blobs = Blobs::new(Arc::new(disk.clone()), Path::new(DIR));
            let named: Vec<_> = (0..4_u8).filter_map(|number| blobs.put(&[number; 900]).ok()).collect();
            let after = disk.after_power_loss(disk.crash_points(), Loss::Unsynced);
            let again = Blobs::new(Arc::new(after), Path::new(DIR));
            for name in &named {
                assert_eq!(again.get(&name.hash).unwrap().len(), 900, "{op:?} {nth}");
            }
            let names = disk.list(&Path::new(DIR).join(BLOBS)).unwrap_or_default();
            assert!(names.iter().all(|entry| !entry.name.starts_with('.')), "{op:?} {nth}");
        }
    }
}

#[test]
fn what_a_dead_process_left_half_written_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(Arc::new(Disk), dir.path());
    blobs.sweep().unwrap();
    let name = blobs.put(b"whole").unwrap();
    fs::write(dir.path().join(BLOBS).join(".new-1-1"), b"ha").unwrap();
    blobs.sweep().unwrap();
    let left: Vec<_> = fs::read_dir(dir.path().join(BLOBS)).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(blobs.get(&name.hash).unwrap(), b"whole");
}
