//! Why an edit was not made, in the words that the model reads.
//!
//! Never only "not found": each text says what to do next.

use std::fmt;

use super::Nearest;
use crate::policy::cause::Cause;
use crate::text::document::MAX_DOCUMENT_BYTES;

/// Why a quoted text does not name exactly one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLocated {
    Empty,
    Ambiguous {
        times: usize,
        /// The lines of the first places, from one.
        lines: Vec<usize>,
        /// There are more than `times` places.
        more: bool,
    },
    Missing {
        nearest: Option<Nearest>,
    },
}

/// Why an edit changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditFailure {
    NotLocated(NotLocated),
    /// The file does not have the old text, but has the new text once.
    AlreadyThere {
        line: usize,
    },
    NoChange,
    TooLarge,
}

impl EditFailure {
    /// Returns the cause for the log.
    pub fn cause(&self) -> Cause {
        match self {
            EditFailure::NotLocated(NotLocated::Ambiguous { .. }) => Cause::Ambiguous,
            EditFailure::NotLocated(NotLocated::Missing { .. }) => Cause::NotFound,
            EditFailure::NotLocated(NotLocated::Empty) => Cause::WrongArgument,
            EditFailure::AlreadyThere { .. } | EditFailure::NoChange => Cause::NothingToChange,
            EditFailure::TooLarge => Cause::TooLarge,
        }
    }
}

impl From<NotLocated> for EditFailure {
    fn from(reason: NotLocated) -> Self {
        EditFailure::NotLocated(reason)
    }
}

impl std::error::Error for NotLocated {}
impl std::error::Error for EditFailure {}

impl fmt::Display for EditFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditFailure::NotLocated(reason) => reason.fmt(f),
            EditFailure::AlreadyThere { line } => write!(
                f,
                "old_text is not in the file, but new_text is, on line {line}: this edit seems to have been made \
                 before. Nothing was changed. Read the file again before the next edit."
            ),
            EditFailure::NoChange => f.write_str(
                "this edit changes nothing: new_text is the same as what it would replace. Read the file again if you \
                 expected something else there.",
            ),
            EditFailure::TooLarge => write!(
                f,
                "the file would become larger than {} MiB. Nothing was changed. Replace fewer places or by less text.",
                MAX_DOCUMENT_BYTES >> 20
            ),
        }
    }
}

impl fmt::Display for NotLocated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotLocated::Empty => f.write_str(
                "old_text is empty. Give the text to be replaced, with enough lines that it occurs once; to make a \
                 new file, write it as a whole.",
            ),
            NotLocated::Ambiguous { times, lines, more } => {
                let least = if *more { "more than " } else { "" };
                let (word, numbers) = listed(lines);
                let first = if *more { ", the first " } else { ", " };
                write!(
                    f,
                    "old_text occurs {least}{times} times{first}on {word} {numbers}. Nothing was changed. Give more \
                     of the lines around the place you mean, so that it occurs once, or set replace_all to change \
                     every one."
                )
            }
            NotLocated::Missing { nearest: None } => f.write_str(
                "old_text is not in the file, nor anything much like it. Nothing was changed. Read the file again \
                 and copy old_text from it exactly.",
            ),
            NotLocated::Missing { nearest: Some(nearest) } => {
                writeln!(f, "old_text is not in the file. The place most like it, on line {}:", nearest.line)?;
                for (index, line) in nearest.excerpt.split('\n').enumerate() {
                    writeln!(f, "{:>5}| {line}", nearest.line + index)?;
                }
                f.write_str("Nothing was changed. Read the file again there and copy old_text from it exactly.")
            }
        }
    }
}

fn listed(lines: &[usize]) -> (&'static str, String) {
    let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
    match numbers.split_last() {
        Some((last, rest)) if !rest.is_empty() => ("lines", format!("{} and {last}", rest.join(", "))),
        _ => ("line", numbers.concat()),
    }
}
