//! Chooses the route of an edit to its file, and defines the messages of an edit to the editor.
//!
//! Never sends anything to a client; `client` does.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use adjutant_core::policy::observation::EditRoute;
use adjutant_core::text::edit::TextEdit;
use tokio::sync::OwnedMutexGuard;

/// What the client can do, from `initialize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Answers `workspace/applyEdit`.
    pub apply_edit: bool,
    /// Announces support for `documentChanges`; many clients support them without the announcement.
    pub document_changes: bool,
    /// Has answered that it does not know `workspace/applyEdit`.
    pub edit_unknown: bool,
    /// Accepts code actions as objects, and so makes the edit in them.
    pub action_edits: bool,
    /// Announces that it deletes files for a server.
    pub delete_files: bool,
    /// Announces that it renames files for a server.
    pub rename_files: bool,
    /// Answers `agent/document/save`.
    pub save: bool,
    /// Announces every open text document (design 4).
    pub complete: bool,
}

impl Abilities {
    /// Whether only the code action that allows an edit makes it in an open file. False if a sent edit also works,
    /// because the edit could then be made twice.
    pub fn edits_by_action(&self) -> bool {
        self.edit_unknown && self.action_edits
    }

    /// Chooses the route of an edit. `open`: the client has announced the file. `exists`: the file is on disk.
    /// `mark`: it begins with a byte order mark.
    ///
    /// Only the editor edits an open file, even if it announces no support for edits, because many support them.
    /// A new file is made on disk, which never replaces another file; not every editor can create one.
    ///
    /// A file that is surely not open is written on disk. So is a file with a byte order mark that is not known to be open: some
    /// clients count the mark to the
    /// first line and lose it with that line. Clients that save for the server keep it.
    pub fn way(&self, open: bool, exists: bool, mark: bool) -> EditRoute {
        let would_lose_mark = mark && !self.save;
        let accepts_edits = self.apply_edit && !self.edit_unknown;
        match (open, exists) {
            (true, _) if self.edits_by_action() => EditRoute::Action,
            (true, _) if self.edit_unknown => EditRoute::Nowhere,
            (true, _) => EditRoute::Editor,
            (false, false) => EditRoute::Disk,
            // It is surely not open, and every file stays as the user left it: no tab, no buffer.
            (false, true) if self.complete => EditRoute::Disk,
            (false, true) if accepts_edits && !would_lose_mark => EditRoute::Editor,
            (false, true) => EditRoute::DiskIfSaved,
        }
    }

    /// Chooses the route of the deletion of a file, or of its move; `None` if there is none. `open`: the client has
    /// announced the file.
    ///
    /// A file that is surely not open is handled on disk, where it is one step. Any other only by an editor that announces
    /// the operation, because the buffer must follow the file.
    pub fn way_of_file(&self, open: bool, moves: bool) -> Option<EditRoute> {
        let can = if moves { self.rename_files } else { self.delete_files };
        match (open, self.complete) {
            (false, true) => Some(EditRoute::Disk),
            _ => (can && self.apply_edit && !self.edit_unknown).then_some(EditRoute::Editor),
        }
    }
}

/// The deletion of a file, or its move.
#[derive(Clone, Debug)]
pub struct FileEdit {
    pub label: String,
    pub uri: String,
    /// The new name of a move.
    pub to: Option<String>,
}

/// An edit of one version of a document.
#[derive(Clone, Debug)]
pub struct DocumentEdit {
    pub label: String,
    pub uri: String,
    /// `None` if the document is not open.
    pub version: Option<i32>,
    /// Whether it is sent as `changes`, without a version, because the client refused or ignored `documentChanges`.
    pub unversioned: bool,
    /// Shared with the verifier of the edit, because they may have megabytes.
    pub edits: Arc<[TextEdit]>,
}

/// The reply of the editor; never believed without the text (D8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyReply {
    pub applied: bool,
    pub reason: Option<String>,
}

/// Why the editor gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("the editor refused the request: {0}")]
    Refused(String),
    #[error("the editor knows no such request")]
    Unknown,
    #[error("the editor did not answer within {0} s")]
    Silent(u64),
    #[error("the editor is gone")]
    Gone,
}

/// One lock for each file that is edited, so that only one edit of a file runs at a time, from any session.
#[derive(Clone, Default)]
pub struct EditTurns(Arc<Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>>);

impl EditTurns {
    /// Waits for the lock of one file. The wait is as long as the edits before it.
    pub async fn turn(&self, path: &Path) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| turn.strong_count() > 0);
            match turns.get(path).and_then(Weak::upgrade) {
                Some(turn) => turn,
                None => {
                    let turn = Arc::new(tokio::sync::Mutex::new(()));
                    turns.insert(path.to_owned(), Arc::downgrade(&turn));
                    turn
                }
            }
        };
        turn.lock_owned().await
    }
}
