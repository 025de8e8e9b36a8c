//! The wire formats of the model double; the path of a request selects one.
//!
//! Never judges a request; that is for the tests. A further format is a row in `ALL` and its own file.

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

    /// Returns the path of its requests below the `base_url`.
    pub fn path(self) -> &'static str {
        match self {
            Dialect::Chat => "chat/completions",
            Dialect::Messages => "messages",
            Dialect::Responses => "responses",
        }
    }

    /// Returns the value of `wire` in the settings of a provider.
    pub fn wire(self) -> &'static str {
        match self {
            Dialect::Chat => "openai_chat",
            Dialect::Messages => "anthropic_messages",
            Dialect::Responses => "openai_responses",
        }
    }

    /// Returns the header of the key and the prefix before the key.
    pub fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Dialect::Chat | Dialect::Responses => ("authorization", "Bearer "),
            Dialect::Messages => ("x-api-key", ""),
        }
    }

    /// Returns the dialect of a request's path; Chat Completions for an unknown path.
    pub fn of_path(path: &str) -> Dialect {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let known = Dialect::ALL.into_iter().find(|dialect| path.ends_with(&format!("/{}", dialect.path())));
        known.unwrap_or(Dialect::Chat)
    }

    /// Returns the events of a stream, each as its bytes.
    pub(super) fn events(self, said: &Said) -> Vec<Vec<u8>> {
        match self {
            Dialect::Chat => chat::events(said),
            Dialect::Messages => messages::events(said),
            Dialect::Responses => responses::events(said),
        }
    }

    /// Returns the answer as one document, for a request without a stream.
    pub(super) fn whole(self, said: &Said) -> Vec<u8> {
        match self {
            Dialect::Chat => chat::whole(said),
            Dialect::Messages => messages::whole(said),
            Dialect::Responses => responses::whole(said),
        }
    }
}
