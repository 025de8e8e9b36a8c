//! The one schema of settings, with provenance.
//!
//! Layers of text come in, one typed [`Settings`] and a list of [`Problem`]s go
//! out. Never panics on bad input: a value that makes no sense is replaced by
//! its strict one, and the user is told where and what to do.

mod build;
mod cells;
mod check;
mod keys;
mod layers;
mod models;
mod reach;
mod rules;
mod show;
mod tree;
mod values;
mod well_known;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use keys::{KEYS, Key, Literal, Project, ValueType};
pub use layers::resolve;
pub use reach::{KeySource, Proxy, Reach};
pub use rules::{Denials, DenyRule, FileUse, TOOLS};
pub use show::{configuration_markdown, explain};
pub use values::redact_url;
use well_known::WellKnown;

use crate::machine::retry::RetryPolicy;
use crate::prompt::message::GenerationSettings;
pub use crate::prompt::message::Wire;
use crate::record::Mode;
use crate::record::{Policy, UnattendedPolicy};
use cells::{Cell, Value};

/// One `[providers.NAME]` table, resolved.
#[derive(Clone, PartialEq, Eq)]
pub struct Provider {
    pub name: String,
    pub wire: Wire,
    /// Without a trailing slash, e.g. `https://api.openai.com/v1`.
    pub base_url: Option<String>,
    /// Where its key is.
    pub key: Option<KeySource>,
    /// Path of the script of a scripted model, absolute.
    pub script: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub reach: Reach,
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// Not sent where it is not set.
    pub temperature: Option<serde_json::Number>,
    /// Whether its models take tools.
    pub tools: bool,
    /// Whether its models take images, where it is not as the table of models says.
    pub images: Option<bool>,
}

impl fmt::Debug for Provider {
    /// Shows neither header values nor credentials in the URL: this text ends in logs.
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
    /// Before the user is told that nothing comes.
    pub silence_ms: u64,
}

/// Every limit of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub model: ModelLimits,
    /// Mistakes in a row before the user is asked.
    pub mistakes: u32,
    /// How long a command runs before the user may stop it by an ask.
    pub command_output_ms: u64,
    /// How long the editor may take to apply an edit or to save.
    pub editor_ms: u64,
    /// How long a question with suggestions waits before the first of them is taken; for ever when not set.
    pub followup_default_ms: Option<u64>,
    /// Model requests of one run before the user is asked; unlimited when not set.
    pub requests: Option<u32>,
}

/// How questions may be popups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popups {
    /// Whether they may be at all.
    pub on: bool,
    /// Lines of a command or a change that a popup of the editor shows.
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
    /// Names the place a value came from.
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

/// What kind of thing is wrong in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// The file is missing though it was named, cannot be read, or is not what it has to be.
    Unreadable,
    /// It is not TOML.
    Syntax,
    UnknownKey,
    /// A value of the wrong type.
    Shape,
    /// A value of the right type that makes no sense.
    Value,
    /// A rule that is not understood, or is taken for another one.
    Rule,
    /// It would be sent where others read it.
    Unencrypted,
    /// A password stands where it is shown.
    Credentials,
    /// A project file may only tighten.
    Loosens,
    /// Only the user's own file may set it.
    OwnFileOnly,
    /// Two settings contradict each other.
    Conflict,
    TooMany,
}

/// Something wrong in a layer, and what the user can do about it.
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
    /// Writes one line: place, key, what is wrong, what to do.
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

/// What was found where a settings file may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    Missing,
    /// There is something, but it could not be read; why, as a fragment that fits after "the file ".
    Unreadable(String),
    /// Somebody else may have written it: only what makes Adjutant stricter is taken; why, as a fragment that fits
    /// after "the file ", and behind "; " what to do.
    Doubtful {
        text: String,
        why: String,
    },
}

/// A settings file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Absolute; relative paths inside the file start at its directory.
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

/// One source of settings; `resolve` puts them in rising order.
#[derive(Clone)]
pub enum Layer {
    UserFile(File),
    /// May only tighten.
    ProjectFile(File),
    /// `initializationOptions`, or the section `adjutant` of the editor's configuration.
    Editor(serde_json::Value),
    /// The whole environment: which keys are set decides which providers can be used.
    Environment(BTreeMap<String, String>),
    Flags(Vec<Flag>),
}

/// All settings, resolved; each value knows where it came from.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `provider/model`.
    pub model: Option<String>,
    /// `provider/model` of those that take over, in this order.
    pub fallback_models: Vec<String>,
    /// How a model answers where nobody says otherwise.
    pub manner: GenerationSettings,
    /// Those that are complete, by name.
    pub providers: BTreeMap<String, Provider>,
    pub deny: Denials,
    /// What a run with `-y` may do without asking.
    pub unattended: UnattendedPolicy,
    pub limits: Limits,
    pub popups: Popups,
    /// `cap_ms` is never below `base_ms`.
    pub retry: RetryPolicy,
    cells: BTreeMap<String, Cell>,
    /// Why a provider is missing from `providers`.
    incomplete: BTreeMap<String, String>,
    /// Key variables named by a provider that are set; `None` when no environment was given.
    keys_set: Option<BTreeSet<String>>,
    user_file: Option<String>,
    /// Why the user's own file is not read as a whole, and what to do.
    broken: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        resolve(Vec::new()).0
    }
}

/// Why no model can be called; its text is one sentence that says what to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderUnavailable {
    NoModel {
        file: String,
        /// The providers that are set.
        known: Vec<String>,
    },
    /// What is missing may stand in the user's own file, which is not read as a whole.
    BrokenFile {
        why: String,
    },
    NotAModel {
        given: String,
    },
    /// The configured model is no model's name; where it is set.
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
                     the providers that are set: {}",
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
    /// Returns where the value of `key` came from; `None` for a key that has no value.
    pub fn origin_of(&self, key: &str) -> Option<&SettingOrigin> {
        self.cells.get(key).map(|cell| &cell.origin)
    }

    /// Returns the policy of a session in this mode; `unattended` says that nobody watches (`-y`).
    pub fn policy(&self, mode: Mode, unattended: bool) -> Policy {
        Policy {
            mode,
            deny: self.deny.texts(),
            unattended: unattended.then_some(self.unattended),
            max_requests: self.limits.requests,
            mistakes: self.limits.mistakes,
            command_output_ms: self.limits.command_output_ms,
            followup_default_ms: self.limits.followup_default_ms,
            retry: self.retry,
            // One that cannot be called would only hide why the first failed.
            stand_ins: self
                .fallback_models
                .iter()
                .filter(|model| self.provider_for(Some(model)).is_ok())
                .cloned()
                .collect(),
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
        // What a command prints and a file holds is known when it is asked for, at the first call.
        if let (Some(KeySource::Variable(variable)), Some(set)) = (&provider.key, &self.keys_set)
            && !set.contains(variable)
        {
            return Err(ProviderUnavailable::NoKey { name: name.to_owned(), variable: variable.clone() });
        }
        Ok((provider.clone(), model.to_owned()))
    }
}

/// Returns `name` as a TOML key, quoted where it has to be.
fn toml_key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { name.to_owned() } else { format!("{name:?}") }
}
