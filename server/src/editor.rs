//! What tools may ask of the editor: a plain enum and a channel, no trait.
//!
//! Never reaches a client itself; the doors answer. Dropping a question
//! withdraws it.

use adjutant_core::edit::TextEdit;
use tokio::sync::{mpsc, oneshot};

/// Questions that wait for the editor at once.
const QUEUE: usize = 64;

/// What the client can do, from `initialize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Answers `workspace/applyEdit`.
    pub apply_edit: bool,
    /// Takes `documentChanges` that create files.
    pub create_files: bool,
    /// Answers `agent/document/save`.
    pub save: bool,
    /// Announces every open text document (decision 4).
    pub complete: bool,
}

/// An edit of one document, in its version.
#[derive(Clone, Debug)]
pub struct DocumentEdit {
    pub label: String,
    pub uri: String,
    /// `None`: the document is not open.
    pub version: Option<i32>,
    /// The file is new and has to be made.
    pub create: bool,
    pub edits: Vec<TextEdit>,
}

/// What the editor said; never believed without the text (D8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub applied: bool,
    pub reason: Option<String>,
}

/// Why the editor gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("the editor refused the request: {0}")]
    Refused(String),
    #[error("the editor did not answer within {0} s")]
    Silent(u64),
    #[error("the editor is gone")]
    Gone,
}

/// A question to the editor, with the place for its answer.
#[derive(Debug)]
pub enum Question {
    ApplyEdit { edit: DocumentEdit, answer: oneshot::Sender<Result<Applied, NoAnswer>> },
    Save { uri: String, reason: String, answer: oneshot::Sender<Result<(), NoAnswer>> },
}

/// The side that asks; clones share the channel.
#[derive(Clone)]
pub struct Editor {
    questions: mpsc::Sender<Question>,
    pub abilities: Abilities,
}

impl Editor {
    /// Returns the asking side and the side that answers.
    pub fn new(abilities: Abilities) -> (Self, mpsc::Receiver<Question>) {
        let (questions, receiver) = mpsc::channel(QUEUE);
        (Self { questions, abilities }, receiver)
    }

    /// Sends one edit and waits for the client's word on it.
    pub async fn apply(&self, edit: DocumentEdit) -> Result<Applied, NoAnswer> {
        let (answer, receiver) = oneshot::channel();
        self.ask(Question::ApplyEdit { edit, answer }, receiver).await
    }

    /// Asks the client to save one document.
    pub async fn save(&self, uri: &str, reason: &str) -> Result<(), NoAnswer> {
        let (answer, receiver) = oneshot::channel();
        self.ask(Question::Save { uri: uri.to_owned(), reason: reason.to_owned(), answer }, receiver).await
    }

    async fn ask<T>(
        &self,
        question: Question,
        answer: oneshot::Receiver<Result<T, NoAnswer>>,
    ) -> Result<T, NoAnswer> {
        self.questions.send(question).await.map_err(|_| NoAnswer::Gone)?;
        answer.await.unwrap_or(Err(NoAnswer::Gone))
    }
}
