//! Resolves a path that a model wrote to the one place that it means (P1).
//!
//! Never compares paths as strings, never expands `~` or variables, and never opens a path before it has followed
//! each link of it.

mod burst;
mod locks;
mod open;
mod refusal;
mod relocate;
mod replace;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use adjutant_core::text::display::{shown, shown_path, unescaped};
use adjutant_core::tool::MAX_PATH;
use rustix::fs::{Mode, OFlags};

pub use burst::{PreparedChange, commit_all};
pub use locks::WriteLocks;
pub(super) use open::read_beneath;
pub use open::{OpenRefusal, open_directory, open_read};
pub use refusal::PathRefusal;
pub use relocate::{move_file, remove_file};
pub use replace::{ReplaceOutcome, ReplaceRefusal, create_file, hash_of};

/// The most links to follow for one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The workspace folders, each kept open. The first is the base of relative paths.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    folders: Arc<[Root]>,
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    directory: Arc<OwnedFd>,
}

/// A path resolved to one place. Its links are followed, and its workspace folder is kept open, so that the file that
/// was checked is the file that is used.
#[derive(Clone, Debug)]
pub struct ResolvedPath {
    /// The absolute path, without links, `.` or `..`.
    pub absolute: PathBuf,
    /// The same path before its links were followed, if it was given below its folder and differs. A program that reads it
    /// by this name gets what is written.
    pub named: Option<PathBuf>,
    /// The path for the user and the model: relative if it is in the first folder, otherwise absolute. As input it
    /// always means the same place again.
    pub display: String,
    /// Whether it is in a workspace folder.
    pub inside: bool,
    /// The type of the file; none if it does not exist.
    pub kind: Option<PathType>,
    /// Whether the path as it was given is itself a symbolic link.
    pub is_link: bool,
    /// The index of its workspace folder.
    pub root: Option<usize>,
    /// The open workspace folder; for outside paths the root of the file system.
    anchor: Arc<OwnedFd>,
    /// The path from `anchor`; `.` for the folder itself.
    relative: PathBuf,
}

impl ResolvedPath {
    /// Whether a file or folder exists there.
    pub fn exists(&self) -> bool {
        self.kind.is_some()
    }

    /// Whether it is a file with other names (hard links): a write changes the file under all of them.
    pub fn has_other_names(&self) -> bool {
        open::links(self) > 1
    }

    /// Returns its workspace folder; none for an outside path.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        self.root?;
        self.absolute.ancestors().nth(self.depth()).map(Path::to_owned)
    }

    /// Returns how many levels it is below its folder.
    pub(super) fn depth(&self) -> usize {
        self.relative.components().filter(|c| *c != Component::CurDir).count()
    }
}

/// The type of a file at a resolved path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathType {
    File,
    Directory,
    /// A device, pipe or socket.
    Special,
}

impl Roots {
    /// Opens the workspace folders. Leaves out those that cannot be opened and returns a message for each.
    pub fn open(folders: &[PathBuf]) -> (Self, Vec<String>) {
        let mut roots: Vec<Root> = Vec::new();
        let mut problems = Vec::new();
        for folder in folders {
            let opened = folder.canonicalize().and_then(|path| {
                let directory = rustix::fs::open(&path, DIRECTORY, Mode::empty())?;
                Ok(Root { path, directory: Arc::new(directory) })
            });
            match opened {
                Ok(root) if roots.iter().any(|r| r.path == root.path) => {}
                Ok(root) => roots.push(root),
                Err(error) => {
                    problems.push(format!("open the workspace folder \"{}\": {error}", folder.display()));
                }
            }
        }
        (Self { folders: roots.into() }, problems)
    }

    /// Returns the resolved folders in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|root| root.path.as_path())
    }

    /// Whether no folder is open.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Hides a refusal that reveals what is outside the folders, because no user has allowed a look there.
    fn hide_outside(&self, why: PathRefusal, at: &Path, raw: &str) -> PathRefusal {
        let reveals =
            matches!(why, PathRefusal::NotADirectory(_) | PathRefusal::Loop(_) | PathRefusal::Io(..));
        if reveals && !self.paths().any(|folder| at.starts_with(folder)) {
            return PathRefusal::Outside { raw: shown(raw).into_owned(), why: Box::new(why) };
        }
        why
    }

    /// Returns a workspace folder itself as a resolved path.
    pub fn folder(&self, index: usize) -> Option<ResolvedPath> {
        let path = self.folders.get(index)?.path.clone();
        resolved_path(self, path, Some(PathType::Directory)).ok()
    }
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Resolves what a model wrote: a relative or absolute path, or a file URI.
///
/// A path with escaped characters, as results show it, means the file that was shown. If that file does not exist but
/// one with the literal name does, the path means the latter.
///
/// # Errors
///
/// Returns a refusal if the path means no place, or must not be followed.
pub fn resolve(roots: &Roots, raw: &str) -> Result<ResolvedPath, PathRefusal> {
    let written = as_written(roots, raw);
    let original = unescaped(raw);
    if original == raw || shown_path(&original) != raw {
        return written;
    }
    let exists = |at: &Result<ResolvedPath, PathRefusal>| at.as_ref().is_ok_and(ResolvedPath::exists);
    let shown = as_written(roots, &original);
    if exists(&written) && !exists(&shown) { written } else { shown }
}

fn as_written(roots: &Roots, raw: &str) -> Result<ResolvedPath, PathRefusal> {
    if raw.is_empty() {
        return Err(PathRefusal::Empty);
    }
    if raw.len() > MAX_PATH {
        return Err(PathRefusal::TooLong);
    }
    let path = match raw.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file://") => from_uri(raw)?,
        _ => PathBuf::from(raw),
    };
    if path.as_os_str().as_bytes().contains(&0) {
        return Err(PathRefusal::Nul);
    }
    let start = if path.is_absolute() {
        path.clone()
    } else {
        let base = roots.folders.first().ok_or_else(|| PathRefusal::NoRoots(raw.to_owned()))?;
        refuse_unexpanded(&base.path, &path)?;
        refuse_unsaved(&base.path, &path)?;
        base.path.join(&path)
    };
    let (absolute, kind) = follow_links(&start).map_err(|(why, at)| roots.hide_outside(why, &at, raw))?;
    let at = resolved_path(roots, absolute, kind)?;
    let named = without_dots(&start);
    let is_below = at.folder().is_some_and(|folder| named.starts_with(folder));
    // Without the dots at the end, which would follow the link.
    let given: PathBuf = start.components().collect();
    let is_link = given.symlink_metadata().is_ok_and(|found| found.is_symlink());
    Ok(ResolvedPath { named: Some(named).filter(|named| is_below && *named != at.absolute), is_link, ..at })
}

/// Returns a path without `.` and `..`, by its names alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// Refuses `$HOME/x` and `~/x`, unless a file of that odd name exists: readers would expect a path in the home
/// directory.
fn refuse_unexpanded(base: &Path, path: &Path) -> Result<(), PathRefusal> {
    let Some(Component::Normal(first)) = path.components().next() else {
        return Ok(());
    };
    let odd = first.as_bytes().starts_with(b"~") || first.as_bytes().starts_with(b"$");
    if odd && base.join(first).symlink_metadata().is_err() {
        return Err(PathRefusal::Unexpanded(path.display().to_string()));
    }
    Ok(())
}

/// Refuses `untitled:NAME`, the editors' name for a document that was never saved, unless such a file exists.
fn refuse_unsaved(base: &Path, path: &Path) -> Result<(), PathRefusal> {
    let unsaved = path.as_os_str().as_bytes().starts_with(b"untitled:");
    if unsaved && base.join(path).symlink_metadata().is_err() {
        return Err(PathRefusal::NoFile(path.display().to_string()));
    }
    Ok(())
}

/// Finds the workspace folder of an absolute path, which must be free of links.
fn resolved_path(
    roots: &Roots,
    absolute: PathBuf,
    kind: Option<PathType>,
) -> Result<ResolvedPath, PathRefusal> {
    // Both sides are free of links, and `strip_prefix` compares whole components.
    let found = roots.folders.iter().enumerate().find_map(|(index, root)| {
        absolute.strip_prefix(&root.path).ok().map(|below| (index, root, below.to_owned()))
    });
    let (root, anchor, below) = match found {
        Some((index, root, below)) => (Some(index), root.directory.clone(), below),
        None => {
            let top = rustix::fs::open("/", DIRECTORY, Mode::empty())
                .map_err(|error| PathRefusal::Io("/".into(), error.into()))?;
            let below = absolute.strip_prefix("/").unwrap_or(&absolute).to_owned();
            (None, Arc::new(top), below)
        }
    };
    let relative = if below.as_os_str().is_empty() { PathBuf::from(".") } else { below };
    let name = if root == Some(0) { &relative } else { &absolute };
    let display = shown_path(&name.to_string_lossy()).into_owned();
    let (named, is_link) = (None, false);
    Ok(ResolvedPath {
        display,
        inside: root.is_some(),
        kind,
        is_link,
        root,
        anchor,
        relative,
        absolute,
        named,
    })
}

/// Follows an absolute path name by name, and its links as the kernel would. The part that does not exist yet is
/// added by name.
///
/// # Errors
///
/// Returns a refusal with the path at which it arose.
fn follow_links(start: &Path) -> Result<(PathBuf, Option<PathType>), (PathRefusal, PathBuf)> {
    let mut ahead: VecDeque<OsString> = pieces(start).collect();
    let mut at = PathBuf::from("/");
    let mut kind = Some(PathType::Directory);
    let mut missing = 0;
    let mut links = 0;
    while let Some(piece) = ahead.pop_front() {
        if piece == ".." {
            match kind {
                Some(PathType::Directory) | None => {}
                Some(_) => return Err((PathRefusal::NotADirectory(at.display().to_string()), at)),
            }
            at.pop();
            missing = usize::saturating_sub(missing, 1);
            if missing == 0 {
                kind = Some(PathType::Directory);
            }
            continue;
        }
        if matches!(kind, Some(PathType::File | PathType::Special)) {
            return Err((PathRefusal::NotADirectory(at.display().to_string()), at));
        }
        let next = at.join(&piece);
        if next.as_os_str().len() > MAX_PATH || piece.len() > 255 {
            return Err((PathRefusal::TooLong, at));
        }
        if missing > 0 {
            missing += 1;
            at = next;
            continue;
        }
        match next.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                links += 1;
                let target = follow(&at, &next, links).map_err(|why| (why, at.clone()))?;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                pieces(&target).rev().for_each(|piece| ahead.push_front(piece));
            }
            Ok(found) => {
                kind = Some(kind_of(&found));
                at = next;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing = 1;
                kind = None;
                at = next;
            }
            Err(error) => return Err((PathRefusal::Io(next.display().to_string(), error), at)),
        }
    }
    Ok((at, kind))
}

/// Returns where a path leads: its links are followed as far as it exists, and the rest is added by name.
pub(crate) fn leads_to(path: &Path) -> PathBuf {
    let by_name = || {
        path.components().fold(PathBuf::new(), |mut path, part| {
            match part {
                Component::ParentDir => _ = path.pop(),
                Component::CurDir => {}
                part => path.push(part),
            }
            path
        })
    };
    // Only the kernel can follow some links, such as those of the process file system.
    follow_links(path).map_or_else(|_| path.canonicalize().unwrap_or_else(|_| by_name()), |(path, _)| path)
}

/// Reads one link. Refuses links of the process file system: they lead to open files of a process, whatever their
/// text is.
fn follow(parent: &Path, link: &Path, links: usize) -> Result<PathBuf, PathRefusal> {
    let name = || link.display().to_string();
    if links > MAX_LINKS {
        return Err(PathRefusal::Loop(name()));
    }
    if open::is_process_file_system(parent) {
        return Err(PathRefusal::Magic(name()));
    }
    std::fs::read_link(link).map_err(|error| PathRefusal::Io(name(), error))
}

fn kind_of(found: &std::fs::Metadata) -> PathType {
    if found.is_dir() {
        PathType::Directory
    } else if found.is_file() {
        PathType::File
    } else {
        PathType::Special
    }
}

/// Returns the names of a path in order, with `..`, without `.` and the leading `/`.
fn pieces(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    })
}

/// Decodes a file URI, exactly once.
fn from_uri(raw: &str) -> Result<PathBuf, PathRefusal> {
    let refuse = |why| Err(PathRefusal::Uri(raw.to_owned(), why));
    let rest = raw.get(7..).unwrap_or_default();
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return refuse("it names another machine");
    }
    let mut bytes = Vec::with_capacity(rest.len());
    for segment in rest.split('/').skip(1) {
        bytes.push(b'/');
        let Some(decoded) = decode(segment) else {
            return refuse("a `%` is not followed by two hexadecimal digits");
        };
        // An encoded `..` or slash has no honest use: it would bypass checks of the text.
        if decoded.as_slice() != segment.as_bytes()
            && (decoded.contains(&b'/') || matches!(decoded.as_slice(), b"." | b".."))
        {
            return refuse("it holds an encoded `.`, `..` or `/`");
        }
        bytes.extend(decoded);
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

fn decode(segment: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| (b as char).to_digit(16));
        let high = digit(rest.next())?;
        let low = digit(rest.next())?;
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(out)
}

/// Returns the last name of a resolved path.
fn file_name(at: &ResolvedPath) -> &OsStr {
    at.absolute.file_name().unwrap_or(OsStr::new("/"))
}
