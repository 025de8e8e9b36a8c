//! The reader of logs: whole batches at the front are never lost, and a repaired log stays repaired.
//!
//! A line that begins with `=` gets its correct checksum; otherwise the search would never get past the
//! check of the checksum.

use adjutant::fuzzing::{LogFile, SESSION};
use adjutant::session::log::line::put_header;
use adjutant::session::log::{Notice, OpenError, RecordRaw};
use adjutant::session::watermark::Syncer;
use serde_json::{Value, json};

type Said = Vec<(u64, u64, bool, String)>;

pub fn check(input: &[u8]) {
    let bytes = sealed(input);
    let file = LogFile::holding(&bytes);
    let read = file.read();
    let front = front(&bytes);
    if let Ok(read) = &read {
        let found = said(&read.records);
        assert!(found.starts_with(&front), "{front:?} is whole, but the reader found {found:?}");
        assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0), "{found:?}");
    } else {
        assert!(front.is_empty(), "{front:?} is whole, but the reader failed");
    }
    assert!(file.bytes() == bytes, "reading changed the file");
    let mut opened = match file.open(syncer()) {
        Ok(opened) => opened,
        Err(_) => {
            assert!(file.bytes() == bytes, "a refused log was changed");
            return;
        }
    };
    let before = said(&opened.records);
    assert_eq!(before, said(&read.expect("a log that opens can be read").records));
    let new = opened.log.append(9_001, &[json!({"type": "went_on"})], false);
    drop(opened);
    let back = file.read().expect("a repaired log can be read");
    let after = said(&back.records);
    assert_eq!(after[..before.len()], before[..]);
    // Only a forged log has no sequence number left.
    assert_eq!(after.len(), before.len() + usize::from(new.is_ok()));
    let broken = |notice: &&Notice| {
        matches!(
            notice,
            Notice::Empty
                | Notice::TornTail { .. }
                | Notice::DamagedTail { .. }
                | Notice::Damaged { .. }
                | Notice::Header { .. }
        )
    };
    assert_eq!(back.notices.iter().find(broken), None, "the repaired log is still broken");
    match file.open(syncer()) {
        Ok(again) => assert_eq!(said(&again.records), after),
        // Only a forged log has no epoch left.
        Err(OpenError::Exhausted { .. }) => {}
        Err(error) => panic!("the repaired log cannot be opened: {error}"),
    }
}

/// Returns the pool of syncing threads for all logs of this thread.
fn syncer() -> Syncer {
    thread_local! {
        static POOL: Syncer = Syncer::start().expect("threads for the pool");
    }
    POOL.with(Syncer::clone)
}

fn sealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        let end = line.len() - usize::from(line.ends_with(b"\n"));
        match line[..end].strip_prefix(b"=") {
            Some(body) => {
                let sum = sum(body);
                bytes.extend_from_slice(body);
                bytes.extend_from_slice(format!(",\"sum\":\"{sum:08x}\"}}").as_bytes());
                bytes.extend_from_slice(&line[end..]);
            }
            None => bytes.extend_from_slice(line),
        }
    }
    bytes
}

/// Returns the CRC-32 of the session and a line, bit by bit: not the code under test.
fn sum(body: &[u8]) -> u32 {
    let all = SESSION.bytes().chain(body.iter().copied());
    !all.fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

/// Returns the whole batches at the front of a log, if they have the exact form that the writer writes.
fn front(bytes: &[u8]) -> Said {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut head = Vec::new();
    put_header(&mut head, SESSION, 1_000);
    if lines.next() != Some(&head) {
        return Vec::new();
    }
    let mut found = Said::new();
    for line in lines {
        let Some((body, end)) = line.split_at_checked(line.len().saturating_sub(19)) else { break };
        if end != format!(",\"sum\":\"{:08x}\"}}\n", sum(body)).as_bytes() {
            break;
        }
        let Ok(Value::Object(record)) = serde_json::from_slice(&line[..line.len() - 1]) else { break };
        let number = |key: &str| record.get(key).and_then(Value::as_u64).unwrap_or(0);
        if record.contains_key("epoch") {
            continue;
        }
        let more = record.contains_key("more");
        let written = json!({"type": record.get("event").map(|event| &event["type"])})["type"].clone();
        let event = json!({ "type": written }).to_string();
        let (seq, at) = (number("seq"), number("at"));
        let mark = if more { ",\"more\":true" } else { "" };
        // Only the simplest records count here; the other checks cover the rest.
        if seq != found.len() as u64 + 1
            || !written.is_string()
            || body != format!("{{\"seq\":{seq},\"at\":{at}{mark},\"event\":{event}").as_bytes()
        {
            break;
        }
        found.push((seq, at, !more, event));
    }
    let whole = found.iter().rposition(|(_, _, last, _)| *last).map_or(0, |last| last + 1);
    found.truncate(whole);
    found
}

fn said(records: &[RecordRaw]) -> Said {
    let said = |record: &RecordRaw| (record.seq, record.at_ms, record.last, record.event.get().to_owned());
    records.iter().map(said).collect()
}
