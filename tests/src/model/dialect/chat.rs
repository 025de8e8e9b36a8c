//! Answers as OpenAI Chat Completions streams them.

use serde_json::{Value, json};

use super::super::reply::{Part, Said};

pub fn events(said: &Said) -> Vec<Vec<u8>> {
    let parts = said.parts.iter().map(part);
    let finish = said.finish.as_ref().map(|reason| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        .to_string()
    });
    let usage = said.usage.map(|(input, output)| {
        let usage =
            json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output});
        json!({"choices": [], "usage": usage}).to_string()
    });
    let done = said.done.then(|| "[DONE]".to_owned());
    let events = parts.chain(finish).chain(usage).chain(done);
    events.map(|event| format!("data: {event}\n\n").into_bytes()).collect()
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(word) => delta(json!({"content": word})),
        Part::Reasoning(word) => delta(json!({"reasoning_content": word})),
        Part::Call { index, id, name, arguments } => {
            delta(json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments}}]}))
        }
        Part::Arguments { index, arguments } => {
            delta(json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
        }
        Part::Raw(line) => line.clone(),
    }
}

/// One chunk of a streamed reply around `delta`.
fn delta(delta: Value) -> String {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    .to_string()
}
