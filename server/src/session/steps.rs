//! The running steps of a session: starts them, holds their streams and aborts them.
//!
//! Knows how each step runs, and never decides whether it should run. A panic in a
//! step ends that step only.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::machine::input::{Choice, Report};
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use adjutant_core::machine::step::{BatchPart, Step, Wake, longest_wait};
use adjutant_core::policy::ask;
use adjutant_core::policy::cause::Cause;
use adjutant_core::prompt::reminder::{SessionNow, reminder};
use adjutant_core::prompt::{self, ModelRequest, compact};
use adjutant_core::record::{BatchId, CallEnd, CallResult, EditCheck, FileChange};
use adjutant_core::session::{Call, ChangeState, HunkState, Reads, Session};
use adjutant_core::wire;
use adjutant_protocol::ask::{AskView, PermissionOutcome};
use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::edits::{BatchEdit, WaitingChange};
use super::mailbox::Message;
use super::prepare::{Rules, RunSkills, prepare, run};
use super::review::{self, ReviewPart};
use super::spans::StepTimer;
use super::stream::Stream;
use super::{SessionWorld, context, edits, images, outside, spans};
use crate::client::{AskDelivery, CarriedHunks};
use crate::faults::point;
use crate::tools::Toolbox;

/// Time limit for aborted steps to end their processes.
const END_LIMIT: Duration = Duration::from_millis(1_500);

/// The running steps, each under its key.
pub struct RunningSteps {
    place: Arc<SessionWorld>,
    steps: HashMap<Step, StartedStep>,
    /// The number of the event that must be durable before a step may start.
    gates: HashMap<Step, u64>,
}

struct StartedStep {
    task: JoinHandle<()>,
    stream: Stream,
    /// Whether it has ended. It stays in the map so that it does not start again.
    ended: bool,
}

impl Drop for StartedStep {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RunningSteps {
    pub fn new(place: Arc<SessionWorld>) -> Self {
        Self { place, steps: HashMap::new(), gates: HashMap::new() }
    }

    pub fn has(&self, step: &Step) -> bool {
        self.steps.contains_key(step)
    }

    /// Aborts every step that is not wanted: its future is dropped, and its processes die.
    pub fn keep_only(&mut self, wanted: &[Step]) {
        self.steps.retain(|step, _| wanted.contains(step));
        self.gates.retain(|step, _| wanted.contains(step));
    }

    pub fn gate(&mut self, step: &Step, barrier: u64) -> u64 {
        *self.gates.entry(step.clone()).or_insert(barrier)
    }

    pub fn stream(&self, step: &Step) -> Option<&Stream> {
        self.steps.get(step).map(|started| &started.stream)
    }

    pub fn ended(&mut self, step: &Step) {
        if let Some(started) = self.steps.get_mut(step) {
            started.ended = true;
        }
    }

    pub fn abort_all(&mut self) {
        self.steps.clear();
    }

    /// Aborts every step and waits until their processes are gone, at most `END_LIMIT`.
    pub async fn abort_all_and_wait(&mut self) {
        let mut tasks = Vec::new();
        for (_, mut started) in self.steps.drain() {
            started.task.abort();
            tasks.push(std::mem::replace(&mut started.task, tokio::spawn(async {})));
        }
        let _ = tokio::time::timeout(END_LIMIT, futures_util::future::join_all(tasks)).await;
    }

    /// Starts a step with a copy of what it needs of the session.
    pub fn start(&mut self, step: Step, session: &Session, tools: &Arc<Toolbox>) {
        let stream = Stream::new(step.clone(), self.place.mailbox.clone());
        let Some(work) = Work::of(&step, session, tools, &self.place) else {
            tracing::error!(?step, "a wanted step cannot be started");
            self.place.mailbox.post(Message::StepEnded { step, panicked: false });
            return;
        };
        let (place, key, text) = (self.place.clone(), step.clone(), stream.clone());
        let whole = async move {
            let mut timed = StepTimer::begin();
            let done = AssertUnwindSafe(work.run(&key, &place, &text)).catch_unwind().await;
            let panicked = done.is_err();
            timed.end = if panicked { "panicked" } else { "done" };
            drop(timed);
            if let Ok(Some(message)) = done {
                place.mailbox.post(match message {
                    Done::Report(report) => Message::Report { step: key.clone(), report },
                    Done::Message(message) => *message,
                });
            }
            place.mailbox.post(Message::StepEnded { step: key, panicked });
        };
        let task = tokio::spawn(whole.instrument(spans::of(&step, session)));
        self.steps.insert(step, StartedStep { task, stream, ended: false });
    }
}

/// The work of one step, with a copy of what it needs of the session.
enum Work {
    Model { model: String, request: Box<ModelRequest>, attempt: u32, reminds: Option<Box<SessionNow>> },
    ReadContext,
    Prepare { calls: Vec<Call>, mode: adjutant_core::record::Mode, rules: Rules, reads: Reads },
    Tool { call: Box<Call>, rules: Rules },
    Reobserve { waiting: Vec<WaitingChange> },
    Apply { edits: Vec<BatchEdit> },
    Settle { change: Box<FileChange> },
    LookOutside { reads: Reads },
    Review { parts: Vec<ReviewPart> },
    Deliver { ask: Arc<AskView>, edits: Vec<CarriedHunks> },
    Wake { wake: Wake, longest: u64 },
}

enum Done {
    Report(Report),
    Message(Box<Message>),
}

impl Work {
    fn of(step: &Step, session: &Session, tools: &Arc<Toolbox>, place: &SessionWorld) -> Option<Self> {
        let run = session.open_run();
        Some(match step {
            Step::CallModel { attempt, .. } => Work::Model {
                model: run?.current_model().to_owned(),
                request: Box::new(model_request(session, place)?),
                attempt: *attempt,
                reminds: Some(Box::new(SessionNow::of(session, run?.policy.context.as_ref()))),
            },
            Step::Compact { attempt, .. } => {
                let compaction = run?.turn.as_ref()?.compacts.as_ref()?;
                let request = compact::request(model_request(session, place)?, compaction);
                let model = run?.called_model().to_owned();
                Work::Model { model, request: Box::new(request), attempt: *attempt, reminds: None }
            }
            Step::ReadContext { .. } => Work::ReadContext,
            Step::Prepare { calls, .. } => {
                let policy = &run?.policy;
                let calls = calls.iter().map(|id| session.call(id).cloned()).collect::<Option<Vec<_>>>()?;
                let skills = RunSkills::of(session);
                let rules = Rules { tools: tools.clone(), deny: policy.deny.clone(), skills };
                // Only edits are compared with what was read.
                let has_edit = calls.iter().any(Call::is_edit);
                let reads = if has_edit { session.reads.clone() } else { Reads::default() };
                Work::Prepare { calls, mode: policy.mode, rules, reads }
            }
            Step::RunTool { call } => {
                let skills = RunSkills::of(session);
                let rules = Rules { tools: tools.clone(), deny: run?.policy.deny.clone(), skills };
                Work::Tool { call: Box::new(session.call(call)?.clone()), rules }
            }
            Step::Reobserve { changes, .. } => {
                let waiting =
                    changes.iter().filter_map(|id| session.changes.get(id)).map(|state| WaitingChange {
                        change: state.of_hunks(&state.in_state(HunkState::Proposed)),
                        seen: state.seen.clone(),
                    });
                Work::Reobserve { waiting: waiting.collect() }
            }
            Step::Apply { batch, part } => Work::Apply { edits: batch_edits(session, batch, part) },
            Step::Settle { change_set } => {
                let state = session.changes.get(change_set)?;
                Work::Settle { change: Box::new(state.of_hunks(&state.in_state(HunkState::Applying))) }
            }
            Step::LookOutside { .. } => Work::LookOutside { reads: session.reads.clone() },
            Step::Review { batch, .. } => Work::Review { parts: review::parts_of(session, batch) },
            Step::DeliverAsk { ask } => {
                // The published view is used if there is one, because a view may have megabytes.
                let published = place.world.link.items().open_ask(ask);
                let view = || wire::ask::open_view(session, ask).map(Arc::new);
                let changes =
                    session.asks.get(ask).into_iter().flat_map(|open| session.changes_of(&open.ask));
                let edits = changes.filter(|state| state.change.operation.is_none());
                let carried = edits.map(|state| CarriedHunks {
                    change_set: state.change.change_set.clone(),
                    uri: state.change.uri.clone(),
                    hunks: state.of_hunks(&state.in_state(HunkState::Proposed)).hunks,
                });
                Work::Deliver { edits: carried.collect(), ask: published.or_else(view)? }
            }
            Step::Wake(wake) => Work::Wake { wake: wake.clone(), longest: longest_wait(session, wake) },
        })
    }

    async fn run(self, step: &Step, place: &Arc<SessionWorld>, stream: &Stream) -> Option<Done> {
        let report = match self {
            Work::Model { model, mut request, attempt, reminds } => {
                let shows = reminds.is_some();
                if let Some(now) = reminds {
                    let editor = context::now(place).await;
                    request.reminder = reminder(&now, &editor).map(Into::into);
                }
                images::load(place.blobs.clone(), &mut request).await;
                call_model(place, stream, &model, &request, attempt, shows).await
            }
            Work::ReadContext => context::read(place).await,
            Work::Prepare { calls, mode, rules, reads } => prepare(place, &calls, mode, &rules, reads).await,
            Work::LookOutside { reads } => {
                let report = outside::look(place, reads.clone()).await;
                context::with_instructions(place, reads, report).await
            }
            Work::Tool { call, rules } => run(place, stream, &call, &rules).await,
            Work::Reobserve { waiting } => edits::reobserve(place, waiting).await,
            Work::Apply { edits } => {
                let report = |report| place.mailbox.post(Message::Report { step: step.clone(), report });
                edits::apply_all(place, edits, report).await;
                return None;
            }
            Work::Review { parts } => {
                let report = |report| place.mailbox.post(Message::Report { step: step.clone(), report });
                review::carry_out(place, parts, report).await;
                return None;
            }
            Work::Settle { change } => edits::settle(place, &change).await,
            Work::Wake { wake, longest } => {
                let left = wake.at.saturating_sub(crate::clock::now_ms()).min(longest);
                tokio::time::sleep(Duration::from_millis(left)).await;
                return Some(Done::Message(Box::new(Message::Woke(wake))));
            }
            Work::Deliver { ask, edits } => {
                if !edits.is_empty() && place.world.abilities().edits_by_action() {
                    place.world.link.items().carries(&ask.ask_id, edits.into());
                }
                return deliver(place, ask).await;
            }
        };
        Some(Done::Report(report))
    }
}

/// Returns the edits of a part of a batch, in the order of their first calls.
fn batch_edits(session: &Session, batch: &BatchId, part: &BatchPart) -> Vec<BatchEdit> {
    let of_batch = |state: &&ChangeState| part.has(&state.change);
    let edit = |state: &ChangeState| {
        let hunks = state.batches.get(batch)?;
        let call = state.calls().find_map(|call| session.call(call))?;
        Some(BatchEdit { title: call.title.clone(), seen: state.seen.clone(), change: state.of_hunks(hunks) })
    };
    session.live_changes().into_iter().filter(of_batch).filter_map(edit).collect()
}

/// Returns the request for the model of the open run.
fn model_request(session: &Session, place: &SessionWorld) -> Option<ModelRequest> {
    let run = session.open_run()?;
    let settings = place.world.settings();
    let (provider, model) = settings.provider_for(Some(run.called_model())).ok()?;
    let features = provider.facts(&model);
    let mut request = prompt::request(session, &model, run.policy.mode, &features);
    // A fallback model may not support all generation settings of the run.
    request.generation_settings = features.supported(run.generation_settings);
    let cut = run.turn.as_ref().and_then(|turn| turn.cut.as_ref());
    request.max_output_tokens = cut.and_then(|cut| provider.room_now(&model, cut.room));
    request.whole = run.turn.as_ref().is_some_and(|turn| turn.tries.asks_whole());
    Some(request)
}

async fn call_model(
    place: &SessionWorld,
    stream: &Stream,
    model: &str,
    request: &ModelRequest,
    attempt: u32,
    shows: bool,
) -> Report {
    let settings = place.world.settings();
    let provider = match settings.provider_for(Some(model)) {
        Ok((provider, _)) => provider,
        Err(why) => {
            return Report::CallFailed(CallFailure {
                class: FailureClass::InvalidRequest,
                message: why.to_string(),
                retry_after_ms: None,
            });
        }
    };
    let limits = settings.limits.model;
    // Nobody reads along while a summary is written: it is shown whole, when it is accepted.
    let hear = |delta| {
        if shows {
            stream.reply(delta)
        }
    };
    let call = place.world.models.call(&provider, &limits, request, attempt, hear);
    let result = tokio::select! {
        result = call => result,
        never = stream.report_silence(Duration::from_millis(limits.silence_ms)) => match never {},
        never = stream.keep_partials() => match never {},
    };
    point("reply-complete");
    match result {
        Ok(reply) => match provider.more_room(&request.model, &reply).filter(|_| shows) {
            Some(room) => {
                stream.broke_off();
                Report::ReplyCut { reply, room }
            }
            None => Report::Replied(reply),
        },
        Err(failure) => {
            stream.broke_off();
            Report::CallFailed(failure)
        }
    }
}

/// Delivers an ask once. If its surface closes without an answer, the ask stays open elsewhere.
async fn deliver(place: &SessionWorld, view: Arc<AskView>) -> Option<Done> {
    point("ask-delivered");
    let (id, kind) = (view.ask_id.clone(), view.kind);
    let AskDelivery::Outcome { outcome, surface } = place.world.link.deliver(view).await else {
        return None;
    };
    let (choice, surface) = match outcome {
        PermissionOutcome::Selected { option_id, text } => (Choice::Option { id: option_id, text }, surface),
        PermissionOutcome::Answered { text } => (Choice::Text(text), surface),
        PermissionOutcome::Absent => (Choice::absent(kind.into())?, ask::NOBODY),
        PermissionOutcome::Cancelled => return None,
    };
    Some(Done::Message(Box::new(Message::Answer {
        ask: id,
        choice,
        surface,
        unattended: false,
        reply: None,
    })))
}

/// Returns the fallback for a report that may exceed the record limit; it receives that limit in bytes.
pub fn too_large(report: &Report) -> Option<fn(usize) -> Report> {
    match report {
        Report::Replied(_) | Report::ReplyCut { .. } => Some(too_large_reply),
        Report::PreparedEdits(_) => Some(|limit| {
            let text = format!(
                "the change is larger than the {} MiB that one record of the session may have, so split it",
                limit >> 20
            );
            Report::Finished(failed(Some(Cause::TooLarge), &text, &text))
        }),
        _ => None,
    }
}

fn failed(cause: Option<Cause>, output: &str, summary: &str) -> CallResult {
    CallResult {
        end: CallEnd::Failed,
        output: output.into(),
        summary: summary.to_owned(),
        elapsed_ms: 0,
        cause,
        whole: None,
        unsaved: Vec::new(),
        reads: Vec::new(),
    }
}

fn too_large_reply(limit: usize) -> Report {
    Report::CallFailed(CallFailure {
        // The same request would probably get a reply of the same size.
        class: FailureClass::Total,
        message: format!(
            "the model's reply is larger than the {} MiB that one reply may have; ask for the work in smaller steps",
            limit >> 20
        ),
        retry_after_ms: None,
    })
}

/// Returns the failure that is recorded for a step that broke. The run continues, and the model gets it
/// as the result of the call.
pub fn broken(step: &Step) -> Option<Report> {
    let why = "the tool broke; this is a fault of Adjutant, not of the call. Try another way.";
    match step {
        Step::CallModel { .. } | Step::Compact { .. } => Some(Report::CallFailed(CallFailure {
            class: FailureClass::InvalidRequest,
            message: "calling the model broke inside Adjutant; the log says more".to_owned(),
            retry_after_ms: None,
        })),
        Step::Prepare { .. }
        | Step::Reobserve { .. }
        | Step::RunTool { .. }
        | Step::Review { .. }
        | Step::Apply { .. } => Some(Report::Finished(failed(None, why, "broke"))),
        Step::Settle { .. } => Some(Report::Settled(EditCheck::Unclear)),
        Step::ReadContext { .. } => Some(Report::ContextRead(Vec::new())),
        Step::LookOutside { .. } => Some(Report::LookedOutside(None)),
        Step::DeliverAsk { .. } | Step::Wake(_) => None,
    }
}
