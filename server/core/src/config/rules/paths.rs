//! The names of a file for deny rules, in one form for all spellings that a disk may treat as the same.
//!
//! Never reads the disk; the server's tools find links and other names of a file.

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::text::display::{hidden, unescaped};

/// A path relative to each folder of the workspace, and the whole path.
pub(in crate::config) struct Names {
    /// The names for patterns that do not begin with a slash.
    inside: Vec<String>,
    /// The absolute path, for patterns that begin with a slash.
    whole: Vec<String>,
}

impl Names {
    /// Returns the names of a path that is relative to the first folder, or absolute.
    pub(in crate::config) fn of_path(path: &str, folders: &[String]) -> Self {
        let path = folded(path);
        let path = path.strip_prefix("./").unwrap_or(&path);
        let folders = folders.iter().map(|folder| folded(folder));
        let folders: Vec<String> = folders.map(|folder| folder.trim_end_matches('/').to_owned()).collect();
        let path = match folders.first() {
            // The first folder may be inside another workspace folder, so the file has a name there too.
            Some(first) if !path.starts_with('/') => format!("{first}/{path}"),
            _ => path.to_owned(),
        };
        if !path.starts_with('/') {
            return Self { inside: vec![path], whole: Vec::new() };
        }
        let ways = folders.iter().filter_map(|folder| path.strip_prefix(folder.as_str())?.strip_prefix('/'));
        let mut inside: Vec<String> = ways.map(str::to_owned).collect();
        if inside.is_empty() {
            // Outside the workspace a pattern matches parts of any path: a rule denies too much rather than too little.
            inside.push(path.clone());
        }
        Self { inside, whole: vec![path] }
    }

    /// Returns the names that a pattern is compared with.
    pub(in crate::config) fn of(&self, from_top: bool) -> impl Iterator<Item = &str> {
        let names = if from_top { &self.whole } else { &self.inside };
        names.iter().map(String::as_str)
    }
}

/// Returns a path or pattern in the form in which the most tolerant disk compares it: composed characters,
/// lower case, no invisible characters, `/` as the separator.
pub(in crate::config) fn folded(text: &str) -> String {
    // A displayed path has its odd characters escaped, but it means the same file.
    let plain = unescaped(text).replace('\\', "/");
    if plain.is_ascii() {
        return plain.to_ascii_lowercase();
    }
    let visible: String = plain.chars().filter(|c| !hidden(*c)).flat_map(char::to_lowercase).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&visible).into_owned()
}
