//! `read_file`: returns lines of a text file, with their numbers only if they are asked for (F6). An open document is read as the editor has it.
//!
//! Returns only valid UTF-8. Memory is bounded, however large the file or a line is. Never reads the disk under an open
//! document.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader};

use adjutant_core::policy::cause::Cause;
use adjutant_core::text::freshness::{KnownLines, LineHash};
use adjutant_core::tool::{ArgumentType as Takes, Arguments, Effect, MAX_ARGUMENTS, Parameter, Tool};

use super::list_files::missing;
use super::paths::{OpenRefusal, PathType, ResolvedPath, open_read};
use super::{Action, BuiltTool, Read, ReadTarget, Stop, Stoppable, ToolOutput, counted, no_check};
use crate::documents::Buffers;

/// The most lines that one call returns.
const MAX_LINES: usize = 2000;
/// The most bytes that one call returns.
const MAX_BYTES: usize = 256 * 1024;
/// The most characters of one line.
const MAX_LINE_CHARS: usize = 2000;
/// How many bytes at the start of a file are searched for NUL, the sign of a binary file.
const BINARY_CHECK_BYTES: usize = 8 * 1024;
/// After this many bytes, the lines after the excerpt are no longer counted. Lines before the excerpt are always
/// skipped one by one, until `Stop`.
const MAX_COUNTED: u64 = 64 * 1024 * 1024;

/// The tool as data, and its action.
pub const READ_FILE: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("read_file"),
        effect: Effect::Read,
        description: Cow::Borrowed("Read a text file as it is in the editor, unsaved changes included."),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: no_check,
        title: |given| format!("Read {}", given.text("path")),
    },
    act: Action::Read(Read {
        target: |given| ReadTarget::At(given.text("path")),
        run: |given, scope| match scope.at {
            Some(at) => read_file(at, scope.buffers, LineRange::of(given), scope.stop),
            None => ToolOutput::without_path(),
        },
    }),
};

/// A number of lines, or the number of a line, which counts from one.
const LINES: Takes = Takes::Number(1, u32::MAX as u64);

const PARAMETERS: &[Parameter] = &[
    super::PATH,
    Parameter::optional("offset", LINES, "First line to read, counted from 1."),
    Parameter::optional("limit", LINES, "Number of lines, at most 2000."),
    Parameter::optional("line_numbers", Takes::Flag, "Number the lines."),
];

/// The lines to read: the number of the first, counted from one, and how many.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineRange {
    pub offset: Option<usize>,
    pub limit: Option<usize>,
    /// Whether each line begins with its number. Without, the text is as an edit must quote it.
    pub numbered: bool,
}

impl LineRange {
    fn of(given: &Arguments) -> Self {
        let lines = |name| given.number(name).map(|number| number as usize);
        Self { offset: lines("offset"), limit: lines("limit"), numbered: given.flag("line_numbers") }
    }

    /// Returns the number of the first line, and how many lines at most.
    fn bounds(self) -> (usize, usize) {
        (self.offset.unwrap_or(1).max(1), self.limit.unwrap_or(MAX_LINES).clamp(1, MAX_LINES))
    }
}

/// Reads lines of a text that is in no file now, under this name. The model knows no file by them.
pub fn read_text(name: &str, text: &str, given: &Arguments) -> ToolOutput {
    let range = LineRange::of(given);
    let (first, limit) = range.bounds();
    let output = output_of(name, excerpt(text.as_bytes(), first, limit, range.numbered), first);
    ToolOutput { known: Vec::new(), ..output }
}

/// Reads lines of a resolved file.
pub fn read_file(at: &ResolvedPath, buffers: &Buffers, range: LineRange, stop: &Stop) -> ToolOutput {
    let (first, limit) = range.bounds();
    match buffers.get(&at.absolute) {
        Some(Ok(buffer)) => {
            let excerpt = excerpt(buffer.text.as_bytes(), first, limit, range.numbered);
            return output_of(&at.display, excerpt, first);
        }
        Some(Err(reason)) => {
            let text = format!(
                "read \"{}\": it is open in the editor and its text there is not known ({reason}); work on something else or ask the user to reopen it",
                at.display
            );
            return ToolOutput::refused(Cause::Unreadable, text);
        }
        None => {}
    }
    if at.kind.is_none() {
        return missing(at, "file");
    }
    if at.kind == Some(PathType::Directory) {
        let text = format!("\"{}\" is a directory; use list_files", at.display);
        return ToolOutput::refused(Cause::Directory, text);
    }
    match open_read(at) {
        Ok(file) => {
            let source = BufReader::with_capacity(BINARY_CHECK_BYTES * 8, Stoppable::new(file, stop));
            output_of(&at.display, excerpt(source, first, limit, range.numbered), first)
        }
        Err(OpenRefusal::Missing) => missing(at, "file"),
        Err(why) => ToolOutput::refused(why.cause(), format!("read \"{}\": {why}", at.display)),
    }
}

/// The lines to return, and what is known of the other lines.
struct Excerpt {
    text: String,
    lines: usize,
    /// The number of lines of the file, if it was read to its end.
    total: Option<usize>,
    /// The hashes of the lines; `None` for one that was cut, so that the model does not know it.
    hashes: Vec<Option<LineHash>>,
}

enum Unreadable {
    /// What the bytes are instead of UTF-8 text.
    NotText(String),
    Io(io::Error),
}

fn output_of(name: &str, result: Result<Excerpt, Unreadable>, first: usize) -> ToolOutput {
    let excerpt = match result {
        Ok(excerpt) => excerpt,
        Err(Unreadable::NotText(what)) => {
            return ToolOutput::refused(Cause::NotText, format!("\"{name}\" cannot be read as text: {what}"));
        }
        Err(Unreadable::Io(error)) => {
            return ToolOutput::refused(Cause::Unreadable, format!("read \"{name}\": {error}"));
        }
    };
    let last = first + excerpt.lines.saturating_sub(1);
    let mut text = excerpt.text;
    match excerpt.total {
        Some(0) => text.push_str("[the file is empty]\n"),
        Some(total) if excerpt.lines == 0 => {
            let lines = counted(total, "line");
            let text = format!("\"{name}\" has only {lines}; read from an earlier offset");
            return ToolOutput::refused(Cause::Missing, text);
        }
        Some(total) if total > last => {
            text.push_str(&format!("[lines {first} to {last} of {total}; go on with offset {}]\n", last + 1))
        }
        Some(_) => {}
        None => {
            text.push_str(&format!("[lines {first} to {last} of more; go on with offset {}]\n", last + 1))
        }
    }
    let lines = match excerpt.total {
        Some(total) if total > excerpt.lines => format!("{} of {total} lines", excerpt.lines),
        Some(_) => counted(excerpt.lines, "line"),
        None => format!("{} of many", counted(excerpt.lines, "line")),
    };
    let known = known_lines(&excerpt.hashes, first - 1, excerpt.total);
    ToolOutput { known, ..ToolOutput::done(text, &format!("{lines} of {name}")) }
}

/// Returns the lines that were shown whole, in pieces between those that were cut. `first` is the number of the first, from
/// zero, and `total` how many the file has.
fn known_lines(hashes: &[Option<LineHash>], first: usize, total: Option<usize>) -> Vec<KnownLines> {
    if total == Some(0) {
        return vec![KnownLines { first: 0, to_end: true, hashes: Vec::new() }];
    }
    let mut at = first;
    let mut known = Vec::new();
    for piece in hashes.split(Option::is_none) {
        let lines = KnownLines {
            first: at,
            to_end: total == Some(at + piece.len()),
            hashes: piece.iter().flatten().copied().collect(),
        };
        at += piece.len() + 1;
        known.extend((!lines.hashes.is_empty()).then_some(lines));
    }
    known
}

fn excerpt(
    mut source: impl BufRead,
    first: usize,
    limit: usize,
    is_numbered: bool,
) -> Result<Excerpt, Unreadable> {
    let head = source.fill_buf().map_err(Unreadable::Io)?;
    let head = head.get(..BINARY_CHECK_BYTES.min(head.len())).unwrap_or_default();
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Err(Unreadable::NotText("it is UTF-16, and only UTF-8 is read".into()));
    }
    if head.contains(&0) {
        return Err(Unreadable::NotText("it is a binary file".into()));
    }
    let mut lines = LineSplitter { source, read: 0 };
    let mut out = Excerpt { text: String::new(), lines: 0, total: None, hashes: Vec::new() };
    let mut number = 0;
    loop {
        let is_wanted = number + 1 >= first && out.lines < limit && out.text.len() < MAX_BYTES;
        if out.lines > 0 && !is_wanted && lines.read > MAX_COUNTED {
            return Ok(out);
        }
        let keep = if is_wanted { MAX_LINE_CHARS * 4 } else { 0 };
        let Some(line) = lines.next(keep).map_err(Unreadable::Io)? else {
            break;
        };
        number += 1;
        if !is_wanted {
            continue;
        }
        let text = line_text(&line, number)?;
        let hash = text.is_whole.then(|| LineHash::of(&text.shown));
        let line =
            if is_numbered { format!("{number}\t{}\n", text.shown) } else { format!("{}\n", text.shown) };
        if out.text.len() + line.len() > MAX_BYTES {
            // This line does not fit into `MAX_BYTES`: it and the rest are only counted.
            return Ok(Excerpt { total: lines.count_rest(number)?, ..out });
        }
        out.text.push_str(&line);
        out.hashes.push(hash);
        out.lines += 1;
    }
    out.total = Some(number);
    Ok(out)
}

/// The text of a line as the model sees it.
struct LineText {
    shown: String,
    /// Whether nothing was cut.
    is_whole: bool,
}

/// Returns the text of a line, cut to [`MAX_LINE_CHARS`], without a byte order mark.
fn line_text(line: &FileLine, number: usize) -> Result<LineText, Unreadable> {
    let text = match std::str::from_utf8(&line.start) {
        Ok(text) => text,
        // The cut may fall inside the last character.
        Err(error) if error.error_len().is_none() && line.length > line.start.len() => {
            std::str::from_utf8(line.start.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(error) => {
            let byte = line.start.get(error.valid_up_to()).copied().unwrap_or_default();
            return Err(Unreadable::NotText(format!(
                "line {number} holds the byte 0x{byte:02x}, which is not UTF-8 (an older encoding such as Latin-1, or binary)"
            )));
        }
    };
    let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { text };
    match text.char_indices().nth(MAX_LINE_CHARS) {
        None if line.length == line.start.len() => Ok(LineText { shown: text.to_owned(), is_whole: true }),
        cut => {
            let end = cut.map_or(text.len(), |(end, _)| end);
            let start = text.get(..end).unwrap_or_default();
            let shown = format!("{start}… [cut, the line has {} bytes]", line.length);
            Ok(LineText { shown, is_whole: false })
        }
    }
}

/// One line without its line end: its first bytes and its whole length in bytes.
struct FileLine {
    start: Vec<u8>,
    length: usize,
}

/// Splits bytes at `\n`, `\r\n` and `\r`, as editors do. A line may have any length.
struct LineSplitter<R> {
    source: R,
    read: u64,
}

impl<R: BufRead> LineSplitter<R> {
    /// Returns the next line with at most `keep` of its bytes.
    fn next(&mut self, keep: usize) -> io::Result<Option<FileLine>> {
        let mut line = FileLine { start: Vec::new(), length: 0 };
        let mut any = false;
        loop {
            let piece = self.source.fill_buf()?;
            if piece.is_empty() {
                return Ok(any.then_some(line));
            }
            any = true;
            let end = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let body = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let room = keep.saturating_sub(line.start.len()).min(body.len());
            line.start.extend_from_slice(body.get(..room).unwrap_or_default());
            line.length += body.len();
            let Some(end) = end else {
                let used = piece.len();
                self.advance(used);
                continue;
            };
            let carriage = piece.get(end) == Some(&b'\r');
            self.advance(end + 1);
            if carriage && self.source.fill_buf()?.first() == Some(&b'\n') {
                self.advance(1);
            }
            return Ok(Some(line));
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.source.consume(bytes);
        self.read += bytes as u64;
    }

    /// Counts the remaining lines, starting from `number`; none if there are too many to count.
    fn count_rest(&mut self, mut number: usize) -> Result<Option<usize>, Unreadable> {
        while self.next(0).map_err(Unreadable::Io)?.is_some() {
            number += 1;
            if self.read > MAX_COUNTED {
                return Ok(None);
            }
        }
        Ok(Some(number))
    }
}
