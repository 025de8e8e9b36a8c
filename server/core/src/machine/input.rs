//! Inputs, each of which may become events: prompts, answers, and reports of steps.
//!
//! Never decides; `accept` judges every input.

use std::cell::Cell;
use std::sync::Arc;

use crate::machine::retry::CallFailure;
use crate::machine::step::{Step, Wake};
use crate::policy::ask::REJECT;
use crate::policy::cause::Reason;
use crate::policy::choices::{Follows, JudgedChoice, Offer};
use crate::policy::observation::ObservedPath;
use crate::prompt::image::Image;
use crate::prompt::message::{GenerationSettings, Reply};
use crate::record::{
    AmendedTexts, AskId, AskKind, BudgetPolicy, CallResult, ChangeSetId, ChangedFile, ContextText, EditCheck,
    FileChange, HunkSet, KeyUse, Payload, Policy, ReviewState, ReviewedBy, RunId, RunOrigin, SeenHunk,
    ToolCallId, UnattendedPolicy, UnsavedText,
};
use crate::session::{AppliedChange, AppliedHunk};
use crate::text::trace::Formatting;

/// Time and randomness for one input; the core itself has neither.
#[derive(Debug)]
pub struct Stamp {
    /// Milliseconds since the Unix epoch.
    pub now: u64,
    /// Fresh random bytes; all ids made with this stamp derive from them.
    seed: [u8; 16],
    /// How many ids were made.
    ids: Cell<u64>,
}

impl Stamp {
    pub fn new(now: u64, seed: [u8; 16]) -> Self {
        Self { now, seed, ids: Cell::new(0) }
    }

    /// Makes an unguessable 128-bit id. Each call returns another id; the same seed gives the same ids in the same
    /// order.
    pub fn id(&self, kind: &str) -> String {
        let number = self.ids.get();
        self.ids.set(number + 1);
        let digest = crate::digest_parts(&[&self.seed, kind.as_bytes(), &number.to_le_bytes()]);
        format!("{kind}-{}", &digest[..32])
    }

    /// Returns a number from 0 to below 1, which spreads events that would happen at the same moment.
    pub fn jitter(&self) -> f64 {
        f64::from(self.seed[0]) / 256.0
    }
}

/// A request, answer, report or wake-up that may become events.
#[derive(Clone, Debug)]
pub enum Input {
    Prompt(Box<Prompt>),
    Answer(Answer),
    /// The user decides about single hunks.
    Decide(Decision),
    /// The user decides about hunks that are in the text, or were.
    Review(ReviewInput),
    /// The text shows hunks in another state than the log: the user undid or redid them in the editor, or closed the document
    /// without saving it.
    Found {
        target: ReviewTarget,
        is_in_text: bool,
        by: ReviewedBy,
    },
    /// While the model answers, a look at the files that it knows has found this.
    Outside {
        look: OutsideLook,
        /// As `outside_moment` of the session was when the look began.
        moment: (u32, u64),
    },
    /// The user comments on an applied hunk, or with an empty text takes the comment back.
    Comment(HunkComment),
    /// The last commit has these hunks. It was made after them.
    Committed {
        target: ReviewTarget,
        /// What is checked out.
        on: Option<String>,
    },
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
    /// The user wants the conversation compacted now.
    Compact(CompactRequest),
    /// The user gives the session a title.
    Rename {
        title: String,
    },
    /// A writer opened a log that already has records.
    Opened {
        epoch: u64,
    },
    /// The server is stopping.
    Stopping,
    /// The time of a `Step::Wake` has come.
    Woke(Wake),
    /// A step reports. The report is refused if the step should no longer run.
    Step {
        step: Step,
        report: Report,
    },
}

impl Input {
    pub fn prompted(prompt: Prompt) -> Self {
        Input::Prompt(Box::new(prompt))
    }
}

/// A prompt, with the choices of its run as the settings resolved them.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub text: String,
    /// Follows the words in the text: the place and the problems that the editor knows, and what the user attached.
    pub added: String,
    pub images: Vec<Image>,
    /// Whether the model that will see it supports images: the model of the open run, else `model`.
    pub takes_images: bool,
    /// The title of the run; without one, the first line of the text.
    pub title: Option<String>,
    pub expected_run: Option<RunId>,
    /// `provider/model`.
    pub model: String,
    pub generation_settings: GenerationSettings,
    pub policy: Policy,
    /// Which of its settings come from the session's choices, not from this prompt.
    pub follows: Follows,
    /// Where in the workspace the user was.
    pub origin: Option<RunOrigin>,
    pub key: Option<KeyUse>,
    /// The comments on hunks that its text has. They are sent with it.
    pub comments: Vec<HunkComment>,
}

/// The wish to compact the conversation, with the choices of a run that does nothing else.
#[derive(Clone, Debug)]
pub struct CompactRequest {
    /// `provider/model`.
    pub model: String,
    pub generation_settings: GenerationSettings,
    pub policy: Policy,
}

/// A typed answer that names an ask.
#[derive(Clone, Debug)]
pub struct Answer {
    pub ask: AskId,
    pub choice: Choice,
    /// The surface that it came from; recorded, never part of a digest.
    pub surface: String,
    /// Consent for the run that continues by this answer: what may run without asking. Consent of an earlier
    /// run or process does not carry over.
    pub consent: Option<UnattendedPolicy>,
    /// What a run that continues by this answer may use, as the settings are now; `None` leaves it as it was.
    pub budget: Option<Arc<BudgetPolicy>>,
}

/// A decision about hunks that wait for an answer.
#[derive(Clone, Debug)]
pub struct Decision {
    pub targets: Vec<HunkSet>,
    pub apply: bool,
    /// Why they are rejected, in the user's words; the model reads it.
    pub reason: Option<String>,
}

/// A comment on an applied hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkComment {
    pub change_set: ChangeSetId,
    pub hunk: String,
    pub text: String,
}

/// What the user does with applied hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewAct {
    Keep,
    Undo,
    /// Undo the undo.
    Restore,
}

impl ReviewAct {
    /// Whether it can be done to a hunk in this state.
    pub fn is_possible(self, state: ReviewState) -> bool {
        match self {
            Self::Keep => state == ReviewState::Applied,
            Self::Undo => state != ReviewState::Undone,
            Self::Restore => state == ReviewState::Undone,
        }
    }

    /// Returns the hunks of a change to which it can be done now.
    pub fn possible(self, change: &AppliedChange) -> impl Iterator<Item = String> {
        let is_possible = move |hunk: &&AppliedHunk| hunk.pending.is_none() && self.is_possible(hunk.state);
        change.hunks.iter().filter(is_possible).map(|hunk| hunk.id.clone())
    }
}

/// A decision about applied hunks.
#[derive(Clone, Debug)]
pub struct ReviewInput {
    pub targets: Vec<ReviewTarget>,
    pub act: ReviewAct,
    /// Whether a whole run is undone or restored.
    pub as_one: bool,
    /// Why they are undone, in the user's words; the model reads it.
    pub reason: Option<String>,
}

/// Hunks of one applied change.
#[derive(Clone, Debug)]
pub struct ReviewTarget {
    pub change_set: ChangeSetId,
    /// Each at most once.
    pub hunks: Vec<SeenHunk>,
    /// Whether the file is open in an editor of this process, so that the editor makes the edit.
    pub open: bool,
}

/// What became of a decision about the hunks of one change.
#[derive(Clone, Debug, Default)]
pub struct ReviewOutcome {
    /// The text has these as decided.
    pub done: Vec<String>,
    /// Of those, the hunks in whose place was text of the user, which is gone now: the text for each.
    pub dropped: AmendedTexts,
    /// These are as they were, each for a reason.
    pub failed: Vec<(String, String)>,
    /// Of those, the hunks in whose place is another text than the one that was shown.
    pub conflicts: Vec<String>,
    /// Of those that failed, the hunks whose text is on another branch or in the stash.
    pub away: Vec<String>,
    /// What was checked out in the repository of the file; `None` if that is not known.
    pub on: Option<String>,
}

/// The choice of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One of the options, with an optional text of the user.
    Option {
        id: String,
        text: Option<String>,
    },
    Text(String),
}

impl Choice {
    /// Returns the answer to an ask of this kind when no user is present. A permission is rejected; the answer to
    /// a question of the model says that no user is present. `None` for an ask that may stay open.
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

    /// Returns the choice of a reply; `None` unless it has either an option or a text, and not both.
    pub fn of(option: Option<String>, answer: Option<String>, reason: Option<String>) -> Option<Self> {
        match (option, answer) {
            (Some(id), None) => Some(Choice::Option { id, text: reason }),
            (None, Some(text)) => Some(Choice::Text(text)),
            _ => None,
        }
    }
}

/// A report from a step.
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
    /// The model sends again after a silence.
    Heard,
    Replied(Reply),
    /// The output limit cut the reply, and a second request may have more room: this many tokens.
    ReplyCut {
        reply: Reply,
        room: u32,
    },
    CallFailed(CallFailure),
    /// `Prepare` of a call that edits nothing ended.
    Prepared(Box<Preparation>),
    /// `Prepare` of edits ended.
    PreparedEdits(PreparedEdits),
    /// `Reobserve` ended.
    Reobserved(Vec<ReobservedChange>),
    /// `RunTool` ended, or another step broke.
    Finished(CallResult),
    /// `Apply` ended for one file.
    Edited {
        change_set: ChangeSetId,
        report: EditReport,
    },
    /// `Review` ended for one change.
    Reviewed {
        change_set: ChangeSetId,
        outcome: ReviewOutcome,
    },
    /// `Settle` ended.
    Settled(EditCheck),
    /// `LookOutside` ended; `None` if it could not look.
    LookedOutside(Option<OutsideLook>),
    /// The texts of the prompt, as `ReadContext` found them.
    ContextRead(Vec<ContextText>),
}

/// What became of the files that the model knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideLook {
    /// Those that have other lines than the model knows.
    pub changed: Vec<ChangedFile>,
    /// The targets of those that could not be compared. Nothing follows for them.
    pub unknown: Vec<String>,
    /// What is checked out: a branch, or `commit` with the beginning of its id. `None` if it is not known.
    pub head: Option<String>,
    /// The instructions of the folders in which the files are.
    pub instructions: Vec<ContextText>,
}

/// The report of `Prepare` on one call.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// The one file or folder that the call is about, if any.
    pub seen: Option<ObservedPath>,
    pub prospect: Prospect,
    /// Open documents that are not saved: a command would not see their text.
    pub unsaved: Vec<UnsavedText>,
    /// Whether the editor saves them if it is asked.
    pub can_save: bool,
    /// Where a command would run, if that is not the user's own machine: for people.
    pub host: Option<String>,
}

/// What a call would do.
#[derive(Clone, Debug)]
pub enum Prospect {
    Payload(Payload),
    /// The call cannot be made.
    Refused {
        why: Reason,
        /// Whether the reason may reveal text of the file.
        may_reveal: bool,
    },
    /// A rule forbids the call for the observed path, so `Prepare` did not read the file.
    Forbidden,
}

impl Preparation {
    /// Returns a preparation of a call that names no file.
    pub fn of(payload: Payload) -> Self {
        Self::with(Prospect::Payload(payload))
    }

    /// Returns a preparation that refuses the call; the reason quotes no file.
    pub fn refused(why: Reason) -> Self {
        Self::with(Prospect::Refused { why, may_reveal: false })
    }

    /// Returns a preparation of a call with nothing around it.
    pub fn with(prospect: Prospect) -> Self {
        Self { seen: None, prospect, unsaved: Vec::new(), can_save: false, host: None }
    }

    /// Returns the same for a call about this file.
    #[must_use]
    pub fn about(self, seen: ObservedPath) -> Self {
        Self { seen: Some(seen), ..self }
    }
}

/// The report of `Prepare` on edits next to each other. Each call is in one of the two lists.
#[derive(Clone, Debug)]
pub struct PreparedEdits {
    /// The files that would change, in the order of their first edit.
    pub files: Vec<PreparedFile>,
    pub refused: Vec<RefusedEdit>,
}

/// A file as the edits of a turn would change it.
#[derive(Clone, Debug)]
pub struct PreparedFile {
    pub change: FileChange,
    pub seen: ObservedPath,
}

/// An edit that cannot be made.
#[derive(Clone, Debug)]
pub struct RefusedEdit {
    pub call: ToolCallId,
    pub seen: Option<ObservedPath>,
    /// `None` if a rule forbids the edit of the observed path, so that the file was not read.
    pub why: Option<Reason>,
    /// Whether the reason may reveal text of the file.
    pub may_reveal: bool,
}

/// What a change that waits for an answer would do now.
#[derive(Clone, Debug)]
pub struct ReobservedChange {
    pub change_set: ChangeSetId,
    pub found: ChangeNow,
}

/// What a change would do in the text of now.
#[derive(Clone, Debug)]
pub enum ChangeNow {
    /// Exactly what was proposed, to the same file.
    Same,
    /// Something else: this.
    Other { change: Box<FileChange>, seen: Box<ObservedPath> },
    /// It has no place any more.
    Gone { why: String },
}

/// The end of the edit of one file.
#[derive(Clone, Debug)]
pub struct EditReport {
    pub outcome: EditOutcome,
    pub elapsed_ms: u64,
    /// What was checked out in the repository of the file; `None` if that is not known.
    pub on: Option<String>,
}

/// What became of the edit of one file.
#[derive(Clone, Debug)]
pub enum EditOutcome {
    /// All hunks are in the text.
    Landed {
        location: EditLocation,
        /// Whether nothing else in the file changed at the same time.
        exact: bool,
        /// What a formatter changed when the editor saved it.
        formatted: Formatting,
    },
    /// Only these hunks are in the text: the editor left out the others.
    Partly { landed: Vec<String> },
    /// No hunk is in the text. `in_doubt`: the edit may still land.
    NotApplied { why: String, in_doubt: bool },
    /// The user undid it at once.
    Undone,
    /// The editor made it at a place that the user did not approve.
    Misplaced,
    /// The text had changed, and no hunk landed. `change` is the edit made for the text of now.
    Overtaken { change: Box<FileChange>, seen: Box<ObservedPath>, why: String },
}

/// Where a change is that has landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditLocation {
    /// On disk.
    Saved,
    /// In a document that the user has open; the user decides when to save it.
    Open,
    /// In a buffer that was not saved, with the reason if there is one.
    Unsaved(Option<String>),
    /// In this other file, because the path now leads there.
    Elsewhere(String),
    /// Not known, because the path cannot be resolved any more, for this reason.
    Unknown(String),
}
