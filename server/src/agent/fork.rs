//! `agent/session/fork`: a conversation goes on twice.
//!
//! Never opens the new session: the client that wants it resumes it.

use adjutant_protocol::session::{SessionForkParams, SessionForkResult};

use super::{Agent, Result};

impl Agent {
    pub(super) async fn session_fork(&self, params: SessionForkParams) -> Result<SessionForkResult> {
        Ok(self.sessions.fork(params.session_id, params.at_message_id).await?)
    }
}
