//! The environment of approved commands (E1): the user's environment without secrets, and without variables that
//! make programs run something else.
//!
//! Never reads the environment itself: the caller passes it. The names are data (`names`).

mod names;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use adjutant_core::policy::key_shape::holds_key;

use crate::paths::leads_to;

/// Returns the environment of a command, made from that of this process.
///
/// `own_keys` are the names of the variables that hold Adjutant's API keys, `roots` the workspace folders.
pub fn child_environment<'a>(
    inherited: impl IntoIterator<Item = (OsString, OsString)>,
    own_keys: &[String],
    roots: impl IntoIterator<Item = &'a Path>,
) -> Vec<(OsString, OsString)> {
    let roots: Vec<PathBuf> = roots.into_iter().flat_map(spellings).collect();
    let mut passed: Vec<(OsString, OsString)> = inherited
        .into_iter()
        .filter(|(name, value)| passes(name, own_keys) && !holds_key(&value.to_string_lossy()))
        .filter(|(name, value)| !leads_into(name, value, &roots))
        .map(|(name, value)| {
            let value = if name == "PATH" { search_path(&value, &roots) } else { value };
            (name, value)
        })
        // An empty search path would mean the folder in which the command runs.
        .filter(|(name, value)| name != "PATH" || !value.is_empty())
        .filter(|(name, _)| !FIXED.iter().any(|(fixed, _)| name == fixed))
        .collect();
    if !passed.iter().any(|(name, _)| name == "PATH") {
        passed.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
    }
    passed.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
    passed
}

/// Variables with a fixed value: no program pages, colours its output or waits for an answer.
///
/// Git ignores bare repositories inside the workspace, because their settings could name programs for it to run.
const FIXED: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
    ("TERM", "dumb"),
];

/// Whether a command gets a variable with this name.
fn passes(name: &OsStr, own_keys: &[String]) -> bool {
    let name = name.to_string_lossy();
    let upper = name.to_uppercase();
    !own_keys.iter().any(|own| *own == name)
        && !names::steers(&upper)
        && (names::PLACES.contains(&upper.as_str()) || !names::is_secret(&upper))
}

/// Whether a variable selects a build program in the workspace: by a path inside it, or by a path relative to the
/// folder in which the command runs.
fn leads_into(name: &OsStr, value: &OsStr, roots: &[PathBuf]) -> bool {
    let (upper, value) = (name.to_string_lossy().to_uppercase(), value.to_string_lossy());
    let end = [' ', '\t', '\u{1f}'];
    let programs: Vec<&str> = if upper.ends_with("RUSTFLAGS") {
        value.split("linker=").skip(1).filter_map(|rest| rest.split(end).next()).collect()
    } else if names::is_build_program(&upper) {
        value.split(end).filter(|word| !word.starts_with('-')).collect()
    } else {
        return false;
    };
    programs.into_iter().map(Path::new).any(|path| {
        if path.is_absolute() {
            spellings(path).iter().any(|place| roots.iter().any(|root| place.starts_with(root)))
        } else {
            // A plain name is found by `PATH`, which has no folder of the workspace.
            path.components().count() > 1
        }
    })
}

/// Returns the absolute entries of a search path that are outside the workspace.
///
/// The model could put a program with the name of another into the workspace. A relative entry depends on the current
/// directory.
fn search_path(path: &OsStr, roots: &[PathBuf]) -> OsString {
    let entries = path.as_bytes().split(|byte| *byte == b':').filter(|entry| {
        let entry = Path::new(OsStr::from_bytes(entry));
        entry.is_absolute()
            && !spellings(entry).iter().any(|entry| roots.iter().any(|root| entry.starts_with(root)))
    });
    OsString::from_vec(entries.collect::<Vec<_>>().join(&b':'))
}

/// Returns a path as written, without `.` and `..`, and the path to which its links lead.
fn spellings(path: &Path) -> Vec<PathBuf> {
    let mut written = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(written.pop()),
            Component::CurDir => {}
            part => written.push(part),
        }
    }
    // A path that does not exist yet could be created, so its existing part is resolved.
    vec![written, leads_to(path)]
}
