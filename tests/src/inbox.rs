//! Answers in the inbox of a session, written as another process writes them: the terminal's way
//! to answer, without its binary.
//!
//! Never waits for the outcome of an answer; a test can poll `Letter::is_gone`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use adjutant_protocol::{AskId, SessionId};
use serde_json::{Value, json};

use crate::editor::Answer;
use crate::fixture::Workspace;

/// An answer in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    pub path: PathBuf,
}

impl Letter {
    /// Whether the server that owns the session has handled the answer and removed its file.
    pub fn is_gone(&self) -> bool {
        fs::symlink_metadata(&self.path).is_err()
    }
}

/// Returns the inbox of a session; it need not exist.
pub fn folder(workspace: &Workspace, session: &SessionId) -> PathBuf {
    workspace.state_dir().join("sessions").join(&session.0).join("inbox")
}

/// Writes an answer into the inbox with one rename.
#[track_caller]
pub fn leave(workspace: &Workspace, session: &SessionId, ask: &AskId, answer: &Answer) -> Letter {
    let body = body(ask, answer).to_string();
    leave_bytes(&folder(workspace, session), body.as_bytes(), 0o600)
}

/// Returns the content of the file for an answer.
#[track_caller]
pub fn body(ask: &AskId, answer: &Answer) -> Value {
    match answer {
        Answer::Option(option) => json!({"askId": ask, "optionId": option}),
        Answer::OptionWithText(option, text) => json!({"askId": ask, "optionId": option, "reason": text}),
        Answer::Text(text) => json!({"askId": ask, "answer": text}),
        other => panic!("a file cannot express {other:?}"),
    }
}

/// Writes a file with these bytes and this mode into the inbox with one rename.
#[track_caller]
pub fn leave_bytes(folder: &Path, bytes: &[u8], mode: u32) -> Letter {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let name = format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    if !folder.exists() {
        use std::os::unix::fs::DirBuilderExt;
        // The server that owns the session may create it at the same moment.
        let made = fs::DirBuilder::new().mode(0o700).create(folder);
        assert!(made.is_ok() || folder.is_dir(), "make {folder:?}: {made:?}");
    }
    let (unfinished, path) = (folder.join(format!(".new-{name}")), folder.join(name));
    let written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&unfinished);
    // The process's mask limits the mode of a new file. The file gets its whole mode before it has its name: with the
    // mask, 0620 would be 0600 for a moment, which is the mode of a valid answer.
    let written = written.and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_permissions(fs::Permissions::from_mode(mode))
    });
    written
        .and_then(|()| fs::rename(&unfinished, &path))
        .unwrap_or_else(|why| panic!("write {path:?}: {why}"));
    Letter { path }
}
