//! The wire formats the model double speaks, told apart by the path that is asked for.
//!
//! Only writes; what a request says is for the tests to judge. A further
//! format is a row in `ALL` and a file of its own.

mod chat;
mod messages;
mod responses;

use super::said::Said;

/// One wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
}

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::Chat, Dialect::Messages, Dialect::Responses];

    /// The end of the path its requests go to, below the `base_url`.
    pub fn path(self) -> &'static str {
        match self {
            Dialect::Chat => "chat/completions",
            Dialect::Messages => "messages",
            Dialect::Responses => "responses",
        }
    }

    /// The `wire` of a provider that speaks it, in the settings.
    pub fn wire(self) -> &'static str {
        match self {
            Dialect::Chat => "openai_chat",
            Dialect::Messages => "anthropic_messages",
            Dialect::Responses => "openai_responses",
        }
    }

    /// The header that has the key, and what stands before the key in it.
    pub fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Dialect::Chat | Dialect::Responses => ("authorization", "Bearer "),
            Dialect::Messages => ("x-api-key", ""),
        }
    }

    /// The dialect of the requests to a path; Chat Completions for a path nobody knows.
    pub fn of_path(path: &str) -> Dialect {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let known = Dialect::ALL.into_iter().find(|dialect| path.ends_with(&format!("/{}", dialect.path())));
        known.unwrap_or(Dialect::Chat)
    }

    /// The events of a stream, each as the bytes that are sent.
    pub(super) fn events(self, said: &Said) -> Vec<Vec<u8>> {
        match self {
            Dialect::Chat => chat::events(said),
            Dialect::Messages => messages::events(said),
            Dialect::Responses => responses::events(said),
        }
    }

    /// The answer all at once, for who asked for no stream.
    pub(super) fn whole(self, said: &Said) -> Vec<u8> {
        match self {
            Dialect::Chat => chat::whole(said),
            Dialect::Messages => messages::whole(said),
            Dialect::Responses => responses::whole(said),
        }
    }
}
