//! What is known about models: context windows, output limits, supported options.
//!
//! A dated table; a model that is not in it has the defaults below. Never reads the
//! settings, which override both (`config/models.rs`). There are no prices.

use crate::prompt::message::{GenerationSettings, Level};
use crate::tool::APPLY_PATCH;

/// When the table was last compared with the makers' documentation.
pub const AS_OF: &str = "2026-11";

/// The context window of an unknown model, in tokens: the least of most current models.
pub const DEFAULT_WINDOW: u32 = 128_000;
/// The longest reply of an unknown model, in tokens: the least of most current models.
pub const DEFAULT_OUTPUT: u32 = 8_192;

/// The tool by which a model edits files best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditTool {
    /// Replaces text that the model quotes; other tools create, move and delete files.
    EditFile,
    /// A patch for several files, in the form that the models of OpenAI were trained on.
    ApplyPatch,
}

impl EditTool {
    pub const ALL: [EditTool; 2] = [EditTool::EditFile, EditTool::ApplyPatch];

    /// Returns the name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            EditTool::EditFile => "edit_file",
            EditTool::ApplyPatch => APPLY_PATCH,
        }
    }

    /// Returns the one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edits| edits.name() == name)
    }
}

/// What a model supports, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The most tokens of a conversation.
    pub context_window: u32,
    /// The most tokens of one reply.
    pub max_output_tokens: u32,
    /// The supported levels of effort; empty if none is known.
    pub efforts: &'static [Level],
    /// The supported levels of verbosity; empty if none is known.
    pub verbosities: &'static [Level],
    /// Whether the model supports tools: true, unless the settings say otherwise.
    pub tools: bool,
    /// Whether the model is known to read images.
    pub images: bool,
    /// The tool by which it edits files.
    pub edit_tool: EditTool,
    /// Whether it takes tools whose input is plain text, where the wire has them.
    pub free_form: bool,
    /// Whether the table has the model; otherwise the numbers are defaults or come from the settings.
    pub known: bool,
}

/// A model that is not in the table.
pub const UNKNOWN: Facts = Facts {
    context_window: DEFAULT_WINDOW,
    max_output_tokens: DEFAULT_OUTPUT,
    efforts: &[],
    verbosities: &[],
    tools: true,
    images: false,
    edit_tool: EditTool::EditFile,
    free_form: false,
    known: false,
};

/// A model that reads images, as all models in the table do.
const fn with_images(context_window: u32, max_output_tokens: u32) -> Facts {
    Facts { context_window, max_output_tokens, images: true, known: true, ..UNKNOWN }
}

/// A model that reads images and supports all levels of effort.
const fn with_effort(context_window: u32, max_output_tokens: u32) -> Facts {
    Facts { efforts: &Level::ALL, ..with_images(context_window, max_output_tokens) }
}

/// A model that reads images and supports all levels of effort and verbosity.
const fn with_verbosity(context_window: u32, max_output_tokens: u32) -> Facts {
    Facts { verbosities: &Level::ALL, ..with_effort(context_window, max_output_tokens) }
}

/// The same model, which was trained to edit by patches.
const fn by_patch(facts: Facts) -> Facts {
    Facts { edit_tool: EditTool::ApplyPatch, ..facts }
}

/// The same model, which was trained to edit by patches in plain text.
const fn by_free_patch(facts: Facts) -> Facts {
    Facts { free_form: true, ..by_patch(facts) }
}

impl Facts {
    /// Returns only the settings that the model supports.
    pub fn supported(&self, wanted: GenerationSettings) -> GenerationSettings {
        GenerationSettings {
            effort: wanted.effort.filter(|level| self.efforts.contains(level)),
            verbosity: wanted.verbosity.filter(|level| self.verbosities.contains(level)),
        }
    }
}

/// Families of models by the beginning of their names. The longest match wins. If a larger window costs
/// extra, the table has the smaller one.
const TABLE: &[(&str, Facts)] = &[
    ("claude-3-5", with_images(200_000, 8_192)),
    ("claude-3-7", with_effort(200_000, 64_000)),
    ("claude-haiku-4", with_effort(200_000, 64_000)),
    ("claude-opus-4", with_effort(200_000, 32_000)),
    ("claude-opus-4-5", with_effort(200_000, 64_000)),
    ("claude-opus-4-6", with_effort(200_000, 128_000)),
    ("claude-opus-4-7", with_effort(200_000, 128_000)),
    ("claude-opus-4-8", with_effort(200_000, 128_000)),
    // The output limit of these may be larger; the window is exact.
    ("claude-opus-5", with_effort(1_000_000, 64_000)),
    ("claude-sonnet-5", with_effort(1_000_000, 64_000)),
    ("claude-sonnet-4", with_effort(200_000, 64_000)),
    ("claude-sonnet-4-6", with_effort(200_000, 64_000)),
    ("gemini-2.5", with_images(1_048_576, 65_536)),
    ("gemini-3", with_images(1_048_576, 65_536)),
    ("gpt-4.1", by_patch(with_images(1_047_576, 32_768))),
    ("gpt-4o", with_images(128_000, 16_384)),
    ("gpt-5", by_free_patch(with_verbosity(400_000, 128_000))),
    ("gpt-5-chat", by_patch(with_images(400_000, 128_000))),
    ("gpt-5.4", by_free_patch(with_verbosity(1_050_000, 128_000))),
    ("gpt-5.4-mini", by_free_patch(with_verbosity(400_000, 128_000))),
    ("gpt-5.4-nano", by_free_patch(with_verbosity(400_000, 128_000))),
    ("gpt-5.5", by_free_patch(with_verbosity(1_050_000, 128_000))),
    ("gpt-5.6", by_free_patch(with_verbosity(1_050_000, 128_000))),
    ("gpt-5.6-luna", by_free_patch(with_verbosity(400_000, 128_000))),
    ("o3", by_patch(with_effort(200_000, 100_000))),
    ("o4-mini", by_patch(with_effort(200_000, 100_000))),
];

/// Returns the row of a model by the provider's name for it, or [`UNKNOWN`].
pub fn known(model: &str) -> Facts {
    // Gateways put the maker before the name.
    let name = model.rsplit('/').next().unwrap_or(model);
    let fits = TABLE.iter().filter(|(begins, _)| begins_with(name, begins));
    fits.max_by_key(|(begins, _)| begins.len()).map_or(UNKNOWN, |(_, facts)| *facts)
}

/// Whether a name belongs to a family: `gpt-5-mini` and `gpt-5.1` belong to `gpt-5`, `gpt-50` does not.
fn begins_with(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}
