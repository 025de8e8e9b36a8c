//! Tests that a batch is in the log whole or not at all: a part of one would be a state that no
//! decision made. Never looks into the events themselves.

use super::*;

/// Returns a log of one record, then a batch of three.
fn with_batch() -> Vec<u8> {
    let disk = FaultyDisk::new();
    let mut log = Log::create(place(&disk), 1_000);
    log.append(1_000, &[prompted("alone")], false).unwrap();
    log.append(1_001, &[prompted("a"), prompted("b"), prompted("c")], false).unwrap();
    disk.content(&events_path()).unwrap()
}

#[test]
fn l3_a_batch_torn_anywhere_is_cut_whole_and_kept_aside() {
    let whole = with_batch();
    let start = lines(&whole)[..3].iter().map(Vec::len).sum::<usize>();
    for cut in start + 1..whole.len() {
        let disk = holding(&whole[..cut]);
        let mut opened = open(&disk).unwrap();
        assert_eq!(seqs(&opened.records), [1], "cut at byte {cut}");
        assert!(!opened.notices.is_empty(), "cut at byte {cut} has no notice");
        let next = opened.log.append(2_000, &[prompted("next")], false).unwrap();
        assert_eq!(next, 2..3);
        drop(opened);
        assert_eq!(seqs(&open(&disk).unwrap().records), [1, 2], "cut at byte {cut}");
    }
    assert_eq!(seqs(&open(&holding(&whole)).unwrap().records), [1, 2, 3, 4]);
}

#[test]
fn l2_each_record_says_whether_it_ends_its_batch() {
    let opened = open(&holding(&with_batch())).unwrap();
    let ends: Vec<bool> = opened.records.iter().map(|record| record.last).collect();
    assert_eq!(ends, [true, false, false, true]);
}
