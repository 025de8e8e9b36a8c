//! The environment of approved commands (E1): the user's, without secrets and
//! without what makes programs run something else.
//!
//! Never reads the environment itself: it is handed in. Which names are meant is data (`names`).

mod names;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use adjutant_core::policy::key_shape::holds_key;

use crate::paths::leads_to;

/// Makes the environment of a command from ours; `own_keys` are the names under
/// which our own keys are kept, `roots` the workspace folders.
pub fn child_environment<'a>(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    own_keys: &[String],
    roots: impl IntoIterator<Item = &'a Path>,
) -> Vec<(OsString, OsString)> {
    let roots: Vec<PathBuf> = roots.into_iter().flat_map(spellings).collect();
    let mut kept: Vec<(OsString, OsString)> = ours
        .into_iter()
        .filter(|(name, value)| passes(name, own_keys) && !holds_key(&value.to_string_lossy()))
        .filter(|(name, value)| !leads_into(name, value, &roots))
        .map(|(name, value)| match name == "PATH" {
            true => (name, search_path(&value, &roots)),
            false => (name, value),
        })
        // An empty one would mean the folder that the command runs in.
        .filter(|(name, value)| name != "PATH" || !value.is_empty())
        .filter(|(name, _)| !FIXED.iter().any(|(fixed, _)| name == fixed))
        .collect();
    if !kept.iter().any(|(name, _)| name == "PATH") {
        kept.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
    }
    kept.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
    kept
}

/// Nothing pages, paints or waits for an answer; and git takes no folder of the workspace that looks like
/// the inside of `.git` for a repository, whose settings would name programs for it to run.
const FIXED: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
    ("TERM", "dumb"),
];

fn passes(name: &OsStr, own_keys: &[String]) -> bool {
    let name = name.to_string_lossy();
    let upper = name.to_uppercase();
    !own_keys.iter().any(|own| *own == name)
        && !names::steers(&upper)
        && (names::PLACES.contains(&upper.as_str()) || !names::is_secret(&upper))
}

/// Whether a variable chooses a program of the workspace for a build: one by a path in it, or by one from the
/// folder that a command happens to run in.
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
    programs.into_iter().map(Path::new).any(|path| match path.is_absolute() {
        true => spellings(path).iter().any(|place| roots.iter().any(|root| place.starts_with(root))),
        // Found by its name alone, which `PATH` leads out of the workspace.
        false => path.components().count() > 1,
    })
}

/// The entries outside the workspace: in it the model could leave a program under the name of another,
/// and a relative entry is whatever the present directory holds.
fn search_path(path: &OsStr, roots: &[PathBuf]) -> OsString {
    let entries = path.as_bytes().split(|byte| *byte == b':').filter(|entry| {
        let entry = Path::new(OsStr::from_bytes(entry));
        entry.is_absolute()
            && !spellings(entry).iter().any(|entry| roots.iter().any(|root| entry.starts_with(root)))
    });
    OsString::from_vec(entries.collect::<Vec<_>>().join(&b':'))
}

/// A folder as it is written, without `.` and `..`, and where it leads.
fn spellings(path: &Path) -> Vec<PathBuf> {
    let mut written = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(written.pop()),
            Component::CurDir => {}
            part => written.push(part),
        }
    }
    // What is not there yet may be made: then what counts is how far it is there.
    vec![written, leads_to(path)]
}
