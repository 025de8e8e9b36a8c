//! Reads the kinds of events that have most of the bytes of a log, each by its own fields.
//!
//! An event names its type among its fields, so serde copies every text of it before it knows which type that is. Never says
//! that an event cannot be read: what is not read here is read as any other event.

use std::sync::Arc;

use serde::Deserialize;

use crate::policy::observation::ObservedPath;
use crate::prompt::message::{Reply, RequestedCall, StopCause, Usage};
use crate::record::call::{CallEnd, CallResult, FileChange, HunkSet};
use crate::record::event::Event;
use crate::record::ids::{MessageId, ToolCallId};

/// Returns an event of one of these kinds; `None` for any other, and if it cannot be read.
pub(super) fn read(json: &str) -> Option<Event> {
    match kind_of(json)? {
        "file_change_proposed" => parsed::<ProposedFields>(json),
        "replied" => parsed::<ReplyFields<Reply>>(json),
        "tool_finished" => parsed::<ResultFields<CallResult>>(json),
        _ => None,
    }
}

/// As [`read`], without the words of the model and of tools. Of a call is left which tool was requested, of a result how it
/// ended.
pub(super) fn read_without_words(json: &str) -> Option<Event> {
    match kind_of(json)? {
        "replied" => parsed::<ReplyFields<BareReply>>(json),
        "tool_finished" => parsed::<ResultFields<BareResult>>(json),
        _ => None,
    }
}

/// Returns the type of an event that begins with it, as every event does that this version writes.
fn kind_of(json: &str) -> Option<&str> {
    json.strip_prefix("{\"type\":\"")?.split_once('"').map(|(kind, _)| kind)
}

fn parsed<'de, F: Deserialize<'de> + Into<Event>>(json: &'de str) -> Option<Event> {
    serde_json::from_str::<F>(json).ok().map(Into::into)
}

#[derive(Deserialize)]
struct ProposedFields {
    call: ToolCallId,
    change: Box<FileChange>,
    #[serde(default)]
    seen: Option<ObservedPath>,
    #[serde(default)]
    replaces: Option<HunkSet>,
}

impl From<ProposedFields> for Event {
    fn from(ProposedFields { call, change, seen, replaces }: ProposedFields) -> Self {
        Event::ChangeProposed { call, change, seen, replaces }
    }
}

#[derive(Deserialize)]
struct ReplyFields<R> {
    turn: u32,
    attempt: u32,
    message: MessageId,
    reply: R,
}

impl<R: Into<Reply>> From<ReplyFields<R>> for Event {
    fn from(ReplyFields { turn, attempt, message, reply }: ReplyFields<R>) -> Self {
        Event::Replied { turn, attempt, message, reply: Arc::new(reply.into()) }
    }
}

#[derive(Deserialize)]
struct ResultFields<R> {
    call: ToolCallId,
    result: R,
}

impl<R: Into<CallResult>> From<ResultFields<R>> for Event {
    fn from(ResultFields { call, result }: ResultFields<R>) -> Self {
        Event::ToolFinished { call, result: result.into() }
    }
}

#[derive(Deserialize)]
struct BareReply {
    #[serde(default)]
    calls: Vec<BareCall>,
    #[serde(default)]
    usage: Option<Usage>,
    stop: StopCause,
}

#[derive(Deserialize)]
struct BareCall {
    id: String,
    name: String,
}

impl From<BareReply> for Reply {
    fn from(BareReply { calls, usage, stop }: BareReply) -> Self {
        let bare =
            |BareCall { id, name }| RequestedCall { id, name, arguments: String::new(), free_form: false };
        Reply { calls: calls.into_iter().map(bare).collect(), usage, stop, ..Reply::default() }
    }
}

#[derive(Deserialize)]
struct BareResult {
    end: CallEnd,
}

impl From<BareResult> for CallResult {
    fn from(BareResult { end }: BareResult) -> Self {
        CallResult::of(end, "", "")
    }
}
