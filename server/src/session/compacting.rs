//! Compacts the conversation because the user wants it now.
//!
//! Never decides what is compacted, or whether there is anything: core does.

use adjutant_core::machine::accept::Refusal;
use adjutant_core::machine::input::{CompactRequest, Input};
use adjutant_protocol::context::SessionCompactResult;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::session::{Overrides, PromptResult};

use super::SessionTask;
use super::choosing;
use super::mailbox::{ClientError, Reply};
use super::recording::RecordError;
use super::replies::disposition;
use crate::clock::now_ms;

impl SessionTask {
    pub(super) async fn compact(&mut self, reply: Reply<SessionCompactResult>) {
        self.place.mailbox.note_handled();
        let compacted = self.compacted().await;
        let barrier = self.barrier;
        match compacted {
            Ok(result) => self.replies.after_durable(barrier, move |durable| {
                let _ = reply.send(durable.map(|()| result));
            }),
            Err(why) => {
                let _ = reply.send(Err(why));
            }
        }
    }

    /// Carries out the prompt that is nothing but the command for it.
    pub(super) async fn compacted_by_prompt(&mut self) -> Result<PromptResult, ClientError> {
        let steered = self.session.open_run().is_some();
        let SessionCompactResult { run_id } = self.compacted().await?;
        Ok(PromptResult { run_id, accepted_at: now_ms(), disposition: disposition(steered) })
    }

    /// Records the wish, and returns the run that carries it out.
    pub(super) async fn compacted(&mut self) -> Result<SessionCompactResult, ClientError> {
        let request = self.compact_request()?;
        match self.record_input(Input::Compact(request)).await {
            Ok(_) => {}
            Err(RecordError::Refused(Refusal::Nothing)) if self.session.open_run().is_none() => {
                return Err(nothing());
            }
            // The open run will do it already.
            Err(RecordError::Refused(Refusal::Nothing)) if self.stopped.is_none() => {}
            Err(why) => return Err(self.not_recorded(why)),
        }
        let run = self.session.open_run().map(|run| run.id.clone());
        run.map(|run_id| SessionCompactResult { run_id }).ok_or_else(nothing)
    }

    /// Returns the choices of a run that does nothing else, as the session and the settings have them.
    fn compact_request(&self) -> Result<CompactRequest, ClientError> {
        let settings = self.place.world.settings();
        let (provider, model) = settings
            .provider_for(self.session.choices.model.as_deref())
            .map_err(|why| ClientError::new(ErrorName::ProviderUnavailable, why.to_string()))?;
        let model = format!("{}/{model}", provider.name);
        let mode = self.session.choices.mode;
        Ok(CompactRequest {
            generation_settings: choosing::generation_settings(
                &Overrides::default(),
                &self.session.choices,
                &settings,
            )?,
            policy: settings.policy_for(&model, mode, self.place.world.edits_mode(), false),
            model,
        })
    }
}

fn nothing() -> ClientError {
    let why = "there is no conversation to compact yet: send a prompt first";
    ClientError::new(ErrorName::PromptInvalid, why)
}
