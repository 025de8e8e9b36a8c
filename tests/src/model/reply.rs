//! What the model double answers: replies, refusals, and everything that can
//! go wrong with them.
//!
//! Only describes bytes; never touches a socket.

use std::time::Duration;

use serde_json::{Value, json};

/// What happens at one point of an answer.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Send(Vec<u8>),
    /// Waits for [`super::ModelServer::release`], the client's close or the end.
    Hold,
    /// Closes the connection without the end of the body.
    Cut,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Hold,
    Cut,
}

/// One answer, built step by step.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// `None` for a stream; `Some` for an answer with a length.
    raw_body: Option<Vec<u8>>,
    events: Vec<String>,
    calls: usize,
    usage: Option<Value>,
    finish: Option<String>,
    done: bool,
    fault: Option<(usize, Fault)>,
    piece: Option<usize>,
    silent: Option<Fault>,
    at_once: bool,
    pace: Option<Duration>,
}

impl Reply {
    fn empty() -> Reply {
        Reply {
            status: 200,
            headers: Vec::new(),
            raw_body: None,
            events: Vec::new(),
            calls: 0,
            usage: None,
            finish: Some("stop".to_owned()),
            done: true,
            fault: None,
            piece: None,
            silent: None,
            at_once: false,
            pace: None,
        }
    }

    /// A text, streamed word by word.
    pub fn text(text: &str) -> Reply {
        Reply::empty().and_text(text)
    }

    /// One tool call.
    pub fn call(name: &str, arguments: Value) -> Reply {
        Reply::empty().and_call(name, arguments)
    }

    /// A stream of exactly these `data:` lines, with nothing added but `[DONE]`.
    pub fn events(events: impl IntoIterator<Item = impl Into<String>>) -> Reply {
        let events = events.into_iter().map(Into::into).collect();
        Reply { events, finish: None, ..Reply::empty() }
    }

    /// An answer without a stream, such as a refusal.
    pub fn status(status: u16) -> Reply {
        Reply { status, raw_body: Some(Vec::new()), ..Reply::empty() }
    }

    /// No answer at all until released; then a close.
    pub fn never() -> Reply {
        Reply { silent: Some(Fault::Hold), ..Reply::empty() }
    }

    /// A close in place of an answer.
    pub fn hang_up() -> Reply {
        Reply { silent: Some(Fault::Cut), ..Reply::empty() }
    }

    /// Adds text, streamed word by word.
    pub fn and_text(mut self, text: &str) -> Reply {
        let words = text.split_inclusive(' ');
        self.events.extend(words.map(|word| delta(json!({"content": word}))));
        self
    }

    /// Adds reasoning, streamed word by word.
    pub fn and_reasoning(mut self, text: &str) -> Reply {
        let words = text.split_inclusive(' ');
        self.events.extend(words.map(|word| delta(json!({"reasoning_content": word}))));
        self
    }

    /// Adds a tool call, its arguments in two pieces.
    pub fn and_call(self, name: &str, arguments: Value) -> Reply {
        self.and_raw_call(name, &arguments.to_string())
    }

    /// Adds a tool call whose arguments are this text, JSON or not.
    pub fn and_raw_call(mut self, name: &str, arguments: &str) -> Reply {
        let index = self.calls;
        let mut middle = arguments.len() / 2;
        while !arguments.is_char_boundary(middle) {
            middle -= 1;
        }
        let (first, second) = arguments.split_at(middle);
        let id = format!("call_{name}_{index}");
        self.events.extend([
            delta(json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": first}}]})),
            delta(json!({"tool_calls": [{"index": index, "function": {"arguments": second}}]})),
        ]);
        self.calls += 1;
        self.finish("tool_calls")
    }

    /// Reports these token counts at the end.
    pub fn usage(mut self, input: u64, output: u64) -> Reply {
        let total = input + output;
        self.usage =
            Some(json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": total}));
        self
    }

    /// Ends for this reason instead of the usual one.
    pub fn finish(mut self, reason: &str) -> Reply {
        self.finish = Some(reason.to_owned());
        self
    }

    /// Leaves out the finish reason and `[DONE]`: the body just ends.
    pub fn unfinished(mut self) -> Reply {
        self.finish = None;
        self.without_done()
    }

    /// Leaves out `[DONE]`.
    pub fn without_done(mut self) -> Reply {
        self.done = false;
        self
    }

    /// Puts a raw `data:` line, JSON or not, before event number `at`.
    pub fn insert_event(mut self, at: usize, event: &str) -> Reply {
        self.events.insert(at.min(self.events.len()), event.to_owned());
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Answers with these bytes and their length instead of a stream.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Reply {
        self.raw_body = Some(body.into());
        self
    }

    /// Closes the connection after so many bytes of the body.
    pub fn cut_after(mut self, bytes: usize) -> Reply {
        self.fault = Some((bytes, Fault::Cut));
        self
    }

    /// Holds after so many bytes of the body.
    pub fn hold_after(mut self, bytes: usize) -> Reply {
        self.fault = Some((bytes, Fault::Hold));
        self
    }

    /// Sends the body in pieces of so many bytes, each a write and a chunk of its own.
    pub fn in_pieces_of(mut self, bytes: usize) -> Reply {
        self.piece = Some(bytes.max(1));
        self
    }

    /// Sends headers and body with one write; for an answer without faults.
    pub fn at_once(mut self) -> Reply {
        self.at_once = true;
        self
    }

    /// Sends one event each time so much time has passed; for a stream without faults.
    pub fn paced(mut self, pause: Duration) -> Reply {
        self.pace = Some(pause);
        self
    }

    /// Returns the bytes of the body as they will be sent if nothing goes wrong.
    pub fn body_bytes(&self) -> Vec<u8> {
        self.pieces().concat()
    }

    pub(super) fn is_stream(&self) -> bool {
        self.raw_body.is_none()
    }

    pub(super) fn is_at_once(&self) -> bool {
        self.at_once
    }

    pub(super) fn pace(&self) -> Option<Duration> {
        self.pace
    }

    /// What to do before the headers, if the answer never gets that far.
    pub(super) fn silence(&self) -> Option<Act> {
        self.silent.map(|fault| match fault {
            Fault::Hold => Act::Hold,
            Fault::Cut => Act::Cut,
        })
    }

    /// The acts of the body, in order.
    pub(super) fn acts(&self) -> Vec<Act> {
        let mut pieces = self.pieces();
        if let Some(size) = self.piece {
            pieces = pieces.concat().chunks(size).map(<[u8]>::to_vec).collect();
        }
        let Some((at, fault)) = self.fault else {
            return pieces.into_iter().map(Act::Send).collect();
        };
        let mut acts = Vec::new();
        let mut sent = 0;
        let mut faulted = false;
        for piece in pieces {
            if !faulted && sent + piece.len() > at {
                let (before, after) = piece.split_at(at - sent);
                acts.push(Act::Send(before.to_vec()));
                acts.push(fault.act());
                acts.push(Act::Send(after.to_vec()));
                faulted = true;
            } else {
                sent += piece.len();
                acts.push(Act::Send(piece));
            }
        }
        if !faulted {
            acts.push(fault.act());
        }
        acts
    }

    fn pieces(&self) -> Vec<Vec<u8>> {
        if let Some(body) = &self.raw_body {
            return vec![body.clone()];
        }
        let finish = self.finish.as_ref().map(|reason| {
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
            .to_string()
        });
        let usage = self.usage.as_ref().map(|usage| json!({"choices": [], "usage": usage}).to_string());
        let done = self.done.then(|| "[DONE]".to_owned());
        let events = self.events.iter().cloned().chain(finish).chain(usage).chain(done);
        events.map(|event| format!("data: {event}\n\n").into_bytes()).collect()
    }
}

impl Fault {
    fn act(self) -> Act {
        match self {
            Fault::Hold => Act::Hold,
            Fault::Cut => Act::Cut,
        }
    }
}

/// One chunk of a streamed reply around `delta`.
fn delta(delta: Value) -> String {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    .to_string()
}
