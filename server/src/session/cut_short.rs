//! Lists and decisions that wait until a session has finished what an earlier process left on its way: writes of closed files,
//! decisions of the review, and edits of open documents of which only the text tells whether they were made.
//!
//! Never finishes anything; the steps do. Never waits longer than `PATIENCE`.

use std::time::Duration;

use adjutant_core::machine::accept::Refusal;
use adjutant_core::machine::step::unfinished_writes;
use adjutant_core::session::Session;
use adjutant_protocol::review::ReviewAction;

use super::SessionTask;
use super::mailbox::{Message, Reply};

/// How long messages wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns how many changes were decided and get their outcome now. An edit of an open document whose run waits for the user has to
/// wait, too.
fn on_its_way(session: &Session) -> usize {
    unfinished_writes(session) + session.unsettled().count()
}

/// The messages that wait.
#[derive(Default)]
pub(super) struct HeldMessages {
    messages: Vec<Message>,
    is_late: bool,
}

impl SessionTask {
    /// Notes whether something is on its way in a session that was just opened.
    pub(super) fn note_cut_short(&mut self) {
        if on_its_way(&self.session) == 0 {
            return;
        }
        self.held = Some(HeldMessages::default());
        let mailbox = self.place.mailbox.clone();
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            mailbox.post(Message::HeldLongEnough);
        });
    }

    /// Returns a message that can be handled now, and keeps one that is about what is still on its way.
    pub(super) fn hold(&mut self, message: Message) -> Option<Message> {
        let Some(held) = &mut self.held else { return Some(message) };
        let waits = match &message {
            Message::Decide { decision, .. } => {
                matches!(decision.action, ReviewAction::Keep | ReviewAction::Undo | ReviewAction::Restore)
            }
            Message::Hunks { .. }
            | Message::Preview { .. }
            | Message::Rewind { .. }
            | Message::Settled { .. } => true,
            _ => false,
        };
        if !waits {
            return Some(message);
        }
        held.messages.push(message);
        None
    }

    /// Returns the messages that waited, once nothing is on its way any more, or they waited long enough.
    pub(super) fn released(&mut self) -> Vec<Message> {
        let is_over = on_its_way(&self.session) == 0 || self.stopped.is_some();
        let Some(held) = self.held.take_if(|held| is_over || held.is_late) else { return Vec::new() };
        self.has_left_cut_short = !is_over;
        held.messages
    }

    pub(super) fn held_long_enough(&mut self) {
        self.held.iter_mut().for_each(|held| held.is_late = true);
    }

    /// Puts the messages that waited back into the mailbox, because the session ends.
    pub(super) fn put_back(&mut self) {
        let held = self.held.take().map(|held| held.messages).unwrap_or_default();
        held.into_iter().for_each(|message| self.place.mailbox.post(message));
    }

    /// Answers how many files are still on their way since an earlier process. What this one does now is not cut short.
    pub(super) fn settled(&mut self, reply: Reply<usize>) {
        self.place.mailbox.note_handled();
        let left = match self.stopped {
            Some(_) => Err(self.refused(Refusal::Nothing)),
            None if !self.has_left_cut_short => Ok(0),
            None => Ok(on_its_way(&self.session)),
        };
        let _ = reply.send(left);
    }
}
