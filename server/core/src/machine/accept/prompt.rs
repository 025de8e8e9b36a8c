//! Prompts: a new run, or a steer of the open one.
//!
//! Never waits and never asks: a prompt is accepted or refused at once (S28).

use super::ending::close_idle_asks;
use super::{Refusal, consent};
use crate::machine::input::{HunkComment, Prompt, Stamp};
use crate::record::{AskKind, Event, HunkSet, Resolution, RunId};
use crate::session::{Run, Session};
use crate::tool::MAX_TITLE;

/// Prompts of one run that may wait for its next turn.
const MAX_PENDING: usize = 100;

/// Returns the events that start a run or steer the open one. A repeated key gets the first result again.
pub fn accept(session: &Session, stamp: &Stamp, prompt: Prompt) -> Result<Vec<Event>, Refusal> {
    if let Some(key) = &prompt.key
        && let Some(seen) = session.keys.iter().find(|seen| seen.used.key == key.key)
    {
        return Err(if seen.used.digest == key.digest {
            Refusal::Repeat { run: seen.run.clone(), steered: seen.steer, at: seen.at }
        } else {
            Refusal::KeyReused
        });
    }
    let open = session.open_run();
    if let Some(expected) = &prompt.expected_run
        && open.map(|run| &run.id) != Some(expected)
    {
        return Err(Refusal::RunMismatch { open: open.map(|run| run.id.clone()) });
    }
    if !prompt.images.is_empty() && !prompt.takes_images {
        let model = open.map_or(prompt.model.as_str(), |run| run.current_model());
        return Err(Refusal::ImagesUnsupported { model: model.to_owned() });
    }
    let sent = sent_comments(session, &prompt);
    if !prompt.comments.is_empty() && sent.is_none() {
        return Err(Refusal::AnswerInvalid("these comments were sent or changed meanwhile".to_owned()));
    }
    let mut events = match open {
        Some(run) if run.pending.len() >= MAX_PENDING => return Err(Refusal::Overloaded),
        Some(run) => steer(session, stamp, prompt, run),
        None => start(session, stamp, prompt),
    };
    events.extend(sent);
    Ok(events)
}

fn start(session: &Session, stamp: &Stamp, prompt: Prompt) -> Vec<Event> {
    let mut events = Vec::new();
    if !session.created {
        events.push(Event::SessionCreated {
            session: session.id.clone(),
            roots: session.roots.clone(),
            title: title(&prompt),
            choices: session.choices.clone(),
            parent: None,
        });
    }
    events.extend(close_idle_asks(session));
    let run = RunId(stamp.id("run"));
    events.push(Event::RunStarted {
        run: run.clone(),
        continues: None,
        model: prompt.model.clone(),
        policy: prompt.policy.clone(),
        generation_settings: prompt.generation_settings,
        not_before: None,
        follows: prompt.follows,
        title: title(&prompt),
        origin: prompt.origin.clone(),
        toolset: session.tools.hash().to_owned(),
        only_compacts: false,
    });
    events.push(prompted(stamp, prompt, run, false));
    events
}

fn steer(session: &Session, stamp: &Stamp, prompt: Prompt, run: &Run) -> Vec<Event> {
    // A prompt to an interrupted run resumes it, so the ask to resume is closed.
    let mut events: Vec<Event> = session
        .open_asks()
        .filter(|ask| ask.kind == AskKind::ResumeTask)
        .map(|ask| Event::AskClosed { ask: ask.id.clone(), resolution: Resolution::Superseded })
        .collect();
    // A prompt may give consent to a run that has none. It never removes or changes consent.
    let given = prompt.policy.unattended.filter(|_| run.policy.unattended.is_none());
    events.extend(given.and_then(|given| consent::change(run, Some(given))));
    events.push(prompted(stamp, prompt, run.id.clone(), true));
    events
}

/// Returns the event that ends a round of comments. One that the user has changed meanwhile waits for the next round.
fn sent_comments(session: &Session, prompt: &Prompt) -> Option<Event> {
    let mut hunks: Vec<HunkSet> = Vec::new();
    for HunkComment { change_set, hunk, text } in &prompt.comments {
        let known = session.applied.get(change_set).and_then(|change| change.hunk(hunk)?.comment.as_ref());
        if known != Some(text) {
            continue;
        }
        match hunks.iter_mut().find(|set| set.change_set == *change_set) {
            Some(set) => set.hunks.push(hunk.clone()),
            None => hunks.push(HunkSet { change_set: change_set.clone(), hunks: vec![hunk.clone()] }),
        }
    }
    (!hunks.is_empty()).then_some(Event::CommentsSent { hunks })
}

fn prompted(stamp: &Stamp, prompt: Prompt, run: RunId, steer: bool) -> Event {
    let Prompt { text, added, .. } = prompt;
    Event::Prompted {
        run,
        message: stamp.id("msg").as_str().into(),
        text: (text + &added).into(),
        images: prompt.images,
        steer,
        // What has a title of its own has words of its own.
        worded: prompt.title.is_some(),
        added: u32::try_from(added.len()).ok(),
        key: prompt.key,
    }
}

/// Returns the prompt's own title, else the first line of its text; at most `MAX_TITLE` characters.
fn title(prompt: &Prompt) -> String {
    let text = prompt.title.as_deref().unwrap_or(&prompt.text);
    let untitled = if prompt.images.is_empty() { "Untitled" } else { "Image" };
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(untitled);
    line.chars().filter(|c| !c.is_control()).take(MAX_TITLE).collect()
}
