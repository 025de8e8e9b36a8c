//! Each byte of a log of 64 KiB flipped, one at a time (F3): nothing panics, nothing changes unseen,
//! and what was found is kept.
//!
//! One byte in seventeen, which shares no factor with the lines; every one with `ADJUTANT_SLOW`.

use super::*;

/// What a log says: the number, time and text of each event.
type Said = Vec<(u64, u64, String)>;

fn said(records: &[RecordRaw]) -> Said {
    records.iter().map(|record| (record.seq, record.at_ms, record.event.get().to_owned())).collect()
}

/// Reads and opens a log in which one byte is changed.
fn check(original: &Said, bytes: &[u8], at: usize, open_too: bool) {
    let disk = holding(bytes);
    let Ok(read) = Log::read(&disk, Path::new(DIR), ID) else { return };
    let found = said(&read.records);
    let same = read.created_at == Some(1_000) && found == *original;
    let told = read.notices.iter().any(Notice::is_damage);
    // The end of the last line is the one byte whose loss looks like a torn write.
    let torn = at + 1 == bytes.len() && !read.notices.is_empty();
    assert!(same || told || torn, "byte {at} changed unseen");
    assert!(found.len() + 2 >= original.len(), "byte {at} hides more than it hit");
    assert!(found.iter().all(|record| original.contains(record)), "byte {at} made something up");
    if open_too {
        let opened = open(&disk).unwrap_or_else(|error| panic!("byte {at}: {error}"));
        assert_eq!(said(&opened.records), found, "byte {at}");
        let names = disk.list(Path::new(DIR)).unwrap();
        let copies = names.iter().filter(|entry| entry.name.starts_with("events.jsonl."));
        let mut kept = copies.map(|copy| disk.content(&Path::new(DIR).join(&copy.name)).unwrap());
        let kept = kept.next_back().unwrap_or_default();
        // All of a damaged log, the end of a torn one; a line end of a text tool is no change.
        let line_end = bytes[at] == b'\r';
        assert!(line_end || same || !kept.is_empty() && bytes.ends_with(&kept), "byte {at}: nothing is kept");
    }
}

#[test]
fn f3_every_flipped_byte_of_64_kib_is_noticed_and_what_was_found_is_kept() {
    let slow = std::env::var_os("ADJUTANT_SLOW").is_some();
    let bytes = valid_log(230);
    assert!(bytes.len() >= 64 << 10, "{}", bytes.len());
    let read = Log::read(&holding(&bytes), Path::new(DIR), ID).unwrap();
    let original = said(&read.records);
    let step = if slow { 1 } else { 17 };
    let part = |from: usize| {
        let mut bytes = bytes.clone();
        for at in (0..bytes.len()).step_by(step).skip(from).step_by(2) {
            let was = bytes[at];
            // A different bit each time, and the bytes that mean something here.
            let flips = [1 << (at / 8 % 8), was ^ b'\n', 0x20, was ^ b'"'];
            bytes[at] ^= flips[at / 2 % 4].max(1);
            check(&original, &bytes, at, at.is_multiple_of(23) || slow && at.is_multiple_of(5));
            bytes[at] = was;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| part(0));
        scope.spawn(|| part(1));
    });
}
