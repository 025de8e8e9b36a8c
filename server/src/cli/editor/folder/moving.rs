//! Empties the folder of an earlier version: Adjutant's files are removed, the user's move to the new folder.
//!
//! Never follows a link, and never overwrites: a file whose place is taken gets a longer name.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::written::{LIST, WrittenFiles};

/// What a changed file is called if Adjutant's own has its place.
const YOURS: &str = "yours";
/// More bytes than any file of a client has.
const MAX_FILE: u64 = 16 << 20;
/// The most names that are tried for one file.
const MAX_NAMES: usize = 100;

/// The files of the user in the folder of a client, by their paths in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFiles {
    /// They are where they were.
    pub kept: Vec<String>,
    /// They have another name now: the name before, and the new one.
    pub renamed: Vec<(String, String)>,
}

impl UserFiles {
    pub fn add(&mut self, others: UserFiles) {
        self.kept.extend(others.kept);
        self.renamed.extend(others.renamed);
    }
}

/// Empties `old` and removes it. The lists say what Adjutant wrote into `old` and into `folder`.
pub fn settle(old: &Path, folder: &Path, lists: &[WrittenFiles; 2]) -> io::Result<UserFiles> {
    let mut emptying = Emptying { old, folder, lists, users: UserFiles::default() };
    emptying.empty("")?;
    // The list is last: after a kill the next run still knows what Adjutant wrote.
    match fs::remove_file(old.join(LIST)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::remove_dir(old)?,
    }
    Ok(emptying.users)
}

struct Emptying<'a> {
    old: &'a Path,
    folder: &'a Path,
    lists: &'a [WrittenFiles; 2],
    users: UserFiles,
}

impl Emptying<'_> {
    /// Empties one folder inside the old one. It descends only where Adjutant wrote files; any other folder is the user's as a whole.
    fn empty(&mut self, inner: &str) -> io::Result<()> {
        let mut names: Vec<_> = fs::read_dir(self.old.join(inner))?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<_>>()?;
        // Files with names of the user's own move first. A changed file of the client then gets a name that none of them has.
        let is_named = |name: &OsString| {
            let path = Path::new(inner).join(name);
            path.to_str().is_some_and(|path| self.lists.iter().any(|list| list.names(path)))
        };
        names.sort_by_cached_key(|name| (is_named(name), name.clone()));
        for name in names {
            let place = Path::new(inner).join(&name);
            // A name that is not text is not one of Adjutant's.
            let Some(path) = place.to_str() else {
                self.hand_over(&place)?;
                continue;
            };
            let found = fs::symlink_metadata(self.old.join(path))?;
            if path == LIST && found.is_file() {
                continue;
            }
            if found.is_dir() && self.lists.iter().any(|list| list.reaches_into(path)) {
                self.empty(path)?;
                fs::remove_dir(self.old.join(path))?;
            } else if found.is_file() && self.is_written(path, found.len())? {
                fs::remove_file(self.old.join(path))?;
            } else {
                self.hand_over(&place)?;
            }
        }
        Ok(())
    }

    /// Whether the file has the bytes that Adjutant wrote.
    fn is_written(&self, path: &str, length: u64) -> io::Result<bool> {
        if length > MAX_FILE || !self.lists.iter().any(|list| list.names(path)) {
            return Ok(false);
        }
        let bytes = fs::read(self.old.join(path))?;
        Ok(self.lists.iter().any(|list| list.has(path, &bytes)))
    }

    /// Moves a file or a folder of the user.
    fn hand_over(&mut self, path: &Path) -> io::Result<()> {
        let wanted = self.folder.join(path);
        if let Some(folder) = wanted.parent() {
            fs::create_dir_all(folder)?;
        }
        let free = free_name(&wanted)?;
        fs::rename(self.old.join(path), &free)?;
        let shown = path.to_string_lossy().into_owned();
        if free == wanted {
            self.users.kept.push(shown);
        } else {
            let new = free.strip_prefix(self.folder).unwrap_or(&free);
            self.users.renamed.push((shown, new.to_string_lossy().into_owned()));
        }
        Ok(())
    }
}

/// Returns the path, or one with a longer name if it is taken.
fn free_name(path: &Path) -> io::Result<PathBuf> {
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    let longer = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { format!(".{YOURS}") } else { format!(".{YOURS}-{number}") });
        PathBuf::from(name)
    };
    let mut names = std::iter::once(path.to_owned()).chain((1..=MAX_NAMES).map(longer));
    names.find(is_free).ok_or_else(|| io::Error::other(format!("there are {MAX_NAMES} files like {path:?}")))
}
