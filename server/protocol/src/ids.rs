//! Opaque ids. They are never timestamps (L02), and no program parses them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use ts_rs::TS;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The names of all id types, for the schema.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
    $(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
        #[serde(transparent)]
        #[ts(type = "string")]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    )*};
}

ids! {
    /// One conversation with its log. It is also the name of the session's folder.
    SessionId,
    /// One accepted prompt or continuation, up to its one final event.
    RunId,
    /// A message of the conversation: the user's or the model's.
    MessageId,
    /// One tool call. Adjutant makes this id; the provider's id differs.
    ToolCallId,
    /// A durable question. It cannot be guessed, because a client that names it may answer it.
    AskId,
    /// All edits of one tool call.
    ChangeSetId,
}
