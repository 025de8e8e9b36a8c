//! Who makes a change: the run, its model, and the prompts that the model had read.
//!
//! Never holds a whole prompt: only enough of it to know it again.

use serde::{Deserialize, Serialize};

use crate::record::RunId;
use crate::session::Run;
use crate::text::start_of;

/// Bytes of a prompt; more are cut with `…`.
const MOST_BYTES: usize = 600;
/// Prompts of a run: its first one and the newest of the others.
const MOST_PROMPTS: usize = 3;

/// What made a change, as it was when the change was proposed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maker {
    pub run: RunId,
    /// The title of the run.
    pub title: String,
    /// `provider/model`.
    pub model: String,
    pub prompts: ReadPrompts,
}

impl Maker {
    /// Returns what makes the changes of the present turn of a run.
    pub fn of(run: &Run) -> Self {
        let (id, title, model) = (run.id.clone(), run.title.clone(), run.current_model().to_owned());
        Self { run: id, title, model, prompts: run.prompts.read.clone() }
    }
}

/// The prompts of a run, in the user's words, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadPrompts {
    pub texts: Vec<String>,
    /// How many prompts after the first one are left out.
    pub left_out: u32,
}

impl ReadPrompts {
    fn note(&mut self, text: String) {
        if self.texts.len() == MOST_PROMPTS {
            self.texts.remove(1);
            self.left_out = self.left_out.saturating_add(1);
        }
        self.texts.push(text);
    }
}

/// What begins the problems that the editor reported, after the words of a prompt that begins at a place.
pub const REPORTED: &str = "\n\nReported there:\n";
/// What begins the user's place, after both.
pub const PLACE_OF_USER: &str = "\n\nThe user is ";

/// What begins the resources that the user attached, after all of that.
pub const ATTACHED: &str = "\n\nThe user attached, as the editor has it now:\n";

/// Splits a prompt into its words and what was added to them, which has this many bytes.
pub fn split_words(prompt: &str, added: Option<u32>) -> (&str, &str) {
    let at = match added {
        Some(added) => prompt.len().saturating_sub(added as usize),
        // An older log, which did not record it.
        None => [ATTACHED, PLACE_OF_USER, REPORTED]
            .into_iter()
            .fold(prompt.len(), |end, mark| prompt[..end].rfind(mark).unwrap_or(end)),
    };
    // A damaged log may name a byte within a character.
    prompt.split_at_checked(at).unwrap_or((prompt, ""))
}

/// The prompts of an open run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunPrompts {
    /// Those that the model had when the present turn began.
    pub read: ReadPrompts,
    /// Those that came after that.
    waiting: ReadPrompts,
}

impl RunPrompts {
    /// Notes a prompt, which the next turn reads. One without words, such as a picture alone, says nothing.
    pub fn note(&mut self, text: &str) {
        if !text.trim().is_empty() {
            let start = start_of(text.trim(), MOST_BYTES);
            let cut = if start.len() < text.trim().len() { "…" } else { "" };
            self.waiting.note(format!("{start}{cut}"));
        }
    }

    /// Notes that a turn has begun with all prompts so far.
    pub fn begin_turn(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.texts.into_iter().for_each(|text| self.read.note(text));
        self.read.left_out = self.read.left_out.saturating_add(waiting.left_out);
    }

    /// Returns the prompts of a run that continues this one: the model reads all of them in its first turn.
    #[must_use]
    pub fn continued(mut self) -> Self {
        self.begin_turn();
        self
    }
}
