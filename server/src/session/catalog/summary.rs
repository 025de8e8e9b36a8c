//! The summary beside a log: how it is read, replaced and checked. It is a
//! cache, so it is never synced, and anything odd in it means there is none.

use std::io;
use std::path::Path;

use adjutant_protocol::AskId;
use adjutant_protocol::ask::AskKind;
use serde::{Deserialize, Serialize};

use super::{Condition, EVENTS, LogMark, Place};
use crate::session::log::line::{self, Line, MAX_LINE};
use crate::session::storage::{Open, Storage, read_exact_at, read_whole, replace};

const SUMMARY: &str = "summary.json";
/// A larger summary is not one of ours.
const MAX_SUMMARY: u64 = 256 << 10;
/// More than the head of any log needs.
const HEAD: u64 = 4 << 10;

/// What a list shows of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The first line of its prompt.
    pub title: String,
    /// Its working directories, the first one being the main one.
    pub roots: Vec<String>,
    /// What it is doing, in the words of the protocol.
    pub state: String,
    /// When it was created, in milliseconds since 1970.
    pub created_at: u64,
    /// When it last changed, in milliseconds since 1970.
    pub updated_at: u64,
    /// Its turns.
    pub turns: u64,
    /// Its open asks.
    pub open_asks: u64,
    /// Which they are, so that one is found without reading every log.
    #[serde(default)]
    pub asks: Vec<AskMark>,
    /// The log it was folded from.
    pub log: LogMark,
    /// What is wrong with that log, if something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
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
    /// Says whether it names as many asks as it counts; one of an older version does not.
    pub fn names_its_asks(&self) -> bool {
        self.asks.len() as u64 == self.open_asks
    }
}

/// Returns the summary in a directory, if there is a readable one.
pub fn read(storage: &dyn Storage, dir: &Path) -> Option<Summary> {
    let bytes = read_whole(storage, &dir.join(SUMMARY), MAX_SUMMARY).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Replaces the summary in a directory.
pub fn write(storage: &dyn Storage, dir: &Path, summary: &Summary) -> io::Result<()> {
    replace(storage, &dir.join(SUMMARY), &serde_json::to_vec(summary)?).map(drop)
}

/// Judges a log without a fitting summary by its head alone.
pub fn check_head(storage: &dyn Storage, dir: &Path, session: &str) -> Condition {
    let head = storage.open(&dir.join(EVENTS), Open::Read).and_then(|file| {
        let mut head = vec![0; file.stat()?.len.min(HEAD) as usize];
        read_exact_at(&*file, &mut head, 0)?;
        Ok(head)
    });
    let head = match head {
        Ok(head) => head,
        Err(error) => return Condition::Damaged(format!("the log cannot be read: {error}")),
    };
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = first.strip_suffix(b"\r").unwrap_or(first);
    match line::parse(session, first) {
        Some(Line::Header(_)) => Condition::Stale,
        _ if head.is_empty() => Condition::Damaged("the log is empty".to_owned()),
        _ => Condition::Damaged("the head of the log is damaged".to_owned()),
    }
}

/// Returns how far a log reaches, judged by its last record alone.
pub fn last_mark(place: &Place) -> Option<LogMark> {
    let file = place.storage.open(&place.events(), Open::Read).ok()?;
    let len = file.stat().ok()?.len;
    for window in [64 << 10, 2 * MAX_LINE as u64] {
        let mut bytes = vec![0; len.min(window) as usize];
        let from = len - bytes.len() as u64;
        read_exact_at(&*file, &mut bytes, from).ok()?;
        let mut lines = bytes.split(|byte| *byte == b'\n').rev();
        let last = lines.find_map(|body| match line::parse(&place.session, body) {
            Some(Line::Record(record)) => Some((record.seq, record.sum)),
            _ => None,
        });
        if let Some((last_seq, sum)) = last {
            return Some(LogMark { len, last_seq, sum });
        }
    }
    None
}
