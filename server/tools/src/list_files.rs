//! `list_files`: lists one level of one directory.
//!
//! Never goes deeper and never lists more than a bounded number of entries.

use std::borrow::Cow;

use adjutant_core::policy::cause::Cause;
use adjutant_core::tool::{ArgumentType as Takes, Effect, MAX_ARGUMENTS, Parameter, Tool, nearest};

use super::exclusions::{Exclusions, LeftOut};
use super::paths::{PathType, ResolvedPath, Roots};
use super::walk::{on_one_line, walk};
use super::{Action, BuiltTool, Read, ReadTarget, ToolOutput, counted, no_check};

/// The most entries that the result lists.
const MAX_ENTRIES: usize = 1000;
const EMPTY: &str = "[the directory is empty]";
/// The most entries that are counted.
const MAX_COUNTED: usize = 100_000;

/// The tool as data, and its action.
pub const LIST_FILES: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("list_files"),
        effect: Effect::Read,
        description: Cow::Borrowed(
            "List a directory, without what ignore files exclude; directories end with a slash.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: no_check,
        title: |given| format!("List {}", given.text("path")),
    },
    act: Action::Read(Read {
        target: |given| ReadTarget::At(given.text("path")),
        run: |_, scope| match scope.at {
            Some(at) => list_files(at, scope.roots, scope.exclusions),
            None => ToolOutput::without_path(),
        },
    }),
};

const PARAMETERS: &[Parameter] =
    &[Parameter::needed("path", Takes::Path, "Directory; `.` is the workspace folder.")];

/// Lists a resolved directory.
pub fn list_files(at: &ResolvedPath, roots: &Roots, exclusions: &Exclusions) -> ToolOutput {
    match at.kind {
        Some(PathType::Directory) => {}
        Some(_) => {
            let text = format!("\"{}\" is not a directory; use read_file to read a file", at.display);
            return ToolOutput::refused(Cause::NotADirectory, text);
        }
        None => return missing(at, "directory"),
    }
    let total = match std::fs::read_dir(&at.absolute) {
        Ok(entries) => entries.take(MAX_COUNTED).count(),
        Err(error) => {
            return ToolOutput::refused(Cause::Unreadable, format!("list \"{}\": {error}", at.display));
        }
    };
    let (mut lines, listed, left_out) = names(at, exclusions);
    // The names were read by path, so the path must still lead to the directory that was allowed.
    if at.absolute.canonicalize().ok().as_ref() != Some(&at.absolute) {
        let text = format!("\"{}\" was changed while it was listed; try again", at.display);
        return ToolOutput::refused(Cause::Changed, text);
    }
    let notes = notes(at, roots, total.saturating_sub(left_out.denied + left_out.own), listed);
    lines.extend(notes);
    if left_out.denied + left_out.own > 0 {
        lines.retain(|line| line != EMPTY);
    }
    lines.extend(left_out.notes("listed"));
    let names = if listed > MAX_ENTRIES {
        format!("{MAX_ENTRIES} of {listed} names")
    } else {
        counted(listed, "name")
    };
    ToolOutput::done(lines.join("\n"), &format!("{names} in {}", at.display))
}

/// Returns a line for each name, the number of names, and how many are left out.
///
/// A directory ends with a slash; a link shows its target.
fn names(at: &ResolvedPath, exclusions: &Exclusions) -> (Vec<String>, usize, LeftOut) {
    let (mut lines, mut left_out) = (Vec::new(), LeftOut::default());
    let mut listed = 0;
    let entries = walk(&at.absolute, Some(1)).flatten();
    for entry in entries.filter(|entry| entry.depth() == 1).take(MAX_COUNTED) {
        if let Some(why) = exclusions.of_name(entry.path()) {
            left_out.count(why);
            continue;
        }
        listed += 1;
        if listed > MAX_ENTRIES {
            continue;
        }
        let name = on_one_line(entry.file_name());
        let kind = entry.file_type();
        lines.push(if kind.is_some_and(|kind| kind.is_dir()) {
            format!("{name}/")
        } else if kind.is_some_and(|kind| kind.is_symlink()) {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            format!("{name} -> {}", on_one_line(target.as_os_str()))
        } else {
            name
        });
    }
    (lines, listed, left_out)
}

/// Returns notes about what the list does not contain: hidden names, further folders.
fn notes(at: &ResolvedPath, roots: &Roots, total: usize, listed: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if total == 0 {
        notes.push(EMPTY.to_owned());
    }
    if listed > MAX_ENTRIES {
        let more = listed - MAX_ENTRIES;
        notes.push(format!("[{more} more not listed; use find_files with a narrower glob]"));
    }
    let hidden = total.saturating_sub(listed);
    if hidden > 0 {
        notes.push(format!("[{hidden} hidden by ignore files or as version control's own]"));
    }
    if at.root == Some(0) && at.display == "." {
        let others: Vec<String> = roots.paths().skip(1).map(|p| p.display().to_string()).collect();
        if !others.is_empty() {
            notes.push(format!("[further workspace folders: {}]", others.join(", ")));
        }
    }
    notes
}

/// Returns the output for a path that does not exist, with the most similar names in the same directory.
pub(super) fn missing(at: &ResolvedPath, what: &str) -> ToolOutput {
    let mut above = at.absolute.as_path();
    let mut missing_name = None;
    while let Some(parent) = above.parent() {
        missing_name = above.file_name();
        above = parent;
        if above.is_dir() {
            break;
        }
    }
    let missing_name = missing_name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // A call that may not list a directory outside the workspace must not learn its names.
    let names: Vec<String> = match std::fs::read_dir(above) {
        Ok(entries) if at.inside => {
            entries.take(2000).flatten().map(|entry| on_one_line(&entry.file_name())).collect()
        }
        _ => Vec::new(),
    };
    let near: Vec<String> = nearest(&missing_name, names.iter().map(String::as_str))
        .into_iter()
        .take(5)
        .map(|name| format!("\"{name}\""))
        .collect();
    let is_parent = at.absolute.parent() == Some(above);
    let mut text = format!("there is no {what} \"{}\"", at.display);
    if !is_parent {
        text.push_str(&format!("; the directory \"{missing_name}\" on the way does not exist"));
    }
    if near.is_empty() {
        text.push_str("; use find_files to look for it");
    } else {
        text.push_str(&format!("; the nearest names there are {}", near.join(", ")));
    }
    ToolOutput::refused(Cause::Missing, text)
}
