//! Tools as data: what each is called, what it takes, what it does to the world.
//!
//! Never runs one and never reads the world. Which tools there are, and what they do, is said by whoever runs
//! them: a [`Toolset`] is a value.

mod given;
mod schema;
mod set;
mod strict;

use std::borrow::Cow;

use crate::policy::cause::Reason;
pub use crate::record::Effect;
use crate::record::Mode;
pub use given::Arguments;
pub use set::{SameName, Toolset};
pub use strict::nearest;
pub(crate) use strict::nearest_with_distance;

/// The most bytes of a path.
pub const MAX_PATH: usize = 4096;
/// The most bytes of a glob or a regular expression.
pub const MAX_PATTERN: usize = 1024;
/// The most bytes of a command line.
pub const MAX_COMMAND: usize = 16 * 1024;
/// The longest time a command may ask for, in seconds.
pub const MAX_TIMEOUT_SECONDS: u64 = 3600;
/// The most bytes of a question, a summary or a reason.
pub const MAX_PROSE: usize = 64 * 1024;
/// The most bytes of all arguments of a call that carries no file text.
pub const MAX_ARGUMENTS: usize = 1024 * 1024;
/// The most bytes of all arguments of a call that carries file text: 8 MiB of text, and what its
/// quotes and line ends become in JSON.
pub const MAX_EDIT_ARGUMENTS: usize = 12 * 1024 * 1024;
/// The most characters of a title or a summary.
pub const MAX_TITLE: usize = 80;

/// One tool.
#[derive(Clone, Debug)]
pub struct Tool {
    pub name: Cow<'static, str>,
    pub effect: Effect,
    /// What the model is told, in one or two sentences.
    pub description: Cow<'static, str>,
    /// In the order of the schema.
    pub parameters: Cow<'static, [Parameter]>,
    /// The most bytes of all arguments of one call.
    pub most_bytes: usize,
    /// Refuses arguments that are each as they should be, and not together; the sentence is for the model.
    pub check: fn(&Arguments) -> Result<(), Reason>,
    /// Names a call to the user, in one line; cut to [`MAX_TITLE`] characters where it is shown.
    pub title: fn(&Arguments) -> String,
}

impl Tool {
    /// Whether a mode offers it: nothing that changes or runs something is there in [`Mode::Ask`] (S39).
    pub fn is_in(&self, mode: Mode) -> bool {
        match mode {
            Mode::Code => true,
            Mode::Ask => !matches!(self.effect, Effect::OwnEdit | Effect::Opaque),
        }
    }
}

/// One argument a tool takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: Cow<'static, str>,
    pub kind: ArgumentType,
    pub description: Cow<'static, str>,
    pub required: bool,
}

impl Parameter {
    /// An argument that has to be given.
    pub const fn needed(name: &'static str, kind: ArgumentType, description: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), kind, description: Cow::Borrowed(description), required: true }
    }

    /// An argument that may be left out; models also write an absent one as null.
    pub const fn optional(name: &'static str, kind: ArgumentType, description: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), kind, description: Cow::Borrowed(description), required: false }
    }
}

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentType {
    /// 1 to [`MAX_PATH`] bytes without control characters.
    Path,
    /// Any text, also none.
    Text,
    /// 1 to this many bytes.
    Bounded(usize),
    /// A whole number, from the first to the second.
    Number(u64, u64),
    Flag,
    /// Up to 10 texts of 1 to 1000 bytes.
    Texts,
}
