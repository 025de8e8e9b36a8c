//! Git repositories that are not called `.git`: bare ones, folders that a `.git` file names, hooks in other folders.
//!
//! Never reads anything but git's own settings and `/etc/passwd`, and never starts a program.

use std::fs::File;
use std::io::Read;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;

use rustix::fs::{Mode, OFlags};

use super::fold;
use crate::paths::leads_to;

/// The most bytes to read of a settings file of git.
const MAX_BYTES: u64 = 256 * 1024;
/// The most settings files to read for one repository, or for the user, with included ones.
const MAX_FILES: usize = 16;

/// Whether git may run a file at this path, or read it to decide what to run.
///
/// `top` is the workspace folder; repositories that contain it do not count. `home` is the meaning of `~`.
pub(super) fn is_used_by_git(path: &Path, top: &Path, home: Option<&Path>) -> bool {
    let inside = || path.ancestors().skip(1).take_while(|above| above.starts_with(top));
    if inside().any(|folder| is_repository(folder, path)) {
        return true;
    }
    // A work tree may begin above the workspace and still have its hooks inside.
    let counts = |named: &PathBuf| path.starts_with(named) && named.starts_with(top) && named != top;
    let of_user = of_user(home);
    let in_tree = path.ancestors().skip(1).any(|tree| {
        let Some(git) = directory_of(tree) else { return false };
        let common = common(&git);
        let settings = [common.join("config"), common.join("config.worktree")];
        let mut named = named_by_settings(settings.to_vec(), tree, home);
        named.extend(named_by_settings(of_user.clone(), tree, home));
        [git, common].iter().chain(&named).any(counts)
    });
    // The user's hooks for all repositories may be in a folder outside of any repository.
    in_tree || named_by_settings(of_user, top, home).iter().any(counts)
}

/// Returns the settings files of git for all repositories of the user.
fn of_user(home: Option<&Path>) -> Vec<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let config = config.or_else(|| home.map(|home| home.join(".config")));
    let of_home = home.map(|home| home.join(".gitconfig"));
    [Some("/etc/gitconfig".into()), config.map(|folder| folder.join("git/config")), of_home]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether a folder is the data folder of a repository, or would be one with a file at `path`. A part of one counts
/// too.
fn is_repository(folder: &Path, path: &Path) -> bool {
    // Names are folded: on some disks git finds a file by another spelling.
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let writes = relative.components().next().map(|first| fold(&first.as_os_str().to_string_lossy()));
    let is_written = |name: &str| writes.as_deref() == Some(fold(name).as_str());
    let has = |name: &str| is_written(name) || folder.join(name).symlink_metadata().is_ok();
    let has_settings =
        || is_written("config") && relative.components().count() == 1 || folder.join("config").is_file();
    // With a `commondir`, the objects, refs and settings are in another folder. Folders of source code may be called
    // `objects` and `refs`, so these two alone do not count.
    let names_another = has("HEAD") && has("commondir");
    names_another || has("objects") && has("refs") && (has("HEAD") || has("hooks") || has_settings())
}

/// Returns the data folder of the repository whose work tree begins here.
fn directory_of(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    let text = text(&git)?;
    let named = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    tree.join(named).canonicalize().ok()
}

/// Returns the folder of settings and hooks, which several work trees may share.
fn common(git: &Path) -> PathBuf {
    let named = text(&git.join("commondir")).and_then(|text| git.join(text.trim()).canonicalize().ok());
    named.unwrap_or_else(|| git.to_owned())
}

/// Returns the hook folders and files that git's settings name; included settings files are read too.
fn named_by_settings(mut files: Vec<PathBuf>, tree: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut named = Vec::new();
    let mut next = 0;
    while next < files.len().min(MAX_FILES) {
        let file = files[next].clone();
        next += 1;
        for (section, key, value) in entries(&text(&file).unwrap_or_default()) {
            let is_include = match (section.as_str(), key.as_str()) {
                ("core", "hookspath" | "attributesfile" | "excludesfile") => false,
                ("include" | "includeif", "path") => true,
                _ => continue,
            };
            if value.is_empty() {
                continue;
            }
            let from = if is_include { file.parent().unwrap_or(tree) } else { tree };
            let Some(value) = without_tilde(&value, home) else { continue };
            let target = leads_to(&from.join(value));
            if is_include && !files.contains(&target) {
                files.push(target.clone());
            }
            named.push(target);
        }
    }
    named
}

/// Replaces `~` or `~user` at the start of a path; none if that home is unknown.
fn without_tilde(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    let Some(rest) = path.strip_prefix('~') else { return Some(path.into()) };
    let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
    if user.is_empty() {
        return Some(home?.join(rest));
    }
    let users = text(Path::new("/etc/passwd"))?;
    let mut folder =
        users.lines().filter_map(|line| line.strip_prefix(user)?.strip_prefix(':')?.split(':').nth(4));
    Some(Path::new(folder.next_back()?).join(rest))
}

/// Returns the sections, keys and values of a settings file, as git reads it. Sections and keys are in lower case.
fn entries(text: &str) -> Vec<(String, String, String)> {
    let text = text.replace("\r\n", "\n");
    let mut chars = text.chars().peekable();
    let (mut found, mut section) = (Vec::new(), String::new());
    while let Some(first) = chars.next() {
        match first {
            '#' | ';' => while chars.next_if(|c| *c != '\n').is_some() {},
            '[' => {
                let (mut head, mut quoted) = (String::new(), false);
                while let Some(c) = chars.next_if(|c| *c != '\n' && (quoted || *c != ']')) {
                    match c {
                        '\\' => _ = chars.next_if(|c| *c != '\n'),
                        '"' => quoted = !quoted,
                        _ => {}
                    }
                    head.push(c);
                }
                let name = head.split([' ', '\t', '"', '.']).next();
                section = name.unwrap_or_default().to_ascii_lowercase();
            }
            first if first.is_ascii_alphanumeric() => {
                let mut key = String::from(first);
                key.extend(std::iter::from_fn(|| chars.next_if(|c| !"=#;\n".contains(*c))));
                if chars.next_if_eq(&'=').is_some() {
                    found.push((section.clone(), key.trim().to_ascii_lowercase(), value(&mut chars)));
                }
            }
            _ => {}
        }
    }
    found
}

/// Reads a value to the end of its line. Quotes may be anywhere in it, and a backslash continues it on the next line.
fn value(chars: &mut Peekable<Chars>) -> String {
    let (mut value, mut end, mut quoted) = (String::new(), 0, false);
    while let Some(c) = chars.next_if(|c| *c != '\n' && (quoted || !['#', ';'].contains(c))) {
        match c {
            '"' => quoted = !quoted,
            '\\' => match chars.next() {
                Some('\n') | None => continue,
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(c) => value.push(c),
            },
            c if c.is_ascii_whitespace() && !quoted => {
                // White space counts only between other characters.
                if end > 0 {
                    value.push(c);
                }
                continue;
            }
            c => value.push(c),
        }
        end = value.len();
    }
    value.truncate(end);
    value
}

/// Returns the text of a regular file, without waiting if it is a pipe.
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
