//! The loop's `/fork`: the conversation goes on in a copy of what was said before its last prompt.
//!
//! Never changes the session that is copied.

use adjutant_protocol::MessageId;
use adjutant_protocol::methods;
use adjutant_protocol::session::{ResumeParams, ResumeResult, SessionForkParams, SessionForkResult};

use super::{Conversation, LeaveReason};

impl Conversation {
    /// Notes a prompt that the session has.
    pub(super) fn prompted(&mut self, message: &MessageId) {
        if !self.prompt.sent.contains(message) {
            self.prompt.sent.push(message.clone());
        }
    }

    /// Goes on in a copy of the session from before its last prompt, whose words begin the next line. Returns the title of the
    /// copy; `None` if the session has no prompt.
    pub async fn fork(&mut self) -> Result<Option<String>, LeaveReason> {
        let (Some(session_id), Some(message)) = (self.session.clone(), self.prompt.sent.last().cloned())
        else {
            return Ok(None);
        };
        let params = SessionForkParams { session_id, at_message_id: Some(message) };
        let made: SessionForkResult = self.request(methods::SESSION_FORK, &params).await?;
        let params =
            ResumeParams { session_id: made.session_id.clone(), replay_from: None, unattended: false };
        let found: ResumeResult = self.request(methods::SESSION_RESUME, &params).await?;
        self.attach(&made.session_id);
        // The earlier prompts have the same ids in the copy.
        self.prompt.sent.pop();
        made.notices.iter().chain(&found.notices).for_each(|notice| self.note(notice));
        if let Some(words) = made.prompt {
            self.give_back(words);
        }
        Ok(Some(made.title))
    }
}
