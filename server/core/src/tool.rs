//! Tools as data: the name of each, its arguments, and its effect on the world.
//!
//! Never runs a tool and never reads the world. The crate that runs the tools defines them: a [`Toolset`] is a value.

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
pub(crate) use strict::nearest_with_distance;
pub use strict::{fields_of, nearest};

/// Before the id of a call: a path for `read_file` that means the whole output of that command.
pub const OUTPUT_OF: &str = "output:";
/// Before the name of a skill: a path for `read_file` that means its text as it was when the run began (S47).
pub const SKILL_OF: &str = "skill:";
/// The name of the tool that edits several files by a patch.
pub const APPLY_PATCH: &str = "apply_patch";
/// The argument of a tool that takes one text, where a model writes the text without JSON around it.
pub const FREE_INPUT: &str = "input";
/// The most bytes of a path.
pub const MAX_PATH: usize = 4096;
/// The most bytes of a glob or a regular expression.
pub const MAX_PATTERN: usize = 1024;
/// The most bytes of a command line.
pub const MAX_COMMAND: usize = 16 * 1024;
/// The longest time limit that a call may set for a command, in seconds.
pub const MAX_TIMEOUT_SECONDS: u64 = 3600;
/// The most bytes of a question, a summary or a reason.
pub const MAX_PROSE: usize = 64 * 1024;
/// The most bytes of all arguments of a call without file text.
pub const MAX_ARGUMENTS: usize = 1024 * 1024;
/// The most bytes of all arguments of a call with file text: 8 MiB of text, and the escapes of its
/// quotes and line ends in JSON.
pub const MAX_EDIT_ARGUMENTS: usize = 12 * 1024 * 1024;
/// The most characters of a title or a summary.
pub const MAX_TITLE: usize = 80;

/// One tool.
#[derive(Clone, Debug)]
pub struct Tool {
    pub name: Cow<'static, str>,
    pub effect: Effect,
    /// The description for the model, in one or two sentences.
    pub description: Cow<'static, str>,
    /// In the order of the schema.
    pub parameters: Cow<'static, [Parameter]>,
    /// The most bytes of all arguments of one call.
    pub most_bytes: usize,
    /// Refuses arguments that are valid each, but not together. The model reads the reason.
    pub check: fn(&Arguments) -> Result<(), Reason>,
    /// Returns a one-line name of a call for the user. [`Toolset::title_of`] cuts it to [`MAX_TITLE`] characters.
    pub title: fn(&Arguments) -> String,
}

impl Tool {
    /// Whether a mode offers the tool. [`Mode::Ask`] offers no tool that edits or runs something (S39).
    pub fn is_in(&self, mode: Mode) -> bool {
        match mode {
            Mode::Code => true,
            Mode::Ask => !matches!(self.effect, Effect::OwnEdit | Effect::Opaque),
        }
    }
}

impl Tool {
    /// Whether its only argument is one text, so that a model may write the text without JSON around it.
    pub fn is_free_form(&self) -> bool {
        matches!(&*self.parameters, [only] if only.name == FREE_INPUT && only.kind == ArgumentType::Text)
    }
}

/// One argument of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: Cow<'static, str>,
    pub kind: ArgumentType,
    pub description: Cow<'static, str>,
    pub required: bool,
}

impl Parameter {
    /// Returns a required argument.
    pub const fn needed(name: &'static str, kind: ArgumentType, description: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), kind, description: Cow::Borrowed(description), required: true }
    }

    /// Returns an optional argument. Models leave it out or write null.
    pub const fn optional(name: &'static str, kind: ArgumentType, description: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), kind, description: Cow::Borrowed(description), required: false }
    }
}

/// The type and the bounds of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentType {
    /// 1 to [`MAX_PATH`] bytes without control characters.
    Path,
    /// Any text, also an empty one.
    Text,
    /// A text of 1 to this many bytes.
    Bounded(usize),
    /// A whole number between both, inclusive.
    Number(u64, u64),
    Flag,
    /// Up to 10 texts of 1 to 1000 bytes.
    Texts,
    /// Up to [`MAX_STEPS`](crate::record::plan::MAX_STEPS) steps of a plan, each with a text of 1 to [`MAX_STEP`](crate::record::plan::MAX_STEP) bytes.
    Steps,
}
