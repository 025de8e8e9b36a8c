//! Version control by another name: bare repositories, folders that a `.git` file names, hooks kept elsewhere.
//!
//! Reads git's own settings and nothing else; starts no program.

use std::fs::File;
use std::io::Read;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;

use rustix::fs::{Mode, OFlags};

use super::fold;
use crate::paths::leads_to;

/// The most bytes of a settings file of git.
const MAX_BYTES: u64 = 256 * 1024;
/// The most settings files that are read for one repository, and for the user; included ones among them.
const MAX_FILES: usize = 16;

/// Returns whether a path lies where git looks for what it runs; `top` is the workspace folder: repositories
/// around it are not its own, and `home` is what `~` means.
pub(super) fn hold(path: &Path, top: &Path, home: Option<&Path>) -> bool {
    let inside = || path.ancestors().skip(1).take_while(|above| above.starts_with(top));
    if inside().any(|folder| is_repository(folder, path)) {
        return true;
    }
    // A work tree may begin above the workspace, and its hooks may lie in it all the same.
    let counts = |place: &PathBuf| path.starts_with(place) && place.starts_with(top) && place != top;
    let of_user = of_user(home);
    let in_tree = path.ancestors().skip(1).any(|tree| {
        let Some(git) = directory_of(tree) else { return false };
        let common = common(&git);
        let settings = [common.join("config"), common.join("config.worktree")];
        let mut named = named_by_settings(settings.to_vec(), tree, home);
        named.extend(named_by_settings(of_user.clone(), tree, home));
        [git, common].iter().chain(&named).any(counts)
    });
    // Hooks of all the user's repositories may lie in a folder that is none.
    in_tree || named_by_settings(of_user, top, home).iter().any(counts)
}

/// The settings of git that hold for all repositories of the user.
fn of_user(home: Option<&Path>) -> Vec<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let config = config.or_else(|| home.map(|home| home.join(".config")));
    let of_home = home.map(|home| home.join(".gitconfig"));
    [Some("/etc/gitconfig".into()), config.map(|folder| folder.join("git/config")), of_home]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether a folder is the inside of a repository, or would be once `path` is there; a half of one counts too.
fn is_repository(folder: &Path, path: &Path) -> bool {
    // What is written may be found by another spelling, where a disk does not tell them apart.
    let way = path.strip_prefix(folder).unwrap_or(path);
    let writes = way.components().next().map(|first| fold(&first.as_os_str().to_string_lossy()));
    let is_written = |name: &str| writes.as_deref() == Some(fold(name).as_str());
    let has = |name: &str| is_written(name) || folder.join(name).symlink_metadata().is_ok();
    let has_settings =
        || is_written("config") && way.components().count() == 1 || folder.join("config").is_file();
    // Objects, refs and settings may be in the folder that a `commondir` names. Sources may be called `objects`
    // and `refs`.
    let names_another = has("HEAD") && has("commondir");
    names_another || has("objects") && has("refs") && (has("HEAD") || has("hooks") || has_settings())
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

/// The hooks and further settings files that settings of git name, and those that these name.
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
            let place = leads_to(&from.join(value));
            if is_include && !files.contains(&place) {
                files.push(place.clone());
            }
            named.push(place);
        }
    }
    named
}

/// A path with the home it begins with, which may be that of another user; none where that is not known.
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

/// The sections, keys (both in small letters) and values of a settings file, as git reads it.
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

/// A value up to the end of its line: quotes anywhere in it, and a backslash may end a line that goes on.
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
                // Blanks count between other characters alone.
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
