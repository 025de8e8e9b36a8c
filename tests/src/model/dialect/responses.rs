//! Answers as OpenAI Responses streams them: items, each added, continued and done, and all of them
//! again in the last event.

use serde_json::{Value, json};

use super::super::said::{Part, Said};

/// What all reasoning is encrypted to.
const ENCRYPTED: &str = "gAAAAB+/==";

pub fn events(said: &Said) -> Vec<Vec<u8>> {
    let mut stream = Stream::default();
    // What consists of raw lines alone is sent as it is.
    if said.finish.is_some() || !said.parts.iter().all(|part| matches!(part, Part::Raw(_))) {
        for kind in ["response.created", "response.in_progress"] {
            let response =
                json!({"id": "resp_1", "object": "response", "status": "in_progress", "output": []});
            stream.event(kind, json!({"response": response}));
        }
    }
    for (at, part) in said.parts.iter().enumerate() {
        stream.part(part, &said.parts[at + 1..]);
    }
    if let Some(reason) = &said.finish {
        stream.end_items(|_| false);
        let response = response(said, reason, std::mem::take(&mut stream.output));
        let kind =
            if response["status"] == "incomplete" { "response.incomplete" } else { "response.completed" };
        if said.done {
            stream.event(kind, json!({"response": response}));
        }
    }
    stream.events
}

pub fn whole(said: &Said) -> Vec<u8> {
    let mut stream = Stream::default();
    for (at, part) in said.parts.iter().enumerate() {
        stream.part(part, &said.parts[at + 1..]);
    }
    stream.end_items(|_| false);
    let reason = said.finish.as_deref().unwrap_or("stop");
    response(said, reason, stream.output).to_string().into_bytes()
}

fn response(said: &Said, reason: &str, output: Vec<Value>) -> Value {
    let (status, why) = match reason {
        "length" => ("incomplete", json!({"reason": "max_output_tokens"})),
        "content_filter" => ("incomplete", json!({"reason": "content_filter"})),
        "stop" | "tool_calls" => ("completed", Value::Null),
        other => ("incomplete", json!({"reason": other})),
    };
    let mut response = json!({"id": "resp_1", "object": "response", "status": status, "error": null,
        "incomplete_details": why, "output": output});
    if let Some((input, written)) = said.usage {
        response["usage"] = json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written, "total_tokens": input + written});
    }
    response
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call(usize),
}

/// An item that has not ended.
struct Open {
    index: usize,
    kind: Kind,
    item: Value,
    said: String,
}

#[derive(Default)]
struct Stream {
    events: Vec<Vec<u8>>,
    open: Vec<Open>,
    output: Vec<Value>,
    number: usize,
}

impl Stream {
    fn event(&mut self, kind: &str, fields: Value) {
        let mut event = format!("{{\"type\":\"{kind}\",\"sequence_number\":{}", self.number);
        self.number += 1;
        for (name, value) in fields.as_object().into_iter().flatten() {
            event.push_str(&format!(",\"{name}\":{value}"));
        }
        self.events.push(format!("event: {kind}\ndata: {event}}}\n\n").into_bytes());
    }

    fn part(&mut self, part: &Part, rest: &[Part]) {
        match part {
            Part::Text(word) => {
                let item = json!({"type": "message", "role": "assistant", "content": []});
                self.say(Kind::Text, item, rest, ("response.output_text.delta", word));
            }
            Part::Reasoning(word) => {
                let item = json!({"type": "reasoning", "summary": []});
                self.say(Kind::Thinking, item, rest, ("response.reasoning_summary_text.delta", word));
            }
            Part::Call { index, id, name, arguments } => {
                let item = json!({"type": "function_call", "call_id": id, "name": name, "arguments": ""});
                let delta = ("response.function_call_arguments.delta", arguments.as_str());
                self.say(Kind::Call(*index), item, rest, delta);
            }
            Part::Arguments { index, arguments } => {
                let delta = ("response.function_call_arguments.delta", arguments.as_str());
                self.say(Kind::Call(*index), Value::Null, rest, delta);
            }
            Part::Raw(line) => self.events.push(format!("data: {line}\n\n").into_bytes()),
            Part::KeepAlive => {
                let response =
                    json!({"id": "resp_1", "object": "response", "status": "in_progress", "output": []});
                self.event("response.in_progress", json!({"response": response}));
            }
        }
    }

    /// Adds to the open item of this kind; begins it if there is none, and ends what is not needed any more.
    fn say(&mut self, kind: Kind, item: Value, rest: &[Part], (event, word): (&str, &str)) {
        if !self.open.iter().any(|open| open.kind == kind) {
            self.end_items(|kind| {
                rest.iter()
                    .any(|part| matches!(part, Part::Arguments { index, .. } if kind == Kind::Call(*index)))
            });
            let index = self.output.len();
            let mut item = item;
            item["id"] = json!(format!("item_{index}"));
            item["status"] = json!("in_progress");
            self.output.push(Value::Null);
            self.event("response.output_item.added", json!({"output_index": index, "item": item}));
            self.open.push(Open { index, kind, item, said: String::new() });
        }
        let open = self.open.iter_mut().find(|open| open.kind == kind).expect("it was just begun");
        open.said.push_str(word);
        let fields = json!({"output_index": open.index, "item_id": open.item["id"], "content_index": 0, "delta": word});
        self.event(event, fields);
    }

    fn end_items(&mut self, kept: impl Fn(Kind) -> bool) {
        let (kept, ended): (Vec<Open>, Vec<Open>) =
            std::mem::take(&mut self.open).into_iter().partition(|open| kept(open.kind));
        self.open = kept;
        for Open { index, kind, mut item, said } in ended {
            item["status"] = json!("completed");
            match kind {
                Kind::Text => {
                    item["content"] = json!([{"type": "output_text", "text": said, "annotations": []}]);
                }
                Kind::Thinking => {
                    item["summary"] = json!([{"type": "summary_text", "text": said}]);
                    item["encrypted_content"] = json!(ENCRYPTED);
                }
                Kind::Call(_) => {
                    item["arguments"] = json!(said);
                    let fields = json!({"output_index": index, "item_id": item["id"], "arguments": said});
                    self.event("response.function_call_arguments.done", fields);
                }
            }
            self.event("response.output_item.done", json!({"output_index": index, "item": item}));
            self.output[index] = item;
        }
    }
}
