//! One line of a log: how it is written, and how its checksum is verified.
//!
//! A line is plain JSON in one fixed spelling. Its checksum covers the session id and every byte
//! before the checksum. Never looks into an event.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

/// The log format that this version writes.
pub const FORMAT: u64 = 1;

/// The longest line that is written or read, in bytes. It has room for the largest edit of one review
/// and for the largest arguments of a reply, even if each of their characters is escaped.
pub const MAX_LINE: usize = 40 << 20;

/// Sequence numbers from here on count as damage: a log that gains a record every microsecond reaches
/// this one after 285 years.
pub const MAX_SEQ: u64 = 1 << 53;

const SUM: &[u8] = b",\"sum\":\"";
/// The length of `,"sum":"xxxxxxxx"}`.
const TAIL: usize = SUM.len() + 8 + 2;

/// The content of a verified line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLine<'a> {
    /// The header of the file.
    Header(Header),
    /// A writer opened the log with this epoch.
    Epoch(u64),
    /// A record, with the bytes of its event.
    Record(StoredRecord<'a>),
}

/// The header of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The format of the file.
    pub format: u64,
    /// When the session was created, in milliseconds since 1970.
    pub created_at: u64,
}

/// A record as it is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRecord<'a> {
    /// The sequence number.
    pub seq: u64,
    /// The time of writing, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event, as JSON.
    pub event: &'a [u8],
    /// The checksum of the line.
    pub sum: u32,
    /// Whether more records of the same batch follow; a batch counts whole or not at all.
    pub more: bool,
}

/// Returns the checksum of a line; `body` is the line up to its checksum.
fn checksum(session: &str, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(session.as_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// Ends the line that begins at `start`: appends its checksum and the line end.
fn seal(session: &str, line: &mut Vec<u8>, start: usize) {
    let sum = checksum(session, line.get(start..).unwrap_or_default());
    line.extend_from_slice(SUM);
    line.extend_from_slice(format!("{sum:08x}\"}}\n").as_bytes());
}

/// Appends the header of a file.
pub fn put_header(line: &mut Vec<u8>, session: &str, created_at: u64) {
    let start = line.len();
    let id = serde_json::Value::from(session);
    line.extend_from_slice(
        format!("{{\"adjutant_log\":{FORMAT},\"session\":{id},\"created_at\":{created_at}").as_bytes(),
    );
    seal(session, line, start);
}

/// Appends the epoch line of a writer, which other writers see.
pub fn put_epoch(line: &mut Vec<u8>, session: &str, epoch: u64, at_ms: u64) {
    let start = line.len();
    line.extend_from_slice(format!("{{\"epoch\":{epoch},\"at\":{at_ms}").as_bytes());
    seal(session, line, start);
}

/// Why an event cannot become a line.
#[derive(Debug)]
pub enum UnfitEvent {
    /// The line would be longer than `MAX_LINE`.
    TooLong,
    /// The event is not a JSON object with a `type`.
    NotAnEvent(String),
}

/// Appends a record. On failure it appends nothing.
pub fn put_record<E: Serialize>(
    line: &mut Vec<u8>,
    session: &str,
    (seq, at_ms, more): (u64, u64, bool),
    event: &E,
) -> Result<(), UnfitEvent> {
    let start = line.len();
    let more = if more { ",\"more\":true" } else { "" };
    line.extend_from_slice(format!("{{\"seq\":{seq},\"at\":{at_ms}{more},\"event\":").as_bytes());
    let event_at = line.len();
    let outcome = write_event(line, start + MAX_LINE - TAIL - 1, event)
        .and_then(|()| check_event(line.get(event_at..).unwrap_or_default()));
    match outcome {
        Ok(()) => seal(session, line, start),
        Err(_) => line.truncate(start),
    }
    outcome
}

fn write_event<E: Serialize>(line: &mut Vec<u8>, end: usize, event: &E) -> Result<(), UnfitEvent> {
    serde_json::to_writer(BoundedWriter { line, end }, event).map_err(|error| {
        if error.is_io() { UnfitEvent::TooLong } else { UnfitEvent::NotAnEvent(error.to_string()) }
    })
}

fn check_event(event: &[u8]) -> Result<(), UnfitEvent> {
    #[derive(Deserialize)]
    struct EventType<'a> {
        #[serde(borrow, rename = "type")]
        _kind: std::borrow::Cow<'a, str>,
    }
    // Serde wrote a tagged enum; it needs no further check.
    if event.starts_with(b"{\"type\":\"") && !event.contains(&b'\n') {
        return Ok(());
    }
    match serde_json::from_slice::<EventType<'_>>(event) {
        // A raw JSON value may contain line ends.
        Ok(_) if event.contains(&b'\n') => {
            Err(UnfitEvent::NotAnEvent("it has a line end outside a string".to_owned()))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(UnfitEvent::NotAnEvent(error.to_string())),
    }
}

/// Refuses bytes beyond the limit of a line, so that an event of any size needs no more memory than
/// the largest line.
struct BoundedWriter<'a> {
    line: &'a mut Vec<u8>,
    end: usize,
}

impl Write for BoundedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.line.len() + bytes.len() > self.end {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // A long text comes in one piece; the bytes after it must not double the line's memory.
        self.line.reserve(bytes.len() + 4096);
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Splits a line into its body and its checksum, without verifying it.
fn split(line: &[u8]) -> Option<(&[u8], u32)> {
    let (body, tail) = line.split_at_checked(line.len().checked_sub(TAIL)?)?;
    let digits = tail.strip_prefix(SUM)?.strip_suffix(b"\"}")?;
    // One spelling only: `from_str_radix` alone would accept capitals and signs.
    if !digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    Some((body, u32::from_str_radix(digits, 16).ok()?))
}

/// Returns the checksum that a line with its line end states; 0 if there is none.
pub fn sum_of(line: &[u8]) -> u32 {
    line.strip_suffix(b"\n").and_then(split).map_or(0, |(_, sum)| sum)
}

/// Whether a line begins or ends like a line of a log, whatever its checksum.
pub fn has_shape(line: &[u8]) -> bool {
    line.starts_with(b"{\"") || split(line).is_some()
}

/// Returns the content of a line if its checksum is correct.
pub fn parse<'a>(session: &str, line: &'a [u8]) -> Option<LogLine<'a>> {
    let (body, sum) = split(line)?;
    if checksum(session, body) != sum {
        return None;
    }
    if let Some(record) = record(body, sum) {
        return Some(LogLine::Record(record));
    }
    if let Some(rest) = body.strip_prefix(b"{\"epoch\":") {
        let (epoch, rest) = number(rest)?;
        let (_, rest) = number(rest.strip_prefix(b",\"at\":")?)?;
        return rest.is_empty().then_some(LogLine::Epoch(epoch));
    }
    let head: HeadLine = serde_json::from_slice(line).ok()?;
    let header = Header { format: head.adjutant_log, created_at: head.created_at.unwrap_or(0) };
    (head.session == session).then_some(LogLine::Header(header))
}

/// Returns the record of a line that was verified before.
pub fn verified_record(line: &[u8]) -> Option<StoredRecord<'_>> {
    split(line).and_then(|(body, sum)| record(body, sum))
}

fn record(body: &[u8], sum: u32) -> Option<StoredRecord<'_>> {
    let (seq, rest) = number(body.strip_prefix(b"{\"seq\":")?)?;
    let (at_ms, rest) = number(rest.strip_prefix(b",\"at\":")?)?;
    let (more, rest) = match rest.strip_prefix(b",\"more\":true") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let event = rest.strip_prefix(b",\"event\":")?;
    Some(StoredRecord { seq, at_ms, event, sum, more })
}

#[derive(Deserialize)]
struct HeadLine {
    adjutant_log: u64,
    #[serde(default)]
    session: String,
    created_at: Option<u64>,
}

/// What a first line claims if it is not the header of this session.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The session that it names, if its checksum is correct for that session.
    pub session: Option<String>,
    /// The format that it names.
    pub format: Option<u64>,
}

/// Returns what a first line claims. The format is not verified.
pub fn claim(line: &[u8]) -> Claim {
    let Ok(head) = serde_json::from_slice::<HeadLine>(line) else {
        return Claim::default();
    };
    let whole = split(line).is_some_and(|(body, sum)| checksum(&head.session, body) == sum);
    Claim { session: whole.then_some(head.session), format: Some(head.adjutant_log) }
}

/// Whether bytes are a torn header: the beginning of one, or zeros in its place.
pub fn is_torn_header(bytes: &[u8]) -> bool {
    const START: &[u8] = b"{\"adjutant_log\":";
    let shared = bytes.len().min(START.len());
    bytes.get(..shared) == START.get(..shared) || bytes.iter().all(|byte| *byte == 0)
}

/// Splits off a leading decimal number without leading zeros.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at_checked(len)?;
    if digits.len() > 1 && digits.first() == Some(&b'0') {
        return None;
    }
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}
