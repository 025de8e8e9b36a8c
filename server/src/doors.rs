//! The ways out: how an ask, an update, an edit reaches this client.
//!
//! The only seat of "which door", by what the client can do. Holds no agent
//! state: an answer goes back to whoever asked.

mod face;
pub mod fallbacks;
mod outlet;
pub mod past;

use std::sync::Arc;
use std::time::Duration;

use adjutant_protocol::ask::{AskResolvedParams, AskView, PermissionOutcome, PermissionResponse};
use adjutant_protocol::document::{DocumentSaveParams, DocumentSaveResult};
use adjutant_protocol::methods;
use adjutant_protocol::update::{SessionUpdateParams, Update};
use serde_json::json;
use tokio::sync::mpsc;

use crate::editor::{Applied, DocumentEdit, NoAnswer, Question};
use crate::transport::{Out, ReplyError};

use face::Face;
pub use face::OpenRun;
use fallbacks::Surfaces;
use outlet::Outlet;
pub use outlet::Turnstile;
use past::Recall;

/// How long a client that is leaving may take to read the last updates.
const FAREWELL_LIMIT: Duration = Duration::from_millis(300);

/// The doors of one connection; clones share them.
#[derive(Clone)]
pub struct Doors {
    outlet: Outlet,
    face: Face,
    /// What this client can do: every choice of a door goes by it.
    surfaces: Arc<Surfaces>,
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
    /// Opens the doors of a connection to a client that can do what `surfaces` says. What a client
    /// that does not read has missed is asked back over the receiver.
    pub fn open(out: Out, surfaces: Surfaces, patience: Duration) -> (Self, mpsc::Receiver<Recall>) {
        let surfaces = Arc::new(surfaces);
        let chosen = surfaces.clone();
        let wanted = move |update: &Update| {
            let kind = update.kind();
            (chosen.chunks || !kind.ends_with("_chunk")) && !chosen.opt_out.iter().any(|out| out == kind)
        };
        let (outlet, recalls) = Outlet::start(out, wanted);
        (Self { outlet, face: Face::default(), surfaces, patience }, recalls)
    }

    /// The doors of a connection that is over, for tests of those who have some.
    #[cfg(test)]
    pub fn to_nobody() -> Self {
        let surfaces = Surfaces::of(&json!({})).unwrap_or_else(|why| panic!("{why}"));
        Self::open(crate::transport::channel().0, surfaces, Duration::ZERO).0
    }

    /// What this client can do, and which surface stands for what at it.
    pub fn surfaces(&self) -> &Surfaces {
        &self.surfaces
    }

    /// What is open at this client, for code actions, commands and what a plain client is shown.
    pub fn face(&self) -> &Face {
        &self.face
    }

    /// Tells one update, in order; a plain client gets nothing of ours.
    pub fn update(&self, params: SessionUpdateParams) {
        self.face.told(&params);
        if self.surfaces.updates {
            self.outlet.push(params);
        }
    }

    /// Tells an update that is in no log, so that it could not be told from there.
    pub fn last_word(&self, params: &SessionUpdateParams) {
        if self.surfaces.updates {
            self.outlet.last_word(params);
        }
    }

    /// Says that an ask closed, behind the update `seq` of its session.
    pub fn resolved(&self, params: &AskResolvedParams, seq: u64) {
        if self.surfaces.updates {
            self.outlet.resolved(params, seq);
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
        if !self.surfaces.asks_by_request {
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
        let mut changes = Vec::new();
        if edit.create {
            changes.push(json!({
                "kind": "create", "uri": edit.uri, "options": { "ignoreIfExists": true }
            }));
        }
        changes.push(json!({
            "textDocument": { "uri": edit.uri, "version": edit.version },
            "edits": edit.edits,
        }));
        let params = json!({ "label": edit.label, "edit": { "documentChanges": changes } });
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
