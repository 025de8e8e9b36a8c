//! Updates as text for a person, on pages that can only grow.
//!
//! Never prints a text twice: chunks stream, the finished item prints what is
//! missing, and an attempt that differs is printed from that point. When quiet,
//! nothing streams, because the answer is known only at the end of the run.

mod output;

mod message_view;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::policy::detail::Detail;
use adjutant_core::text::display::one_line;
use adjutant_core::wire::image_in_words;
use adjutant_core::wire::options::in_words;
use adjutant_core::wire::plan;
use adjutant_core::wire::transcript::{end_line, ends_or_asks, has_own_form};
use adjutant_protocol::plan::{PlanEntry, PlanStatus};
use adjutant_protocol::session::RunEnd;
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::{
    AskChange, ChangeSetView, CompactionKind, CompactionStatus, CompactionView, HunkState, RunView,
    ToolCallView, ToolStatus, TurnPhase, TurnView, Update,
};
use adjutant_protocol::{MessageId, ToolCallId};

use super::page::Ink;
use super::pages::Pages;
use message_view::{MessageView, Print};
use output::CommandOutput;

/// Printed before an attempt that differs from the one that broke off.
const AGAIN: &str = "[the answer broke off; again:]";
/// Printed before a text if a middle part of it was not streamed.
const MISSED: &str = "[a part was not streamed; again from there:]";

/// The printed state of a session.
pub struct Show {
    /// Print only the last answer, errors, and changed files that run on build.
    quiet: bool,
    /// How much of a run is printed (S102).
    detail: Detail,
    /// A person decides what comes after a limit.
    person: bool,
    /// Whether to print the user's messages; a person who has just typed them does not need that.
    user: bool,
    open: BTreeMap<MessageId, MessageView>,
    finished: BTreeSet<MessageId>,
    /// The message whose text is on the current lines.
    flowing: Option<MessageId>,
    /// The call whose line waits for its result.
    call: Option<ToolCallId>,
    /// The output of that call's command.
    output: Option<CommandOutput>,
    /// Why the last failed call failed, as its line says.
    failed: Option<String>,
    /// When quiet: the texts of the model since its last tool call.
    answer: Vec<String>,
    /// The end of a run that stopped at a limit, until the person has decided what comes next.
    held_end: Option<(Ink, String)>,
    /// Remarks on applied changes, for example on files that run on build.
    marks: BTreeSet<String>,
}

impl Show {
    pub fn new(quiet: bool) -> Self {
        Show {
            quiet,
            detail: Detail::default(),
            person: false,
            user: false,
            open: BTreeMap::new(),
            finished: BTreeSet::new(),
            flowing: None,
            call: None,
            output: None,
            failed: None,
            answer: Vec::new(),
            held_end: None,
            marks: BTreeSet::new(),
        }
    }

    /// Makes the end at a limit wait until a person decides what comes next.
    pub fn with_person(mut self) -> Self {
        self.person = true;
        self
    }

    /// Sets how much of a run is printed from now on.
    pub fn draw(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// Also shows the user's messages, as a transcript does.
    pub fn with_user(mut self) -> Self {
        self.user = true;
        self
    }

    /// Shows one update; `now` is in milliseconds since the Unix epoch.
    pub fn update(&mut self, pages: &mut Pages, update: &Update, now: u64) {
        if self.quiet {
            return self.hold_back(pages, update);
        }
        match update {
            Update::AgentMessageChunk { message_id, text } => self.chunk(pages, message_id, text),
            Update::AgentMessage { message_id, text, interrupted } => {
                self.message(pages, message_id, text, *interrupted);
            }
            Update::Complete { summary, said: false } => {
                self.aside(pages);
                pages.answer().flow(summary);
                pages.answer().end_flow();
            }
            Update::UserMessage { text, images, .. } if self.user => {
                self.aside(pages);
                for image in images {
                    pages.rest().line_in(Ink::Bold, &format!("> {}", image_in_words(image)));
                }
                for line in text.lines() {
                    pages.rest().line_in(Ink::Bold, &format!("> {line}"));
                }
            }
            Update::ToolCallUpdate(call) => self.tool_call(pages, call),
            Update::AgentThought { text, .. } if self.detail == Detail::Full => self.unfolded(pages, text),
            Update::ToolCallContentChunk { tool_call_id, text }
                if self.call.as_ref() == Some(tool_call_id) =>
            {
                self.output.get_or_insert_default().push(pages.rest(), text);
            }
            Update::Turn(turn) => self.turn(pages, turn, now),
            Update::Run(run) => self.run(pages, run),
            Update::Notice { message } => self.remark(pages, Ink::Plain, &format!("! {message}")),
            Update::PlanUpdate { entries } => self.plan(pages, entries),
            Update::CompactionUpdate(view) => self.compaction(pages, view),
            Update::Rule { text } => self.remark(pages, Ink::Dim, &format!("• from now on {text}")),
            Update::ConfigOptionUpdate { changed, .. } => {
                self.remark(pages, Ink::Dim, &format!("• from now on {}", in_words(changed)));
            }
            Update::Ask(AskChange::Opened { .. } | AskChange::Changed { .. } | AskChange::Closed { .. })
            | Update::Complete { .. }
            | Update::UserMessage { .. }
            | Update::AgentThought { .. }
            | Update::AgentThoughtChunk { .. }
            | Update::ToolCallContentChunk { .. }
            | Update::StateUpdate(_)
            | Update::UsageUpdate(_) => {}
            Update::ChangeSet(change) => self.note_change(change),
        }
    }

    /// Keeps the texts of the model until the run has ended; the last ones are the answer.
    fn hold_back(&mut self, pages: &mut Pages, update: &Update) {
        match update {
            Update::AgentMessage { text, interrupted: false, .. } => self.answer.push(text.clone()),
            // What was said before a step was taken for no answer.
            Update::Complete { summary, said } if !said || self.answer.is_empty() => {
                self.answer.push(summary.clone());
            }
            // A text before a tool call is not the answer.
            Update::ToolCallUpdate(call) if !ends_or_asks(&call.tool) => self.answer.clear(),
            Update::Run(RunView::Started { .. }) => self.answer.clear(),
            Update::ChangeSet(change) => self.note_change(change),
            Update::Run(RunView::Ended { end, .. }) => match end.outcome {
                Outcome::Completed | Outcome::Stopped => {
                    for text in std::mem::take(&mut self.answer) {
                        pages.answer().flow(&text);
                        pages.answer().end_flow();
                    }
                    self.show_notes(pages);
                }
                Outcome::Failed | Outcome::Limit | Outcome::Cancelled => self.ended(pages, end),
            },
            _ => {}
        }
    }

    /// Whether the line of the last failed call already has the text of this notice.
    pub fn has_printed(&self, notice: &str) -> bool {
        // Compare in the form of one line, as the summary of the call has it.
        self.failed.as_deref().is_some_and(|why| one_line(notice, usize::MAX).contains(why))
    }

    /// Ends an open line, so that other text may follow.
    pub fn aside(&mut self, pages: &mut Pages) {
        self.flowing = None;
        self.call = None;
        if let Some(mut output) = self.output.take() {
            output.end(pages.rest());
        }
        pages.fresh_line();
    }

    /// Prints the end that was held back, if any: the run is not continued.
    pub fn release(&mut self, pages: &mut Pages) {
        if let Some((ink, line)) = self.held_end.take() {
            self.remark(pages, ink, &line);
        }
    }

    /// Drops the end that was held back: the run is continued.
    pub fn drop_held_end(&mut self) {
        self.held_end = None;
    }

    fn remark(&mut self, pages: &mut Pages, ink: Ink, text: &str) {
        self.aside(pages);
        pages.rest().line_in(ink, text);
    }

    fn chunk(&mut self, pages: &mut Pages, id: &MessageId, text: &str) {
        if self.finished.contains(id) {
            return;
        }
        let print = self.open.entry(id.clone()).or_default().chunk(text);
        self.print(pages, id, print);
    }

    fn message(&mut self, pages: &mut Pages, id: &MessageId, text: &str, interrupted: bool) {
        if self.finished.contains(id) {
            return;
        }
        if interrupted {
            // The streamed text may be longer than the stored one, and printed text stays.
            let view = self.open.entry(id.clone()).or_default();
            let print = if view.is_new() { view.chunk(text) } else { Print::Nothing };
            view.broke_off();
            self.print(pages, id, print);
            return;
        }
        let print = self.open.remove(id).unwrap_or_default().whole(text);
        self.print(pages, id, print);
        if self.flowing.as_ref() == Some(id) {
            self.aside(pages);
        }
        self.finished.insert(id.clone());
    }

    fn print(&mut self, pages: &mut Pages, id: &MessageId, print: Print) {
        let text = match print {
            Print::Nothing => return,
            Print::More(text) => text,
            Print::Again { broke_off, text } => {
                self.aside(pages);
                pages.answer().line_in(Ink::Dim, if broke_off { AGAIN } else { MISSED });
                text
            }
        };
        if self.flowing.as_ref() != Some(id) {
            self.aside(pages);
            self.flowing = Some(id.clone());
        }
        pages.answer().flow(&text);
    }

    fn plan(&mut self, pages: &mut Pages, entries: &[PlanEntry]) {
        self.remark(pages, Ink::Dim, &format!("• {}", plan::headline(entries)));
        for entry in entries {
            let ink = if entry.status == PlanStatus::InProgress { Ink::Bold } else { Ink::Dim };
            pages.rest().line_in(ink, &format!("  {} {}", plan::mark(entry.status), entry.content));
        }
    }

    fn tool_call(&mut self, pages: &mut Pages, call: &ToolCallView) {
        if has_own_form(call) || (self.detail == Detail::Brief && call.minor) {
            return;
        }
        let (mut mark, ink, word) = match call.status {
            // One line waits at a time; a parallel call gets its line when it is done.
            ToolStatus::InProgress if self.call.is_some() => return,
            ToolStatus::Pending => return,
            ToolStatus::InProgress => {
                self.aside(pages);
                pages.rest().open_line(Ink::Plain, &format!("• {}", call.title));
                self.call = Some(call.tool_call_id.clone());
                return;
            }
            ToolStatus::Completed => ("•", Ink::Dim, ""),
            ToolStatus::Failed => ("✗", Ink::Red, "failed"),
            ToolStatus::Denied => ("✗", Ink::Red, "denied"),
            ToolStatus::Cancelled => ("✗", Ink::Plain, "cancelled"),
            ToolStatus::Interrupted => ("✗", Ink::Red, "interrupted"),
        };
        let summary = call.summary.as_deref().unwrap_or_default();
        // No word is put before a summary that already begins with one.
        let result = match (word, summary) {
            ("", summary) => summary.to_owned(),
            (word, "") => word.to_owned(),
            (word, summary)
                if ["rejected", "not allowed", "not applied", "not saved", word]
                    .iter()
                    .any(|start| summary.starts_with(start)) =>
            {
                summary.to_owned()
            }
            (word, summary) => format!("{word}: {summary}"),
        };
        self.failed = match word {
            "" => None,
            _ => summary.split_once(": ").map(|(_, why)| why.trim_end_matches('…').trim_end().to_owned()),
        };
        if self.call.as_ref() != Some(&call.tool_call_id) {
            self.aside(pages);
            pages.rest().open_line(Ink::Plain, &format!("{mark} {}", call.title));
            mark = "";
        } else if let Some(mut output) = self.output.take() {
            output.end(pages.rest());
            pages.rest().open_line(ink, " ");
        }
        // The mark of a printed line cannot change, so the result has its own.
        let mark = if mark == "✗" { "✗ " } else { "" };
        if !result.is_empty() {
            pages.rest().add(ink, &format!(" … {mark}{result}"));
        }
        self.aside(pages);
        if self.detail == Detail::Full {
            self.unfolded(pages, &call.arguments_text);
        }
    }

    /// Prints what is folded elsewhere below its line.
    /// Prints a compaction. In brief, only summaries and failures: placeholders take nothing from the user.
    fn compaction(&mut self, pages: &mut Pages, view: &CompactionView) {
        let is_minor = view.kind == CompactionKind::Outputs || view.status == CompactionStatus::InProgress;
        if self.detail == Detail::Brief && is_minor {
            return;
        }
        let mark = if view.status == CompactionStatus::Failed { "✗" } else { "•" };
        self.remark(pages, Ink::Dim, &format!("{mark} {}", view.title));
        if let Some(text) = &view.text
            && self.detail == Detail::Full
        {
            self.unfolded(pages, text);
        }
    }

    fn unfolded(&mut self, pages: &mut Pages, text: &str) {
        self.aside(pages);
        for line in text.lines() {
            pages.rest().line_in(Ink::Dim, &format!("    {line}"));
        }
    }

    fn turn(&mut self, pages: &mut Pages, turn: &TurnView, now: u64) {
        let message = turn.message.as_deref().unwrap_or("the model did not answer");
        match turn.phase {
            TurnPhase::Started | TurnPhase::Ended => {}
            TurnPhase::AttemptFailed => {
                self.open.values_mut().for_each(MessageView::broke_off);
                let wait = turn.retry_at.unwrap_or(now).saturating_sub(now).div_ceil(1000);
                let when = if wait == 0 { "now".to_owned() } else { format!("in {wait} s") };
                self.remark(pages, Ink::Dim, &format!("… {message}, trying again {when}"));
            }
            TurnPhase::ModelReplaced => self.remark(pages, Ink::Plain, &format!("! {message}")),
            TurnPhase::Failed => self.remark(pages, Ink::Red, &format!("✗ {message}")),
        }
    }

    fn run(&mut self, pages: &mut Pages, run: &RunView) {
        match run {
            RunView::Started { .. } if self.detail == Detail::Brief => {}
            RunView::Started { model, previous_model, .. } => {
                let before = previous_model.as_ref().map(|before| format!(" (the run before used {before})"));
                self.remark(pages, Ink::Dim, &format!("• {model}{}", before.unwrap_or_default()));
            }
            RunView::Ended { end, .. } => self.ended(pages, end),
        }
    }

    /// Keeps the remark on a change, if it was applied.
    fn note_change(&mut self, change: &ChangeSetView) {
        let landed = change.hunks.iter().any(|hunk| hunk.state == HunkState::Applied);
        self.marks.extend(change.mark.clone().filter(|_| landed));
    }

    /// Prints the remarks on changes, also when quiet, because nothing else shows them.
    fn show_notes(&mut self, pages: &mut Pages) {
        for mark in std::mem::take(&mut self.marks) {
            let text = format!("! changed: {mark}; look at it before the next build");
            self.remark(pages, Ink::Bold, &text);
        }
    }

    fn ended(&mut self, pages: &mut Pages, end: &RunEnd) {
        self.show_notes(pages);
        if let Some(line) = end.edits.as_ref().and_then(|edits| edits.line.as_ref()) {
            let ways = "adjutant review · adjutant review undo --run";
            self.remark(pages, Ink::Bold, &format!("{line} · {ways}"));
        }
        let ink = match end.outcome {
            Outcome::Completed | Outcome::Stopped => Ink::Green,
            Outcome::Failed | Outcome::Limit | Outcome::Cancelled => Ink::Red,
        };
        if self.person && end.outcome == Outcome::Limit {
            self.held_end = Some((ink, end_line(end)));
        } else {
            self.remark(pages, ink, &end_line(end));
        }
    }
}
