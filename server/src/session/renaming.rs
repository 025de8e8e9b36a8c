//! Gives a session a title of the user's own.
//!
//! Never decides which titles there are: `accept` does.

use adjutant_core::machine::accept::Refusal;
use adjutant_core::machine::input::Input;
use adjutant_protocol::session::Done;

use super::SessionTask;
use super::mailbox::Reply;
use super::recording::RecordError;

impl SessionTask {
    pub(super) async fn rename(&mut self, title: String, reply: Reply<Done>) {
        match self.record_input(Input::Rename { title }).await {
            Ok(_) => {}
            // It has this title already.
            Err(RecordError::Refused(Refusal::Nothing)) if self.stopped.is_none() => {}
            Err(why) => {
                let _ = reply.send(Err(self.not_recorded(why)));
                return;
            }
        }
        let barrier = self.barrier;
        self.replies.after_durable(barrier, move |durable| {
            let _ = reply.send(durable.map(|()| Done {}));
        });
    }
}
