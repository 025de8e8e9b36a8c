//! Which prompts a user can bring back, and in which words.
//!
//! Never returns words of a template, of comments or of an editor: only what a person wrote.

use crate::record::Event;
use crate::session::maker::words_of;

/// The most bytes of a prompt that is kept in a history.
pub const MOST_PROMPT: usize = 16 << 10;

/// Returns what the user wrote, if the event is a prompt for the history. A prompt that begins with a blank is for none.
pub fn own_words(event: &Event) -> Option<&str> {
    let Event::Prompted { text, worded: false, .. } = event else { return None };
    let words = words_of(text).trim_end();
    let is_kept =
        words.len() <= MOST_PROMPT && words.chars().next().is_some_and(|first| !first.is_whitespace());
    is_kept.then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompted(text: &str, worded: bool) -> Event {
        Event::Prompted {
            run: "run-1".into(),
            message: "msg-1".into(),
            text: text.into(),
            images: Vec::new(),
            steer: false,
            worded,
            key: None,
        }
    }

    #[test]
    fn p27_the_history_has_what_the_user_wrote_and_nothing_that_was_added() {
        let long = "x".repeat(MOST_PROMPT + 1);
        for (text, worded, wanted) in [
            ("Mend it\nall of it\n", false, Some("Mend it\nall of it")),
            ("Mend it\n\nReported there:\n- error: no\n\nThe user is in a.py.", false, Some("Mend it")),
            ("Explain the whole of a.py", true, None),
            (" not for the history", false, None),
            ("\n", false, None),
            ("", false, None),
            (&long, false, None),
            (&long[1..], false, Some(&long[1..])),
        ] {
            assert_eq!(own_words(&prompted(text, worded)), wanted, "{text:?}");
        }
    }
}
