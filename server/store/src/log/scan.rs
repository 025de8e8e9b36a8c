//! Scans a log from front to back: finds whole lines, orders their records, and notes all damage.
//!
//! Memory is bounded by one line and 32 bytes a record, whatever the file contains. Never changes a
//! file, and never leaves out a record without a notice.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::line::{self, Claim, Header, LogLine, MAX_LINE, MAX_SEQ};
use super::notice::{Notice, Notices};
use crate::storage::{Reader, StoredFile, read_exact_at};

/// A record as it was read; its event is not parsed.
#[derive(Debug, Clone)]
pub struct RecordRaw {
    /// The sequence number; it increases through the log.
    pub seq: u64,
    /// The time of writing, in milliseconds since 1970; it never decides an order.
    pub at_ms: u64,
    /// Whether it is the last record of its batch.
    pub last: bool,
    /// The event, as JSON.
    pub event: Box<RawValue>,
}

/// The position of a whole record line in the file.
#[derive(Debug, Clone, Copy)]
pub struct LineSpan {
    /// Its sequence number.
    pub seq: u64,
    /// The offset of its first byte.
    pub at: u64,
    /// Its length in bytes, without the line end.
    pub len: u32,
    /// Its checksum.
    pub sum: u32,
    /// Whether more records of its batch follow.
    pub more: bool,
}

/// Invalid bytes at the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// The offset at which they begin.
    pub at: u64,
    /// Whether one of their lines has the shape of a record, so it was whole once.
    pub was_whole: bool,
}

/// The result of scanning a file.
#[derive(Default)]
pub struct Scan {
    /// The header, if it is whole and of this session.
    pub header: Option<Header>,
    /// What the first line claims if it is not such a header.
    pub claim: Claim,
    /// The records, in the order of their sequence numbers, each once.
    pub spans: Vec<LineSpan>,
    /// The newest epoch of a writer.
    pub epoch: u64,
    /// Invalid bytes with a whole line after them.
    pub bad: Vec<Range<u64>>,
    /// Invalid bytes with no whole line after them.
    pub tail: Option<Tail>,
    /// The length of the file in bytes.
    pub len: u64,
    /// Whether the file begins with a torn header or with zeros.
    pub torn_header: bool,
    /// Notices about the log.
    pub notices: Notices,
}

impl Scan {
    /// Whether no line of the file is whole.
    pub fn is_blank(&self) -> bool {
        self.header.is_none() && self.spans.is_empty() && self.epoch == 0
    }

    /// Returns the last sequence number, 0 if there is none.
    pub fn last_seq(&self) -> u64 {
        self.spans.last().map_or(0, |span| span.seq)
    }

    /// Returns the checksum of the last record, 0 if there is none.
    pub fn last_sum(&self) -> u32 {
        self.spans.last().map_or(0, |span| span.sum)
    }
}

/// Scans a file as the log of `session`. Blocks.
pub fn scan(file: &Arc<dyn StoredFile>, session: &str) -> io::Result<Scan> {
    let len = file.stat()?.len;
    let mut reader = BufReader::with_capacity(64 << 10, Reader::new(Arc::clone(file), 0, len));
    let mut walk = Walk { session, scan: Scan { len, ..Scan::default() }, crlf: 0 };
    let mut line = Vec::new();
    let mut at = 0;
    loop {
        line.clear();
        let mut read = reader.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let body = line.strip_suffix(b"\n");
        if body.is_none() && read == MAX_LINE {
            read += reader.skip_until(b'\n')?;
        }
        walk.line(at..at + read as u64, body, &line);
        at += read as u64;
    }
    walk.finish();
    Ok(walk.scan)
}

struct Walk<'a> {
    session: &'a str,
    scan: Scan,
    crlf: u64,
}

impl Walk<'_> {
    /// Handles one line; `body` is `None` if the line has no end or is too long.
    fn line(&mut self, range: Range<u64>, body: Option<&[u8]>, all: &[u8]) {
        if range.start == 0 {
            self.scan.torn_header = line::is_torn_header(all);
        }
        let Some(body) = body else {
            self.bad(range, false);
            return;
        };
        if self.whole(range.start, body) {
            return;
        }
        if let Some(body) = body.strip_suffix(b"\r")
            && self.whole(range.start, body)
        {
            self.crlf += 1;
            return;
        }
        if range.start == 0 {
            self.scan.claim = line::claim(body);
        }
        // Bytes without a line end may precede a record: zeros, or the torn beginning of another line.
        let from = last_start(body).unwrap_or(0);
        let salvaged = range.start + from as u64;
        let rest = body.get(from..).unwrap_or_default();
        if from > 0 && line::parse(self.session, rest).is_some() {
            self.bad(range.start..salvaged, false);
            if self.whole(salvaged, rest) {
                return;
            }
        }
        self.bad(range, line::has_shape(body));
    }

    /// Adds a line to the scan if it is whole; returns whether it is.
    fn whole(&mut self, at: u64, body: &[u8]) -> bool {
        match line::parse(self.session, body) {
            Some(LogLine::Header(header)) if at == 0 => self.scan.header = Some(header),
            // A second header, from a file that was joined to itself: its records show this.
            Some(LogLine::Header(_)) => {}
            Some(LogLine::Epoch(epoch)) if epoch < MAX_SEQ => {
                self.scan.epoch = self.scan.epoch.max(epoch);
            }
            Some(LogLine::Record(record)) if (1..MAX_SEQ).contains(&record.seq) => {
                let len = body.len() as u32;
                self.scan.spans.push(LineSpan {
                    seq: record.seq,
                    at,
                    len,
                    sum: record.sum,
                    more: record.more,
                });
            }
            Some(LogLine::Epoch(number) | LogLine::Record(line::StoredRecord { seq: number, .. })) => {
                self.scan.notices.push(Notice::ImpossibleSeq { seq: number });
                return false;
            }
            None => return false,
        }
        self.close_tail(at);
        true
    }

    fn bad(&mut self, range: Range<u64>, was_whole: bool) {
        let tail = self.scan.tail.get_or_insert(Tail { at: range.start, was_whole });
        tail.was_whole |= was_whole;
    }

    /// A whole line follows at `whole_at`, so the invalid bytes before it are damage and not a torn tail.
    fn close_tail(&mut self, whole_at: u64) {
        if let Some(tail) = self.scan.tail.take() {
            self.scan.bad.push(tail.at..whole_at);
        }
    }

    /// Moves the records of an unfinished last batch to the torn tail: a batch counts whole or not at all.
    fn cut_open_batch(&mut self) {
        let scan = &mut self.scan;
        let ends = scan.spans.iter().rposition(|span| !span.more).map_or(0, |last| last + 1);
        let rising = scan.spans.windows(2).all(|pair| pair[0].seq < pair[1].seq);
        if let Some(first) = scan.spans.get(ends).filter(|_| rising).copied() {
            scan.spans.truncate(ends);
            let was_whole = scan.tail.is_some_and(|tail| tail.was_whole);
            scan.tail = Some(Tail { at: first.at, was_whole });
            scan.bad.retain(|bad| bad.start < first.at);
        }
    }

    fn finish(&mut self) {
        self.cut_open_batch();
        let scan = &mut self.scan;
        if scan.len == 0 {
            scan.notices.push(Notice::Empty);
        } else if scan.header.is_none() {
            scan.notices.push(Notice::Header { names: scan.claim.session.clone() });
        }
        for range in &scan.bad {
            scan.notices.push(Notice::Damaged { at: range.start, len: range.end - range.start });
        }
        if let Some(tail) = scan.tail {
            let len = scan.len - tail.at;
            scan.notices.push(if tail.was_whole {
                Notice::DamagedTail { at: tail.at, len }
            } else {
                Notice::TornTail { at: tail.at, len }
            });
        }
        if self.crlf > 0 {
            scan.notices.push(Notice::LineEnds { lines: self.crlf });
        }
        order(&mut scan.spans, &mut scan.notices);
    }
}

/// Sorts records by their numbers and drops copies. Adds a notice for each conflict, gap or record out
/// of order.
fn order(spans: &mut Vec<LineSpan>, notices: &mut Notices) {
    let rising = |pair: &[LineSpan]| pair[0].seq < pair[1].seq;
    if !spans.windows(2).all(rising) {
        spans.sort_by_key(|span| span.seq);
        let mut copies = 0;
        spans.dedup_by(|later, first| {
            if later.seq != first.seq {
                return false;
            }
            if (later.sum, later.len) == (first.sum, first.len) {
                copies += 1;
            } else {
                notices.push(Notice::Conflict { seq: first.seq });
            }
            true
        });
        if copies > 0 {
            notices.push(Notice::Copies { records: copies });
        }
        for pair in spans.windows(2).filter(|pair| pair[1].at < pair[0].at) {
            notices.push(Notice::OutOfOrder { seq: pair[1].seq });
        }
    }
    let mut last = 0;
    for span in spans.iter() {
        if span.seq != last + 1 {
            notices.push(Notice::Gap { after: last, next: span.seq });
        }
        last = span.seq;
    }
}

/// Returns the offset at which the last record line seems to begin.
fn last_start(body: &[u8]) -> Option<usize> {
    const START: &[u8] = b"{\"seq\":";
    body.windows(START.len()).rposition(|window| window == START)
}

/// Reads the bytes of record lines, a window of the file at a time.
pub struct LineReader {
    file: Arc<dyn StoredFile>,
    end: u64,
    at: u64,
    window: Vec<u8>,
}

impl LineReader {
    /// Returns a reader of the lines that a scan of this file has found.
    pub fn new(file: &Arc<dyn StoredFile>, scan: &Scan) -> Self {
        Self { file: Arc::clone(file), end: scan.len, at: 0, window: Vec::new() }
    }

    /// Returns the bytes of one line, without its end.
    pub fn get(&mut self, span: &LineSpan) -> io::Result<&[u8]> {
        let len = span.len as usize;
        let skip = span.at.checked_sub(self.at).map(|skip| skip as usize);
        let inside = skip.filter(|skip| skip + len <= self.window.len());
        let from = match inside {
            Some(from) => from,
            None => {
                let left = self.end.saturating_sub(span.at);
                let wanted = (len.max(256 << 10) as u64).min(left) as usize;
                self.window.resize(wanted, 0);
                self.at = span.at;
                read_exact_at(&*self.file, &mut self.window, span.at)?;
                0
            }
        };
        self.window.get(from..from + len).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Passes all records of a scanned file to `sink`, in order.
pub fn each_record(
    file: &Arc<dyn StoredFile>,
    scan: &mut Scan,
    sink: &mut dyn FnMut(RecordRaw),
) -> io::Result<()> {
    let mut lines = LineReader::new(file, scan);
    for span in &scan.spans {
        let body = lines.get(span)?;
        let Some(record) = line::verified_record(body) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("record {} changed while it was read", span.seq),
            ));
        };
        let event = std::str::from_utf8(record.event).map(str::to_owned).ok();
        match event.and_then(|text| RawValue::from_string(text).ok()) {
            Some(event) => {
                sink(RecordRaw { seq: record.seq, at_ms: record.at_ms, last: !record.more, event })
            }
            None => scan.notices.push(Notice::Unreadable { seq: record.seq }),
        }
    }
    Ok(())
}
