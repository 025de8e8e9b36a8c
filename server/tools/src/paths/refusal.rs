//! Why a path is refused, with the message for the model.
//!
//! Never reveals what is outside the workspace before the user has allowed it.

use std::io;

use adjutant_core::policy::cause::{Cause, Reason};

/// Why a path cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum PathRefusal {
    #[error("the path is empty; give a path relative to the workspace folder")]
    Empty,
    #[error("the path holds a NUL character; give the path without it")]
    Nul,
    #[error("the path is longer than the system takes; give a shorter one")]
    TooLong,
    #[error("no workspace folder is open, so the relative path \"{0}\" means nothing; give an absolute path")]
    NoRoots(String),
    #[error("\"{0}\" is not a file URI that can be read: {1}; give a plain path")]
    Uri(String, &'static str),
    #[error("\"{0}\" does not exist, and `~` and variables are not expanded in paths; give the path itself")]
    Unexpanded(String),
    #[error(
        "\"{0}\" has no file, so no rule covers it and it is neither read nor edited; ask the user to save it"
    )]
    NoFile(String),
    #[error("\"{0}\" goes through a link of the process file system; give the path it stands for")]
    Magic(String),
    #[error("\"{0}\" goes through more than 40 links")]
    Loop(String),
    #[error("\"{0}\" is not a directory, so nothing can be in it")]
    NotADirectory(String),
    #[error("look at \"{0}\": {1}")]
    Io(String, io::Error),
    /// `why` reveals what is there, so only an allowed call may see it.
    #[error("\"{raw}\" is outside the workspace")]
    Outside { raw: String, why: Box<PathRefusal> },
}

impl PathRefusal {
    /// Returns the class of the refusal.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Empty | Self::Nul | Self::NoRoots(_) | Self::Unexpanded(_) | Self::NoFile(_) => {
                Cause::NoPlace
            }
            Self::TooLong => Cause::LongName,
            Self::Uri(..) => Cause::BadUri,
            Self::Magic(_) | Self::Loop(_) => Cause::BadLink,
            Self::NotADirectory(_) => Cause::NotADirectory,
            Self::Io(..) => Cause::Unreadable,
            Self::Outside { .. } => Cause::Outside,
        }
    }

    /// Returns the full refusal, for a call that may look outside the workspace.
    pub fn revealed(self) -> Self {
        match self {
            Self::Outside { why, .. } => *why,
            other => other,
        }
    }
}

impl From<PathRefusal> for Reason {
    fn from(why: PathRefusal) -> Self {
        Self::new(why.cause(), why.to_string())
    }
}
