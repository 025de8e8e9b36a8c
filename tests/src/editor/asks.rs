//! The editor double's answers to asks that arrive as a request.
//!
//! Never judges the content of an ask; a test or its script decides.

use std::collections::VecDeque;

use adjutant_protocol::ask::{AskView, PermissionOutcome, PermissionResponse};
use serde_json::{Value, json};

use super::wire::RpcError;

/// The user's reaction to an ask.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Chooses an option.
    Option(String),
    /// Chooses an option and adds a text.
    OptionWithText(String, String),
    /// Writes an answer.
    Text(String),
    /// Closes the question here; the ask stays open elsewhere.
    Close,
    /// Leaves it open until `Editor::answer`.
    Hold,
    /// Sends this body, for example null.
    Raw(Value),
    /// Answers with an error.
    Fail(RpcError),
}

impl Answer {
    /// Chooses an option.
    pub fn option(id: &str) -> Answer {
        Answer::Option(id.to_owned())
    }

    /// Returns the response; none for `Hold`.
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

/// A queue of answers and a rule for the rest; without both, asks are held.
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

    /// Sets the rule for an empty queue.
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
