//! One line of a log: how it is written, and how it is proved to be whole. A
//! line is plain JSON in one fixed spelling; its checksum covers the session id
//! and every byte before the checksum. Never looks into an event.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

/// The format this version writes.
pub const FORMAT: u64 = 1;

/// The longest line that is written or believed: the largest edit that fits one review, and the
/// largest arguments of a reply, also where each of their characters is escaped.
pub const MAX_LINE: usize = 40 << 20;

/// Sequence numbers from here on are believed to be damage: a log that gains a
/// record every microsecond reaches it after 285 years.
pub const MAX_SEQ: u64 = 1 << 53;

const SUM: &[u8] = b",\"sum\":\"";
/// `,"sum":"xxxxxxxx"}`
const TAIL: usize = SUM.len() + 8 + 2;

/// What a whole line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLine<'a> {
    /// The head of the file.
    Header(Header),
    /// A writer opened the log.
    Epoch(u64),
    /// A record, with the bytes of its event.
    Record(StoredRecord<'a>),
}

/// The head of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The format of the file.
    pub format: u64,
    /// When the session was created, in milliseconds since 1970.
    pub created_at: u64,
}

/// A record as it stands in the file.
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
    /// More records of the same batch follow: a batch counts whole or not at all.
    pub more: bool,
}

/// Returns the checksum of the part of a line before its checksum.
fn checksum(session: &str, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(session.as_bytes());
    hasher.update(body);
    hasher.finalize()
}

fn seal(session: &str, line: &mut Vec<u8>, start: usize) {
    let sum = checksum(session, line.get(start..).unwrap_or_default());
    line.extend_from_slice(SUM);
    line.extend_from_slice(format!("{sum:08x}\"}}\n").as_bytes());
}

/// Appends the head of a file.
pub fn put_header(line: &mut Vec<u8>, session: &str, created_at: u64) {
    let start = line.len();
    let id = serde_json::Value::from(session);
    line.extend_from_slice(
        format!("{{\"adjutant_log\":{FORMAT},\"session\":{id},\"created_at\":{created_at}").as_bytes(),
    );
    seal(session, line, start);
}

/// Appends the line by which a writer makes itself known.
pub fn put_epoch(line: &mut Vec<u8>, session: &str, epoch: u64, at_ms: u64) {
    let start = line.len();
    line.extend_from_slice(format!("{{\"epoch\":{epoch},\"at\":{at_ms}").as_bytes());
    seal(session, line, start);
}

/// Why an event does not become a line.
#[derive(Debug)]
pub enum UnfitEvent {
    /// The line would be longer than `MAX_LINE`.
    TooLong,
    /// The event is no JSON object with a `type`.
    NotAnEvent(String),
}

/// Appends a record; on failure nothing is appended.
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
    // What serde writes for a tagged enum needs no second look.
    if event.starts_with(b"{\"type\":\"") && !event.contains(&b'\n') {
        return Ok(());
    }
    match serde_json::from_slice::<EventType<'_>>(event) {
        // A raw JSON value may bring line ends of its own.
        Ok(_) if event.contains(&b'\n') => {
            Err(UnfitEvent::NotAnEvent("it holds a line end outside a string".to_owned()))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(UnfitEvent::NotAnEvent(error.to_string())),
    }
}

/// Stops a line before it grows past its limit, so that an event of any size
/// costs no more memory than one that fits.
struct BoundedWriter<'a> {
    line: &'a mut Vec<u8>,
    end: usize,
}

impl Write for BoundedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.line.len() + bytes.len() > self.end {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // A long text comes in one piece: what follows it is no reason to double the line.
        self.line.reserve(bytes.len() + 4096);
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Splits a line into its body and its checksum, without checking it.
fn split(line: &[u8]) -> Option<(&[u8], u32)> {
    let (body, tail) = line.split_at_checked(line.len().checked_sub(TAIL)?)?;
    let digits = tail.strip_prefix(SUM)?.strip_suffix(b"\"}")?;
    // One spelling only: `from_str_radix` alone would take capitals and signs.
    if !digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    Some((body, u32::from_str_radix(digits, 16).ok()?))
}

/// Returns the checksum written in a line that ends in a line end.
pub fn sum_of(line: &[u8]) -> u32 {
    line.strip_suffix(b"\n").and_then(split).map_or(0, |(_, sum)| sum)
}

/// Returns whether a line that was not torn begins or ends as one of ours,
/// whatever its checksum.
pub fn has_shape(line: &[u8]) -> bool {
    line.starts_with(b"{\"") || split(line).is_some()
}

/// Returns what a line says, if its checksum proves it whole.
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

/// Returns the record in a line that was proved whole before.
pub fn proved_record(line: &[u8]) -> Option<StoredRecord<'_>> {
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

/// What a first line claims when it does not prove to be the head we expect.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The session it names, if the line is whole for that session.
    pub session: Option<String>,
    /// The format it names.
    pub format: Option<u64>,
}

/// Returns what a first line claims; nothing in it is proved.
pub fn claim(line: &[u8]) -> Claim {
    let Ok(head) = serde_json::from_slice::<HeadLine>(line) else {
        return Claim::default();
    };
    let whole = split(line).is_some_and(|(body, sum)| checksum(&head.session, body) == sum);
    Claim { session: whole.then_some(head.session), format: Some(head.adjutant_log) }
}

/// Returns whether bytes are the torn beginning of a head: a part of it, or
/// zeros where it should stand.
pub fn is_torn_header(bytes: &[u8]) -> bool {
    const START: &[u8] = b"{\"adjutant_log\":";
    let shared = bytes.len().min(START.len());
    bytes.get(..shared) == START.get(..shared) || bytes.iter().all(|byte| *byte == 0)
}

/// Splits off a number in its only spelling.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at_checked(len)?;
    if digits.len() > 1 && digits.first() == Some(&b'0') {
        return None;
    }
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}
