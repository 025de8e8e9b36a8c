//! `workspace/executeCommand`: the same requests for people whose editor has no plugin of ours.
//!
//! Reads arguments, posts and answers at once; never waits for a run, a model
//! or the user. What went wrong is also said to the user of a plain client.

mod arguments;
mod cancel;
mod respond;

use adjutant_protocol::SessionId;
use adjutant_protocol::commands::{
    CANCEL, CAPABILITIES, COMMANDS, PROMPT, PromptArguments, RESPOND, RESUME, SHOW, SHOW_TRANSCRIPT, START,
    SessionArguments, ShowArguments,
};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::session::{ContentBlock, Delivery, Overrides, PromptParams, ResumeResult};
use adjutant_protocol::start::StartParams;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::ExecuteCommandParams;

use super::agent::digest_of;
use super::{Ready, Shared, error, reopen};
use crate::doors::{Level, message};
use crate::session::SURFACE_OF_COMMANDS;
use crate::session::mailbox::{Message, Refused};
use arguments::{Given, read};

/// Sessions tried for one that waits to be resumed.
const MAX_TRIED: usize = 10;

impl Shared {
    pub(super) async fn command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let ready = self.ready()?;
        let acts = ready.sessions.world().doors.user_acts();
        let result = self.dispatched(ready, params).await;
        // Not before: a question that this answers must not be asked once more while the answer is on its way.
        drop(acts);
        let result = result.map_err(|mut error| {
            // Editors show it to their user.
            error.message = message(&error.message).into();
            error
        });
        if let Err(error) = &result
            && !ready.sessions.world().doors.surfaces().updates
        {
            say(ready, Level::Warning, &error.message);
        }
        result
    }

    async fn dispatched(&self, ready: &Ready, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let given = Given::of(params.arguments)?;
        match params.command.as_str() {
            START => self.start_command(given).await,
            PROMPT => self.prompt_command(ready, given).await,
            CANCEL => self.cancel_command(ready, read(given, "runId")?).await,
            RESPOND => self.respond_command(ready, given).await,
            SHOW => self.show_command(ready, read(given, "askId")?),
            SHOW_TRANSCRIPT => self.transcript_command(ready, read(given, "sessionId")?),
            RESUME => self.resume_command(ready, read(given, "sessionId")?).await,
            CAPABILITIES => Ok(Some(capabilities(ready))),
            other => {
                let known: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
                Err(Error::invalid_params(format!(
                    "there is no command \"{other}\"; there are {}",
                    known.join(", ")
                )))
            }
        }
    }

    async fn start_command(&self, given: Given) -> Result<Option<Value>> {
        if let Given::Nothing = given {
            return Err(Error::invalid_params(
                "say what to do: adjutant.start takes a text. Where your editor cannot give one, write it as a \
                 comment and choose the code action \"Adjutant: Do what this comment says\"",
            ));
        }
        let params: StartParams = read(given, "text")?;
        let started = self.start(params).await?;
        Ok(Some(json!({ "sessionId": started.session_id, "runId": started.run_id })))
    }

    async fn prompt_command(&self, ready: &Ready, given: Given) -> Result<Option<Value>> {
        let arguments: PromptArguments = read(given, "text")?;
        let _under_way = ready.starts.begun().await;
        let body = digest_of(&arguments);
        let session_id = arguments.session_id.or_else(|| ready.starts.last()).ok_or_else(|| {
            Error::invalid_params("nothing was started here yet; adjutant.start takes a text and starts it")
        })?;
        let prompt = PromptParams {
            session_id: session_id.clone(),
            prompt: vec![ContentBlock::Text { text: arguments.text }],
            delivery: Delivery::Auto,
            expected_run_id: None,
            origin: None,
            overrides: Overrides::default(),
            key: None,
        };
        let told = self.post_prompt(prompt, None, body).await?;
        Ok(Some(json!({ "sessionId": session_id, "runId": told.run_id })))
    }

    fn show_command(&self, ready: &Ready, arguments: ShowArguments) -> Result<Option<Value>> {
        let ask = respond::the_ask(ready, arguments.ask_id)?;
        let doors = ready.sessions.world().doors.clone();
        // The editor may answer nothing else before it has this answer.
        tokio::spawn(async move { doors.show(&ask).await });
        Ok(None)
    }

    fn transcript_command(&self, ready: &Ready, arguments: SessionArguments) -> Result<Option<Value>> {
        let session = arguments.session_id.or_else(|| ready.starts.last()).ok_or_else(|| {
            Error::invalid_params("nothing was started here yet, so there is no transcript to show")
        })?;
        let doors = ready.sessions.world().doors.clone();
        tokio::spawn(async move { doors.show_transcript(&session).await });
        Ok(None)
    }

    /// Goes on with what a server that stopped left open, the newest first.
    async fn resume_command(&self, ready: &Ready, arguments: SessionArguments) -> Result<Option<Value>> {
        if let Some(session) = arguments.session_id {
            let resumed = self.resumed(ready, &session).await?;
            ready.starts.went_on(&session);
            return Ok(Some(json!({ "sessionId": session, "runId": resumed.state.run_id })));
        }
        for entry in
            reopen::waiting(&ready.sessions, &ready.configured.folders()).await.into_iter().take(MAX_TRIED)
        {
            // Held by another process, or damaged.
            let Ok(resumed) = self.resumed(ready, &entry.session_id).await else { continue };
            if resumed.asks.iter().any(respond::resumes) {
                ready.starts.went_on(&entry.session_id);
                return Ok(Some(json!({ "sessionId": entry.session_id, "runId": resumed.state.run_id })));
            }
        }
        let text = "no session of this workspace waits to be resumed";
        Err(error(Refused::new(ErrorName::SessionNotFound, text)))
    }

    /// Follows a session, and says "resume" where it asks.
    async fn resumed(&self, ready: &Ready, session: &SessionId) -> Result<ResumeResult> {
        let mailbox = ready.sessions.get(session).map_err(error)?;
        let request = mailbox.request(|reply| Message::Resume { from: None, unattended: false, reply });
        let resumed = super::agent::answered(request).await?.result;
        if let Some(ask) = resumed.asks.iter().find(|ask| respond::resumes(ask)) {
            self.post_answer(ask.ask_id.clone(), respond::resume(), SURFACE_OF_COMMANDS).await?;
        }
        Ok(resumed)
    }
}

/// Says which surface stands for what at this client: to a plain one in a message.
fn capabilities(ready: &Ready) -> Value {
    let doors = &ready.sessions.world().doors;
    if !doors.surfaces().updates {
        say(
            ready,
            Level::Info,
            &format!("what stands for what in this editor:\n{}", doors.surfaces().text()),
        );
    }
    json!(doors.surfaces().table())
}

/// Says something to the user.
fn say(ready: &Ready, level: Level, text: &str) {
    ready.sessions.world().doors.say(level, &format!("Adjutant: {text}"));
}
