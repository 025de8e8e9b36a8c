//! A patch as the models of OpenAI write it: several files in one text, each created, changed, moved or deleted.
//!
//! ```text
//! *** Begin Patch
//! *** Update File: src/a.rs
//! @@ fn first() {
//!  kept
//! -gone
//! +new
//! *** Add File: src/b.rs
//! +its text
//! *** Delete File: src/c.rs
//! *** End Patch
//! ```
//!
//! Hunks have no line numbers: `place` finds them by their lines. Never reads a file, and never guesses: a line that has no
//! meaning refuses the whole patch.

mod failure;
mod place;
#[cfg(test)]
mod tests;

pub use failure::{BadPatch, PatchFailure};
pub use place::updated;

use crate::tool::MAX_PATH;

/// The most files of one patch: as many as edits of one reply.
pub const MAX_FILES: usize = 64;
/// The most hunks of one file.
pub const MAX_HUNKS: usize = 1_000;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const UPDATE: &str = "*** Update File:";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch<'t> {
    pub path: &'t str,
    pub act: PatchAct<'t>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchAct<'t> {
    /// Creates the file with this text.
    Add {
        text: String,
    },
    Delete,
    /// Changes its lines by these hunks, as the patch has them, and gives it another name.
    Update {
        to: Option<&'t str>,
        hunks: &'t str,
    },
}

/// One group of lines to replace, and where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PatchHunk {
    /// Lines before it, from the outermost, such as the heads of its class and its function.
    heads: Vec<String>,
    old: String,
    new: String,
    /// It ends at the end of the file.
    at_end: bool,
    /// Empty lines at its end that the patch wrote without a space. They may only separate it from what follows.
    loose: usize,
}

impl PatchHunk {
    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }

    /// Removes the empty lines that only separate it from what follows.
    fn trim(&mut self) {
        for _ in 0..std::mem::take(&mut self.loose) {
            for text in [&mut self.old, &mut self.new] {
                if text.ends_with('\n') {
                    text.pop();
                }
            }
        }
    }
}

/// A line with its number, from one.
struct Lines<'t> {
    text: &'t str,
    /// Where the next line begins.
    at: usize,
    number: usize,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        Self { text, at: 0, number: 0 }
    }

    /// Returns the next line without its line end, and leaves it.
    fn peek(&self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        let line = rest.split_inclusive('\n').next()?;
        let line = line.strip_suffix('\n').unwrap_or(line);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    fn next(&mut self) -> Option<&'t str> {
        let line = self.peek()?;
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
        self.number += 1;
        Some(line)
    }

    fn bad(&self, why: impl Into<String>) -> BadPatch {
        BadPatch { line: self.number, why: why.into() }
    }

    /// Returns the next line that is not blank.
    fn next_filled(&mut self) -> Option<&'t str> {
        loop {
            match self.next()? {
                line if line.trim().is_empty() => {}
                line => return Some(line),
            }
        }
    }
}

/// Whether a line is a marker, and not a line of a file.
fn is_marker(line: &str) -> bool {
    line.starts_with("*** ") && line.trim_end() != END_OF_FILE
}

/// Parses a patch. Each line of it has a meaning, or the patch is refused.
pub fn parse(input: &str) -> Result<Vec<FilePatch<'_>>, BadPatch> {
    let mut lines = Lines::of(input);
    if lines.next_filled().map(str::trim_end) != Some(BEGIN) {
        return Err(lines.bad(format!("a patch begins with the line `{BEGIN}`")));
    }
    let mut files = Vec::new();
    loop {
        let Some(line) = lines.next_filled() else {
            return Err(lines.bad(format!("it has no line `{END}`, so it may be cut off")));
        };
        if line.trim_end() == END {
            break;
        }
        if files.len() == MAX_FILES {
            return Err(lines.bad(format!("it has more than {MAX_FILES} files; make several calls")));
        }
        files.push(file(&mut lines, line)?);
    }
    if lines.next_filled().is_some() {
        return Err(lines.bad(format!("a line follows `{END}`")));
    }
    if files.is_empty() {
        return Err(lines.bad("it names no file"));
    }
    Ok(files)
}

/// Parses the part about one file, whose first line is `head`.
fn file<'t>(lines: &mut Lines<'t>, head: &'t str) -> Result<FilePatch<'t>, BadPatch> {
    if let Some(path) = head.strip_prefix(ADD) {
        let path = named(lines, path)?;
        return Ok(FilePatch { path, act: PatchAct::Add { text: added(lines)? } });
    }
    if let Some(path) = head.strip_prefix(DELETE) {
        return Ok(FilePatch { path: named(lines, path)?, act: PatchAct::Delete });
    }
    let Some(path) = head.strip_prefix(UPDATE) else {
        return Err(lines.bad(format!(
            "`{}` is no line between two files; expected `{UPDATE} PATH`, `{ADD} PATH`, `{DELETE} PATH` or `{END}`",
            excerpt(head)
        )));
    };
    let path = named(lines, path)?;
    let to = match lines.peek().and_then(|line| line.strip_prefix(MOVE)) {
        Some(to) => {
            lines.next();
            Some(named(lines, to)?)
        }
        None => None,
    };
    let (begin, number) = (lines.at, lines.number);
    while lines.peek().is_some_and(|line| !is_marker(line)) {
        lines.next();
    }
    let text = &lines.text[begin..lines.at];
    let mut body = Lines { text, at: 0, number };
    if hunks(&mut body)?.is_empty() && to.is_none() {
        return Err(lines.bad(format!("it changes nothing in \"{}\"; give its hunks", excerpt(path))));
    }
    Ok(FilePatch { path, act: PatchAct::Update { to, hunks: text } })
}

/// Returns the path of a marker.
fn named<'t>(lines: &Lines<'t>, path: &'t str) -> Result<&'t str, BadPatch> {
    let path = path.trim();
    if path.is_empty() {
        return Err(lines.bad("the path is missing"));
    }
    if path.len() > MAX_PATH {
        return Err(lines.bad(format!("the path has more than {MAX_PATH} bytes")));
    }
    if path.contains(char::is_control) {
        return Err(lines.bad("the path holds a control character"));
    }
    Ok(path)
}

/// Returns the text of a new file.
fn added(lines: &mut Lines<'_>) -> Result<String, BadPatch> {
    let (mut text, mut blank) = (String::new(), false);
    while let Some(line) = lines.peek().filter(|line| !is_marker(line)) {
        lines.next();
        match line.strip_prefix('+') {
            Some(line) if !blank => {
                text.push_str(line);
                text.push('\n');
            }
            // Models put an empty line between two files.
            None if line.trim().is_empty() => blank = true,
            // Some models end a new file like a changed one.
            None if line.trim_end() == END_OF_FILE => blank = true,
            _ => {
                let why = "each line of a new file begins with `+`, also an empty one";
                return Err(lines.bad(format!("{why}; this one is `{}`", excerpt(line))));
            }
        }
    }
    Ok(text)
}

/// Parses the hunks of one file.
fn hunks(lines: &mut Lines<'_>) -> Result<Vec<PatchHunk>, BadPatch> {
    let mut all: Vec<PatchHunk> = Vec::new();
    let mut hunk = PatchHunk::default();
    // Whether the last line was a head, so that the next one is inside it.
    let mut in_heads = false;
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("@@") {
            if !in_heads {
                push(&mut all, &mut hunk, lines)?;
                in_heads = true;
            }
            hunk.heads.extend(head_of(head).map(str::to_owned));
            continue;
        }
        if line.trim_end() == END_OF_FILE {
            hunk.trim();
            hunk.at_end = true;
            push(&mut all, &mut hunk, lines)?;
            in_heads = false;
            continue;
        }
        // An empty line of the file whose space the model left out, or one between two parts.
        let blank = line.is_empty();
        if !blank {
            hunk.loose = 0;
        }
        let (is_old, is_new, rest) = match (line.as_bytes().first(), line.get(1..)) {
            (None, _) if hunk.is_empty() => continue,
            (None, _) => (true, true, ""),
            (Some(b' '), Some(rest)) => (true, true, rest),
            (Some(b'-'), Some(rest)) => (true, false, rest),
            (Some(b'+'), Some(rest)) => (false, true, rest),
            // As diff programs say that the last line has no line end.
            (Some(b'\\'), _) => continue,
            _ => {
                let why = "each line of a hunk begins with a space, `-` or `+`";
                return Err(lines.bad(format!("{why}; this one is `{}`", excerpt(line))));
            }
        };
        in_heads = false;
        for (has, text) in [(is_old, &mut hunk.old), (is_new, &mut hunk.new)] {
            if has {
                text.push_str(rest);
                text.push('\n');
            }
        }
        hunk.loose += usize::from(blank);
    }
    push(&mut all, &mut hunk, lines)?;
    Ok(all)
}

/// Ends a hunk and begins the next one.
fn push(all: &mut Vec<PatchHunk>, hunk: &mut PatchHunk, lines: &Lines<'_>) -> Result<(), BadPatch> {
    let mut ended = std::mem::take(hunk);
    ended.trim();
    if ended.is_empty() {
        if !ended.heads.is_empty() {
            return Err(lines.bad("a hunk has a `@@` line and no lines after it"));
        }
        return Ok(());
    }
    if all.len() == MAX_HUNKS {
        return Err(lines.bad(format!("a file has more than {MAX_HUNKS} hunks; make several calls")));
    }
    all.push(ended);
    Ok(())
}

/// Returns the line that a `@@` line names, without line numbers of other formats; `None` if it names none.
fn head_of(head: &str) -> Option<&str> {
    let head = head.trim();
    let is_number = |part: &str| part.bytes().all(|c| c.is_ascii_digit() || c == b',') && !part.is_empty();
    let head = match head.split_once(' ') {
        Some((old, rest)) if old.strip_prefix('-').is_some_and(is_number) => {
            let (new, rest) = rest.split_once("@@").unwrap_or((rest, ""));
            if new.trim().strip_prefix('+').is_some_and(is_number) { rest.trim() } else { head }
        }
        _ => head.strip_suffix("@@").unwrap_or(head).trim(),
    };
    (!head.is_empty()).then_some(head)
}

/// Returns the start of a line for a message.
fn excerpt(line: &str) -> String {
    crate::text::display::one_line(line, 80)
}

/// What a patch would do with files, by the names that it gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchedFiles<'t> {
    /// In the order of the patch, with the new names of moved files.
    pub names: Vec<&'t str>,
    /// Whether it deletes or moves one of them.
    pub operates: bool,
}

/// Returns the files of a patch, also of one that is refused later.
pub fn files_of(input: &str) -> PatchedFiles<'_> {
    let mut files = PatchedFiles::default();
    for line in input.lines() {
        for (marker, operates) in [(UPDATE, false), (ADD, false), (DELETE, true), (MOVE, true)] {
            if let Some(name) = line.strip_prefix(marker) {
                files.names.push(name.trim());
                files.operates |= operates;
            }
        }
    }
    files
}
