//! The names of a file as deny rules know it, whichever way a disk would spell them.
//!
//! Never looks at the disk: the server's tools find links and other names of a file.

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::text::display::{hidden, unescaped};

/// A path relative to each folder of the workspace, and the whole path.
pub(in crate::config) struct Names {
    /// What patterns without a slash at their start are compared with.
    inside: Vec<String>,
    whole: Vec<String>,
}

impl Names {
    /// Of a path as it is shown: inside the first folder, else whole.
    pub(in crate::config) fn of_path(path: &str, folders: &[String]) -> Self {
        let path = folded(path);
        let path = path.strip_prefix("./").unwrap_or(&path);
        let folders = folders.iter().map(|folder| folded(folder));
        let folders: Vec<String> = folders.map(|folder| folder.trim_end_matches('/').to_owned()).collect();
        let path = match folders.first() {
            // The folder may lie in another one, whose rules bind the file as well.
            Some(first) if !path.starts_with('/') => format!("{first}/{path}"),
            _ => path.to_owned(),
        };
        if !path.starts_with('/') {
            return Self { inside: vec![path], whole: Vec::new() };
        }
        let ways = folders.iter().filter_map(|folder| path.strip_prefix(folder.as_str())?.strip_prefix('/'));
        let mut inside: Vec<String> = ways.map(str::to_owned).collect();
        if inside.is_empty() {
            // Outside of the workspace a pattern may mean a part of any path: a denial errs on the strict side.
            inside.push(path.clone());
        }
        Self { inside, whole: vec![path] }
    }

    /// The names that a pattern is compared with.
    pub(in crate::config) fn of(&self, from_top: bool) -> impl Iterator<Item = &str> {
        let names = if from_top { &self.whole } else { &self.inside };
        names.iter().map(String::as_str)
    }
}

/// Returns a path or pattern as the loosest disk would compare it: composed, in small letters, without
/// invisible characters, with `/` between names.
pub(in crate::config) fn folded(text: &str) -> String {
    // A path is shown with its odd characters escaped; the file is the same.
    let plain = unescaped(text).replace('\\', "/");
    if plain.is_ascii() {
        return plain.to_ascii_lowercase();
    }
    let seen: String = plain.chars().filter(|c| !hidden(*c)).flat_map(char::to_lowercase).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&seen).into_owned()
}
