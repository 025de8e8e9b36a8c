//! `list_files`: one level of one directory.
//!
//! Never goes deeper and never lists more than a bounded number of entries.

use std::borrow::Cow;

use adjutant_core::policy::cause::Cause;
use adjutant_core::tool::{ArgumentType as Takes, Effect, MAX_ARGUMENTS, Parameter, Tool, nearest};

use super::exclusions::{Exclusions, LeftOut};
use super::paths::{PathType, ResolvedPath, Roots};
use super::walk::{on_one_line, walk};
use super::{Act, BuiltTool, Read, ReadTarget, ToolOutput, counted, fits};

/// The most entries listed.
const MAX_ENTRIES: usize = 1000;
const EMPTY: &str = "[the directory is empty]";
/// The most entries counted.
const MAX_COUNTED: usize = 100_000;

/// The tool as data, and what it does.
pub const LIST_FILES: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed("list_files"),
        effect: Effect::Read,
        description: Cow::Borrowed(
            "List one directory: its files and its directories (with a trailing slash), leaving out what ignore files exclude.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_ARGUMENTS,
        check: fits,
        title: |given| format!("List {}", given.text("path")),
    },
    act: Act::Read(Read {
        place: |given| ReadTarget::At(given.text("path")),
        run: |_, sight| match sight.at {
            Some(at) => list_files(at, sight.roots, sight.exclusions),
            None => ToolOutput::nowhere(),
        },
    }),
};

const PARAMETERS: &[Parameter] = &[Parameter::needed(
    "path",
    Takes::Path,
    "Directory, relative to the workspace folder or absolute; `.` is the workspace folder.",
)];

/// Lists a grounded directory.
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
    // The names were read by path; that path must still be the directory that was allowed.
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
    let names = match listed > MAX_ENTRIES {
        true => format!("{MAX_ENTRIES} of {listed} names"),
        false => counted(listed, "name"),
    };
    ToolOutput::done(lines.join("\n"), &format!("{names} in {}", at.display))
}

/// Returns the names with their marks, how many there are, and how many are left out.
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

/// Returns what the names do not show.
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

/// Says that nothing is there, and which names nearby are most alike.
pub(super) fn missing(at: &ResolvedPath, what: &str) -> ToolOutput {
    let mut above = at.absolute.as_path();
    let mut wanted = None;
    while let Some(parent) = above.parent() {
        wanted = above.file_name();
        above = parent;
        if above.is_dir() {
            break;
        }
    }
    let wanted = wanted.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Names outside the workspace are not told to a call that was not allowed to list them.
    let names: Vec<String> = match std::fs::read_dir(above) {
        Ok(entries) if at.inside => {
            entries.take(2000).flatten().map(|entry| on_one_line(&entry.file_name())).collect()
        }
        _ => Vec::new(),
    };
    let near: Vec<String> = nearest(&wanted, names.iter().map(String::as_str))
        .into_iter()
        .take(5)
        .map(|name| format!("\"{name}\""))
        .collect();
    let is_parent = at.absolute.parent() == Some(above);
    let mut text = format!("there is no {what} \"{}\"", at.display);
    if !is_parent {
        text.push_str(&format!("; the directory \"{wanted}\" on the way does not exist"));
    }
    if near.is_empty() {
        text.push_str("; use find_files to look for it");
    } else {
        text.push_str(&format!("; the nearest names there are {}", near.join(", ")));
    }
    ToolOutput::refused(Cause::Missing, text)
}
