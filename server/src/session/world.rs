//! What the sessions of a process share, and what the steps of one session use of it.
//!
//! Never holds anything about a run: that is in the session's log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use adjutant_core::config::Settings;
use adjutant_core::record::EditsMode;
use adjutant_protocol::{AskId, SessionId};

use super::blobs::Blobs;
use super::catalog::Catalog;
use super::context::LastSurroundings;
use super::images::ImageRoom;
use super::inbox::Watch;
use super::list_changes::ListChanges;
use super::mailbox::Mailbox;
use super::outside::FileLooks;
use crate::client::ClientLink;
use crate::documents::Documents;
use crate::editor::{Abilities, EditTurns};
use crate::model::Models;
use crate::reviews::Reviews;
use crate::settings::own_files::OwnPlaces;
use crate::tools::ToolRegistry;
use crate::tools::paths::{Roots, WriteLocks};
use crate::tools::protected::Own;

/// Reads the settings of a world again if their file has changed.
pub type Reread = Box<dyn Fn(&World) + Send + Sync>;

/// What every session of a process shares.
pub struct World {
    pub documents: Documents,
    pub link: ClientLink,
    pub edit_turns: EditTurns,
    pub models: Models,
    /// The tools of the next run of each session. A run keeps the tools it began with.
    pub tools: ToolRegistry,
    pub settings: Mutex<Arc<Settings>>,
    /// Reads the settings again if their file has changed.
    pub reread: OnceLock<Reread>,
    pub catalog: Catalog,
    /// Where Adjutant's own files are.
    pub own: OwnPlaces,
    /// Locks for writing files of the workspace, shared by all servers.
    pub write_locks: WriteLocks,
    /// Limits the images that wait to be saved.
    pub images: ImageRoom,
    /// Wakes a session when a file arrives in its inbox.
    pub inboxes: Watch,
    /// Counts the reports of the client that files changed.
    pub file_reports: tokio::sync::watch::Sender<u64>,
    /// Which entries of the list of sessions may have changed.
    pub list_changes: ListChanges,
    /// Whether this process ends with one command of the user: it then opens sessions to record what it has seen.
    pub is_brief: bool,
    /// The applied changes of all sessions, for the review.
    pub reviews: Reviews,
    /// The session of each ask: all open asks of the sessions in memory (at most `MAX_OPEN`), and the
    /// closed asks that these sessions remember.
    pub asks: Mutex<HashMap<AskId, SessionId>>,
}

impl World {
    pub fn set_settings(&self, settings: Settings) {
        self.link.configure(&settings);
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// What the client can do. `complete` is false if a message of the client was lost, although it
    /// announced that it sends every open document.
    pub fn abilities(&self) -> Abilities {
        let can = self.link.abilities();
        Abilities { complete: can.complete && self.documents.are_complete(), ..can }
    }

    /// What happens to edits of a run that begins now. Edits are applied at once only where the client draws them for a
    /// review and says that its user trusts the workspace, unless the settings say otherwise.
    pub fn edits_mode(&self) -> EditsMode {
        let surfaces = self.link.surfaces();
        let reviews = surfaces.hunks && surfaces.trusted;
        self.settings().edits_mode.unwrap_or(if reviews { EditsMode::Review } else { EditsMode::Ask })
    }

    /// Adjutant's own files, for a workspace of these folders.
    pub fn own(&self, roots: &Roots) -> Own {
        let folders: Vec<&Path> = roots.paths().collect();
        Own::of(self.own.all(&self.settings(), &folders)).at_home(self.own.home.clone())
    }

    /// Returns the settings after a look at whether their file has changed.
    pub fn settings_now(&self) -> Arc<Settings> {
        if let Some(reread) = self.reread.get() {
            reread(self);
        }
        self.settings()
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the steps of one session use.
pub struct SessionWorld {
    pub world: Arc<World>,
    pub id: SessionId,
    pub roots: Roots,
    pub blobs: Arc<Blobs>,
    /// The session's folder.
    pub dir: PathBuf,
    pub mailbox: Mailbox,
    /// What the last looks at the files that the model knows found.
    pub looks: Mutex<FileLooks>,
    /// The surroundings as they were last seen.
    pub surroundings: LastSurroundings,
}
