//! `initialize`: what the client can do, what we answer, and what is built then.
//!
//! Reads settings and opens no socket; the HTTP client comes with the first call.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant_core::position::Encoding;
use adjutant_protocol::capability::{
    ClientAgentCapabilities, ServerAgentCapabilities, ServerLimits, VERSION,
};
use adjutant_protocol::methods::{Direction, METHODS};
use adjutant_protocol::session::Mode;
use adjutant_protocol::update::Update;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::{
    ClientCapabilities, InitializeParams, InitializeResult, PositionEncodingKind, ResourceOperationKind,
    SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
};

use super::{Ready, Server};
use crate::documents::Documents;
use crate::doors::Doors;
use crate::editor::{Abilities, Editor};
use crate::session::World;
use crate::session::catalog::Catalog;
use crate::session::frontier::Syncer;
use crate::session::mailbox::MAX_QUEUE;
use crate::session::storage::Disk;
use crate::sessions::Sessions;
use crate::settings::{Sources, load};
use crate::uri;

/// The longest prompt.
pub const MAX_PROMPT_BYTES: usize = 1024 * 1024;

/// Builds what the connection works with, and the answer to `initialize`.
pub fn prepare(server: &Server, params: InitializeParams) -> Result<(Ready, InitializeResult)> {
    let folders = folders(&params);
    let mut sources = server.options.sources.clone();
    sources.roots = folders.clone();
    sources.editor = params.initialization_options.clone();
    let loaded = load(&sources);
    let state_dir = sources.state_dir().map_err(internal)?;

    let agent = agent_capabilities(&params.capabilities)?;
    let encoding = encoding(&params.capabilities);
    let abilities = abilities(&params.capabilities, agent.as_ref());
    let documents = Documents::default();
    documents.set_encoding(encoding);
    documents.set_folders(&folders);
    let patience = Duration::from_millis(loaded.settings.limits.editor_ms);
    let doors = Doors::open(server.out.clone(), agent.clone(), patience);
    let (editor, questions) = Editor::new(abilities);
    tokio::spawn(doors.clone().serve_editor(questions));
    let syncer = Syncer::start().map_err(|error| internal(error.into()))?;
    let own = [sources.user_file(), Some(state_dir.clone())];
    let world = Arc::new(World {
        documents,
        doors,
        editor,
        models: server.options.models.clone(),
        settings: Mutex::new(Arc::new(loaded.settings)),
        catalog: Catalog::new(Arc::new(Disk), syncer, &state_dir),
        own: own.into_iter().flatten().collect(),
        asks: Mutex::new(HashMap::new()),
    });
    let ready = Ready {
        sessions: Sessions::new(world),
        folders,
        problems: loaded.problems.iter().map(ToString::to_string).collect(),
        sources: Sources { editor: None, ..sources },
    };
    Ok((ready, answer(encoding)))
}

fn internal(error: anyhow::Error) -> Error {
    let mut answer = Error::internal_error();
    answer.message = format!("{error:#}").into();
    answer
}

fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let uris: Vec<&str> = match &params.workspace_folders {
        Some(folders) => folders.iter().map(|folder| folder.uri.as_str()).collect(),
        #[allow(deprecated)]
        None => params.root_uri.iter().map(|uri| uri.as_str()).collect(),
    };
    uris.into_iter().filter_map(|uri| uri::to_path(uri).ok()).collect()
}

fn agent_capabilities(client: &ClientCapabilities) -> Result<Option<ClientAgentCapabilities>> {
    let Some(agent) = client.experimental.as_ref().and_then(|experimental| experimental.get("agent")) else {
        return Ok(None);
    };
    serde_json::from_value(agent.clone())
        .map(Some)
        .map_err(|error| Error::invalid_params(format!("capabilities.experimental.agent: {error}")))
}

/// The client's first choice; utf-16 where it names none (decision 11).
fn encoding(client: &ClientCapabilities) -> Encoding {
    let offered = client.general.as_ref().and_then(|general| general.position_encodings.as_ref());
    offered
        .into_iter()
        .flatten()
        .find_map(|kind| Encoding::from_name(kind.as_str()))
        .unwrap_or(Encoding::Utf16)
}

fn abilities(client: &ClientCapabilities, agent: Option<&ClientAgentCapabilities>) -> Abilities {
    let workspace = client.workspace.as_ref();
    let edits = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
    let operations = edits.and_then(|edit| edit.resource_operations.as_ref());
    Abilities {
        apply_edit: workspace.and_then(|workspace| workspace.apply_edit).unwrap_or(false),
        document_changes: edits.and_then(|edit| edit.document_changes).unwrap_or(false),
        create_files: operations.is_some_and(|known| known.contains(&ResourceOperationKind::Create)),
        save: agent.is_some_and(|agent| agent.documents.save),
        complete: agent.is_some_and(|agent| agent.documents.complete),
    }
}

fn answer(encoding: Encoding) -> InitializeResult {
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
        fallbacks: BTreeMap::new(),
        limits: ServerLimits {
            max_prompt_bytes: u32::try_from(MAX_PROMPT_BYTES).unwrap_or(u32::MAX),
            max_queue: u32::try_from(MAX_QUEUE).unwrap_or(u32::MAX),
        },
    };
    let experimental = serde_json::json!({ "agent": ours });
    InitializeResult {
        capabilities: ServerCapabilities {
            position_encoding: Some(PositionEncodingKind::new(encoding.name())),
            text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                    include_text: Some(false),
                })),
                ..TextDocumentSyncOptions::default()
            })),
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
