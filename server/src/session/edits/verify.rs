//! Verifies an edit that was sent: only the text decides whether it was made (N05, D8).
//!
//! Never sends anything, and never believes a reply without the text.

use std::sync::Arc;
use std::time::Duration;

use adjutant_core::policy::saving::SaveAfter;
use adjutant_core::record::{EditCheck, FileChange};
use adjutant_core::text::edit::split_bom;
use adjutant_core::text::review::{Presence, present_all};
use tokio::sync::watch;

use super::{CurrentFile, SETTLE, SessionWorld, check_text, current_file};
use crate::aside::aside;
use crate::documents::{Expectation, MisplacedEdit};
use crate::editor::{ApplyReply, NoAnswer};
use crate::tools::paths::ResolvedPath;

/// How long to wait for the text of an edit that the editor has refused.
const REFUSED: Duration = Duration::from_millis(50);

/// How long to wait for the client's reply once its text has the edit: some clients never reply.
const MUTE: Duration = Duration::from_millis(500);

/// The result of one try to make an edit.
pub enum ApplyAttempt {
    /// The text has all hunks.
    Landed {
        /// Whether the text is exactly the expected one.
        exact: bool,
        /// The whole expected text, if the editor made the edit.
        text: Option<Arc<str>>,
        /// Whether the document is saved now.
        saves: SaveAfter,
    },
    /// The text had all hunks, and they were undone at once.
    Undone,
    /// The text changed meanwhile; the hunks must be placed again.
    Stale(String),
    /// The approved edit cannot be made as it was shown; the user must see it again.
    Overtaken(String),
    /// The text has only these hunks: the editor left the others out.
    Partly(Vec<String>),
    /// The hunks are at a place that the user did not approve.
    Misplaced,
    /// The edit cannot be made. If `in_doubt`, it may still appear.
    Failed { why: String, in_doubt: bool },
}

impl ApplyAttempt {
    /// Whether the text has all hunks.
    pub fn has_landed(&self) -> bool {
        matches!(self, ApplyAttempt::Landed { .. })
    }
}

/// What a check of the text found.
pub(super) enum HunkCheck {
    /// The text is exactly the expected one.
    Exactly,
    /// The text has or had all hunks, and other changes as well.
    Otherwise,
    /// The text had all hunks, and has none of them now.
    Undone,
    /// An editor that ignores versions made the edit at the wrong place.
    Misplaced(MisplacedEdit),
}

fn refused(reply: &Result<ApplyReply, NoAnswer>) -> bool {
    matches!(reply, Ok(ApplyReply { applied: false, .. }) | Err(NoAnswer::Refused(_)))
}

/// Checks the text after an edit was sent. Clones are of the same edit.
#[derive(Clone)]
pub(super) struct EditVerifier(Arc<SentEdit>);

pub(super) struct SentEdit {
    pub place: Arc<SessionWorld>,
    pub change: FileChange,
    pub at: Arc<ResolvedPath>,
    /// The file that the edit was made for.
    pub before: Arc<CurrentFile>,
    pub wanted: Arc<str>,
    pub expectation: Expectation,
}

impl EditVerifier {
    pub fn of(sent: SentEdit) -> Self {
        Self(Arc::new(sent))
    }

    /// Waits for the client's reply; once the text has the edit, at most `MUTE`.
    pub async fn await_reply(
        &self,
        request: impl Future<Output = Result<ApplyReply, NoAnswer>>,
        mut watch: watch::Receiver<u64>,
    ) -> Result<ApplyReply, NoAnswer> {
        let landed = async {
            while !matches!(self.verify().await, Some(HunkCheck::Exactly)) {
                if watch.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::pin!(request);
        tokio::select! {
            biased;
            reply = &mut request => return reply,
            () = landed => {}
        }
        let silent = Err(NoAnswer::Silent(0));
        tokio::time::timeout(MUTE, request).await.unwrap_or(silent)
    }

    /// Waits until the text has, or once had, every hunk. Returns what the text has then, or `None` after
    /// `SETTLE`; after a refusal already after `REFUSED`.
    pub async fn await_hunks(
        &self,
        mut watch: watch::Receiver<u64>,
        reply: &Result<ApplyReply, NoAnswer>,
    ) -> Option<HunkCheck> {
        // A client that has refused will hardly send a change.
        let limit = if refused(reply) { REFUSED } else { SETTLE };
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            if let Some(check) = self.verify().await {
                return Some(check);
            }
            // Ends also if changes come faster than they can be checked.
            if tokio::time::Instant::now() >= deadline {
                return None;
            }
            match tokio::time::timeout_at(deadline, watch.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return None,
            }
        }
    }

    /// Checks the text on a thread that may block.
    async fn verify(&self) -> Option<HunkCheck> {
        let sent = self.0.clone();
        aside(move || sent.verify()).await
    }

    /// Whether the editor refused the edit or reported it as applied, and the text has not changed at all.
    pub async fn is_ignored(&self, reply: &Result<ApplyReply, NoAnswer>) -> bool {
        let sent = self.0.clone();
        (refused(reply) || is_called_applied(reply)) && !aside(move || sent.has_changed()).await
    }

    /// Returns the result of a try after which the text does not have the edit.
    pub async fn not_landed(&self, reply: Result<ApplyReply, NoAnswer>) -> ApplyAttempt {
        let sent = self.0.clone();
        aside(move || sent.not_landed(reply)).await
    }
}

/// Whether the editor reported the edit as applied.
pub(super) fn is_called_applied(reply: &Result<ApplyReply, NoAnswer>) -> bool {
    matches!(reply, Ok(ApplyReply { applied: true, .. }))
}

/// All of these functions block.
impl SentEdit {
    fn verify(&self) -> Option<HunkCheck> {
        // Read before the text: an edit that lands in between would look like an undo.
        let (seen, misplaced) = (self.expectation.seen(), self.expectation.misplaced());
        let now = current_file(&self.place, &self.at).ok().filter(|now| now.exists)?;
        // The text may be exactly the approved one, because the edit removed what the user had typed.
        if let Some(misplaced) = misplaced.as_ref().filter(|misplaced| misplaced.removed_user_text) {
            return Some(HunkCheck::Misplaced(misplaced.clone()));
        }
        // Editors differ in whether a byte order mark is part of the text.
        if *now.text == *self.wanted || split_bom(&now.text).1 == split_bom(&self.wanted).1 {
            return Some(HunkCheck::Exactly);
        }
        match (check_text(&now.text, &self.change), misplaced) {
            (EditCheck::Landed, None) => Some(HunkCheck::Otherwise),
            (EditCheck::Landed, Some(_)) if !seen => Some(HunkCheck::Otherwise),
            (_, Some(misplaced)) => Some(HunkCheck::Misplaced(misplaced)),
            (EditCheck::NotLanded, None) if seen => Some(HunkCheck::Undone),
            (EditCheck::NotLanded | EditCheck::Unclear, None) => seen.then_some(HunkCheck::Otherwise),
        }
    }

    /// Whether the text or its version has changed since the edit was made.
    fn has_changed(&self) -> bool {
        let now = current_file(&self.place, &self.at);
        now.is_ok_and(|now| now.text != self.before.text || now.open != self.before.open)
    }

    fn not_landed(&self, reply: Result<ApplyReply, NoAnswer>) -> ApplyAttempt {
        let now = current_file(&self.place, &self.at);
        let landed = now.map(|now| self.new_hunks(&now.text)).unwrap_or_default();
        if !landed.is_empty() {
            return ApplyAttempt::Partly(landed);
        }
        let in_doubt = !matches!(reply, Ok(ApplyReply { applied: false, .. }) | Err(NoAnswer::Unknown));
        let stale = self.has_changed() && !matches!(reply, Err(NoAnswer::Silent(_) | NoAnswer::Gone));
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

    /// Returns the ids of the hunks in the text, if at least one was not there before the edit.
    fn new_hunks(&self, now: &str) -> Vec<String> {
        let hunks = &self.change.hunks;
        let (then, now) = (present_all(&self.before.text, hunks), present_all(now, hunks));
        let landed = |presence: &Presence| *presence == Presence::Landed;
        if !then.iter().zip(&now).any(|(then, now)| !landed(then) && landed(now)) {
            return Vec::new();
        }
        let present = hunks.iter().zip(&now).filter(|(_, now)| landed(now));
        present.map(|(hunk, _)| hunk.id.clone()).collect()
    }
}
