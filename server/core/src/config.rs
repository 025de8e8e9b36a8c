//! The one schema of settings, with provenance.
//!
//! Never panics on bad input: it gives the strict value and a list of problems.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// A model played from a file; `docs/scripted-model.md`.
    Scripted,
    /// OpenAI Chat Completions over HTTP.
    OpenaiChat,
}

/// One `[providers.NAME]` table, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    pub name: String,
    pub wire: Wire,
    /// Without a trailing slash, e.g. `https://api.openai.com/v1`.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Path of the script of a scripted model, absolute.
    pub script: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
}

/// Time limits of one model call, in milliseconds (decision 18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    /// Until the response headers; default 120 000.
    pub first_byte_ms: u64,
    /// Between two pieces of the stream; default 60 000.
    pub idle_ms: u64,
    /// The whole call; default 1 800 000.
    pub total_ms: u64,
}
