//! `workspace/executeCommand`: the same requests for editors without a plugin for Adjutant.
//!
//! Reads arguments, posts and answers at once. Never waits for a run, a model or
//! the user. A plain client also gets an error as a message for its user.

mod arguments;
pub(super) mod cancel;
mod respond;
mod review;
mod undo_run;

use std::sync::Arc;

use adjutant_protocol::SessionId;
use adjutant_protocol::commands::{
    CANCEL, CAPABILITIES, COMMANDS, PROMPT, PromptArguments, RESPOND, RESUME, REVIEW, SEND, SHOW,
    SHOW_TRANSCRIPT, START, SendArguments, SessionArguments, ShowArguments, UNDO_RUN,
};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::session::{ContentBlock, Delivery, Overrides, PromptParams, ResumeResult};
use adjutant_protocol::start::StartParams;
use serde_json::{Value, json};
use tower_lsp::ls_types::ExecuteCommandParams;

use crate::agent::{Agent, Result, digest_of, reopen};
use crate::client::{Level, message};
use crate::session::SURFACE_OF_COMMANDS;
use crate::session::mailbox::{ClientError, Wording};
use crate::session::mentions::ClientContext;
use crate::transport::ErrorBody;
use arguments::{CommandArguments, read};
use cancel::cancel_command;
use respond::respond_command;

/// Sessions that are tried until one can be resumed.
const MAX_TRIED: usize = 10;

/// Serves one command.
pub(super) async fn command(agent: &Arc<Agent>, params: ExecuteCommandParams) -> Result<Option<Value>> {
    let acts = agent.sessions.world().link.user_acts();
    let result = dispatched(agent, params).await;
    // Not before: a question that this command answers must not be asked again while the answer is on its way.
    drop(acts);
    let result = result.map_err(|mut error| {
        // Editors show it to their users.
        error.message = message(&error.message);
        error
    });
    if let Err(error) = &result
        && !agent.sessions.world().link.surfaces().updates
    {
        say(agent, Level::Warning, &error.message);
    }
    result
}

async fn dispatched(agent: &Arc<Agent>, params: ExecuteCommandParams) -> Result<Option<Value>> {
    let given = CommandArguments::of(params.arguments)?;
    match params.command.as_str() {
        START => start_command(agent, given).await,
        PROMPT => prompt_command(agent, given).await,
        SEND => send_command(agent, read(given, "uri")?).await,
        CANCEL => cancel_command(agent, read(given, "runId")?).await,
        RESPOND => respond_command(agent, given).await,
        SHOW => show_command(agent, read(given, "askId")?),
        SHOW_TRANSCRIPT => transcript_command(agent, read(given, "sessionId")?),
        RESUME => resume_command(agent, read(given, "sessionId")?).await,
        REVIEW => review::review_command(agent, read(given, "action")?).await,
        UNDO_RUN => undo_run::undo_run_command(agent, read(given, "runId")?).await,
        CAPABILITIES => Ok(Some(capabilities(agent))),
        other => {
            let known: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
            Err(ErrorBody::invalid_params(format!(
                "there is no command \"{other}\"; there are {}",
                known.join(", ")
            )))
        }
    }
}

async fn start_command(agent: &Agent, given: CommandArguments) -> Result<Option<Value>> {
    if let CommandArguments::Nothing = given {
        return Err(ErrorBody::invalid_params(
            "say what to do: adjutant.start needs a text. If your editor cannot send one, write it as a \
             comment and choose the code action \"Adjutant: Do what this comment says\"",
        ));
    }
    let params: StartParams = read(given, "text")?;
    let started = agent.start(params).await?;
    Ok(Some(json!({ "sessionId": started.session_id, "runId": started.run_id })))
}

async fn prompt_command(agent: &Agent, given: CommandArguments) -> Result<Option<Value>> {
    let arguments: PromptArguments = read(given, "text")?;
    let context = ClientContext { begins_prompt: true, ..ClientContext::default() };
    let attached = agent.attached(&[], &arguments.text, context);
    let attached = attached.map_err(ErrorBody::invalid_params)?;
    let _under_way = agent.starts.begun().await;
    let body = digest_of(&arguments)?;
    let session_id = arguments.session_id.or_else(|| agent.starts.last()).ok_or_else(|| {
        ErrorBody::invalid_params("nothing was started here yet; use adjutant.start with a text")
    })?;
    let prompt = PromptParams {
        session_id: session_id.clone(),
        prompt: vec![ContentBlock::Text { text: arguments.text }],
        delivery: Delivery::Auto,
        expected_run_id: None,
        origin: None,
        diagnostics: Vec::new(),
        overrides: Overrides::default(),
        key: None,
    };
    let posted = agent.post_prompt(prompt, Wording { attached, ..Wording::default() }, body).await?;
    Ok(Some(json!({ "sessionId": session_id, "runId": posted.run_id })))
}

async fn send_command(agent: &Arc<Agent>, arguments: SendArguments) -> Result<Option<Value>> {
    let started = agent.send_prompt_buffer(arguments.uri).await?;
    Ok(Some(json!({ "sessionId": started.session_id, "runId": started.run_id })))
}

fn show_command(agent: &Agent, arguments: ShowArguments) -> Result<Option<Value>> {
    let ask = respond::the_ask(agent, arguments.ask_id)?;
    let link = agent.sessions.world().link.clone();
    // In a task of its own, because the editor may answer no request before it has this answer.
    tokio::spawn(async move { link.show(&ask).await });
    Ok(None)
}

fn transcript_command(agent: &Agent, arguments: SessionArguments) -> Result<Option<Value>> {
    let session = arguments.session_id.or_else(|| agent.starts.last()).ok_or_else(|| {
        ErrorBody::invalid_params("nothing was started here yet, so there is no transcript to show")
    })?;
    let link = agent.sessions.world().link.clone();
    tokio::spawn(async move { link.show_transcript(&session).await });
    Ok(None)
}

/// Resumes a session that a stopped server left open, the newest first.
async fn resume_command(agent: &Agent, arguments: SessionArguments) -> Result<Option<Value>> {
    if let Some(session) = arguments.session_id {
        let resumed = resumed(agent, &session).await?;
        agent.starts.set_last(&session);
        return Ok(Some(json!({ "sessionId": session, "runId": resumed.state.run_id })));
    }
    for entry in
        reopen::waiting(&agent.sessions, &agent.configured.folders()).await.into_iter().take(MAX_TRIED)
    {
        // One that another process writes, or that is damaged, is passed over.
        let Ok(resumed) = resumed(agent, &entry.session_id).await else { continue };
        if resumed.asks.iter().any(respond::resumes) {
            agent.starts.set_last(&entry.session_id);
            return Ok(Some(json!({ "sessionId": entry.session_id, "runId": resumed.state.run_id })));
        }
    }
    let text = "no session of this workspace waits to be resumed";
    Err(ClientError::new(ErrorName::SessionNotFound, text).into())
}

/// Opens a session, and answers "resume" if it asks.
async fn resumed(agent: &Agent, session: &SessionId) -> Result<ResumeResult> {
    let resumed = agent.sessions.resume(session, None, false).await?.result;
    if let Some(ask) = resumed.asks.iter().find(|ask| respond::resumes(ask)) {
        agent.post_answer(ask.ask_id.clone(), respond::resume(), SURFACE_OF_COMMANDS).await?;
    }
    Ok(resumed)
}

/// Returns which surface this client gets for each feature. A plain client also gets it as a message.
fn capabilities(agent: &Agent) -> Value {
    let link = &agent.sessions.world().link;
    if !link.surfaces().updates {
        say(
            agent,
            Level::Info,
            &format!("the surface this editor gets for each feature:\n{}", link.surfaces().text()),
        );
    }
    json!(link.surfaces().table())
}

/// Shows a message to the user.
fn say(agent: &Agent, level: Level, text: &str) {
    agent.sessions.world().link.say(level, &format!("Adjutant: {text}"));
}
