//! Decisions about hunks of sessions that another process has open: left in their inbox, carried out by that process. Hunks in
//! files that have another text in this editor than on disk are refused here, because that process does not know that text.
//!
//! Never decides, and never says that something was done without the word of that process.

use std::time::Duration;

use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{DecidedHunk, ReviewDecideParams};
use tokio::time::Instant;

use super::Sessions;
use super::beneath::take_out_differing;
use crate::aside::aside;
use crate::session::inbox::{self, LeftLetter};
use crate::session::mailbox::{ClientError, Message};

/// How long the other process may take. An undo waits for the editor of that process.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often the inbox is looked at meanwhile.
const GLANCE: Duration = Duration::from_millis(15);
/// How often to try if other processes open or close the session meanwhile.
const TRIES: usize = 3;

impl Sessions {
    /// Decides about hunks, in this process or in the one that has the session open.
    pub async fn decide(&self, decision: ReviewDecideParams) -> Result<Vec<DecidedHunk>, ClientError> {
        for _ in 0..TRIES {
            let mailbox = self.get(&decision.session_id)?;
            // Never refused as `Overloaded`, because a run waits for the decision.
            let posted =
                mailbox.admit(|reply| Message::Decide { decision: Box::new(decision.clone()), reply });
            match posted.await.unwrap_or_else(|_| Err(ClientError::gone())) {
                Err(refused) if refused.name == ErrorName::SessionLocked => {}
                done => return done,
            }
            if let Some(done) = self.decided_elsewhere(&decision).await {
                return done;
            }
        }
        let why = "other processes keep opening and closing this session, so nothing was decided; try again";
        Err(ClientError::new(ErrorName::SessionLocked, why))
    }

    /// Leaves a decision for the process that has the session open, and waits for its reply. `None` if no process has it
    /// open, and nothing was done.
    async fn decided_elsewhere(
        &self,
        decision: &ReviewDecideParams,
    ) -> Option<Result<Vec<DecidedHunk>, ClientError>> {
        let (world, mut own) = (self.world().clone(), decision.clone());
        let left = aside(move || -> Result<_, ClientError> {
            let refused = take_out_differing(&world, &mut own)?;
            if own.targets.is_empty() && !refused.is_empty() {
                return Ok((None, refused));
            }
            let place = world.catalog.place(&own.session_id.0).map_err(super::opening::catalog_error)?;
            let left = inbox::leave_decision(&place, &own).map_err(|error| {
                let why = format!("leave the decision for the process that has the session open: {error}");
                // No second try makes it smaller.
                let is_too_large = error.kind() == std::io::ErrorKind::FileTooLarge;
                let name = if is_too_large { ErrorName::AnswerInvalid } else { ErrorName::SessionLocked };
                ClientError::new(name, why)
            });
            Ok((Some(left?), refused))
        });
        let (mut left, refused) = match left.await {
            Ok((Some(left), refused)) => (left, refused),
            Ok((None, refused)) => return Some(Ok(refused)),
            Err(refused) => return Some(Err(refused)),
        };
        let until = Instant::now() + PATIENCE;
        loop {
            tokio::time::sleep(GLANCE).await;
            let (world, id, is_late) =
                (self.world().clone(), decision.session_id.clone(), Instant::now() >= until);
            let looked;
            (left, looked) = aside(move || {
                let look = look(&left, is_late, || world.catalog.is_written(&id.0));
                (left, look)
            })
            .await;
            match looked {
                LetterLook::Waits => {}
                LetterLook::Withdrawn => return None,
                LetterLook::Over(result) => {
                    return Some(result.map(|hunks| hunks.into_iter().chain(refused).collect()));
                }
            }
        }
    }
}

/// What became of a letter.
enum LetterLook {
    Waits,
    /// No process has the session open, so it was taken back.
    Withdrawn,
    Over(Result<Vec<DecidedHunk>, ClientError>),
}

/// Looks at the inbox once. Blocks.
fn look(left: &LeftLetter, is_late: bool, is_held: impl Fn() -> bool) -> LetterLook {
    let locked = |why: &str| LetterLook::Over(Err(ClientError::new(ErrorName::SessionLocked, why)));
    let is_there = left.is_there();
    // A letter is removed after its reply is there.
    if let Some(reply) = left.reply() {
        return LetterLook::Over(reply);
    }
    if !is_there {
        return locked(
            "the process that has the session open did not say what it did; look at the changes again",
        );
    }
    let is_held = is_held();
    if is_held && !is_late {
        return LetterLook::Waits;
    }
    match left.withdraw() {
        Ok(true) if !is_held => LetterLook::Withdrawn,
        Ok(true) => locked(
            "the process that has the session open did not answer in time; if it had read the decision, it may still \
             carry it out",
        ),
        // It was taken meanwhile, so there is a reply now.
        Ok(false) => LetterLook::Waits,
        Err(error) => locked(&format!("the decision cannot be withdrawn: {error}")),
    }
}
