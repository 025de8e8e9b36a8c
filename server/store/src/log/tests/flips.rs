//! Flips each byte of a log of 64 KiB, one at a time (F3): no panic, no change without a notice, and
//! the original bytes are kept.
//!
//! Flips one byte in seventeen, which shares no factor with the lines; with `ADJUTANT_SLOW`, every byte.

use super::*;

/// The number, time and text of each event of a log.
type Contents = Vec<(u64, u64, String)>;

fn contents(records: &[RecordRaw]) -> Contents {
    records.iter().map(|record| (record.seq, record.at_ms, record.event.get().to_owned())).collect()
}

/// Reads and opens a log in which one byte is changed.
fn check(original: &Contents, bytes: &[u8], at: usize, open_too: bool) {
    let disk = holding(bytes);
    let Ok(read) = Log::read(&disk, Path::new(DIR), ID) else { return };
    let found = contents(&read.records);
    let same = read.created_at == Some(1_000) && found == *original;
    let noticed = read.notices.iter().any(Notice::is_damage);
    // The end of the last line is the one byte whose loss looks like a torn write.
    let torn = at + 1 == bytes.len() && !read.notices.is_empty();
    assert!(same || noticed || torn, "byte {at} changed without a notice");
    assert!(found.len() + 2 >= original.len(), "byte {at} hides more than it hit");
    assert!(found.iter().all(|record| original.contains(record)), "byte {at} made something up");
    if open_too {
        let opened = open(&disk).unwrap_or_else(|error| panic!("byte {at}: {error}"));
        assert_eq!(contents(&opened.records), found, "byte {at}");
        let names = disk.list(Path::new(DIR)).unwrap();
        let copies = names.iter().filter(|entry| entry.name.starts_with("events.jsonl."));
        let mut contents_of_copies =
            copies.map(|copy| disk.content(&Path::new(DIR).join(&copy.name)).unwrap());
        let copy = contents_of_copies.next_back().unwrap_or_default();
        // A damaged log is copied whole, a torn one from its tail on. CRLF instead of LF is no change.
        let line_end = bytes[at] == b'\r';
        assert!(line_end || same || !copy.is_empty() && bytes.ends_with(&copy), "byte {at}: no copy");
    }
}

#[test]
fn f3_every_flipped_byte_of_64_kib_is_noticed_and_what_was_found_is_kept() {
    let slow = std::env::var_os("ADJUTANT_SLOW").is_some();
    let bytes = valid_log(230);
    assert!(bytes.len() >= 64 << 10, "{}", bytes.len());
    let read = Log::read(&holding(&bytes), Path::new(DIR), ID).unwrap();
    let original = contents(&read.records);
    let step = if slow { 1 } else { 17 };
    let part = |from: usize| {
        let mut bytes = bytes.clone();
        for at in (0..bytes.len()).step_by(step).skip(from).step_by(2) {
            let was = bytes[at];
            // A different bit each time, and the bytes that have a meaning in a log.
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
