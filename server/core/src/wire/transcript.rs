//! A session as a Markdown document that only grows, by whole blocks (S101).
//!
//! Never holds half of anything: what streams is not shown. Lines of ours begin at the left; what
//! others wrote is a quotation or code, and what a person cannot see is escaped.

mod foreign;

use adjutant_protocol::ask::{AskGroup, AskOption, AskSubject, AskView, Resolution};
use adjutant_protocol::session::RunEnd;
use adjutant_protocol::state::{Outcome, StopReason};
use adjutant_protocol::update::{AskChange, RunView, ToolCallView, ToolStatus, TurnPhase, Update};
use adjutant_protocol::{AskId, MessageId};

use super::{image_in_words, options};
use crate::text::display::{Surface, display_diff, one_line, shown_command};
use foreign::{clean, quoted};

/// Bytes of one diff: a larger one would leave no room for what follows, and stands whole where it is allowed.
const MAX_DIFF: usize = 64 << 10;
/// Characters of one line of ours.
const MAX_LINE: usize = 400;

/// What is needed of the past to write the next block.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    last_text: String,
    /// The open asks, to name the option that was chosen.
    open: Vec<(AskId, Vec<AskOption>)>,
    /// What an attempt that broke off had said: the next attempt says it again, and it is written only
    /// if none does.
    broke_off: Option<(MessageId, String)>,
}

impl Transcript {
    /// Returns the blocks an update adds: lines that end with an empty one.
    pub fn block(&mut self, update: &Update) -> Option<String> {
        if let Update::AgentMessage { message_id, text, interrupted } = update {
            let before = self.broke_off.take().filter(|(broken, _)| broken != message_id);
            let before = before.map(|(_, text)| cut_block(&text)).unwrap_or_default();
            if *interrupted {
                self.broke_off = Some((message_id.clone(), text.clone()));
                return (!before.is_empty()).then_some(before);
            }
            self.last_text = text.trim().to_owned();
            let blocks = before + &of_the_model(text);
            return (!blocks.is_empty()).then_some(blocks);
        }
        let block = self.own_block(update)?;
        // Neither ends the hope for another attempt; the end of a run does, and tells of it once more.
        let goes_on = matches!(update, Update::UserMessage { .. } | Update::Turn(_));
        let before = if goes_on { None } else { self.broke_off.take() };
        Some(before.map(|(_, text)| cut_block(&text)).unwrap_or_default() + &block)
    }

    fn own_block(&mut self, update: &Update) -> Option<String> {
        let text = match update {
            Update::UserMessage { text, images, .. } => {
                let images = images.iter().map(|image| image_in_words(image) + "\n");
                format!("**You:**\n\n{}", quoted(&(images.collect::<String>() + text)))
            }
            Update::Complete { summary } if summary.trim() != self.last_text => of_the_model(summary),
            Update::ToolCallUpdate(call) => tool_line(call)?,
            Update::Turn(turn) => match turn.phase {
                TurnPhase::AttemptFailed | TurnPhase::Failed => {
                    let why = turn.message.as_deref().unwrap_or("the model did not answer");
                    format!("- ✗ {}", code(why))
                }
                TurnPhase::ModelReplaced => {
                    format!("- {}", code(turn.message.as_deref().unwrap_or("another model takes over")))
                }
                TurnPhase::Started | TurnPhase::Ended => return None,
            },
            Update::Run(RunView::Started { model, previous_model, .. }) => {
                let before = previous_model.as_deref().map(|before| format!(" (before: {})", code(before)));
                format!("- model {}{}", code(model), before.unwrap_or_default())
            }
            Update::Run(RunView::Ended { end, .. }) => format!("**{}**", emphasised(&end_line(end))),
            Update::Ask(AskChange::Opened { ask }) => self.asked(ask)?,
            Update::Ask(AskChange::Closed { ask_id, resolution }) => self.answered(ask_id, resolution)?,
            Update::Rule { text } => format!("- from now on: {}", code(text)),
            Update::ConfigOptionUpdate { changed, .. } => {
                format!("- from now on: {}", code(&options::in_words(changed)))
            }
            Update::Complete { .. }
            | Update::AgentMessage { .. }
            | Update::AgentMessageChunk { .. }
            | Update::AgentThought { .. }
            | Update::AgentThoughtChunk { .. }
            | Update::ToolCallContentChunk { .. }
            | Update::StateUpdate(_)
            | Update::Notice { .. }
            | Update::ChangeSet(_) => return None,
        };
        Some(as_block(&text)).filter(|block| !block.is_empty())
    }

    fn asked(&mut self, ask: &AskView) -> Option<String> {
        if ask.group == AskGroup::Idle {
            return None;
        }
        self.open.push((ask.ask_id.clone(), ask.options.clone()));
        let mut text = format!("**Asked:** {}", code(&ask.title));
        if let Some(why) = &ask.description {
            text.push_str(&format!("\n\n{}", quoted(why)));
        }
        match &ask.subject {
            Some(AskSubject::Edit { diff, .. }) => text.push_str(&format!("\n\n{}", short_diff(diff))),
            Some(AskSubject::Command { command, cwd, .. }) => {
                text.push_str(&format!("\n\nin {}:\n\n{}", code(cwd), fenced("sh", &shown_command(command))));
            }
            Some(AskSubject::Read { path, reason }) => {
                text.push_str(&format!("\n\n{} ({})", code(path), code(reason)));
            }
            None => {}
        }
        Some(text)
    }

    fn answered(&mut self, ask: &AskId, resolution: &Resolution) -> Option<String> {
        let at = self.open.iter().position(|(open, _)| open == ask)?;
        let (_, options) = self.open.remove(at);
        Some(match resolution {
            Resolution::Selected { option_id, text, .. } => {
                let option = options.iter().find(|option| option.option_id == *option_id);
                let name = option.map_or(option_id.as_str(), |option| option.name.as_str());
                let more = text.as_deref().map(|text| format!("\n\n{}", quoted(text))).unwrap_or_default();
                format!("**Answered:** {}{more}", code(name))
            }
            Resolution::Answered { text, .. } => format!("**Answered:**\n\n{}", quoted(text)),
            Resolution::Cancelled => "**Cancelled.**".to_owned(),
            Resolution::Superseded | Resolution::Withdrawn => "**Not asked any more.**".to_owned(),
        })
    }
}

/// A text as a block; nothing for one that says nothing.
fn as_block(text: &str) -> String {
    let text = text.trim_matches('\n');
    if text.trim().is_empty() { String::new() } else { format!("{text}\n\n") }
}

/// The block of what the model wrote.
fn of_the_model(text: &str) -> String {
    let text = quoted(text);
    if text.trim().is_empty() { text } else { as_block(&format!("**Model:**\n\n{text}")) }
}

/// The block of a text that nothing came behind.
fn cut_block(text: &str) -> String {
    format!("{}*The answer broke off here.*\n\n", of_the_model(text))
}

fn tool_line(call: &ToolCallView) -> Option<String> {
    // The end of the task and a question are shown as what they are.
    if ["ask_user", "task_complete", "fail"].contains(&&*call.tool) {
        return None;
    }
    let mark = match call.status {
        ToolStatus::Pending | ToolStatus::InProgress => return None,
        ToolStatus::Completed => "",
        ToolStatus::Failed => "✗ failed: ",
        ToolStatus::Denied => "✗ denied: ",
        ToolStatus::Cancelled => "✗ cancelled: ",
        ToolStatus::Interrupted => "✗ interrupted: ",
    };
    let result = call.summary.as_deref().filter(|summary| !summary.is_empty());
    let result = result.map(|summary| format!(" … {}", code(summary))).unwrap_or_default();
    Some(format!("- {mark}{}{result}", code(&call.title)))
}

/// Returns the last line of a run: how it ended and what it took.
pub fn end_line(end: &RunEnd) -> String {
    let outcome = match end.outcome {
        Outcome::Completed => "Done",
        Outcome::Stopped => match end.stop_reason {
            StopReason::MaxTokens => "Stopped: the answer reached its length limit",
            StopReason::Refusal => "Stopped: the model refused to answer",
            _ => "Done",
        },
        Outcome::Failed => "Failed",
        Outcome::Limit => "Stopped at a limit",
        Outcome::Cancelled => "Cancelled",
    };
    // The summary of a completed run was its answer already.
    let why = match (&end.summary, end.outcome) {
        (Some(summary), Outcome::Failed | Outcome::Limit) => format!(": {summary}"),
        _ => String::new(),
    };
    let turns = if end.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", end.turns) };
    let usage = &end.usage;
    let read =
        usage.input_tokens.saturating_add(usage.cache_read_tokens).saturating_add(usage.cache_write_tokens);
    format!("{outcome}{why} · {turns} · {read} tokens in, {} out", usage.output_tokens)
}

/// A line that stays plain text between the marks of emphasis.
fn emphasised(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for character in one_line(line, MAX_LINE).chars() {
        if matches!(character, '*' | '_' | '`' | '[' | ']' | '<' | '>' | '\\' | '#' | '!') {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// A line as a code span: nothing in it means anything.
fn code(line: &str) -> String {
    let line = one_line(line, MAX_LINE);
    let ticks = "`".repeat(longest_run(&line, '`') + 1);
    let room = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    if line.is_empty() { line } else { format!("{ticks}{room}{line}{room}{ticks}") }
}

/// A diff as a block, whole lines of it, and how much is left out.
fn short_diff(diff: &str) -> String {
    let diff = &*display_diff(diff, Surface::Plain).text;
    if diff.len() <= MAX_DIFF {
        return fenced("diff", diff);
    }
    let lines = diff.split_inclusive('\n');
    let mut room = MAX_DIFF;
    let fits = |line: &&str| {
        let left = room.checked_sub(line.len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    let kept: String = lines.clone().take_while(fits).collect();
    let left_out = lines.count() - kept.split_inclusive('\n').count();
    format!("{}\n\n*{left_out} more lines are left out here.*", fenced("diff", &kept))
}

/// A text between fences that nothing in it can close.
fn fenced(language: &str, text: &str) -> String {
    let text = clean(text);
    let fence = "`".repeat((longest_run(&text, '`') + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn longest_run(text: &str, of: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests;
