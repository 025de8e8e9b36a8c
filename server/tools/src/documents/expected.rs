//! What a document is waited to become after an edit of ours was sent.
//!
//! Never changes a document; it looks at each text as it comes by, because a
//! user who types on at once may hide in the next one what was there in one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use adjutant_core::text::document::{ContentChange, Document};
use adjutant_core::text::edit::{TextEdit, replaced};
use adjutant_core::text::position::{Encoding, Position, Range, offset_of};

use adjutant_host::uri;

/// What was sent, and what should come of it.
pub struct ExpectedText {
    pub text: Arc<str>,
    /// What each of the edits replaces.
    pub replaced: Option<Vec<String>>,
    /// The version the edits were made for; `None` for a document that is not open.
    pub version: Option<i32>,
    pub edits: Arc<[TextEdit]>,
}

impl ExpectedText {
    /// Whether the edits, made as they are in this text, replace what is neither what they were made to replace
    /// nor what they bring themselves, as where they are made twice.
    fn removes_from(&self, text: &str, encoding: Encoding) -> bool {
        let (Some(meant), Some(now)) = (&self.replaced, replaced(text, &self.edits, encoding)) else {
            return true;
        };
        let mut each = meant.iter().zip(&now).zip(self.edits.iter());
        each.any(|((meant, now), edit)| now != meant && !edit.new_text.starts_with(now.as_str()))
    }
}

/// An edit that an editor which ignores versions made at the wrong place.
#[derive(Clone)]
pub struct MisplacedEdit {
    /// The text it came upon, the user's typing in it.
    pub before: String,
    pub after: String,
    /// It replaced other text than it was made to: the user's.
    pub took: bool,
}

/// A text that one document is waited to have.
pub(super) struct ExpectedEdits {
    /// Where the document is, by the editor's name.
    path: Option<PathBuf>,
    awaited: ExpectedText,
    seen: AtomicBool,
    misplaced: Mutex<Option<MisplacedEdit>>,
}

/// Waits for one text of one document; the wait ends when it is dropped.
pub struct Expectation(Arc<ExpectedEdits>);

impl Expectation {
    /// Whether the document had exactly that text at some time since.
    pub fn seen(&self) -> bool {
        self.0.seen.load(Ordering::SeqCst)
    }

    /// The texts around the edit, if it was made for another text than the one it came upon.
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

    pub(super) fn meet(&self, document: &Document) {
        let Ok(text) = document.text() else { return };
        let wanted = &*self.awaited.text;
        if text.len_bytes() == wanted.len() && *text == wanted && self.is_of(document) {
            self.seen.store(true, Ordering::SeqCst);
        }
    }

    /// Compares one step of a document with the edits as they were sent: their places meant the
    /// version they were made for, and this was a later one.
    pub(super) fn compare(&self, before: &Document, after: &Document, encoding: Encoding) {
        let stale = self.awaited.version.is_some_and(|version| version != before.version());
        let (Ok(old), Ok(new)) = (before.text(), after.text()) else { return };
        if !stale || !self.is_of(after) {
            return;
        }
        let made = |ends: bool| {
            let is_outside = |place| offset_of(old, place, encoding).is_ok();
            let place = |place: Position| outside_characters(place, is_outside, ends);
            let change = |edit: &TextEdit| {
                let range = Range { start: place(edit.range.start), end: place(edit.range.end) };
                ContentChange { range: Some(range), text: edit.new_text.clone() }
            };
            // From the end, so that the places before stay what they are.
            let changes: Vec<ContentChange> = self.awaited.edits.iter().rev().map(change).collect();
            let mut blind = before.clone();
            blind.apply_changes(after.version(), &changes, encoding).is_ok()
                && blind.text().is_ok_and(|text| text == new)
        };
        if made(false) || made(true) {
            let before = old.to_string();
            let took = self.awaited.removes_from(&before, encoding);
            let misplaced = MisplacedEdit { before, after: new.to_string(), took };
            *self.misplaced.lock().unwrap_or_else(PoisonError::into_inner) = Some(misplaced);
        }
    }
}

/// A place that is inside a character of another text than it was made for, as editors take it: at the beginning
/// of that character, or at its end.
fn outside_characters(place: Position, is_outside: impl Fn(Position) -> bool, ends: bool) -> Position {
    // No character has more units than a UTF-8 one has bytes.
    let near = (0..4).map(|by| match ends {
        true => Position { character: place.character.saturating_add(by), ..place },
        false => Position { character: place.character.saturating_sub(by), ..place },
    });
    near.into_iter().find(|near| is_outside(*near)).unwrap_or(place)
}
