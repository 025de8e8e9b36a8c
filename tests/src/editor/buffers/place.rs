//! Places in a text, as a test names them.
//!
//! Never an encoded position: these exist on the wire alone.

/// A place in a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Start,
    End,
    /// Before the first occurrence of a text.
    Before(String),
    /// After the first occurrence of a text.
    After(String),
    /// A byte offset.
    At(usize),
}

impl Place {
    /// Before the first occurrence of `text`.
    pub fn before(text: &str) -> Place {
        Place::Before(text.to_owned())
    }

    /// After the first occurrence of `text`.
    pub fn after(text: &str) -> Place {
        Place::After(text.to_owned())
    }

    /// Returns the byte offset of this place, if it exists.
    pub fn offset(&self, text: &str) -> Option<usize> {
        match self {
            Place::Start => Some(0),
            Place::End => Some(text.len()),
            Place::Before(needle) => text.find(needle.as_str()),
            Place::After(needle) => text.find(needle.as_str()).map(|at| at + needle.len()),
            Place::At(offset) => text.is_char_boundary(*offset).then_some(*offset),
        }
    }
}

impl From<usize> for Place {
    fn from(offset: usize) -> Place {
        Place::At(offset)
    }
}
