//! The summary of a log: how it is read, replaced and checked.
//!
//! It is a cache, so it is never synced, and an unreadable summary counts as none.

use std::io;
use std::path::Path;

use adjutant_core::record::AskKind;
use adjutant_protocol::AskId;
use serde::{Deserialize, Serialize};

use super::{Condition, EVENTS, LogMark, LogPlace};
use crate::log::line::{self, LogLine, MAX_LINE};
use crate::storage::{Open, Stat, Storage, read_exact_at, read_whole, replace};
use adjutant_host::scarce;

const SUMMARY: &str = "summary.json";
/// The largest summary; Adjutant writes none that is larger.
const MAX_SUMMARY: u64 = 256 << 10;
/// Bytes that are read for the header of a log; no header is longer.
const HEAD: u64 = 4 << 10;
/// Bytes that are read from the end of a log to find its last line: first few, then more.
const TAILS: [u64; 2] = [4 << 10, 64 << 10];

/// What a list shows of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The first line of its prompt.
    pub title: String,
    /// Its working directories, the main one first.
    pub roots: Vec<String>,
    /// The session that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its state, in the words of the protocol.
    pub state: String,
    /// When it was created, in milliseconds since 1970.
    pub created_at: u64,
    /// When it last changed, in milliseconds since 1970.
    pub updated_at: u64,
    /// When it began to be in this state, in milliseconds since 1970. Missing in summaries of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The number of its turns.
    pub turns: u64,
    /// The number of its open asks.
    pub open_asks: u64,
    /// Its open asks, so that an ask is found without reading every log.
    #[serde(default)]
    pub asks: Vec<AskMark>,
    /// What it asks the user, in one line. Missing in summaries of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// The number of applied hunks that nobody has looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreviewed: u64,
    /// The number of comments on hunks that wait to be sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub comments: u64,
    /// The number of files that are being written, undone or restored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// The number of changes of open documents that were sent and have no outcome. Missing in summaries of older versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unproved: u64,
    /// The number of applied hunks that were undone: their text may come back. Missing in summaries of older versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undone: u64,
    /// The log it was folded from.
    pub log: LogMark,
    /// When the content of that log last changed, in nanoseconds since 1970. The catalog sets it.
    #[serde(default)]
    pub written: Option<u64>,
    /// Whether the log ends in the middle of a line: a write was cut short.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
    /// How that log is damaged, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An open ask as a summary names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskMark {
    /// Its id.
    pub id: AskId,
    /// Its kind.
    pub kind: AskKind,
}

impl Summary {
    /// Whether it names as many asks as it counts. A summary of an older version does not.
    fn names_its_asks(&self) -> bool {
        self.asks.len() as u64 == self.open_asks
    }
}

/// Returns the summary in a directory, if there is a readable one. Fails only if no descriptor is free.
pub fn read(storage: &dyn Storage, dir: &Path) -> io::Result<Option<Summary>> {
    match read_whole(storage, &dir.join(SUMMARY), MAX_SUMMARY) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if scarce::descriptors(&error).is_some() => Err(error),
        Err(_) => Ok(None),
    }
}

/// Replaces the summary in a directory.
pub fn write(storage: &dyn Storage, dir: &Path, summary: &Summary) -> io::Result<()> {
    replace(storage, &dir.join(SUMMARY), &serde_json::to_vec(summary)?).map(drop)
}

/// Whether a summary was made from the log as it is now: the same length, not written since, and its end is
/// whole. Fails only if no descriptor is free. A byte before the last line that changed without a new time is
/// found only when the whole log is read.
pub fn fits(
    known: &Summary,
    (storage, dir, session, log): (&dyn Storage, &Path, &str, &Stat),
) -> io::Result<bool> {
    // A summary of an older version has no time of the log, or does not name its asks.
    let is_current = known.log.len == log.len && known.written == Some(log.written) && known.names_its_asks();
    // A damaged end was already seen when the summary was made.
    let is_known = known.torn || known.damage.is_some();
    Ok(is_current && (is_known || ends_whole(storage, dir, session, log.len)?))
}

/// Whether the last line of a log of `len` bytes is whole. A power loss or a failing disk damages it first,
/// without changing the time of the file. Of a last line of more than 64 KiB, only its line end is checked.
fn ends_whole(storage: &dyn Storage, dir: &Path, session: &str, len: u64) -> io::Result<bool> {
    let read = |window: u64| {
        let file = storage.open(&dir.join(EVENTS), Open::Read)?;
        let mut tail = vec![0; window as usize];
        read_exact_at(&*file, &mut tail, len - window)?;
        Ok(tail)
    };
    for window in TAILS.map(|window| window.min(len)) {
        let tail = match read(window) {
            Ok(tail) => tail,
            Err(error) if scarce::descriptors(&error).is_some() => return Err(error),
            Err(_) => return Ok(false),
        };
        let Some(lines) = tail.strip_suffix(b"\n") else { return Ok(false) };
        let start = lines.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
        if let Some(start) = start.or((window == len).then_some(0)) {
            let last = lines.get(start..).unwrap_or_default();
            let last = last.strip_suffix(b"\r").unwrap_or(last);
            return Ok(line::parse(session, last).is_some());
        }
    }
    Ok(true)
}

/// Returns the condition of a log without a matching summary, judged by its header alone. Fails only if no
/// descriptor is free.
pub fn check_head(storage: &dyn Storage, dir: &Path, session: &str) -> io::Result<Condition> {
    let head = storage.open(&dir.join(EVENTS), Open::Read).and_then(|file| {
        let mut head = vec![0; file.stat()?.len.min(HEAD) as usize];
        read_exact_at(&*file, &mut head, 0)?;
        Ok(head)
    });
    let head = match head {
        Ok(head) => head,
        Err(error) if scarce::descriptors(&error).is_some() => return Err(error),
        Err(error) => return Ok(Condition::Damaged(format!("the log cannot be read: {error}"))),
    };
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = first.strip_suffix(b"\r").unwrap_or(first);
    Ok(match line::parse(session, first) {
        Some(LogLine::Header(_)) => Condition::Stale,
        _ if head.is_empty() => Condition::Damaged("the log is empty".to_owned()),
        _ => Condition::Damaged("the header of the log is damaged".to_owned()),
    })
}

/// Returns the length of a log with the number and checksum of its last record. Reads only the end of the log.
pub fn last_mark(place: &LogPlace) -> Option<LogMark> {
    let file = place.storage.open(&place.events(), Open::Read).ok()?;
    let len = file.stat().ok()?.len;
    for window in [64 << 10, 2 * MAX_LINE as u64] {
        let mut bytes = vec![0; len.min(window) as usize];
        let from = len - bytes.len() as u64;
        read_exact_at(&*file, &mut bytes, from).ok()?;
        let mut lines = bytes.split(|byte| *byte == b'\n').rev();
        let last = lines.find_map(|body| match line::parse(&place.session, body) {
            Some(LogLine::Record(record)) => Some((record.seq, record.sum)),
            _ => None,
        });
        if let Some((last_seq, sum)) = last {
            return Some(LogMark { len, last_seq, sum });
        }
    }
    None
}
