//! The text of one message on a page that can only grow.
//!
//! Never prints a piece again that is already on the page, except the one word at
//! which two texts differ.

/// What to print now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Print {
    Nothing,
    More(String),
    /// The text from the point of divergence, after a mark.
    Again {
        /// An attempt broke off before; otherwise a piece was not streamed.
        broke_off: bool,
        text: String,
    },
}

/// One message: the printed text, and the attempt that is being received.
#[derive(Clone, Debug, Default)]
pub struct MessageView {
    printed: String,
    /// The attempt after one that broke off, until it has caught up.
    attempt: Option<String>,
}

impl MessageView {
    /// Whether no text has come yet.
    pub fn is_new(&self) -> bool {
        self.printed.is_empty() && self.attempt.is_none()
    }

    /// Ends the attempt; the next text begins again.
    pub fn broke_off(&mut self) {
        if !self.printed.is_empty() {
            self.attempt = Some(String::new());
        }
    }

    /// Adds a piece of the stream.
    pub fn chunk(&mut self, text: &str) -> Print {
        let Some(attempt) = &mut self.attempt else {
            self.printed.push_str(text);
            return more(text);
        };
        attempt.push_str(text);
        if self.printed.starts_with(attempt.as_str()) {
            return Print::Nothing;
        }
        let attempt = self.attempt.take().unwrap_or_default();
        self.continue_text(attempt, true)
    }

    /// Ends the message with its finished text, which is the valid one.
    pub fn whole(mut self, text: &str) -> Print {
        let broke_off = self.attempt.is_some();
        if self.printed == text { Print::Nothing } else { self.continue_text(text.to_owned(), broke_off) }
    }

    fn continue_text(&mut self, text: String, broke_off: bool) -> Print {
        let print = match text.strip_prefix(self.printed.as_str()) {
            Some(rest) => more(rest),
            None => {
                let rest = &text[point(&self.printed, &text)..];
                Print::Again { broke_off, text: rest.to_owned() }
            }
        };
        self.printed = text;
        print
    }
}

fn more(text: &str) -> Print {
    if text.is_empty() { Print::Nothing } else { Print::More(text.to_owned()) }
}

/// Returns the byte where the first word begins that differs from the printed text.
pub(super) fn point(printed: &str, text: &str) -> usize {
    let same = printed.chars().zip(text.chars()).take_while(|(old, new)| old == new);
    let same: usize = same.map(|(old, _)| old.len_utf8()).sum();
    let start = text[..same].trim_end_matches(|character: char| !character.is_whitespace());
    start.len()
}
