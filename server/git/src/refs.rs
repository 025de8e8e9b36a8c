//! Where `HEAD` is: the branch and its commit.
//!
//! Never follows more than a few references: they can form a circle.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use gix_hash::Kind;
use gix_ref::file::loose::Reference;
use gix_ref::{FullName, PartialNameRef, Target, packed};

use crate::commit_id::CommitId;
use crate::discovery::Location;
use crate::files::{self, MAX_LINE};
use crate::unknown::Unknown;

/// The most bytes of the file with all packed references.
const MAX_PACKED: u64 = 64 << 20;

/// The most references from `HEAD` to a commit. Git has the same limit.
const MAX_STEPS: usize = 5;

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The branch, without `refs/heads/`; `None` if `HEAD` names a commit itself.
    pub branch: Option<String>,
    /// The last commit; `None` on a branch without commits.
    pub commit: Option<CommitId>,
}

impl Head {
    /// Returns the name of the branch, or `commit` and so many digits of its name; `None` for a repository without either. No
    /// branch has a name with a blank.
    pub fn name(&self, digits: usize) -> Option<String> {
        let of_commit = |commit: CommitId| format!("commit {:.digits$}", commit.to_string());
        self.branch.clone().or_else(|| self.commit.map(of_commit))
    }
}

/// One reference on the way from `HEAD`: its name, and its own file if it has one.
pub(crate) struct Step {
    pub name: FullName,
    pub content: Option<Vec<u8>>,
}

/// Follows `HEAD` through the files of references, up to a commit or a reference without a file.
pub(crate) fn steps(location: &Location) -> Result<Vec<Step>, Unknown> {
    let mut steps = Vec::new();
    let mut name = FullName::try_from("HEAD").map_err(|_| Unknown::damaged("HEAD"))?;
    while steps.len() <= MAX_STEPS {
        let content = content(location, &name)?;
        let target = content.as_deref().map(|bytes| target(&name, bytes)).transpose()?;
        steps.push(Step { name, content });
        name = match target {
            Some(Target::Symbolic(next)) if next.as_bstr().starts_with(b"refs/") => next,
            Some(Target::Symbolic(next)) => {
                return Err(Unknown::because(format!(
                    "HEAD leads to {:?}, which is no branch",
                    next.as_bstr()
                )));
            }
            Some(Target::Object(_)) | None => return Ok(steps),
        };
    }
    Err(Unknown::because("HEAD leads through too many references"))
}

/// Returns what is checked out.
pub(crate) fn head(location: &Location) -> Result<Head, Unknown> {
    let mut steps = steps(location)?;
    let Some(last) = steps.pop() else { return Err(Unknown::damaged("HEAD")) };
    let commit = match last.content.as_deref().map(|bytes| target(&last.name, bytes)).transpose()? {
        Some(Target::Object(id)) => Some(CommitId(id)),
        Some(Target::Symbolic(_)) => return Err(Unknown::damaged("HEAD")),
        None if steps.is_empty() => return Err(Unknown::because("the repository has no HEAD")),
        None => packed(location, &last.name)?,
    };
    if steps.is_empty() {
        return Ok(Head { branch: None, commit });
    }
    let name = std::str::from_utf8(last.name.as_bstr());
    let name = name.map_err(|_| Unknown::because("the name of the branch is not UTF-8"))?;
    let branch = name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    Ok(Head { branch: Some(branch), commit })
}

/// Returns the last commit of a branch; `None` if there is no such branch.
pub(crate) fn tip(location: &Location, branch: &str) -> Result<Option<CommitId>, Unknown> {
    let Ok(name) = FullName::try_from(format!("refs/heads/{branch}")) else { return Ok(None) };
    match content(location, &name)?.as_deref().map(|bytes| target(&name, bytes)).transpose()? {
        Some(Target::Object(id)) => Ok(Some(CommitId(id))),
        Some(Target::Symbolic(_)) => Err(Unknown::because("the branch stands for another one")),
        None => packed(location, &name),
    }
}

/// Returns the path of the file with all packed references.
pub(crate) fn packed_path(location: &Location) -> PathBuf {
    location.common_dir.join("packed-refs")
}

/// Whether references say that objects stand for others.
pub(crate) fn has_replacements(location: &Location) -> Result<bool, Unknown> {
    let folder = location.common_dir.join("refs/replace");
    match fs::read_dir(&folder).map(|mut entries| entries.next().is_some()) {
        Ok(true) => return Ok(true),
        Ok(false) => {}
        Err(error) if files::is_missing(&error) => {}
        Err(error) => return Err(Unknown::io(&folder, &error)),
    }
    let packed = files::read(&packed_path(location), MAX_PACKED)?.unwrap_or_default();
    Ok(packed.split(|byte| *byte == b' ').any(|rest| rest.starts_with(b"refs/replace/")))
}

fn content(location: &Location, name: &FullName) -> Result<Option<Vec<u8>>, Unknown> {
    let bytes = name.as_bstr();
    let own = [&b"refs/bisect/"[..], b"refs/worktree/", b"refs/rewritten/"];
    let is_own = bytes == "HEAD" || own.iter().any(|prefix| bytes.starts_with(prefix));
    let folder = if is_own { &location.git_dir } else { &location.common_dir };
    let path = folder.join(OsStr::from_bytes(bytes));
    // An emptied folder of branches may have the name of a packed branch.
    if bytes != "HEAD" && files::is_folder(&path) { Ok(None) } else { files::read(&path, MAX_LINE) }
}

fn target(name: &FullName, bytes: &[u8]) -> Result<Target, Unknown> {
    let reference = Reference::try_from_path(name.clone(), bytes, Kind::Sha1);
    let reference =
        reference.map_err(|_| Unknown::damaged(format_args!("the reference {:?}", name.as_bstr())))?;
    Ok(reference.target)
}

fn packed(location: &Location, name: &FullName) -> Result<Option<CommitId>, Unknown> {
    let path = packed_path(location);
    let Some(bytes) = files::read(&path, MAX_PACKED)? else { return Ok(None) };
    let damaged = || Unknown::damaged(format_args!("{path:?}"));
    let references = packed::Buffer::from_bytes(&bytes, Kind::Sha1).map_err(|_| damaged())?;
    let name: &PartialNameRef = name.as_ref().as_partial_name();
    let found = references.try_find::<_, std::convert::Infallible>(name).map_err(|_| damaged())?;
    Ok(found.map(|reference| CommitId(reference.target())))
}
