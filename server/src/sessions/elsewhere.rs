//! Requests about changes of sessions that another process has open: left in their inbox, carried out by that process.
//!
//! Never carries one out itself, and never says that something was done without the word of that process. Of whoever does not wait
//! for the reply any more, the request is withdrawn.

use std::sync::Arc;
use std::time::Duration;

use adjutant_protocol::SessionId;
use adjutant_protocol::errors::ErrorName;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OwnedRwLockReadGuard;
use tokio::time::Instant;

use super::beneath::TextsThen;
use super::{Sessions, beneath};
use crate::aside::aside;
use crate::client::Level;
use crate::session::World;
use crate::session::inbox::{self, LeftLetter, ReviewRequest};
use crate::session::mailbox::ClientError;

/// How long the other process may take. An undo waits for the editor of that process.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often the inbox is looked at meanwhile.
const GLANCE: Duration = Duration::from_millis(15);
/// How often to try if other processes open or close the session meanwhile.
const TRIES: usize = 3;

impl Sessions {
    /// Carries out a request about changes, in this process or in the one that has the session open.
    pub async fn about_changes<R: DeserializeOwned>(&self, request: ReviewRequest) -> Result<R, ClientError> {
        let read = |value| {
            serde_json::from_value(value).map_err(|error| {
                let why = format!("the process that has the session open is of another version ({error})");
                ClientError::new(ErrorName::SessionLocked, why)
            })
        };
        for _ in 0..TRIES {
            let mailbox = self.get(request.session())?;
            match request.clone().post(&mailbox).await {
                Err(refused) if refused.name == ErrorName::SessionLocked => {}
                done => return done.and_then(read),
            }
            if let Some(done) = self.done_elsewhere(&request).await {
                return done.and_then(read);
            }
        }
        let why = "nothing was done: other processes keep opening and closing this session, or its files keep changing in \
                   this editor; try again";
        Err(ClientError::new(ErrorName::SessionLocked, why))
    }

    /// Leaves a request for the process that has the session open, and waits for its reply. `None` if it was taken back, and
    /// nothing was done.
    async fn done_elsewhere(&self, request: &ReviewRequest) -> Option<Result<Value, ClientError>> {
        let (world, mut own) = (self.world().clone(), request.clone());
        let held = self.letters.clone().read_owned().await;
        let then = Arc::new(TextsThen::of(&world));
        let left = aside(move || -> Result<_, ClientError> {
            let refused = beneath::take_out(&world, &mut own)?;
            if beneath::is_empty(&own) && !refused.is_empty() {
                return Ok((None, refused));
            }
            let place = world.catalog.place(&own.session().0).map_err(super::opening::catalog_error)?;
            let left = inbox::leave_request(&place, &own).map_err(|error| {
                let why = format!("leave the request for the process that has the session open: {error}");
                // No second try makes it smaller.
                let is_too_large = error.kind() == std::io::ErrorKind::FileTooLarge;
                let name = if is_too_large { ErrorName::AnswerInvalid } else { ErrorName::SessionLocked };
                ClientError::new(name, why)
            })?;
            Ok((Some(AwaitedLetter { letter: Arc::new(left), world, is_over: false, _held: held }), refused))
        });
        let (mut left, refused) = match left.await {
            Ok((Some(left), refused)) => (left, refused),
            Ok((None, refused)) => return Some(beneath::with(Value::Array(Vec::new()), &refused)),
            Err(refused) => return Some(Err(refused)),
        };
        let until = Instant::now() + PATIENCE;
        loop {
            tokio::time::sleep(GLANCE).await;
            let is_late = Instant::now() >= until;
            let (letter, world, request, then) =
                (left.letter.clone(), self.world().clone(), request.clone(), then.clone());
            let looked = aside(move || {
                let typed = then.typed(&world, &request);
                // Asked again, it is refused for the files in which the user types.
                if !typed.is_empty() && letter.withdraw().unwrap_or(false) {
                    return LetterLook::Withdrawn;
                }
                let looked = look(&letter, is_late, || is_held(&world, request.session()));
                if matches!(looked, LetterLook::Over(Ok(_))) {
                    then.typed(&world, &request).iter().for_each(|text| text.tell(&world));
                }
                looked
            });
            let looked = looked.await;
            left.is_over = !matches!(looked, LetterLook::Waits);
            match looked {
                LetterLook::Waits => {}
                LetterLook::Withdrawn => return None,
                LetterLook::Over(result) => {
                    return Some(result.and_then(|done| beneath::with(done, &refused)));
                }
            }
        }
    }
}

/// Whether another process has the session open.
fn is_held(world: &World, id: &SessionId) -> bool {
    world.catalog.is_written(&id.0)
}

/// A letter and whoever waits for its reply. A request of a client that is cancelled drops it: then the letter is withdrawn, and
/// the user is told whether that was in time.
struct AwaitedLetter {
    letter: Arc<LeftLetter>,
    world: Arc<World>,
    is_over: bool,
    /// Keeps the server from stopping before the user was told.
    _held: OwnedRwLockReadGuard<()>,
}

impl Drop for AwaitedLetter {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // One name is removed: that waits for the disk no longer than an answer to the client may.
        let text = match self.letter.withdraw() {
            Ok(true) => "Adjutant: What you asked for was withdrawn in time: nothing was changed.",
            _ => {
                "Adjutant: It is too late to withdraw what you asked for: the process that has the session open carries it \
                 out. Look at the changes again."
            }
        };
        self.world.link.say(Level::Warning, text);
    }
}

/// What became of a letter.
enum LetterLook {
    Waits,
    /// It was taken back: no process has the session open, or the user typed in a file that it would change.
    Withdrawn,
    Over(Result<Value, ClientError>),
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
    let withdrawn = if is_held { left.withdraw() } else { left.withdraw_from_gone() };
    match withdrawn {
        Ok(true) if !is_held => LetterLook::Withdrawn,
        Ok(true) => locked(
            "the process that has the session open did not answer in time, so it was withdrawn: nothing was changed",
        ),
        Ok(false) if is_held => locked(
            "the process that has the session open still carries it out, and did not end in time; look at the changes again",
        ),
        // It was judged meanwhile, so there is a reply now.
        Ok(false) => LetterLook::Waits,
        Err(error) => locked(&format!("it cannot be withdrawn: {error}")),
    }
}
