//! Answers in the format of OpenAI Responses: items, each announced, streamed and ended. The last
//! event repeats all items.

use serde_json::{Value, json};

use super::super::said::{Part, Said};

/// The encrypted content of every reasoning item.
const SEALED: &str = "gAAAAABsealed+/==";

pub fn events(said: &Said) -> Vec<Vec<u8>> {
    let mut stream = Stream::default();
    // An answer of raw lines alone gets no further event.
    if said.finish.is_some() || !said.parts.iter().all(|part| matches!(part, Part::Raw(_))) {
        for kind in ["response.created", "response.in_progress"] {
            let response = response("in_progress", Vec::new());
            stream.event(json!({"type": kind, "response": response}));
        }
    }
    for (at, part) in said.parts.iter().enumerate() {
        stream.part(part, &said.parts[at + 1..]);
    }
    // The end and its reason are one event: no event follows that could be left out.
    if let Some(reason) = &said.finish {
        stream.end_items(|_| true);
        let items = std::mem::take(&mut stream.ended);
        stream.event(ending(reason, items, said.usage));
    }
    stream.events
}

pub fn whole(said: &Said) -> Vec<u8> {
    let mut stream = Stream::default();
    let reasoning = said.reasoning();
    let text = said.text();
    let parts = [
        (!reasoning.is_empty()).then_some(Part::Reasoning(reasoning)),
        (!text.is_empty()).then_some(Part::Text(text)),
    ];
    let calls = said.calls().into_iter().map(|call| Part::Call {
        index: call.index,
        id: call.id,
        name: call.name,
        arguments: call.arguments,
        free_form: call.free_form,
    });
    for part in parts.into_iter().flatten().chain(calls) {
        stream.part(&part, &[]);
    }
    stream.end_items(|_| true);
    let reason = said.finish.as_deref().unwrap_or("stop");
    ending(reason, stream.ended, said.usage)["response"].to_string().into_bytes()
}

fn response(status: &str, output: Vec<Value>) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status, "error": null,
        "incomplete_details": null, "model": "m1", "output": output, "parallel_tool_calls": true,
        "store": false, "usage": null})
}

/// Returns the last event, with all items.
fn ending(reason: &str, items: Vec<(usize, Value)>, usage: Option<(u64, u64)>) -> Value {
    let mut items = items;
    items.sort_by_key(|(index, _)| *index);
    let output = items.into_iter().map(|(_, item)| item).collect();
    let cut = match reason {
        "stop" | "tool_calls" => None,
        "length" => Some("max_output_tokens"),
        other => Some(other),
    };
    let status = if cut.is_some() { "incomplete" } else { "completed" };
    let mut response = response(status, output);
    if let Some(reason) = cut {
        response["incomplete_details"] = json!({"reason": reason});
    }
    if let Some((input, output)) = usage {
        response["usage"] = json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + output});
    }
    json!({"type": format!("response.{status}"), "response": response})
}

/// The content of an item.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text,
    Reasoning,
    Call { index: usize, call_id: String, name: String, free_form: bool },
}

/// An item that has not ended.
struct Open {
    index: usize,
    id: String,
    kind: Kind,
    /// The streamed text so far.
    text: String,
}

#[derive(Default)]
struct Stream {
    events: Vec<Vec<u8>>,
    open: Vec<Open>,
    /// The complete items, each with its place in the output.
    ended: Vec<(usize, Value)>,
    items: usize,
}

impl Stream {
    /// Adds an event with the next sequence number.
    fn event(&mut self, mut event: Value) {
        event["sequence_number"] = json!(self.events.len());
        let name = event["type"].as_str().unwrap_or_default();
        self.events.push(format!("event: {name}\ndata: {event}\n\n").into_bytes());
    }

    fn part(&mut self, part: &Part, rest: &[Part]) {
        match part {
            Part::Text(word) => self.stream(Kind::Text, word, rest),
            Part::Reasoning(word) => self.stream(Kind::Reasoning, word, rest),
            Part::Call { index, id, name, arguments, free_form } => {
                let (call_id, name) = (id.clone(), name.clone());
                let kind = Kind::Call { index: *index, call_id, name, free_form: *free_form };
                self.stream(kind, arguments, rest);
            }
            Part::Arguments { index: wanted, arguments } => {
                let is_it = |open: &Open| matches!(open.kind, Kind::Call { index, .. } if index == *wanted);
                let at = self.open.iter().position(is_it).expect("arguments follow their call");
                self.delta(at, arguments);
            }
            Part::Raw(line) => self.events.push(format!("data: {line}\n\n").into_bytes()),
            Part::KeepAlive => self.event(json!({"type": "keepalive"})),
        }
    }

    /// Streams a piece of the open item of this kind. If there is none, ends the items that `rest`
    /// does not need, and begins a new one.
    fn stream(&mut self, kind: Kind, piece: &str, rest: &[Part]) {
        let at = self.open.iter().position(|open| open.kind == kind).unwrap_or_else(|| {
            let needed = |open: &Open| {
                rest.iter().any(|part| match (part, &open.kind) {
                    (Part::Arguments { index: wanted, .. }, Kind::Call { index, .. }) => wanted == index,
                    _ => false,
                })
            };
            self.end_items(|open| !needed(open));
            self.begin(kind)
        });
        self.delta(at, piece);
    }

    fn begin(&mut self, kind: Kind) -> usize {
        let index = self.items;
        self.items += 1;
        let prefix = match kind {
            Kind::Text => "msg",
            Kind::Reasoning => "rs",
            Kind::Call { free_form: true, .. } => "ctc",
            Kind::Call { .. } => "fc",
        };
        let open = Open { index, id: format!("{prefix}_{index}"), kind, text: String::new() };
        self.event(json!({"type": "response.output_item.added", "output_index": index,
            "item": open.item("in_progress")}));
        if let Some(event) = open.part_event("added", "") {
            self.event(event);
        }
        self.open.push(open);
        self.open.len() - 1
    }

    fn delta(&mut self, at: usize, piece: &str) {
        let open = &mut self.open[at];
        open.text.push_str(piece);
        let event = open.text_event("delta", "delta", piece);
        self.event(event);
    }

    fn end_items(&mut self, ends: impl Fn(&Open) -> bool) {
        let (ended, kept) = std::mem::take(&mut self.open).into_iter().partition(ends);
        self.open = kept;
        let ended: Vec<Open> = ended;
        for open in ended {
            let field = match open.kind {
                Kind::Call { free_form: true, .. } => "input",
                Kind::Call { .. } => "arguments",
                _ => "text",
            };
            self.event(open.text_event("done", field, &open.text));
            if let Some(event) = open.part_event("done", &open.text) {
                self.event(event);
            }
            let item = open.item("completed");
            self.event(
                json!({"type": "response.output_item.done", "output_index": open.index, "item": item}),
            );
            self.ended.push((open.index, item));
        }
    }
}

impl Open {
    /// Returns the item: empty when it is announced, or with its whole text.
    fn item(&self, status: &str) -> Value {
        let done = status == "completed";
        match &self.kind {
            Kind::Text => {
                let content = if done { vec![self.text_part(&self.text)] } else { Vec::new() };
                json!({"id": self.id, "type": "message", "status": status, "role": "assistant",
                    "content": content})
            }
            Kind::Reasoning => {
                let summary = if done { vec![self.text_part(&self.text)] } else { Vec::new() };
                let sealed = if done { SEALED } else { "gAAAAABearly" };
                json!({"id": self.id, "type": "reasoning", "summary": summary, "encrypted_content": sealed})
            }
            Kind::Call { call_id, name, free_form: true, .. } => {
                json!({"id": self.id, "type": "custom_tool_call", "status": status, "call_id": call_id,
                    "name": name, "input": self.text})
            }
            Kind::Call { call_id, name, .. } => {
                json!({"id": self.id, "type": "function_call", "status": status, "call_id": call_id,
                    "name": name, "arguments": self.text})
            }
        }
    }

    fn text_part(&self, text: &str) -> Value {
        match self.kind {
            Kind::Reasoning => json!({"type": "summary_text", "text": text}),
            _ => json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text}),
        }
    }

    /// Returns the event that begins or ends the part of a text; a call has none.
    fn part_event(&self, end: &str, text: &str) -> Option<Value> {
        let (group, place) = match self.kind {
            Kind::Text => ("content_part", "content_index"),
            Kind::Reasoning => ("reasoning_summary_part", "summary_index"),
            Kind::Call { .. } => return None,
        };
        Some(json!({"type": format!("response.{group}.{end}"), "item_id": self.id,
            "output_index": self.index, place: 0, "part": self.text_part(text)}))
    }

    fn text_event(&self, end: &str, field: &str, text: &str) -> Value {
        let (group, place) = match self.kind {
            Kind::Text => ("output_text", Some("content_index")),
            Kind::Reasoning => ("reasoning_summary_text", Some("summary_index")),
            Kind::Call { free_form: true, .. } => ("custom_tool_call_input", None),
            Kind::Call { .. } => ("function_call_arguments", None),
        };
        let mut event = json!({"type": format!("response.{group}.{end}"), "item_id": self.id,
            "output_index": self.index, field: text});
        if let Some(place) = place {
            event[place] = json!(0);
        }
        event
    }
}
