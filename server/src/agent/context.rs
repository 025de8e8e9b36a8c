//! The requests about what the model gets: what the next request holds, and that the conversation is compacted.
//!
//! Never changes a session to show it.

use adjutant_core::config::Settings;
use adjutant_core::prompt::models::{EditTool, Facts};
use adjutant_core::prompt::reminder::{SessionNow, reminder};
use adjutant_core::record::{ContextPolicy, Mode};
use adjutant_core::session::Session;
use adjutant_core::wire::context::{NextRequest, context};
use adjutant_protocol::context::{SessionCompactResult, SessionContextParams, SessionContextResult};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::session::SessionParams;

use super::methods::answered;
use super::{Agent, Result};
use crate::session::context as texts;
use crate::session::mailbox::{ClientError, Message};
use crate::tools::paths::Roots;

/// The choices of the next request.
struct RequestChoices {
    model: String,
    mode: Mode,
    facts: Facts,
    policy: ContextPolicy,
}

impl Agent {
    pub(super) async fn session_compact(&self, params: SessionParams) -> Result<SessionCompactResult> {
        self.settings_now();
        let mailbox = self.sessions.get(&params.session_id)?;
        answered(mailbox.request(|reply| Message::Compact { reply })).await
    }

    pub(super) async fn session_context(&self, params: SessionContextParams) -> Result<SessionContextResult> {
        let settings = self.settings_now();
        let mut session = *self.sessions.snapshot(&params.session_id).await?;
        let choice = choice(&session, &settings)?;
        let world = self.sessions.world();
        let folders: Vec<_> = session.roots.iter().map(Into::into).collect();
        let (roots, _) = crate::aside::aside(move || Roots::open(&folders)).await;
        if session.open_run().is_none() {
            session.equip(world.tools.current(choice.facts.edit_tool).set().clone());
            let read = texts::texts(world, &roots).await;
            let read: Vec<_> = read.into_iter().filter(|text| choice.policy.has(text)).collect();
            session = session.with_texts(&read);
        } else if let Some(tools) = session.open_run().and_then(|run| world.tools.of_hash(&run.toolset)) {
            session = session.with_tools(tools.set().clone());
        }
        let reminder =
            reminder(&SessionNow::of(&session, Some(&choice.policy)), &texts::editor(world, &roots).await);
        let toolboxes = EditTool::ALL.map(|edits| world.tools.current(edits));
        let toolsets: Vec<_> = toolboxes.iter().map(|toolbox| &**toolbox.set()).collect();
        let next = NextRequest {
            session: &session,
            model: &choice.model,
            mode: choice.mode,
            facts: &choice.facts,
            policy: &choice.policy,
            reminder: reminder.as_deref(),
            toolsets: &toolsets,
        };
        Ok(context(&next, params.texts))
    }
}

/// Returns the choices of the open run, else those that the session and the settings have for the next.
fn choice(session: &Session, settings: &Settings) -> std::result::Result<RequestChoices, ClientError> {
    let run = session.open_run();
    let given = run.map(|run| run.current_model()).or(session.choices.model.as_deref());
    let (provider, name) = settings
        .provider_for(given)
        .map_err(|why| ClientError::new(ErrorName::ProviderUnavailable, why.to_string()))?;
    let (facts, model) = (provider.facts(&name), format!("{}/{name}", provider.name));
    let mode = run.map_or(session.choices.mode, |run| run.policy.mode);
    let of_run = run.and_then(|run| run.policy.context.clone());
    let policy = of_run.unwrap_or_else(|| settings.context_policy(&model));
    Ok(RequestChoices { model, mode, facts, policy })
}
