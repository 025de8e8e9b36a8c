//! Reads the settings of a repository that say how it is stored.
//!
//! Never follows an include, and no other setting has a meaning here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::files;
use crate::unknown::Unknown;

/// The most bytes of a settings file.
const MAX_CONFIG: u64 = 4 << 20;

/// What the settings of a repository say about its storage.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Storage {
    /// Whether it says that it has no work tree.
    pub is_bare: bool,
    /// A work tree in another place than the usual one.
    pub work_tree: Option<PathBuf>,
    /// Whether objects may be missing until git fetches them.
    pub is_partial: bool,
    /// Whether a work tree has settings of its own.
    pub has_worktree_config: bool,
}

/// One setting: its section and key in lower case, joined by a dot, without the part in quotes.
#[derive(Debug, PartialEq, Eq)]
struct Setting {
    name: String,
    /// `None` for a key without `=`, which means true.
    value: Option<Vec<u8>>,
}

impl Setting {
    fn text(&self) -> String {
        self.value.as_deref().map_or_else(String::new, |value| String::from_utf8_lossy(value).to_lowercase())
    }

    fn is_true(&self) -> bool {
        let text = self.text();
        self.value.is_none()
            || matches!(text.as_str(), "true" | "yes" | "on")
            || text.parse::<i64>().is_ok_and(|number| number != 0)
    }
}

/// Reads the settings file at `path`. Returns `Unknown` if it asks for what Adjutant does not support.
pub(crate) fn read(path: &Path) -> Result<Storage, Unknown> {
    let bytes = files::read(path, MAX_CONFIG)?.unwrap_or_default();
    let settings = parse(&bytes).ok_or_else(|| Unknown::damaged(format_args!("{path:?}")))?;
    storage(&settings)
}

fn storage(settings: &[Setting]) -> Result<Storage, Unknown> {
    let mut versions = settings.iter().filter(|setting| setting.name == "core.repositoryformatversion");
    let version = versions.next_back().map_or_else(|| "0".to_owned(), Setting::text);
    if version != "0" && version != "1" {
        return Err(Unknown::because(format!(
            "Adjutant does not read repositories of format version {version:?}"
        )));
    }
    let mut storage = Storage::default();
    for setting in settings {
        match setting.name.as_str() {
            "core.bare" => storage.is_bare = setting.is_true(),
            "core.worktree" => {
                storage.work_tree =
                    setting.value.as_deref().map(|path| PathBuf::from(OsStr::from_bytes(path)));
            }
            "extensions.objectformat" if setting.text() != "sha1" => {
                return Err(Unknown::because("Adjutant does not read SHA-256 repositories"));
            }
            "extensions.refstorage" if setting.text() != "files" => {
                return Err(Unknown::because("Adjutant does not read reftable repositories"));
            }
            "extensions.partialclone" => storage.is_partial = true,
            "remote.promisor" => storage.is_partial |= setting.is_true(),
            "extensions.worktreeconfig" => storage.has_worktree_config = setting.is_true(),
            "extensions.objectformat"
            | "extensions.refstorage"
            | "extensions.noop"
            | "extensions.noop-v1"
            | "extensions.preciousobjects"
            | "extensions.relativeworktrees" => {}
            name if version == "1" && name.starts_with("extensions.") => {
                return Err(Unknown::because(format!("Adjutant does not know the setting {name:?} of git")));
            }
            _ => {}
        }
    }
    Ok(storage)
}

/// Returns the settings of a file, in order; `None` if it breaks the format.
fn parse(bytes: &[u8]) -> Option<Vec<Setting>> {
    let mut settings = Vec::new();
    let mut section = String::new();
    let mut rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    while let Some((&first, after)) = rest.split_first() {
        rest = match first {
            b' ' | b'\t' | b'\r' | b'\n' => after,
            b'#' | b';' => after_line(after),
            b'[' => {
                let (name, after) = header(after)?;
                section = name;
                after
            }
            _ if first.is_ascii_alphabetic() => {
                let length =
                    rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
                let (key, after) = rest.split_at_checked(length)?;
                let name = format!("{section}.{}", String::from_utf8_lossy(key).to_lowercase());
                let blank = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                let after = after.get(blank..)?;
                let (value, after) = match after.first() {
                    Some(b'=') => {
                        let (value, after) = value(after.get(1..)?)?;
                        (Some(value), after)
                    }
                    None | Some(b'\n' | b'\r' | b'#' | b';') => (None, after),
                    Some(_) => return None,
                };
                settings.push(Setting { name, value });
                after
            }
            _ => return None,
        };
    }
    Some(settings)
}

fn after_line(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    bytes.get(end..).unwrap_or_default()
}

/// Reads a header after its `[`. Returns the section without its part in quotes, and what follows the `]`.
fn header(bytes: &[u8]) -> Option<(String, &[u8])> {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let length = bytes.iter().take_while(|byte| name(byte)).count();
    let (section, mut rest) = bytes.split_at_checked(length)?;
    // The old form `[section.part]` has no quotes.
    let section = section.split(|byte| *byte == b'.').next()?;
    let section = String::from_utf8_lossy(section).to_lowercase();
    let mut in_quotes = false;
    while let Some((&first, after)) = rest.split_first() {
        rest = match first {
            b'\n' => return None,
            b'"' => {
                in_quotes = !in_quotes;
                after
            }
            b'\\' if in_quotes => after.get(1..)?,
            b']' if !in_quotes => return Some((section, after)),
            b' ' | b'\t' => after,
            _ if in_quotes => after,
            _ => return None,
        };
    }
    None
}

/// Reads a value after its `=`. Returns it without quotes and comments, and what follows it.
fn value(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let blank = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let mut rest = bytes.get(blank..)?;
    let mut value = Vec::new();
    // The length without blanks that may turn out to be the end of the line.
    let mut length = 0;
    let mut in_quotes = false;
    while let Some((&first, after)) = rest.split_first() {
        rest = match first {
            b'\n' if in_quotes => return None,
            b'\n' => break,
            b'#' | b';' if !in_quotes => {
                rest = after_line(after);
                break;
            }
            b'"' => {
                in_quotes = !in_quotes;
                length = value.len();
                after
            }
            b'\\' => {
                let after =
                    after.strip_prefix(b"\r").filter(|rest| rest.first() == Some(&b'\n')).unwrap_or(after);
                let (&escape, after) = after.split_first()?;
                match escape {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    b'\\' | b'"' => value.push(escape),
                    _ => return None,
                }
                length = value.len();
                after
            }
            _ => {
                value.push(first);
                if in_quotes || !matches!(first, b' ' | b'\t' | b'\r') {
                    length = value.len();
                }
                after
            }
        };
    }
    value.truncate(length);
    (!in_quotes).then_some((value, rest))
}

#[cfg(test)]
mod tests;
