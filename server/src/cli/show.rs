//! Updates as text a person reads, on pages that can only grow.
//!
//! Never prints a text twice: chunks stream, the finished item prints what is
//! missing, and an attempt that diverges goes on from where it does. When quiet,
//! nothing streams: the answer is known at the end of the run.

mod output;

mod message_view;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::text::display::one_line;
use adjutant_core::wire::image_in_words;
use adjutant_core::wire::options::in_words;
use adjutant_core::wire::transcript::end_line;
use adjutant_protocol::session::RunEnd;
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::{
    AskChange, ChangeSetView, HunkState, RunView, ToolCallView, ToolStatus, TurnPhase, TurnView, Update,
};
use adjutant_protocol::{MessageId, ToolCallId};

use super::page::Ink;
use super::pages::Pages;
use message_view::{MessageView, Print};
use output::CommandOutput;

/// Written before an attempt that goes another way than the one that broke off.
const AGAIN: &str = "[the answer broke off; again:]";
/// Written before a text of which a middle part was not streamed.
const MISSED: &str = "[a part was not streamed; again from there:]";

/// What has been shown of a session.
pub struct Show {
    /// Only the last answer, what is asked, and changed files that run on build.
    quiet: bool,
    /// Somebody is there who can say what comes after a limit.
    somebody: bool,
    /// Whether the user's own messages are shown: they know what they just typed.
    user: bool,
    open: BTreeMap<MessageId, MessageView>,
    finished: BTreeSet<MessageId>,
    /// Whose text the present lines are.
    flowing: Option<MessageId>,
    /// The call whose line waits for its result.
    call: Option<ToolCallId>,
    /// What the command of that call has written.
    output: Option<CommandOutput>,
    last_text: String,
    /// Why the last call that failed did, as its line says.
    failed: Option<String>,
    /// When quiet: what the model said since its last tool call.
    answer: Vec<String>,
    /// The end of a run that stopped at a limit, until somebody has said what comes next.
    held: Option<(Ink, String)>,
    /// What is to be known of changes that are in the text.
    marks: BTreeSet<String>,
}

impl Show {
    pub fn new(quiet: bool) -> Self {
        Show {
            quiet,
            somebody: false,
            user: false,
            open: BTreeMap::new(),
            finished: BTreeSet::new(),
            flowing: None,
            call: None,
            output: None,
            last_text: String::new(),
            failed: None,
            answer: Vec::new(),
            held: None,
            marks: BTreeSet::new(),
        }
    }

    /// Somebody decides what comes after a limit: its line waits for that.
    pub fn with_somebody(mut self) -> Self {
        self.somebody = true;
        self
    }

    /// Shows the user's messages too, as a transcript does.
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
            Update::Complete { summary } if summary.trim() != self.last_text.trim() => {
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
            Update::ToolCallContentChunk { tool_call_id, text }
                if self.call.as_ref() == Some(tool_call_id) =>
            {
                self.output.get_or_insert_default().push(pages.rest(), text);
            }
            Update::Turn(turn) => self.turn(pages, turn, now),
            Update::Run(run) => self.run(pages, run),
            Update::Notice { message } => self.remark(pages, Ink::Plain, &format!("! {message}")),
            Update::Rule { text } => self.remark(pages, Ink::Dim, &format!("• from now on {text}")),
            Update::ConfigOptionUpdate { changed, .. } => {
                self.remark(pages, Ink::Dim, &format!("• from now on {}", in_words(changed)));
            }
            Update::Ask(AskChange::Opened { .. } | AskChange::Closed { .. })
            | Update::Complete { .. }
            | Update::UserMessage { .. }
            | Update::AgentThought { .. }
            | Update::AgentThoughtChunk { .. }
            | Update::ToolCallContentChunk { .. }
            | Update::StateUpdate(_) => {}
            Update::ChangeSet(change) => self.note_change(change),
        }
    }

    /// Keeps what the model says until its run has ended; then its last words are the answer.
    fn hold_back(&mut self, pages: &mut Pages, update: &Update) {
        match update {
            Update::AgentMessage { text, interrupted: false, .. } => self.answer.push(text.clone()),
            Update::Complete { summary }
                if self.answer.last().is_none_or(|last| last.trim() != summary.trim()) =>
            {
                self.answer.push(summary.clone());
            }
            // What was said before a tool call was no answer yet.
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

    /// Says whether the line of a call has just said what a notice says.
    pub fn has_printed(&self, notice: &str) -> bool {
        // The line has the form in which a text of others is drawn.
        self.failed.as_deref().is_some_and(|why| one_line(notice, usize::MAX).contains(why))
    }

    /// Ends whatever line is open, so that something else may be written.
    pub fn aside(&mut self, pages: &mut Pages) {
        self.flowing = None;
        self.call = None;
        if let Some(mut output) = self.output.take() {
            output.end(pages.rest());
        }
        pages.fresh_line();
    }

    /// Shows the end that was held back, if any: nobody goes on from it.
    pub fn release(&mut self, pages: &mut Pages) {
        if let Some((ink, line)) = self.held.take() {
            self.remark(pages, ink, &line);
        }
    }

    /// Forgets the end that was held back: somebody goes on from it.
    pub fn went_on(&mut self) {
        self.held = None;
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
            // What streamed may be more than what was kept of it: nothing is taken back.
            let told = self.open.entry(id.clone()).or_default();
            let print = if told.is_new() { told.chunk(text) } else { Print::Nothing };
            told.broke_off();
            self.print(pages, id, print);
            return;
        }
        let print = self.open.remove(id).unwrap_or_default().whole(text);
        self.print(pages, id, print);
        if self.flowing.as_ref() == Some(id) {
            self.aside(pages);
        }
        self.finished.insert(id.clone());
        self.last_text = text.to_owned();
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

    fn tool_call(&mut self, pages: &mut Pages, call: &ToolCallView) {
        if ends_or_asks(&call.tool) {
            return;
        }
        let (mut mark, ink, word) = match call.status {
            // One line waits at a time; a read beside it has its line when it is done.
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
        // A summary that says the word itself is not introduced by it.
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
        // The mark of a line that stands on the page cannot change, so the result has its own.
        let mark = if mark == "✗" { "✗ " } else { "" };
        if !result.is_empty() {
            pages.rest().add(ink, &format!(" … {mark}{result}"));
        }
        self.aside(pages);
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
            RunView::Started { model, previous_model, .. } => {
                let before = previous_model.as_ref().map(|before| format!(" (the run before used {before})"));
                self.remark(pages, Ink::Dim, &format!("• {model}{}", before.unwrap_or_default()));
            }
            RunView::Ended { end, .. } => self.ended(pages, end),
        }
    }

    /// Notes what is to be known of a change that is in the text.
    fn note_change(&mut self, change: &ChangeSetView) {
        let landed = change.hunks.iter().any(|hunk| hunk.state == HunkState::Applied);
        self.marks.extend(change.mark.clone().filter(|_| landed));
    }

    /// Names the changed files that run on build, also when quiet: nobody else does.
    fn show_notes(&mut self, pages: &mut Pages) {
        for mark in std::mem::take(&mut self.marks) {
            let text = format!("! changed: {mark}; look at it before the next build");
            self.remark(pages, Ink::Bold, &text);
        }
    }

    fn ended(&mut self, pages: &mut Pages, end: &RunEnd) {
        self.show_notes(pages);
        let ink = match end.outcome {
            Outcome::Completed | Outcome::Stopped => Ink::Green,
            Outcome::Failed | Outcome::Limit | Outcome::Cancelled => Ink::Red,
        };
        if self.somebody && end.outcome == Outcome::Limit {
            self.held = Some((ink, end_line(end)));
        } else {
            self.remark(pages, ink, &end_line(end));
        }
    }
}

/// Whether a tool ends the task or asks the user: both are shown as what they are, not as a call.
fn ends_or_asks(tool: &str) -> bool {
    matches!(tool, "task_complete" | "fail" | "ask_user")
}
