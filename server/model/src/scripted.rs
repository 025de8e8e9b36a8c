//! A model whose replies come from a file, for the demo, for tests and for replays.
//!
//! It has no state: the history alone decides the next turn, so a restart changes nothing. Never uses the network.

mod script;

use std::time::Duration;

use adjutant_core::config::{ModelLimits, Provider};
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use adjutant_core::prompt::{Delta, ModelMessage, ModelRequest, Reply, RequestedCall, StopCause};
use tokio::time::{Instant, sleep_until, timeout};

use self::script::{Fail, Script, Turn};
use super::failure::failure;
use super::waits::in_words;
use adjutant_host::settings::own_files;

/// The maximum length of `{{last_output}}`, in characters.
const MAX_OUTPUT_CHARS: usize = 200;
/// The reply after the last turn of the script.
const EXHAUSTED: &str = "(the script has no more turns)";
/// The summary of a script that has none.
const SUMMARY: &str = "\
## Goal
As the prompts say.
## Done
What the script has played so far.
## Files
Those of the calls so far.
## Decisions
None.
## Open
Nothing is known.
## Next
The next turn of the script.";
/// Without a pace, how many words are streamed before the task yields, so that it can be cancelled.
const WORDS_PER_YIELD: usize = 64;

/// Returns the path of the script that `provider` names.
pub(super) fn path_of(provider: &Provider) -> Result<&str, CallFailure> {
    provider.script.as_deref().ok_or_else(|| {
        let message =
            format!("provider \"{}\": `script` is not set; set it to the path of a script", provider.name);
        failure(FailureClass::InvalidRequest, message)
    })
}

fn read(path: &str) -> Result<Script, String> {
    let text = own_files::script(path).map_err(|why| format!("the script {why}"))?;
    Script::parse(path, &text)
}

/// Returns why the script of a provider cannot be used; `None` if it can, or if the provider has none. Blocks.
pub fn script_fault(provider: &Provider) -> Option<String> {
    read(provider.script.as_deref()?).err()
}

async fn load(path: String) -> Result<Script, CallFailure> {
    let loaded =
        tokio::task::spawn_blocking(move || read(&path)).await.unwrap_or_else(|error| Err(error.to_string()));
    loaded.map_err(|message| failure(FailureClass::InvalidRequest, message))
}

/// Makes one attempt of the turn that the history has reached.
pub(super) async fn call(
    path: &str,
    limits: &ModelLimits,
    request: &ModelRequest,
    attempt: u32,
    on_delta: impl FnMut(Delta) + Send,
) -> Result<Reply, CallFailure> {
    let limit = limits.total_ms;
    let played = async {
        let mut script = load(path.to_owned()).await?;
        script.keep_for(first_prompt(&request.messages));
        play(&script, request, attempt, on_delta).await
    };
    match timeout(Duration::from_millis(limit), played).await {
        Ok(reply) => reply,
        Err(_) => {
            let message =
                format!("the script was not finished within the total limit of {}", in_words(limit));
            Err(failure(FailureClass::Total, message))
        }
    }
}

/// Returns the index of the turn to play.
///
/// Each reply in the history moves to the next turn. A turn stays if the output of one of its calls contains a text of
/// its `repeat_on`. User messages do not count. Replies that a compaction replaced count as well.
fn position(turns: &[Turn], request: &ModelRequest) -> usize {
    let messages = &request.messages;
    let mut position = request.replaced_replies;
    for (at, message) in messages.iter().enumerate() {
        if !matches!(message, ModelMessage::Assistant { .. }) {
            continue;
        }
        let after = messages[at + 1..]
            .iter()
            .take_while(|message| !matches!(message, ModelMessage::Assistant { .. }));
        let repeat_on = turns.get(position).map_or(&[][..], |turn| &turn.repeat_on);
        let mut outputs = after.filter_map(|message| match message {
            ModelMessage::Tool { output, .. } => Some(output),
            _ => None,
        });
        let repeated = outputs.any(|output| repeat_on.iter().any(|text| output.contains(text.as_str())));
        if !repeated {
            position += 1;
        }
    }
    position
}

async fn play(
    script: &Script,
    request: &ModelRequest,
    attempt: u32,
    on_delta: impl FnMut(Delta) + Send,
) -> Result<Reply, CallFailure> {
    let replies =
        request.messages.iter().filter(|message| matches!(message, ModelMessage::Assistant { .. })).count()
            + request.replaced_replies;
    let turn = script.turns.get(position(&script.turns, request));
    if request.is_summary {
        let text = script.summary.as_deref().unwrap_or(SUMMARY);
        let stop = StopCause::EndTurn;
        return Ok(Reply { text: text.to_owned(), stop, ..Reply::default() });
    }
    let Some(turn) = turn else {
        let mut stream = PacedStream::new(script.pace_ms, None, on_delta);
        stream.stream_text(EXHAUSTED, Delta::Text).await?;
        return Ok(Reply { text: EXHAUSTED.to_owned(), stop: StopCause::EndTurn, ..Reply::default() });
    };
    let fail = turn.fail.iter().find(|fail| fail.attempt.is_none_or(|number| number == attempt));
    let mut stream = PacedStream::new(turn.pace_ms.unwrap_or(script.pace_ms), fail, on_delta);
    let text = turn.text.replace("{{last_output}}", last_output(&request.messages));
    stream.stream_text(&turn.reasoning, Delta::Reasoning).await?;
    stream.stream_text(&text, Delta::Text).await?;
    stream.stream_calls(turn)?;
    let calls = turn.calls.iter().enumerate().map(|(at, call)| RequestedCall {
        id: format!("call_{replies}_{at}"),
        name: call.tool.clone(),
        arguments: call.arguments.clone(),
        free_form: false,
    });
    Ok(Reply {
        text,
        reasoning: turn.reasoning.clone(),
        calls: calls.collect(),
        usage: turn.usage,
        stop: turn.stop,
        kept: None,
    })
}

/// Returns the text that the conversation begins with.
fn first_prompt(messages: &[ModelMessage]) -> &str {
    let first = messages.iter().find_map(|message| match message {
        ModelMessage::User { text, .. } => Some(text),
        _ => None,
    });
    first.map_or("", |text| text)
}

/// Returns the first line of the latest tool output, at most `MAX_OUTPUT_CHARS` long.
fn last_output(messages: &[ModelMessage]) -> &str {
    let last = messages.iter().rev().find_map(|message| match message {
        ModelMessage::Tool { output, .. } => Some(output),
        _ => None,
    });
    let line = last.and_then(|output| output.lines().next()).unwrap_or_default();
    line.char_indices().nth(MAX_OUTPUT_CHARS).map_or(line, |(end, _)| &line[..end])
}

/// Streams words at a pace, and fails where the script says so.
struct PacedStream<'a, F> {
    pace: Duration,
    /// When the next word is due. Counted from the start, so that late timers do not add up.
    due: Instant,
    fail: Option<&'a Fail>,
    streamed: usize,
    on_delta: F,
}

impl<'a, F: FnMut(Delta)> PacedStream<'a, F> {
    fn new(pace_ms: u64, fail: Option<&'a Fail>, on_delta: F) -> Self {
        PacedStream { pace: Duration::from_millis(pace_ms), due: Instant::now(), fail, streamed: 0, on_delta }
    }

    async fn stream_text(&mut self, text: &str, wrap: fn(String) -> Delta) -> Result<(), CallFailure> {
        for word in words(text) {
            self.check_fail(self.streamed)?;
            (self.on_delta)(wrap(word.to_owned()));
            self.streamed += 1;
            if !self.pace.is_zero() {
                self.due += self.pace;
                sleep_until(self.due).await;
            } else if self.streamed.is_multiple_of(WORDS_PER_YIELD) {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    fn stream_calls(&mut self, turn: &Turn) -> Result<(), CallFailure> {
        for call in &turn.calls {
            self.check_fail(self.streamed)?;
            (self.on_delta)(Delta::ToolCall { name: call.tool.clone() });
            self.streamed += 1;
        }
        // A reply shorter than `after_words` fails at its end.
        self.check_fail(usize::MAX)
    }

    fn check_fail(&self, streamed: usize) -> Result<(), CallFailure> {
        match self.fail {
            Some(fail) if streamed >= fail.after_words => Err(CallFailure {
                class: fail.class,
                message: fail
                    .message
                    .clone()
                    .unwrap_or_else(|| "the script fails this attempt on purpose".to_owned()),
                retry_after_ms: fail.retry_after_ms,
            }),
            _ => Ok(()),
        }
    }
}

/// Splits a text into words with the space after each. Joined, they are the text again.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let begin = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let end = rest[begin..].find(char::is_whitespace).map_or(rest.len(), |at| begin + at);
        let next = rest[end..].find(|c: char| !c.is_whitespace()).map_or(rest.len(), |at| end + at);
        let (word, after) = rest.split_at(next);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests;
