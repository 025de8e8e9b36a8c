//! By which way an edit reaches a file, and what is said of one on its way.
//!
//! Never reaches a client itself; the doors do.

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
    /// Says that it takes `documentChanges`; many that do not say so take them all the same.
    pub document_changes: bool,
    /// It has answered that it knows no `workspace/applyEdit`.
    pub edit_unknown: bool,
    /// Takes code actions as objects, and so makes the edit that one carries.
    pub action_edits: bool,
    /// Answers `agent/document/save`.
    pub save: bool,
    /// Announces every open text document (decision 4).
    pub complete: bool,
}

impl Abilities {
    /// Whether an open file is edited by the code action that allows the edit, and by nothing else: never where
    /// an edit that is sent could be made a second time.
    pub fn edits_by_action(&self) -> bool {
        self.edit_unknown && self.action_edits
    }

    /// Chooses the way of an edit by whether the client has announced the file and whether it is there.
    ///
    /// An open file is edited by the editor alone, also by one that announces no edits: many take them. A
    /// new file is made on disk, where it can be made without replacing anything; editors make it as they
    /// like, and some of them not at all.
    ///
    /// So is one that begins with a byte order mark and is not open: some clients that edit it count the mark
    /// to the first line and lose it with that line. Those that save for the server keep it.
    pub fn way(&self, open: bool, exists: bool, mark: bool) -> EditRoute {
        let would_lose_mark = mark && !self.save;
        // A buffer nobody can be asked to save would only hide the change.
        let would_stay_unsaved = self.complete && !self.save;
        let takes = self.apply_edit && !self.edit_unknown;
        match (open, exists) {
            (true, _) if self.edits_by_action() => EditRoute::Action,
            (true, _) if self.edit_unknown => EditRoute::Nowhere,
            (true, _) => EditRoute::Editor,
            (false, false) => EditRoute::Disk,
            (false, true) if takes && !would_stay_unsaved && !would_lose_mark => EditRoute::Editor,
            (false, true) if !self.complete => EditRoute::DiskIfSaved,
            (false, true) => EditRoute::Disk,
        }
    }
}

/// An edit of one document, in its version.
#[derive(Clone, Debug)]
pub struct DocumentEdit {
    pub label: String,
    pub uri: String,
    /// `None`: the document is not open.
    pub version: Option<i32>,
    /// Sent as `changes`, without a version: the client has refused `documentChanges`.
    pub unversioned: bool,
    /// Shared with those who look for them in the text: they may have megabytes.
    pub edits: Arc<[TextEdit]>,
}

/// What the editor said; never believed without the text (D8).
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

/// Turns at editing one file: one edit is on its way to it at a time, whichever session made it.
#[derive(Clone, Default)]
pub struct EditTurns(Arc<Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>>);

impl EditTurns {
    /// Waits for the turn to edit one file. Each wait is as long as the edits before it may take.
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
