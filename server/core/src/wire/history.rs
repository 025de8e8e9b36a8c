//! Which prompts a user can bring back, and in which words.
//!
//! Never returns words of a template, of comments or of an editor: only what a person wrote.

use crate::record::Event;
use crate::session::maker::split_words;

/// The most bytes of a prompt that is kept in a history.
pub const MOST_PROMPT: usize = 16 << 10;

/// Returns what the user wrote, if the event is a prompt for the history. A prompt that begins with a blank is for none.
pub fn own_words(event: &Event) -> Option<&str> {
    let Event::Prompted { text, worded: false, added, .. } = event else { return None };
    let words = split_words(text, *added).0.trim_end();
    let is_kept =
        words.len() <= MOST_PROMPT && words.chars().next().is_some_and(|first| !first.is_whitespace());
    is_kept.then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompted(text: &str, worded: bool, added: Option<u32>) -> Event {
        Event::Prompted {
            run: "run-1".into(),
            message: "msg-1".into(),
            text: text.into(),
            images: Vec::new(),
            steer: false,
            worded,
            added,
            key: None,
        }
    }

    #[test]
    fn p27_the_history_has_what_the_user_wrote_and_nothing_that_was_added() {
        let long = "x".repeat(MOST_PROMPT + 1);
        let looks_added = "Mend it\n\nThe user is in a hurry";
        for (text, worded, added, wanted) in [
            ("Mend it\nall of it\n", false, Some(0), Some("Mend it\nall of it")),
            ("Mend it\n\nReported there:\n- error: no\n\nThe user is in a.py.", false, None, Some("Mend it")),
            (looks_added, false, None, Some("Mend it")),
            (looks_added, false, Some(0), Some(looks_added)),
            ("Mend it\n\nThe user is in a.py.", false, Some(22), Some("Mend it")),
            ("Explain the whole of a.py", true, Some(0), None),
            (" not for the history", false, Some(0), None),
            ("\n", false, None, None),
            ("", false, None, None),
            (&long, false, None, None),
            (&long[1..], false, None, Some(&long[1..])),
        ] {
            assert_eq!(own_words(&prompted(text, worded, added)), wanted, "{text:?}");
        }
    }
}
