//! The editor double's handling of `workspace/applyEdit`: correct, or with the faults of real editors.
//!
//! Never sends: it changes buffers and creates files, and the caller sends the answer.

mod edit;

use serde_json::{Value, json};

pub use edit::{Operation, parse};

use super::buffers::Buffers;
use super::violation::{Rule, Violation};
use super::wire::RpcError;

/// The behaviour of the editor for an edit from the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ApplyBehaviour {
    /// Applies it. Refuses a stale edit with a reason, as Helix does.
    Faithful,
    /// Applies it. Refuses a stale edit without a reason, as VS Code does.
    #[default]
    StaleRefuse,
    /// Skips stale documents and answers that it was applied, as Neovim does.
    SkipStaleButSayApplied,
    /// Applies it. Answers a stale edit with an error, as Emacs does.
    StaleError,
    /// Applies it without a look at the versions, as Kakoune does.
    IgnoreVersions,
    /// Applies only edits in the form `changes` and refuses any other.
    ChangesOnly,
    /// Applies only edits in the form `changes`, and answers for any other that it was applied.
    ChangesOnlySilently,
    /// Applies it and answers twice.
    AnswerTwice,
    /// Applies nothing and answers with this reason.
    RefuseAlways(String),
    /// Applies nothing and answers that it was applied.
    SayAppliedDoNothing,
    /// Applies it and answers that it failed, as eglot does when the user applies by hand.
    ApplyButSayFailed,
    /// Applies only the first text edit and answers that it was applied: the user unticked the rest.
    ApplyFirstOnly,
    /// Answers that it was applied before it sends `didChange`.
    ReplyFirst,
    /// Applies it twice.
    ApplyTwice,
    /// Applies it and never sends `didChange`.
    ApplyUntold,
    /// Waits for `Editor::release_applies` and then applies it. Answers unless it was withdrawn.
    ApplyLate,
    /// Applies it and never answers.
    ApplyNeverAnswer,
    /// Neither applies it nor answers.
    NeverAnswer,
    /// Applies nothing and answers with an error.
    Fail(RpcError),
}

/// The answer to an edit.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Answer(Result<Value, RpcError>),
    /// An answer before the notifications of the change.
    AnswerFirst(Result<Value, RpcError>),
    AnswerTwice(Result<Value, RpcError>),
    Later,
    Never,
}

impl Reply {
    fn applied() -> Reply {
        Reply::Answer(Ok(json!({"applied": true})))
    }

    fn refused(reason: Option<String>) -> Reply {
        let mut body = json!({"applied": false});
        if let Some(reason) = reason {
            body["failureReason"] = json!(reason);
        }
        Reply::Answer(Ok(body))
    }

    /// Whether the server has to count the edit as refused.
    pub fn is_refusal(&self) -> bool {
        match self {
            Reply::Answer(Ok(body)) | Reply::AnswerFirst(Ok(body)) | Reply::AnswerTwice(Ok(body)) => {
                body["applied"] != true
            }
            Reply::Answer(Err(_)) | Reply::AnswerFirst(Err(_)) | Reply::AnswerTwice(Err(_)) => true,
            Reply::Never => true,
            Reply::Later => false,
        }
    }
}

/// Handles one edit; adds the server's violations to `faults`.
pub fn perform(
    behaviour: &ApplyBehaviour,
    edit: &Value,
    buffers: &mut Buffers,
    faults: &mut Vec<Violation>,
) -> Reply {
    let operations = match parse(edit) {
        Ok(operations) => operations,
        Err(why) => {
            faults.push(Violation::new(Rule::Malformed, format!("{why} in the edit {edit}")));
            return Reply::refused(Some(why));
        }
    };
    let wanted = match behaviour {
        ApplyBehaviour::Fail(error) => return Reply::Answer(Err(error.clone())),
        ApplyBehaviour::RefuseAlways(reason) => return Reply::refused(Some(reason.clone())),
        ApplyBehaviour::SayAppliedDoNothing => return Reply::applied(),
        ApplyBehaviour::NeverAnswer => return Reply::Never,
        ApplyBehaviour::ApplyLate => return Reply::Later,
        ApplyBehaviour::ChangesOnly if edit.get("changes").is_none() => {
            return Reply::refused(Some("documentChanges are not supported".to_owned()));
        }
        ApplyBehaviour::ChangesOnlySilently if edit.get("changes").is_none() => Vec::new(),
        ApplyBehaviour::SkipStaleButSayApplied => {
            operations.into_iter().filter(|operation| !operation.is_stale(buffers)).collect()
        }
        ApplyBehaviour::ApplyFirstOnly => edit::first_only(operations),
        _ => operations,
    };
    let checks_versions = !matches!(behaviour, ApplyBehaviour::IgnoreVersions);
    if let Some(stale) = wanted.iter().find(|operation| checks_versions && operation.is_stale(buffers)) {
        let why = format!("the version of {} is different", stale.uri());
        if *behaviour == ApplyBehaviour::StaleError {
            return Reply::Answer(Err(RpcError { code: -32603, message: why, data: None }));
        }
        return Reply::refused((*behaviour != ApplyBehaviour::StaleRefuse).then_some(why));
    }
    if *behaviour == ApplyBehaviour::ApplyUntold {
        wanted.iter().for_each(|operation| buffers.tell_nothing(operation.uri()));
    }
    if let Err(why) = edit::commit(&wanted, buffers, faults) {
        return Reply::refused(Some(why));
    }
    match behaviour {
        ApplyBehaviour::ApplyButSayFailed => Reply::refused(Some("the edit was not applied".to_owned())),
        ApplyBehaviour::ApplyNeverAnswer => Reply::Never,
        ApplyBehaviour::AnswerTwice => Reply::AnswerTwice(Ok(json!({"applied": true}))),
        ApplyBehaviour::ReplyFirst => Reply::AnswerFirst(Ok(json!({"applied": true}))),
        ApplyBehaviour::ApplyTwice => {
            // The ranges belong to the text before the first edit, so these faults are the editor's own.
            let _ = edit::commit(&wanted, buffers, &mut Vec::new());
            Reply::applied()
        }
        _ => Reply::applied(),
    }
}
