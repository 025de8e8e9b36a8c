//! What the editor double does with `workspace/applyEdit`: right, or wrong as
//! real editors are wrong.
//!
//! Only the buffers change here, and files that are created; what is said to
//! the server is the caller's to send.

mod edit;

use serde_json::{Value, json};

pub use edit::{Operation, parse};

use super::buffers::Buffers;
use super::violation::{Rule, Violation};
use super::wire::RpcError;

/// How the editor treats an edit it is asked to make.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ApplyBehaviour {
    /// Makes it, or refuses a stale one and says why, as Helix does.
    Faithful,
    /// Makes it, or refuses a stale one without a word, as VS Code does.
    #[default]
    StaleRefuse,
    /// Skips documents that are stale and says it was applied, as Neovim does.
    SkipStaleButSayApplied,
    /// Makes it, or answers a stale one with an error, as Emacs does.
    StaleError,
    /// Makes it whatever the versions are, as Kakoune does.
    IgnoreVersions,
    /// Makes edits in the form `changes` alone and refuses any other.
    ChangesOnly,
    /// Makes edits in the form `changes` alone, and says of any other that it was applied.
    ChangesOnlySilently,
    /// Makes it and answers twice.
    AnswerTwice,
    /// Makes nothing and says why.
    RefuseAlways(String),
    /// Makes nothing and says it was applied.
    SayAppliedDoNothing,
    /// Makes it and says it failed, as eglot does when the user applies by hand.
    ApplyButSayFailed,
    /// Makes the first text edit only and says it was applied: the user unticked the rest.
    ApplyFirstOnly,
    /// Says it was applied, and then makes it.
    ReplyFirst,
    /// Makes it twice.
    ApplyTwice,
    /// Makes it and never tells with `didChange`.
    ApplyUntold,
    /// Waits for `Editor::release_applies`, then makes it and answers, if it was not withdrawn.
    ApplyLate,
    /// Makes it and never answers.
    ApplyNeverAnswer,
    /// Neither makes it nor answers.
    NeverAnswer,
    /// Makes nothing and answers with an error.
    Fail(RpcError),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Answer(Result<Value, RpcError>),
    /// Before the notifications of the change.
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

    /// Whether the server was told that the edit is not there.
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

/// Treats one edit; what the server did wrong goes to `faults`.
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
    let minds_versions = !matches!(behaviour, ApplyBehaviour::IgnoreVersions);
    if let Some(stale) = wanted.iter().find(|operation| minds_versions && operation.is_stale(buffers)) {
        let why = format!("the version of {} is another one", stale.uri());
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
            // Its ranges were made for the text before the first time, so faults are the editor's own.
            let _ = edit::commit(&wanted, buffers, &mut Vec::new());
            Reply::applied()
        }
        _ => Reply::applied(),
    }
}
