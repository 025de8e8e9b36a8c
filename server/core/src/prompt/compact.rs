//! Decides when the conversation is made smaller, and which part of it.
//!
//! Never changes the conversation, and never decides between two requests that nothing separates: between two compactions
//! no byte that was sent changes.

mod check;
mod cleared;
mod replacement;

use std::sync::Arc;

use crate::prompt::estimate;
use crate::prompt::message::{ModelMessage, ModelRequest};
use crate::prompt::models::known;
use crate::prompt::words::SUMMARISE;
use crate::record::{CompactPolicy, Compaction, CompactionReach, ContextPolicy};
use crate::session::Session;
use crate::session::compactions::RESERVE_PERCENT;
use crate::text::start_of;

pub use check::flaw;
pub use cleared::clearable;
pub use replacement::{mechanical, replacement};

/// A compaction that frees less than this part of the window is not worth a new cache.
const LEAST_FREED_PERCENT: u64 = 10;
/// How much of the window the last messages may have that stay word for word.
const TAIL_PERCENT: [(CompactionReach, u64); 3] =
    [(CompactionReach::Middle, 25), (CompactionReach::All, 10), (CompactionReach::Most, 2)];
/// A compaction that is wanted, and not due, goes by a window of at most so many times what the conversation has.
const WANTED_WINDOWS: u64 = 2;
/// The most bytes of one message in a request that asks for a summary of a conversation that is too long for the model.
const MAX_SHORTENED: usize = 600;

/// Returns the context window of a model in a run, in tokens.
pub fn window(session: &Session, model: &str) -> u64 {
    let context = session.open_run().and_then(|run| run.policy.context.as_ref());
    u64::from(context.map_or_else(|| known(model).context_window, |context| window_of(context, model)))
}

/// Returns the context window of a model by these settings, in tokens.
pub fn window_of(context: &ContextPolicy, model: &str) -> u32 {
    context.windows.get(model).copied().unwrap_or_else(|| known(model).context_window)
}

/// Returns the compaction that is due before the next turn.
pub fn due(session: &Session) -> Option<Compaction> {
    let run = session.open_run()?;
    let CompactPolicy { middle_percent, all_percent, .. } = run.policy.context.as_ref()?.compact;
    let window = window(session, run.current_model());
    let before = session.tokens.fill(&session.history);
    let has = |percent: u32| before.saturating_mul(100) >= window.saturating_mul(u64::from(percent));
    let is_over = before.saturating_add(window * RESERVE_PERCENT / 100) > window;
    let reaches: &[CompactionReach] = if has(all_percent) || is_over {
        &[CompactionReach::All, CompactionReach::Most]
    } else if has(middle_percent) {
        &[CompactionReach::Middle, CompactionReach::All]
    } else {
        &[]
    };
    let least = window * LEAST_FREED_PERCENT / 100;
    reaches.iter().find_map(|reach| of_reach(session, *reach, window, before, least))
}

/// Returns a compaction that the user wants, or that a provider's refusal needs, however little it frees.
pub fn wanted(session: &Session, reach: CompactionReach) -> Option<Compaction> {
    let run = session.open_run()?;
    let before = session.tokens.fill(&session.history);
    // Of a short conversation in a large window, the last messages are not all of it.
    let window = window(session, run.current_model()).min(before.saturating_mul(WANTED_WINDOWS));
    of_reach(session, reach, window, before, 1)
}

/// Returns the compaction with this reach, if it would free so many tokens.
fn of_reach(
    session: &Session,
    reach: CompactionReach,
    window: u64,
    before: u64,
    least: u64,
) -> Option<Compaction> {
    let percent = TAIL_PERCENT.iter().find(|(of, _)| *of == reach).map_or(0, |(_, percent)| *percent);
    let most = (window * percent / 100) as f64 / session.tokens.factor();
    let history = &session.history;
    let from = match reach {
        CompactionReach::Middle => first_prompt_end(history),
        CompactionReach::All | CompactionReach::Most => 0,
    };
    let to = tail_start(history, most);
    // What replaces a single message is not shorter, unless it was a replacement itself.
    let fewest = if reach == CompactionReach::Most { 1 } else { 2 };
    let replaced = history.get(from..to).filter(|replaced| replaced.len() >= fewest)?;
    let frees = session.tokens.of(replaced);
    (frees >= least.max(1)).then_some(Compaction { reach, from, to, before })
}

/// Returns where the first prompt of the conversation ends.
fn first_prompt_end(history: &[ModelMessage]) -> usize {
    history.iter().position(|message| !matches!(message, ModelMessage::User { .. })).unwrap_or(history.len())
}

/// Returns where the last messages begin that have at most so many estimated tokens, at least the last turn. A call and its
/// outputs are never apart: the part begins with a reply or a prompt.
fn tail_start(history: &[ModelMessage], most: f64) -> usize {
    let mut tokens = 0.0;
    let mut start = None;
    for (index, message) in history.iter().enumerate().rev() {
        tokens += estimate::of_message(message);
        if tokens > most && start.is_some() {
            break;
        }
        if !matches!(message, ModelMessage::Tool { .. }) {
            start = Some(index);
        }
    }
    start.unwrap_or(0)
}

/// Turns the request of a turn into the request for a summary.
///
/// It begins with the same bytes as the request before it, so that the provider has cached them. Only a conversation that the
/// provider refused as too long is sent in another form.
pub fn request(mut request: ModelRequest, compaction: &Compaction) -> ModelRequest {
    request.reminder = None;
    request.is_summary = true;
    if compaction.reach == CompactionReach::Most {
        let to = compaction.to.min(request.messages.len());
        request.messages =
            request.messages[..to].iter().map(|message| shortened(message).in_words()).collect();
        request.tools = Arc::default();
    }
    request.messages.push(ModelMessage::user(SUMMARISE.trim_end()));
    request
}

/// Returns a message with at most [`MAX_SHORTENED`] bytes of each text, and without its images.
fn shortened(message: &ModelMessage) -> ModelMessage {
    match message {
        ModelMessage::User { text, words, .. } => {
            ModelMessage::User { text: cut(text).into(), pictures: Vec::new(), words: *words }
        }
        ModelMessage::Assistant { reply } => {
            let mut reply = (**reply).clone();
            reply.text = cut(&reply.text);
            reply.kept = None;
            for call in &mut reply.calls {
                call.arguments = cut(&call.arguments);
            }
            ModelMessage::Assistant { reply: Arc::new(reply) }
        }
        ModelMessage::Tool { call_id, output } => {
            ModelMessage::Tool { call_id: call_id.clone(), output: cut(output).into() }
        }
    }
}

/// Returns the beginning of a text, with a mark for what is left out.
fn cut(text: &str) -> String {
    let beginning = start_of(text, MAX_SHORTENED);
    if beginning.len() < text.len() { format!("{beginning} [..]") } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
