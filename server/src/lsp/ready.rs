//! `initialize`: reads what the client can do, and makes the answer.

use adjutant_core::prompt::image::{MAX_BYTES, MAX_IMAGES, MAX_TOGETHER};
use adjutant_protocol::capability::{PromptCapabilities, ServerAgentCapabilities, ServerLimits, VERSION};
use adjutant_protocol::commands::COMMANDS;
use adjutant_protocol::methods::{Direction, METHODS};
use adjutant_protocol::session::Mode;
use adjutant_protocol::update::Update;
use tower_lsp::ls_types::{
    CodeLensOptions, ExecuteCommandOptions, HoverProviderCapability, InitializeParams, InitializeResult,
    OneOf, PositionEncodingKind, SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use super::configured::{self, Pulls};
use super::words::Words;
use super::{Ready, Server};
use crate::agent::{Agent, Opening, Result};
use crate::client::surfaces::Surfaces;
use crate::session::mailbox::{MAX_QUEUE, MAX_WORDS};
use crate::transport::{ErrorBody, code};

/// Makes the state of the connection, and the answer to `initialize`.
pub fn prepare(server: &Server, params: InitializeParams) -> Result<(Ready, InitializeResult)> {
    let (folders, mut problems) = configured::first_folders(&params);
    let capabilities = serde_json::to_value(&params.capabilities).map_err(|why| internal(why.into()))?;
    let client = params.client_info.as_ref();
    let name = client.map(|client| client.name.as_str());
    let version = client.and_then(|client| client.version.as_deref());
    let surfaces = Surfaces::of(&capabilities, name, version).map_err(ErrorBody::invalid_params)?;
    let result = answer(&surfaces);
    let face = Box::new(Words::new(&surfaces));
    let opening = Opening { folders, settings: params.initialization_options, surfaces, face };
    let opened = Agent::open(&server.out, &server.options, opening).map_err(internal)?;
    problems.extend(opened.problems);
    Ok((
        Ready { agent: opened.agent.into(), pulls: Pulls::default(), searches: Default::default(), problems },
        result,
    ))
}

fn internal(error: anyhow::Error) -> ErrorBody {
    ErrorBody::new(code::INTERNAL_ERROR, format!("{error:#}"))
}

fn answer(surfaces: &Surfaces) -> InitializeResult {
    let agent = ServerAgentCapabilities {
        // Version 0 is the only one, so it is used for every client.
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
        prompt_capabilities: PromptCapabilities { image: true, embedded_context: true },
        fallbacks: surfaces.table(),
        limits: ServerLimits {
            max_prompt_bytes: u32::try_from(MAX_WORDS).unwrap_or(u32::MAX),
            max_images: u32::try_from(MAX_IMAGES).unwrap_or(u32::MAX),
            max_image_bytes: u32::try_from(MAX_BYTES).unwrap_or(u32::MAX),
            max_images_encoded_bytes: u32::try_from(MAX_TOGETHER).unwrap_or(u32::MAX),
            max_queue: u32::try_from(MAX_QUEUE).unwrap_or(u32::MAX),
        },
    };
    let experimental = serde_json::json!({ "agent": agent });
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
            hover_provider: surfaces.hover.then_some(HoverProviderCapability::Simple(true)),
            code_lens_provider: surfaces.lenses.then_some(CodeLensOptions { resolve_provider: Some(false) }),
            completion_provider: super::prompt_buffers::provider(surfaces),
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
