//! Work-done progress, as a status bar would show it.
//!
//! Never draws; it checks the order create, begin, report, end.

use std::collections::BTreeMap;

use serde_json::Value;

use super::violation::{Rule, Violation};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Created,
    Begun,
    Ended,
}

/// All progress of one connection.
#[derive(Default)]
pub struct Progress {
    tokens: BTreeMap<String, Token>,
    shown: Vec<Value>,
    last: Option<Value>,
}

impl Progress {
    /// Handles the creation of a token.
    pub fn create(&mut self, params: &Value) -> Option<Violation> {
        let token = &params["token"];
        let made_before = self.tokens.insert(token.to_string(), Token::Created).is_some();
        let wrong = made_before || !(token.is_string() || token.is_i64());
        wrong.then(|| {
            Violation::new(
                Rule::ProgressOrder,
                format!("the token {token} is created twice or has a bad type"),
            )
        })
    }

    /// Handles one `$/progress` notification.
    pub fn report(&mut self, params: &Value) -> Option<Violation> {
        self.shown.push(params["value"].clone());
        self.last = Some(params["token"].clone());
        let (token, kind) = (params["token"].to_string(), params["value"]["kind"].as_str().unwrap_or(""));
        let before = self.tokens.get(&token).copied();
        let after = match (before, kind) {
            (Some(Token::Created), "begin") => Token::Begun,
            (Some(Token::Begun), "report") => Token::Begun,
            (Some(Token::Begun), "end") => Token::Ended,
            _ => {
                let what = format!("{kind:?} of the token {token} at the wrong time");
                return Some(Violation::new(Rule::ProgressOrder, what));
            }
        };
        self.tokens.insert(token, after);
        None
    }

    /// Returns all values so far, in order.
    pub fn shown(&self) -> &[Value] {
        &self.shown
    }

    /// Returns the token of the last notification.
    pub fn last_token(&self) -> Option<Value> {
        self.last.clone()
    }

    /// Returns the number of progresses that have begun and not ended.
    pub fn open(&self) -> usize {
        self.tokens.values().filter(|token| **token == Token::Begun).count()
    }
}
