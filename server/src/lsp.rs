//! The LSP server: it parses, posts and answers.
//!
//! Holds no state of the agent. A handler never waits for the editor, a file or a model.

mod actions;
mod commands;
mod configured;
mod documents;
pub mod fallbacks;
mod hover;
mod lenses;
mod lifecycle;
mod parent;
mod prompt_buffers;
mod ready;
mod router;
mod text_before;
mod words;

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types::{
    CodeLens, CodeLensParams, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, ExecuteCommandParams, Hover, HoverParams,
    InitializeParams, InitializeResult, InitializedParams, LSPAny, MessageType, ShowMessageParams,
    WorkDoneProgressCancelParams,
};

pub use crate::agent::Options;
use crate::agent::configured::{absent, says_nothing};
use crate::agent::{Agent, reopen};
use crate::client::message;
use crate::sessions::{Sessions, unreviewed};
use crate::transport::{self, ConnectionEnd, ErrorBody, Out};
use configured::Pulls;
use router::Router;

/// The language server of one connection.
pub struct Server {
    out: Out,
    options: Options,
    ready: OnceLock<Ready>,
    parent: parent::ParentProcess,
    /// The sessions, to stop them when the connection is over.
    sessions: Arc<OnceLock<Sessions>>,
}

/// The state that exists after `initialize`.
struct Ready {
    agent: Arc<Agent>,
    pulls: Pulls,
    searches: hover::LastSearch,
    /// Problems of the settings, shown after `initialized`.
    problems: Vec<String>,
}

/// Serves one connection until it ends, until the client's process is gone, or until `over` is done.
/// Then stops every session.
pub async fn serve_until(
    options: Options,
    reader: impl std::io::Read + Send + 'static,
    writer: impl std::io::Write + Send + 'static,
    over: impl Future<Output = ()>,
) -> ConnectionEnd {
    let sessions: Arc<OnceLock<Sessions>> = Arc::default();
    let (parent, named) = watch::channel(None);
    let (out, parts) = transport::channel();
    let server = Server { out, options, ready: OnceLock::new(), parent, sessions: sessions.clone() };
    let ended = tokio::select! {
        ended = transport::serve(Router::new(server), parts, reader, writer) => ended,
        () = over => ConnectionEnd::InputClosed,
        () = parent::gone(named) => ConnectionEnd::InputClosed,
    };
    if let Some(sessions) = sessions.get() {
        sessions.stop_all().await;
    }
    ended
}

/// Serves one connection until it ends, then stops every session.
pub async fn serve(
    options: Options,
    reader: impl std::io::Read + Send + 'static,
    writer: impl std::io::Write + Send + 'static,
) -> ConnectionEnd {
    serve_until(options, reader, writer, std::future::pending()).await
}

impl Server {
    /// Shows problems of the settings to the user; without room they are only logged.
    fn warn(&self, problems: &[String]) {
        for problem in problems {
            self.say(MessageType::WARNING, problem);
        }
    }

    /// Shows a message to the user; without room it is only logged.
    fn say(&self, typ: MessageType, text: &str) {
        let params = ShowMessageParams { typ, message: message(&format!("Adjutant: {text}")) };
        if let Err(error) = self.out.try_notify("window/showMessage", &params) {
            tracing::warn!(%error, text, "the message was not shown to the user");
        }
    }

    /// Marks every open document as unsynced: an unreadable message may have changed any of them.
    fn lost(&self) {
        if let Some(ready) = self.ready() {
            ready.agent.sessions.world().documents.lost();
        }
    }

    /// Returns the state of the connection; `None` before `initialize`.
    fn ready(&self) -> Option<&Ready> {
        let ready = self.ready.get()?;
        // Settings that have arrived apply to the message that is handled now.
        self.warn(&ready.pulls.catch_up(&ready.agent));
        Some(ready)
    }

    fn agent(&self) -> Result<&Arc<Agent>> {
        self.ready().map(|ready| &ready.agent).ok_or_else(|| rejected(lifecycle::not_initialized()))
    }

    /// Handles the cancel button of a progress; `LanguageServer` has no method for it.
    fn progress_cancelled(&self, params: &WorkDoneProgressCancelParams) {
        if let Ok(agent) = self.agent() {
            commands::cancel::progress_cancelled(agent, params);
        }
    }

    /// Asks the client for its settings, if it supports that.
    async fn pull(&self, Ready { agent, pulls, .. }: &Ready) {
        if agent.sessions.world().link.surfaces().configuration {
            let asked = pulls.pull(&self.out);
            self.warn(&pulls.pulled(agent, asked).await);
        }
    }
}

impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let process = params.process_id;
        let (ready, result) = ready::prepare(self, params).map_err(rejected)?;
        self.parent.send_replace(process);
        let _ = self.sessions.set(ready.agent.sessions.clone());
        if self.ready.set(ready).is_err() {
            return Err(Error::invalid_request());
        }
        Ok(result)
    }

    async fn initialized(&self, _: InitializedParams) {
        let Some(ready) = self.ready() else { return };
        let agent = &ready.agent;
        self.warn(&ready.problems);
        agent.sessions.sweep();
        // A client that handles asks itself also lists and resumes sessions itself.
        let world = agent.sessions.world();
        let surfaces = world.link.surfaces();
        // Not before, because nothing may be sent before the answer to `initialize`.
        world.link.configure(&world.settings());
        if !surfaces.asks_by_request {
            // In a task of its own, because it reads the disk.
            tokio::spawn(reopen::left_open(agent.sessions.clone(), agent.configured.folders()));
        }
        let (sessions, folders) = (agent.sessions.clone(), agent.configured.folders());
        tokio::spawn(async move { drop(unreviewed::load(&sessions, folders, false).await) });
        // Registered first, so that no change after the answer is missed.
        let registered = configured::register(&self.out, surfaces);
        let absent = async { self.warn(&absent(agent.configured.folders()).await) };
        tokio::join!(registered, self.pull(ready), absent);
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        Ok(Some(lenses::of_document(self.agent()?, &params).await))
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let ready = self.ready().ok_or_else(|| rejected(lifecycle::not_initialized()))?;
        Ok(hover::at(&ready.agent, &ready.searches, &params).await)
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        commands::command(self.agent()?, params).await.map_err(rejected)
    }

    async fn shutdown(&self) -> Result<()> {
        if let Ok(agent) = self.agent() {
            agent.sessions.stop_all().await;
            // Nothing may be sent after the answer.
            agent.sessions.world().link.finish().await;
        }
        Ok(())
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        let Some(ready) = self.ready() else { return };
        let settings = params.settings;
        if says_nothing(&settings) {
            // It says only that something changed, so ask for the settings.
            return self.pull(ready).await;
        }
        let section = settings.get("adjutant").cloned().unwrap_or(settings);
        self.warn(&ready.pulls.push(&ready.agent, section));
    }

    /// What the report names does not matter: the sessions look at the files that they know.
    async fn did_change_watched_files(&self, _: DidChangeWatchedFilesParams) {
        if let Ok(agent) = self.agent() {
            agent.sessions.world().file_reports.send_modify(|count| *count += 1);
        }
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let Ok(agent) = self.agent() else { return };
        self.warn(&configured::change_folders(agent, &params.event));
        self.warn(&absent(configured::added(&params.event)).await);
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        if let Ok(agent) = self.agent() {
            documents::opened(&agent.sessions.world().documents, params);
        }
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        if let Ok(agent) = self.agent() {
            documents::changed(&agent.sessions.world().documents, params);
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        if let Ok(agent) = self.agent() {
            agent.sessions.world().documents.closed(params.text_document.uri.as_str());
        }
    }

    async fn did_save(&self, _: DidSaveTextDocumentParams) {
        if let Ok(agent) = self.agent() {
            agent.sessions.world().documents.saved();
        }
    }
}

/// Converts an error to the type that the methods of LSP return.
fn rejected(error: ErrorBody) -> Error {
    Error { code: ErrorCode::from(error.code), message: error.message.into(), data: error.data }
}
