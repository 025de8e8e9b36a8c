//! Which documents are saved after an edit of the agent: the setting `edits.save` as a table.
//!
//! Never saves anything.

/// What happens to an open document after an edit, by the setting `edits.save`. From strict to loose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EditsSave {
    /// It stays unsaved.
    Never,
    /// It is saved if nothing in it was unsaved before.
    #[default]
    AsLeft,
    /// It is saved, with whatever else is unsaved in it.
    Always,
}

/// How the user left a document before an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentLeft {
    /// Not open.
    Closed,
    /// Open, with nothing unsaved.
    Saved,
    /// Open, with unsaved text of the user.
    Unsaved,
}

/// Whether the editor is asked to save a document after an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveAfter {
    No,
    /// Only while it has nothing but the edit: text that is typed meanwhile makes it the user's.
    IfUntouched,
    Yes,
}

impl EditsSave {
    pub const ALL: [EditsSave; 3] = [EditsSave::Never, EditsSave::AsLeft, EditsSave::Always];

    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            EditsSave::Never => "never",
            EditsSave::AsLeft => "as-left",
            EditsSave::Always => "always",
        }
    }

    /// Returns the value with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|saves| saves.name() == name)
    }

    /// Returns whether a document is saved after an edit, an undo or a restore.
    ///
    /// A closed one is saved whatever the setting says: an editor opens it only for the edit, and its file was without
    /// unsaved text.
    pub fn after(self, left: DocumentLeft) -> SaveAfter {
        match (self, left) {
            (EditsSave::Always, DocumentLeft::Saved | DocumentLeft::Unsaved) => SaveAfter::Yes,
            (EditsSave::AsLeft, DocumentLeft::Saved) | (_, DocumentLeft::Closed) => SaveAfter::IfUntouched,
            (EditsSave::AsLeft, DocumentLeft::Unsaved)
            | (EditsSave::Never, DocumentLeft::Saved | DocumentLeft::Unsaved) => SaveAfter::No,
        }
    }

    /// Returns why the editor is asked to save a document, for the request.
    pub fn reason(self) -> &'static str {
        match self {
            EditsSave::Always => "the setting edits.save says so",
            EditsSave::Never | EditsSave::AsLeft => "nothing else in the file was unsaved",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n06_every_file_stays_as_it_was_left_unless_the_setting_says_otherwise() {
        let row = |saves: EditsSave| {
            [DocumentLeft::Closed, DocumentLeft::Saved, DocumentLeft::Unsaved].map(|left| saves.after(left))
        };
        use SaveAfter::{IfUntouched, No, Yes};
        assert_eq!(row(EditsSave::Never), [IfUntouched, No, No]);
        assert_eq!(row(EditsSave::AsLeft), [IfUntouched, IfUntouched, No]);
        assert_eq!(row(EditsSave::Always), [IfUntouched, Yes, Yes]);
        assert_eq!(EditsSave::default(), EditsSave::AsLeft);
    }
}
