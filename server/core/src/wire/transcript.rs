//! A session as a Markdown document that only grows, by whole blocks (S101).
//!
//! Has whole blocks, and of the text that streams whole lines. Adjutant's own lines begin at the left margin. All other text is a
//! quotation or code, with invisible characters escaped.

mod foreign;

use adjutant_protocol::ask::{AskGroup, AskOption, AskSubject, AskView, Resolution};
use adjutant_protocol::plan::PlanEntry;
use adjutant_protocol::session::{CostView, RunEnd, UsageView};
use adjutant_protocol::state::{Outcome, StopReason};
use adjutant_protocol::update::{
    AskChange, CompactionStatus, RunView, ToolCallView, ToolStatus, TurnPhase, Update,
};
use adjutant_protocol::{AskId, MessageId};

use super::{image_in_words, options, plan};
use crate::text::display::{Surface, display_diff, one_line, shown_command};
use foreign::{Quotation, clean, quoted};

/// Bytes of one diff. A larger diff would leave no room for later blocks; the user sees it whole before allowing it.
const MAX_DIFF: usize = 64 << 10;
/// Characters of a text within one of Adjutant's own lines.
const MAX_LINE: usize = 400;
/// What begins a text of the model.
const BY_MODEL: &str = "**Model:**\n\n";
/// What begins the text that replaces earlier messages.
const READS: &str = "**In their place the model reads:**\n\n";
/// The block after a text that broke off.
const BROKE_OFF: &str = "*The answer broke off here.*\n\n";

/// The state that is needed to write the next block.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The open asks, to name the option that was chosen.
    open: Vec<(AskId, Vec<AskOption>)>,
    /// The text of an attempt that broke off. It is written only if no next attempt replaces it.
    broke_off: Option<(MessageId, String)>,
    streaming: Option<StreamingText>,
}

/// A text of the model that streams.
#[derive(Clone, Debug)]
struct StreamingText {
    message: MessageId,
    quotation: Quotation,
    /// Whether the last line of the transcript is one of it.
    is_last: bool,
    is_begun: bool,
}

impl StreamingText {
    /// Returns lines of it with what must stand before them.
    fn add(&mut self, lines: String) -> String {
        if lines.is_empty() {
            return lines;
        }
        self.is_begun = true;
        let begins = !std::mem::replace(&mut self.is_last, true);
        if begins { format!("{BY_MODEL}{lines}") } else { lines }
    }

    /// Returns the empty line that ends its block, if it is the last one.
    fn end(&mut self) -> &'static str {
        self.quotation.begin_anew();
        if std::mem::take(&mut self.is_last) { "\n" } else { "" }
    }
}

impl Transcript {
    /// Returns the whole lines that a text has more than when it was noted last. `text` is all of it so far.
    pub fn streamed(&mut self, message: &MessageId, text: &str) -> String {
        let mut out = String::new();
        if self.streaming.as_ref().is_none_or(|streaming| streaming.message != *message) {
            out.push_str(self.streaming.take().map_or("", |mut before| before.end()));
            let quotation = Quotation::default();
            let streaming =
                StreamingText { message: message.clone(), quotation, is_last: false, is_begun: false };
            self.streaming = Some(streaming);
        }
        let Some(streaming) = &mut self.streaming else { return out };
        let lines = streaming.quotation.whole_lines(text);
        if !lines.is_empty() {
            // A text of the same message is replaced by this one.
            let before = self.broke_off.take().filter(|(broken, _)| broken != message);
            out.push_str(&before.map(|(_, text)| cut_block(&text)).unwrap_or_default());
            out.push_str(&streaming.add(lines));
        }
        out
    }

    /// Returns the blocks that an update adds. Each ends with an empty line.
    pub fn block(&mut self, update: &Update) -> Option<String> {
        let over = match update {
            Update::AgentMessage { message_id, .. } => {
                self.streaming.take_if(|streaming| streaming.message == *message_id)
            }
            // The attempt is over.
            Update::Turn(_) | Update::Run(_) => self.streaming.take(),
            _ => None,
        };
        let mut end = "";
        if let Some(mut streaming) = over {
            if let Update::AgentMessage { text, interrupted, .. } = update
                && streaming.is_begun
                && streaming.quotation.is_of(text)
            {
                let rest = streaming.quotation.rest(text);
                let mut block = streaming.add(rest) + streaming.end();
                if *interrupted {
                    block.push_str(BROKE_OFF);
                }
                return Some(block);
            }
            end = streaming.end();
        }
        let Some(block) = self.whole_block(update) else { return (!end.is_empty()).then(|| end.to_owned()) };
        let end = self.streaming.as_mut().map_or(end, StreamingText::end);
        Some(format!("{end}{block}"))
    }

    /// Returns what is left at the end of a log: the text of an attempt after which nothing came.
    pub fn rest(&mut self) -> Option<String> {
        self.broke_off.take().map(|(_, text)| cut_block(&text)).filter(|block| !block.is_empty())
    }

    fn whole_block(&mut self, update: &Update) -> Option<String> {
        if let Update::AgentMessage { message_id, text, interrupted } = update {
            let before = self.broke_off.take().filter(|(broken, _)| broken != message_id);
            let before = before.map(|(_, text)| cut_block(&text)).unwrap_or_default();
            if *interrupted {
                self.broke_off = Some((message_id.clone(), text.clone()));
                return (!before.is_empty()).then_some(before);
            }
            let blocks = before + &model_block(text);
            return (!blocks.is_empty()).then_some(blocks);
        }
        let block = self.own_block(update)?;
        // After these two another attempt may still replace the text.
        let may_be_replaced = matches!(update, Update::UserMessage { .. } | Update::Turn(_));
        let before = if may_be_replaced { None } else { self.broke_off.take() };
        Some(before.map(|(_, text)| cut_block(&text)).unwrap_or_default() + &block)
    }

    fn own_block(&mut self, update: &Update) -> Option<String> {
        let text = match update {
            Update::UserMessage { text, images, .. } => {
                let images = images.iter().map(|image| image_in_words(image) + "\n");
                format!("**You:**\n\n{}", quoted(&(images.collect::<String>() + text)))
            }
            Update::Complete { summary, said: false } => model_block(summary),
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
            Update::Ask(AskChange::Opened { ask }) => self.ask_opened(ask)?,
            Update::Ask(AskChange::Changed { .. }) => "- a part of it was decided".to_owned(),
            Update::Ask(AskChange::Closed { ask_id, resolution }) => self.ask_closed(ask_id, resolution)?,
            Update::PlanUpdate { entries } => plan_block(entries),
            Update::CompactionUpdate(view) => {
                if view.status == CompactionStatus::InProgress {
                    return None;
                }
                let reads = view.text.as_deref().map(|text| format!("\n\n{READS}{}", quoted(text)));
                format!("- {}{}", code(&view.title), reads.unwrap_or_default())
            }
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
            | Update::UsageUpdate(_)
            | Update::Notice { .. }
            | Update::ChangeSet(_) => return None,
        };
        Some(as_block(&text)).filter(|block| !block.is_empty())
    }

    fn ask_opened(&mut self, ask: &AskView) -> Option<String> {
        if ask.group == AskGroup::Idle {
            return None;
        }
        self.open.push((ask.ask_id.clone(), ask.options.clone()));
        let mut text = format!("**Asked:** {}", code(&ask.title));
        if let Some(why) = &ask.description {
            text.push_str(&format!("\n\n{}", quoted(why)));
        }
        for file in ask.files() {
            text.push_str(&format!("\n\n{}", short_diff(&file.diff)));
        }
        match &ask.subject {
            Some(AskSubject::Edit(_) | AskSubject::Edits { .. }) | None => {}
            Some(AskSubject::Command { command, cwd, .. }) => {
                text.push_str(&format!("\n\nin {}:\n\n{}", code(cwd), fenced("sh", &shown_command(command))));
            }
            Some(AskSubject::Read { path, reason }) => {
                text.push_str(&format!("\n\n{} ({})", code(path), code(reason)));
            }
        }
        Some(text)
    }

    fn ask_closed(&mut self, ask: &AskId, resolution: &Resolution) -> Option<String> {
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
            Resolution::Decided => "**Decided, change by change.**".to_owned(),
            Resolution::Cancelled => "**Cancelled.**".to_owned(),
            Resolution::Superseded | Resolution::Withdrawn => "**Not asked any more.**".to_owned(),
        })
    }
}

/// Returns a text as a block; empty for a blank text.
fn as_block(text: &str) -> String {
    let text = text.trim_matches('\n');
    if text.trim().is_empty() { String::new() } else { format!("{text}\n\n") }
}

/// Returns the block for a text of the model.
fn model_block(text: &str) -> String {
    let text = quoted(text);
    if text.trim().is_empty() { text } else { as_block(&format!("{BY_MODEL}{text}")) }
}

/// Returns the block for a text of the model that broke off.
fn cut_block(text: &str) -> String {
    format!("{}{BROKE_OFF}", model_block(text))
}

/// Whether a tool ends the task or asks the user.
pub fn ends_or_asks(tool: &str) -> bool {
    matches!(tool, "task_complete" | "fail" | "ask_user")
}

/// Whether a call is shown in a form of its own (a question, the end of the task, the plan), and not as a call besides (S104).
pub fn has_own_form(call: &ToolCallView) -> bool {
    let is_plan = call.tool == "update_plan" && went_well(call);
    is_plan || ends_or_asks(&call.tool)
}

/// Whether nothing has gone wrong in a call so far.
fn went_well(call: &ToolCallView) -> bool {
    matches!(call.status, ToolStatus::Pending | ToolStatus::InProgress | ToolStatus::Completed)
}

fn plan_block(entries: &[PlanEntry]) -> String {
    let steps =
        entries.iter().map(|entry| format!("\n- {} {}", plan::mark(entry.status), code(&entry.content)));
    format!("**{}**\n{}", plan::headline(entries), steps.collect::<String>())
}

fn tool_line(call: &ToolCallView) -> Option<String> {
    // Asks, the plan and the end of the task have blocks of their own.
    if has_own_form(call) {
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

/// Returns the last line of a run: how it ended, its turns, its tokens and what they cost.
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
    // The summary of a completed run repeats its answer.
    let why = match (&end.summary, end.outcome) {
        (Some(summary), Outcome::Failed | Outcome::Limit) => format!(": {summary}"),
        _ => String::new(),
    };
    let turns = if end.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", end.turns) };
    format!("{outcome}{why} · {turns} · {}", tokens_line(end.usage, end.cost.as_ref()))
}

/// Returns tokens, how many of them were in the cache, and their cost, for people.
pub fn tokens_line(usage: UsageView, cost: Option<&CostView>) -> String {
    let cached = match usage.cache_read_tokens {
        0 => String::new(),
        cached => format!(" ({cached} from the cache)"),
    };
    let cost = cost.map(|cost| format!(" · {}", cost.line)).unwrap_or_default();
    if usage.input_tokens == 0 && usage.output_tokens == 0 {
        return format!("no tokens counted{cost}");
    }
    format!("{} tokens in{cached}, {} out{cost}", usage.input_tokens, usage.output_tokens)
}

/// Returns a line escaped so that it stays plain text between `**`.
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

/// Returns a line as a code span, so that no Markdown in it has an effect.
fn code(line: &str) -> String {
    let line = one_line(line, MAX_LINE);
    let ticks = "`".repeat(longest_run(&line, '`') + 1);
    let room = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    if line.is_empty() { line } else { format!("{ticks}{room}{line}{room}{ticks}") }
}

/// Returns a diff as a code block. A diff over the limit is cut after a line, with a note of how many lines are left
/// out.
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

/// Returns a text between fences that no line of the text can close.
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
