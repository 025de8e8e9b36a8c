//! The table of keys: it drives reading, `adjutant config` and `docs/configuration.md`.
//!
//! A new setting is a new row here and a field that reads it. Never holds a
//! value of a user.

use std::fmt;

/// One key of the settings.
#[derive(Debug)]
pub struct Key {
    /// Dotted; the segment `NAME` stands for any name.
    pub name: &'static str,
    pub kind: Kind,
    pub default: Literal,
    /// What a bad value becomes; `Literal::None` keeps what the layers below say.
    pub strict: Literal,
    pub project: Project,
    pub meaning: &'static str,
}

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Model,
    Models,
    Level,
    Wire,
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
    /// When a question may be a popup.
    Popup,
    Truth,
    Whole {
        min: u64,
        max: u64,
    },
    /// From nothing to this, fractions allowed.
    Amount {
        max: u32,
    },
}

impl Kind {
    /// Says whether only the user's own file may set it: what a workspace brings along for an editor
    /// must neither start a program, nor send a file away, nor say whom to trust.
    pub(super) fn is_for_the_user_file(self) -> bool {
        matches!(self, Kind::Command | Kind::KeyFile | Kind::CaFile)
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
    /// It cannot be used: a guess could send a key elsewhere, or call another model.
    Refuse,
}

/// What a project file may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    Never,
    TurnOff,
    Lower,
    Add,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => write!(f, "text \"PROVIDER/MODEL\""),
            Self::Models => write!(f, "a list of \"PROVIDER/MODEL\""),
            Self::Level => write!(f, "\"low\", \"medium\" or \"high\""),
            Self::Wire => f.write_str(&super::Wire::names()),
            Self::Url => write!(f, "an http(s) URL"),
            Self::Variable => write!(f, "the name of an environment variable"),
            Self::Script | Self::KeyFile | Self::CaFile => write!(f, "a path"),
            Self::Command => write!(f, "a list of words"),
            Self::Proxy => write!(f, "an http(s) URL, or \"none\""),
            Self::Hosts => write!(f, "hosts, with commas between them"),
            Self::Headers => write!(f, "a table of text"),
            Self::Rules => write!(f, "a list of rules"),
            Self::Popup => write!(f, "\"auto\" or \"never\""),
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
        }
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "no",
            Self::TurnOff => "only to turn it off",
            Self::Lower => "only to lower it",
            Self::Add => "only to add to it",
        })
    }
}

/// A question is a popup where the editor has any.
pub(super) const POPUP_AUTO: &str = "auto";
/// No question is a popup.
pub(super) const POPUP_NEVER: &str = "never";

const fn whole(min: u64, max: u64) -> Kind {
    Kind::Whole { min, max }
}

/// Every key there is, in the order the user reads them.
pub const KEYS: &[Key] = &[
    Key {
        name: "model",
        kind: Kind::Model,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The model a session starts with. The provider is what stands before the first slash; the rest, slashes included, is the name the provider knows.",
    },
    Key {
        name: "fallback_models",
        kind: Kind::Models,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "Models that take over, in this order, when the retries of one are over; the next takes the turn, says so, and stays for the rest of the run. A wrong key, a used up quota and a refused request go to no other model: you are told at once.",
    },
    Key {
        name: "effort",
        kind: Kind::Level,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How much a model thinks, where it is known to take it; when not set, what the provider does by itself. A session and a single run may choose another.",
    },
    Key {
        name: "verbosity",
        kind: Kind::Level,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How many words a model makes, where it is known to take it; when not set, what the provider does by itself. A session and a single run may choose another.",
    },
    Key {
        name: "providers.NAME.wire",
        kind: Kind::Wire,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "How the provider is spoken to: OpenAI Chat Completions, OpenAI Responses or Anthropic Messages over HTTP, or a script played from a file. When not set: `scripted` if there is a `script`, else `openai_chat`.",
    },
    Key {
        name: "providers.NAME.base_url",
        kind: Kind::Url,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "Where the service is, for example `https://api.openai.com/v1`. Plain `http` only to this machine.",
    },
    Key {
        name: "providers.NAME.api_key_env",
        kind: Kind::Variable,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The environment variable that holds the key. The key itself never stands in a settings file. An editor cannot set it, and the key goes to no address that an editor set. A provider has one of `api_key_env`, `api_key_command` and `api_key_file` at most.",
    },
    Key {
        name: "providers.NAME.api_key_command",
        kind: Kind::Command,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "A program that prints the key, and its arguments, for example `[\"pass\", \"show\", \"openai\"]`. Only your own settings file may set it. It runs at the first call and without a shell (write `[\"sh\", \"-c\", \"..\"]` for one), with your environment but no terminal and no input, in the root directory, for 10 s at most, and has to print one line. What it printed is kept in memory until the provider refuses it; then it runs once more.",
    },
    Key {
        name: "providers.NAME.api_key_file",
        kind: Kind::KeyFile,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "A file that holds the key and nothing else, yours and readable by you alone (`chmod 600`). Only your own settings file may set it; a relative path starts at the directory of that file. It is read at each call.",
    },
    Key {
        name: "providers.NAME.script",
        kind: Kind::Script,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The script of a scripted model; a relative path starts at the directory of the settings file.",
    },
    Key {
        name: "providers.NAME.headers",
        kind: Kind::Headers,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "Headers added to every request. Their values are never shown.",
    },
    Key {
        name: "providers.NAME.context_window",
        kind: whole(1_024, 100_000_000),
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How many tokens the model can read. Set it for local models: some servers cut the prompt silently at a smaller window.",
    },
    Key {
        name: "providers.NAME.max_output_tokens",
        kind: whole(1, 10_000_000),
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How many tokens one reply may have.",
    },
    Key {
        name: "providers.NAME.temperature",
        kind: Kind::Amount { max: 2 },
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How freely the model picks its words. Not sent when not set; models that think often refuse it, so it is not sent where an Anthropic model is asked to think.",
    },
    Key {
        name: "providers.NAME.tools",
        kind: Kind::Truth,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "Set it to false for a model that takes no tools: it is told so, answers from what the conversation holds, and its answer ends the run.",
    },
    Key {
        name: "providers.NAME.images",
        kind: Kind::Truth,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "Whether its models take images. When not set: what is known of the model, and no for a model nobody told us of. A prompt with an image is refused where the model takes none.",
    },
    Key {
        name: "http.proxy",
        kind: Kind::Proxy,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The proxy to providers, for example `http://USER:PASSWORD@HOST:PORT`; `none` for no proxy whatever the environment says. When not set: `HTTPS_PROXY`, else `ALL_PROXY`, in small or large letters. This machine is never reached through a proxy.",
    },
    Key {
        name: "http.no_proxy",
        kind: Kind::Hosts,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "Hosts that are reached without a proxy: a name stands for itself and all names below it, an address or a range such as `10.0.0.0/8` for itself, `*` for all. When not set: `NO_PROXY`.",
    },
    Key {
        name: "http.ca_file",
        kind: Kind::CaFile,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "Certificates (PEM, one or more) of authorities that are trusted beside those of the platform, for a provider or a proxy with a private one. Only your own settings file may set it; a relative path starts at the directory of that file. `SSL_CERT_FILE` in the environment replaces those of the platform. No setting switches the checks off.",
    },
    Key {
        name: "permissions.deny",
        kind: Kind::Rules,
        default: Literal::None,
        strict: Literal::DenyAll,
        project: Project::Add,
        meaning: "What no tool may do; see the rule form below. The lists of all layers add up, and a denial wins over everything.",
    },
    Key {
        name: "unattended.edit",
        kind: Kind::Truth,
        default: Literal::Truth(true),
        strict: Literal::Truth(false),
        project: Project::TurnOff,
        meaning: "With `-y`: edits inside the workspace are made without asking.",
    },
    Key {
        name: "unattended.command",
        kind: Kind::Truth,
        default: Literal::Truth(false),
        strict: Literal::Truth(false),
        project: Project::TurnOff,
        meaning: "With `-y`: commands run without asking. They run with your rights.",
    },
    Key {
        name: "unattended.max_requests",
        kind: whole(0, 10_000),
        default: Literal::Whole(50),
        strict: Literal::Whole(50),
        project: Project::Lower,
        meaning: "With `-y`: model requests of one run before it asks.",
    },
    Key {
        name: "limits.first_byte_seconds",
        kind: whole(1, 3_600),
        default: Literal::Whole(120),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long a provider may take to begin its answer. After two broken streams in a turn, Adjutant asks for the answer \
                  in one piece: then a third of `limits.total_seconds` counts, where that is longer.",
    },
    Key {
        name: "limits.idle_seconds",
        kind: whole(1, 3_600),
        default: Literal::Whole(60),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long a stream may stand still.",
    },
    Key {
        name: "limits.total_seconds",
        kind: whole(1, 86_400),
        default: Literal::Whole(1_800),
        strict: Literal::Whole(1_800),
        project: Project::Lower,
        meaning: "How long one model call may take in all.",
    },
    Key {
        name: "limits.silence_seconds",
        kind: whole(1, 3_600),
        default: Literal::Whole(10),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long a model may send nothing before you see that it is waited for.",
    },
    Key {
        name: "limits.mistakes",
        kind: whole(1, 100),
        default: Literal::Whole(3),
        strict: Literal::Whole(3),
        project: Project::Lower,
        meaning: "Failed tool calls in a row before you are asked.",
    },
    Key {
        name: "limits.command_output_seconds",
        kind: whole(1, 3_600),
        default: Literal::Whole(10),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long a command runs before you are offered to stop it.",
    },
    Key {
        name: "limits.editor_seconds",
        kind: whole(1, 3_600),
        default: Literal::Whole(30),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long the editor may take to apply an edit or to save before the text alone decides what became of it.",
    },
    Key {
        name: "limits.requests",
        kind: whole(1, 100_000),
        default: Literal::None,
        strict: Literal::Whole(50),
        project: Project::Lower,
        meaning: "Model requests of one run before you are asked; unlimited when not set.",
    },
    Key {
        name: "asks.popup",
        kind: Kind::Popup,
        default: Literal::Text(POPUP_AUTO),
        strict: Literal::None,
        project: Project::Never,
        meaning: "Whether a question may be a popup. \"never\" leaves the other ways: diagnostics, code actions, commands. It always holds for Qt Creator and vim-lsp, whose popups cannot be answered.",
    },
    Key {
        name: "asks.popup_lines",
        kind: whole(1, 12),
        default: Literal::Whole(3),
        strict: Literal::Whole(3),
        project: Project::Never,
        meaning: "How many lines of 80 characters of a command or change your editor shows in a popup without hiding the first. Longer ones can be shown or rejected there, and allowed once they were shown. Adjutant's set-up files say it for their editor.",
    },
    Key {
        name: "asks.followup_default_seconds",
        kind: whole(0, 86_400),
        default: Literal::Whole(0),
        strict: Literal::Whole(0),
        project: Project::Never,
        meaning: "How long a question of the model waits before the first answer it suggested is taken; 0 waits for ever. Nothing else is ever answered by time: no edit, no command, no reading.",
    },
    Key {
        name: "retry.base_ms",
        kind: whole(10, 60_000),
        default: Literal::Whole(500),
        strict: Literal::None,
        project: Project::Never,
        meaning: "The first wait before a failed model call is tried again.",
    },
    Key {
        name: "retry.cap_ms",
        kind: whole(10, 300_000),
        default: Literal::Whole(32_000),
        strict: Literal::None,
        project: Project::Never,
        meaning: "The longest such wait; never below the first.",
    },
    Key {
        name: "retry.attempts",
        kind: whole(1, crate::retry::MAX_ATTEMPTS as u64),
        default: Literal::Whole(crate::retry::MAX_ATTEMPTS as u64),
        strict: Literal::None,
        project: Project::Lower,
        meaning: "How often one model call is tried, the first time included.",
    },
];

/// Returns the row of a key, `NAME` standing for any segment.
pub(super) fn find(path: &[String]) -> Option<&'static Key> {
    KEYS.iter().find(|key| matches(key, path) == Some(true))
}

/// Says whether keys live below this path.
pub(super) fn is_group(path: &[String]) -> bool {
    KEYS.iter().any(|key| matches(key, path) == Some(false))
}

/// Returns the rows below a group that has no `NAME` in it.
pub(super) fn below(path: &[String]) -> impl Iterator<Item = &'static Key> + '_ {
    KEYS.iter().filter(|key| !key.name.contains("NAME") && matches(key, path) == Some(false))
}

/// `Some(true)`: the path is this key; `Some(false)`: the path leads to it.
fn matches(key: &Key, path: &[String]) -> Option<bool> {
    let mut given = path.iter();
    for segment in key.name.split('.') {
        match given.next() {
            None => return Some(false),
            Some(name) if segment == "NAME" || segment == name => {}
            Some(_) => return None,
        }
    }
    given.next().is_none().then_some(true)
}

/// Returns the key a mistyped path most likely means, as the user would write it.
pub(super) fn nearest_key(path: &[String]) -> Option<String> {
    let last = path.last()?;
    let siblings: Vec<String> = KEYS
        .iter()
        .filter_map(|key| {
            let segments: Vec<&str> = key.name.split('.').collect();
            let head = segments.get(..path.len())?;
            let same =
                head.iter().zip(path).take(path.len() - 1).all(|(s, given)| s == given || *s == "NAME");
            (same && head.last() != Some(&"NAME")).then(|| head.last().map(|s| (*s).to_owned()))?
        })
        .collect();
    if let Some(near) = nearest(last, siblings.iter().map(String::as_str)) {
        let mut whole = path.to_vec();
        whole.pop();
        whole.push(near.to_owned());
        return Some(whole.join("."));
    }
    // The right name in the wrong table.
    KEYS.iter().find(|key| key.name.rsplit('.').next() == Some(last)).map(|key| key.name.to_owned())
}

/// Returns the candidate that is a slip of the finger away from `given`.
pub(super) fn nearest<'a>(given: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Two, so that swapped letters count as one slip.
    let slips = if given.chars().count() < 4 { 1 } else { 2 };
    let (distance, near) = crate::tool::nearest_with_distance(given, candidates).into_iter().next()?;
    (distance <= slips).then_some(near)
}
