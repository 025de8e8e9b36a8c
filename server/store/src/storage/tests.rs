//! Tests of the storage: the real disk and the double keep the same contract, and the double loses
//! exactly what was not synced.

use std::path::PathBuf;

use super::faulty::{Fault, FaultyDisk, Loss, Op};
use super::*;

/// Checks the contract of any storage.
fn check(storage: &dyn Storage, root: &Path) {
    let dir = root.join("a/b");
    storage.create_dir(&dir).unwrap();
    storage.create_dir(&dir).unwrap();
    let path = dir.join("file");
    let missing = storage.open(&path, Open::Append).err().unwrap();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    assert_eq!(storage.stat(&path).unwrap_err().kind(), io::ErrorKind::NotFound);

    let file = storage.open(&path, Open::New).unwrap();
    let exists = storage.open(&path, Open::New).err().unwrap();
    assert_eq!(exists.kind(), io::ErrorKind::AlreadyExists);
    append_all(&*file, b"hello ").unwrap();
    let again = storage.open(&path, Open::Append).unwrap();
    append_all(&*again, b"world").unwrap();
    assert_eq!(read_whole(storage, &path, 11).unwrap(), b"hello world");
    let long = read_whole(storage, &path, 10).unwrap_err();
    assert_eq!(long.kind(), io::ErrorKind::FileTooLarge);
    file.truncate(4).unwrap();
    append_all(&*again, b"!").unwrap();
    assert_eq!(read_whole(storage, &path, 10).unwrap(), b"hell!");
    assert_eq!(file.stat().unwrap(), storage.stat(&path).unwrap());
    let end = read_exact_at(&*file, &mut [0; 2], 4).unwrap_err();
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    file.sync().unwrap();
    storage.sync_dir(&dir).unwrap();

    let lock = storage.lock(&dir.join("lock")).unwrap();
    assert!(matches!(storage.lock(&dir.join("lock")), Err(LockError::Held { .. })));
    drop(lock);
    drop(storage.lock(&dir.join("lock")).unwrap());

    storage.rename(&path, &dir.join("moved")).unwrap();
    let names: Vec<_> = storage.list(&dir).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["lock", "moved"]);
    assert_eq!(storage.list(root).unwrap(), [Entry { name: "a".into(), kind: EntryType::Dir }]);
    assert!(storage.open(&dir, Open::Read).is_err(), "a directory is no file");
    assert!(storage.remove_dir(&dir).is_err(), "it is not empty");
    remove_tree(storage, &root.join("a")).unwrap();
    remove_tree(storage, &root.join("a")).unwrap();
    assert_eq!(storage.list(root).unwrap(), []);
}

#[test]
fn the_disk_and_its_twin_keep_one_contract() {
    let dir = tempfile::tempdir().unwrap();
    check(&Disk, dir.path());
    check(&FaultyDisk::new(), Path::new("/"));
}

#[test]
fn the_twin_fails_the_operation_it_was_told_to() {
    let disk = FaultyDisk::new();
    let file = disk.open(Path::new("/file"), Open::New).unwrap();
    disk.fail(Op::Write, 2, Fault::Full);
    disk.fail(Op::Write, 3, Fault::Short(2));
    disk.fail(Op::Write, 4, Fault::Partial(1));
    append_all(&*file, b"one").unwrap();
    assert_eq!(file.append(b"two").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.append(b"abc").unwrap(), 2);
    assert!(file.append(b"xyz").is_err());
    assert_eq!(disk.content(Path::new("/file")).unwrap(), b"oneabx");
    disk.fail_from(Op::Cut, 1, Fault::Broken);
    assert!(file.truncate(0).is_err() && file.truncate(0).is_err());
    disk.heal();
    file.truncate(0).unwrap();
}

#[test]
fn the_twin_loses_what_was_not_synced_and_nothing_else() {
    let disk = FaultyDisk::new();
    let path = PathBuf::from("/file");
    let file = disk.open(&path, Open::New).unwrap();
    append_all(&*file, &[1; 1000]).unwrap();
    let unsynced = disk.crash_points();
    file.sync().unwrap();
    let nameless = disk.crash_points();
    disk.sync_dir(Path::new("/")).unwrap();
    append_all(&*file, &[2; 2000]).unwrap();
    let end = disk.crash_points();
    let left = |point, loss| disk.after_power_loss(point, loss).content(&path);
    assert!(left(unsynced, Loss::Unsynced).is_err());
    assert!(left(nameless, Loss::Unsynced).is_err());
    assert_eq!(left(nameless, Loss::Nothing).unwrap(), [1; 1000]);
    assert_eq!(left(end, Loss::Unsynced).unwrap(), [1; 1000]);
    let mut shapes = std::collections::BTreeSet::new();
    for seed in 0..50 {
        for loss in [Loss::Torn(seed), Loss::Shuffled(seed)] {
            let found = left(end, loss).unwrap();
            assert!(found[..1000] == [1; 1000]);
            shapes.insert(found);
        }
    }
    assert!(shapes.len() > 8, "only {} shapes", shapes.len());
}

#[test]
fn l4_the_twin_loses_what_a_failed_sync_should_have_written() {
    let disk = FaultyDisk::new();
    let file = disk.open(Path::new("/file"), Open::New).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    append_all(&*file, b"lost").unwrap();
    disk.fail(Op::Sync, 1, Fault::Broken);
    assert!(file.sync().is_err());
    append_all(&*file, b"kept").unwrap();
    file.sync().unwrap();
    assert_eq!(disk.content(Path::new("/file")).unwrap(), b"lostkept");
    let after = disk.after_power_loss(disk.crash_points(), Loss::Unsynced);
    assert_eq!(after.content(Path::new("/file")).unwrap(), b"\0\0\0\0kept");
}

#[test]
fn l5_a_lock_that_was_let_go_is_free_while_other_processes_are_being_started() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            // A child process has a copy of every descriptor until it runs its program.
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::SeqCst) {
                    std::process::Command::new("true").status().unwrap();
                }
            });
        }
        let free = (0..500).filter(|_| Disk.lock(&path).is_ok()).count();
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(free, 500, "a free lock is refused");
    });
}
