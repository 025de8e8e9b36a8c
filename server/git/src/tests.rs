//! Tests against repositories that the real git makes.
//!
//! Never uses settings of the machine: each repository has its own home.

mod agreement;
mod commits;
mod hostile;
mod layouts;
mod packs;
mod staging;
mod stamps;
mod stashes;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::{CommitId, Repository, Unknown};

/// Questions about commits that are opened for one question.
impl Repository {
    fn committed_in(&self, commit: CommitId, path: &Path) -> Result<Option<Vec<u8>>, Unknown> {
        self.commits()?.text(commit, path)
    }

    fn follows(&self, newer: CommitId, older: CommitId) -> Result<bool, Unknown> {
        self.commits()?.follows(newer, older)
    }
}

/// A folder in which the real git works.
pub struct Workshop {
    /// Removes the folder at the end.
    _place: TempDir,
    /// The folder above all repositories; also the home of git.
    pub home: PathBuf,
    /// The work tree of the repository.
    pub root: PathBuf,
}

impl Workshop {
    /// Returns a folder without a repository.
    pub fn empty() -> Self {
        let place = tempfile::tempdir().expect("a folder for the repository");
        let home = place.path().canonicalize().expect("its path");
        let root = home.join("work");
        fs::create_dir(&root).expect("a folder for the work tree");
        Self { _place: place, home, root }
    }

    /// Returns a repository without commits.
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// Returns a repository without commits that `git init` made with these arguments.
    pub fn with(args: &[&str]) -> Self {
        let workshop = Self::empty();
        workshop.git(&[&["init", "-q", "-b", "main", "--template="], args].concat());
        workshop
    }

    /// Returns git in a folder, without any setting of the machine.
    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut git = Command::new("git");
        let path = std::env::var_os("PATH").unwrap_or_default();
        git.env_clear().env("PATH", path).env("HOME", &self.home).env("LC_ALL", "C");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        git.env("GIT_CEILING_DIRECTORIES", &self.home).env("GIT_TERMINAL_PROMPT", "0");
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
            git.env(format!("GIT_{role}_DATE"), "1700000000 +0000");
        }
        // No work of git's own in the background, which would write while the tests compare.
        let settings = [
            "gc.auto=0",
            "maintenance.auto=false",
            "protocol.file.allow=always",
            "advice.detachedHead=false",
        ];
        for setting in settings {
            git.args(["-c", setting]);
        }
        git.args(args).current_dir(folder).stdin(Stdio::null());
        git
    }

    /// Runs git in a folder and returns its output, whatever its status.
    pub fn run(&self, folder: &Path, args: &[&str]) -> Output {
        self.command(folder, args).output().expect("git is installed: tests/run installs it")
    }

    /// Runs git in the work tree with an input, and returns what it prints, without the last line end.
    pub fn feed(&self, args: &[&str], input: &str) -> String {
        let file = self.home.join("input");
        fs::write(&file, input).expect("a file for the input");
        let input = fs::File::open(file).expect("the input");
        let output = self.command(&self.root, args).stdin(input).output();
        let output = output.expect("git is installed: tests/run installs it");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs git in a folder and returns what it prints; it must succeed.
    pub fn git_in(&self, folder: &Path, args: &[&str]) -> Vec<u8> {
        let output = self.run(folder, args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Runs git in the work tree and returns what it prints, without the last line end.
    pub fn git(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.git_in(&self.root, args)).trim_end().to_owned()
    }

    /// Writes a file of the work tree.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("its folder");
        fs::write(path, content).expect("the file");
    }

    /// Commits every file of the work tree, and returns the commit.
    pub fn commit(&self, message: &str) -> CommitId {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.id("HEAD")
    }

    /// Returns the commit that git finds by this name.
    pub fn id(&self, name: &str) -> CommitId {
        CommitId::from_hex(&self.git(&["rev-parse", name])).expect("git prints a commit")
    }

    /// Returns the repository of the work tree.
    pub fn repository(&self) -> Repository {
        found(&self.root)
    }

    /// Writes a file inside `.git`.
    pub fn write_git(&self, path: &str, content: impl AsRef<[u8]>) {
        self.write(Path::new(".git").join(path), content);
    }
}

/// Returns the repository at a path; it must be one that Adjutant reads.
pub fn found(path: &Path) -> Repository {
    Repository::find(path).expect("a known state").expect("a repository")
}

/// Returns the last commit's text of a file; it must be known and there.
pub fn committed(repository: &Repository, path: &str) -> Vec<u8> {
    repository.committed(Path::new(path)).expect("a known state").expect("a file in the commit")
}

/// Returns the index's text of a file; it must be known and there.
pub fn staged(repository: &Repository, path: &str) -> Vec<u8> {
    repository.staged(Path::new(path)).expect("a known state").expect("a file in the index")
}

/// Returns the reason why a state is unknown.
pub fn reason<T: std::fmt::Debug>(answer: Result<T, Unknown>) -> String {
    answer.expect_err("the state is unknown").to_string()
}

/// Returns every file below a folder, with its content; a link has its target as content, a folder nothing.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let (path, kind) = (entry.path(), entry.file_type().expect("its kind"));
            let content = if kind.is_symlink() {
                fs::read_link(&path).expect("a link").as_os_str().as_bytes().to_vec()
            } else if kind.is_file() {
                fs::read(&path).expect("a file")
            } else {
                Vec::new()
            };
            if kind.is_dir() {
                waiting.push(path.clone());
            }
            found.insert(path, content);
        }
    }
    found
}
