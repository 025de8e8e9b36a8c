//! `initialize`: what the client can do, what we answer, and what is built then.
//!
//! Reads settings and opens no socket; the HTTP client comes with the first call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant_core::image::{MAX_BYTES, MAX_IMAGES, MAX_TOGETHER};
use adjutant_protocol::capability::{PromptCapabilities, ServerAgentCapabilities, ServerLimits, VERSION};
use adjutant_protocol::commands::COMMANDS;
use adjutant_protocol::methods::{Direction, METHODS};
use adjutant_protocol::session::Mode;
use adjutant_protocol::update::Update;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::{
    ExecuteCommandOptions, InitializeParams, InitializeResult, OneOf, PositionEncodingKind, SaveOptions,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};

use super::configured::{self, Configured};
use super::{Ready, Server};
use crate::documents::Documents;
use crate::doors::fallbacks::Surfaces;
use crate::doors::{Doors, Timing};
use crate::editor::Editor;
use crate::session::World;
use crate::session::catalog::Catalog;
use crate::session::frontier::Syncer;
use crate::session::images;
use crate::session::inbox::Watch;
use crate::session::mailbox::{MAX_QUEUE, MAX_WORDS};
use crate::session::past;
use crate::sessions::Sessions;
use crate::settings::load;
use crate::settings::own_files::OwnPlaces;
use crate::tools::paths::Turns;

/// Builds what the connection works with, and the answer to `initialize`.
pub fn prepare(server: &Server, params: InitializeParams) -> Result<(Ready, InitializeResult)> {
    let (folders, wrong) = configured::first_folders(&params);
    let mut sources = server.options.sources.clone();
    sources.roots = folders.clone();
    sources.editor = params.initialization_options.clone().filter(|said| !configured::says_nothing(said));
    let loaded = load(&sources);
    let (state_dir, state_told) = sources.own_state_dir().map_err(internal)?;

    let said = serde_json::to_value(&params.capabilities).map_err(|error| internal(error.into()))?;
    let name = params.client_info.as_ref().map(|client| client.name.as_str());
    let surfaces = Surfaces::of(&said, name).map_err(Error::invalid_params)?;
    let result = answer(&surfaces);
    let documents = Documents::default();
    documents.set_encoding(surfaces.encoding);
    documents.set_folders(&folders);
    let timing = Timing {
        patience: Duration::from_millis(loaded.settings.limits.editor_ms),
        reaction: server.options.reaction,
    };
    let (editor, questions) = Editor::new(surfaces.abilities);
    let (doors, wants) = Doors::open(server.out.clone(), surfaces, timing, documents.clone());
    doors.set_popups(loaded.settings.popups);
    tokio::spawn(doors.clone().serve_editor(questions));
    let syncer = Syncer::start().map_err(|error| internal(error.into()))?;
    let catalog = Catalog::new(server.options.storage.clone(), syncer, &state_dir);
    tokio::spawn(past::serve(catalog.clone(), wants.recalls));
    let own = OwnPlaces {
        settings: sources.user_file(),
        state: Some(state_dir.clone()),
        home: sources.home.clone(),
    };
    let world = Arc::new(World {
        documents,
        doors,
        editor,
        models: server.options.models.clone(),
        tools: server.options.tools.clone(),
        settings: Mutex::new(Arc::new(loaded.settings)),
        catalog,
        own,
        turns: Turns::in_state(&state_dir),
        images: images::Room::default(),
        inboxes: Watch::default(),
        asks: Mutex::new(HashMap::new()),
    });
    let sessions = Sessions::new(world);
    let (writer, over) = (sessions.clone(), server.out.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = writer.write_papers(wants.papers) => {}
            () = over.closed() => {}
        }
    });
    let ready = Ready {
        sessions,
        problems: wrong
            .into_iter()
            .chain(state_told)
            .chain(loaded.problems.iter().map(ToString::to_string))
            .collect(),
        configured: Configured::new(sources),
        starts: super::start::Starts::default(),
    };
    Ok((ready, result))
}

fn internal(error: anyhow::Error) -> Error {
    let mut answer = Error::internal_error();
    answer.message = format!("{error:#}").into();
    answer
}

fn answer(surfaces: &Surfaces) -> InitializeResult {
    let ours = ServerAgentCapabilities {
        // Version 0 is the only one, so whatever the client knows, this is what is used.
        version: VERSION,
        session_methods: METHODS
            .iter()
            .filter(|method| {
                matches!(method.direction, Direction::ClientRequest | Direction::ClientNotification)
            })
            .map(|method| method.name.trim_start_matches("agent/").to_owned())
            .collect(),
        update_kinds: Update::KINDS.iter().map(|(kind, _)| (*kind).to_owned()).collect(),
        modes: Mode::ALL.iter().map(|mode| mode.name().to_owned()).collect(),
        prompt_capabilities: PromptCapabilities { image: true },
        fallbacks: surfaces.table(),
        limits: ServerLimits {
            max_prompt_bytes: u32::try_from(MAX_WORDS).unwrap_or(u32::MAX),
            max_images: u32::try_from(MAX_IMAGES).unwrap_or(u32::MAX),
            max_image_bytes: u32::try_from(MAX_BYTES).unwrap_or(u32::MAX),
            max_images_encoded_bytes: u32::try_from(MAX_TOGETHER).unwrap_or(u32::MAX),
            max_queue: u32::try_from(MAX_QUEUE).unwrap_or(u32::MAX),
        },
    };
    let experimental = serde_json::json!({ "agent": ours });
    InitializeResult {
        capabilities: ServerCapabilities {
            position_encoding: Some(PositionEncodingKind::new(surfaces.encoding.name())),
            text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                    include_text: Some(false),
                })),
                ..TextDocumentSyncOptions::default()
            })),
            workspace: Some(WorkspaceServerCapabilities {
                workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: Some(OneOf::Left(true)),
                }),
                ..WorkspaceServerCapabilities::default()
            }),
            code_action_provider: Some(super::actions::provider(surfaces.action_literals)),
            execute_command_provider: Some(ExecuteCommandOptions {
                commands: COMMANDS.iter().map(|command| command.name.to_owned()).collect(),
                ..ExecuteCommandOptions::default()
            }),
            experimental: Some(experimental),
            ..ServerCapabilities::default()
        },
        server_info: Some(ServerInfo {
            name: "adjutant".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
        ..InitializeResult::default()
    }
}
