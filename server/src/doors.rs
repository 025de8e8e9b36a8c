//! The ways out: how an ask, an update, an edit reaches this client.
//!
//! The only seat of "which door", by what the client can do. Holds no agent
//! state: an answer goes back to whoever asked.

mod face;
mod outlet;

use std::time::Duration;

use adjutant_protocol::ask::{AskResolvedParams, AskView, PermissionOutcome, PermissionResponse};
use adjutant_protocol::capability::ClientAgentCapabilities;
use adjutant_protocol::document::{DocumentSaveParams, DocumentSaveResult};
use adjutant_protocol::methods;
use adjutant_protocol::update::SessionUpdateParams;
use serde_json::json;
use tokio::sync::mpsc;

use crate::editor::{Applied, DocumentEdit, NoAnswer, Question};
use crate::transport::{Out, ReplyError};

use face::Face;
pub use face::OpenRun;
use outlet::Outlet;
pub use outlet::Turnstile;

/// How long a client that is leaving may take to read the last updates.
const FAREWELL_LIMIT: Duration = Duration::from_millis(300);

/// The doors of one connection; clones share them.
#[derive(Clone)]
pub struct Doors {
    outlet: Outlet,
    face: Face,
    client: ClientAgentCapabilities,
    /// Whether the client said anything under `experimental.agent`.
    rich: bool,
    /// How long the client may take to apply an edit or to save before it counts as silent.
    patience: Duration,
}

/// What became of one delivery of an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    Outcome(PermissionOutcome),
    /// This door is closed or was never there; the ask stays open.
    Closed,
}

impl Doors {
    /// Opens the doors of a connection; `None` is a plain client.
    pub fn open(out: Out, client: Option<ClientAgentCapabilities>, patience: Duration) -> Self {
        let rich = client.is_some();
        Self {
            outlet: Outlet::start(out),
            face: Face::default(),
            client: client.unwrap_or_default(),
            rich,
            patience,
        }
    }

    /// What is open at this client, for code actions, commands and what a plain client is shown.
    pub fn face(&self) -> &Face {
        &self.face
    }

    /// Tells one update, in order; a plain client gets nothing of ours.
    pub fn update(&self, params: SessionUpdateParams) {
        self.face.told(&params);
        let kind = params.update.kind();
        let chunk = kind.ends_with("_chunk");
        let wanted = self.rich
            && (self.client.updates.chunks || !chunk)
            && !self.client.updates.opt_out.iter().any(|out| out == kind);
        if wanted {
            self.outlet.push(params);
        }
    }

    /// Says that an ask closed, behind the updates told before.
    pub fn resolved(&self, params: AskResolvedParams) {
        if self.rich {
            self.outlet.resolved(params);
        }
    }

    /// Tells what is still to be told, bounded in time, and nothing after that.
    pub async fn finish(&self) {
        self.outlet.finish(FAREWELL_LIMIT).await;
    }

    /// Marks the place of an answer among the updates: those told before it are sent before it,
    /// those told after it behind it.
    pub fn turnstile(&self) -> Turnstile {
        self.outlet.turnstile()
    }

    /// Puts an ask before the user and waits for the answer, for as long as it takes.
    /// Dropping the future withdraws it.
    pub async fn deliver(&self, ask: &AskView) -> Delivery {
        if !self.client.asks.request {
            return Delivery::Closed;
        }
        // Behind the update that opens the ask, and before the one that closes it (protocol
        // section 6, rule 2).
        let request = self.outlet.request(methods::REQUEST_PERMISSION, json!(ask)).await;
        let Some(reply) = request else { return Delivery::Closed };
        match reply.await {
            Ok(value) => match serde_json::from_str::<PermissionResponse>(value.get()) {
                Ok(response) => match response.outcome {
                    PermissionOutcome::Cancelled => Delivery::Closed,
                    outcome => Delivery::Outcome(outcome),
                },
                Err(error) => {
                    // A malformed answer is never an approval (rule b).
                    tracing::warn!(%error, ask = %ask.ask_id, "the client's answer makes no sense");
                    Delivery::Closed
                }
            },
            Err(error) => {
                tracing::info!(%error, ask = %ask.ask_id, "the client did not take the ask");
                Delivery::Closed
            }
        }
    }

    /// Answers the questions of tools until nobody can ask any more.
    pub async fn serve_editor(self, mut questions: mpsc::Receiver<Question>) {
        while let Some(question) = questions.recv().await {
            let doors = self.clone();
            tokio::spawn(async move { doors.answer(question).await });
        }
    }

    async fn answer(&self, question: Question) {
        match question {
            Question::ApplyEdit { edit, mut answer } => {
                // Not asked any more: dropping the request withdraws it at the client.
                tokio::select! {
                    reply = self.apply(&edit) => { let _ = answer.send(reply); }
                    () = answer.closed() => {}
                }
            }
            Question::Save { uri, reason, mut answer } => {
                tokio::select! {
                    reply = self.save(uri, reason) => { let _ = answer.send(reply); }
                    () = answer.closed() => {}
                }
            }
        }
    }

    async fn apply(&self, edit: &DocumentEdit) -> Result<Applied, NoAnswer> {
        let params = json!({ "label": edit.label, "edit": workspace_edit(edit) });
        let reply = self.request("workspace/applyEdit", &params).await?;
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Reply {
            applied: bool,
            failure_reason: Option<String>,
        }
        match serde_json::from_str::<Reply>(&reply) {
            Ok(reply) => Ok(Applied { applied: reply.applied, reason: reply.failure_reason }),
            // The text decides; a reply that makes no sense is no answer either way.
            Err(error) => Ok(Applied { applied: false, reason: Some(error.to_string()) }),
        }
    }

    async fn save(&self, uri: String, reason: String) -> Result<(), NoAnswer> {
        let params = DocumentSaveParams { uris: vec![uri.clone()], reason };
        let reply = self.request(methods::DOCUMENT_SAVE, &params).await?;
        let result: DocumentSaveResult =
            serde_json::from_str(&reply).map_err(|error| NoAnswer::Refused(error.to_string()))?;
        match result.documents.into_iter().find(|document| document.uri == uri) {
            Some(document) if document.saved => Ok(()),
            Some(document) => {
                Err(NoAnswer::Refused(document.message.unwrap_or_else(|| "not saved".to_owned())))
            }
            None => Err(NoAnswer::Refused("the client did not name the document".to_owned())),
        }
    }

    async fn request<P: serde::Serialize>(
        &self,
        method: &'static str,
        params: &P,
    ) -> Result<String, NoAnswer> {
        let request = async {
            // What the client was told of the change comes before the change.
            match self.outlet.request(method, json!(params)).await {
                Some(reply) => reply.await,
                None => Err(ReplyError::ConnectionClosed),
            }
        };
        match tokio::time::timeout(self.patience, request).await {
            Ok(Ok(value)) => Ok(value.get().to_owned()),
            Ok(Err(ReplyError::ConnectionClosed)) => Err(NoAnswer::Gone),
            Ok(Err(error)) => Err(NoAnswer::Refused(error.to_string())),
            Err(_) => Err(NoAnswer::Silent(self.patience.as_secs())),
        }
    }
}

/// Always in its version, but for a client that has refused that form.
fn workspace_edit(edit: &DocumentEdit) -> serde_json::Value {
    if edit.unversioned {
        return json!({ "changes": { edit.uri.as_str(): edit.edits } });
    }
    let create = edit
        .create
        .then(|| json!({ "kind": "create", "uri": edit.uri, "options": { "ignoreIfExists": true } }));
    let change = json!({
        "textDocument": { "uri": edit.uri, "version": edit.version },
        "edits": edit.edits,
    });
    let changes: Vec<serde_json::Value> = create.into_iter().chain([change]).collect();
    json!({ "documentChanges": changes })
}
