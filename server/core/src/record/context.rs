//! The stored types of the context of a run: texts that its prompt has besides the conversation, and when it is compacted.
//!
//! Never holds a part of the conversation.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::prompt::message::Usage;

/// What a text in the prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// The machine, the date and the state of the repository at the beginning of the session.
    Surroundings,
    /// How to work, from the user or from the workspace, such as `AGENTS.md`.
    Instructions,
    /// What the user or the workspace wants remembered between sessions.
    Memory,
    /// How to do one kind of work. Only its summary is in the prompt.
    Skill,
}

impl ContextKind {
    pub const ALL: [ContextKind; 4] =
        [ContextKind::Surroundings, ContextKind::Instructions, ContextKind::Memory, ContextKind::Skill];

    /// Returns the name of its section of the prompt, which is also its name in the setting `prompt.off`.
    pub fn section(self) -> &'static str {
        match self {
            ContextKind::Surroundings => "surroundings",
            ContextKind::Instructions => "instructions",
            ContextKind::Memory => "memory",
            ContextKind::Skill => "skills",
        }
    }
}

/// A text of the prompt that is not part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextText {
    pub kind: ContextKind,
    /// Where it is from: the path of a file for people, or `this machine`.
    pub source: String,
    pub text: Arc<str>,
    /// The name of a skill.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What a skill is for, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// How many bytes of the file are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How the context of a run is made and kept small, as the settings were when the run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextPolicy {
    /// The context window of the model of the run and of each fallback model, in tokens.
    pub windows: BTreeMap<String, u32>,
    /// Sections and files that are left out of the prompt, by the name of the section or the source of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<String>,
    #[serde(default)]
    pub compact: CompactPolicy,
    /// The model that writes summaries, as `provider/model`; the model of the run, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
}

impl ContextPolicy {
    /// Whether a text belongs to the prompt: neither its section nor its file is switched off.
    pub fn has(&self, text: &ContextText) -> bool {
        !self.off.iter().any(|off| *off == text.source || off == text.kind.section())
    }
}

/// When the conversation is made smaller, in percent of the context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactPolicy {
    /// From here on, large old outputs of tools become placeholders.
    pub outputs_percent: u32,
    /// From here on, a summary replaces the middle of the conversation.
    pub middle_percent: u32,
    /// From here on, a summary replaces everything but the last turns.
    pub all_percent: u32,
}

impl Default for CompactPolicy {
    /// Half of the window, and the two thresholds of seed 001.
    fn default() -> Self {
        Self { outputs_percent: 50, middle_percent: 60, all_percent: 75 }
    }
}

/// The turn whose reply is a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryTurn {
    pub turn: u32,
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// How much of the conversation a compaction replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReach {
    /// The middle: the first prompt and the last turns stay.
    Middle,
    /// Everything but the last turns.
    All,
    /// Everything but the last turn, because the provider refuses the conversation as too long.
    Most,
}

/// A compaction that is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    pub reach: CompactionReach,
    /// The messages of the history that it replaces.
    pub from: usize,
    pub to: usize,
    /// Tokens of the next request without it.
    pub before: u64,
}

impl Compaction {
    pub fn range(&self) -> Range<usize> {
        self.from..self.to
    }
}

/// An output of the history, and what replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearedOutput {
    /// Its message in the history.
    pub at: usize,
    /// The provider's id of its call.
    pub call: Arc<str>,
    pub text: Arc<str>,
}
