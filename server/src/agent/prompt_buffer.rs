//! Sends the prompt of a prompt buffer, and writes the answer into the buffer when its run has ended.
//!
//! Never edits a text that it does not know: each edit is made for one version of the document, and what the user typed
//! meanwhile stays. If the place of an answer is gone, nothing is written; the session has the answer.

use std::sync::Arc;
use std::time::Duration;

use adjutant_core::text::edit::text_edits;
use adjutant_core::wire::prompt_buffer::{
    answer, awaited_answer, is_prompt_buffer, place_of_answer, written_prompt,
};
use adjutant_protocol::items::ItemsParams;
use adjutant_protocol::session::{RunEnd, WaitParams};
use adjutant_protocol::start::{StartParams, StartResult};
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::{RunView, SessionUpdateParams, Update};
use adjutant_protocol::{RunId, SessionId};

use super::{Agent, Result};
use crate::client::Level;
use crate::documents::Text;
use crate::editor::DocumentEdit;
use crate::transport::ErrorBody;

/// One wait for a run; after it the next one begins.
const WAIT_MS: u64 = 3_600_000;
/// Versions of the document that an edit is made for.
const TRIES: usize = 10;
/// How long the document of an edit is waited for.
const LONGEST_LOOK: Duration = Duration::from_secs(10);
/// Looks for the end of a run among the published items, and the pause between two.
const LOOKS: usize = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(30);
/// The last items of a session, among which its answer is.
const ITEMS: u32 = 20;

impl Agent {
    /// Sends what is written below the last line `---` of a prompt buffer, in the session of the answer before it.
    pub async fn send_prompt_buffer(self: &Arc<Self>, uri: String) -> Result<StartResult> {
        if !is_prompt_buffer(&uri) {
            return Err(ErrorBody::invalid_params(
                "only a document whose name ends with .adjutant.md can be sent",
            ));
        }
        let text = self.text_of_buffer(&uri).map_err(ErrorBody::invalid_params)?;
        let Some(prompt) = written_prompt(&text) else {
            let why = "there is no prompt yet; write one below the last line ---, or at the top";
            return Err(ErrorBody::invalid_params(why));
        };
        let session_id = prompt.session.map(|session| SessionId(session.to_owned()));
        let text = Some(prompt.words.to_owned());
        let started = self.start(StartParams { session_id, text, ..StartParams::default() }).await?;
        let (agent, session, run) = (self.clone(), started.session_id.clone(), started.run_id.clone());
        // In a task of its own, because the editor may make no edit before it has the answer to this request.
        tokio::spawn(async move { agent.follow_run(&uri, &session, &run).await });
        Ok(started)
    }

    async fn follow_run(self: &Arc<Self>, uri: &str, session: &SessionId, run: &RunId) {
        let opened = |text: &str| Some(format!("{text}{}", place_of_answer(text, &session.0, &run.0)));
        if let Err(why) = self.change(uri, opened).await {
            return self.say_not_written(&why);
        }
        let ended = loop {
            let params = WaitParams { session_id: session.clone(), run_id: run.clone(), timeout_ms: WAIT_MS };
            match self.session_wait(params).await {
                Ok(waited) => match waited.ended {
                    Some(ended) => break ended,
                    None => continue,
                },
                // The server ends, or the session was closed.
                Err(_) => return,
            }
        };
        let said = answer(&self.answer_of(session, run, &ended).await);
        let filled = |text: &str| {
            let place = awaited_answer(text, &run.0)?;
            Some([&text[..place.start], &said, &text[place.end..]].concat())
        };
        if let Err(why) = self.change(uri, filled).await {
            self.say_not_written(&why);
        }
    }

    /// Returns the last words of a run, and how it ended unless it was completed.
    async fn answer_of(&self, session: &SessionId, run: &RunId, ended: &RunEnd) -> String {
        let items = self.items_with_end(session, run).await;
        let last = items.into_iter().rev().map(|update| update.update).find_map(|update| match update {
            Update::AgentMessage { text, .. } => Some(Some(text)),
            // What an earlier run said is no answer to this prompt.
            Update::UserMessage { .. } => Some(None),
            _ => None,
        });
        let mut parts: Vec<String> = last.flatten().into_iter().collect();
        let summary = ended.summary.clone();
        let end = match ended.outcome {
            Outcome::Completed | Outcome::Stopped => None,
            Outcome::Failed => Some("failed"),
            Outcome::Limit => Some("stopped at a limit"),
            Outcome::Cancelled => Some("cancelled"),
        };
        match end {
            None => parts.extend(summary.filter(|_| parts.is_empty())),
            Some(end) => {
                let why = summary.map(|why| format!(": {why}")).unwrap_or_default();
                parts.push(format!("*{end}{why}*"));
            }
        }
        if parts.is_empty() { "*done*".to_owned() } else { parts.join("\n\n") }
    }

    /// Returns the last items of a session, once the end of a run is published: it may be known before.
    async fn items_with_end(&self, session: &SessionId, run: &RunId) -> Vec<SessionUpdateParams> {
        let is_end = |params: &SessionUpdateParams| {
            matches!(&params.update, Update::Run(RunView::Ended { .. }))
                && params.run_id.as_ref() == Some(run)
        };
        let mut items = Vec::new();
        for _ in 0..LOOKS {
            let params = ItemsParams { session_id: session.clone(), before: None, limit: ITEMS };
            items = self.session_items(params).await.map(|page| page.updates).unwrap_or_default();
            if items.iter().any(is_end) {
                break;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        items
    }

    fn text_of_buffer(&self, uri: &str) -> std::result::Result<String, String> {
        match self.sessions.world().documents.under(uri) {
            Text::Open(snapshot) => Ok(snapshot.string()),
            Text::Unsynced(why) => Err(format!("the text of the prompt is not known ({why}); open it again")),
            Text::Closed => Err("the document of the prompt is not open".to_owned()),
        }
    }

    /// Makes the editor change a document, for the version that it has by then. `wanted` returns nothing if there is nothing to do.
    async fn change(
        &self,
        uri: &str,
        wanted: impl Fn(&str) -> Option<String>,
    ) -> std::result::Result<(), String> {
        let world = self.sessions.world();
        let mut why = "the text changed again and again".to_owned();
        let mut unversioned = false;
        for _ in 0..TRIES {
            let mut seen = world.documents.watch();
            let Text::Open(snapshot) = world.documents.under(uri) else {
                return Err("its document was closed".to_owned());
            };
            let now = snapshot.string();
            let Some(next) = wanted(&now) else { return Ok(()) };
            let edits = text_edits(&now, &next, world.documents.encoding()).into();
            let label = "Adjutant: answer".to_owned();
            let edit =
                DocumentEdit { label, uri: uri.to_owned(), version: snapshot.version, unversioned, edits };
            match world.link.edit(edit).await {
                Ok(reply) if reply.applied => return Ok(()),
                Ok(reply) => {
                    why = reply.reason.unwrap_or_else(|| "the editor did not apply the edit".to_owned());
                    unversioned = !unversioned && self.text_of_buffer(uri).is_ok_and(|text| text == now);
                }
                Err(none) => return Err(none.to_string()),
            }
            if !unversioned {
                // What was typed meanwhile is on its way.
                let _ = tokio::time::timeout(LONGEST_LOOK, seen.changed()).await;
            }
        }
        Err(why)
    }

    fn say_not_written(&self, why: &str) {
        let text = format!("Adjutant: the answer is in the session and not in the prompt's document: {why}");
        self.sessions.world().link.say(Level::Warning, &text);
    }
}
