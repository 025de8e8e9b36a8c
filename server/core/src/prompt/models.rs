//! What is known of models: windows, output limits, what they take.
//!
//! A dated table, never a guess: what is not in it has the defaults below. Never asks the
//! settings, which win over both (`config/models.rs`). No prices.

use crate::prompt::message::{GenerationSettings, Level};

/// When the table was last compared with the makers' documentation.
pub const AS_OF: &str = "2026-11";

/// The window of a model nobody told us of: what most current models have at least.
pub const DEFAULT_WINDOW: u32 = 128_000;
/// The longest reply of a model nobody told us of: what most current models can at least.
pub const DEFAULT_OUTPUT: u32 = 8_192;

/// What a model can, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Tokens it reads.
    pub context_window: u32,
    /// Tokens one reply of it may have.
    pub max_output_tokens: u32,
    /// The efforts it takes; none where it is not known to take any.
    pub efforts: &'static [Level],
    /// The verbosities it takes, likewise.
    pub verbosities: &'static [Level],
    /// Whether it takes tools: all do, unless the settings say otherwise.
    pub tools: bool,
    /// Whether it is known to read images.
    pub images: bool,
    /// Whether the table has it; else the numbers are the defaults, or the settings'.
    pub known: bool,
}

/// A model nobody told us of.
pub const UNKNOWN: Facts = Facts {
    context_window: DEFAULT_WINDOW,
    max_output_tokens: DEFAULT_OUTPUT,
    efforts: &[],
    verbosities: &[],
    tools: true,
    images: false,
    known: false,
};

/// A model that reads images, as all in the table do but those that say otherwise.
const fn sees(context_window: u32, max_output_tokens: u32) -> Facts {
    Facts { context_window, max_output_tokens, images: true, known: true, ..UNKNOWN }
}

/// A model that thinks as much as it is asked to.
const fn thinks(context_window: u32, max_output_tokens: u32) -> Facts {
    Facts { efforts: &Level::ALL, ..sees(context_window, max_output_tokens) }
}

/// A model that thinks, and makes as many words as it is asked for.
const fn tells(context_window: u32, max_output_tokens: u32) -> Facts {
    Facts { verbosities: &Level::ALL, ..thinks(context_window, max_output_tokens) }
}

impl Facts {
    /// Returns what the model takes of this.
    pub fn supported(&self, manner: GenerationSettings) -> GenerationSettings {
        GenerationSettings {
            effort: manner.effort.filter(|level| self.efforts.contains(level)),
            verbosity: manner.verbosity.filter(|level| self.verbosities.contains(level)),
        }
    }
}

/// Families of models by how their names begin; the longest that fits counts. Where a window can be
/// had larger for more money, this is the one without.
const TABLE: &[(&str, Facts)] = &[
    ("claude-3-5", sees(200_000, 8_192)),
    ("claude-3-7", thinks(200_000, 64_000)),
    ("claude-haiku-4", thinks(200_000, 64_000)),
    ("claude-opus-4", thinks(200_000, 32_000)),
    ("claude-opus-4-5", thinks(200_000, 64_000)),
    ("claude-opus-4-6", thinks(200_000, 128_000)),
    ("claude-opus-4-7", thinks(200_000, 128_000)),
    ("claude-opus-4-8", thinks(200_000, 128_000)),
    // Of these it is known that they read so much, and that they write at least so much.
    ("claude-opus-5", thinks(1_000_000, 64_000)),
    ("claude-sonnet-5", thinks(1_000_000, 64_000)),
    ("claude-sonnet-4", thinks(200_000, 64_000)),
    ("claude-sonnet-4-6", thinks(200_000, 64_000)),
    ("gemini-2.5", sees(1_048_576, 65_536)),
    ("gemini-3", sees(1_048_576, 65_536)),
    ("gpt-4.1", sees(1_047_576, 32_768)),
    ("gpt-4o", sees(128_000, 16_384)),
    ("gpt-5", tells(400_000, 128_000)),
    ("gpt-5-chat", sees(400_000, 128_000)),
    ("gpt-5.4", tells(1_050_000, 128_000)),
    ("gpt-5.4-mini", tells(400_000, 128_000)),
    ("gpt-5.4-nano", tells(400_000, 128_000)),
    ("gpt-5.5", tells(1_050_000, 128_000)),
    ("gpt-5.6", tells(1_050_000, 128_000)),
    ("gpt-5.6-luna", tells(400_000, 128_000)),
    ("o3", thinks(200_000, 100_000)),
    ("o4-mini", thinks(200_000, 100_000)),
];

/// Returns what the table has of a model by the name its provider gives it.
pub fn known(model: &str) -> Facts {
    // Gateways put the maker before the name.
    let name = model.rsplit('/').next().unwrap_or(model);
    let fits = TABLE.iter().filter(|(begins, _)| begins_with(name, begins));
    fits.max_by_key(|(begins, _)| begins.len()).map_or(UNKNOWN, |(_, facts)| *facts)
}

/// Whether a name is of a family: `gpt-5` has `gpt-5-mini` and `gpt-5.1`, and not `gpt-50`.
fn begins_with(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}
