//! How the editor double answers asks that are delivered to it by request.
//!
//! Knows nothing of what is asked; a test or its script decides.

use std::collections::VecDeque;

use adjutant_protocol::ask::{AskView, PermissionOutcome, PermissionResponse};
use serde_json::{Value, json};

use super::wire::RpcError;

/// What the user does when an ask appears.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Chooses an option.
    Option(String),
    /// Chooses an option and adds a text.
    OptionWithText(String, String),
    /// Writes an answer.
    Text(String),
    /// Closes the surface; the ask stays open elsewhere.
    Close,
    /// Leaves it open; `Editor::answer` answers it.
    Hold,
    /// Sends any body at all, null for instance.
    Raw(Value),
    /// Answers with an error.
    Fail(RpcError),
}

impl Answer {
    /// Chooses an option.
    pub fn option(id: &str) -> Answer {
        Answer::Option(id.to_owned())
    }

    /// Returns the response; none while the ask is held.
    pub fn response(&self) -> Option<Result<Value, RpcError>> {
        let selected = |option_id: &str, text: Option<&str>| PermissionOutcome::Selected {
            option_id: option_id.to_owned(),
            text: text.map(str::to_owned),
        };
        let outcome = match self {
            Answer::Option(id) => selected(id, None),
            Answer::OptionWithText(id, text) => selected(id, Some(text)),
            Answer::Text(text) => PermissionOutcome::Answered { text: text.clone() },
            Answer::Close => PermissionOutcome::Cancelled,
            Answer::Hold => return None,
            Answer::Raw(body) => return Some(Ok(body.clone())),
            Answer::Fail(error) => return Some(Err(error.clone())),
        };
        Some(Ok(json!(PermissionResponse { outcome })))
    }
}

type Rule = Box<dyn FnMut(&AskView) -> Answer + Send>;

/// A queue of answers, then a rule for the rest; without either, asks are held.
#[derive(Default)]
pub struct AskScript {
    queue: VecDeque<Answer>,
    rule: Option<Rule>,
}

impl AskScript {
    /// Adds an answer to the queue.
    pub fn push(&mut self, answer: Answer) {
        self.queue.push_back(answer);
    }

    /// Sets what answers when the queue is empty.
    pub fn set_rule(&mut self, rule: impl FnMut(&AskView) -> Answer + Send + 'static) {
        self.rule = Some(Box::new(rule));
    }

    /// Returns the answer to an ask.
    pub fn next(&mut self, ask: &AskView) -> Answer {
        match (self.queue.pop_front(), &mut self.rule) {
            (Some(answer), _) => answer,
            (None, Some(rule)) => rule(ask),
            (None, None) => Answer::Hold,
        }
    }
}
