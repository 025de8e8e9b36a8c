//! Version control by another name: bare repositories, folders that a `.git` file names, hooks kept elsewhere.
//!
//! Reads git's own settings and nothing else; starts no program.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// The most bytes of a settings file of git.
const MAX_BYTES: u64 = 256 * 1024;

/// Returns whether a path lies where git looks for what it runs; `top` is the workspace folder: repositories
/// around it are not its own.
pub(super) fn hold(path: &Path, top: &Path) -> bool {
    let inside = || path.ancestors().skip(1).take_while(|above| above.starts_with(top));
    if inside().any(|folder| is_repository(folder, path)) {
        return true;
    }
    // A work tree may begin above the workspace, and its hooks may lie in it all the same.
    let counts = |place: &PathBuf| path.starts_with(place) && place.starts_with(top) && place != top;
    path.ancestors().skip(1).any(|tree| {
        let Some(git) = directory_of(tree) else { return false };
        let common = common(&git);
        let named = named_by_settings(&common, tree);
        [git, common].iter().chain(&named).any(counts)
    })
}

/// Whether a folder is the inside of a repository, or would be once `path` is there.
fn is_repository(folder: &Path, path: &Path) -> bool {
    let has =
        |name: &str| path.starts_with(folder.join(name)) || folder.join(name).symlink_metadata().is_ok();
    ["HEAD", "objects", "refs"].into_iter().all(has)
}

/// The folder of the repository whose work tree begins here.
fn directory_of(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    let text = text(&git)?;
    let named = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    tree.join(named).canonicalize().ok()
}

/// Several work trees share one folder of settings and hooks.
fn common(git: &Path) -> PathBuf {
    let named = text(&git.join("commondir")).and_then(|text| git.join(text.trim()).canonicalize().ok());
    named.unwrap_or_else(|| git.to_owned())
}

/// The hooks and further settings files that the settings of a repository name.
fn named_by_settings(git: &Path, tree: &Path) -> Vec<PathBuf> {
    let mut named = Vec::new();
    for file in ["config", "config.worktree"] {
        let mut section = String::new();
        for line in text(&git.join(file)).unwrap_or_default().lines() {
            let line = line.trim();
            if let Some(head) = line.strip_prefix('[') {
                section = head.split([' ', ']', '"']).next().unwrap_or_default().to_ascii_lowercase();
            }
            // A value may follow its section on the same line.
            let line = line.rsplit(']').next().unwrap_or(line);
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = value.trim().trim_matches('"');
            let (key, from) = (key.trim().to_ascii_lowercase(), if section == "core" { tree } else { git });
            let counts = matches!(
                (section.as_str(), key.as_str()),
                ("core", "hookspath" | "attributesfile" | "excludesfile") | ("include" | "includeif", "path")
            );
            // `~` is the home, where nothing of a workspace is meant.
            if counts && !value.is_empty() && !value.starts_with('~') {
                named.push(cleaned(&from.join(value)));
            }
        }
    }
    named
}

/// Without `.` and `..`, and with links followed as far as the path exists.
fn cleaned(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    path.components().fold(PathBuf::new(), |mut clean, part| {
        match part {
            std::path::Component::ParentDir => _ = clean.pop(),
            std::path::Component::CurDir => {}
            other => clean.push(other),
        }
        clean
    })
}

/// A regular file's text; nothing waits for a pipe.
fn text(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
