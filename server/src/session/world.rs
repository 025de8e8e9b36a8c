//! What the sessions of a process share, and what the steps of one need of it.
//!
//! Holds nothing about a run: that is in the session's log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::config::Settings;
use adjutant_protocol::{AskId, SessionId};

use super::blobs::Blobs;
use super::catalog::Catalog;
use super::images::ImageRoom;
use super::inbox::Watch;
use super::mailbox::Mailbox;
use crate::client::ClientLink;
use crate::documents::Documents;
use crate::editor::{Abilities, EditTurns};
use crate::model::Models;
use crate::settings::own_files::OwnPlaces;
use crate::tools::Shelf;
use crate::tools::paths::{Roots, Turns};
use crate::tools::protected::Own;

/// What every session of a process shares.
pub struct World {
    pub documents: Documents,
    pub link: ClientLink,
    pub edit_turns: EditTurns,
    pub models: Models,
    /// The tools of the next run of each session. A run keeps those it began with.
    pub tools: Shelf,
    pub settings: Mutex<Arc<Settings>>,
    pub catalog: Catalog,
    /// Where Adjutant's own files are.
    pub own: OwnPlaces,
    /// Turns at writing the files of the workspace, between all servers.
    pub turns: Turns,
    /// Where images wait until they are kept.
    pub images: ImageRoom,
    /// Tells sessions that somebody left an answer in their inbox.
    pub inboxes: Watch,
    /// Which session an ask belongs to: of each session in memory, of which there are at most
    /// `MAX_OPEN`, the open ones and as many closed ones as it remembers.
    pub asks: Mutex<HashMap<AskId, SessionId>>,
}

impl World {
    pub fn set_settings(&self, settings: Settings) {
        self.link.set_popups(settings.popups);
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// What the client can do; what it has announced is not believed to be all where a message of
    /// it was lost.
    pub fn abilities(&self) -> Abilities {
        let can = self.link.abilities();
        Abilities { complete: can.complete && self.documents.are_complete(), ..can }
    }

    /// Adjutant's own files as a workspace of these folders has to know them.
    pub fn own(&self, roots: &Roots) -> Own {
        let folders: Vec<&Path> = roots.paths().collect();
        Own::of(self.own.all(&self.settings(), &folders)).at_home(self.own.home.clone())
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the steps of one session need of it.
pub struct SessionWorld {
    pub world: Arc<World>,
    pub id: SessionId,
    pub roots: Roots,
    pub blobs: Arc<Blobs>,
    /// The session's folder.
    pub dir: PathBuf,
    pub mailbox: Mailbox,
}
