//! Answers in the format of Anthropic Messages: numbered blocks, each with a start, deltas and a stop.

use serde_json::{Value, json};

use super::super::said::{Part, Said};

/// The signature of every thinking block.
const SIGNATURE: &str = "c2lnbmVk+/==";

pub fn events(said: &Said) -> Vec<Vec<u8>> {
    let mut stream = Stream::default();
    // An answer of raw lines alone gets no further event.
    if said.finish.is_some() || !said.parts.iter().all(|part| matches!(part, Part::Raw(_))) {
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m1", "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": said.usage.map_or(0, |(input, _)| input), "output_tokens": 0}});
        let message = if said.usage.is_some() { message } else { without_usage(message) };
        stream.event(json!({"type": "message_start", "message": message}));
    }
    for (at, part) in said.parts.iter().enumerate() {
        stream.part(part, &said.parts[at + 1..]);
    }
    if let Some(reason) = &said.finish {
        stream.end_blocks();
        let mut event = json!({"type": "message_delta",
            "delta": {"stop_reason": stop_reason(reason), "stop_sequence": null}});
        if let Some((_, output)) = said.usage {
            event["usage"] = json!({"output_tokens": output});
        }
        stream.event(event);
    }
    if said.done {
        stream.event(json!({"type": "message_stop"}));
    }
    stream.events
}

pub fn whole(said: &Said) -> Vec<u8> {
    let mut content = Vec::new();
    let reasoning = said.reasoning();
    if !reasoning.is_empty() {
        content.push(json!({"type": "thinking", "thinking": reasoning, "signature": SIGNATURE}));
    }
    let text = said.text();
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(said.calls().into_iter().map(|call| {
        let input =
            serde_json::from_str::<Value>(&call.arguments).expect("a whole answer has whole arguments");
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    }));
    let mut message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m1", "content": content,
        "stop_reason": said.finish.as_deref().map(stop_reason), "stop_sequence": null});
    if let Some((input, output)) = said.usage {
        message["usage"] = json!({"input_tokens": input, "output_tokens": output});
    }
    message.to_string().into_bytes()
}

fn without_usage(mut message: Value) -> Value {
    message["usage"] = Value::Null;
    message
}

fn stop_reason(reason: &str) -> &str {
    match reason {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    }
}

/// The content of a block.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call(usize),
}

#[derive(Default)]
struct Stream {
    events: Vec<Vec<u8>>,
    /// The number and kind of each block that has not ended.
    open: Vec<(usize, Kind)>,
    blocks: usize,
}

impl Stream {
    fn event(&mut self, event: Value) {
        let name = event["type"].as_str().unwrap_or_default();
        self.events.push(format!("event: {name}\ndata: {event}\n\n").into_bytes());
    }

    fn part(&mut self, part: &Part, rest: &[Part]) {
        match part {
            Part::Text(word) => {
                let index = self.block(Kind::Text, json!({"type": "text", "text": ""}), rest);
                self.delta(index, json!({"type": "text_delta", "text": word}));
            }
            Part::Reasoning(word) => {
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                let index = self.block(Kind::Thinking, block, rest);
                self.delta(index, json!({"type": "thinking_delta", "thinking": word}));
            }
            Part::Call { index, id, name, arguments, .. } => {
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                let index = self.block(Kind::Call(*index), block, rest);
                self.delta(index, json!({"type": "input_json_delta", "partial_json": arguments}));
            }
            Part::Arguments { index, arguments } => {
                let call = self.open.iter().find(|(_, kind)| *kind == Kind::Call(*index));
                let index = call.expect("arguments follow their call").0;
                self.delta(index, json!({"type": "input_json_delta", "partial_json": arguments}));
            }
            Part::Raw(line) => self.events.push(format!("data: {line}\n\n").into_bytes()),
            Part::KeepAlive => self.event(json!({"type": "ping"})),
        }
    }

    fn delta(&mut self, index: usize, delta: Value) {
        self.event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }

    /// Returns the number of the open block of this kind. If there is none, ends the blocks that
    /// `rest` does not need, and begins a new one.
    fn block(&mut self, kind: Kind, block: Value, rest: &[Part]) -> usize {
        if let Some((index, _)) = self.open.iter().find(|(_, open)| *open == kind) {
            return *index;
        }
        let needed = |kind: Kind| {
            rest.iter()
                .any(|part| matches!(part, Part::Arguments { index, .. } if kind == Kind::Call(*index)))
        };
        let (kept, ended) = std::mem::take(&mut self.open).into_iter().partition(|(_, kind)| needed(*kind));
        self.open = ended;
        self.end_blocks();
        self.open = kept;
        let index = self.blocks;
        self.blocks += 1;
        self.open.push((index, kind));
        self.event(json!({"type": "content_block_start", "index": index, "content_block": block}));
        index
    }

    fn end_blocks(&mut self) {
        for (index, kind) in std::mem::take(&mut self.open) {
            if kind == Kind::Thinking {
                self.delta(index, json!({"type": "signature_delta", "signature": SIGNATURE}));
            }
            self.event(json!({"type": "content_block_stop", "index": index}));
        }
    }
}
