//! Parses the file of a scripted model; the format is in `docs/scripted-model.md`.
//!
//! Never reads a file itself. Each error names the file, the line and the key.

use adjutant_core::machine::retry::FailureClass;
use adjutant_core::prompt::{StopCause, Usage};
use serde::Deserialize;
use serde_json::Value;

/// A script that passed every check.
#[derive(Debug, PartialEq)]
pub(super) struct Script {
    pub pace_ms: u64,
    /// The answer to each request for a summary of the conversation.
    pub summary: Option<String>,
    pub turns: Vec<Turn>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Turn {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<Call>,
    pub usage: Option<Usage>,
    pub stop: StopCause,
    pub pace_ms: Option<u64>,
    pub fail: Vec<Fail>,
    pub repeat_on: Vec<String>,
    /// The turn is only for conversations whose first prompt has this text.
    pub when: Option<String>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Call {
    pub tool: String,
    pub arguments: String,
}

/// A failure to play instead of a reply.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fail {
    /// The attempt that fails; the first is one. All attempts fail if it is absent.
    pub attempt: Option<u32>,
    pub class: FailureClass,
    /// How many words are streamed before the failure.
    #[serde(default)]
    pub after_words: usize,
    pub retry_after_ms: Option<u64>,
    pub message: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptText {
    /// The purpose of the script, for people. Not used.
    #[serde(rename = "name")]
    _name: Option<String>,
    #[serde(default)]
    pace_ms: u64,
    summary: Option<String>,
    #[serde(default, rename = "turn")]
    turns: Vec<toml::Spanned<TurnText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnText {
    #[serde(default)]
    text: String,
    #[serde(default)]
    reasoning: String,
    #[serde(default, rename = "call")]
    calls: Vec<toml::Spanned<CallText>>,
    usage: Option<UsageText>,
    stop: Option<StopCause>,
    pace_ms: Option<u64>,
    #[serde(default)]
    fail: Vec<Fail>,
    #[serde(default)]
    repeat_on: Vec<String>,
    when: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallText {
    tool: String,
    arguments: Option<toml::Table>,
    arguments_raw: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageText {
    input: u64,
    output: u64,
    #[serde(default)]
    cache_read: u64,
}

impl Script {
    /// Parses a script. `name` is its name in messages.
    pub fn parse(name: &str, text: &str) -> Result<Script, String> {
        let place = |offset: usize| {
            let line =
                text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
            format!("script \"{name}\", line {line}")
        };
        let script: ScriptText = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            format!("{}: {message}", place(offset))
        })?;
        let turns = script.turns.into_iter().map(|turn| {
            let offset = turn.span().start;
            let calls = turn.as_ref().calls.iter().map(|call| call.span().start).collect::<Vec<_>>();
            turn.into_inner().checked().map_err(|(call, why)| {
                format!("{}: {why}", place(call.and_then(|at| calls.get(at).copied()).unwrap_or(offset)))
            })
        });
        let turns = turns.collect::<Result<_, _>>()?;
        Ok(Script { pace_ms: script.pace_ms, summary: script.summary, turns })
    }

    /// Removes the turns that are not for a conversation with this first prompt.
    pub fn keep_for(&mut self, prompt: &str) {
        self.turns.retain(|turn| turn.when.as_deref().is_none_or(|when| prompt.contains(when)));
    }
}

impl TurnText {
    /// Checks the turn. The error has the index of the call that it belongs to, if any.
    fn checked(self) -> Result<Turn, (Option<usize>, String)> {
        if self.text.is_empty() && self.calls.is_empty() && self.fail.is_empty() {
            return Err((None, "a turn needs `text`, a `[[turn.call]]` or a `[[turn.fail]]`".to_owned()));
        }
        if self.repeat_on.iter().any(String::is_empty) {
            return Err((None, "an empty text in `repeat_on` would repeat the turn for ever".to_owned()));
        }
        if self.when.as_deref() == Some("") {
            return Err((None, "an empty text in `when` is in every prompt; leave it out".to_owned()));
        }
        let calls = self
            .calls
            .into_iter()
            .enumerate()
            .map(|(at, call)| call.into_inner().checked().map_err(|why| (Some(at), why)));
        let calls = calls.collect::<Result<Vec<_>, _>>()?;
        let usual = if calls.is_empty() { StopCause::EndTurn } else { StopCause::ToolCalls };
        let usage = self.usage.map(|usage| Usage {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: 0,
        });
        Ok(Turn {
            text: self.text,
            reasoning: self.reasoning,
            calls,
            usage,
            stop: self.stop.unwrap_or(usual),
            pace_ms: self.pace_ms,
            fail: self.fail,
            repeat_on: self.repeat_on,
            when: self.when,
        })
    }
}

impl CallText {
    fn checked(self) -> Result<Call, String> {
        let arguments = match (self.arguments, self.arguments_raw) {
            (Some(_), Some(_)) => {
                return Err("a call has `arguments` or `arguments_raw`, not both".to_owned());
            }
            (Some(table), None) => {
                table.into_iter().map(|(key, value)| (key, json(value))).collect::<Value>().to_string()
            }
            (None, Some(raw)) => raw,
            (None, None) => "{}".to_owned(),
        };
        Ok(Call { tool: self.tool, arguments })
    }
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(flag) => Value::from(flag),
        // JSON has no dates.
        toml::Value::Datetime(date) => Value::from(date.to_string()),
        toml::Value::Array(values) => values.into_iter().map(json).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, json(value))).collect(),
    }
}
