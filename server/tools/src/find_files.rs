//! `find_files`: finds files by name in all workspace folders.
//!
//! Never reads a file and never leaves the workspace folders.

use std::borrow::Cow;
use std::path::Path;

use adjutant_core::tool::{ArgumentType, Effect, MAX_ARGUMENTS, MAX_PATTERN, Parameter, Tool};
use globset::{GlobBuilder, GlobMatcher};

use super::exclusions::{Exclusions, LeftOut};
use super::paths::Roots;
use super::walk::{on_one_line, separate_walks, walk_without};
use super::{Action, BuiltTool, Read, ReadTarget, Stop, ToolOutput, counted, no_check};

/// The most files that the result names.
const MAX_FILES: usize = 500;
/// The most files that are counted; the count shows the user how many match.
const MAX_COUNTED: usize = 10_000;

/// The tool as data, and its action.
pub const FIND_FILES: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("find_files"),
        effect: Effect::Read,
        description: Cow::Borrowed(
            "Find files by name with a glob such as `**/*.rs` or `test_*.py`; a pattern without a slash matches in every directory.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: no_check,
        title: |given| format!("Find {}", given.text("pattern")),
    },
    act: Action::Read(Read {
        target: |given| ReadTarget::Everywhere(given.text("pattern")),
        run: |given, scope| find_files(scope.roots, given.text("pattern"), scope.exclusions, scope.stop),
    }),
};

const PARAMETERS: &[Parameter] = &[Parameter::needed(
    "pattern",
    ArgumentType::Bounded(MAX_PATTERN),
    "Glob; `*` stops at a slash, `**` does not, `{a,b}` and `[ab]` work.",
)];

/// Why the result does not name all files.
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
        matchers
            .iter()
            .any(|(folder, matcher)| below(folder).is_some_and(|relative| matcher.is_match(relative)))
    };
    let mut lines = Vec::new();
    let (mut examined, mut total) = (0_usize, 0_usize);
    let mut cut = None;
    let mut left_out = LeftOut::default();
    'folders: for (folder, walked) in separate_walks(&folders) {
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
            examined += 1;
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
            lines.push(on_one_line(first.unwrap_or(entry.path()).as_os_str()));
        }
    }
    if lines.is_empty() {
        let why =
            if cut.is_some() { "; the time was over before all were seen, use a narrower place" } else { "" };
        let mut text = format!("no file matches \"{pattern}\" among {}{why}", counted(examined, "file"));
        left_out.notes("listed").iter().for_each(|note| text.push_str(&format!("\n{note}")));
        return ToolOutput::done(text, &format!("no file matches {pattern}"));
    }
    let summary = match (cut, total) {
        (None, _) => format!("{} for {pattern}", counted(total, "file")),
        (Some(_), MAX_COUNTED..) => format!("{} of {MAX_COUNTED} files or more for {pattern}", lines.len()),
        (Some(Cut::Number), _) => format!("{} of {total} files for {pattern}", lines.len()),
        (Some(Cut::Time), _) => {
            format!("{} for {pattern}, {}", counted(lines.len(), "file"), Cut::Time.why())
        }
    };
    if let Some(why) = cut {
        let why = why.why();
        lines.push(format!("[stopped at {}: {why}; use a narrower glob]", counted(lines.len(), "file")));
    }
    lines.extend(left_out.notes("listed"));
    ToolOutput::done(lines.join("\n"), &summary)
}

/// Builds the matcher of a glob for paths relative to `folder`; none if the glob is absolute and outside of it.
/// A glob without a slash matches in every directory.
///
/// # Errors
///
/// Returns a message for the model if the glob contains `..` or is malformed.
pub(super) fn matcher(folder: &Path, pattern: &str) -> Result<Option<GlobMatcher>, String> {
    let plain = pattern.trim_start_matches("./");
    if plain.split('/').any(|piece| piece == "..") {
        return Err(format!("the glob \"{pattern}\" holds `..`; globs match below the workspace folder"));
    }
    let relative = if plain.starts_with('/') {
        match Path::new(plain).strip_prefix(folder) {
            Ok(below) => below.to_string_lossy().into_owned(),
            Err(_) => return Ok(None),
        }
    } else if plain.contains('/') {
        plain.to_owned()
    } else {
        format!("**/{plain}")
    };
    match GlobBuilder::new(&relative).literal_separator(true).build() {
        Ok(glob) => Ok(Some(glob.compile_matcher())),
        Err(error) => Err(format!(
            "the glob \"{pattern}\" cannot be read: {}; write globs such as `*.rs` or `src/**/*.{{ts,tsx}}`, with [ ] {{ }} in pairs",
            error.kind()
        )),
    }
}
