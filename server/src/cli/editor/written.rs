//! The list next to the files of an installed client: its version, and what each file had in it when it was written.
//!
//! Never reads or writes a file: it only says which files Adjutant wrote, and with which bytes.

use std::collections::BTreeMap;

use adjutant_core::digest_parts;

use super::carried::{ClientFile, VERSION};

/// The name of the list.
pub const LIST: &str = "installed-by-adjutant.txt";

/// The words around the version in the first line.
const BEFORE: &str = "Adjutant ";
const AFTER: &str = " wrote these files";

/// The files that Adjutant wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenFiles {
    pub version: String,
    /// The digest of each file, by its path.
    digests: BTreeMap<String, String>,
}

impl WrittenFiles {
    /// Returns the list for files of this version.
    pub fn of(files: &[ClientFile]) -> Self {
        let digests = files.iter().map(|file| (file.path.to_owned(), digest(&file.bytes))).collect();
        Self { version: VERSION.to_owned(), digests }
    }

    /// Whether Adjutant wrote this file with this content.
    pub fn has(&self, path: &str, bytes: &[u8]) -> bool {
        self.digests.get(path).is_some_and(|known| *known == digest(bytes))
    }

    /// Whether Adjutant wrote a file of this name.
    pub fn names(&self, path: &str) -> bool {
        self.digests.contains_key(path)
    }

    /// Whether Adjutant wrote a file below this folder.
    pub fn reaches_into(&self, folder: &str) -> bool {
        let start = format!("{folder}/");
        self.digests.keys().any(|path| path.starts_with(&start))
    }

    /// Returns the list as text, for a person too.
    pub fn text(&self, editor: &str) -> String {
        let lines: String = self.digests.iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect();
        format!(
            "{BEFORE}{}{AFTER}. `adjutant editor {editor}` updates them, and `adjutant editor {editor} --remove` removes them.\n{lines}",
            self.version
        )
    }

    /// Reads the text of a list; returns `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, rest) = text.split_once('\n')?;
        let (version, _) = first.strip_prefix(BEFORE)?.split_once(AFTER)?;
        let file =
            |line: &str| line.split_once("  ").map(|(digest, path)| (path.to_owned(), digest.to_owned()));
        Some(Self { version: version.to_owned(), digests: rest.lines().filter_map(file).collect() })
    }
}

fn digest(bytes: &[u8]) -> String {
    digest_parts(&[bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n27_the_list_tells_written_files_from_changed_and_added_ones() {
        let file = |path, bytes: &'static [u8]| ClientFile { path, bytes: bytes.into() };
        let list = WrittenFiles::of(&[file("lua/a.lua", b"one"), file("two  spaces", b"two")]);
        let read = WrittenFiles::parse(&list.text("nvim"));
        assert_eq!(read.as_ref(), Some(&list));
        assert!(list.has("lua/a.lua", b"one") && list.has("two  spaces", b"two"));
        assert!(!list.has("lua/a.lua", b"changed") && !list.has("lua/b.lua", b"one"));
        assert!(list.reaches_into("lua") && !list.reaches_into("lu") && !list.reaches_into("lua/a.lua"));
        for text in ["", "Adjutant", "Notes of mine\n", "Adjutant 1 wrote\n"] {
            assert_eq!(WrittenFiles::parse(text), None, "{text:?}");
        }
    }
}
