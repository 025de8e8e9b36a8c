//! What another process leaves in an inbox, and what it gets back.
//!
//! Never judges a letter.

use adjutant_core::machine::input::Choice;
use adjutant_protocol::AskId;
use adjutant_protocol::ask::AskRespondParams;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{DecidedHunk, ReviewDecideParams};
use serde::{Deserialize, Serialize};

use crate::session::mailbox::ClientError;

/// What another process left for a session.
#[derive(Clone, Debug)]
pub enum Letter {
    /// The answer to an ask.
    Answer { ask: AskId, choice: Choice },
    /// A decision about hunks. Its writer waits for a reply.
    Decision(Box<ReviewDecideParams>),
}

/// The file of a decision. That of an answer has the params of `agent/ask/respond`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionFile {
    pub decide: ReviewDecideParams,
}

impl Letter {
    /// Reads a letter strictly.
    ///
    /// # Errors
    ///
    /// Returns why it is none, or why it may not be left in an inbox.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if let Ok(DecisionFile { decide }) = serde_json::from_slice(bytes) {
            return Ok(Self::Decision(Box::new(decide)));
        }
        let params: AskRespondParams =
            serde_json::from_slice(bytes).map_err(|error| format!("it is no answer: {error}"))?;
        if params.unattended {
            let why = "it gives consent, which only the process that has the session open can give";
            return Err(why.to_owned());
        }
        let choice = Choice::of(params.option_id, params.answer, params.reason)
            .ok_or_else(|| "it must give either an option or a text".to_owned())?;
        Ok(Self::Answer { ask: params.ask_id, choice })
    }
}

/// What the process that has the session open says of a decision.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LetterReply {
    Decided(Vec<DecidedHunk>),
    Refused { name: ErrorName, why: String },
}

impl LetterReply {
    /// Returns the reply to a decision with this result.
    pub fn of(result: &Result<Vec<DecidedHunk>, ClientError>) -> Self {
        match result {
            Ok(hunks) => Self::Decided(hunks.clone()),
            Err(refused) => Self::Refused { name: refused.name, why: refused.message.clone() },
        }
    }
}

impl From<LetterReply> for Result<Vec<DecidedHunk>, ClientError> {
    fn from(reply: LetterReply) -> Self {
        match reply {
            LetterReply::Decided(hunks) => Ok(hunks),
            LetterReply::Refused { name, why } => Err(ClientError::new(name, why)),
        }
    }
}
