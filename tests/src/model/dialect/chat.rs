//! Answers in the format of OpenAI Chat Completions.

use serde_json::{Value, json};

use super::super::said::{Part, Said};

pub fn events(said: &Said) -> Vec<Vec<u8>> {
    let parts = said.parts.iter().map(part);
    let finish = said.finish.as_ref().map(|reason| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        .to_string()
    });
    let usage = said.usage.map(|usage| json!({"choices": [], "usage": counts(usage)}).to_string());
    let done = said.done.then(|| "[DONE]".to_owned());
    parts.chain(finish.into_iter().chain(usage).chain(done).map(data)).collect()
}

pub fn whole(said: &Said) -> Vec<u8> {
    let calls = said.calls().into_iter().map(|call| {
        json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
    });
    let message = json!({"role": "assistant", "content": said.text(), "reasoning_content": said.reasoning(),
        "tool_calls": calls.collect::<Vec<_>>()});
    json!({"id": "chatcmpl-1", "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": said.finish}],
        "usage": said.usage.map(counts)})
    .to_string()
    .into_bytes()
}

fn counts((input, output): (u64, u64)) -> Value {
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}

fn part(part: &Part) -> Vec<u8> {
    match part {
        Part::Text(word) => delta(json!({"content": word})),
        Part::Reasoning(word) => delta(json!({"reasoning_content": word})),
        Part::Call { index, id, name, arguments, .. } => {
            delta(json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments}}]}))
        }
        Part::Arguments { index, arguments } => {
            delta(json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
        }
        Part::Raw(line) => data(line.clone()),
        // Many servers send this while a model thinks.
        Part::KeepAlive => b": keep-alive\n\n".to_vec(),
    }
}

/// Returns one chunk of a streamed reply with this `delta`.
fn delta(delta: Value) -> Vec<u8> {
    let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    data(chunk.to_string())
}

fn data(line: String) -> Vec<u8> {
    format!("data: {line}\n\n").into_bytes()
}
