//! What asks to become facts: prompts, answers, and what steps tell.
//!
//! Holds no decision; `accept` judges every input.

use std::cell::Cell;

use crate::machine::retry::CallFailure;
use crate::machine::step::{Step, Wake};
use crate::policy::ask::REJECT;
use crate::policy::cause::Reason;
use crate::policy::choices::{Follows, JudgedChoice, Offer};
use crate::policy::observation::ObservedPath;
use crate::prompt::image::Image;
use crate::prompt::message::{GenerationSettings, Reply};
use crate::record::{
    AskId, AskKind, CallResult, EditCheck, FileChange, KeyUse, Payload, Policy, RunId, RunOrigin,
    UnattendedPolicy, UnsavedText,
};

/// Time and randomness for one input, brought in from outside.
#[derive(Debug)]
pub struct Stamp {
    /// Milliseconds since the Unix epoch.
    pub now: u64,
    /// Fresh random bytes; all ids made under this stamp derive from them.
    seed: [u8; 16],
    /// How many ids were made.
    ids: Cell<u64>,
}

impl Stamp {
    pub fn new(now: u64, seed: [u8; 16]) -> Self {
        Self { now, seed, ids: Cell::new(0) }
    }

    /// Makes an unguessable 128-bit id: another one at each call, the same ones in the same order for the same seed.
    pub fn id(&self, kind: &str) -> String {
        let number = self.ids.get();
        self.ids.set(number + 1);
        let digest = crate::digest_parts(&[&self.seed, kind.as_bytes(), &number.to_le_bytes()]);
        format!("{kind}-{}", &digest[..32])
    }

    /// A number from 0 up to 1, to spread what would else happen at the same moment.
    pub fn jitter(&self) -> f64 {
        f64::from(self.seed[0]) / 256.0
    }
}

/// A thing that asks to become facts.
#[derive(Clone, Debug)]
pub enum Input {
    Prompt(Prompt),
    Answer(Answer),
    /// The user's own cancel; beats everything (S90).
    Cancel {
        run: Option<RunId>,
    },
    /// The deny rules that the settings have now.
    Denials(Vec<String>),
    /// A client that follows the open run gives this consent.
    Consent(UnattendedPolicy),
    /// The user chooses a mode or a model for the session.
    Choose {
        chosen: JudgedChoice,
        offer: Offer,
    },
    /// A writer opened the log with facts in it.
    Opened {
        epoch: u64,
    },
    /// The server is going down.
    Stopping,
    /// A time that `Step::Wake` named has come.
    Woke(Wake),
    /// A step tells how it goes; dropped when the step is no longer wanted.
    Step {
        step: Step,
        report: Report,
    },
}

/// A prompt, with the choices of its run resolved by the settings.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<Image>,
    /// Whether the model that is to see it takes images: that of the open run, else `model`.
    pub takes_images: bool,
    /// What the run is called; without one, the first line of the text.
    pub title: Option<String>,
    pub expected_run: Option<RunId>,
    /// `provider/model`.
    pub model: String,
    pub manner: GenerationSettings,
    pub policy: Policy,
    /// What of it are the session's choices, not this prompt's own.
    pub follows: Follows,
    /// Where in the workspace the user was.
    pub origin: Option<RunOrigin>,
    pub key: Option<KeyUse>,
}

/// A typed answer that names an ask.
#[derive(Clone, Debug)]
pub struct Answer {
    pub ask: AskId,
    pub choice: Choice,
    /// The door it came by; recorded, never part of a digest.
    pub surface: String,
    /// What may run unasked in the run that goes on by this answer: only where the one who answers gives
    /// consent with it. What an earlier run or process had is not taken over.
    pub consent: Option<UnattendedPolicy>,
}

/// What an answer chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One of the options, with what the user says besides.
    Option {
        id: String,
        text: Option<String>,
    },
    Text(String),
}

impl Choice {
    /// Returns the answer to an ask of this kind when no user is present: a permission is rejected, and a question
    /// of the model is answered with the fact that nobody is present. `None` for an ask that may stay open.
    pub fn absent(kind: AskKind) -> Option<Self> {
        match kind {
            AskKind::Tool | AskKind::Command | AskKind::BrowserActionLaunch | AskKind::UseMcpServer => {
                Some(Choice::Option { id: REJECT.to_owned(), text: None })
            }
            AskKind::Followup => Some(Choice::Text("nobody is present to answer".to_owned())),
            AskKind::CompletionResult
            | AskKind::ApiReqFailed
            | AskKind::MistakeLimitReached
            | AskKind::AutoApprovalMaxReqReached
            | AskKind::ResumeCompletedTask
            | AskKind::ResumeTask
            | AskKind::CommandOutput => None,
        }
    }

    /// Reads what a reply chooses: an option or a text, never both and never neither.
    pub fn of(option: Option<String>, answer: Option<String>, reason: Option<String>) -> Option<Self> {
        match (option, answer) {
            (Some(id), None) => Some(Choice::Option { id, text: reason }),
            (None, Some(text)) => Some(Choice::Text(text)),
            _ => None,
        }
    }
}

/// What a step tells.
#[derive(Clone, Debug)]
pub enum Report {
    /// `CallModel` is about to send its first request.
    TurnBegan,
    ReplyStarted,
    ReplyPartial {
        text: String,
        reasoning: String,
    },
    /// The model has sent nothing since then; milliseconds since the Unix epoch.
    Silent {
        since: u64,
    },
    /// It sends again.
    Heard,
    Replied(Reply),
    CallFailed(CallFailure),
    /// `Prepare` looked at the world.
    Prepared(Box<Preparation>),
    /// `RunTool` ended.
    Finished(CallResult),
    /// `RunTool` of an edit: all its hunks are in the text.
    Applied(CallResult),
    /// `RunTool` of an edit: they are not, but for those in `landed`; `in_doubt` when they may still land.
    NotApplied {
        result: CallResult,
        in_doubt: bool,
        landed: Vec<String>,
    },
    /// `RunTool` of an edit: the text moved on and none of it landed. This is the change as it would be
    /// made now, and what the model is told where it has been shown often enough.
    Overtaken {
        change: Box<FileChange>,
        seen: Box<ObservedPath>,
        result: CallResult,
    },
    Settled(EditCheck),
}

/// What `Prepare` found out about one call.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// The file or folder it is about; none where it is about no single one.
    pub seen: Option<ObservedPath>,
    pub prospect: Prospect,
    /// Open documents that a command would not see as they are.
    pub unsaved: Vec<UnsavedText>,
}

/// What would come of a call.
#[derive(Clone, Debug)]
pub enum Prospect {
    Payload(Payload),
    Change(Box<FileChange>),
    /// It cannot be made.
    Refused {
        why: Reason,
        /// The reason quotes text of the file.
        quotes: bool,
    },
    /// A rule forbids it by what was seen, so the shell did not read the file.
    Forbidden,
}

impl Preparation {
    /// The call names no file.
    pub fn of(payload: Payload) -> Self {
        Self { seen: None, prospect: Prospect::Payload(payload), unsaved: Vec::new() }
    }

    /// The shell refuses the call; the reason quotes no file.
    pub fn refused(why: Reason) -> Self {
        Self { seen: None, prospect: Prospect::Refused { why, quotes: false }, unsaved: Vec::new() }
    }

    /// The same of a call about this file.
    #[must_use]
    pub fn about(self, seen: ObservedPath) -> Self {
        Self { seen: Some(seen), ..self }
    }
}
