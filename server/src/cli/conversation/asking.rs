//! Asks that were delivered, from the desk to their answers.
//!
//! Never answers for a person who is present.

use std::time::{Duration, Instant};

use adjutant_core::machine::input::Choice;
use adjutant_protocol::ask::{AskGroup, AskView, PermissionOutcome, PermissionResponse, Resolution};

use super::{Answers, Conversation, LeaveReason};
use crate::cli::asks::{PendingAsk, TypedAnswer, hint, parse, put};
use crate::cli::page::{Ink, Printer};
use crate::cli::typed::TerminalInput;

/// How long the demo shows its own asks before it answers them.
const DEMO_READS: Duration = Duration::from_millis(900);

impl Conversation {
    pub(super) fn delivered(&mut self, delivery: PendingAsk) {
        let is_attached = self.session.as_ref() == Some(&delivery.ask.session_id);
        if is_attached && self.desk.has_room() {
            self.desk.add(delivery);
        } else {
            self.close_surface(&delivery);
        }
    }

    /// Returns a delivery unanswered; the ask stays open elsewhere.
    pub(super) fn close_surface(&self, delivery: &PendingAsk) {
        self.respond(delivery, PermissionOutcome::Cancelled);
    }

    fn respond(&self, delivery: &PendingAsk, outcome: PermissionOutcome) {
        if let Some(request) = &delivery.request {
            self.client.out().respond(request, &PermissionResponse { outcome });
        }
    }

    /// Prints the next ask, if none is on the page. If no person is present, answers it.
    pub(super) fn put_next(&mut self) {
        if self.is_typing() {
            // A question comes when the line is entered, so that the line is not its answer.
            return;
        }
        while let Some(ask) = self.desk.next(Instant::now()).cloned() {
            match &self.answers {
                Answers::Person(_) if ask.group == AskGroup::NonBlocking => {
                    let text = format!("… {}; {}", ask.title, hint(&ask));
                    self.on_page(|page| page.line_in(Ink::Dim, &text));
                    self.listen(false);
                    return;
                }
                Answers::Person(_) => {
                    self.on_page(|page| {
                        put(page, &ask);
                        page.line_in(Ink::Dim, &hint(&ask));
                    });
                    self.listen(true);
                    return;
                }
                Answers::Elsewhere => self.answer(PermissionOutcome::Cancelled),
                Answers::Nobody => {
                    if self.view.is_text() && ask.group == AskGroup::Interactive {
                        self.on_page(|page| put(page, &ask));
                    }
                    self.nobody_answers(&ask);
                }
                Answers::Demo if ask.group == AskGroup::Interactive => {
                    self.on_page(|page| put(page, &ask));
                    self.demo_answers_at = Some(Instant::now() + DEMO_READS);
                    return;
                }
                Answers::Demo => self.nobody_answers(&ask),
            }
        }
    }

    pub(super) async fn typed(&mut self, typed: TerminalInput) -> Result<(), LeaveReason> {
        let (text, at) = match typed {
            TerminalInput::Line { text, at } => (text, at),
            TerminalInput::Ready => {
                self.pages.rest().prompt();
                return Ok(());
            }
            TerminalInput::Key => {
                self.begin_prompt();
                return Ok(());
            }
            TerminalInput::Prompt(end) => return self.prompt_ended(end).await,
            TerminalInput::Gone => {
                self.answers = Answers::Nobody;
                if let Some(ask) = self.desk.current().cloned() {
                    let text = "(end of input: nobody can answer any more, so nothing that asks is allowed)";
                    self.on_page(|page| page.line_in(Ink::Dim, text));
                    self.nobody_answers(&ask);
                }
                return Ok(());
            }
        };
        let Some(ask) = self.desk.current().cloned() else { return Ok(()) };
        self.pages.rest().entered();
        if self.decides_changes() {
            return self.change_typed(&text, at).await;
        }
        let blocking = ask.group != AskGroup::NonBlocking;
        if !self.desk.was_read(at) {
            let text = "that was typed before the question could be read; please answer again";
            self.on_page(|page| page.line_in(Ink::Dim, text));
            self.listen(blocking);
            return Ok(());
        }
        match parse(&ask, &text) {
            TypedAnswer::Answer(outcome) => self.answer(outcome),
            TypedAnswer::Changes => return self.begin_changes(ask).await,
            TypedAnswer::Unclear(what_to_type) => {
                self.on_page(|page| page.line_in(Ink::Dim, &what_to_type));
                self.listen(blocking);
            }
        }
        Ok(())
    }

    /// Answers the ask on the desk with `y`, and prints that the demo did so.
    pub(super) fn demo_answers(&mut self) {
        let Some(ask) = self.desk.current().cloned() else { return };
        let TypedAnswer::Answer(outcome) = parse(&ask, "y") else { return };
        self.on_page(|page| page.line_in(Ink::Bold, "[demo answers: y]"));
        self.answer(outcome);
    }

    /// Prints how an ask on the page was closed elsewhere.
    pub(super) fn ask_closed(&mut self, how: &Resolution) {
        self.demo_answers_at = None;
        let is_done = self.changes.take().is_some_and(|changes| changes.left.is_empty());
        if is_done && *how == Resolution::Decided {
            // Decided here.
            return;
        }
        let text = match how {
            Resolution::Selected { .. } | Resolution::Answered { .. } => "(answered elsewhere)",
            Resolution::Decided => "(decided elsewhere, change by change)",
            Resolution::Cancelled => "(the run was cancelled, so this needs no answer)",
            Resolution::Superseded => "(what this asks about has changed, so this needs no answer)",
            Resolution::Withdrawn => "(this ended by itself, so it needs no answer)",
        };
        self.on_page(|page| page.line_in(Ink::Dim, text));
    }

    /// Prints a remark of the command itself, if remarks are shown.
    pub fn remark(&mut self, text: &str) {
        if self.view.shows_remarks() {
            self.on_page(|page| page.line_in(Ink::Dim, text));
        }
    }

    pub(super) fn answer(&mut self, outcome: PermissionOutcome) {
        match self.desk.answered() {
            Some(PendingAsk { request: None, .. }) => self.decided = Some(outcome),
            Some(delivery) => self.respond(&delivery, outcome),
            None => {}
        }
    }

    /// Answers that no person is present; the server decides what that means for the ask.
    fn nobody_answers(&mut self, ask: &AskView) {
        match Choice::absent(ask.kind.into()) {
            Some(Choice::Option { .. }) => self.denied.add(ask),
            Some(Choice::Text(why)) if self.view.is_text() => {
                self.on_page(|page| page.line_in(Ink::Dim, &format!("({why})")));
            }
            Some(Choice::Text(_)) | None => {}
        }
        self.answer(PermissionOutcome::Absent);
    }

    pub(super) fn listen(&mut self, prompt: bool) {
        // First, because it discards input, and input after the prompt must count.
        let ready = match &mut self.answers {
            // In the loop a hint waits for no line of its own: keys begin a prompt, which may answer it.
            Answers::Person(person) => (prompt || person.line().is_none()) && person.listen(),
            Answers::Nobody | Answers::Elsewhere | Answers::Demo => true,
        };
        if prompt && ready {
            self.pages.rest().prompt();
        }
    }

    pub(super) fn on_page(&mut self, write: impl FnOnce(&mut Printer)) {
        self.view.aside(&mut self.pages);
        write(self.pages.rest());
    }
}
