//! The end of a conversation that is copied into a new session.
//!
//! Never decides about the session that is copied: it goes on as if nothing had happened.

use super::edited::with_made;
use super::ending::{open_calls, result};
use crate::policy::choices::Choices;
use crate::record::{CallEnd, Event, MessageId, Outcome, StopReason};
use crate::session::{CallPhase, Session};
use crate::tool::MAX_TITLE;

/// What the model reads of a call that had begun when its conversation was copied.
const WENT_ON: &str = "Interrupted: the conversation was copied while this ran. It may have ended in the other copy, and its \
                       outcome is unknown here. Check what happened before you do it again.";
/// What the model reads of a call that had not begun.
const NOT_RUN: &str = "Not run: the conversation was copied before this began. In the other copy it may have run since; check \
                       before you do it again.";

/// Returns the events that end the copy of a conversation, given the session as far as it was copied: each open call gets a result,
/// an open run ends, and what is not said or done in the conversation stays with the other session.
pub fn forked(session: &Session, title: String, choices: Choices, before: Option<MessageId>) -> Vec<Event> {
    let mut events = Vec::new();
    for call in open_calls(session) {
        let ended = match call.phase {
            CallPhase::Started { .. } => result(CallEnd::Interrupted, WENT_ON, "copied while it ran"),
            _ => result(CallEnd::Cancelled, NOT_RUN, "not run in this copy"),
        };
        let result = with_made(session, call, ended);
        events.push(Event::ToolFinished { call: call.id.clone(), result });
    }
    events.extend(session.open_run().map(|run| Event::RunEnded {
        run: run.id.clone(),
        outcome: Outcome::Cancelled,
        stop: StopReason::Cancelled,
        summary: None,
    }));
    events.push(Event::Forked { title, choices, before });
    events
}

/// Returns the title of a fork of a session with this title: it is counted, as copies of a file are.
pub fn fork_title(title: &str) -> String {
    let (stem, number) = stem_and_number(title);
    let mark = match number {
        0 => " (fork)".to_owned(),
        number => format!(" (fork {})", number.saturating_add(1)),
    };
    // Lists show the end of no longer title than this.
    let room = MAX_TITLE.saturating_sub(mark.chars().count());
    let stem = match stem.char_indices().nth(room) {
        Some((end, _)) => stem.get(..end).unwrap_or(stem).trim_end(),
        None => stem,
    };
    format!("{stem}{mark}")
}

/// Splits what [`fork_title`] has added off a title; 0 if it is no fork.
fn stem_and_number(title: &str) -> (&str, u32) {
    let of_mark = || {
        let (stem, mark) = title.strip_suffix(')')?.rsplit_once(" (fork")?;
        let number = match mark {
            "" => 1,
            number => number.strip_prefix(' ')?.parse().ok()?,
        };
        Some((stem, number))
    };
    of_mark().unwrap_or((title, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p05_forks_are_counted_in_their_title_which_stays_short() {
        for (title, fork) in [
            ("Mend it", "Mend it (fork)"),
            ("Mend it (fork)", "Mend it (fork 2)"),
            ("Mend it (fork 2)", "Mend it (fork 3)"),
            ("Mend it (fork x)", "Mend it (fork x) (fork)"),
            ("Mend (fork) it", "Mend (fork) it (fork)"),
            ("", " (fork)"),
        ] {
            assert_eq!(fork_title(title), fork);
        }
        let long = fork_title(&"ö".repeat(MAX_TITLE));
        assert_eq!(long.chars().count(), MAX_TITLE);
        assert!(long.ends_with("ö (fork)"), "{long}");
    }
}
