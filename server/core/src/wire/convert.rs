//! Converts stored types into types of the wire, and back if a client sends them. Never decides.

use adjutant_protocol::option::{ConfigChange, ConfigId};
use adjutant_protocol::session::UsageView;
use adjutant_protocol::update::{FailureKind, ImageView};
use adjutant_protocol::{ask, operation, origin, overview, session, state, update};

use super::usage;
use crate::machine::retry::FailureClass;
use crate::policy::choices::{ChoiceChange, ChoiceId};
use crate::prompt::image::{Image, size};
use crate::prompt::message::Usage;
use crate::record;
use crate::session::run;
use crate::text::position::{Position, Range};
use crate::text::review::{Hunk, deletion_diff, move_diff, plus_minus, unified_diff};

/// Converts between two enums with the same variants; a variant that only `$from` has does not compile.
macro_rules! same {
    ($from:path => $to:path { $($name:ident),* $(,)? }) => {
        impl From<$from> for $to {
            fn from(from: $from) -> Self {
                use $from as From;
                match from { $(From::$name => Self::$name),* }
            }
        }
    };
}

/// The same both ways.
macro_rules! equal {
    ($one:path = $other:path { $($name:ident),* $(,)? }) => {
        same!($one => $other { $($name),* });
        same!($other => $one { $($name),* });
    };
}

equal!(record::Mode = session::Mode { Code, Ask });
equal!(
    record::AskKind = ask::AskKind {
        Tool,
        Command,
        Followup,
        BrowserActionLaunch,
        UseMcpServer,
        CompletionResult,
        ApiReqFailed,
        MistakeLimitReached,
        AutoApprovalMaxReqReached,
        ResumeCompletedTask,
        ResumeTask,
        CommandOutput,
    }
);
same!(record::AskGroup => ask::AskGroup { Interactive, Idle, Resumable, NonBlocking });
same!(record::OptionKind => ask::OptionKind { AllowOnce, AllowAlways, RejectOnce, Choose });
same!(crate::policy::detail::Detail => overview::Detail { Brief, Normal, Full });
same!(record::Outcome => state::Outcome { Completed, Stopped, Failed, Limit, Cancelled });
same!(record::StopReason => state::StopReason {
    EndTurn, MaxTokens, MaxTurnRequests, Budget, Refusal, Cancelled, Failed, Mistakes, GaveUp,
});
same!(run::SessionState => state::State { None, Running, RequiresAction, Idle, Resumable });
same!(run::SubState => state::SubState {
    Preparing, Model, Streaming, Compacting, Stalled, Tools, Retrying, Completed, Stopped, Failed, Limit, Cancelled,
});
impl From<crate::session::HunkState> for update::HunkState {
    fn from(state: crate::session::HunkState) -> Self {
        use crate::session::HunkState;
        match state {
            HunkState::Proposed => update::HunkState::Proposed,
            HunkState::Applying => update::HunkState::Applying,
            HunkState::Applied => update::HunkState::Applied,
            HunkState::Rejected => update::HunkState::Rejected,
            // What replaced it is a change set of its own.
            HunkState::NotApplied | HunkState::Replaced => update::HunkState::NotApplied,
        }
    }
}
equal!(ChoiceId = ConfigId { Mode, Model, Effort, Verbosity });

impl From<record::Resolution> for ask::Resolution {
    fn from(from: record::Resolution) -> Self {
        use record::Resolution as From;
        match from {
            From::Selected { option_id, text, surface } => Self::Selected { option_id, text, surface },
            From::Answered { text, surface } => Self::Answered { text, surface },
            From::Decided => Self::Decided,
            From::Cancelled => Self::Cancelled,
            From::Superseded => Self::Superseded,
            From::Withdrawn => Self::Withdrawn,
        }
    }
}

impl From<ChoiceChange> for ConfigChange {
    fn from(ChoiceChange { config_id, from, to }: ChoiceChange) -> Self {
        Self { config_id: config_id.into(), from, to }
    }
}

impl From<Range> for origin::Range {
    fn from(range: Range) -> Self {
        let place = |at: Position| origin::Position { line: at.line, character: at.character };
        Self { start: place(range.start), end: place(range.end) }
    }
}

impl From<origin::Range> for Range {
    fn from(range: origin::Range) -> Self {
        let place = |at: origin::Position| Position { line: at.line, character: at.character };
        Self { start: place(range.start), end: place(range.end) }
    }
}

impl From<record::RunOrigin> for origin::Origin {
    fn from(record::RunOrigin { uri, range }: record::RunOrigin) -> Self {
        Self { uri, range: range.map(Into::into) }
    }
}

impl From<origin::Origin> for record::RunOrigin {
    fn from(origin::Origin { uri, range }: origin::Origin) -> Self {
        Self { uri, range: range.map(Into::into) }
    }
}

impl From<run::RunEnd> for session::RunEnd {
    fn from(end: run::RunEnd) -> Self {
        let run::RunEnd { ended_at, outcome, stop_reason, summary, spent, edits } = end;
        let (outcome, stop_reason) = (outcome.into(), stop_reason.into());
        let (cost, turns, usage) = (usage::cost(&spent), spent.requests, spent.usage.into());
        let edits = (edits.files > 0).then(|| edits.into());
        Self { ended_at, outcome, stop_reason, summary, usage, cost, turns, edits }
    }
}

/// More files than these are said in one line at the end of their run.
const MANY_FILES: u32 = 5;

impl From<run::RunEdits> for session::RunEdits {
    fn from(run::RunEdits { files, inserted, removed, unreviewed }: run::RunEdits) -> Self {
        let line = (files > MANY_FILES)
            .then(|| format!("{files} files {}", plus_minus(inserted as usize, removed as usize)));
        Self { files, inserted, removed, unreviewed, line }
    }
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
        }
    }
}

impl From<&Image> for ImageView {
    fn from(image: &Image) -> Self {
        Self { mime_type: image.mime_type.name().to_owned(), bytes: image.bytes }
    }
}

impl From<&record::FileOperation> for operation::FileOperation {
    fn from(from: &record::FileOperation) -> Self {
        match from {
            record::FileOperation::Delete { .. } => Self::Delete,
            record::FileOperation::Move { path, uri, .. } => {
                Self::Move { uri: uri.clone(), path: path.clone() }
            }
        }
    }
}

/// Returns the diff of hunks of one file as the user sees it. `existed` is false for a new file.
pub(super) fn diff_of(
    path: &str,
    existed: bool,
    operation: Option<&record::FileOperation>,
    hunks: &[Hunk],
) -> String {
    match operation {
        None => unified_diff(path, existed, hunks),
        Some(record::FileOperation::Delete { .. }) => deletion_diff(path, hunks),
        Some(record::FileOperation::Move { path: to, .. }) => move_diff(path, to),
    }
}

/// Returns a text for an image: `[image image/png 12 kB]`.
pub fn image_in_words(image: &ImageView) -> String {
    format!("[image {} {}]", image.mime_type, size(image.bytes))
}

/// Classes that a client would handle in the same way become one kind.
impl From<FailureClass> for FailureKind {
    fn from(class: FailureClass) -> Self {
        match class {
            FailureClass::RateLimited => FailureKind::RateLimited,
            FailureClass::Overloaded => FailureKind::Overloaded,
            FailureClass::Network => FailureKind::Network,
            FailureClass::FirstByte | FailureClass::Stalled | FailureClass::Total => FailureKind::TimedOut,
            FailureClass::Broken | FailureClass::Cut => FailureKind::Broken,
            FailureClass::Auth => FailureKind::Auth,
            FailureClass::Quota => FailureKind::Quota,
            FailureClass::ContextExceeded => FailureKind::ContextExceeded,
            FailureClass::ModelNotFound => FailureKind::ModelNotFound,
            FailureClass::InvalidRequest | FailureClass::History | FailureClass::Images => {
                FailureKind::InvalidRequest
            }
            FailureClass::Interrupted => FailureKind::Interrupted,
        }
    }
}
