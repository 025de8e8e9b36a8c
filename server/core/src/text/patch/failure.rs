//! Why a patch was not applied, in the words that the model reads.
//!
//! Never only "not found": each text says what to do next.

use std::fmt;

use crate::policy::cause::Cause;
use crate::text::document::MAX_DOCUMENT_BYTES;
use crate::text::locate::Nearest;

/// A patch that is not in the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPatch {
    /// The line of the patch, from one.
    pub line: usize,
    pub why: String,
}

impl fmt::Display for BadPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, why } = self;
        write!(f, "the patch is not in the right form: line {line}: {why}. Nothing was changed")
    }
}

impl std::error::Error for BadPatch {}

/// Why the hunks of one file could not be applied. Hunks are counted from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchFailure {
    /// The file does not have the lines of a hunk.
    Missing {
        hunk: usize,
        nearest: Option<Nearest>,
    },
    /// It has them several times; `lines` are the first places, from one.
    Ambiguous {
        hunk: usize,
        lines: Vec<usize>,
        more: bool,
    },
    /// A hunk that only adds lines has a `@@` line that the file does not have.
    NoHead {
        hunk: usize,
        head: String,
    },
    /// A hunk that only adds lines has a `@@` line that the file has several times.
    ManyHeads {
        hunk: usize,
        lines: Vec<usize>,
        more: bool,
    },
    /// Two hunks change the same lines.
    Overlap {
        hunk: usize,
    },
    /// The file has the new lines of a hunk, and not the old ones.
    AlreadyThere {
        hunk: usize,
        line: usize,
    },
    NoChange,
    TooLarge,
    /// The hunks are not in the form.
    Bad(BadPatch),
}

impl PatchFailure {
    /// Returns the cause for the log.
    pub fn cause(&self) -> Cause {
        match self {
            PatchFailure::Missing { .. } | PatchFailure::NoHead { .. } => Cause::NotFound,
            PatchFailure::Ambiguous { .. } | PatchFailure::ManyHeads { .. } => Cause::Ambiguous,
            PatchFailure::AlreadyThere { .. } | PatchFailure::NoChange => Cause::NothingToChange,
            PatchFailure::TooLarge => Cause::TooLarge,
            PatchFailure::Overlap { .. } | PatchFailure::Bad(_) => Cause::WrongArgument,
        }
    }
}

impl std::error::Error for PatchFailure {}

impl fmt::Display for PatchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatchFailure::Missing { hunk, nearest: None } => write!(
                f,
                "the lines of hunk {hunk} are not in the file, nor anything much like them. Read the file again and \
                 copy its lines exactly."
            ),
            PatchFailure::Missing { hunk, nearest: Some(nearest) } => {
                let line = nearest.line;
                writeln!(f, "the lines of hunk {hunk} are not in the file. The place most like them, on line {line}:")?;
                for (index, text) in nearest.excerpt.split('\n').enumerate() {
                    writeln!(f, "{:>5}| {text}", line + index)?;
                }
                f.write_str("Read the file again there and copy its lines exactly.")
            }
            PatchFailure::Ambiguous { hunk, lines, more } => write!(
                f,
                "the lines of hunk {hunk} are in the file several times: {}. Give more lines around the place you \
                 mean, or name the class or function before it in a `@@` line.",
                listed(lines, *more)
            ),
            PatchFailure::NoHead { hunk, head } => write!(
                f,
                "hunk {hunk} only adds lines, and the file does not have the line \"{head}\" of its `@@`. Give a line \
                 of the file before or after what is added."
            ),
            PatchFailure::ManyHeads { hunk, lines, more } => write!(
                f,
                "hunk {hunk} only adds lines, and the line of its `@@` is in the file several times: {}. Give lines of \
                 the file before or after what is added.",
                listed(lines, *more)
            ),
            PatchFailure::Overlap { hunk } => {
                write!(f, "hunk {hunk} changes lines that another hunk changes. Join the two.")
            }
            PatchFailure::AlreadyThere { hunk, line } => write!(
                f,
                "the old lines of hunk {hunk} are not in the file, but its new lines are, on line {line}: it seems to \
                 have been applied before. Read the file again before the next edit."
            ),
            PatchFailure::NoChange => f.write_str(
                "the hunks change nothing: the new lines are the same as the old ones. Read the file again if you \
                 expected something else there.",
            ),
            PatchFailure::TooLarge => write!(
                f,
                "the patch is too large for the file, or the file would become larger than {} MiB. Change fewer \
                 places in one call.",
                MAX_DOCUMENT_BYTES >> 20
            ),
            PatchFailure::Bad(bad) => bad.fmt(f),
        }
    }
}

fn listed(lines: &[usize], more: bool) -> String {
    let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let and = if more { " and others" } else { "" };
    format!("at lines {}{and}", numbers.join(", "))
}
