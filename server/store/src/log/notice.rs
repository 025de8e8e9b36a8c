//! What is to be told about a log that is not as it was written. Notices are
//! data first and one sentence for the user second; they are bounded, and
//! never quote what stands in a log.

use std::fmt;
use std::path::PathBuf;

/// Notices kept for one log; the rest is counted.
const LIMIT: usize = 100;

/// One thing about a log that its reader should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The file is empty: a start was cut short before anything was recorded.
    Empty,
    /// The last write was cut short; what it left was never acknowledged.
    TornTail {
        /// Offset of the first invalid byte.
        at: u64,
        /// Their number.
        len: u64,
    },
    /// The last record was whole once and is no longer.
    DamagedTail {
        /// Offset of the first invalid byte.
        at: u64,
        /// Their number.
        len: u64,
    },
    /// Bytes before whole records are not what was written.
    Damaged {
        /// Offset of the first invalid byte.
        at: u64,
        /// Their number.
        len: u64,
    },
    /// The head of the file is torn, damaged or of another session.
    Header {
        /// The session the head names, if it is whole.
        names: Option<String>,
    },
    /// A copy of what was found is kept beside the log.
    Kept {
        /// Where.
        path: PathBuf,
    },
    /// Records are missing.
    Gap {
        /// The last number before the gap.
        after: u64,
        /// The first one after it.
        next: u64,
    },
    /// Two different records have one number; the first one counts.
    Conflict {
        /// The number.
        seq: u64,
    },
    /// A record stood before an earlier one.
    OutOfOrder {
        /// Its number.
        seq: u64,
    },
    /// A record has a number that no log reaches.
    ImpossibleSeq {
        /// The number.
        seq: u64,
    },
    /// Records stood there more than once and count once.
    Copies {
        /// How many copies were passed over.
        records: u64,
    },
    /// Lines end as a text-mode tool writes them; their content is whole.
    LineEnds {
        /// How many.
        lines: u64,
    },
    /// A whole record holds no event.
    Unreadable {
        /// Its number.
        seq: u64,
    },
    /// Facts cannot stand where they stand: others before them are missing, or they were forged.
    OutOfPlace {
        /// The number of the first.
        seq: u64,
        /// How many there are.
        facts: u64,
    },
    /// A newer version wrote this log; it may mean more than is shown.
    NewerFormat {
        /// The format found.
        found: u64,
    },
    /// The log was carried over from an older format.
    Migrated {
        /// The format found.
        from: u64,
    },
    /// Further notices were left out.
    More {
        /// How many.
        count: u64,
    },
}

impl Notice {
    /// Returns whether something that was recorded may be lost or doubtful.
    pub fn is_damage(&self) -> bool {
        !matches!(
            self,
            Notice::Empty
                | Notice::TornTail { .. }
                | Notice::Kept { .. }
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
            Notice::Empty => write!(f, "the log is empty; the session starts anew"),
            Notice::TornTail { at, len } => {
                write!(f, "the last write was cut short; {len} bytes at offset {at} were never acknowledged")
            }
            Notice::DamagedTail { at, len } => {
                write!(f, "the last record is damaged ({len} bytes at offset {at})")
            }
            Notice::Damaged { at, len } => {
                write!(f, "{len} bytes at offset {at} are damaged; what follows was kept")
            }
            Notice::Header { names: Some(id) } => {
                write!(f, "the head of the log names another session, \"{id}\"")
            }
            Notice::Header { names: None } => write!(f, "the head of the log is damaged"),
            Notice::Kept { path } => {
                write!(f, "a copy of what was found is kept in \"{}\"", path.display())
            }
            Notice::Gap { after, next } => {
                write!(f, "records are missing between number {after} and number {next}")
            }
            Notice::Conflict { seq } => {
                write!(f, "two records have number {seq}; the first one counts")
            }
            Notice::OutOfOrder { seq } => write!(f, "record {seq} stood out of order"),
            Notice::ImpossibleSeq { seq } => {
                write!(f, "a record has the impossible number {seq} and was passed over")
            }
            Notice::Copies { records } => {
                write!(f, "{records} copies of records were passed over")
            }
            Notice::LineEnds { lines } => {
                write!(f, "{lines} lines have the line ends of a text tool")
            }
            Notice::Unreadable { seq } => {
                write!(f, "record {seq} holds no event and was passed over")
            }
            Notice::OutOfPlace { seq, facts } => {
                write!(f, "{facts} records cannot follow what stands before them, the first is number {seq}")
            }
            Notice::NewerFormat { found } => {
                write!(f, "a newer version wrote this log (format {found}); update to continue it")
            }
            Notice::Migrated { from } => {
                write!(f, "the log was carried over from format {from}")
            }
            Notice::More { count } => write!(f, "{count} more things about this log are not shown"),
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
    /// Adds a notice, or counts it when the list is full.
    pub fn push(&mut self, notice: Notice) {
        if self.list.len() < LIMIT {
            self.list.push(notice);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the list, its last entry saying how many were left out.
    pub fn into_vec(mut self) -> Vec<Notice> {
        if self.left_out > 0 {
            self.list.push(Notice::More { count: self.left_out });
        }
        self.list
    }
}
