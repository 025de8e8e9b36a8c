//! Which files must not be written, or not without asking, or not read unasked (P3, P5).
//!
//! Never looks into a file of the workspace but git's own settings, and never decides a verdict: it names a class
//! and a reason, by resolved names, folded so that no spelling slips through.

mod own;
mod patterns;
mod repositories;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::LazyLock;

use adjutant_core::cause::{Cause, Reason};
use adjutant_core::display::hidden;

use super::paths::Grounded;
pub use own::Own;
pub(super) use own::{FileId, id_of};
use patterns::Patterns;
use table::*;

static NEVER: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(DENIED));
static ASKS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(ASKED));
static MARKS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(MARKED));
static SECRETS: LazyLock<Patterns> = LazyLock::new(|| Patterns::of(SECRET));

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
    /// Likely holds secrets, or is Adjutant's own; asked for even inside the workspace.
    Secret(Why),
}

/// Returns how far a write of a grounded file may go without the user.
pub fn write_class(at: &Grounded, own: &Own) -> WriteClass {
    if own.holds(&at.absolute) {
        return WriteClass::Denied(OWN);
    }
    let names = folded(&at.absolute);
    if names.is_empty() {
        return WriteClass::Denied(TOP);
    }
    // A folder the user opened inside of an agent's, or of a repository's, counts from its own name on.
    let above = if at.inside { names.len().saturating_sub(at.depth() + 1) } else { 0 };
    let counts = |why: &Why, index: usize| index >= above || ![AGENT, BARE].contains(why);
    if let Some(why) = NEVER.find(&names, counts) {
        return WriteClass::Denied(why);
    }
    if let Some(top) = at.folder()
        && repositories::hold(&at.absolute, &top, own.home())
    {
        return WriteClass::Denied(BARE);
    }
    if own.runs_by_name(&at.absolute) && !at.folder().is_some_and(|top| own.runs_by_name(&top)) {
        return WriteClass::Denied(PROGRAMS);
    }
    if at.has_other_names() {
        return WriteClass::Denied(LINKED);
    }
    if let Some(why) = ASKS.find(&names, |_, _| true) {
        return WriteClass::Ask(why);
    }
    if let Some(why) = secret(&at.absolute) {
        return WriteClass::Ask(why);
    }
    match MARKS.find(&names, |_, _| true) {
        Some(why) => WriteClass::Marked(why),
        None => WriteClass::Plain,
    }
}

/// Returns whether a grounded file likely holds secrets, or is Adjutant's own.
pub fn read_class(at: &Grounded, own: &Own) -> ReadClass {
    match secret(&at.absolute) {
        Some(why) => ReadClass::Secret(why),
        None if own.holds_by_any_name(&at.absolute) => ReadClass::Secret(OWN),
        None => ReadClass::Plain,
    }
}

/// Returns why a resolved path likely holds secrets, if so.
pub(super) fn secret(path: &Path) -> Option<Why> {
    let mut names = folded(path);
    let last = names.last()?.clone();
    let is_sample = SAMPLES.iter().any(|end| last.ends_with(end));
    let named = |names: &[String]| {
        // A sample in a folder of secrets is one all the same.
        SECRETS.find(names, |_, at| !is_sample || at + 1 < names.len())
    };
    if let Some(why) = named(&names) {
        return Some(why);
    }
    let (of_a_process, why) = OF_A_PROCESS;
    if names.first().is_some_and(|name| name == "proc") && of_a_process.contains(&last.as_str()) {
        return Some(why);
    }
    // A copy holds what the file held.
    let copy = COPIES.iter().find_map(|end| last.strip_suffix(end)).filter(|name| !name.is_empty())?;
    *names.last_mut()? = copy.to_owned();
    named(&names)
}

/// The names of a path as the loosest file system would compare them: lower case,
/// without invisible characters, NTFS streams, trailing dots and blanks; a
/// backslash separates names too.
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
