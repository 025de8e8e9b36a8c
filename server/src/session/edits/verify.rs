//! What the text shows of an edit that was sent: the only witness (N05, D8).
//!
//! Never sends anything, and takes no reply for what it says.

use std::sync::Arc;
use std::time::Duration;

use adjutant_core::record::{EditCheck, FileChange};
use adjutant_core::text::edit::split_bom;
use adjutant_core::text::review::{Presence, present_all};
use tokio::sync::watch;

use super::{Now, SETTLE, SessionWorld, found, now};
use crate::aside::aside;
use crate::documents::{Expectation, MisplacedEdit};
use crate::editor::{ApplyReply, NoAnswer};
use crate::tools::paths::ResolvedPath;

/// How long the text of an edit is waited for that the editor has refused.
const REFUSED: Duration = Duration::from_millis(50);

/// How long a client's reply is waited for once its text shows the edit: some never reply.
const MUTE: Duration = Duration::from_millis(500);

/// What one try to bring the hunks into the text came to.
pub(super) enum ApplyAttempt {
    /// They are there.
    Landed {
        /// The text is otherwise what was sent.
        exact: bool,
        /// What the editor was sent, whole.
        text: Option<Arc<str>>,
        /// Nothing of the file was unsaved in the text that the edit was made for.
        saves: bool,
    },
    /// They were there, and were taken back at once.
    Undone,
    /// The text moved on; place them anew.
    Stale(String),
    /// What was approved cannot be made as it was shown; the user has to see it anew.
    Overtaken(String),
    /// These are there, and the editor left the others out.
    Partly(Vec<String>),
    /// They are where nobody approved them.
    Misplaced,
    /// It cannot be done.
    Failed { why: String, in_doubt: bool },
}

/// What a text shows of all hunks.
pub(super) enum HunkCheck {
    /// They are there, and all is as it was sent.
    Exactly,
    /// They are or were there, and something else is there as well.
    Otherwise,
    /// They were there, and the text is without them again.
    Undone,
    /// They were made at the wrong place, by an editor that ignores versions.
    Misplaced(MisplacedEdit),
}

fn refused(reply: &Result<ApplyReply, NoAnswer>) -> bool {
    matches!(reply, Ok(ApplyReply { applied: false, .. }) | Err(NoAnswer::Refused(_)))
}

/// What is looked at after an edit was sent. Clones are of the same edit.
#[derive(Clone)]
pub(super) struct EditVerifier(Arc<SentEdit>);

pub(super) struct SentEdit {
    pub place: Arc<SessionWorld>,
    pub change: FileChange,
    pub at: Arc<ResolvedPath>,
    /// The file as it was when the edit was made for it.
    pub before: Arc<Now>,
    pub wanted: Arc<str>,
    pub expectation: Expectation,
}

impl EditVerifier {
    pub fn of(sent: SentEdit) -> Self {
        Self(Arc::new(sent))
    }

    /// Waits for the client's reply; once the text shows the edit, only for a moment.
    pub async fn reply(
        &self,
        asked: impl Future<Output = Result<ApplyReply, NoAnswer>>,
        mut watch: watch::Receiver<u64>,
    ) -> Result<ApplyReply, NoAnswer> {
        let shown = async {
            while !matches!(self.verify().await, Some(HunkCheck::Exactly)) {
                if watch.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::pin!(asked);
        tokio::select! {
            biased;
            reply = &mut asked => return reply,
            () = shown => {}
        }
        let silent = Err(NoAnswer::Silent(0));
        tokio::time::timeout(MUTE, asked).await.unwrap_or(silent)
    }

    /// Waits, bounded, until the text shows or has shown every hunk; says what it shows then.
    pub async fn shows(
        &self,
        mut watch: watch::Receiver<u64>,
        reply: &Result<ApplyReply, NoAnswer>,
    ) -> Option<HunkCheck> {
        // A client that has refused has nothing more to send; one that has not is given time.
        let patience = if refused(reply) { REFUSED } else { SETTLE };
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            if let Some(shown) = self.verify().await {
                return Some(shown);
            }
            // A look may take longer than the next change: the time is over also where there is always one.
            if tokio::time::Instant::now() >= deadline {
                return None;
            }
            match tokio::time::timeout_at(deadline, watch.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return None,
            }
        }
    }

    /// Looks at the text where one may wait for the disk.
    async fn verify(&self) -> Option<HunkCheck> {
        let sent = self.0.clone();
        aside(move || sent.verify()).await
    }

    /// Whether the editor refused the edit, or said it was made, and the text is still the one it was made for.
    pub async fn is_ignored(&self, reply: &Result<ApplyReply, NoAnswer>) -> bool {
        let sent = self.0.clone();
        (refused(reply) || is_called_applied(reply)) && !aside(move || sent.has_moved()).await
    }

    /// The editor answered and the text does not show the change.
    pub async fn disbelieved(&self, reply: Result<ApplyReply, NoAnswer>) -> ApplyAttempt {
        let sent = self.0.clone();
        aside(move || sent.disbelieved(reply)).await
    }
}

/// Whether the editor said that it made the edit.
pub(super) fn is_called_applied(reply: &Result<ApplyReply, NoAnswer>) -> bool {
    matches!(reply, Ok(ApplyReply { applied: true, .. }))
}

/// All of it blocks.
impl SentEdit {
    fn verify(&self) -> Option<HunkCheck> {
        // Before the text: what is seen in between would look like an undo.
        let (seen, misplaced) = (self.expectation.seen(), self.expectation.misplaced());
        let now = now(&self.place, &self.at).ok().filter(|now| now.exists)?;
        // It may look exactly as it was allowed, because what the user had typed there is gone.
        if let Some(misplaced) = misplaced.as_ref().filter(|misplaced| misplaced.took) {
            return Some(HunkCheck::Misplaced(misplaced.clone()));
        }
        // Editors differ in whether a byte order mark is part of the text.
        if *now.text == *self.wanted || split_bom(&now.text).1 == split_bom(&self.wanted).1 {
            return Some(HunkCheck::Exactly);
        }
        match (found(&now.text, &self.change), misplaced) {
            (EditCheck::Landed, None) => Some(HunkCheck::Otherwise),
            (EditCheck::Landed, Some(_)) if !seen => Some(HunkCheck::Otherwise),
            (_, Some(misplaced)) => Some(HunkCheck::Misplaced(misplaced)),
            (EditCheck::NotLanded, None) if seen => Some(HunkCheck::Undone),
            (EditCheck::NotLanded | EditCheck::Unclear, None) => seen.then_some(HunkCheck::Otherwise),
        }
    }

    fn has_moved(&self) -> bool {
        let now = now(&self.place, &self.at);
        now.is_ok_and(|now| now.text != self.before.text || now.open != self.before.open)
    }

    /// The editor answered and the text does not show the change.
    fn disbelieved(&self, reply: Result<ApplyReply, NoAnswer>) -> ApplyAttempt {
        let landed = now(&self.place, &self.at).map(|now| self.new_hunks(&now.text)).unwrap_or_default();
        if !landed.is_empty() {
            return ApplyAttempt::Partly(landed);
        }
        let in_doubt = !matches!(reply, Ok(ApplyReply { applied: false, .. }) | Err(NoAnswer::Unknown));
        let stale = self.has_moved() && !matches!(reply, Err(NoAnswer::Silent(_) | NoAnswer::Gone));
        let why = match reply {
            Ok(ApplyReply { applied: false, reason: Some(reason) }) => reason,
            Ok(ApplyReply { applied: false, reason: None }) if stale => {
                "the editor refused a stale version".to_owned()
            }
            Ok(ApplyReply { applied: false, reason: None }) => {
                "the editor refused it without a reason".to_owned()
            }
            Ok(ApplyReply { applied: true, .. }) if stale => "the text was changed meanwhile".to_owned(),
            Ok(ApplyReply { applied: true, .. }) => {
                "the editor said it was applied, but the text does not show it".to_owned()
            }
            Err(why) => why.to_string(),
        };
        if stale { ApplyAttempt::Stale(why) } else { ApplyAttempt::Failed { why, in_doubt } }
    }

    /// The hunks in the text, if the edit brought any of them there.
    fn new_hunks(&self, now: &str) -> Vec<String> {
        let hunks = &self.change.hunks;
        let (then, now) = (present_all(&self.before.text, hunks), present_all(now, hunks));
        let landed = |presence: &Presence| *presence == Presence::Landed;
        if !then.iter().zip(&now).any(|(then, now)| !landed(then) && landed(now)) {
            return Vec::new();
        }
        let there = hunks.iter().zip(&now).filter(|(_, now)| landed(now));
        there.map(|(hunk, _)| hunk.id.clone()).collect()
    }
}
