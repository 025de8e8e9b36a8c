//! Tests of `accept`, `apply` and `next_steps` together: scripts that read as stories, and random legal logs.
//!
//! Never mocks a type of Adjutant; time and seeds are plain arguments.

mod allowed;
mod budgets;
mod changes;
mod choices;
mod clocks;
mod compacting;
mod consent;
mod cut_reply;
mod cut_short;
mod decisions;
mod edits;
mod holes;
mod interleavings;
mod later;
mod oracle;
mod outside;
mod properties;
mod random;
mod side_by_side;
pub mod spent;
mod stories;
mod tools;
mod toolset;
mod waiting;

use crate::machine::accept::{Refusal, accept};
use crate::machine::input::{
    Answer, ChangeNow, Choice, EditLocation, EditOutcome, EditReport, Input, Preparation, PreparedEdits,
    PreparedFile, Prompt, ReobservedChange, Report, Stamp,
};
use crate::machine::step::{Step, next_steps};
use crate::policy::cause::{Cause, Reason};
use crate::policy::choices::Follows;
use crate::policy::observation::{ObservedOperation, ObservedPath};
use crate::prompt::message::{GenerationSettings, Reply, RequestedCall, StopCause};
use crate::record::{
    CallEnd, CallPart, CallResult, Event, FileChange, FileOperation, Payload, Policy, Record, ToolCallId,
};
use crate::session::Session;

/// A session with its own log and a clock that ticks by one.
pub struct Bench {
    pub session: Session,
    pub log: Vec<Record>,
    /// Length of the log after each batch, because a batch is kept whole or not at all.
    pub batches: Vec<usize>,
    pub now: u64,
    /// Counter for random seeds, which must not depend on the clock.
    drawn: u64,
}

impl Bench {
    pub fn new() -> Self {
        let session = Session::new("s1".into(), vec!["/ws".to_owned()]).with_tools(tools::tools());
        Self { session, log: Vec::new(), batches: Vec::new(), now: 1_000, drawn: 1_000 }
    }

    pub fn stamp(&mut self) -> Stamp {
        self.now += 1;
        self.drawn += 1;
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&self.drawn.to_le_bytes());
        Stamp::new(self.now, seed)
    }

    /// Passes one input to `accept` and applies the events that follow.
    pub fn input(&mut self, input: Input) -> Result<Vec<Event>, Refusal> {
        let stamp = self.stamp();
        let events = accept(&self.session, &stamp, input)?;
        for (index, event) in events.iter().enumerate() {
            let last = index + 1 == events.len();
            let record = Record { seq: self.session.seq + 1, at: stamp.now, last, event: event.clone() };
            self.session.apply(&record);
            self.log.push(record);
        }
        self.batches.push(self.log.len());
        Ok(events)
    }

    /// Applies an event that no input of this version causes.
    pub fn record(&mut self, event: Event) {
        let record = Record { seq: self.session.seq + 1, at: self.now, last: true, event };
        self.session.apply(&record);
        self.log.push(record);
    }

    pub fn prompt(&mut self, text: &str) -> Result<Vec<Event>, Refusal> {
        self.prompt_with(text, Policy::default())
    }

    pub fn prompt_with(&mut self, text: &str, policy: Policy) -> Result<Vec<Event>, Refusal> {
        self.input(Input::prompted(Prompt { policy, ..prompt(text) }))
    }

    /// Reports for the first step that `matches`.
    pub fn report(&mut self, matches: fn(&Step) -> bool, report: Report) -> Vec<Event> {
        let steps = next_steps(&self.session);
        let look = steps.iter().find(|step| matches!(step, Step::LookOutside { .. })).cloned();
        if let (Some(step), Report::TurnBegan) = (look, &report) {
            // Files that the model knows are compared first.
            let report = Report::LookedOutside(None);
            return self.input(Input::Step { step, report }).expect("the report is accepted");
        }
        let step = steps.into_iter().find(matches).expect("the step should run");
        self.input(Input::Step { step, report }).expect("the report is accepted")
    }

    /// Runs one turn up to its reply.
    pub fn reply(&mut self, text: &str, calls: &[(&str, &str)]) -> Vec<Event> {
        self.report(is_model, Report::TurnBegan);
        self.report(is_model, Report::ReplyStarted);
        self.report(is_model, Report::Replied(reply(text, calls)))
    }

    pub fn answer(&mut self, choice: Choice) -> Result<Vec<Event>, Refusal> {
        let ask = self.session.open_asks().next().expect("an ask is open").id.clone();
        self.input(Input::Answer(Answer {
            ask,
            choice,
            surface: "test".to_owned(),
            consent: None,
            budget: None,
        }))
    }

    /// Returns a new session folded from the log alone.
    pub fn replayed(&self) -> Session {
        let mut session = Session::new("s1".into(), vec!["/ws".to_owned()]).with_tools(tools::tools());
        for record in &self.log {
            session.apply(record);
        }
        session
    }
}

pub fn reply(text: &str, calls: &[(&str, &str)]) -> Reply {
    let calls: Vec<RequestedCall> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| RequestedCall {
            id: format!("c{index}"),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
            free_form: false,
        })
        .collect();
    let stop = if calls.is_empty() { StopCause::EndTurn } else { StopCause::ToolCalls };
    Reply { text: text.to_owned(), calls, stop, ..Reply::default() }
}

pub fn option(id: &str) -> Choice {
    Choice::Option { id: id.to_owned(), text: None }
}

pub fn done(end: CallEnd) -> CallResult {
    CallResult {
        end,
        output: "out".into(),
        summary: "sum".to_owned(),
        elapsed_ms: 3,
        cause: None,
        whole: None,
        unsaved: Vec::new(),
        reads: Vec::new(),
    }
}

/// Returns the report of `Prepare` for a call that names no file.
pub fn prepared_as(payload: Payload) -> Report {
    Report::Prepared(Box::new(Preparation::of(payload)))
}

/// Returns the report of `Prepare` for reading this file or folder.
pub fn read_of(seen: ObservedPath) -> Report {
    let payload = Payload::Read { path: seen.path.clone(), everywhere: false };
    Report::Prepared(Box::new(Preparation::of(payload).about(seen)))
}

/// Returns the report of `Prepare` for edits of one ordinary file: all calls of the step make this change.
pub fn edit_of(bench: &Bench, change: FileChange) -> Report {
    let hunks: Vec<String> = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    let calls = prepared_calls(bench);
    let parts = calls.into_iter().map(|call| CallPart { call, hunks: hunks.clone() }).collect();
    files_of(vec![FileChange { parts, ..change }])
}

/// Returns the report of `Prepare` for edits of ordinary files.
pub fn files_of(changes: Vec<FileChange>) -> Report {
    let file = |change: FileChange| {
        let name = ObservedPath::inside(&change.path);
        let to = match &change.operation {
            Some(FileOperation::Move { path, .. }) => Some(Box::new(ObservedPath::inside(path))),
            Some(FileOperation::Delete { .. }) | None => None,
        };
        let operation = change.operation.as_ref().map(|_| ObservedOperation { to, made_by: None });
        PreparedFile { seen: ObservedPath { operation, ..name }, change }
    };
    let files = changes.into_iter().map(file).collect();
    Report::PreparedEdits(PreparedEdits { files, refused: Vec::new() })
}

/// Returns the calls that `Prepare` should observe now.
pub fn prepared_calls(bench: &Bench) -> Vec<ToolCallId> {
    let calls = next_steps(&bench.session).into_iter().find_map(|step| match step {
        Step::Prepare { calls, .. } => Some(calls),
        _ => None,
    });
    calls.unwrap_or_default()
}

/// Returns the report of `Reobserve`: every change that waits for an answer is as it was.
pub fn same(bench: &Bench) -> Report {
    let changes = next_steps(&bench.session).into_iter().find_map(|step| match step {
        Step::Reobserve { changes, .. } => Some(changes),
        _ => None,
    });
    let same = |change_set| ReobservedChange { change_set, found: ChangeNow::Same };
    Report::Reobserved(changes.into_iter().flatten().map(same).collect())
}

pub fn is_reobserve(step: &Step) -> bool {
    matches!(step, Step::Reobserve { .. })
}

/// Returns the report of `Apply` on its first file.
pub fn edited(bench: &Bench, outcome: EditOutcome) -> Report {
    let applying = bench.session.changes.values().find(|state| state.is_applying() && !state.unsettled);
    let change_set = applying.expect("an edit is on its way").change.change_set.clone();
    Report::Edited { change_set, report: EditReport { outcome, elapsed_ms: 3, on: None } }
}

/// The outcome of an edit that is in the text and on disk.
pub fn landed() -> EditOutcome {
    EditOutcome::Landed {
        location: EditLocation::Saved,
        exact: true,
        formatted: crate::text::trace::Formatting::default(),
    }
}

/// Returns the report of `Prepare` for a call that cannot run.
pub fn refused(cause: Cause, why: &str) -> Report {
    Report::Prepared(Box::new(Preparation::refused(Reason::new(cause, why))))
}

pub fn is_model(step: &Step) -> bool {
    matches!(step, Step::CallModel { .. })
}

pub fn is_prepare(step: &Step) -> bool {
    matches!(step, Step::Prepare { .. })
}

pub fn is_tool(step: &Step) -> bool {
    matches!(step, Step::RunTool { .. } | Step::Apply { .. })
}

/// Returns the names of events, separated by blanks.
pub fn names(events: &[Event]) -> String {
    let name = |event: &Event| {
        let value = serde_json::to_value(event).expect("an event serialises");
        assert_eq!(value["type"], event.name());
        event.name()
    };
    events.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Returns a prompt whose run follows every choice of its session.
pub fn prompt(text: &str) -> Prompt {
    Prompt {
        added: String::new(),
        text: text.to_owned(),
        images: Vec::new(),
        takes_images: true,
        title: None,
        expected_run: None,
        model: "scripted/demo".to_owned(),
        generation_settings: GenerationSettings::default(),
        policy: Policy::default(),
        follows: Follows { mode: true, model: true, effort: true, verbosity: true },
        origin: None,
        key: None,
        comments: Vec::new(),
    }
}
