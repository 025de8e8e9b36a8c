//! Answers to asks: the first valid one wins, once.
//!
//! Only an answer that names one of the options is an approval; any other is never one.

use super::call::{denied, end_calls};
use super::ending::{Ending, end_run, rejected_for, result};
use super::{Refusal, consent, edits};
use crate::machine::input::{Answer, Choice, Stamp};
use crate::policy::ask;
use crate::policy::cause::Cause;
use crate::policy::permission::{Act, forbidden, standing_rule};
use crate::record::{
    AllowedBy, Ask, AskKind, CallEnd, CallResult, Event, OptionKind, Outcome, Payload, Resolution, Rule,
    RunId, StopReason,
};
use crate::session::{Call, Session};

/// Returns the events that close the ask and do what the answer says.
pub fn accept(session: &Session, stamp: &Stamp, answer: Answer) -> Result<Vec<Event>, Refusal> {
    let Some(open) = session.asks.get(&answer.ask) else {
        return Err(match session.resolution(&answer.ask) {
            Some(resolution) => Refusal::AlreadyResolved(resolution.clone()),
            None => Refusal::AskNotFound,
        });
    };
    let ask = &open.ask;
    let (resolution, kind) = resolve(ask, &answer)?;
    let closed = Event::AskClosed { ask: ask.id.clone(), resolution };
    let mut batch = vec![closed];
    if ask.kind == AskKind::Tool && asked_call(session, ask)?.is_edit() {
        let batch = edits::answered(session, stamp, ask, kind, &rejected(&answer), batch)?;
        return Ok(with_covered(session, ask, &answer, batch));
    }
    match ask.kind {
        AskKind::Tool | AskKind::Command | AskKind::BrowserActionLaunch | AskKind::UseMcpServer => {
            permission(session, stamp, ask, &answer, kind, &mut batch)?;
        }
        AskKind::Followup => followup(session, stamp, ask, &answer, &mut batch)?,
        AskKind::CommandOutput => command_output(session, stamp, ask, &answer.choice, &mut batch)?,
        AskKind::ResumeTask => batch.extend(resume(session, stamp, ask, &answer)),
        AskKind::CompletionResult
        | AskKind::ApiReqFailed
        | AskKind::MistakeLimitReached
        | AskKind::AutoApprovalMaxReqReached
        | AskKind::ResumeCompletedTask => batch.extend(continue_run(session, stamp, ask, &answer)),
    }
    Ok(batch)
}

/// Returns the resolution to record, and the kind of the chosen option.
fn resolve(ask: &Ask, answer: &Answer) -> Result<(Resolution, Option<OptionKind>), Refusal> {
    let surface = answer.surface.clone();
    match &answer.choice {
        Choice::Option { id, text } => {
            let option = ask.options.iter().find(|option| option.option_id == *id).ok_or_else(|| {
                let known: Vec<&str> = ask.options.iter().map(|option| option.option_id.as_str()).collect();
                Refusal::AnswerInvalid(format!(
                    "there is no option \"{id}\"; choose one of: {}",
                    known.join(", ")
                ))
            })?;
            let resolution = Resolution::Selected { option_id: id.clone(), text: text.clone(), surface };
            Ok((resolution, Some(option.kind)))
        }
        Choice::Text(text) if ask.free_text && !text.trim().is_empty() => {
            Ok((Resolution::Answered { text: text.clone(), surface }, None))
        }
        Choice::Text(_) => Err(Refusal::AnswerInvalid("this ask accepts an option, not a text".to_owned())),
    }
}

/// Returns the calls that wait for the answer.
fn asked_calls<'a>(session: &'a Session, ask: &'a Ask) -> impl Iterator<Item = &'a Call> {
    ask.calls.iter().filter_map(|id| session.call(id)).filter(|call| !call.is_finished())
}

/// Returns the first call that waits for the answer.
fn asked_call<'a>(session: &'a Session, ask: &'a Ask) -> Result<&'a Call, Refusal> {
    asked_calls(session, ask).next().ok_or(Refusal::Stale)
}

/// Applies one answer to all calls of the ask. A new standing rule may also answer other open asks.
fn permission(
    session: &Session,
    stamp: &Stamp,
    ask: &Ask,
    answer: &Answer,
    kind: Option<OptionKind>,
    batch: &mut Vec<Event>,
) -> Result<(), Refusal> {
    permission_of(session, stamp, ask, answer, kind, batch)?;
    *batch = with_covered(session, ask, answer, std::mem::take(batch));
    Ok(())
}

/// Returns the batch with the answers that a standing rule of it gives to other open asks.
fn with_covered(session: &Session, ask: &Ask, answer: &Answer, mut batch: Vec<Event>) -> Vec<Event> {
    let rules: Vec<Rule> = batch.iter().filter_map(rule_of).cloned().collect();
    batch.extend(rules.iter().flat_map(|rule| answer_covered(session, ask, rule, answer)));
    batch
}

fn rule_of(event: &Event) -> Option<&Rule> {
    match event {
        Event::RuleAdded { rule } => Some(rule),
        _ => None,
    }
}

/// Answers the other open asks about one read each that the new rule allows, and starts these reads.
fn answer_covered(session: &Session, answered: &Ask, rule: &Rule, answer: &Answer) -> Vec<Event> {
    let Some(run) = session.open_run() else { return Vec::new() };
    let Choice::Option { id, .. } = &answer.choice else { return Vec::new() };
    let mut events = Vec::new();
    for ask in session.open_asks().filter(|ask| ask.id != answered.id && session.is_observed(ask)) {
        let [call] = ask.calls.as_slice() else { continue };
        let Some(call) = session.call(call).filter(|call| call.is_read() && !call.is_finished()) else {
            continue;
        };
        let Some(act) = Act::of_call(session, call) else { continue };
        let offered = ask.options.iter().any(|option| option.option_id == *id);
        let is_covered = offered && standing_rule(act).as_ref() == Some(rule);
        if is_covered && forbidden(&session.roots, &run.policy, &call.tool, act).is_none() {
            let resolution =
                Resolution::Selected { option_id: id.clone(), text: None, surface: answer.surface.clone() };
            events.push(Event::AskClosed { ask: ask.id.clone(), resolution });
            let allowed_by = Some(AllowedBy::Standing { rule: rule.clone() });
            events.push(Event::ToolStarted { call: call.id.clone(), allowed_by, saves: Vec::new() });
        }
    }
    events
}

/// Starts or ends a call that edits nothing.
fn permission_of(
    session: &Session,
    stamp: &Stamp,
    ask: &Ask,
    answer: &Answer,
    kind: Option<OptionKind>,
    batch: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let call = asked_call(session, ask)?;
    let act = Act::of_call(session, call).ok_or(Refusal::Stale)?;
    let allow = matches!(kind, Some(OptionKind::AllowOnce | OptionKind::AllowAlways));
    // A deny rule may have been added since the ask was opened.
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let forbidden = forbidden(&session.roots, &run.policy, &call.tool, act).filter(|_| allow);
    if !allow || forbidden.is_some() {
        let result = forbidden.map_or_else(|| rejected(answer), |why| denied(&why));
        end_calls(session, stamp, batch, vec![(call, result)]);
        return Ok(());
    }
    if kind == Some(OptionKind::AllowAlways) {
        batch.extend(standing_rule(act).map(|rule| Event::RuleAdded { rule }));
    }
    let allowed_by = Some(AllowedBy::Answer { ask: ask.id.clone() });
    // Only the documents that the ask named: the user has not seen that any other is unsaved.
    let saves = match &answer.choice {
        Choice::Option { id, .. } if id == ask::SAVE_AND_RUN => {
            ask.unsaved.iter().map(|document| document.uri.clone()).collect()
        }
        Choice::Option { .. } | Choice::Text(_) => Vec::new(),
    };
    batch.push(Event::ToolStarted { call: call.id.clone(), allowed_by, saves });
    Ok(())
}

/// Returns the result of a rejected call. The model reads why (S16): the user's words, or that no user was
/// present.
fn rejected(answer: &Answer) -> CallResult {
    let reason = match &answer.choice {
        Choice::Option { text: Some(text), .. } | Choice::Text(text) if !text.trim().is_empty() => {
            Some(text.trim())
        }
        _ => None,
    };
    if answer.surface == ask::NOBODY {
        let absent = result(
            CallEnd::Denied,
            "Nobody is present to allow this, so it was not done. Continue without it, or say in your answer what needs it.",
            "not allowed: nobody is present to answer",
        );
        return CallResult { cause: Some(Cause::Rejected), ..absent };
    }
    rejected_for(reason)
}

fn followup(
    session: &Session,
    stamp: &Stamp,
    ask: &Ask,
    answer: &Answer,
    batch: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let call = asked_call(session, ask)?;
    let text = match &answer.choice {
        Choice::Text(text) => text.clone(),
        Choice::Option { id, text } => {
            let chosen = ask.options.iter().find(|option| option.option_id == *id);
            let chosen = chosen.map(|option| option.name.clone()).unwrap_or_default();
            match text {
                Some(more) => format!("{chosen}\n{more}"),
                None => chosen,
            }
        }
    };
    let (output, summary) = match answer.surface.as_str() {
        ask::TIME => (
            format!("The user did not answer in time; the first answer you suggested was taken: {text}"),
            "answered by time",
        ),
        ask::NOBODY => (
            "Nobody is present to answer. Continue without an answer, or end with the question in your answer.".to_owned(),
            "nobody is present to answer",
        ),
        _ => (format!("The user answered: {text}"), "answered"),
    };
    end_calls(session, stamp, batch, vec![(call, result(CallEnd::Completed, &output, summary))]);
    Ok(())
}

fn command_output(
    session: &Session,
    stamp: &Stamp,
    ask: &Ask,
    choice: &Choice,
    batch: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let call = asked_call(session, ask)?;
    let abort = matches!(choice, Choice::Option { id, .. } if id == ask::ABORT);
    if !abort {
        return Ok(());
    }
    let line = match &call.payload {
        Some(Payload::Command { line, .. }) => line.as_str(),
        _ => "the command",
    };
    let result = result(
        CallEnd::Cancelled,
        &format!("The user stopped `{line}` while it ran; it and its children were ended."),
        "stopped by the user",
    );
    end_calls(session, stamp, batch, vec![(call, result)]);
    Ok(())
}

fn resume(session: &Session, stamp: &Stamp, ask: &Ask, answer: &Answer) -> Vec<Event> {
    let consented = session.open_run().and_then(|run| consent::change(run, answer.consent));
    let mut events: Vec<Event> = consented.into_iter().collect();
    match &answer.choice {
        Choice::Option { id, .. } if id == crate::policy::ask::DISCARD => {
            let ending = Ending::new(Outcome::Cancelled, StopReason::Cancelled);
            return end_run(session, stamp, ending.after_asks(std::slice::from_ref(&ask.id)));
        }
        Choice::Option { text: None, .. } => {}
        Choice::Option { text: Some(text), .. } | Choice::Text(text) => {
            events.extend(session.open_run().map(|run| message(stamp, run.id.clone(), text, true)));
        }
    }
    events
}

/// Starts a new run after retry, continue or feedback; it names the run that it continues. It asks about
/// everything unless the answer gives consent, because consent of the run before was for that run alone.
fn continue_run(session: &Session, stamp: &Stamp, ask: &Ask, answer: &Answer) -> Vec<Event> {
    let choice = &answer.choice;
    let text = match choice {
        Choice::Option { id, .. } if id == ask::STOP || id == ask::NEW_TASK => return Vec::new(),
        Choice::Option { text, .. } => text.clone(),
        Choice::Text(text) => Some(text.clone()),
    };
    let Some(last) = session.ended.iter().rev().find(|ended| ended.run == ask.run) else { return Vec::new() };
    let run = RunId(stamp.id("run"));
    let mut policy = last.policy.clone();
    let (model, mode) = session.chosen_for(last);
    policy.mode = mode;
    policy.unattended = answer.consent;
    if let Some(budget) = &answer.budget {
        policy.budget = budget.clone();
    }
    let waits = matches!(choice, Choice::Option { id, .. } if id == ask::WAIT);
    let mut events = vec![Event::RunStarted {
        run: run.clone(),
        continues: Some(ask.run.clone()),
        model,
        policy,
        generation_settings: session.generation_settings_for(last),
        not_before: waits.then(|| stamp.now.saturating_add(ask::wait_ms(last.wait_ms))),
        follows: last.follows,
        title: last.title.clone(),
        origin: last.origin.clone(),
        toolset: session.tools.hash().to_owned(),
        only_compacts: false,
    }];
    events.extend(text.map(|text| message(stamp, run, &text, false)));
    events
}

fn message(stamp: &Stamp, run: RunId, text: &str, steer: bool) -> Event {
    Event::Prompted {
        run,
        message: stamp.id("msg").as_str().into(),
        text: text.into(),
        images: Vec::new(),
        steer,
        worded: false,
        added: Some(0),
        key: None,
    }
}
