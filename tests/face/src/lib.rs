//! A face that speaks JSON-RPC, one message a line. It knows only `hello` and `agent/*`.
//!
//! Never has agent state and never decides: a face for another protocol begins like this.

use std::future::ready;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use adjutant::agent::{self, Agent, Opening, Options, Serve, read};
use adjutant::client::face::Bare;
use adjutant::client::surfaces::Surfaces;
use adjutant::transport::{
    self, Answer, Backend, ConnectionEnd, ErrorBody, Framing, NotificationOutcome, Out, Params, Serving,
    answer, code,
};
use adjutant_protocol::capability::ClientAgentCapabilities;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The params of a client's first message: its folders, capabilities and settings.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    pub folders: Vec<PathBuf>,
    #[serde(default)]
    pub agent: ClientAgentCapabilities,
    #[serde(default)]
    pub settings: Option<Value>,
}

/// The answer to `hello`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// The problems in the settings, for the user.
    pub problems: Vec<String>,
}

/// The face of one connection.
struct Lines {
    out: Out,
    options: Options,
    agent: Arc<OnceLock<Arc<Agent>>>,
}

/// Serves one client until its stream ends, then stops every session.
pub async fn serve(
    options: Options,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> ConnectionEnd {
    let (out, parts) = transport::channel();
    let agent: Arc<OnceLock<Arc<Agent>>> = Arc::default();
    let face = Lines { out, options, agent: agent.clone() };
    let ended = transport::serve_framed(Framing::Lines, face, parts, reader, writer).await;
    if let Some(agent) = agent.get() {
        agent.sessions.stop_all().await;
    }
    ended
}

impl Lines {
    fn hello(&self, params: Option<Value>) -> Result<Welcome, ErrorBody> {
        let Hello { folders, agent, settings } = read(params)?;
        let opening =
            Opening { folders, settings, surfaces: Surfaces::of_methods(agent), face: Box::new(Bare) };
        let opened = Agent::open(&self.out, &self.options, opening)
            .map_err(|why| ErrorBody::new(code::INTERNAL_ERROR, format!("{why:#}")))?;
        let problems = opened.problems;
        match self.agent.set(opened.agent.into()) {
            Ok(()) => Ok(Welcome { problems }),
            Err(_) => Err(ErrorBody::new(code::INVALID_REQUEST, "\"hello\" came before")),
        }
    }

    fn agent(&self) -> Result<Arc<Agent>, ErrorBody> {
        let agent = self.agent.get().cloned();
        agent.ok_or_else(|| ErrorBody::new(code::INVALID_REQUEST, "say \"hello\" first"))
    }
}

impl Backend for Lines {
    fn request(&self, method: &str, params: Params) -> Serving<Answer> {
        let params = match params {
            Ok(params) => params,
            Err(why) => return Box::pin(ready(Err(ErrorBody::unreadable(&why)))),
        };
        let served = match (method, agent::method(method)) {
            ("hello", _) => Err(answer(self.hello(params))),
            (_, Some(Serve::Request(serve))) => self.agent().map(|agent| serve(agent, params)).map_err(Err),
            _ => Err(Err(ErrorBody::no_method(method))),
        };
        served.unwrap_or_else(|answer| Box::pin(ready(answer)))
    }

    fn notification(&self, method: &str, params: Params) -> NotificationOutcome {
        let params = match params {
            Ok(params) => params,
            Err(why) => return NotificationOutcome::Unreadable(why),
        };
        match (agent::method(method), self.agent()) {
            (Some(Serve::Notification(serve)), Ok(agent)) => match serve(agent, params) {
                Ok(serving) => NotificationOutcome::Serving(serving),
                Err(why) => NotificationOutcome::Unreadable(why.message),
            },
            _ => NotificationOutcome::PassedOver,
        }
    }

    fn lost(&self) {
        if let Ok(agent) = self.agent() {
            agent.sessions.world().documents.lost();
        }
    }
}

#[cfg(test)]
mod tests;
