//! One prompt line, edited with `rustyline`.
//!
//! Never loses the text of a line that Ctrl-C ends, and never keeps a line that begins with a space in
//! the history.

use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use super::history::{History, MOST_ENTRIES};
use crate::cli::typed::PromptEnd;

/// The text of the line as it is typed. A backslash at its end continues it on the next line.
#[derive(Clone, Default)]
struct Draft(Arc<Mutex<String>>);

impl Draft {
    fn set(&self, text: &str) {
        text.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Hinter for Draft {
    type Hint = String;

    /// Returns no hint; it is called after each change of the line.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.set(line);
        None
    }
}

impl Validator for Draft {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let continues = context.input().ends_with('\\');
        Ok(if continues { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for Draft {
    type Candidate = String;
}

impl Highlighter for Draft {}
impl Helper for Draft {}

/// The line, with its history.
pub struct LineEditor {
    editor: Editor<Draft, MemHistory>,
    draft: Draft,
    history: History,
}

impl LineEditor {
    /// Returns `None` if the terminal cannot be used.
    pub fn new(history: History) -> Option<Self> {
        let config =
            Config::builder().max_history_size(MOST_ENTRIES).ok()?.history_ignore_space(true).build();
        let memory = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, memory).ok()?;
        let draft = Draft::default();
        editor.set_helper(Some(draft.clone()));
        for entry in history.entries() {
            editor.add_history_entry(entry).ok()?;
        }
        Some(LineEditor { editor, draft, history })
    }

    /// Reads a line that begins with this text.
    pub fn read(&mut self, initial: &str) -> PromptEnd {
        self.draft.set(initial);
        let read = self.editor.readline_with_initial("> ", (initial, ""));
        let draft = self.draft.take();
        match read {
            Ok(line) => {
                let text = line.replace("\\\n", "\n");
                self.keep(&text);
                PromptEnd::Entered(text)
            }
            Err(ReadlineError::Interrupted) => {
                self.keep(&draft);
                PromptEnd::Interrupted(draft)
            }
            Err(_) => PromptEnd::Left,
        }
    }

    fn keep(&mut self, text: &str) {
        let is_new = !text.trim().is_empty() && self.editor.add_history_entry(text).unwrap_or(false);
        if is_new {
            self.history.add(text);
        }
    }
}
