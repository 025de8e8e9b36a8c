//! Comments on hunks, collected until they are sent together.
//!
//! Never sends them: a prompt does, and its record ends the round.

use std::collections::BTreeMap;

use adjutant_core::machine::accept::Refusal;
use adjutant_core::machine::input::{HunkComment, Input};
use adjutant_core::text::edit::lines;
use adjutant_core::text::trace::{HunkText, Side};
use adjutant_core::wire::round::RoundComment;
use adjutant_protocol::review::ReviewCommentResult;

use super::SessionTask;
use super::mailbox::Reply;
use super::recording::RecordError;
use crate::aside::aside;
use crate::reviews::{FileChanges, text_now};

impl SessionTask {
    pub(super) async fn comment(&mut self, comment: HunkComment, reply: Reply<ReviewCommentResult>) {
        match self.record_input(Input::Comment(comment)).await {
            Ok(_) => {}
            // It is so already.
            Err(RecordError::Refused(Refusal::Nothing)) if self.stopped.is_none() => {}
            Err(why) => {
                let _ = reply.send(Err(self.not_recorded(why)));
                return;
            }
        }
        let waiting = u32::try_from(self.session.applied.commented().len()).unwrap_or(u32::MAX);
        let barrier = self.barrier;
        self.replies.after_durable(barrier, move |durable| {
            let _ = reply.send(durable.map(|()| ReviewCommentResult { waiting }));
        });
    }

    /// Returns the comments that wait, in the order of their files and lines, each with what it is about now.
    pub(super) async fn comments(&mut self) -> Vec<RoundComment> {
        let mut by_file: BTreeMap<String, Vec<RoundComment>> = BTreeMap::new();
        for (change, hunk, text) in self.session.applied.commented() {
            let own = change.lines_of(hunk);
            let comment = HunkComment {
                change_set: change.change_set.clone(),
                hunk: hunk.id.clone(),
                text: text.to_owned(),
            };
            by_file.entry(change.target.clone()).or_default().push(RoundComment {
                comment,
                path: change.path.clone(),
                lines: None,
                removed: own.map(|own| own.removed.concat()).unwrap_or_default(),
                text: own.map(|own| own.inserted.concat()).unwrap_or_default(),
            });
        }
        let place = self.place.clone();
        let find = move || {
            let mut found = Vec::new();
            for (target, mut comments) in by_file {
                let changes = FileChanges::read(&place.world.reviews, place.world.reviews.of_file(&target));
                let now = changes.changes.last().and_then(|owned| text_now(&place.world.documents, owned));
                if let Some(now) = now {
                    let (traces, all): (_, Vec<&str>) = (changes.trace(&now), lines(&now).collect());
                    for about in &mut comments {
                        let HunkComment { change_set, hunk, .. } = &about.comment;
                        let numbers = changes.number_of(&place.id, change_set, hunk);
                        let trace = numbers.and_then(|(change, hunk)| traces.get(change)?.get(hunk));
                        let is_there =
                            |found: HunkText| !matches!(found, HunkText::Gone | HunkText::Is(Side::Before));
                        if let Some(trace) = trace.filter(|trace| is_there(trace.found)) {
                            about.text = all.get(trace.lines.clone()).unwrap_or_default().concat();
                            about.lines = Some(trace.lines.clone());
                        }
                    }
                }
                comments.sort_by_key(|about| about.lines.as_ref().map_or(usize::MAX, |lines| lines.start));
                found.extend(comments);
            }
            found
        };
        aside(find).await
    }
}
