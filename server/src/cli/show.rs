//! Updates as text a person reads, on a page that can only grow.
//!
//! Never prints a text twice: chunks stream, the finished item prints what is
//! missing, and an attempt that diverges goes on from where it does.

mod output;

#[cfg(test)]
mod tests;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::choices::in_words;
use adjutant_core::image::shown;
use adjutant_core::transcript::end_line;
use adjutant_protocol::state::Outcome;
use adjutant_protocol::update::{AskChange, RunView, ToolCallView, ToolStatus, TurnPhase, TurnView, Update};
use adjutant_protocol::{MessageId, ToolCallId};

use super::page::{Ink, Page};
use output::Output;
use told::{Print, Told};

/// Written before an attempt that goes another way than the one that broke off.
const AGAIN: &str = "[the answer broke off; again:]";
/// Written before a text of which a middle part was not streamed.
const MISSED: &str = "[a part was not streamed; again from there:]";

/// What has been shown of a session.
pub struct Show {
    /// The answer and what is asked, nothing else.
    quiet: bool,
    /// Whether the user's own messages are shown: they know what they just typed.
    user: bool,
    open: BTreeMap<MessageId, Told>,
    finished: BTreeSet<MessageId>,
    /// Whose text the present lines are.
    flowing: Option<MessageId>,
    /// The call whose line waits for its result.
    call: Option<ToolCallId>,
    /// What the command of that call has written.
    output: Option<Output>,
    last_text: String,
}

impl Show {
    pub fn new(quiet: bool) -> Self {
        Show {
            quiet,
            user: false,
            open: BTreeMap::new(),
            finished: BTreeSet::new(),
            flowing: None,
            call: None,
            output: None,
            last_text: String::new(),
        }
    }

    /// Shows the user's messages too, as a transcript does.
    pub fn with_user(mut self) -> Self {
        self.user = true;
        self
    }

    /// Shows one update; `now` is in milliseconds since the Unix epoch.
    pub fn update(&mut self, page: &mut Page, update: &Update, now: u64) {
        match update {
            Update::AgentMessageChunk { message_id, text } => self.chunk(page, message_id, text),
            Update::AgentMessage { message_id, text, interrupted } => {
                self.message(page, message_id, text, *interrupted);
            }
            Update::Complete { summary } if summary.trim() != self.last_text.trim() => {
                self.aside(page);
                page.flow(summary);
                page.end_flow();
            }
            _ if self.quiet => {}
            Update::UserMessage { text, images, .. } if self.user => {
                self.aside(page);
                for image in images {
                    page.line_in(Ink::Bold, &format!("> {}", shown(image)));
                }
                for line in text.lines() {
                    page.line_in(Ink::Bold, &format!("> {line}"));
                }
            }
            Update::ToolCallUpdate(call) => self.tool_call(page, call),
            Update::ToolCallContentChunk { tool_call_id, text }
                if self.call.as_ref() == Some(tool_call_id) =>
            {
                self.output.get_or_insert_default().take(page, text);
            }
            Update::Turn(turn) => self.turn(page, turn, now),
            Update::Run(run) => self.run(page, run),
            Update::Notice { message } => self.remark(page, Ink::Plain, &format!("! {message}")),
            Update::Rule { text } => self.remark(page, Ink::Dim, &format!("• from now on {text}")),
            Update::ConfigOptionUpdate { changed, .. } => {
                self.remark(page, Ink::Dim, &format!("• from now on {}", in_words(changed)));
            }
            Update::Ask(AskChange::Opened { .. } | AskChange::Closed { .. })
            | Update::Complete { .. }
            | Update::UserMessage { .. }
            | Update::AgentThought { .. }
            | Update::AgentThoughtChunk { .. }
            | Update::ToolCallContentChunk { .. }
            | Update::StateUpdate(_)
            | Update::ChangeSet(_) => {}
        }
    }

    /// Ends whatever line is open, so that something else may be written.
    pub fn aside(&mut self, page: &mut Page) {
        self.flowing = None;
        self.call = None;
        if let Some(mut output) = self.output.take() {
            output.end(page);
        }
        page.fresh_line();
    }

    fn remark(&mut self, page: &mut Page, ink: Ink, text: &str) {
        self.aside(page);
        page.line_in(ink, text);
    }

    fn chunk(&mut self, page: &mut Page, id: &MessageId, text: &str) {
        if self.finished.contains(id) {
            return;
        }
        let print = self.open.entry(id.clone()).or_default().chunk(text);
        self.print(page, id, print);
    }

    fn message(&mut self, page: &mut Page, id: &MessageId, text: &str, interrupted: bool) {
        if self.finished.contains(id) {
            return;
        }
        if interrupted {
            // What streamed may be more than what was kept of it: nothing is taken back.
            let told = self.open.entry(id.clone()).or_default();
            let print = if told.is_new() { told.chunk(text) } else { Print::Nothing };
            told.broke_off();
            self.print(page, id, print);
            return;
        }
        let print = self.open.remove(id).unwrap_or_default().whole(text);
        self.print(page, id, print);
        if self.flowing.as_ref() == Some(id) {
            self.aside(page);
        }
        self.finished.insert(id.clone());
        self.last_text = text.to_owned();
    }

    fn print(&mut self, page: &mut Page, id: &MessageId, print: Print) {
        let text = match print {
            Print::Nothing => return,
            Print::More(text) => text,
            Print::Again { broke_off, text } => {
                self.aside(page);
                page.line_in(Ink::Dim, if broke_off { AGAIN } else { MISSED });
                text
            }
        };
        if self.flowing.as_ref() != Some(id) {
            self.aside(page);
            self.flowing = Some(id.clone());
        }
        page.flow(&text);
    }

    fn tool_call(&mut self, page: &mut Page, call: &ToolCallView) {
        // The end of the task and a question are shown as what they are.
        if matches!(call.tool.as_str(), "task_complete" | "fail" | "ask_user") {
            return;
        }
        let (mark, ink, word) = match call.status {
            ToolStatus::Pending => return,
            ToolStatus::InProgress => {
                self.aside(page);
                page.open_line(Ink::Plain, &format!("• {}", call.title));
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
            (word, summary) if summary.starts_with(word) || summary.starts_with("rejected") => {
                summary.to_owned()
            }
            (word, summary) => format!("{word}: {summary}"),
        };
        if self.call.as_ref() != Some(&call.tool_call_id) {
            self.aside(page);
            page.open_line(Ink::Plain, &format!("{mark} {}", call.title));
        } else if let Some(mut output) = self.output.take() {
            output.end(page);
            page.open_line(ink, " ");
        }
        if !result.is_empty() {
            page.add(ink, &format!(" … {result}"));
        }
        self.aside(page);
    }

    fn turn(&mut self, page: &mut Page, turn: &TurnView, now: u64) {
        let message = turn.message.as_deref().unwrap_or("the model did not answer");
        match turn.phase {
            TurnPhase::Started | TurnPhase::Ended => {}
            TurnPhase::AttemptFailed => {
                self.open.values_mut().for_each(Told::broke_off);
                let wait = turn.retry_at.unwrap_or(now).saturating_sub(now).div_ceil(1000);
                let when = if wait == 0 { "now".to_owned() } else { format!("in {wait} s") };
                self.remark(page, Ink::Dim, &format!("… {message}, trying again {when}"));
            }
            TurnPhase::ModelReplaced => self.remark(page, Ink::Plain, &format!("! {message}")),
            TurnPhase::Failed => self.remark(page, Ink::Red, &format!("✗ {message}")),
        }
    }

    fn run(&mut self, page: &mut Page, run: &RunView) {
        match run {
            RunView::Started { model, .. } => self.remark(page, Ink::Dim, &format!("• {model}")),
            RunView::Ended { end, .. } => {
                let ink = match end.outcome {
                    Outcome::Completed | Outcome::Stopped => Ink::Green,
                    Outcome::Failed | Outcome::Limit | Outcome::Cancelled => Ink::Red,
                };
                self.remark(page, ink, &end_line(end));
            }
        }
    }
}
