//! `find_files`: files by name, over all workspace folders.
//!
//! Never reads a file and never leaves the workspace folders.

use std::borrow::Cow;
use std::path::Path;

use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, MAX_PATTERN, Parameter, Tool};
use globset::{GlobBuilder, GlobMatcher};

use super::exclusions::{Exclusions, LeftOut};
use super::paths::Roots;
use super::walk::{on_one_line, once, walk_without};
use super::{Act, BuiltTool, Read, ReadTarget, Stop, ToolOutput, counted, fits};

/// The most files named.
const MAX_FILES: usize = 500;
/// The most files counted, so that the user sees how many there are.
const MAX_COUNTED: usize = 10_000;

/// The tool as data, and what it does.
pub const FIND_FILES: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("find_files"),
        effect: Effect::Read,
        description: Cow::Borrowed(
            "Find files by name with a glob such as `**/*.rs` or `test_*.py`; a pattern without a slash matches in every directory.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: fits,
        title: |given| format!("Find {}", given.text("pattern")),
    },
    act: Act::Read(Read {
        place: |given| ReadTarget::Everywhere(given.text("pattern")),
        run: |given, sight| find_files(sight.roots, given.text("pattern"), sight.exclusions, sight.stop),
    }),
};

const PARAMETERS: &[Parameter] = &[Parameter::needed(
    "pattern",
    ArgumentType::Bounded(MAX_PATTERN),
    "Glob; `*` stops at a slash, `**` does not, `{a,b}` and `[ab]` work.",
)];

/// Why not all files are named.
#[derive(Clone, Copy)]
enum Cut {
    Time,
    Number,
}

impl Cut {
    fn why(self) -> &'static str {
        match self {
            Cut::Time => "time is over",
            Cut::Number => "there are more",
        }
    }
}

/// Finds the files whose path below a workspace folder matches a glob.
pub fn find_files(roots: &Roots, pattern: &str, exclusions: &Exclusions, stop: &Stop) -> ToolOutput {
    if roots.is_empty() {
        return ToolOutput::failed("no workspace folder is open, so there is nothing to search");
    }
    let folders: Vec<&Path> = roots.paths().collect();
    let mut matchers = Vec::new();
    for folder in &folders {
        match matcher(folder, pattern) {
            Ok(matcher) => matchers.extend(matcher.map(|matcher| (*folder, matcher))),
            Err(text) => return ToolOutput::failed(text),
        }
    }
    let matches = |path: &Path| {
        let below = |folder| path.strip_prefix(folder).ok();
        matchers.iter().any(|(folder, matcher)| below(folder).is_some_and(|way| matcher.is_match(way)))
    };
    let mut found = Vec::new();
    let (mut seen, mut total) = (0_usize, 0_usize);
    let mut cut = None;
    let mut left_out = LeftOut::default();
    'folders: for (folder, walked) in once(&folders) {
        if matchers.is_empty() {
            break;
        }
        for entry in walk_without(folder, None, walked, exclusions.folders()).flatten() {
            if stop.reached() {
                cut = Some(Cut::Time);
                break 'folders;
            }
            if entry.file_type().is_none_or(|kind| kind.is_dir()) {
                continue;
            }
            seen += 1;
            if !matches(entry.path()) {
                continue;
            }
            if let Some(why) = exclusions.of_name(entry.path()) {
                left_out.count(why);
                continue;
            }
            total += 1;
            if total > MAX_FILES {
                cut = Some(Cut::Number);
                if total == MAX_COUNTED {
                    break 'folders;
                }
                continue;
            }
            let first = folders.first().and_then(|first| entry.path().strip_prefix(first).ok());
            found.push(on_one_line(first.unwrap_or(entry.path()).as_os_str()));
        }
    }
    if found.is_empty() {
        let why =
            if cut.is_some() { "; the time was over before all were seen, use a narrower place" } else { "" };
        let mut text = format!("no file matches \"{pattern}\" among {}{why}", counted(seen, "file"));
        left_out.notes("listed").iter().for_each(|note| text.push_str(&format!("\n{note}")));
        return ToolOutput::done(text, &format!("no file matches {pattern}"));
    }
    let summary = match (cut, total) {
        (None, _) => format!("{} for {pattern}", counted(total, "file")),
        (Some(_), MAX_COUNTED..) => format!("{} of {MAX_COUNTED} files or more for {pattern}", found.len()),
        (Some(Cut::Number), _) => format!("{} of {total} files for {pattern}", found.len()),
        (Some(Cut::Time), _) => {
            format!("{} for {pattern}, {}", counted(found.len(), "file"), Cut::Time.why())
        }
    };
    if let Some(why) = cut {
        let why = why.why();
        found.push(format!("[stopped at {}: {why}; use a narrower glob]", counted(found.len(), "file")));
    }
    found.extend(left_out.notes("listed"));
    ToolOutput::done(found.join("\n"), &summary)
}

/// Builds the matcher of a glob for the ways below one folder; none if the glob is absolute and lies
/// elsewhere. Without a slash it matches in every directory.
pub(super) fn matcher(folder: &Path, pattern: &str) -> Result<Option<GlobMatcher>, String> {
    let plain = pattern.trim_start_matches("./");
    if plain.split('/').any(|piece| piece == "..") {
        return Err(format!("the glob \"{pattern}\" holds `..`; globs match below the workspace folder"));
    }
    let way = if plain.starts_with('/') {
        match Path::new(plain).strip_prefix(folder) {
            Ok(way) => way.to_string_lossy().into_owned(),
            Err(_) => return Ok(None),
        }
    } else if plain.contains('/') {
        plain.to_owned()
    } else {
        format!("**/{plain}")
    };
    match GlobBuilder::new(&way).literal_separator(true).build() {
        Ok(glob) => Ok(Some(glob.compile_matcher())),
        Err(error) => Err(format!(
            "the glob \"{pattern}\" cannot be read: {}; write globs such as `*.rs` or `src/**/*.{{ts,tsx}}`, with [ ] {{ }} in pairs",
            error.kind()
        )),
    }
}
