//! Opaque ids. Never timestamps (L02), never parsed by anybody.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use ts_rs::TS;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The names of all, for the schema.
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
    /// One conversation with its log; names its folder.
    SessionId,
    /// One accepted prompt or continuation, to its one terminal event.
    RunId,
    /// A message of the conversation: the user's or the model's.
    MessageId,
    /// One tool call; ours, not the provider's.
    ToolCallId,
    /// A durable question; unguessable, because naming it is the right to answer it.
    AskId,
    /// All edits of one tool call.
    ChangeSetId,
}
