//! How much of a run is drawn: the setting `detail` (S102).
//!
//! Never decides what is kept: the log, the updates and the transcript have everything, whatever is drawn of it.

/// How much of the work of a run is drawn. From little to much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Answers, changes, commands, questions, the plan and whatever went wrong.
    Brief,
    /// Also a line for each step that only looks; thoughts and arguments are folded.
    #[default]
    Normal,
    /// Also what is folded otherwise.
    Full,
}

impl Detail {
    pub const ALL: [Detail; 3] = [Detail::Brief, Detail::Normal, Detail::Full];

    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Detail::Brief => "brief",
            Detail::Normal => "normal",
            Detail::Full => "full",
        }
    }

    /// Returns the value with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|detail| detail.name() == name)
    }
}
