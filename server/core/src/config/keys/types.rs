//! What a row of the table says of a value: its type, what replaces it, and what a project may do with it.
//!
//! Never holds a key.

use std::fmt;

use super::{POPUP_AUTO, POPUP_NEVER};
use crate::policy::detail::Detail;
use crate::policy::saving::EditsSave;
use crate::prompt::message::{Level, Wire};
use crate::prompt::models::EditTool;
use crate::record::EditsMode;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    Model,
    Models,
    Level,
    Wire,
    /// The tool by which a model edits files.
    EditTool,
    Url,
    Variable,
    Script,
    /// The program that prints a key, and its arguments.
    Command,
    KeyFile,
    CaFile,
    Proxy,
    Hosts,
    Headers,
    Rules,
    /// Up to 50 names.
    Names,
    /// Whether an ask may be a popup.
    Popup,
    Edits,
    Saves,
    /// How much of a run is drawn.
    Detail,
    /// A short word.
    Currency,
    Truth,
    Whole {
        min: u64,
        max: u64,
    },
    /// A number from 0 to `max`; fractions are allowed.
    Amount {
        max: u32,
    },
}

impl ValueType {
    /// Returns the names that it may have; none if it is no choice between names.
    pub(in crate::config) fn choices(self) -> Vec<&'static str> {
        match self {
            ValueType::Level => Level::ALL.map(Level::name).to_vec(),
            ValueType::Wire => Wire::ALL.map(Wire::name).to_vec(),
            ValueType::EditTool => EditTool::ALL.map(EditTool::name).to_vec(),
            ValueType::Popup => vec![POPUP_AUTO, POPUP_NEVER],
            ValueType::Edits => EditsMode::ALL.map(EditsMode::name).to_vec(),
            ValueType::Saves => EditsSave::ALL.map(EditsSave::name).to_vec(),
            ValueType::Detail => Detail::ALL.map(Detail::name).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Returns its names for people: `"a", "b" or "c"`.
    fn quoted(self) -> String {
        let names: Vec<String> = self.choices().iter().map(|name| format!("\"{name}\"")).collect();
        match names.split_last() {
            Some((last, before)) => format!("{} or {last}", before.join(", ")),
            None => String::new(),
        }
    }

    /// Returns whether an editor may set it: not where it would start a program, name a file or a variable that is sent away, or
    /// choose whom to trust.
    pub(in crate::config) fn is_for_editors(self) -> bool {
        !self.is_for_the_user_file() && self != ValueType::Variable
    }

    /// Returns whether only the user's own file may set it. Editor settings can come from a workspace, and
    /// a workspace must not start a program, send a file away, or choose whom to trust.
    pub(in crate::config) fn is_for_the_user_file(self) -> bool {
        matches!(self, ValueType::Command | ValueType::KeyFile | ValueType::CaFile)
    }
}

/// A value of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    None,
    Text(&'static str),
    Truth(bool),
    Whole(u64),
    /// The list that denies every tool.
    DenyAll,
    /// The key is unusable until corrected. A guess could send a key elsewhere, or call another model.
    Refuse,
    /// Nothing may be used until the value is corrected.
    Nothing,
}

/// What a project file may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    Never,
    TurnOff,
    Lower,
    /// Only to the strictest value of `edits.mode`.
    AskOnly,
    /// Only to a value of `edits.save` that saves less.
    LessSaved,
    Add,
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => write!(f, "text \"PROVIDER/MODEL\""),
            Self::Models => write!(f, "a list of \"PROVIDER/MODEL\""),
            Self::Level
            | Self::Wire
            | Self::EditTool
            | Self::Popup
            | Self::Edits
            | Self::Saves
            | Self::Detail => f.write_str(&self.quoted()),
            Self::Url => write!(f, "an http(s) URL"),
            Self::Variable => write!(f, "the name of an environment variable"),
            Self::Script | Self::KeyFile | Self::CaFile => write!(f, "a path"),
            Self::Command => write!(f, "a list of words"),
            Self::Proxy => write!(f, "an http(s) URL, or \"none\""),
            Self::Hosts => write!(f, "hosts, with commas between them"),
            Self::Headers => write!(f, "a table of text"),
            Self::Rules => write!(f, "a list of rules"),
            Self::Names => write!(f, "a list of names"),
            Self::Currency => write!(f, "up to 8 letters"),
            Self::Truth => write!(f, "true or false"),
            Self::Amount { max } => write!(f, "a number from 0 to {max}"),
            Self::Whole { min, max } => write!(f, "a whole number from {min} to {max}"),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "not set"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Truth(value) => write!(f, "{value}"),
            Self::Whole(value) => write!(f, "{value}"),
            Self::DenyAll => write!(f, "every tool is denied"),
            Self::Refuse => write!(f, "not used until it is corrected"),
            Self::Nothing => write!(f, "0 until it is corrected"),
        }
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "no",
            Self::TurnOff => "only to turn it off",
            Self::Lower => "only to lower it",
            Self::AskOnly => "only to \"ask\"",
            Self::LessSaved => "only to save less",
            Self::Add => "only to add to it",
        })
    }
}
