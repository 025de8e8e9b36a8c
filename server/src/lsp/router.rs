//! Which function serves a message of an LSP client.
//!
//! Calls `LanguageServer` directly, without the framework's own loop (decision 001).

use std::future::ready;
use std::sync::{Arc, OnceLock};

use adjutant_protocol::methods::SESSION_CANCEL;
use serde_json::Value;
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc::Error;

use super::lifecycle::Lifecycle;
use super::{Server, actions, documents, prompt_buffers, text_before};
use crate::agent::{self, Serve, read};
use crate::transport::{Answer, Backend, ErrorBody, NotificationOutcome, Params, Serving, answer, code};

/// Methods that a client sends without an id; a request for one is refused.
const NOTIFICATIONS: [&str; 13] = [
    "initialized",
    "exit",
    "$/cancelRequest",
    "$/setTrace",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/didSave",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeWorkspaceFolders",
    "window/workDoneProgress/cancel",
    SESSION_CANCEL,
];

/// The methods of LSP and of `agent/*` for one connection.
pub struct Router {
    server: Arc<Server>,
    lifecycle: Lifecycle,
    /// Whether the client shows the tags of code actions; empty before `initialize`.
    tags: Arc<OnceLock<bool>>,
}

impl Router {
    pub fn new(server: Server) -> Self {
        Self { server: Arc::new(server), lifecycle: Lifecycle::new(), tags: Arc::default() }
    }

    fn initialize(&self, params: Option<Value>) -> Result<Serving<Answer>, ErrorBody> {
        let given = params.is_some();
        let shows_texts = text_before::is_known(params.as_ref());
        let (tags, shows_tags) = (self.tags.clone(), actions::shows_tags(params.as_ref()));
        let params = read(params);
        if given && let Err(why) = params {
            // Checked first, so that a second `initialize` gets this error too.
            return Err(why);
        }
        let (server, beginning) = (self.server.clone(), self.lifecycle.begin()?);
        let params = params?;
        Ok(Box::pin(async move {
            let result = server.initialize(params).await.map_err(body);
            if result.is_ok() {
                let _ = tags.set(shows_tags);
                beginning.succeeded();
            }
            text_before::announced(answer(result), shows_texts)
        }))
    }

    fn serve(&self, method: &str, params: Params) -> Result<Serving<Answer>, ErrorBody> {
        let server = self.server.clone();
        let readable = |params: Params| params.map_err(|why| ErrorBody::unreadable(&why));
        match method {
            "initialize" => return self.initialize(readable(params)?),
            // It has no params; those of some clients are ignored.
            "shutdown" => {
                self.lifecycle.shut_down()?;
                return Ok(Box::pin(async move { answer(server.shutdown().await.map_err(body)) }));
            }
            "exit" | "$/cancelRequest" => return Err(is_a_notification(method)),
            _ => self.lifecycle.serves()?,
        }
        let params = readable(params)?;
        Ok(match method {
            method if NOTIFICATIONS.contains(&method) => return Err(is_a_notification(method)),
            actions::METHOD => {
                let (params, agent) = (read(params)?, server.agent().map_err(body)?.clone());
                let tags = self.tags.get().copied().unwrap_or_default();
                Box::pin(async move { answer(Ok(actions::offered(&agent, &params, tags).await)) })
            }
            "workspace/executeCommand" => {
                let params = read(params)?;
                Box::pin(async move { answer(server.execute_command(params).await.map_err(body)) })
            }
            "textDocument/codeLens" => {
                let params = read(params)?;
                Box::pin(async move { answer(server.code_lens(params).await.map_err(body)) })
            }
            "textDocument/hover" => {
                let params = read(params)?;
                Box::pin(async move { answer(server.hover(params).await.map_err(body)) })
            }
            prompt_buffers::METHOD => {
                let (params, agent) = (read(params)?, server.agent().map_err(body)?.clone());
                Box::pin(async move { answer(Ok(prompt_buffers::completed(&agent, params).await)) })
            }
            text_before::METHOD => {
                let (params, agent) = (read(params)?, server.agent().map_err(body)?.clone());
                Box::pin(async move { answer(text_before::content(&agent, params).await) })
            }
            method => match agent::method(method) {
                Some(Serve::Request(serve)) => serve(self.server.agent().map_err(body)?.clone(), params),
                Some(Serve::Notification(_)) | None => return Err(ErrorBody::no_method(method)),
            },
        })
    }

    /// Begins a notification of LSP or `agent/*`; returns `Ok(None)` for an unknown one.
    fn note(&self, method: &str, params: Option<Value>) -> Result<Option<Serving<()>>, ErrorBody> {
        let server = self.server.clone();
        Ok(Some(match method {
            "initialized" => {
                let params = read(params)?;
                Box::pin(async move { server.initialized(params).await })
            }
            "textDocument/didOpen" => {
                let params = read(documents::with_language(params))?;
                Box::pin(async move { server.did_open(params).await })
            }
            "textDocument/didChange" => {
                let params = read(params)?;
                Box::pin(async move { server.did_change(params).await })
            }
            "textDocument/didClose" => {
                let params = read(params)?;
                Box::pin(async move { server.did_close(params).await })
            }
            "textDocument/didSave" => {
                let params = read(params)?;
                Box::pin(async move { server.did_save(params).await })
            }
            "workspace/didChangeConfiguration" => {
                let params = read(params)?;
                Box::pin(async move { server.did_change_configuration(params).await })
            }
            "workspace/didChangeWatchedFiles" => {
                let params = read(params)?;
                Box::pin(async move { server.did_change_watched_files(params).await })
            }
            "workspace/didChangeWorkspaceFolders" => {
                let params = read(params)?;
                Box::pin(async move { server.did_change_workspace_folders(params).await })
            }
            "window/workDoneProgress/cancel" => {
                let params = read(params)?;
                Box::pin(async move { server.progress_cancelled(&params) })
            }
            method => match agent::method(method) {
                Some(Serve::Notification(serve)) => serve(server.agent().map_err(body)?.clone(), params)?,
                Some(Serve::Request(_)) | None => return Ok(None),
            },
        }))
    }
}

fn is_a_notification(method: &str) -> ErrorBody {
    ErrorBody::new(code::INVALID_REQUEST, format!("\"{method}\" is a notification"))
}

impl Backend for Router {
    fn request(&self, method: &str, params: Params) -> Serving<Answer> {
        self.serve(method, params).unwrap_or_else(|error| Box::pin(ready(Err(error))))
    }

    fn notification(&self, method: &str, params: Params) -> NotificationOutcome {
        if method == "exit" {
            return NotificationOutcome::Exit { after_shutdown: self.lifecycle.is_shut_down() };
        }
        if self.lifecycle.serves().is_err() {
            tracing::debug!(method, "passed over a notification outside of a connection's life");
            return NotificationOutcome::PassedOver;
        }
        let noted = match params {
            Ok(params) => self.note(method, params),
            // These are requests, so there is nothing to do.
            Err(_) if ["initialize", "shutdown"].contains(&method) => Ok(None),
            // It may have been about any document, so every document becomes unsynced.
            Err(why) => return NotificationOutcome::Unreadable(why),
        };
        match noted {
            Ok(Some(serving)) => NotificationOutcome::Serving(serving),
            Ok(None) => NotificationOutcome::PassedOver,
            // Each change of a document counts: after a lost one, no text of the client is known.
            Err(why) if method.starts_with("textDocument/did") && method != "textDocument/didSave" => {
                NotificationOutcome::Unreadable(why.message)
            }
            Err(why) => {
                tracing::warn!(method, why = why.message, "could not read a notification");
                NotificationOutcome::PassedOver
            }
        }
    }

    fn lost(&self) {
        if self.lifecycle.serves().is_ok() {
            self.server.lost();
        }
    }
}

/// Converts an error of LSP's types for the transport.
fn body(error: Error) -> ErrorBody {
    ErrorBody { code: error.code.code(), message: error.message.into_owned(), data: error.data }
}

#[cfg(test)]
mod tests;
