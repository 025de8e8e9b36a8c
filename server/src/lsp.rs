//! The LSP door in: parse, post, answer.
//!
//! Holds no agent state and never waits for the editor, a file or a model in a
//! handler; a handler posts and returns the future of the reply.

mod actions;
mod agent;
mod commands;
mod configured;
mod content;
mod documents;
mod parent;
mod ready;
mod reopen;
mod start;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use adjutant_protocol::errors::ErrorDetail;
use adjutant_protocol::methods;
use tokio::sync::watch;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types::{
    CodeActionParams, CodeActionResponse, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, ExecuteCommandParams, InitializeParams, InitializeResult, InitializedParams,
    LSPAny, MessageType, ShowMessageParams,
};
use tower_lsp::{LanguageServer, LspService};

use crate::doors::{REACTION, message};
use crate::model::Models;
use crate::session::mailbox::Refused;
use crate::session::storage::{Disk, Storage};
use crate::sessions::Sessions;
use crate::settings::Sources;
use crate::tools::Shelf;
use crate::transport::{self, Ended, Out};

/// What a server is started with.
#[derive(Clone)]
pub struct Options {
    /// Everything settings come from, but for workspace and editor.
    pub sources: Sources,
    pub models: Models,
    /// The tools of its runs; one that is added later counts from the next run on.
    pub tools: Shelf,
    /// How long an approval in a popup has to have been on the screen before it counts.
    pub reaction: Duration,
    /// The disk that sessions are kept on; a test hands in its twin.
    pub storage: Arc<dyn Storage>,
}

impl Options {
    pub fn new(sources: Sources, models: Models) -> Self {
        models.start_key_commands_by(crate::tools::process::run_own);
        let (tools, storage) = (Shelf::default(), Arc::new(Disk));
        Self { sources, models, tools, reaction: REACTION, storage }
    }
}

/// The language server of one connection.
pub struct Server {
    out: Out,
    options: Options,
    ready: OnceLock<Ready>,
    parent: parent::Named,
}

/// What exists once the client has said what it can do.
struct Ready {
    sessions: Sessions,
    configured: configured::Configured,
    /// What was wrong with the settings, told after `initialized`.
    problems: Vec<String>,
    /// What was started by this connection.
    starts: start::Starts,
}

/// Serves one connection until it ends, until the client's process is gone, or until somebody else
/// ends it, then stops every session.
pub async fn serve_until(
    options: Options,
    reader: impl std::io::Read + Send + 'static,
    writer: impl std::io::Write + Send + 'static,
    over: impl Future<Output = ()>,
) -> Ended {
    let slot: Arc<OnceLock<Sessions>> = Arc::default();
    let (parent, named) = watch::channel(None);
    let ended = tokio::select! {
        ended = connection((options, parent), slot.clone(), reader, writer) => ended,
        () = over => Ended::InputClosed,
        () = parent::gone(named) => Ended::InputClosed,
    };
    if let Some(sessions) = slot.get() {
        sessions.stop_all().await;
    }
    ended
}

/// Serves one connection until it ends, then stops every session.
pub async fn serve(
    options: Options,
    reader: impl std::io::Read + Send + 'static,
    writer: impl std::io::Write + Send + 'static,
) -> Ended {
    serve_until(options, reader, writer, std::future::pending()).await
}

async fn connection(
    (options, parent): (Options, parent::Named),
    shared: Arc<OnceLock<Sessions>>,
    reader: impl std::io::Read + Send + 'static,
    writer: impl std::io::Write + Send + 'static,
) -> Ended {
    let (out, parts) = transport::channel();
    let service = LspService::build(move |_| Shared {
        server: Server { out, options, ready: OnceLock::new(), parent },
        sessions: shared,
    })
    .custom_method(transport::LOST, Shared::lost)
    .custom_method(methods::SESSION_NEW, Shared::session_new)
    .custom_method(methods::SESSION_LIST, Shared::session_list)
    .custom_method(methods::SESSION_RESUME, Shared::session_resume)
    .custom_method(methods::SESSION_CLOSE, Shared::session_close)
    .custom_method(methods::SESSION_SET_CONFIG_OPTION, Shared::set_option)
    .custom_method(methods::MODEL_LIST, Shared::model_list)
    .custom_method(methods::SESSION_DELETE, Shared::session_delete)
    .custom_method(methods::SESSION_PROMPT, Shared::session_prompt)
    .custom_method(methods::SESSION_WAIT, Shared::session_wait)
    .custom_method(methods::SESSION_CANCEL, Shared::session_cancel)
    .custom_method(methods::START, Shared::start)
    .custom_method("window/workDoneProgress/cancel", Shared::progress_cancelled)
    .custom_method(methods::ASK_LIST, Shared::ask_list)
    .custom_method(methods::ASK_RESPOND, Shared::ask_respond)
    .finish();
    transport::serve(service, parts, reader, writer).await
}

/// The server with the place where its sessions are found when the connection is over.
struct Shared {
    server: Server,
    sessions: Arc<OnceLock<Sessions>>,
}

impl Server {
    /// Tells the user what is wrong with the settings; without room it is in the log alone.
    fn warn(&self, problems: &[String]) {
        for problem in problems {
            self.say(MessageType::WARNING, problem);
        }
    }

    /// Says something to the user; without room it is in the log alone.
    fn say(&self, typ: MessageType, text: &str) {
        let params = ShowMessageParams { typ, message: message(&format!("Adjutant: {text}")) };
        if let Err(error) = self.out.try_notify("window/showMessage", &params) {
            tracing::warn!(%error, text, "the user was not told");
        }
    }
}

impl Shared {
    /// A message could not be read: it may have been a change of any document.
    async fn lost(&self) {
        if let Ok(ready) = self.ready() {
            ready.sessions.world().documents.lost();
        }
    }

    fn ready(&self) -> Result<&Ready> {
        let ready = self.server.ready.get().ok_or_else(|| Error::new(ErrorCode::ServerError(-32002)))?;
        // Settings that have arrived count for whatever is handled from now on.
        self.server.warn(&ready.configured.catch_up(ready.sessions.world()));
        Ok(ready)
    }

    /// Asks the client for its settings, where it answers.
    async fn pull(&self, ready: &Ready) {
        let world = ready.sessions.world();
        if world.doors.surfaces().configuration {
            let asked = ready.configured.pull(&self.server.out);
            self.server.warn(&ready.configured.pulled(world, asked).await);
        }
    }
}

impl LanguageServer for Shared {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let process = params.process_id;
        let (ready, result) = ready::prepare(&self.server, params)?;
        self.server.parent.send_replace(process);
        let _ = self.sessions.set(ready.sessions.clone());
        if self.server.ready.set(ready).is_err() {
            return Err(Error::invalid_request());
        }
        Ok(result)
    }

    async fn initialized(&self, _: InitializedParams) {
        let Ok(ready) = self.ready() else { return };
        self.server.warn(&ready.problems);
        ready.sessions.sweep();
        // A client that takes asks itself also lists and resumes by itself.
        if !ready.sessions.world().doors.surfaces().asks_by_request {
            // Off the way of what the client sends next: this reads the disk.
            tokio::spawn(reopen::left_open(ready.sessions.clone(), ready.configured.folders()));
        }
        // Registered first, so that a change behind the answer is not missed.
        let registered = configured::register(&self.server.out, ready.sessions.world().doors.surfaces());
        let absent = async { self.server.warn(&configured::absent(ready.configured.folders()).await) };
        tokio::join!(registered, self.pull(ready), absent);
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        Ok(Some(actions::offered(self.ready()?, &params)))
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        self.command(params).await
    }

    async fn shutdown(&self) -> Result<()> {
        if let Ok(ready) = self.ready() {
            ready.sessions.stop_all().await;
            // Behind the answer nothing may be sent any more.
            ready.sessions.world().doors.finish().await;
        }
        Ok(())
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        let Ok(ready) = self.ready() else { return };
        let settings = params.settings;
        if configured::says_nothing(&settings) {
            // "Something changed": what it is has to be asked for.
            return self.pull(ready).await;
        }
        let section = settings.get("adjutant").cloned().unwrap_or(settings);
        self.server.warn(&ready.configured.push(ready.sessions.world(), section));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let Ok(ready) = self.ready() else { return };
        let problems = ready.configured.change_folders(ready.sessions.world(), &params.event);
        self.server.warn(&problems);
        self.server.warn(&configured::absent(configured::added(&params.event)).await);
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        if let Ok(ready) = self.ready() {
            documents::opened(&ready.sessions.world().documents, params);
        }
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        if let Ok(ready) = self.ready() {
            documents::changed(&ready.sessions.world().documents, params);
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        if let Ok(ready) = self.ready() {
            ready.sessions.world().documents.closed(params.text_document.uri.as_str());
        }
    }

    async fn did_save(&self, _: DidSaveTextDocumentParams) {
        if let Ok(ready) = self.ready() {
            ready.sessions.world().documents.saved();
        }
    }
}

/// An error of ours in the shape of JSON-RPC.
fn error(refused: Refused) -> Error {
    Error {
        code: ErrorCode::ServerError(refused.name.code()),
        message: refused.message.into(),
        data: serde_json::to_value(ErrorDetail::of(refused.name)).ok(),
    }
}
