//! The text that a document should get after Adjutant has sent an edit.
//!
//! Never changes a document. Each new text is compared, because a user who continues to type may change the expected
//! text at once.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use adjutant_core::text::document::{ContentChange, Document};
use adjutant_core::text::edit::{TextEdit, replaced};
use adjutant_core::text::position::{Encoding, Position, Range, offset_of};

use adjutant_host::uri;

/// The edits that were sent, and the text that should result.
pub struct ExpectedText {
    pub text: Arc<str>,
    /// The text that each of the edits replaces.
    pub replaced: Option<Vec<String>>,
    /// The version for which the edits were made; `None` for a document that is not open.
    pub version: Option<i32>,
    pub edits: Arc<[TextEdit]>,
}

impl ExpectedText {
    /// Whether the edits, applied unchanged to this text, remove text of the user. Text that they were made to replace
    /// does not count, nor text that they insert themselves, which they replace when they are applied twice.
    fn remove_user_text(&self, text: &str, encoding: Encoding) -> bool {
        let (Some(intended), Some(actual)) = (&self.replaced, replaced(text, &self.edits, encoding)) else {
            return true;
        };
        let mut each = intended.iter().zip(&actual).zip(self.edits.iter());
        each.any(|((intended, actual), edit)| {
            actual != intended && !edit.new_text.starts_with(actual.as_str())
        })
    }
}

/// An edit at the wrong place, made by an editor that ignores versions.
#[derive(Clone)]
pub struct MisplacedEdit {
    /// The text to which it was applied, with what the user had typed.
    pub before: String,
    pub after: String,
    /// Whether it removed text of the user.
    pub removed_user_text: bool,
}

/// The expected text of one document.
pub(super) struct ExpectedEdits {
    /// The path of the document, by the editor's URI.
    path: Option<PathBuf>,
    awaited: ExpectedText,
    seen: AtomicBool,
    misplaced: Mutex<Option<MisplacedEdit>>,
}

/// The handle of a comparison with one expected text; a drop ends it.
pub struct Expectation(Arc<ExpectedEdits>);

impl Expectation {
    /// Whether the document has had exactly that text at some time since.
    pub fn seen(&self) -> bool {
        self.0.seen.load(Ordering::SeqCst)
    }

    /// Returns the misplaced edit, if the edit was applied to another text than the one for which it was made.
    pub fn misplaced(&self) -> Option<MisplacedEdit> {
        self.0.misplaced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ExpectedEdits {
    pub(super) fn new(uri: &str, awaited: ExpectedText) -> (Weak<ExpectedEdits>, Expectation) {
        let expected = Arc::new(ExpectedEdits {
            path: uri::to_document_path(uri).ok(),
            awaited,
            seen: AtomicBool::new(false),
            misplaced: Mutex::new(None),
        });
        (Arc::downgrade(&expected), Expectation(expected))
    }

    fn is_of(&self, document: &Document) -> bool {
        uri::to_document_path(document.uri()).ok() == self.path
    }

    /// Notes whether the document has the expected text.
    pub(super) fn check(&self, document: &Document) {
        let Ok(text) = document.text() else { return };
        let expected = &*self.awaited.text;
        if text.len_bytes() == expected.len() && *text == expected && self.is_of(document) {
            self.seen.store(true, Ordering::SeqCst);
        }
    }

    /// Checks whether one change of a document is the edits as they were sent, applied to a later version than the one
    /// for which their positions were made. Notes a misplaced edit if so.
    pub(super) fn check_misplaced(&self, before: &Document, after: &Document, encoding: Encoding) {
        let stale = self.awaited.version.is_some_and(|version| version != before.version());
        let (Ok(old), Ok(new)) = (before.text(), after.text()) else { return };
        if !stale || !self.is_of(after) {
            return;
        }
        let explains = |ends: bool| {
            let is_outside = |position| offset_of(old, position, encoding).is_ok();
            let shifted = |position: Position| outside_characters(position, is_outside, ends);
            let change = |edit: &TextEdit| {
                let range = Range { start: shifted(edit.range.start), end: shifted(edit.range.end) };
                ContentChange { range: Some(range), text: edit.new_text.clone() }
            };
            // From the end, so that earlier positions stay valid.
            let changes: Vec<ContentChange> = self.awaited.edits.iter().rev().map(change).collect();
            let mut copy = before.clone();
            copy.apply_changes(after.version(), &changes, encoding).is_ok()
                && copy.text().is_ok_and(|text| text == new)
        };
        if explains(false) || explains(true) {
            let before = old.to_string();
            let removed_user_text = self.awaited.remove_user_text(&before, encoding);
            let misplaced = MisplacedEdit { before, after: new.to_string(), removed_user_text };
            *self.misplaced.lock().unwrap_or_else(PoisonError::into_inner) = Some(misplaced);
        }
    }
}

/// Returns a valid position for one that falls inside a character, because it was made for another text. Editors move
/// it to the beginning of that character, or to its end (`ends`).
fn outside_characters(position: Position, is_outside: impl Fn(Position) -> bool, ends: bool) -> Position {
    // A character has at most four units in any encoding.
    let near = (0..4).map(|by| {
        let unit = position.character;
        let character = if ends { unit.saturating_add(by) } else { unit.saturating_sub(by) };
        Position { character, ..position }
    });
    near.into_iter().find(|near| is_outside(*near)).unwrap_or(position)
}
