//! Prompts: one that begins a run, and in the loop one that is typed while a run works and steers it.
//!
//! While a line is typed, output waits. Never loses a prompt: one that was not accepted is in the next line.

use std::time::Instant;

use adjutant_protocol::MessageId;
use adjutant_protocol::ask::{AskGroup, PermissionOutcome};
use adjutant_protocol::methods;
use adjutant_protocol::model::{ModelListParams, ModelListResult};
use adjutant_protocol::session::{
    ContentBlock, Delivery, NewSessionParams, NewSessionResult, Overrides, PromptParams, PromptResult,
};

use super::{Answers, Conversation, LeaveReason};
use crate::cli::asks::{TypedAnswer, parse};
use crate::cli::client::Failure;
use crate::cli::line::Reading;
use crate::cli::page::Ink;
use crate::cli::typed::PromptEnd;

/// The loop between two prompts.
#[derive(Debug, Default)]
pub(super) struct PromptState {
    /// A run works, so a prompt steers it.
    works: bool,
    /// The text that the next line begins with.
    draft: String,
    /// How the last line at the prompt ended.
    end: Option<PromptEnd>,
    /// The prompts of the session since it is this one's, oldest first.
    pub(super) sent: Vec<MessageId>,
}

impl Conversation {
    /// Begins a session in this folder, else in those of `initialize`, and attaches to it.
    pub async fn begin_session(&mut self, cwd: Option<String>) -> Result<(), LeaveReason> {
        let params = NewSessionParams { cwd };
        let made: NewSessionResult = self.request(methods::SESSION_NEW, &params).await?;
        self.attach(&made.session_id);
        Ok(())
    }

    /// Sends a prompt to the session and follows its run.
    pub async fn prompt(
        &mut self,
        prompt: Vec<ContentBlock>,
        overrides: &Overrides,
    ) -> Result<(), LeaveReason> {
        let Some(session_id) = self.session.clone() else { return Ok(()) };
        let params = PromptParams {
            session_id,
            prompt,
            delivery: Delivery::Auto,
            expected_run_id: None,
            origin: None,
            diagnostics: Vec::new(),
            overrides: overrides.clone(),
            key: None,
        };
        let accepted: PromptResult = self.request(methods::SESSION_PROMPT, &params).await?;
        self.follow(Some(accepted.run_id));
        Ok(())
    }

    /// Reads the next prompt of the loop. `None`: no person is there any more.
    pub async fn next_line(&mut self) -> Result<Option<PromptEnd>, LeaveReason> {
        self.prompt.works = false;
        self.cancelling = None;
        self.begin_prompt();
        loop {
            if let Some(end) = self.prompt.end.take() {
                return Ok(Some(end));
            }
            if !matches!(self.answers, Answers::Person(_)) {
                return Ok(None);
            }
            self.ears.wake_at(None);
            let event = self.ears.next(&mut self.answers).await;
            self.on_event(event).await?;
        }
    }

    /// Begins a run of the loop: what the run before left is forgotten, and keys begin a prompt that steers.
    pub fn begin_work(&mut self) {
        self.prompt.works = true;
        self.given_up = false;
        self.failure = None;
        (self.run, self.ended, self.idle) = (None, None, false);
        self.view.begin_work();
        self.watch_keys();
    }

    /// Asks the server for the windows of the models. Without them the status line has no share.
    /// Returns whether there are any.
    pub async fn learn_models(&mut self) -> Result<bool, LeaveReason> {
        let listed: ModelListResult = self.request(methods::MODEL_LIST, &ModelListParams {}).await?;
        self.view.know_models(&listed.models);
        Ok(!listed.models.is_empty())
    }

    /// Ends the work of a run of the loop: keys are for the next prompt.
    pub fn end_work(&mut self) {
        self.prompt.works = false;
        self.view.end_work();
    }

    /// Whether a session is open.
    pub fn is_attached(&self) -> bool {
        self.session.is_some()
    }

    /// Forgets the session, so that the next prompt begins a new one.
    pub fn detach(&mut self) {
        self.session = None;
        self.prompt.sent.clear();
    }

    /// Gives a text back into the next line.
    pub fn give_back(&mut self, text: String) {
        self.prompt.draft = text;
    }

    /// Whether a line is being typed.
    pub(super) fn is_typing(&mut self) -> bool {
        match &mut self.answers {
            Answers::Person(person) => person.line().is_some_and(|line| line.is_typing()),
            Answers::Nobody | Answers::Elsewhere | Answers::Demo => false,
        }
    }

    /// Whether a line of the loop is typed and no run works.
    pub(super) fn is_at_prompt(&mut self) -> bool {
        !self.prompt.works && self.is_typing()
    }

    /// Ends the line at the prompt as Ctrl-C does there.
    pub(super) fn prompt_interrupted(&mut self) {
        self.prompt.end = Some(PromptEnd::Interrupted(String::new()));
    }

    /// Begins a line. Output waits until it has ended.
    pub(super) fn begin_prompt(&mut self) {
        let asks = self.desk.current().is_some_and(|ask| ask.group != AskGroup::NonBlocking);
        let Answers::Person(person) = &mut self.answers else { return };
        let Some(line) = person.line() else { return };
        if line.is_typing() {
            return;
        }
        if asks {
            // The key was pressed before the question was on the screen.
            return line.read(Reading::Answer);
        }
        self.pages.wait();
        line.read(Reading::Prompt(std::mem::take(&mut self.prompt.draft)));
    }

    /// In the loop: lets a key begin a prompt while a run works and asks nothing.
    pub(super) fn watch_keys(&mut self) {
        let asks = self.desk.current().is_some_and(|ask| ask.group != AskGroup::NonBlocking);
        if asks || !self.prompt.works {
            return;
        }
        if let Answers::Person(person) = &mut self.answers
            && let Some(line) = person.line()
        {
            line.read(Reading::Key);
        }
    }

    /// Handles the end of a line: while a run works it steers.
    pub(super) async fn prompt_ended(&mut self, end: PromptEnd) -> Result<(), LeaveReason> {
        self.pages.go_on();
        if !self.prompt.works {
            self.prompt.end = Some(end);
            return Ok(());
        }
        match end {
            PromptEnd::Entered(text) if text.trim().is_empty() => Ok(()),
            PromptEnd::Entered(text) => self.steer(text).await,
            PromptEnd::Interrupted(text) => {
                self.prompt.draft = text;
                if self.cancelling.is_some() {
                    self.at_once = true;
                    return Err(LeaveReason::Interrupted);
                }
                self.cancel("cancelling; Ctrl-C again leaves at once").await
            }
            PromptEnd::Left => {
                let text = "Ctrl-C stops the run; Ctrl-D leaves when it has ended.";
                self.on_page(|page| page.line_in(Ink::Dim, text));
                Ok(())
            }
        }
    }

    async fn steer(&mut self, text: String) -> Result<(), LeaveReason> {
        // A hint is answered by one of its options; any other text is for the model.
        if let Some(ask) = self.desk.current().cloned()
            && self.desk.was_read(Instant::now())
            && let TypedAnswer::Answer(outcome @ PermissionOutcome::Selected { .. }) = parse(&ask, &text)
        {
            self.answer(outcome);
            return Ok(());
        }
        let block = ContentBlock::Text { text: text.clone() };
        match self.prompt(vec![block], &Overrides::default()).await {
            Err(LeaveReason::AlreadyPrinted) => self.give_back(text),
            Err(LeaveReason::Failed(Failure::Refused { message, .. })) => {
                self.give_back(text);
                self.note(&message);
            }
            sent => return sent,
        }
        Ok(())
    }
}
