//! The class of a file that is special to write or to read (P3, P5).
//!
//! Never reads a file of the workspace except git's own settings, and never decides a verdict. It returns a class by
//! the resolved names of a path, which are folded so that every spelling is found.

mod own;
mod patterns;
mod repositories;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::LazyLock;

use adjutant_core::policy::observation::FileClass;
use adjutant_core::policy::permission::stricter;
use adjutant_core::text::display::hidden;

use super::paths::ResolvedPath;
pub use own::Own;
pub(super) use own::{FileId, id_of};
use patterns::Patterns;
use table::*;

static RUNS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(RUNS_BY_ITSELF));
static COUNTS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(COUNTS_LATER));
static BUILDS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(RUNS_ON_BUILD));
static SECRETS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(SECRET));

/// Returns the class of a resolved file for a write; none for an ordinary file. Of several classes, the strictest is
/// returned.
pub fn class_of(at: &ResolvedPath, own: &Own) -> Option<FileClass> {
    // A link may give an ordinary file the name of a special one.
    let by_name = at.named.as_ref().and_then(|named| {
        let names = folded(named);
        let depth = at.folder().map_or(0, |folder| names.len().saturating_sub(folded(&folder).len()));
        let first = names.len().saturating_sub(depth + 1);
        let runs = RUNS.find(&names, |_, index| index >= first);
        runs.or_else(|| COUNTS.find(&names, |_, _| true)).or_else(|| BUILDS.find(&names, |_, _| true))
    });
    stricter(class_of_place(at, own), by_name)
}

/// Returns the class by the place that the links of a path lead to.
fn class_of_place(at: &ResolvedPath, own: &Own) -> Option<FileClass> {
    if own.holds(&at.absolute) {
        return Some(FileClass::Own);
    }
    let names = folded(&at.absolute);
    if names.is_empty() {
        return Some(FileClass::WholeSystem);
    }
    // If the workspace itself is in the folder of an agent or a repository, the names above it do not count for those
    // two classes: agents keep whole checkouts in their folders, and work trees are often next to their repository's
    // data.
    let first = if at.inside { names.len().saturating_sub(at.depth() + 1) } else { 0 };
    let counts_above = |class| !matches!(class, FileClass::AgentSettings | FileClass::Repository);
    let runs = RUNS.find(&names, |class, index| index >= first || counts_above(class));
    if runs.is_some() {
        return runs;
    }
    if let Some(top) = at.folder()
        && repositories::is_used_by_git(&at.absolute, &top, own.home())
    {
        return Some(FileClass::Repository);
    }
    // Not if the workspace itself is in such a folder.
    if own.runs_by_name(&at.absolute) && !at.folder().is_some_and(|top| own.runs_by_name(&top)) {
        return Some(FileClass::Programs);
    }
    if at.has_other_names() {
        return Some(FileClass::SecondName);
    }
    COUNTS.find(&names, |_, _| true).or_else(|| BUILDS.find(&names, |_, _| true))
}

/// Returns the class of a resolved file that must not be read without an ask: a likely secret, or Adjutant's own.
pub fn held_by(at: &ResolvedPath, own: &Own) -> Option<FileClass> {
    let by_name = || at.named.as_deref().and_then(secret);
    secret(&at.absolute)
        .or_else(by_name)
        .or_else(|| own.holds_by_any_name(&at.absolute).then_some(FileClass::Own))
}

/// Returns the class of secrets that a file likely has, by its resolved path; none for an ordinary file.
pub(super) fn secret(path: &Path) -> Option<FileClass> {
    let mut names = folded(path);
    let last = names.last()?.clone();
    let is_sample = SAMPLES.iter().any(|end| last.ends_with(end));
    let named = |names: &[String]| {
        // A sample in a folder of secrets counts as a secret.
        SECRETS.find(names, |_, at| !is_sample || at + 1 < names.len())
    };
    if let Some(class) = named(&names) {
        return Some(class);
    }
    if names.first().is_some_and(|name| name == "proc") && OF_A_PROCESS.contains(&last.as_str()) {
        return Some(FileClass::Process);
    }
    // A copy has the content of its original.
    let copy = COPIES.iter().find_map(|end| last.strip_suffix(end)).filter(|name| !name.is_empty())?;
    *names.last_mut()? = copy.to_owned();
    named(&names)
}

/// Returns the names of a path in the form in which the most tolerant file system would compare them: in lower case,
/// without invisible characters, NTFS streams, trailing dots and spaces. A backslash also separates names.
fn folded(path: &Path) -> Vec<String> {
    path.to_string_lossy().split(['/', '\\']).map(fold).filter(|name| !name.is_empty()).collect()
}

fn fold(name: &str) -> String {
    if name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-')) {
        return name.to_owned();
    }
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
