//! The wire formats the model double speaks, told apart by the path that is asked for.
//!
//! Only writes; what a request says is for the tests to judge.

mod chat;

use super::reply::Said;

/// One wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
}

impl Dialect {
    pub const ALL: [Dialect; 1] = [Dialect::Chat];

    /// The dialect of the requests to a path.
    pub fn of_path(_path: &str) -> Dialect {
        Dialect::Chat
    }

    /// The events of a stream, each as the bytes that are sent.
    pub(super) fn events(self, said: &Said) -> Vec<Vec<u8>> {
        match self {
            Dialect::Chat => chat::events(said),
        }
    }
}
