//! `search_text`: finds lines that match a regular expression. An open document is searched as the editor has it.
//!
//! Never searches binary files or the directories of version control. Never searches a file that looks like a
//! secret, unless the call names that file.

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use adjutant_core::tool::{ArgumentType as Takes, Effect, MAX_ARGUMENTS, MAX_PATTERN, Parameter, Tool};
use globset::GlobMatcher;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::exclusions::{Exclusions, LeftOut};
use super::find_files;
use super::list_files::missing;
use super::paths::{PathType, ResolvedPath, Roots, open_directory, open_read, read_beneath};
use super::walk::{on_one_line, separate_walks, walk_without};
use super::{Action, BuiltTool, Read, ReadTarget, Stop, Stoppable, ToolOutput, counted, no_check, protected};
use crate::documents::{Buffer, Buffers};

/// The most matching lines that the result has.
const MAX_MATCHES: usize = 200;
/// The most bytes that the result has.
const MAX_BYTES: usize = 64 * 1024;
/// The most characters of one line.
const MAX_LINE_CHARS: usize = 400;
/// The most memory for one line of a file, in bytes; a file with a longer line is left out.
const MAX_HEAP: usize = 16 * 1024 * 1024;

/// The tool as data, and its action.
pub const SEARCH_TEXT: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("search_text"),
        effect: Effect::Read,
        description: Cow::Borrowed(
            "Search files line by line with a regular expression, unsaved changes included.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: no_check,
        title: |given| match given.optional("path") {
            Some(path) => format!("Search {} in {path}", given.text("pattern")),
            None => format!("Search {}", given.text("pattern")),
        },
    },
    act: Action::Read(Read {
        target: |given| match given.optional("path") {
            Some(path) => ReadTarget::At(path),
            None => ReadTarget::Everywhere(given.text("pattern")),
        },
        run: |given, scope| {
            let (pattern, glob) = (given.text("pattern"), given.optional("glob"));
            let search = Search { pattern, within: scope.at, glob };
            search_text(&search, scope.roots, scope.buffers, scope.exclusions, scope.stop)
        },
    }),
};

const PARAMETERS: &[Parameter] = &[
    Parameter::needed(
        "pattern",
        Takes::Bounded(MAX_PATTERN),
        "Regular expression in Rust syntax; escape literal ( ) [ ] { } . * + ? | ^ $ with a backslash.",
    ),
    Parameter::optional("path", Takes::Path, "File or directory to search; the whole workspace without it."),
    Parameter::optional(
        "glob",
        Takes::Bounded(MAX_PATTERN),
        "Search only files that match this glob, e.g. `*.rs`; a leading `!` excludes.",
    ),
];

/// The arguments of a search.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    pub pattern: &'a str,
    /// The file or directory to search; all workspace folders if none.
    pub within: Option<&'a ResolvedPath>,
    /// A glob for the paths of files, relative to a workspace folder or `within`; a leading `!` excludes.
    pub glob: Option<&'a str>,
}

/// Returns the matching lines, ordered by path and line.
pub fn search_text(
    search: &Search<'_>,
    roots: &Roots,
    buffers: &Buffers,
    exclusions: &Exclusions,
    stop: &Stop,
) -> ToolOutput {
    match searched(search, roots, buffers, exclusions, stop) {
        Ok(found) => found.output_of(search.pattern, stop),
        Err(output) => *output,
    }
}

/// Returns the matching lines of all workspace folders, ordered by path, each with its path and number, and whether there may be
/// more.
pub(super) fn matching_lines(
    pattern: &str,
    roots: &Roots,
    buffers: &Buffers,
    exclusions: &Exclusions,
    stop: &Stop,
) -> (Vec<MatchedLine>, bool) {
    let search = Search { pattern, within: None, glob: None };
    match searched(&search, roots, buffers, exclusions, stop) {
        Ok(mut found) => {
            found.lines.sort();
            (found.lines, found.full || found.late || stop.reached())
        }
        Err(_) => (Vec::new(), false),
    }
}

fn searched(
    search: &Search<'_>,
    roots: &Roots,
    buffers: &Buffers,
    exclusions: &Exclusions,
    stop: &Stop,
) -> Result<SearchResult, Box<ToolOutput>> {
    let failed = |why: String| Box::new(ToolOutput::failed(why));
    let matcher = matcher(search.pattern).map_err(failed)?;
    let folders = roots.paths().chain(search.within.map(|at| at.absolute.as_path()));
    let filter = search.glob.map(|glob| Filter::new(glob, folders)).transpose().map_err(failed)?;
    let mut work =
        FileSearch { matcher, filter, roots, buffers, exclusions, stop, found: SearchResult::default() };
    match search.within {
        None if roots.is_empty() => {
            return Err(failed(
                "no workspace folder is open, so there is nothing to search; give a path".to_owned(),
            ));
        }
        None => {
            let folders: Vec<&Path> = roots.paths().collect();
            for (folder, walked) in separate_walks(&folders) {
                let index = folders.iter().position(|other| *other == folder);
                if let Some(start) = index.and_then(|index| roots.folder(index)) {
                    work.tree(&start, walked);
                }
            }
        }
        Some(at) => match at.kind {
            Some(PathType::Directory) => work.tree(at, Vec::new()),
            Some(PathType::File) => work.single(at),
            None if buffers.get(&at.absolute).is_some() => work.single(at),
            None => return Err(Box::new(missing(at, "file or directory"))),
            Some(PathType::Special) => {
                return Err(failed(format!("\"{}\" is not a regular file", at.display)));
            }
        },
    }
    Ok(work.found)
}

fn matcher(pattern: &str) -> Result<RegexMatcher, String> {
    // Without the size limits a hostile pattern could use up the memory.
    RegexMatcherBuilder::new()
        .line_terminator(Some(b'\n'))
        .size_limit(8 << 20)
        .dfa_size_limit(8 << 20)
        .build(pattern)
        .map_err(|error| match error.kind() {
            grep_regex::ErrorKind::NotAllowed(_) => format!(
                "the pattern \"{pattern}\" holds a line end, and lines are searched one by one; search for a part that stands on one line"
            ),
            _ => format!(
                "the pattern \"{pattern}\" is not a regular expression: {error}; to find it literally search for `{}`",
                literal(pattern)
            ),
        })
}

/// Escapes a pattern so that it matches itself.
pub(super) fn literal(pattern: &str) -> String {
    pattern.chars().fold(String::new(), |mut out, c| {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            out.push('\\');
        }
        out.push(c);
        out
    })
}

/// The files that a glob selects.
struct Filter {
    /// The folders in which the glob can match, each with its matcher.
    below: Vec<(PathBuf, GlobMatcher)>,
    excludes: bool,
}

impl Filter {
    fn new<'a>(pattern: &str, folders: impl Iterator<Item = &'a Path>) -> Result<Self, String> {
        let (plain, excludes) = match pattern.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        let mut below = Vec::new();
        for folder in folders {
            below.extend(find_files::matcher(folder, plain)?.map(|glob| (folder.to_owned(), glob)));
        }
        Ok(Self { below, excludes })
    }

    fn passes(&self, path: &Path) -> bool {
        let matches = self
            .below
            .iter()
            .any(|(folder, glob)| path.strip_prefix(folder).is_ok_and(|relative| glob.is_match(relative)));
        matches != self.excludes
    }
}

/// The path, the number of the line, which counts from one, and its text.
pub(super) type MatchedLine = (PathBuf, u64, String);

/// The matches so far, and the counts of files that were not searched.
#[derive(Default)]
struct SearchResult {
    lines: Vec<MatchedLine>,
    bytes: usize,
    files: usize,
    secrets: usize,
    left_out: LeftOut,
    unreadable: usize,
    unsynced: Vec<String>,
    full: bool,
    late: bool,
}

impl SearchResult {
    fn output_of(mut self, pattern: &str, stop: &Stop) -> ToolOutput {
        self.lines.sort();
        let mut text: Vec<String> = self
            .lines
            .iter()
            .map(|(path, line, text)| format!("{}:{line}:{text}", on_one_line(path.as_os_str())))
            .collect();
        let mut paths: Vec<&PathBuf> = self.lines.iter().map(|(path, ..)| path).collect();
        paths.dedup();
        let matches = counted(self.lines.len(), "match");
        let summary = if self.lines.is_empty() {
            format!("no match for {pattern}")
        } else if self.full {
            format!("the first {matches} in {}, of more", counted(paths.len(), "file"))
        } else {
            format!("{matches} in {}", counted(paths.len(), "file"))
        };
        let late = self.late || stop.reached();
        let summary = if late { format!("{summary}, not all files searched") } else { summary };
        if self.lines.is_empty() {
            text.push(format!("no match for \"{pattern}\" in {}", counted(self.files, "file")));
        }
        if self.full {
            text.push(format!("[stopped at {matches}; narrow the pattern, the path or the glob]"));
        }
        if late {
            text.push(
                "[the time was over before all files were searched; narrow the path or the glob]".into(),
            );
        }
        if self.secrets > 0 {
            text.push(format!("[not searched: {} that may hold secrets]", counted(self.secrets, "file")));
        }
        text.extend(self.left_out.notes("searched"));
        if self.unreadable > 0 {
            text.push(format!("[not searched: {} that could not be read]", counted(self.unreadable, "file")));
        }
        for name in self.unsynced.iter().take(20) {
            text.push(format!("[not searched: {name}]"));
        }
        ToolOutput::done(text.join("\n"), &summary)
    }
}

/// A search that runs: what to look for, and what was found so far.
struct FileSearch<'a> {
    matcher: RegexMatcher,
    filter: Option<Filter>,
    roots: &'a Roots,
    buffers: &'a Buffers,
    exclusions: &'a Exclusions,
    stop: &'a Stop,
    found: SearchResult,
}

impl FileSearch<'_> {
    /// Searches a directory, except these folders below it.
    fn tree(&mut self, start: &ResolvedPath, walked: Vec<PathBuf>) {
        let Ok(directory) = open_directory(start) else {
            self.found.unreadable += 1;
            return;
        };
        for entry in walk_without(&start.absolute, None, walked.clone(), self.exclusions.folders()).flatten()
        {
            if self.over() {
                return;
            }
            if entry.file_type().is_some_and(|kind| kind.is_file()) && self.selects(entry.path()) {
                self.file(&directory, start, entry.path());
            }
        }
        // A document that was never saved is in no directory.
        for (path, text) in self.buffers.below(&start.absolute) {
            let elsewhere = walked.iter().any(|walked| path.starts_with(walked));
            if !elsewhere && !path.exists() && self.selects(path) {
                self.buffer(path, text.as_ref().map_err(String::as_str));
            }
        }
    }

    /// Searches one file that the call names.
    fn single(&mut self, at: &ResolvedPath) {
        if let Some(text) = self.buffers.get(&at.absolute) {
            self.buffer(&at.absolute, text);
            return;
        }
        match open_read(at) {
            Ok(file) => self.text(&at.absolute, file),
            Err(_) => self.found.unreadable += 1,
        }
    }

    /// Whether the search has to end.
    fn over(&mut self) -> bool {
        self.found.late |= self.stop.reached();
        self.found.full || self.found.late
    }

    /// Whether a file is to be searched; counts it as left out if not.
    fn selects(&mut self, path: &Path) -> bool {
        let passes = self.filter.as_ref().is_none_or(|filter| filter.passes(path));
        if !passes {
            return false;
        }
        if let Some(why) = self.exclusions.of_name(path) {
            self.found.left_out.count(why);
            return false;
        }
        if protected::secret(path).is_some() {
            self.found.secrets += 1;
            return false;
        }
        true
    }

    fn file(&mut self, directory: &OwnedFd, start: &ResolvedPath, path: &Path) {
        if let Some(text) = self.buffers.get(path) {
            if let Some(why) = path.metadata().ok().and_then(|metadata| self.exclusions.of_file(&metadata)) {
                self.found.left_out.count(why);
                return;
            }
            self.buffer(path, text);
            return;
        }
        let Ok(relative) = path.strip_prefix(&start.absolute) else {
            return;
        };
        let Ok(file) = read_beneath(directory.as_fd(), relative) else {
            self.found.unreadable += 1;
            return;
        };
        match file.metadata().ok().and_then(|metadata| self.exclusions.of_file(&metadata)) {
            Some(why) => self.found.left_out.count(why),
            None => self.text(path, file),
        }
    }

    fn buffer(&mut self, path: &Path, text: Result<&Buffer, &str>) {
        match text {
            Ok(buffer) => self.text(path, buffer.text.as_bytes()),
            Err(reason) => {
                let name = on_one_line(self.named(path).as_os_str());
                self.found
                    .unsynced
                    .push(format!("{name} is open in the editor and its text is not known: {reason}"));
            }
        }
    }

    /// Returns a path as the result shows it: relative to the first workspace folder, if it is inside.
    fn named(&self, path: &Path) -> PathBuf {
        let first = self.roots.paths().next();
        let relative = first.and_then(|root| path.strip_prefix(root).ok());
        relative.unwrap_or(path).to_owned()
    }

    fn text(&mut self, path: &Path, source: impl io::Read) {
        self.found.files += 1;
        let name = self.named(path);
        let source = Stoppable::new(source, self.stop);
        let before = (self.found.lines.len(), self.found.bytes);
        let mut lines = MatchingLines { matcher: &self.matcher, name: &name, found: &mut self.found, before };
        let searched = searcher().search_reader(&self.matcher, source, &mut lines);
        if searched.is_err() && !self.stop.reached() {
            self.found.unreadable += 1;
        }
    }
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .heap_limit(Some(MAX_HEAP))
        .binary_detection(BinaryDetection::quit(0))
        .build()
}

/// Collects the matching lines of one file.
struct MatchingLines<'a> {
    matcher: &'a RegexMatcher,
    name: &'a Path,
    found: &'a mut SearchResult,
    /// How many lines, and how many bytes of them, were found before this file.
    before: (usize, usize),
}

impl Sink for MatchingLines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        let text = self.cut(line.bytes());
        let length = self.name.as_os_str().len() + text.len() + 24;
        if self.found.lines.len() == MAX_MATCHES || self.found.bytes + length > MAX_BYTES {
            self.found.full = true;
            return Ok(false);
        }
        self.found.bytes += length;
        self.found.lines.push((self.name.to_owned(), line.line_number().unwrap_or(0), text));
        Ok(true)
    }

    /// Removes the lines of a file that turns out to be binary.
    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        let (lines, bytes) = self.before;
        self.found.lines.truncate(lines);
        self.found.bytes = bytes;
        Ok(false)
    }
}

impl MatchingLines<'_> {
    /// Returns the line, or the part around the match if the line is long.
    fn cut(&self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Decodes only the text near the match: a line may have many megabytes.
        let start = match self.matcher.find(line) {
            Ok(Some(hit)) if hit.start() > MAX_LINE_CHARS / 2 && line.len() > MAX_LINE_CHARS => {
                hit.start() - MAX_LINE_CHARS / 4
            }
            _ => 0,
        };
        let near = line.get(start..line.len().min(start + MAX_LINE_CHARS * 4)).unwrap_or_default();
        let decoded = String::from_utf8_lossy(near);
        let text = if start > 0 { decoded.trim_start_matches('\u{fffd}') } else { &decoded };
        let shown: String = text.chars().take(MAX_LINE_CHARS).collect();
        let more = start + shown.len() < line.len();
        format!("{}{shown}{}", if start > 0 { "…" } else { "" }, if more { "…" } else { "" })
    }
}
