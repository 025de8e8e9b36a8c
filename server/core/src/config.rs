//! The one schema of settings; each value knows its origin.
//!
//! [`resolve`] turns layers of text into one typed [`Settings`] and a list of [`Problem`]s.
//! Never panics on bad input: the strict value of the key replaces an invalid one,
//! and the problem says where it is and what to do.

mod build;
mod cells;
mod check;
mod keys;
mod layers;
mod models;
mod reach;
mod rules;
mod schema;
mod show;
mod tree;
mod values;
mod well_known;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

pub use keys::{KEYS, Key, Literal, Project, ValueType};
pub use layers::resolve;
pub use reach::{KeySource, Proxy, Reach};
pub use rules::{Denials, DenyRule, FileUse, TOOLS};
pub use schema::editor_schema;
pub use show::{configuration_markdown, explain};
pub use values::redact_url;
use well_known::WellKnown;

use crate::machine::retry::RetryPolicy;
use crate::policy::detail::Detail;
use crate::policy::saving::EditsSave;
use crate::prompt::message::GenerationSettings;
pub use crate::prompt::message::Wire;
use crate::prompt::models::EditTool;
use crate::record::{BudgetPolicy, CompactPolicy, ContextPolicy, EditsMode, Mode, Policy, UnattendedPolicy};
use cells::{Cell, Value};

/// One `[providers.NAME]` table, resolved.
#[derive(Clone, PartialEq, Eq)]
pub struct Provider {
    pub name: String,
    pub wire: Wire,
    /// Without a trailing slash, e.g. `https://api.openai.com/v1`.
    pub base_url: Option<String>,
    /// Where to find its key.
    pub key: Option<KeySource>,
    /// Absolute path of the script of a scripted model.
    pub script: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub reach: Reach,
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// Sent only if it is set.
    pub temperature: Option<serde_json::Number>,
    /// Whether its models support tool calls.
    pub tools: bool,
    /// Whether its models accept images; `None` leaves it to the table of models.
    pub images: Option<bool>,
    /// The tool by which its models edit files; `None` leaves it to the table of models.
    pub edit_tool: Option<EditTool>,
}

impl fmt::Debug for Provider {
    /// Leaves out header values and the credentials in the URL, because logs contain this text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("base_url", &self.base_url.as_deref().map(redact_url))
            .field("key", &self.key)
            .field("script", &self.script)
            .field("headers", &self.headers.keys())
            .field("reach", &self.reach)
            .field("context_window", &self.context_window)
            .field("max_output_tokens", &self.max_output_tokens)
            .field("temperature", &self.temperature)
            .field("tools", &self.tools)
            .field("images", &self.images)
            .field("edit_tool", &self.edit_tool)
            .finish()
    }
}

/// Time limits of one model call, in milliseconds; their defaults are in the table of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    /// Until the response headers.
    pub first_byte_ms: u64,
    /// Between two pieces of the stream.
    pub idle_ms: u64,
    /// The whole call.
    pub total_ms: u64,
    /// How long the model may be silent before the user sees it.
    pub silence_ms: u64,
}

/// Every limit of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub model: ModelLimits,
    /// Mistakes in a row before the user is asked.
    pub mistakes: u32,
    /// How long a command runs before an ask offers to stop it.
    pub command_output_ms: u64,
    /// How long the editor may take to apply an edit or to save.
    pub editor_ms: u64,
    /// How long a question waits before its first suggestion becomes the answer; for ever when not set.
    pub followup_default_ms: Option<u64>,
    /// Model requests of one run before the user is asked; unlimited when not set.
    pub requests: Option<u32>,
}

/// How asks may appear as popups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popups {
    /// Whether popups are allowed at all.
    pub on: bool,
    /// How many lines of a command or a change a popup of the editor shows.
    pub lines: usize,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOrigin {
    Default,
    UserFile { path: String, line: Option<u32> },
    ProjectFile { path: String, line: Option<u32> },
    Editor,
    Environment(String),
    Flag(String),
}

impl fmt::Display for SettingOrigin {
    /// Writes the place, for example `user file PATH:LINE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |path: &str, line: &Option<u32>| match line {
            Some(line) => format!("{}:{line}", path.escape_debug()),
            None => path.escape_debug().to_string(),
        };
        match self {
            SettingOrigin::Default => write!(f, "default"),
            SettingOrigin::UserFile { path, line } => write!(f, "user file {}", place(path, line)),
            SettingOrigin::ProjectFile { path, line } => write!(f, "project file {}", place(path, line)),
            SettingOrigin::Editor => write!(f, "editor"),
            SettingOrigin::Environment(name) => write!(f, "environment {name}"),
            SettingOrigin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// The kind of a problem in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// A named file is missing, a file cannot be read, or other users can change it.
    Unreadable,
    /// The text is not valid TOML.
    Syntax,
    UnknownKey,
    /// A value of the wrong type.
    Shape,
    /// An invalid value of the right type.
    Value,
    /// A rule that cannot be parsed, or that is read as a similar rule.
    Rule,
    /// A URL that would send prompts and keys unencrypted.
    Unencrypted,
    /// Credentials in a URL, where people can see them.
    Credentials,
    /// A project file, or a setting above it, would make Adjutant less strict.
    Loosens,
    /// A key that only the user's own file may set.
    OwnFileOnly,
    /// Two settings contradict each other.
    Conflict,
    TooMany,
}

/// A problem in a layer, and what the user can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub flaw: Flaw,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub key: Option<String>,
    pub message: String,
    pub what_to_do: String,
}

impl fmt::Display for Problem {
    /// Writes one line: place, key, problem, what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.escape_debug())?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        write!(f, "{}; {}", self.message, self.what_to_do)
    }
}

/// The content at the path of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    Missing,
    /// The file exists but could not be read. The reason is a fragment that fits after "the file ".
    Unreadable(String),
    /// Another user may have written the file, so only values that make Adjutant stricter count. `why` is a
    /// fragment that fits after "the file "; the text after its "; " says what to do.
    Doubtful {
        text: String,
        why: String,
    },
}

/// A settings file as the caller found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Absolute. Relative paths in the file start at its directory.
    pub path: String,
    pub content: Content,
}

/// A command line flag that sets one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// As the user typed it, e.g. `--model`.
    pub flag: String,
    pub key: String,
    pub value: String,
}

/// One source of settings. [`resolve`] sorts the layers; a later layer wins.
#[derive(Clone)]
pub enum Layer {
    UserFile(File),
    /// May only make Adjutant stricter.
    ProjectFile(File),
    /// `initializationOptions`, or the section `adjutant` of the editor's configuration.
    Editor(serde_json::Value),
    /// The whole environment. The key variables that are set decide which providers can be used.
    Environment(BTreeMap<String, String>),
    Flags(Vec<Flag>),
}

/// All settings, resolved. Each value knows its origin.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `provider/model`.
    pub model: Option<String>,
    /// The fallback models as `provider/model`, in this order.
    pub fallback_models: Vec<String>,
    /// Default generation settings; a session or a run may choose others.
    pub generation_settings: GenerationSettings,
    /// The complete providers, by name.
    pub providers: BTreeMap<String, Provider>,
    /// How much of a run is drawn.
    pub detail: Detail,
    pub deny: Denials,
    /// What a run with `-y` may do without asking.
    pub unattended: UnattendedPolicy,
    pub limits: Limits,
    /// `None` if it is not set, so that the client decides.
    pub edits_mode: Option<EditsMode>,
    /// What is saved after an edit.
    pub edits_save: EditsSave,
    /// Megabytes of texts before edits that are kept.
    pub kept_texts_mb: u64,
    pub popups: Popups,
    /// What runs and sessions may use, and what models cost.
    pub budget: Arc<BudgetPolicy>,
    /// Sections of the prompt and files that are left out of it.
    pub prompt_off: Vec<String>,
    /// The model that writes summaries, as `provider/model`; the model of the run, if not set.
    pub summary_model: Option<String>,
    /// When the conversation is made smaller.
    pub compact: CompactPolicy,
    /// `cap_ms` is never below `base_ms`.
    pub retry: RetryPolicy,
    cells: BTreeMap<String, Cell>,
    /// Why a provider is not in `providers`, by its name.
    incomplete: BTreeMap<String, String>,
    /// The key variables of providers that are set in the environment; `None` without an environment layer.
    keys_set: Option<BTreeSet<String>>,
    user_file: Option<String>,
    /// Why the user's own file is not fully used, and what to do.
    broken: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        resolve(Vec::new()).0
    }
}

/// Why no model can be called. The text is one sentence that says what to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderUnavailable {
    NoModel {
        file: String,
        /// The configured providers.
        known: Vec<String>,
    },
    /// The missing setting may be in the user's own file, which is not fully used.
    BrokenFile {
        why: String,
    },
    NotAModel {
        given: String,
    },
    /// The configured model is not a valid name; `place` is where it is set.
    BadModel {
        place: String,
    },
    UnknownProvider {
        name: String,
        known: Vec<String>,
        file: String,
    },
    Incomplete {
        name: String,
        why: String,
    },
    NoKey {
        name: String,
        variable: String,
    },
}

impl fmt::Display for ProviderUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel { file, known } => match known.as_slice() {
                [] => write!(
                    f,
                    "no model is configured: run `adjutant setup`, or set `model = \"PROVIDER/MODEL\"` in {file}, or set {keys} and \
                     choose one with `--model openai/MODEL`, `--model anthropic/MODEL` or ADJUTANT_MODEL; \
                     `adjutant demo` shows a run without one",
                    keys = WellKnown::keys(),
                ),
                [first, ..] => write!(
                    f,
                    "no model is configured: set `model = \"{first}/MODEL\"` in {file}, or use `--model {first}/MODEL`; \
                     the configured providers: {}",
                    known.join(", ")
                ),
            },
            Self::BrokenFile { why } => write!(f, "no model can be used: {why}; `adjutant doctor` checks it"),
            Self::NotAModel { given } => {
                write!(
                    f,
                    "{given:?} does not name a model: write it as \"PROVIDER/MODEL\", for example \"openai/MODEL\""
                )
            }
            Self::BadModel { place } => {
                write!(f, "the model set by {place} cannot be used: write it as \"PROVIDER/MODEL\"")
            }
            Self::UnknownProvider { name, known, file } => {
                write!(
                    f,
                    "no provider {name:?} is configured: add `[providers.{}]` to {file}",
                    toml_key(name)
                )?;
                if let Some(known) = WellKnown::of(name) {
                    write!(f, ", or set {}", known.key)?;
                }
                if !known.is_empty() {
                    write!(f, ", or use one of {}", known.join(", "))?;
                }
                Ok(())
            }
            Self::Incomplete { name, why } => write!(f, "the provider {name:?} cannot be used: {why}"),
            Self::NoKey { name, variable } => write!(
                f,
                "the provider {name:?} has no key: set the environment variable {variable} where Adjutant is started"
            ),
        }
    }
}

impl std::error::Error for ProviderUnavailable {}

impl Settings {
    /// Returns the origin of the value of `key`; `None` if the key has no value.
    pub fn origin_of(&self, key: &str) -> Option<&SettingOrigin> {
        self.cells.get(key).map(|cell| &cell.origin)
    }

    /// Returns the policy of a session in this mode, without what depends on the model. `edits` is what happens to edits, and `unattended` means consent, for
    /// example by `-y`.
    pub fn policy(&self, mode: Mode, edits: EditsMode, unattended: bool) -> Policy {
        Policy {
            mode,
            edits,
            deny: self.deny.texts(),
            unattended: unattended.then_some(self.unattended),
            max_requests: self.limits.requests,
            mistakes: self.limits.mistakes,
            command_output_ms: self.limits.command_output_ms,
            followup_default_ms: self.limits.followup_default_ms,
            retry: self.retry,
            // A fallback model that cannot be called would only hide why the first model failed.
            fallback_models: self
                .fallback_models
                .iter()
                .filter(|model| self.provider_for(Some(model)).is_ok())
                .cloned()
                .collect(),
            context: None,
            budget: self.budget.clone(),
        }
    }

    /// Returns the policy of a run that begins with this model.
    pub fn policy_for(&self, model: &str, mode: Mode, edits: EditsMode, unattended: bool) -> Policy {
        Policy { context: Some(self.context_policy(model)), ..self.policy(mode, edits, unattended) }
    }

    /// Returns how the context of a run with this model is made and kept small.
    pub fn context_policy(&self, model: &str) -> ContextPolicy {
        let summary_model = self.summary_model.clone().filter(|model| self.provider_for(Some(model)).is_ok());
        let others = self.fallback_models.iter().chain(&summary_model).map(String::as_str);
        let models = others.chain([model]);
        let window = |model: &str| Some((model.to_owned(), self.facts(model)?.context_window));
        ContextPolicy {
            windows: models.filter_map(window).collect(),
            off: self.prompt_off.clone(),
            compact: self.compact,
            summary_model,
        }
    }

    /// Returns the provider and the model name to call: `model` if given, else the configured one.
    pub fn provider_for(&self, model: Option<&str>) -> Result<(Provider, String), ProviderUnavailable> {
        let file = || self.user_file.clone().unwrap_or_else(|| "the user settings file".to_owned());
        let known = || self.providers.keys().cloned().collect();
        let broken = || self.broken.clone().map(|why| ProviderUnavailable::BrokenFile { why });
        if let (None, Some(Cell { value: Value::Refused, origin, .. })) = (model, self.cells.get("model")) {
            return Err(ProviderUnavailable::BadModel { place: origin.to_string() });
        }
        let Some(given) = model.or(self.model.as_deref()) else {
            return Err(
                broken().unwrap_or_else(|| ProviderUnavailable::NoModel { file: file(), known: known() })
            );
        };
        let Some((name, model)) = values::split_model(given) else {
            return Err(ProviderUnavailable::NotAModel { given: values::shorten(given) });
        };
        if let Some(why) = self.incomplete.get(name) {
            return Err(ProviderUnavailable::Incomplete { name: name.to_owned(), why: why.clone() });
        }
        let Some(provider) = self.providers.get(name) else {
            let unknown = || ProviderUnavailable::UnknownProvider {
                name: name.to_owned(),
                known: known(),
                file: file(),
            };
            return Err(broken().unwrap_or_else(unknown));
        };
        // A key command or key file is read only at the first call.
        if let (Some(KeySource::Variable(variable)), Some(set)) = (&provider.key, &self.keys_set)
            && !set.contains(variable)
        {
            return Err(ProviderUnavailable::NoKey { name: name.to_owned(), variable: variable.clone() });
        }
        Ok((provider.clone(), model.to_owned()))
    }
}

/// Returns `name` as a TOML key, quoted if necessary.
fn toml_key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { name.to_owned() } else { format!("{name:?}") }
}
