//! The answers of the model double: replies, refusals, and every fault in them.
//!
//! Never touches a socket; it only describes bytes.

use std::time::Duration;

use serde_json::Value;

use super::dialect::Dialect;
use super::said::{Part, Said};

/// One action within an answer.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Send(Vec<u8>),
    /// Waits for [`super::ModelServer::release`], the client's close or the server's end.
    Hold,
    /// Closes the connection without the end of the body.
    Cut,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Hold,
    Cut,
}

/// The place of a fault in the body.
#[derive(Clone, Debug)]
enum Place {
    /// After this many bytes.
    After(usize),
    /// At the end of the first event that contains this text.
    AfterEvent(String),
}

/// The content that the double repeats until the client hangs up.
#[derive(Clone, Debug)]
pub(super) enum Flood {
    /// These bytes in the head.
    Head(Vec<u8>),
    /// The first event that contains this text; nothing follows it.
    Event(String),
    /// These bytes after the content of the answer.
    Bytes(Vec<u8>),
}

/// One answer, built step by step.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// `None` for a stream or a generated body; `Some` for literal bytes with a length.
    raw_body: Option<Vec<u8>>,
    said: Said,
    whole: bool,
    calls: usize,
    fault: Option<(Place, Fault)>,
    piece: Option<usize>,
    silent: Option<Fault>,
    at_once: bool,
    pace: Option<Duration>,
    flood: Option<Flood>,
}

impl Reply {
    fn empty() -> Reply {
        Reply {
            status: 200,
            headers: Vec::new(),
            raw_body: None,
            said: Said { finish: Some("stop".to_owned()), done: true, ..Said::default() },
            whole: false,
            calls: 0,
            fault: None,
            piece: None,
            silent: None,
            at_once: false,
            pace: None,
            flood: None,
        }
    }

    /// Returns a text, streamed word by word.
    pub fn text(text: &str) -> Reply {
        Reply::empty().and_text(text)
    }

    /// Returns one tool call.
    pub fn call(name: &str, arguments: Value) -> Reply {
        Reply::empty().and_call(name, arguments)
    }

    /// Returns a stream of exactly these `data:` lines; only the last event is added.
    pub fn events(events: impl IntoIterator<Item = impl Into<String>>) -> Reply {
        let parts = events.into_iter().map(|event| Part::Raw(event.into())).collect();
        Reply { said: Said { parts, done: true, ..Said::default() }, ..Reply::empty() }
    }

    /// Returns an answer that is not a stream, such as a refusal.
    pub fn status(status: u16) -> Reply {
        Reply { status, raw_body: Some(Vec::new()), ..Reply::empty() }
    }

    /// Sends no byte until released, and then closes the connection.
    pub fn never() -> Reply {
        Reply { silent: Some(Fault::Hold), ..Reply::empty() }
    }

    /// Closes the connection instead of an answer.
    pub fn hang_up() -> Reply {
        Reply { silent: Some(Fault::Cut), ..Reply::empty() }
    }

    /// Adds text, streamed word by word.
    pub fn and_text(mut self, text: &str) -> Reply {
        let words = text.split_inclusive(' ');
        self.said.parts.extend(words.map(|word| Part::Text(word.to_owned())));
        self
    }

    /// Adds reasoning, streamed word by word.
    pub fn and_reasoning(mut self, text: &str) -> Reply {
        let words = text.split_inclusive(' ');
        self.said.parts.extend(words.map(|word| Part::Reasoning(word.to_owned())));
        self
    }

    /// Adds `count` keep-alives of the wire.
    pub fn and_keep_alives(mut self, count: usize) -> Reply {
        self.said.parts.extend(std::iter::repeat_n(Part::KeepAlive, count));
        self
    }

    /// Adds a tool call with its arguments in two pieces.
    pub fn and_call(self, name: &str, arguments: Value) -> Reply {
        self.and_raw_call(name, &arguments.to_string())
    }

    /// Adds a tool call whose arguments are this text, JSON or not.
    pub fn and_raw_call(self, name: &str, arguments: &str) -> Reply {
        self.and_call_of(name, arguments, false)
    }

    /// Returns a call of a tool that takes plain text, in two pieces. Only Responses has such calls.
    pub fn free_call(name: &str, input: &str) -> Reply {
        Reply::empty().and_call_of(name, input, true)
    }

    fn and_call_of(mut self, name: &str, arguments: &str, free_form: bool) -> Reply {
        let index = self.calls;
        let mut middle = arguments.len() / 2;
        while !arguments.is_char_boundary(middle) {
            middle -= 1;
        }
        let (first, second) = arguments.split_at(middle);
        let id = format!("call_{name}_{index}");
        self.said.parts.extend([
            Part::Call { index, id, name: name.to_owned(), arguments: first.to_owned(), free_form },
            Part::Arguments { index, arguments: second.to_owned() },
        ]);
        self.calls += 1;
        self.finish("tool_calls")
    }

    /// Reports these token counts at the end.
    pub fn usage(mut self, input: u64, output: u64) -> Reply {
        self.said.usage = Some((input, output));
        self
    }

    /// Sets the finish reason, in the names of Chat Completions, instead of the usual one.
    pub fn finish(mut self, reason: &str) -> Reply {
        self.said.finish = Some(reason.to_owned());
        self
    }

    /// Leaves out the finish reason and the last event, so that the body just ends.
    pub fn unfinished(mut self) -> Reply {
        self.said.finish = None;
        self.without_done()
    }

    /// Leaves out the last event if the wire has one after the finish reason, such as `[DONE]`.
    pub fn without_done(mut self) -> Reply {
        self.said.done = false;
        self
    }

    /// Inserts a literal `data:` line, JSON or not, before part number `at`. In Chat Completions, a part is an event.
    pub fn insert_event(mut self, at: usize, event: &str) -> Reply {
        let at = at.min(self.said.parts.len());
        self.said.parts.insert(at, Part::Raw(event.to_owned()));
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

    /// Closes the connection after this many bytes of the body.
    pub fn cut_after(mut self, bytes: usize) -> Reply {
        self.fault = Some((Place::After(bytes), Fault::Cut));
        self
    }

    /// Holds after this many bytes of the body.
    pub fn hold_after(mut self, bytes: usize) -> Reply {
        self.fault = Some((Place::After(bytes), Fault::Hold));
        self
    }

    /// Closes the connection after the first event that contains this text, on any wire.
    pub fn cut_behind(mut self, text: &str) -> Reply {
        self.fault = Some((Place::AfterEvent(text.to_owned()), Fault::Cut));
        self
    }

    /// Holds after the first event that contains this text, on any wire.
    pub fn hold_behind(mut self, text: &str) -> Reply {
        self.fault = Some((Place::AfterEvent(text.to_owned()), Fault::Hold));
        self
    }

    /// Sends the answer as one document, like a server that got no request for a stream.
    pub fn whole(mut self) -> Reply {
        self.whole = true;
        self
    }

    /// Sends the body in pieces of this many bytes, each with its own write and chunk.
    pub fn in_pieces_of(mut self, bytes: usize) -> Reply {
        self.piece = Some(bytes.max(1));
        self
    }

    /// Sends headers and body with one write; only for an answer without faults.
    pub fn at_once(mut self) -> Reply {
        self.at_once = true;
        self
    }

    /// Sends one event after each pause; only for a stream without faults.
    pub fn paced(mut self, pause: Duration) -> Reply {
        self.pace = Some(pause);
        self
    }

    /// Repeats these bytes for ever after the headers, so that the head never ends.
    pub fn endless_head(mut self, bytes: impl Into<Vec<u8>>) -> Reply {
        self.flood = Some(Flood::Head(bytes.into()));
        self
    }

    /// Repeats the first event that contains this text for ever, on any wire. Earlier events are sent
    /// once, later events never.
    pub fn repeating(mut self, text: &str) -> Reply {
        self.flood = Some(Flood::Event(text.to_owned()));
        self
    }

    /// Repeats these bytes for ever after the body, so that the body never ends.
    pub fn endless(mut self, bytes: impl Into<Vec<u8>>) -> Reply {
        self.flood = Some(Flood::Bytes(bytes.into()));
        self
    }

    /// Returns the bytes to send once and the bytes to repeat; none without a flood.
    pub(super) fn flood(&self, dialect: Dialect) -> Option<(Vec<u8>, Vec<u8>)> {
        let body = || self.bytes_in(dialect);
        Some(match self.flood.as_ref()? {
            Flood::Head(bytes) => (Vec::new(), bytes.clone()),
            Flood::Bytes(bytes) => (body(), bytes.clone()),
            Flood::Event(text) => {
                let mut body = body();
                body.truncate(Place::AfterEvent(text.clone()).within(&body));
                let begin = body[..body.len() - 2].windows(2).rposition(|bytes| bytes == b"\n\n");
                let event = body[begin.map_or(0, |at| at + 2)..].to_vec();
                (body, event)
            }
        })
    }

    pub(super) fn floods_head(&self) -> bool {
        matches!(self.flood, Some(Flood::Head(_)))
    }

    /// Returns the bytes of the body in a dialect, without faults.
    pub fn bytes_in(&self, dialect: Dialect) -> Vec<u8> {
        self.pieces(dialect).concat()
    }

    /// Returns the end of the first event that contains this text, in bytes of the body.
    pub fn end_of(&self, dialect: Dialect, text: &str) -> usize {
        Place::AfterEvent(text.to_owned()).within(&self.bytes_in(dialect))
    }

    pub(super) fn is_stream(&self) -> bool {
        self.flood.is_some() || self.raw_body.is_none() && !self.whole
    }

    pub(super) fn is_at_once(&self) -> bool {
        self.at_once
    }

    pub(super) fn pace(&self) -> Option<Duration> {
        self.pace
    }

    /// Returns the fault before the headers, if there is one.
    pub(super) fn silence(&self) -> Option<Act> {
        self.silent.map(|fault| match fault {
            Fault::Hold => Act::Hold,
            Fault::Cut => Act::Cut,
        })
    }

    /// Returns the actions of the body, in order.
    pub(super) fn acts(&self, dialect: Dialect) -> Vec<Act> {
        let mut pieces = self.pieces(dialect);
        let fault = self.fault.as_ref().map(|(place, fault)| (place.within(&pieces.concat()), *fault));
        if let Some(size) = self.piece {
            pieces = pieces.concat().chunks(size).map(<[u8]>::to_vec).collect();
        }
        let Some((at, fault)) = fault else {
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

    fn pieces(&self, dialect: Dialect) -> Vec<Vec<u8>> {
        match &self.raw_body {
            Some(body) => vec![body.clone()],
            None if self.whole => vec![dialect.whole(&self.said)],
            None => dialect.events(&self.said),
        }
    }
}

impl Place {
    fn within(&self, body: &[u8]) -> usize {
        let find = |text: &[u8], from: usize| {
            let at = body[from..].windows(text.len()).position(|bytes| bytes == text);
            at.map(|at| from + at + text.len())
        };
        match self {
            Place::After(bytes) => *bytes,
            Place::AfterEvent(text) => {
                let at = find(text.as_bytes(), 0)
                    .unwrap_or_else(|| panic!("no event of the answer contains {text:?}"));
                // An answer that is not a stream has no events: use the end of the text itself.
                find(b"\n\n", at).unwrap_or(at)
            }
        }
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
