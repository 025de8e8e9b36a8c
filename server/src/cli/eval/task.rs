//! A task as a folder: its description `task.toml`, the files to work on, and the files of its check.
//!
//! Never changes a task, and never starts a program.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_core::digest_parts;
use anyhow::Context;
use serde::Deserialize;

/// The file that makes a folder a task.
pub const DESCRIPTION: &str = "task.toml";
/// The folder of the files that the model works on.
const FILES: &str = "files";
/// The folder of the files that are put over the workspace before the check.
const CHECK: &str = "check";
/// The most files and folders of one task.
const MAX_ENTRIES: usize = 20_000;
/// The most bytes of one file of a task.
const MAX_FILE: u64 = 64 << 20;
/// How long a run or a check may take unless the task says otherwise, in seconds.
const RUN_LIMIT: u64 = 600;
const CHECK_LIMIT: u64 = 300;

/// One task of a set.
#[derive(Clone, Debug)]
pub struct EvalTask {
    pub name: String,
    pub prompt: String,
    /// A line for the shell.
    pub check: String,
    /// Programs that the check needs.
    pub needs: Vec<String>,
    pub run_limit: Duration,
    pub check_limit: Duration,
    /// The digest of the whole folder.
    pub digest: String,
    folder: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskText {
    prompt: String,
    check: CheckText,
    /// For readers.
    #[serde(rename = "description", default)]
    _description: String,
    #[serde(default)]
    needs: Vec<String>,
    time_limit_s: Option<u64>,
    check_time_limit_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CheckText {
    Line(String),
    Words(Vec<String>),
}

/// One entry below a folder of a task.
struct TreeEntry {
    /// Below that folder.
    path: PathBuf,
    kind: EntryKind,
}

enum EntryKind {
    Folder,
    File { executable: bool },
    Link { target: PathBuf },
}

/// Returns the tasks of a folder in the order of their names. The folder may also be one task itself.
/// A folder that is no task is passed to `ignored`.
pub fn read_tasks(folder: &Path, mut ignored: impl FnMut(&Path)) -> anyhow::Result<Vec<EvalTask>> {
    let context = || format!("read the tasks of \"{}\"", folder.display());
    let folder = folder.canonicalize().with_context(context)?;
    if folder.join(DESCRIPTION).is_file() {
        return Ok(vec![EvalTask::read(&folder)?]);
    }
    let mut tasks = Vec::new();
    for entry in fs::read_dir(&folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
        if hidden || !path.is_dir() {
            continue;
        }
        if path.join(DESCRIPTION).is_file() {
            tasks.push(EvalTask::read(&path)?);
        } else {
            ignored(&path);
        }
    }
    if tasks.is_empty() {
        anyhow::bail!("{}: no folder in it has a {DESCRIPTION}", context());
    }
    tasks.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tasks)
}

impl EvalTask {
    fn read(folder: &Path) -> anyhow::Result<EvalTask> {
        let file = folder.join(DESCRIPTION);
        let context = || format!("read the task \"{}\"", file.display());
        let name = folder.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| !name.chars().any(char::is_control));
        let name = name.with_context(|| format!("{}: the name of its folder is no plain text", context()))?;
        let text = fs::read_to_string(&file).with_context(context)?;
        let text: TaskText = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            let why = error.message().lines().collect::<Vec<_>>().join("; ");
            anyhow::anyhow!("{}: line {line}: {why}", context())
        })?;
        let check = match text.check {
            CheckText::Line(line) => line,
            CheckText::Words(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        };
        for (key, value) in [("prompt", &text.prompt), ("check", &check)] {
            if value.trim().is_empty() {
                anyhow::bail!("{}: `{key}` is empty", context());
            }
        }
        let limits = [text.time_limit_s.unwrap_or(RUN_LIMIT), text.check_time_limit_s.unwrap_or(CHECK_LIMIT)];
        if limits.contains(&0) {
            anyhow::bail!("{}: a time limit is 0; leave it out for the usual one", context());
        }
        let [run_limit, check_limit] = limits.map(Duration::from_secs);
        let digest = digest_of(folder).with_context(context)?;
        Ok(EvalTask {
            name: name.to_owned(),
            prompt: text.prompt,
            check,
            needs: text.needs,
            run_limit,
            check_limit,
            digest,
            folder: folder.to_owned(),
        })
    }

    /// Copies the files to work on into an empty folder.
    pub fn copy_files(&self, to: &Path) -> anyhow::Result<()> {
        self.copy(FILES, to)
    }

    /// Puts the files of the check over a workspace. What the model made in their places is removed.
    pub fn copy_check(&self, to: &Path) -> anyhow::Result<()> {
        self.copy(CHECK, to)
    }

    fn copy(&self, part: &str, to: &Path) -> anyhow::Result<()> {
        let from = self.folder.join(part);
        if !from.is_dir() {
            return Ok(());
        }
        for entry in entries_below(&from).with_context(|| format!("read \"{}\"", from.display()))? {
            let (source, target) = (from.join(&entry.path), to.join(&entry.path));
            copy_entry(&entry.kind, &source, &target)
                .with_context(|| format!("copy \"{}\" to \"{}\"", source.display(), target.display()))?;
        }
        Ok(())
    }
}

/// Copies one entry. Nothing is written through a link that lies at the target.
fn copy_entry(kind: &EntryKind, source: &Path, target: &Path) -> io::Result<()> {
    let there = target.symlink_metadata().ok();
    let is_folder = there.as_ref().is_some_and(fs::Metadata::is_dir);
    if matches!(kind, EntryKind::Folder) && is_folder {
        return Ok(());
    }
    match there {
        Some(_) if is_folder => fs::remove_dir_all(target)?,
        Some(_) => fs::remove_file(target)?,
        None => {}
    }
    match kind {
        EntryKind::Folder => fs::create_dir(target),
        EntryKind::Link { target: far } => symlink(far, target),
        EntryKind::File { executable } => {
            // Writable also if the task is not, because the model works on the copy.
            let mode = if *executable { 0o755 } else { 0o644 };
            let mut copy = OpenOptions::new().write(true).create_new(true).mode(mode).open(target)?;
            io::copy(&mut File::open(source)?, &mut copy).map(drop)
        }
    }
}

/// Returns everything below a folder, each folder before its content, in the order of names.
fn entries_below(folder: &Path) -> anyhow::Result<Vec<TreeEntry>> {
    let mut found = Vec::new();
    walk(folder, Path::new(""), &mut found)?;
    Ok(found)
}

fn walk(top: &Path, below: &Path, found: &mut Vec<TreeEntry>) -> anyhow::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(top.join(below))? {
        names.push(entry?.file_name());
    }
    names.sort();
    for name in names {
        let path = below.join(&name);
        let seen = top.join(&path).symlink_metadata()?;
        if found.len() >= MAX_ENTRIES {
            anyhow::bail!("it has more than {MAX_ENTRIES} files and folders");
        }
        let kind = if seen.is_dir() {
            EntryKind::Folder
        } else if seen.is_symlink() {
            EntryKind::Link { target: fs::read_link(top.join(&path))? }
        } else if seen.is_file() && seen.len() <= MAX_FILE {
            EntryKind::File { executable: seen.permissions().mode() & 0o100 != 0 }
        } else if seen.is_file() {
            anyhow::bail!("\"{}\" is larger than {} MiB", path.display(), MAX_FILE >> 20);
        } else {
            anyhow::bail!("\"{}\" is a device, pipe or socket", path.display());
        };
        let is_folder = matches!(kind, EntryKind::Folder);
        found.push(TreeEntry { path: path.clone(), kind });
        if is_folder {
            walk(top, &path, found)?;
        }
    }
    Ok(())
}

/// Returns the digest of a folder: names, kinds and contents, whatever the times.
fn digest_of(folder: &Path) -> anyhow::Result<String> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for entry in entries_below(folder)? {
        parts.push(entry.path.as_os_str().as_bytes().to_vec());
        let (kind, content): (&[u8], Vec<u8>) = match &entry.kind {
            EntryKind::Folder => (b"folder", Vec::new()),
            EntryKind::Link { target } => (b"link", target.as_os_str().as_bytes().to_vec()),
            EntryKind::File { executable } => {
                let content = fs::read(folder.join(&entry.path))?;
                // The digest of each file, so that no task is in memory as a whole.
                let digest = digest_parts(&[&content]).into_bytes();
                (if *executable { b"program" } else { b"file" }, digest)
            }
        };
        parts.push(kind.to_vec());
        parts.push(content);
    }
    Ok(digest_parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

/// Returns a word as the shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(text: &str) -> (tempfile::TempDir, anyhow::Result<EvalTask>) {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("one");
        fs::create_dir_all(folder.join("files/deep")).expect("a folder");
        fs::write(folder.join("files/deep/a.txt"), "a").expect("a file");
        fs::write(folder.join(DESCRIPTION), text).expect("a file");
        let task = EvalTask::read(&folder);
        (place, task)
    }

    #[test]
    fn n25_words_of_a_check_reach_the_shell_as_they_are() {
        let (_place, read) = task("prompt = \"p\"\ncheck = [\"sh\", \"it's a file\", \"$HOME\"]\n");
        assert_eq!(read.expect("it is sound").check, r"'sh' 'it'\''s a file' '$HOME'");
    }

    #[test]
    fn n25_a_wrong_task_names_file_line_and_key() {
        for (text, part) in [
            ("prompt = \"p\"\n", "missing field `check`"),
            ("prompt = \"p\"\ncheck = \"true\"\nchek = 1\n", "line 3: unknown field `chek`"),
            ("prompt = \" \"\ncheck = \"true\"\n", "`prompt` is empty"),
            ("prompt = \"p\"\ncheck = []\n", "`check` is empty"),
            ("prompt = \"p\"\ncheck = \"true\"\ntime_limit_s = 0\n", "a time limit is 0"),
        ] {
            let (_place, read) = task(text);
            let why = format!("{:#}", read.expect_err(text));
            assert!(why.contains(part) && why.contains("task.toml"), "{why}");
        }
    }

    #[test]
    fn n25_the_digest_is_of_names_contents_and_modes_and_not_of_times() {
        let text = "prompt = \"p\"\ncheck = \"true\"\n";
        let (place, one) = task(text);
        let (_other, two) = task(text);
        let digest = one.expect("it is sound").digest;
        assert_eq!(digest, two.expect("it is sound").digest);
        let folder = place.path().join("one");
        let file = folder.join("files/deep/a.txt");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("the mode is set");
        let program = EvalTask::read(&folder).expect("it is sound").digest;
        fs::write(&file, "b").expect("a file");
        let other = EvalTask::read(&folder).expect("it is sound").digest;
        assert!(digest != program && program != other && digest != other);
    }

    #[test]
    fn n25_files_of_the_check_replace_what_the_model_made_and_follow_no_link() {
        let (place, read) = task("prompt = \"p\"\ncheck = \"true\"\n");
        let task = read.expect("it is sound");
        let (check, outside, copy) =
            (place.path().join("one/check/deep"), place.path().join("outside"), place.path().join("copy"));
        [&check, &outside, &copy]
            .into_iter()
            .for_each(|folder| fs::create_dir_all(folder).expect("a folder"));
        fs::write(check.join("a.txt"), "checked").expect("a file");
        fs::write(outside.join("a.txt"), "not of the task").expect("a file");
        symlink(&outside, copy.join("deep")).expect("a link");
        task.copy_check(&copy).expect("it is copied");
        let read = |path: PathBuf| fs::read_to_string(path).expect("it is there");
        assert_eq!(read(copy.join("deep/a.txt")), "checked");
        assert_eq!(read(outside.join("a.txt")), "not of the task");
    }
}
