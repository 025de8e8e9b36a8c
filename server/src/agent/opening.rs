//! What one client works with, made once its face knows what the client can do.
//!
//! Reads settings and opens no socket; the HTTP client comes with the first call.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::configured::{ClientConfiguration, says_nothing};
use super::start::Starts;
use super::{Agent, Options};
use crate::client::face::Face;
use crate::client::surfaces::Surfaces;
use crate::client::{ClientLink, Timing};
use crate::documents::Documents;
use crate::editor::EditTurns;
use crate::session::catalog::Catalog;
use crate::session::inbox::Watch;
use crate::session::watermark::Syncer;
use crate::session::{World, images, replay};
use crate::sessions::Sessions;
use crate::settings::load;
use crate::settings::own_files::OwnPlaces;
use crate::tools::paths::Turns;
use crate::transport::Out;

/// What a client says as it begins.
pub struct Opening {
    pub folders: Vec<PathBuf>,
    /// The settings it brings along.
    pub settings: Option<Value>,
    /// What it can do.
    pub surfaces: Surfaces,
    /// What its protocol has words for beside the methods of ours.
    pub face: Box<dyn Face>,
}

/// What a client works with, and what the user should be told of its settings.
pub struct OpenedAgent {
    pub agent: Agent,
    pub problems: Vec<String>,
}

impl Agent {
    /// Makes what a client works with. Fails where there is no place for the sessions.
    pub fn open(out: &Out, options: &Options, opening: Opening) -> anyhow::Result<OpenedAgent> {
        let Opening { folders, settings, surfaces, face } = opening;
        let mut sources = options.sources.clone();
        sources.roots.clone_from(&folders);
        sources.editor = settings.filter(|said| !says_nothing(said));
        let loaded = load(&sources);
        let (state_dir, state_told) = sources.own_state_dir()?;
        let documents = Documents::default();
        documents.set_encoding(surfaces.encoding);
        documents.set_folders(&folders);
        let timing = Timing {
            patience: Duration::from_millis(loaded.settings.limits.editor_ms),
            reaction: options.reaction,
        };
        let (link, wants) = ClientLink::open(out.clone(), face, surfaces, timing, documents.clone());
        link.set_popups(loaded.settings.popups);
        let syncer = Syncer::start()?;
        let catalog = Catalog::new(options.storage.clone(), syncer, &state_dir);
        tokio::spawn(replay::serve(catalog.clone(), wants.recalls));
        let own = OwnPlaces {
            settings: sources.user_file(),
            state: Some(state_dir.clone()),
            home: sources.home.clone(),
        };
        let world = Arc::new(World {
            documents,
            link,
            edit_turns: EditTurns::default(),
            models: options.models.clone(),
            tools: options.tools.clone(),
            settings: Mutex::new(Arc::new(loaded.settings)),
            catalog,
            own,
            turns: Turns::in_state(&state_dir),
            images: images::ImageRoom::default(),
            inboxes: Watch::default(),
            asks: Mutex::new(HashMap::new()),
        });
        let sessions = Sessions::new(world);
        let (writer, over) = (sessions.clone(), out.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = writer.write_transcripts(wants.papers) => {}
                () = over.closed() => {}
            }
        });
        let problems =
            state_told.into_iter().chain(loaded.problems.iter().map(ToString::to_string)).collect();
        let configured = ClientConfiguration::new(sources);
        let agent = Agent { sessions, configured, starts: Starts::default(), out: out.clone() };
        Ok(OpenedAgent { agent, problems })
    }
}
