//! What another process leaves in an inbox, and what it gets back.
//!
//! Never judges a letter.

use adjutant_core::machine::input::{Choice, HunkComment};
use adjutant_protocol::ask::AskRespondParams;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{ReviewCommentParams, ReviewDecideParams};
use adjutant_protocol::rewind::{PreviewParams, RewindParams};
use adjutant_protocol::{AskId, SessionId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::session::mailbox::{ClientError, Mailbox, Message};

/// What another process left for a session.
#[derive(Clone, Debug)]
pub enum Letter {
    /// The answer to an ask.
    Answer { ask: AskId, choice: Choice },
    /// A request about changes. Its writer waits for a reply.
    Request(Box<ReviewRequest>),
}

/// A request about the changes of a session that only the process can carry out that has the session open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReviewRequest {
    Decide(ReviewDecideParams),
    Preview(PreviewParams),
    Rewind(RewindParams),
    Comment(ReviewCommentParams),
}

impl ReviewRequest {
    /// Returns the session that it is about.
    pub fn session(&self) -> &SessionId {
        match self {
            Self::Decide(params) => &params.session_id,
            Self::Preview(params) => &params.session_id,
            Self::Rewind(params) => &params.session_id,
            Self::Comment(params) => &params.session_id,
        }
    }

    /// Posts it to a session before this returns. The future is that of its result.
    pub fn post(self, mailbox: &Mailbox) -> BoxFuture<'static, Result<Value, ClientError>> {
        match self {
            // Never refused as `Overloaded`, because a run waits for the decision.
            Self::Decide(params) => {
                let decision = Box::new(params);
                result(Ok(mailbox.admit(|reply| Message::Decide { decision, reply })))
            }
            Self::Rewind(params) => {
                let params = Box::new(params);
                result(Ok(mailbox.admit(|reply| Message::Rewind { params, reply })))
            }
            Self::Preview(params) => result(mailbox.request(|reply| Message::Preview { params, reply })),
            Self::Comment(params) => {
                let ReviewCommentParams { change_set_id, hunk_id, text, .. } = params;
                let comment = HunkComment { change_set: change_set_id, hunk: hunk_id, text };
                result(mailbox.request(|reply| Message::Comment { comment, reply }))
            }
        }
    }
}

/// A request that was posted, and the receiver of its result.
type PostedRequest<T> = Result<oneshot::Receiver<Result<T, ClientError>>, ClientError>;

fn result<T: Serialize + Send + 'static>(
    posted: PostedRequest<T>,
) -> BoxFuture<'static, Result<Value, ClientError>> {
    let wait = async move {
        let result = posted?.await.unwrap_or_else(|_| Err(ClientError::gone()))?;
        serde_json::to_value(result)
            .map_err(|error| ClientError::new(ErrorName::Overloaded, format!("the result is lost: {error}")))
    };
    wait.boxed()
}

impl Letter {
    /// Reads a letter strictly.
    ///
    /// # Errors
    ///
    /// Returns why it is none, or why it may not be left in an inbox.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if let Ok(request) = serde_json::from_slice(bytes) {
            return Ok(Self::Request(Box::new(request)));
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

/// What the process that has the session open says of a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LetterReply {
    Done(Value),
    Refused { name: ErrorName, why: String },
}

impl LetterReply {
    /// Returns the reply to a request with this result.
    pub fn of(result: &Result<Value, ClientError>) -> Self {
        match result {
            Ok(value) => Self::Done(value.clone()),
            Err(refused) => Self::Refused { name: refused.name, why: refused.message.clone() },
        }
    }
}

impl From<LetterReply> for Result<Value, ClientError> {
    fn from(reply: LetterReply) -> Self {
        match reply {
            LetterReply::Done(value) => Ok(value),
            LetterReply::Refused { name, why } => Err(ClientError::new(name, why)),
        }
    }
}
