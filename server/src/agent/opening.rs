//! Makes the [`Agent`] of one client, once its face knows what the client can do.
//!
//! Reads the settings. Never opens a socket: the first model call makes the HTTP client.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::configured::{ClientConfiguration, says_nothing};
use super::start::Starts;
use super::{Agent, Options};
use crate::client::face::Face;
use crate::client::surfaces::Surfaces;
use crate::client::{ClientLink, Level, Timing};
use crate::documents::Documents;
use crate::editor::EditTurns;
use crate::reviews::Reviews;
use crate::session::catalog::Catalog;
use crate::session::inbox::Watch;
use crate::session::watermark::Syncer;
use crate::session::{World, images, replay};
use crate::sessions::{Sessions, committing, listing, tracking, watching};
use crate::settings::load;
use crate::settings::own_files::OwnPlaces;
use crate::tools::paths::WriteLocks;
use crate::transport::Out;

/// What a client sends at the start.
pub struct Opening {
    pub folders: Vec<PathBuf>,
    /// The settings of its editor.
    pub settings: Option<Value>,
    /// What the client can do.
    pub surfaces: Surfaces,
    /// The adapter for what its protocol offers in addition to the `agent/*` methods.
    pub face: Box<dyn Face>,
}

/// The agent of one client, and the problems of its settings to show to the user.
pub struct OpenedAgent {
    pub agent: Agent,
    pub problems: Vec<String>,
}

impl Agent {
    /// Makes the agent of one client. Fails if there is no folder for the sessions.
    pub fn open(out: &Out, options: &Options, opening: Opening) -> anyhow::Result<OpenedAgent> {
        let Opening { folders, settings, surfaces, face } = opening;
        let mut sources = options.sources.clone();
        sources.roots.clone_from(&folders);
        sources.editor = settings.filter(|settings| !says_nothing(settings));
        let loaded = load(&sources);
        let (state_dir, state_problem) = sources.own_state_dir()?;
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
        tokio::spawn(replay::serve(catalog.clone(), wants.backfills));
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
            reread: Default::default(),
            catalog,
            own,
            write_locks: WriteLocks::in_state(&state_dir),
            images: images::ImageRoom::default(),
            inboxes: Watch::default(),
            file_reports: Default::default(),
            list_changes: Default::default(),
            is_brief: options.is_brief,
            reviews: Reviews::default(),
            asks: Mutex::new(HashMap::new()),
        });
        let sessions = Sessions::new(world);
        let (writer, over) = (sessions.clone(), out.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = writer.write_transcripts(wants.renders) => {}
                () = over.closed() => {}
            }
        });
        tokio::spawn(follow_until(sessions.clone(), out.clone()));
        let problems =
            state_problem.into_iter().chain(loaded.problems.iter().map(ToString::to_string)).collect();
        let configured = Arc::new(ClientConfiguration::new(sources, loaded.read));
        let reread = configured.clone();
        let _ = sessions.world().reread.set(Box::new(move |world: &World| {
            for problem in reread.refresh(world) {
                world.link.say(Level::Warning, &format!("Adjutant: {problem}"));
            }
        }));
        let probing = Arc::new(Semaphore::new(1));
        let (starts, names) = (Starts::default(), Default::default());
        let agent = Agent { sessions, configured, starts, probing, names, out: out.clone() };
        Ok(OpenedAgent { agent, problems })
    }
}

/// Follows the applied hunks of open documents, the commits that have them, and the list of sessions, until the connection is over.
async fn follow_until(sessions: Sessions, out: Out) {
    tokio::select! {
        () = tracking::follow(sessions.clone()) => {}
        () = committing::follow(sessions.clone()) => {}
        () = listing::follow(sessions.clone()) => {}
        () = watching::follow(sessions) => {}
        () = out.closed() => {}
    }
}
