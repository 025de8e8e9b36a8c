//! The text that replaces a part of the conversation.
//!
//! Keeps these word for word: the prompts of the user, the instructions of folders, the plan, and the changes that the user has
//! still to review.

use crate::prompt::message::ModelMessage;
use crate::record::Compaction;
use crate::record::ContextText;
use crate::session::Session;
use crate::text::display::one_line;
use crate::text::start_of;

/// The most bytes of all prompts together. Beyond it, each long prompt is cut in its middle.
const MAX_PROMPTS: usize = 64 * 1024;
/// The most bytes of a prompt that is cut.
const MAX_CUT_PROMPT: usize = 4 * 1024;
/// The most bytes of the changes that the user has still to review.
const MAX_CHANGES: usize = 16 * 1024;
/// The most bytes of an earlier summary and of the list of calls, where no model writes a summary.
const MAX_MECHANICAL: usize = 12 * 1024;

const BEGINNING: &str = "\
[from Adjutant: this replaces an earlier part of the conversation, which was too long to send again. The user can still read all \
of it. Go on from here; read files again before you edit them.]";

/// Returns the text that replaces the messages of a compaction, with this summary of them.
pub fn replacement(session: &Session, compaction: &Compaction, summary: &str) -> String {
    let mut parts = vec![BEGINNING.to_owned()];
    let prompts = prompts(session, compaction);
    if !prompts.is_empty() {
        parts.push(format!("# What the user wrote, oldest first\n{}", listed(&prompts)));
    }
    let told = session.nested.iter().map(|text: &ContextText| format!("## {}\n{}", text.source, text.text));
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        parts.push(format!("# Instructions of folders\n{}", told.join("\n")));
    }
    parts.push(format!("# Summary\n{}", summary.trim()));
    if !session.plan.is_empty() {
        let line = |step: &crate::record::PlanStep| {
            let status = crate::record::StepStatus::NAMES.iter().find(|(_, status)| *status == step.status);
            format!("- {} ({})", step.text, status.map_or("", |(name, _)| name))
        };
        let lines: Vec<String> = session.plan.iter().map(line).collect();
        parts.push(format!("# The plan\n{}", lines.join("\n")));
    }
    if let Some(changes) = unreviewed(session) {
        parts.push(format!("# Your changes that the user has not reviewed\n{changes}"));
    }
    parts.join("\n\n")
}

/// Returns the prompts that the replacement holds: those of earlier replacements, then those of the replaced messages.
fn prompts(session: &Session, compaction: &Compaction) -> Vec<String> {
    let replaced = session.history.get(compaction.range()).unwrap_or_default();
    let new = replaced.iter().filter_map(ModelMessage::own_words);
    session.compacted.prompts.iter().map(|text| &**text).chain(new).map(str::to_owned).collect()
}

fn listed(prompts: &[String]) -> String {
    let all: usize = prompts.iter().map(String::len).sum();
    let most = if all > MAX_PROMPTS { MAX_CUT_PROMPT } else { usize::MAX };
    let line =
        |(number, prompt): (usize, &String)| format!("{}. {}", number + 1, without_middle(prompt, most));
    let mut lines: Vec<String> = prompts.iter().enumerate().map(line).collect();
    // The first prompts say what the task is, the last what the user wants now.
    while lines.iter().map(String::len).sum::<usize>() > MAX_PROMPTS && lines.len() > 3 {
        let middle = lines.len() / 2;
        lines.remove(middle);
    }
    lines.join("\n")
}

/// Returns a text without its middle, if it is longer than `most` bytes.
fn without_middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = start_of(text, most / 2);
    let tail = &text[start_of(text, text.len() - most / 2).len()..];
    format!("{head}\n[.. {} bytes ..]\n{tail}", text.len() - head.len() - tail.len())
}

/// Returns the changes that the user has still to review, with their lines.
fn unreviewed(session: &Session) -> Option<String> {
    let mut text = String::new();
    let mut left_out = 0;
    for change in session.applied.all() {
        for hunk in change.hunks.iter().filter(|hunk| hunk.is_unreviewed()) {
            let Some(lines) = change.lines_of(hunk) else { continue };
            let part = format!("## {}\n{}", change.path, lines.in_words());
            if text.len() + part.len() > MAX_CHANGES {
                left_out += 1;
                continue;
            }
            text.push_str(&part);
        }
    }
    if left_out > 0 {
        text.push_str(&format!("[{left_out} more are in the files]\n"));
    }
    (!text.is_empty()).then_some(text)
}

/// Returns a summary that no model wrote: an earlier summary, and a line for each text and call of the model.
pub fn mechanical(session: &Session, compaction: &Compaction, earlier: Option<&str>) -> String {
    let mut lines = Vec::new();
    for message in session.history.get(compaction.range()).unwrap_or_default() {
        let ModelMessage::Assistant { reply } = message else { continue };
        if !reply.text.trim().is_empty() {
            lines.push(format!("- You wrote: {}", one_line(&reply.text, 400)));
        }
        let call = |call: &crate::prompt::RequestedCall| {
            format!("- You called: {}", session.tools.title_of(&call.name, &call.arguments))
        };
        lines.extend(reply.calls.iter().map(call));
    }
    // The newest matter most.
    let mut bytes = 0;
    let from = lines.iter().rposition(|line| {
        bytes += line.len() + 1;
        bytes > MAX_MECHANICAL
    });
    let newest = lines.split_off(from.map_or(0, |at| at + 1));
    let left_out = match lines.len() {
        0 => String::new(),
        count => format!("- ({count} earlier steps are left out)\n"),
    };
    let earlier = earlier.map(|text| format!("{}\n\n", without_middle(text, MAX_MECHANICAL)));
    format!(
        "{}No model wrote a summary of this part. What you did in it:\n{left_out}{}",
        earlier.unwrap_or_default(),
        newest.join("\n")
    )
}
