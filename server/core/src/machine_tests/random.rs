//! Random legal logs: a driver that picks what may come next from a stream of numbers.
//!
//! Never draws an input that the server could not send; illegal inputs have their own test.

use super::{Bench, done, reply};
use crate::machine::accept::outside_moment;
use crate::machine::input::{
    Answer, ChangeNow, Choice, CompactRequest, Decision, EditLocation, EditOutcome, EditReport, HunkComment,
    Input, OutsideLook, Preparation, PreparedEdits, Prompt, Prospect, RefusedEdit, ReobservedChange, Report,
    ReviewAct, ReviewInput, ReviewOutcome, ReviewTarget,
};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::machine::step::{Step, next_steps};
use crate::policy::cause::{Cause, Reason};
use crate::policy::choices::{Follows, JudgedChoice, Takes};
use crate::policy::observation::{FileClass, ObservedPath};
use crate::prompt::image::{Image, MediaType};
use crate::prompt::message::{GenerationSettings, Reply, StopCause};
use crate::prompt::words::SUMMARISE;
use crate::record::{
    BatchId, CallEnd, CallPart, CallResult, ChangeSetId, ChangedFile, CompactPolicy, ContextKind,
    ContextPolicy, ContextText, EditCheck, EditsMode, FileChange, FileOperation, FileRead, HunkSet, Mode,
    Payload, PlanStep, Policy, ReviewedBy, SeenHunk, StepStatus, ToolCallId, UnattendedPolicy,
};
use crate::session::{AppliedHunk, HunkState};
use crate::text::freshness::{KnownLines, line_hashes};
use crate::text::review::Hunk;

/// The numbers of a test case, from which all choices are drawn.
pub struct Dice<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Dice<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn is_used_up(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % sides
    }
}

/// Draws one input that is legal in the present state.
pub fn input(bench: &Bench, dice: &mut Dice<'_>) -> Input {
    match dice.roll(21) {
        20 => Input::Compact(CompactRequest {
            model: "p/m".to_owned(),
            generation_settings: GenerationSettings::default(),
            policy: Policy { context: small_context(dice), ..Policy::default() },
        }),
        18 | 19 => review(bench, dice).unwrap_or_else(|| step(bench, dice)),
        0 => Input::prompted(prompt(dice)),
        1 => Input::Cancel { run: None },
        2 => Input::Opened { epoch: bench.session.epoch + 1 },
        3 => Input::Stopping,
        16 => choice(bench, dice),
        17 if bench.session.open_run().is_some() => {
            // A new rule each time, so that the input always changes something.
            let known = bench.session.open_run().map_or(0, |run| run.policy.deny.len());
            Input::Denials(vec![format!("edit_file(x{known}/**)")])
        }
        4 | 8 | 9 => decision(bench, dice).unwrap_or_else(|| step(bench, dice)),
        5..=7 => answer(bench, dice).unwrap_or_else(|| step(bench, dice)),
        _ => step(bench, dice),
    }
}

fn prompt(dice: &mut Dice<'_>) -> Prompt {
    let unattended = (dice.roll(3) == 0).then(|| UnattendedPolicy {
        edit: dice.roll(2) == 0,
        command: dice.roll(2) == 0,
        max_requests: 2,
    });
    let deny = if dice.roll(4) == 0 { vec!["run_command".to_owned()] } else { Vec::new() };
    let followup_default_ms = (dice.roll(3) == 0).then_some(5);
    let edits = EditsMode::ALL[dice.roll(5).saturating_sub(2)];
    let policy = Policy { edits, unattended, deny, followup_default_ms, ..Policy::default() };
    let fallback_models = if dice.roll(3) == 0 { vec!["p/other".to_owned()] } else { Vec::new() };
    let policy = Policy { fallback_models, context: small_context(dice), ..policy };
    let follows = Follows {
        mode: dice.roll(2) == 0,
        model: dice.roll(2) == 0,
        effort: dice.roll(2) == 0,
        verbosity: dice.roll(2) == 0,
    };
    let image = Image { mime_type: MediaType::Png, bytes: 3_000_000, hash: "0f".repeat(32) };
    Prompt {
        images: if dice.roll(3) == 0 { vec![image; 2] } else { Vec::new() },
        takes_images: dice.roll(4) > 0,
        model: "p/m".to_owned(),
        policy,
        follows,
        ..super::prompt("do it")
    }
}

/// Draws how the context of a run is made: a window so small that a few messages fill it.
fn small_context(dice: &mut Dice<'_>) -> Option<ContextPolicy> {
    let windows = [("p/m".to_owned(), [3_000, 4_000][dice.roll(2)]), ("p/other".to_owned(), 2_400)];
    let off = (dice.roll(4) == 0).then(|| "memory".to_owned()).into_iter().collect();
    (dice.roll(2) == 0).then(|| ContextPolicy {
        windows: windows.into(),
        off,
        compact: CompactPolicy::default(),
        summary_model: (dice.roll(2) == 0).then(|| "p/other".to_owned()),
    })
}

/// Draws the texts of a prompt.
fn context(dice: &mut Dice<'_>) -> Vec<ContextText> {
    let text = |kind: ContextKind, text: &str| ContextText {
        kind,
        source: "AGENTS.md".to_owned(),
        text: text.into(),
        name: String::new(),
        summary: String::new(),
        left_out: 0,
    };
    ContextKind::ALL.into_iter().filter(|_| dice.roll(2) == 0).map(|kind| text(kind, "use tabs")).collect()
}

/// Draws what became of the request for a summary.
fn summary_report(dice: &mut Dice<'_>) -> Report {
    let good = SUMMARISE.lines().filter(|line| line.starts_with("## ")).collect::<Vec<_>>().join("\na\n");
    match dice.roll(6) {
        0 => Report::Replied(reply("No.", &[])),
        1 => Report::Replied(reply("", &[("read_file", r#"{"path":"a"}"#)])),
        2 => Report::CallFailed(CallFailure {
            class: FailureClass::ContextExceeded,
            message: "too long".to_owned(),
            retry_after_ms: None,
        }),
        3 => model_report(dice),
        _ => Report::Replied(reply(&good, &[])),
    }
}

/// Draws a mode or a model that is not chosen already. Before the first prompt there is no log for it, so it draws a
/// prompt.
fn choice(bench: &Bench, dice: &mut Dice<'_>) -> Input {
    if !bench.session.created {
        return Input::prompted(prompt(dice));
    }
    let offer = bench.session.offer(Some("p/m".to_owned()), Vec::new(), |_| Takes::default());
    let chosen = if dice.roll(2) == 0 {
        let mode = if bench.session.choices.mode == Mode::Code { Mode::Ask } else { Mode::Code };
        JudgedChoice::Mode { mode }
    } else {
        let other = if offer.model.as_deref() == Some("p/m") { "p/n" } else { "p/m" };
        JudgedChoice::Model { model: other.to_owned() }
    };
    Input::Choose { chosen, offer }
}

pub fn answer(bench: &Bench, dice: &mut Dice<'_>) -> Option<Input> {
    let asks: Vec<_> = bench.session.open_asks().collect();
    let ask = asks.get(dice.roll(asks.len().max(1)))?;
    let choice = if ask.free_text && dice.roll(4) == 0 {
        Choice::Text("because".to_owned())
    } else {
        let option = ask.options.get(dice.roll(ask.options.len().max(1)))?;
        Choice::Option { id: option.option_id.clone(), text: None }
    };
    Some(Input::Answer(Answer {
        ask: ask.id.clone(),
        choice,
        surface: "random".to_owned(),
        consent: None,
        budget: None,
    }))
}

fn step(bench: &Bench, dice: &mut Dice<'_>) -> Input {
    let steps = next_steps(&bench.session);
    let Some(step) = steps.get(dice.roll(steps.len().max(1))).cloned() else {
        return Input::prompted(prompt(dice));
    };
    if let Step::Wake(wake) = step {
        return Input::Woke(wake);
    }
    let report = report(bench, &step, dice);
    Input::Step { step, report }
}

pub fn report(bench: &Bench, step: &Step, dice: &mut Dice<'_>) -> Report {
    match step {
        Step::CallModel { .. } => model_report(dice),
        Step::Compact { .. } => summary_report(dice),
        Step::ReadContext { .. } => Report::ContextRead(context(dice)),
        Step::Prepare { calls, .. } => prepared(bench, calls, dice),
        Step::Apply { batch, .. } => edited(bench, batch, dice),
        Step::Reobserve { changes, .. } => reobserved(bench, changes, dice),
        Step::RunTool { .. } => {
            let ends = [CallEnd::Completed, CallEnd::Completed, CallEnd::Failed];
            let reads = (dice.roll(2) == 0).then(|| read(dice)).into_iter().collect();
            Report::Finished(CallResult { reads, ..done(ends[dice.roll(3)]) })
        }
        Step::Settle { .. } => {
            Report::Settled([EditCheck::Landed, EditCheck::NotLanded, EditCheck::Unclear][dice.roll(3)])
        }
        Step::Review { batch, .. } => reviewed(bench, batch, dice),
        Step::LookOutside { .. } => looked_outside(bench, dice),
        Step::DeliverAsk { .. } | Step::Wake(_) => Report::TurnBegan,
    }
}

/// Draws lines of a file that a call showed.
fn read(dice: &mut Dice<'_>) -> FileRead {
    let name = ["a.txt", "b.txt"][dice.roll(2)];
    let hashes = line_hashes(["", "one\n", "one\ntwo\nthree\n"][dice.roll(3)]);
    let lines = KnownLines { first: dice.roll(3), to_end: dice.roll(2) == 0, hashes };
    let head = Some("main".to_owned());
    FileRead { path: name.to_owned(), target: format!("file:///ws/{name}"), lines, head }
}

/// Draws which of the files that the model knows have changed.
fn looked_outside(bench: &Bench, dice: &mut Dice<'_>) -> Report {
    let mut look =
        OutsideLook { head: Some(["main", "other"][dice.roll(2)].to_owned()), ..OutsideLook::default() };
    for target in bench.session.reads.by_file().into_keys().map(str::to_owned) {
        match dice.roll(4) {
            0 => look.changed.push(ChangedFile {
                path: "a.txt".to_owned(),
                target,
                gone: dice.roll(2) == 0,
                open: dice.roll(2) == 0,
            }),
            1 => look.unknown.push(target),
            _ => {}
        }
    }
    Report::LookedOutside((dice.roll(5) > 0).then_some(look))
}

/// Draws what became of the hunks of one change that a decision undoes or restores.
fn reviewed(bench: &Bench, batch: &BatchId, dice: &mut Dice<'_>) -> Report {
    let all = bench.session.applied.all();
    let mut pending = all.iter().filter(|change| change.pending(batch).next().is_some());
    let Some(change) = pending.next() else { return Report::Finished(done(CallEnd::Failed)) };
    let mut outcome = ReviewOutcome::default();
    for (hunk, _) in change.pending(batch) {
        match dice.roll(3) {
            0 => outcome.failed.push((hunk.id.clone(), "the text changed".to_owned())),
            _ => outcome.done.push(hunk.id.clone()),
        }
    }
    Report::Reviewed { change_set: change.change_set.clone(), outcome }
}

/// Draws a look at the files while the model answers, a decision about applied hunks, or hunks that the user undid or redid in the editor.
fn review(bench: &Bench, dice: &mut Dice<'_>) -> Option<Input> {
    if let Some(moment) = outside_moment(&bench.session)
        && dice.roll(3) == 0
        && let Report::LookedOutside(Some(look)) = looked_outside(bench, dice)
    {
        return Some(Input::Outside { look, moment });
    }
    let all = bench.session.applied.all();
    let change = all.get(dice.roll(all.len().max(1)))?;
    let seen = |hunk: &AppliedHunk| SeenHunk { hunk: hunk.id.clone(), seen: None };
    let hunks: Vec<SeenHunk> = change.hunks.iter().filter(|_| dice.roll(3) > 0).map(seen).collect();
    let open = dice.roll(2) == 0;
    let target = ReviewTarget { change_set: change.change_set.clone(), hunks, open };
    let acts = [ReviewAct::Keep, ReviewAct::Undo, ReviewAct::Restore];
    Some(match dice.roll(8) {
        1 => Input::Committed { target, on: None },
        3 => {
            let sent = |(change, hunk, text): (&_, &AppliedHunk, &str)| {
                let change: &std::sync::Arc<crate::session::AppliedChange> = change;
                // Some were changed since they were read.
                let text = if dice.roll(4) == 0 { "older" } else { text };
                HunkComment {
                    change_set: change.change_set.clone(),
                    hunk: hunk.id.clone(),
                    text: text.to_owned(),
                }
            };
            let comments = bench.session.applied.commented().into_iter().map(sent).collect();
            Input::prompted(Prompt { comments, ..super::prompt("see my comments") })
        }
        2 => {
            let hunk = target.hunks.first().map_or_else(String::new, |seen| seen.hunk.clone());
            let text = ["", "better so", "no"][dice.roll(3)].to_owned();
            Input::Comment(HunkComment { change_set: target.change_set, hunk, text })
        }
        0 => Input::Found {
            target,
            is_in_text: dice.roll(2) == 0,
            by: if dice.roll(2) == 0 { ReviewedBy::Editor } else { ReviewedBy::Close },
        },
        _ => {
            let (act, as_one) = (acts[dice.roll(3)], dice.roll(2) == 0);
            Input::Review(ReviewInput { targets: vec![target], act, as_one, reason: None })
        }
    })
}

fn model_report(dice: &mut Dice<'_>) -> Report {
    let calls = [
        ("read_file", r#"{"path":"a"}"#),
        ("edit_file", r#"{"path":"a","old_text":"x","new_text":"y"}"#),
        ("run_command", r#"{"command":"true"}"#),
        ("update_plan", r#"{"plan":"one"}"#),
        ("ask_user", r#"{"question":"why?"}"#),
        ("task_complete", r#"{"summary":"ok"}"#),
        ("nonsense", "{"),
    ];
    const FAILURES: [FailureClass; 6] = [
        FailureClass::ContextExceeded,
        FailureClass::Network,
        FailureClass::Auth,
        FailureClass::Broken,
        FailureClass::History,
        FailureClass::Images,
    ];
    match dice.roll(13) {
        12 => Report::ReplyCut {
            reply: Reply { stop: StopCause::MaxTokens, ..reply("too lo", &calls[..dice.roll(3)]) },
            room: 64_000,
        },
        10 => Report::Silent { since: 1 },
        11 => Report::Heard,
        0..=2 => Report::TurnBegan,
        3 => Report::ReplyStarted,
        4 => Report::ReplyPartial { text: "so f".to_owned(), reasoning: String::new() },
        5 => Report::Replied(reply("done", &[])),
        6 => Report::CallFailed(CallFailure {
            class: FAILURES[dice.roll(FAILURES.len())],
            message: "it failed".to_owned(),
            retry_after_ms: None,
        }),
        _ => {
            // Reads are drawn more often than others, because only reads run at the same time.
            let count = 1 + dice.roll(5);
            let drawn: Vec<_> = (0..count)
                .map(|_| {
                    if dice.roll(2) == 0 {
                        calls[1]
                    } else {
                        calls[dice.roll(2 * calls.len()) % 11 % calls.len()]
                    }
                })
                .collect();
            Report::Replied(reply("", &drawn))
        }
    }
}

/// Draws a report of `Apply` on one file.
fn edited(bench: &Bench, batch: &BatchId, dice: &mut Dice<'_>) -> Report {
    let changes: Vec<_> =
        bench.session.changes.values().filter(|state| state.batches.contains_key(batch)).collect();
    let Some(state) = changes.get(dice.roll(changes.len().max(1))) else {
        return Report::Finished(done(CallEnd::Failed));
    };
    let outcome = match dice.roll(8) {
        0 => EditOutcome::Overtaken {
            change: Box::new(FileChange { open: dice.roll(2) == 0, ..state.of_hunks(&state.batches[batch]) }),
            seen: Box::new(ObservedPath {
                overtaken: Some("it moved".to_owned()),
                ..ObservedPath::inside("a")
            }),
            why: "it moved".to_owned(),
        },
        1 => EditOutcome::NotApplied { why: "no".to_owned(), in_doubt: dice.roll(2) == 0 },
        2 => EditOutcome::Partly { landed: state.hunks.keys().take(dice.roll(3)).cloned().collect() },
        3 => [EditOutcome::Undone, EditOutcome::Misplaced][dice.roll(2)].clone(),
        4 => return Report::Finished(done(CallEnd::Failed)),
        _ => {
            let locations = [
                EditLocation::Saved,
                EditLocation::Open,
                EditLocation::Unsaved(None),
                EditLocation::Unknown(String::new()),
            ];
            EditOutcome::Landed {
                location: locations[dice.roll(4)].clone(),
                exact: dice.roll(2) == 0,
                formatted: crate::text::trace::Formatting::default(),
            }
        }
    };
    Report::Edited {
        change_set: state.change.change_set.clone(),
        report: EditReport { outcome, elapsed_ms: 3, on: None },
    }
}

/// Draws a report of `Reobserve`.
fn reobserved(bench: &Bench, changes: &[ChangeSetId], dice: &mut Dice<'_>) -> Report {
    let mut report = Vec::new();
    for id in changes {
        let Some(state) = bench.session.changes.get(id) else { continue };
        let found = match dice.roll(6) {
            0 => ChangeNow::Gone { why: "it is gone".to_owned() },
            1 => ChangeNow::Other {
                change: Box::new(state.of_hunks(&state.in_state(HunkState::Proposed))),
                seen: Box::new(ObservedPath::inside("a")),
            },
            2 if dice.roll(4) == 0 => continue,
            _ => ChangeNow::Same,
        };
        report.push(ReobservedChange { change_set: id.clone(), found });
    }
    Report::Reobserved(report)
}

/// Draws a decision about some of the hunks that wait for an answer.
pub fn decision(bench: &Bench, dice: &mut Dice<'_>) -> Option<Input> {
    let open: Vec<_> =
        bench.session.live_changes().into_iter().filter(|state| state.has(HunkState::Proposed)).collect();
    let state = open.get(dice.roll(open.len().max(1)))?;
    let mut hunks = state.in_state(HunkState::Proposed);
    hunks.truncate(1 + dice.roll(2));
    let targets = vec![HunkSet { change_set: state.change.change_set.clone(), hunks }];
    let reason = (dice.roll(2) == 0).then(|| "because".to_owned());
    Some(Input::Decide(Decision { targets, apply: dice.roll(3) != 0, reason }))
}

/// Draws a report of `Prepare` for edits: each is refused, forgotten, or in one of two files.
fn prepared_edits(calls: &[ToolCallId], dice: &mut Dice<'_>) -> Report {
    let mut files: [Vec<CallPart>; 2] = Default::default();
    let mut refused = Vec::new();
    for call in calls {
        let part = |hunks| CallPart { call: call.clone(), hunks };
        match dice.roll(8) {
            0 => refused.push(RefusedEdit {
                call: call.clone(),
                seen: Some(ObservedPath::inside("a")),
                why: (dice.roll(2) == 0).then(|| Reason::new(Cause::NotFound, "it is not there")),
                may_reveal: dice.roll(2) == 0,
            }),
            1 if dice.roll(4) == 0 => {}
            drawn => files[drawn % 2].push(part(["h1", "h2"].map(str::to_owned)[..dice.roll(3)].to_vec())),
        }
    }
    let mut changes = Vec::new();
    for (name, parts) in ["a", "b"].into_iter().zip(files).filter(|(_, parts)| !parts.is_empty()) {
        let uri = format!("file:///ws/{name}");
        let mut parts = parts;
        for h in ["h1", "h2"] {
            if !parts.iter().any(|p| p.hunks.iter().any(|i| i == h)) {
                parts.last_mut().unwrap().hunks.push(h.to_owned());
            }
        }
        let of_lines = FileChange {
            parts,
            path: name.to_owned(),
            target: uri.clone(),
            uri,
            ..change(dice.roll(2) == 0)
        };
        changes.push(if of_lines.parts.len() == 1 && dice.roll(3) == 0 {
            as_operation(of_lines, dice.roll(2) == 0)
        } else {
            of_lines
        });
    }
    match super::files_of(changes) {
        Report::PreparedEdits(prepared) => Report::PreparedEdits(PreparedEdits { refused, ..prepared }),
        other => other,
    }
}

/// Draws a report of `Prepare` for the tool of these calls.
fn prepared(bench: &Bench, calls: &[ToolCallId], dice: &mut Dice<'_>) -> Report {
    let call = calls.first().and_then(|id| bench.session.call(id));
    let tool = call.map_or("", |call| call.tool.as_str());
    if tool == "edit_file" {
        return prepared_edits(calls, dice);
    }
    if dice.roll(8) == 0 {
        let seen = ObservedPath {
            write_class: Some(FileClass::Own),
            names_unknown: true,
            ..ObservedPath::inside("a")
        };
        let prepared = Preparation { seen: Some(seen), ..Preparation::with(Prospect::Forbidden) };
        return Report::Prepared(Box::new(prepared));
    }
    match tool {
        "read_file" => {
            super::read_of(ObservedPath { inside: dice.roll(3) != 0, ..ObservedPath::inside("a") })
        }
        "run_command" => super::prepared_as(Payload::Command {
            line: "true".to_owned(),
            cwd: "/ws".to_owned(),
            timeout_seconds: 5,
            binding: String::new(),
        }),
        "ask_user" => super::prepared_as(Payload::Question {
            question: "why?".to_owned(),
            options: vec!["yes".to_owned(), "no".to_owned()],
        }),
        "update_plan" => super::prepared_as(Payload::Plan {
            steps: vec![PlanStep { text: "one".to_owned(), status: StepStatus::Pending }],
        }),
        "task_complete" => super::prepared_as(Payload::Complete { summary: "ok".to_owned() }),
        _ => super::refused(Cause::UnknownTool, "no such tool"),
    }
}

/// Returns the deletion of a file, or its move, in place of an edit by one call.
fn as_operation(change: FileChange, moves: bool) -> FileChange {
    let unit = Hunk { inserted: Vec::new(), ..hunk("h1", 0) };
    let part = |part: &CallPart| CallPart { call: part.call.clone(), hunks: vec![unit.id.clone()] };
    let operation = match moves {
        true => FileOperation::Move {
            path: "c".to_owned(),
            uri: "file:///ws/c".to_owned(),
            target: "file:///ws/c".to_owned(),
        },
        false => FileOperation::Delete { mode: 0o644 },
    };
    FileChange {
        parts: change.parts.iter().map(part).collect(),
        open: false,
        operation: Some(operation),
        before: Some("hash".to_owned()),
        hunks: [unit].into(),
        ..change
    }
}

pub fn change(open: bool) -> FileChange {
    FileChange {
        change_set: "".into(),
        parts: Vec::new(),
        path: "a".to_owned(),
        uri: "file:///ws/a".to_owned(),
        target: "file:///ws/a".to_owned(),
        open,
        existed: true,
        always_ask: None,
        mark: None,
        tasks: Vec::new(),
        before: None,
        operation: None,
        hunks: [hunk("h1", 0), hunk("h2", 9)].into(),
    }
}

fn hunk(id: &str, line: usize) -> Hunk {
    Hunk {
        id: id.to_owned(),
        line,
        removed: vec!["x\n".to_owned()],
        inserted: vec!["y\n".to_owned()],
        context_before: Vec::new(),
        context_after: Vec::new(),
    }
}
