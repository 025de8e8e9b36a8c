//! Notices about a log that is not as it was written.
//!
//! A notice is data that prints as one sentence for the user. Their number is bounded. Never quotes
//! the content of a log.

use std::fmt;
use std::path::PathBuf;

/// The most notices of one log; further ones are only counted.
const LIMIT: usize = 100;

/// One difference between a log and what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The file is empty: the first write was interrupted before it recorded anything.
    Empty,
    /// The last write was interrupted; its bytes were never acknowledged.
    TornTail {
        /// Offset of the first invalid byte.
        at: u64,
        /// The number of invalid bytes.
        len: u64,
    },
    /// The last record was whole once and is now damaged.
    DamagedTail {
        /// Offset of the first invalid byte.
        at: u64,
        /// The number of invalid bytes.
        len: u64,
    },
    /// Bytes before whole records are damaged.
    Damaged {
        /// Offset of the first invalid byte.
        at: u64,
        /// The number of invalid bytes.
        len: u64,
    },
    /// The header of the file is torn, damaged or of another session.
    Header {
        /// The session that the header names, if the header is whole.
        names: Option<String>,
    },
    /// The invalid part of the log, or the whole log, was copied next to it before the repair.
    SavedCopy {
        /// The path of the copy.
        path: PathBuf,
    },
    /// Records are missing.
    Gap {
        /// The last sequence number before the gap.
        after: u64,
        /// The first sequence number after it.
        next: u64,
    },
    /// Two different records have the same number; the first one counts.
    Conflict {
        /// The number.
        seq: u64,
    },
    /// A record was in the file before one with a lower number.
    OutOfOrder {
        /// Its number.
        seq: u64,
    },
    /// A record or epoch has a number that no log reaches.
    ImpossibleSeq {
        /// The number.
        seq: u64,
    },
    /// Records were in the file more than once and count once.
    Copies {
        /// How many copies were skipped.
        records: u64,
    },
    /// Lines end with CRLF, as text tools write them; their content is whole.
    LineEnds {
        /// How many lines.
        lines: u64,
    },
    /// The event of a whole record is not valid JSON text.
    Unreadable {
        /// Its number.
        seq: u64,
    },
    /// Records cannot follow those before them: some are missing before them, or they were forged.
    OutOfPlace {
        /// The number of the first such record.
        seq: u64,
        /// How many such records there are.
        records: u64,
    },
    /// A newer version wrote this log; this version may not show all of it.
    NewerFormat {
        /// The format of the file.
        found: u64,
    },
    /// The log was converted from an older format.
    Migrated {
        /// The format of the file.
        from: u64,
    },
    /// Further notices were left out.
    More {
        /// How many notices.
        count: u64,
    },
}

impl Notice {
    /// Whether records may be lost or wrong.
    pub fn is_damage(&self) -> bool {
        !matches!(
            self,
            Notice::Empty
                | Notice::TornTail { .. }
                | Notice::SavedCopy { .. }
                | Notice::Copies { .. }
                | Notice::LineEnds { .. }
                | Notice::NewerFormat { .. }
                | Notice::Migrated { .. }
        )
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Empty => write!(f, "the log is empty; the session starts again"),
            Notice::TornTail { at, len } => {
                write!(
                    f,
                    "the last write was interrupted; {len} bytes at offset {at} were never acknowledged"
                )
            }
            Notice::DamagedTail { at, len } => {
                write!(f, "the last record is damaged ({len} bytes at offset {at})")
            }
            Notice::Damaged { at, len } => {
                write!(f, "{len} bytes at offset {at} are damaged; the records after them were kept")
            }
            Notice::Header { names: Some(id) } => {
                write!(f, "the header of the log names another session, \"{id}\"")
            }
            Notice::Header { names: None } => write!(f, "the header of the log is damaged"),
            Notice::SavedCopy { path } => {
                write!(f, "a copy of the original bytes is in \"{}\"", path.display())
            }
            Notice::Gap { after, next } => {
                write!(f, "records are missing between number {after} and number {next}")
            }
            Notice::Conflict { seq } => {
                write!(f, "two records have number {seq}; the first one counts")
            }
            Notice::OutOfOrder { seq } => write!(f, "record {seq} was out of order"),
            Notice::ImpossibleSeq { seq } => {
                write!(f, "a record has the impossible number {seq} and was skipped")
            }
            Notice::Copies { records } => {
                write!(f, "{records} duplicate records were skipped")
            }
            Notice::LineEnds { lines } => {
                write!(f, "{lines} lines end with CRLF; their content is whole")
            }
            Notice::Unreadable { seq } => {
                write!(f, "record {seq} has no readable event and was skipped")
            }
            Notice::OutOfPlace { seq, records } => {
                write!(
                    f,
                    "{records} records cannot follow the records before them; the first is number {seq}"
                )
            }
            Notice::NewerFormat { found } => {
                write!(f, "a newer version wrote this log (format {found}); update to continue it")
            }
            Notice::Migrated { from } => {
                write!(f, "the log was converted from format {from}")
            }
            Notice::More { count } => write!(f, "{count} more notices about this log are not shown"),
        }
    }
}

/// A bounded list of notices.
#[derive(Debug, Clone, Default)]
pub struct Notices {
    list: Vec<Notice>,
    left_out: u64,
}

impl Notices {
    /// Adds a notice. If the list is full, only counts it.
    pub fn push(&mut self, notice: Notice) {
        if self.list.len() < LIMIT {
            self.list.push(notice);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the notices; if some were left out, the last entry counts them.
    pub fn into_vec(mut self) -> Vec<Notice> {
        if self.left_out > 0 {
            self.list.push(Notice::More { count: self.left_out });
        }
        self.list
    }
}
