//! Compaction of the conversation: when it begins, and what becomes of the reply with the summary.
//!
//! Never decides whether it is due; `prompt::compact` does.

use super::Refusal;
use super::ending::{Ending, end_run};
use crate::machine::input::{CompactRequest, Stamp};
use crate::machine::retry::{CallFailure, FailureClass};
use crate::policy::choices::Follows;
use crate::prompt::compact;
use crate::prompt::message::Reply;
use crate::record::{AskKind, Compaction, CompactionReach};
use crate::record::{Event, MaySkip, Outcome, RunId, StopReason, SummaryTurn};
use crate::session::{Run, Session, Turn};

/// How often in a row the provider may refuse the conversation as too long: a summary of all but the last turns, one of more, and
/// a cut without a model.
const MAX_OVERFLOWS: u32 = 3;

/// Why a run that only compacts ends without having done it.
const NOTHING: &str = "There is nothing to compact yet.";

/// Returns the events that begin a turn: the next of the work, or one that compacts the conversation first.
pub fn begin_turn(session: &Session, stamp: &Stamp, run: &Run, number: u32) -> Vec<Event> {
    let turn =
        |compacts: Option<Compaction>| Event::TurnStarted { run: run.id.clone(), turn: number, compacts };
    let wanted = run.compact_wanted.then(|| compact::wanted(session, CompactionReach::All));
    if let Some(None) = &wanted
        && run.only_compacts
        && run.pending.is_empty()
    {
        return end_run(session, stamp, ended(NOTHING));
    }
    match wanted.flatten().or_else(|| compact::due(session)) {
        Some(compaction) if session.compacted.is_hopeless() && !run.only_compacts => {
            let why = format!(
                "The conversation stays too long for {}: about {} tokens, and its window has {}. To compact it once more does not help. \
                 Set a larger `context_window` for its provider or choose another model, or begin a new session.",
                run.current_model(),
                compaction.before,
                compact::window(session, run.current_model()),
            );
            let ending = Ending::new(Outcome::Failed, StopReason::Failed).with_summary(Some(why.clone()));
            end_run(session, stamp, ending.with_ask(AskKind::ApiReqFailed, why))
        }
        Some(compaction) if session.compacted.is_mechanical() => {
            let earlier = session.compacted.summary.as_deref();
            let goes_on = !run.only_compacts || !run.pending.is_empty();
            match cut(session, stamp, &compaction, &[earlier]) {
                Some(event) if goes_on => vec![event, turn(None)],
                Some(event) => {
                    let why = "The conversation is compacted, without a summary of a model.";
                    std::iter::once(event).chain(end_run(session, stamp, ended(why))).collect()
                }
                None if goes_on => vec![turn(None)],
                None => end_run(session, stamp, ended(NOTHING)),
            }
        }
        Some(compaction) => vec![turn(Some(compaction))],
        None => {
            let mut events: Vec<Event> = cleared(session).into_iter().collect();
            events.push(turn(None));
            events
        }
    }
}

/// Returns the event that turns old outputs into placeholders, if that is due.
fn cleared(session: &Session) -> Option<Event> {
    let outputs = compact::clearable(session);
    if outputs.is_empty() {
        return None;
    }
    let before = session.tokens.fill(&session.history);
    let was: Vec<_> = outputs.iter().filter_map(|one| session.history.get(one.at)).collect();
    let placeholders: Vec<_> = outputs
        .iter()
        .map(|one| crate::prompt::ModelMessage::Tool { call_id: one.call.clone(), output: one.text.clone() })
        .collect();
    let freed = session.tokens.of(was).saturating_sub(session.tokens.of(&placeholders));
    Some(Event::OutputsCleared { outputs, before, after: before.saturating_sub(freed), may_skip: MaySkip })
}

/// Returns a compaction without a model that keeps the first of these earlier summaries with which it frees something; `None` if it
/// frees nothing with any of them.
fn cut(session: &Session, stamp: &Stamp, compaction: &Compaction, earlier: &[Option<&str>]) -> Option<Event> {
    earlier.iter().find_map(|earlier| {
        let summary = compact::mechanical(session, compaction, *earlier);
        let event = compacted(session, stamp, compaction.clone(), &summary, None);
        matches!(&event, Event::Compacted { after, .. } if *after < compaction.before).then_some(event)
    })
}

fn compacted(
    session: &Session,
    stamp: &Stamp,
    compaction: Compaction,
    summary: &str,
    by: Option<SummaryTurn>,
) -> Event {
    let text = compact::replacement(session, &compaction, summary);
    let replaced = session.history.get(compaction.range()).unwrap_or_default();
    let freed = session.tokens.of(replaced);
    let added = session.tokens.of(&[crate::prompt::ModelMessage::user(text.as_str())]);
    let after = compaction.before.saturating_sub(freed).saturating_add(added);
    let message = stamp.id("msg").as_str().into();
    Event::Compacted { message, compaction, text: text.into(), summary: summary.into(), by, after }
}

/// Handles the reply of a turn that asked for a summary.
pub fn summarised(
    session: &Session,
    stamp: &Stamp,
    run: &Run,
    turn: &Turn,
    compaction: &Compaction,
    reply: &Reply,
) -> Vec<Event> {
    let (number, attempt, usage) = (turn.number, turn.attempt, reply.usage);
    if let Some(why) = compact::flaw(session, compaction, reply) {
        return vec![Event::SummaryFailed { turn: number, attempt, why, usage }];
    }
    let by = Some(SummaryTurn { turn: number, attempt, usage });
    let mut events = vec![compacted(session, stamp, compaction.clone(), reply.text.trim(), by)];
    if run.only_compacts && run.pending.is_empty() {
        events.extend(end_run(session, stamp, ended("The conversation is compacted.")));
    }
    events
}

fn ended(summary: &str) -> Ending<'_> {
    Ending::new(Outcome::Stopped, StopReason::EndTurn).with_summary(Some(summary.to_owned()))
}

/// Returns what follows when the provider refuses the conversation as too long: a turn that compacts it, each time more than
/// before. `None` if nothing is left to do, or if the failure is another one.
pub fn overflowed(
    session: &Session,
    stamp: &Stamp,
    run: &Run,
    turn: &Turn,
    failure: &CallFailure,
) -> Option<Vec<Event>> {
    if failure.class != FailureClass::ContextExceeded || run.policy.context.is_none() {
        return None;
    }
    let failed = Event::TurnFailed { turn: turn.number, attempt: turn.attempt, failure: failure.clone() };
    let next = |compacts: Option<Compaction>| Event::TurnStarted {
        run: run.id.clone(),
        turn: turn.number + 1,
        compacts,
    };
    if run.overflows >= MAX_OVERFLOWS {
        return None;
    }
    // The request for a summary was too long itself, or two summaries did not help: no model can shorten it.
    let is_mechanical =
        turn.compacts.as_ref().is_some_and(|compaction| compaction.reach == CompactionReach::Most)
            || run.overflows + 1 >= MAX_OVERFLOWS
            || session.compacted.is_mechanical();
    let reach = if run.overflows == 0 && turn.compacts.is_none() {
        CompactionReach::All
    } else {
        CompactionReach::Most
    };
    let compaction =
        compact::wanted(session, reach).or_else(|| compact::wanted(session, CompactionReach::Most))?;
    if is_mechanical {
        // What is refused as too long is worth less than to go on: the earlier summary may go, the words of the user stay.
        let earlier = session.compacted.summary.as_deref();
        let event = cut(session, stamp, &compaction, &[earlier, None])?;
        return Some(vec![failed, event, next(None)]);
    }
    Some(vec![failed, next(Some(compaction))])
}

/// Handles the wish to compact now: the open run does it before its next turn; without one, a run that does nothing else begins.
pub fn wanted(session: &Session, stamp: &Stamp, wanted: CompactRequest) -> Result<Vec<Event>, Refusal> {
    if let Some(run) = session.open_run() {
        let event = Event::CompactionWanted { run: run.id.clone(), may_skip: MaySkip };
        return if run.compact_wanted { Err(Refusal::Nothing) } else { Ok(vec![event]) };
    }
    if session.history.is_empty() {
        return Err(Refusal::Nothing);
    }
    let mut events = super::ending::close_idle_asks(session);
    events.push(Event::RunStarted {
        run: RunId(stamp.id("run")),
        continues: session.ended.back().map(|last| last.run.clone()),
        model: wanted.model,
        policy: wanted.policy,
        generation_settings: wanted.generation_settings,
        not_before: None,
        follows: Follows { mode: true, model: true, effort: true, verbosity: true },
        title: "Compact the conversation".to_owned(),
        origin: None,
        toolset: session.tools.hash().to_owned(),
        only_compacts: true,
    });
    Ok(events)
}
