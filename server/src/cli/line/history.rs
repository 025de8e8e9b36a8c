//! The prompts of earlier loops, one JSON string a line in the state folder.
//!
//! Never readable by other users, and never longer than its limits. A file that cannot be read or written
//! is no reason to stop.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::wire::history::MOST_PROMPT;
use rustix::fs::OFlags;

use crate::settings::private_dir;

/// The most prompts that are kept.
pub const MOST_ENTRIES: usize = 1_000;
/// The most bytes of the file.
const MOST_BYTES: u64 = 1 << 20;

/// The history of one user.
pub struct History {
    folder: Option<PathBuf>,
}

impl History {
    /// Returns the history in this folder; without one, nothing is kept.
    pub fn open(state: Option<&Path>) -> Self {
        History { folder: state.map(Path::to_owned) }
    }

    /// Returns the prompts, oldest first.
    pub fn entries(&self) -> Vec<String> {
        let Some(folder) = &self.folder else { return Vec::new() };
        // Opening something else, such as a pipe, must not wait.
        let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(without_waiting).open(folder.join("history"));
        let Ok(file) = file else { return Vec::new() };
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Vec::new();
        }
        let mut bytes = Vec::new();
        if file.take(MOST_BYTES).read_to_end(&mut bytes).is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Adds a prompt, also to those that another loop has added meanwhile.
    pub fn add(&self, prompt: &str) {
        if prompt.len() > MOST_PROMPT {
            return;
        }
        let mut entries = self.entries();
        entries.push(prompt.to_owned());
        if let Err(error) = self.write(&entries) {
            tracing::warn!(%error, "the history was not written");
        }
    }

    fn write(&self, entries: &[String]) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        private_dir(folder)?;
        let mut lines = Vec::new();
        let mut bytes = 0;
        for entry in entries.iter().rev().take(MOST_ENTRIES) {
            let line = serde_json::to_string(entry)? + "\n";
            bytes += line.len() as u64;
            if bytes > MOST_BYTES {
                break;
            }
            lines.push(line);
        }
        lines.reverse();
        // Written whole beside the old one, so that a kill leaves one of the two.
        let path = folder.join(format!(".history-{}", std::process::id()));
        // A process with the same number may have left a file. Links are never followed.
        let _ = fs::remove_file(&path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = file.write_all(lines.concat().as_bytes());
        let kept = written.and_then(|()| fs::rename(&path, folder.join("history")));
        if kept.is_err() {
            // The file holds prompts, and no later loop reads it under this name.
            let _ = fs::remove_file(&path);
        }
        Ok(kept?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn finding_e8_what_is_no_file_is_no_history_and_holds_nothing_up() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("history");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).expect("a pipe");
        let history = History::open(Some(place.path()));
        assert_eq!(history.entries(), [""; 0]);
        history.add("kept");
        assert_eq!(history.entries(), ["kept"]);
    }

    #[test]
    fn finding_e8_the_history_is_private_bounded_and_whole() {
        let place = tempfile::tempdir().expect("a folder");
        let history = History::open(Some(place.path()));
        history.add("two\nlines \u{1b}[31m");
        assert_eq!(history.entries(), ["two\nlines \u{1b}[31m"]);
        let mode = fs::metadata(place.path().join("history")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let many: Vec<String> = (0..MOST_ENTRIES + 5).map(|number| number.to_string()).collect();
        history.write(&many).expect("it is written");
        let entries = history.entries();
        assert_eq!((entries.len(), entries[0].as_str()), (MOST_ENTRIES, "5"));
        history.add(&"x".repeat(MOST_PROMPT + 1));
        assert_eq!(history.entries().len(), MOST_ENTRIES);
        let large: Vec<String> = (0..200).map(|_| "y".repeat(MOST_PROMPT)).collect();
        history.write(&large).expect("it is written");
        assert!(fs::metadata(place.path().join("history")).expect("it is there").len() <= MOST_BYTES);
        assert_eq!(fs::read_dir(place.path()).expect("it is there").count(), 1, "nothing else is left");
    }
}
