//! Handles looks at the files that the model knows: records which of them other programs or the user changed, and begins the turn.
//!
//! Never decides whether a file has changed; the step compared its lines.

use super::{Refusal, turn};
use crate::machine::input::{OutsideLook, Stamp};
use crate::record::{ChangedFile, ContextText, Event, MaySkip};
use crate::session::{Session, TurnPhase};

/// Handles what became of the files that the model knows: each change is reported once, then the turn begins.
pub fn looked(
    session: &Session,
    stamp: &Stamp,
    number: u32,
    look: Option<OutsideLook>,
) -> Result<Vec<Event>, Refusal> {
    let run = session.open_run().ok_or(Refusal::Stale)?;
    let found = look.as_ref().and_then(|look| found(session, &look.instructions));
    let mut events: Vec<Event> = look.and_then(|look| news(session, look)).into_iter().collect();
    events.extend(found);
    events.extend(turn::begin(session, stamp, run, number));
    Ok(events)
}

/// Returns the moment that a look between two turns belongs to; `None` if nothing is looked at now. While a call of the model or a
/// decision of the user is being carried out, files change that the session knows of only afterwards.
pub fn outside_moment(session: &Session) -> Option<(u32, u64)> {
    let turn = session.open_run()?.turn.as_ref()?;
    let is_calm = matches!(turn.phase, TurnPhase::Calling | TurnPhase::Backoff { .. });
    let waits = is_calm && session.applied.pending().is_empty() && !session.reads.is_empty();
    waits.then_some((turn.number, session.applied.number))
}

/// Handles a look while the model answers: each change is reported once, and the model reads of it in its next turn.
pub fn heard(session: &Session, look: OutsideLook, moment: (u32, u64)) -> Result<Vec<Event>, Refusal> {
    if outside_moment(session) != Some(moment) {
        return Err(Refusal::Stale);
    }
    news(session, look).map(|event| vec![event]).ok_or(Refusal::Nothing)
}

/// Returns the instructions of folders that the model does not know yet; `None` if it knows all of them.
fn found(session: &Session, instructions: &[ContextText]) -> Option<Event> {
    let context = session.open_run()?.policy.context.as_ref()?;
    let is_off =
        |text: &ContextText| context.off.iter().any(|off| *off == text.source || off == text.kind.section());
    let known = || session.texts.iter().chain(&session.nested);
    let is_new = |text: &&ContextText| !is_off(text) && !known().any(|known| known.source == text.source);
    let texts: Vec<ContextText> = instructions.iter().filter(is_new).cloned().collect();
    (!texts.is_empty()).then_some(Event::InstructionsFound { texts, may_skip: MaySkip })
}

/// Returns what was not reported before; `None` if there is nothing.
fn news(session: &Session, look: OutsideLook) -> Option<Event> {
    let OutsideLook { changed, unknown, head, instructions: _ } = look;
    let known = session.reads.by_file();
    let was_told = |target: &str| known.get(target).is_some_and(|reads| reads.iter().any(|read| read.told));
    let is_named = |target: &str| {
        unknown.iter().any(|other| other == target) || changed.iter().any(|file| file.target == target)
    };
    let back = known
        .iter()
        .filter(|(target, _)| was_told(target) && !is_named(target))
        .filter_map(|(target, reads)| {
            let path = reads.first()?.path.clone();
            Some(ChangedFile { path, target: (*target).to_owned(), gone: false, open: false })
        })
        .collect::<Vec<_>>();
    let files: Vec<ChangedFile> = changed
        .into_iter()
        .filter(|file| known.contains_key(file.target.as_str()) && !was_told(&file.target))
        .collect();
    let head = head.filter(|head| session.reads.head.as_ref().is_some_and(|was| was != head));
    let is_new = !files.is_empty() || !back.is_empty() || head.is_some();
    is_new.then_some(Event::OutsideChanged { files, back, head })
}
