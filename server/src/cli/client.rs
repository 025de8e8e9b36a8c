//! A headless LSP client of the server in this process: opening, requests,
//! closing.
//!
//! Never decides what an answer means. It gives every wait a time limit.

use std::path::PathBuf;
use std::time::Duration;

use adjutant_protocol::capability::{
    ClientAgentCapabilities, ClientAsks, ClientDocuments, ClientReview, ClientUpdates, ClientWindow,
    ClientWorkspace, VERSION,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::settings::Sources;
use crate::transport::client::{Incoming, connect};
use crate::transport::{Out, ReplyError};

use super::service;
use super::signals::{ProcessSignal, Signals};
use crate::uri;

/// How long a request may go unanswered; none of them waits for a model.
const REPLY_LIMIT: Duration = Duration::from_secs(60);
/// How long a notification may wait for room.
const SEND_LIMIT: Duration = Duration::from_secs(30);
/// How long the server may take to stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Why a request has no result, in a sentence for the user. The debug log names the method.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server refused.
    #[error("{message}")]
    Refused { code: i64, message: String },
    #[error("adjutant broke off: {why}; try again, with --debug for a log")]
    Broken { why: String },
}

/// The messages of the server, in their order.
pub type IncomingStream = mpsc::Receiver<Incoming>;

/// The sending half of a connection; cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    out: Out,
}

impl Client {
    /// Starts a server with these settings and initializes it with these folders.
    pub async fn start(sources: Sources, folders: &[PathBuf]) -> anyhow::Result<(Client, IncomingStream)> {
        let end = service::start_in_process(sources)?;
        let (out, incoming) = connect(end.reader, end.writer)?;
        let client = Client { out };
        let _: serde_json::Value = client.request("initialize", &initialize_params(folders)).await?;
        client.notify("initialized", &json!({})).await?;
        Ok((client, incoming))
    }

    /// Sends a request and waits for its result. If the server may send much meanwhile,
    /// the caller must drain it.
    pub async fn request<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<R, Failure> {
        match timeout(REPLY_LIMIT, self.out.request(method, params)).await {
            Ok(reply) => result_of(method, reply),
            Err(_) => Err(silent(method)),
        }
    }

    /// Sends a request as `request` does. A signal cancels it; `Err` is that signal, unless the result came first.
    pub async fn request_unless<R: DeserializeOwned>(
        &self,
        signals: &mut Signals,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<Result<R, Failure>, ProcessSignal> {
        let limit = tokio::time::sleep(REPLY_LIMIT);
        tokio::pin!(limit);
        let mut reply = self.out.request(method, params);
        let signal = tokio::select! {
            reply = &mut reply => return Ok(result_of(method, reply)),
            () = limit => return Ok(Err(silent(method))),
            signal = signals.next_signal() => signal,
        };
        reply.cancel();
        match timeout(STOP_LIMIT, reply).await {
            Ok(Ok(reply)) => Ok(result_of(method, Ok(reply))),
            _ => Err(signal),
        }
    }

    /// Sends a notification, waiting for room.
    pub async fn notify(&self, method: &'static str, params: &impl Serialize) -> Result<(), Failure> {
        match timeout(SEND_LIMIT, self.out.notify(method, params)).await {
            Ok(sent) => sent.map_err(|error| broken(method, error.to_string())),
            Err(_) => Err(broken(method, "its server does not read".to_owned())),
        }
    }

    /// Returns the connection itself, for answers, which never wait.
    pub fn out(&self) -> &Out {
        &self.out
    }

    /// Asks the server to stop and waits for it, bounded in time. `received` gets its messages until then.
    pub async fn stop(self, mut incoming: IncomingStream, received: impl Fn(Incoming)) {
        let drain = async {
            while let Some(message) = incoming.recv().await {
                received(message);
            }
        };
        let leave = async {
            // A failure while leaving does not matter.
            let _ = timeout(STOP_LIMIT, self.out.request("shutdown", &())).await;
            let _ = timeout(STOP_LIMIT, self.out.notify("exit", &())).await;
            self.out.close();
        };
        tokio::join!(leave, async {
            let _ = timeout(STOP_LIMIT * 2, drain).await;
        });
    }
}

fn broken(method: &str, why: String) -> Failure {
    tracing::warn!(method, why, "a request broke off");
    Failure::Broken { why }
}

fn silent(method: &str) -> Failure {
    broken(method, format!("its server gave no answer within {} s", REPLY_LIMIT.as_secs()))
}

/// Reads the result of a request.
fn result_of<R: DeserializeOwned>(
    method: &str,
    reply: Result<Box<RawValue>, ReplyError>,
) -> Result<R, Failure> {
    let reply = reply.map_err(|error| match error {
        ReplyError::Refused { code, message } => {
            tracing::debug!(method, code, message, "a request was refused");
            Failure::Refused { code, message }
        }
        other => broken(method, other.to_string()),
    })?;
    read(&reply).map_err(|error| broken(method, format!("the answer cannot be read ({error})")))
}

/// Reads a result or params.
pub fn read<T: DeserializeOwned>(raw: &RawValue) -> Result<T, serde_json::Error> {
    serde_json::from_str(raw.get())
}

fn initialize_params(folders: &[PathBuf]) -> serde_json::Value {
    let named = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        json!({ "uri": uri::of_path(folder), "name": name })
    };
    let agent = ClientAgentCapabilities {
        version: VERSION,
        updates: ClientUpdates { chunks: true, opt_out: Vec::new() },
        asks: ClientAsks { request: true, ..ClientAsks::default() },
        // Nothing is open here, so the server writes every file itself.
        documents: ClientDocuments { save: false, complete: true },
        review: ClientReview::default(),
        overview: false,
        sessions: false,
        workspace: ClientWorkspace::default(),
        window: ClientWindow::default(),
    };
    json!({
        "processId": std::process::id(),
        "clientInfo": { "name": "adjutant-cli", "version": env!("CARGO_PKG_VERSION") },
        "rootUri": folders.first().map(|folder| uri::of_path(folder)),
        "workspaceFolders": folders.iter().map(named).collect::<Vec<_>>(),
        "capabilities": {
            "general": { "positionEncodings": ["utf-8"] },
            "workspace": {
                "workspaceFolders": true,
            },
            "experimental": { "agent": agent },
        },
    })
}
