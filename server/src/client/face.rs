//! A face: the adapter that writes messages in the words of one protocol.
//!
//! Never decides what to send, when, or to which client. The messages of `agent/*`
//! are the same in every face and are not here.

use adjutant_protocol::{AskId, ChangeSetId};
use serde::Serialize;
use serde_json::Value;

use super::Level;
use super::popup::Offer;
use super::refreshes::RefreshTarget;
use crate::editor::{ApplyReply, DocumentEdit, FileEdit};
use crate::transport::{Out, PendingReply};

/// A notification in the words of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub method: &'static str,
    pub params: Value,
}

/// A request in the words of a protocol, not yet sent.
pub struct Request(pub(super) Box<dyn FnOnce(&Out) -> PendingReply + Send>);

impl Request {
    /// Returns a request; its params may be large and are written once, when it is sent.
    pub fn new<P: Serialize + Send + 'static>(method: &'static str, params: P) -> Self {
        Self(Box::new(move |out| out.request(method, &params)))
    }
}

/// A question with buttons.
pub struct Popup<'a> {
    pub ask: &'a AskId,
    pub text: &'a str,
    pub buttons: &'a [Offer],
}

/// An open ask at a line of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskDiagnostic {
    pub ask: AskId,
    /// From zero.
    pub line: u32,
    pub message: String,
}

/// An applied hunk at a line of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkDiagnostic {
    pub change_set: ChangeSetId,
    pub hunk: String,
    /// From zero.
    pub line: u32,
    pub message: String,
}

/// All diagnostics of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedDocument {
    pub uri: String,
    /// The version the lines belong to, where the document is open and the client wants to know.
    pub version: Option<i32>,
    pub diagnostics: Vec<AskDiagnostic>,
    pub hunks: Vec<HunkDiagnostic>,
}

/// One report of a run's progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Begin { title: String, message: String },
    Report { message: String },
    End { message: String },
}

/// The words of one protocol. A method returns `None` if the protocol has no such message.
pub trait Face: Send + Sync + 'static {
    /// A message for the user.
    fn message(&self, _level: Level, _text: &str) -> Option<Note> {
        None
    }

    /// Asks the client to open a file for its user.
    fn show_document(&self, _uri: &str, _focus: bool) -> Option<Request> {
        None
    }

    /// Whether the client has opened it.
    fn was_shown(&self, _reply: &str) -> bool {
        false
    }

    /// Shows a popup to the user.
    fn popup(&self, _popup: &Popup<'_>) -> Option<Request> {
        None
    }

    /// Returns the button that was pressed. A reply that is not clearly one of them is none.
    fn pressed<'a>(&self, _popup: &Popup<'a>, _reply: &Value) -> Option<&'a Offer> {
        None
    }

    /// Asks the client to make an edit.
    fn edit(&self, _label: String, _edit: &DocumentEdit) -> Option<Request> {
        None
    }

    /// Asks the client to delete or move a file.
    fn file_edit(&self, _edit: &FileEdit) -> Option<Request> {
        None
    }

    /// Reads the client's reply to an edit.
    fn applied(&self, reply: &str) -> ApplyReply {
        ApplyReply { applied: false, reason: Some(format!("the answer cannot be read: {reply:.80}")) }
    }

    /// Publishes the open asks of a document; an empty list removes them.
    fn diagnostics(&self, _document: &MarkedDocument) -> Option<Note> {
        None
    }

    /// Asks the client to read something of a review again.
    fn refresh(&self, _what: &RefreshTarget) -> Option<Request> {
        None
    }

    /// Asks the client to create a progress token for a run.
    fn progress(&self, _token: &str) -> Option<Request> {
        None
    }

    /// Reports the progress of the run with this token.
    fn step(&self, _token: &str, _step: &Step) -> Option<Note> {
        None
    }
}

/// The face of a client that has `agent/*` and nothing else.
pub struct Bare;

impl Face for Bare {}
