//! Handles what `ReadContext` found: records it if it differs from what the run before had.
//!
//! Never decides which files belong to the prompt; the step does.

use super::Refusal;
use crate::record::{ContextKind, ContextText, Event, MaySkip, RunId};
use crate::session::Session;

/// Handles the texts of the prompt of a run.
pub fn read(session: &Session, run: &RunId, texts: Vec<ContextText>) -> Result<Vec<Event>, Refusal> {
    let open = session.open_run().filter(|open| open.id == *run).ok_or(Refusal::Stale)?;
    let is_on = |text: &ContextText| open.policy.context.as_ref().is_none_or(|policy| policy.has(text));
    let texts: Vec<ContextText> = texts.into_iter().filter(is_on).collect();
    // The surroundings of the beginning stay for the whole session.
    let others = |texts: &[ContextText]| {
        let of = texts.iter().filter(|text| text.kind != ContextKind::Surroundings);
        of.cloned().collect::<Vec<_>>()
    };
    let has_surroundings = |texts: &[ContextText]| others(texts).len() < texts.len();
    let is_same = others(&texts) == others(&session.texts)
        && (has_surroundings(&session.texts) || !has_surroundings(&texts));
    let texts = (!is_same).then_some(texts);
    Ok(vec![Event::ContextRead { run: run.clone(), texts, may_skip: MaySkip }])
}
