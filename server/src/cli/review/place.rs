//! The places that a user names at a terminal: a file, or a line of it, also of a file that is gone or was moved.
//!
//! Never reads a file.

use std::path::{Path, PathBuf};

use adjutant_protocol::operation::FileOperation;
use adjutant_protocol::review::ReviewHunk;

use crate::cli::folder::Folder;
use crate::cli::page::note;
use crate::uri;

/// A file, or a line of it.
pub struct Place {
    pub uri: String,
    /// From zero.
    pub line: Option<u32>,
}

impl Place {
    /// Reads a place. Prints a note and returns `None` if there is none of that name, or if the name means two.
    pub fn named(folder: &Folder, text: &str, hunks: &[ReviewHunk]) -> Option<Self> {
        let Some(place) = Self::parse(folder, text, hunks) else {
            note(&format!("there is no file \"{text}\""));
            return None;
        };
        let is_number =
            |(name, line): (&str, &str)| line.parse::<u32>().is_ok() && folder.here.join(name).is_file();
        if place.line.is_none() && text.rsplit_once(':').is_some_and(is_number) {
            note(&format!("\"{text}\" is a file, and a line of another file; name the file by {text}:LINE"));
            return None;
        }
        Some(place)
    }

    /// Reads `FILE` or `FILE:LINE`; a file of that whole name comes first. `None` if there is no such file, and none of
    /// `hunks` is about one of that name.
    pub fn parse(folder: &Folder, text: &str, hunks: &[ReviewHunk]) -> Option<Self> {
        let file = |name: &str| {
            let path: PathBuf = folder.here.join(name);
            let path = path.canonicalize().ok().filter(|path| path.is_file())?;
            Some(uri::of_path(&path))
        };
        if let Some(uri) = file(text) {
            return Some(Self { uri, line: None });
        }
        let gone = Self { uri: place_of_name(&folder.here.join(text))?, line: None };
        if hunks.iter().any(|hunk| gone.has(hunk)) {
            return Some(gone);
        }
        let (name, line) = text.rsplit_once(':')?;
        let line = Some(line.parse::<u32>().ok()?.checked_sub(1)?);
        if let Some(uri) = file(name) {
            return Some(Self { uri, line });
        }
        let gone = Self { uri: place_of_name(&folder.here.join(name))?, line };
        hunks.iter().any(|hunk| gone.has(hunk)).then_some(gone)
    }

    pub fn has(&self, hunk: &ReviewHunk) -> bool {
        let to = match &hunk.operation {
            Some(FileOperation::Move { uri, .. }) => Some(uri),
            Some(FileOperation::Delete) | None => None,
        };
        let names = std::iter::once(&hunk.uri).chain(to);
        let mut places = names.filter_map(|uri| place_of_name(&uri::to_path(uri).ok()?));
        // The line first: the place needs the disk.
        self.line.is_none_or(|line| hunk.lines().contains(&line)) && places.any(|place| place == self.uri)
    }
}

/// Returns the URI of the place that a path means; of a file that is gone, by its folder.
fn place_of_name(path: &Path) -> Option<String> {
    let place = match path.canonicalize() {
        Ok(place) => place,
        Err(_) => path.parent()?.canonicalize().ok()?.join(path.file_name()?),
    };
    Some(uri::of_path(&place))
}
