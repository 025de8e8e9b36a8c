//! Which files must not be written, or not without asking, or not read unasked (P3, P5).
//!
//! Never looks into a file and never decides a verdict: it names a class and a
//! reason, by resolved names, folded so that no spelling slips through.

mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use adjutant_core::cause::{Cause, Reason};
use adjutant_core::tool::hidden;

use super::paths::Grounded;
use table::*;

/// Why a file is special, as a class and as what fits behind its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    pub cause: Cause,
    pub text: &'static str,
}

impl Why {
    const fn new(cause: Cause, text: &'static str) -> Self {
        Self { cause, text }
    }

    /// The reason for one file.
    pub fn of(self, at: &Grounded) -> Reason {
        Reason::new(self.cause, format!("\"{}\" {}", at.display, self.text))
    }
}

/// How far a write may go without the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteClass {
    /// Nothing special.
    Plain,
    /// Runs on build or install; marked in review (decision 8).
    Marked(Why),
    /// Always asked for.
    Ask(Why),
    /// Never written by a tool.
    Denied(Why),
}

/// How far a read may go without the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadClass {
    Plain,
    /// Likely holds secrets; asked for even inside the workspace.
    Secret(Why),
}

/// Returns how far a write of a grounded file may go without the user; `own` are the directories of
/// our configuration and state.
pub fn write_class(at: &Grounded, own: &[PathBuf]) -> WriteClass {
    let names = folded(&at.absolute);
    if own.iter().any(|directory| names.starts_with(&folded(&resolved(directory)))) {
        return WriteClass::Denied(OWN);
    }
    let Some(last) = names.last() else {
        return WriteClass::Denied(TOP);
    };
    let listed = |table: &[(&[&str], Why)], name: &String| {
        table.iter().find(|(set, _)| set.contains(&name.as_str())).map(|(_, reason)| *reason)
    };
    let ends = |table: &[(&[&str], Why)]| {
        table.iter().find(|(end, _)| ends_with(&names, end)).map(|(_, reason)| *reason)
    };
    // Agents keep whole checkouts in their directories; a folder the user opened
    // there counts from its own name on.
    let above = if at.inside { names.len().saturating_sub(at.depth() + 1) } else { 0 };
    let directory = names.iter().enumerate().find_map(|(index, name)| {
        listed(DENIED_DIRECTORIES, name).filter(|reason| *reason != AGENT || index >= above)
    });
    let denied = directory.or_else(|| listed(DENIED_FILES, last)).or_else(|| ends(DENIED_ENDS));
    if let Some(reason) = denied {
        return WriteClass::Denied(reason);
    }
    if at.has_other_names() {
        return WriteClass::Denied(LINKED);
    }
    if last.ends_with(".code-workspace") {
        return WriteClass::Denied(EDITOR);
    }
    if let Some(reason) = ends(ASK_ENDS) {
        return WriteClass::Ask(reason);
    }
    if let ReadClass::Secret(reason) = read_class(at) {
        return WriteClass::Ask(reason);
    }
    match MARKED.contains(&last.as_str()) {
        true => WriteClass::Marked(BUILD),
        false => WriteClass::Plain,
    }
}

/// Returns whether a grounded file likely holds secrets.
pub fn read_class(at: &Grounded) -> ReadClass {
    match secret(&at.absolute) {
        Some(reason) => ReadClass::Secret(reason),
        None => ReadClass::Plain,
    }
}

/// Returns why a resolved path likely holds secrets, if so.
pub(super) fn secret(path: &Path) -> Option<Why> {
    let names = folded(path);
    let last = names.last()?.as_str();
    if names.iter().any(|name| SECRET_DIRECTORIES.contains(&name.as_str())) {
        return Some(KEYS);
    }
    let sample = [".example", ".sample", ".template", ".dist", ".defaults"];
    if last == ".env" || (last.starts_with(".env.") && !sample.iter().any(|s| last.ends_with(s))) {
        return Some(ENVIRONMENT);
    }
    let account = last.starts_with("service-account") && last.ends_with(".json");
    if account
        || SECRET_FILES.contains(&last)
        || SECRET_ENDINGS.iter().any(|ending| last.ends_with(ending))
        || last.ends_with(".env")
    {
        return Some(KEYS);
    }
    let process = names.first().is_some_and(|name| name == "proc");
    if process && matches!(last, "environ" | "mem" | "maps" | "cmdline" | "kcore") {
        return Some(PROCESS);
    }
    let kept = [[".config", "gcloud", "*"], [".config", "gh", "*"]];
    kept.iter().any(|end| ends_with(&names, end)).then_some(KEYS)
}

/// Whether the names end as the pattern says; `*` at its end stands for one name or more.
fn ends_with(names: &[String], end: &[&str]) -> bool {
    match end.split_last() {
        Some((&"*", before)) => names
            .windows(before.len())
            .take(names.len().saturating_sub(before.len()))
            .any(|window| window.iter().eq(before)),
        _ => names.len() >= end.len() && names.iter().rev().zip(end.iter().rev()).all(|(n, e)| n == e),
    }
}

/// Our own directories may lie behind links and may not exist yet.
fn resolved(directory: &Path) -> PathBuf {
    for ancestor in directory.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), directory.strip_prefix(ancestor)) {
            return real.join(rest);
        }
    }
    directory.to_owned()
}

/// The names of a path as the loosest file system would compare them: lower case,
/// without invisible characters, NTFS streams, trailing dots and blanks; a
/// backslash separates names too.
fn folded(path: &Path) -> Vec<String> {
    path.to_string_lossy().split(['/', '\\']).map(fold).filter(|name| !name.is_empty()).collect()
}

fn fold(name: &str) -> String {
    let plain: String = name
        .chars()
        .filter(|c| !hidden(*c))
        .map(|c| match c {
            // Full-width forms of ASCII, which some file systems fold to it.
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
            'ſ' => 's',
            'ı' | 'İ' => 'i',
            '\u{212a}' => 'k',
            '․' => '.',
            other => other,
        })
        .flat_map(char::to_lowercase)
        .collect();
    let name = plain.split(':').next().unwrap_or_default();
    name.trim_end_matches(['.', ' ']).to_owned()
}
