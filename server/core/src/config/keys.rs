//! The table of keys. The resolver, `adjutant config` and `docs/configuration.md` use it.
//!
//! A new setting is a new row here, and a field that reads it. Never contains a user's value.

mod types;

pub use types::{Literal, Project, ValueType};

/// One key of the settings.
#[derive(Debug)]
pub struct Key {
    /// Dotted path. The segment `NAME` matches any name.
    pub name: &'static str,
    pub kind: ValueType,
    pub default: Literal,
    /// The replacement for a bad value. `Literal::None` keeps the value of the lower layers.
    pub strict: Literal,
    pub project: Project,
    pub meaning: &'static str,
}

/// An ask is a popup if the editor supports popups.
pub(super) const POPUP_AUTO: &str = "auto";
/// No ask is a popup.
pub(super) const POPUP_NEVER: &str = "never";

/// The highest limit of tokens.
const MOST_TOKENS: u64 = 1_000_000_000_000;
/// The highest limit of money and the highest price.
const MOST_MONEY: u32 = 1_000_000;

const fn whole(min: u64, max: u64) -> ValueType {
    ValueType::Whole { min, max }
}

/// Every key, in the order in which users see them.
pub const KEYS: &[Key] = &[
    Key {
        name: "model",
        kind: ValueType::Model,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The model of every new run, unless its session or the command line chose another. The provider comes before the first slash. The rest, slashes included, is the name that the provider knows.",
    },
    Key {
        name: "fallback_models",
        kind: ValueType::Models,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "Fallback models, in this order. When all attempts of one model failed, the next one continues. You see which, and it stays for the rest of the run. After a wrong key, a used up quota or a refused request no other model is tried.",
    },
    Key {
        name: "effort",
        kind: ValueType::Level,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How much the model thinks, if it is known to support that. When not set, the provider decides. A session and a single run may choose another value.",
    },
    Key {
        name: "verbosity",
        kind: ValueType::Level,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How many words the model writes, if it is known to support that. When not set, the provider decides. A session and a single run may choose another value.",
    },
    Key {
        name: "detail",
        kind: ValueType::Detail,
        default: Literal::Text("normal"),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How much of a task the chat of an editor and the terminal draw. With \"brief\", answers, changes, commands, questions, the plan and whatever went wrong. With \"normal\", also a line for each step that only looks. With \"full\", also thoughts and the arguments of steps, unfolded. Nothing else depends on it: the log and the transcript have everything.",
    },
    Key {
        name: "providers.NAME.wire",
        kind: ValueType::Wire,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The protocol of the provider: OpenAI Chat Completions, OpenAI Responses or Anthropic Messages over HTTP, or a script from a file. When not set: `scripted` if there is a `script`, else `openai_chat`.",
    },
    Key {
        name: "providers.NAME.base_url",
        kind: ValueType::Url,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The address of the service, for example `https://api.openai.com/v1`. Plain `http` works only for this machine.",
    },
    Key {
        name: "providers.NAME.api_key_env",
        kind: ValueType::Variable,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The name of the environment variable that holds the key. Never write the key itself here. An editor cannot set it, and the key is never sent to an address that an editor set. Set only one of `api_key_env`, `api_key_command` and `api_key_file`.",
    },
    Key {
        name: "providers.NAME.api_key_command",
        kind: ValueType::Command,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "A program that prints the key, with its arguments, for example `[\"pass\", \"show\", \"openai\"]`. Only your own settings file may set it. It runs at the first call, in the root directory, with your environment, without terminal and input. It has 10 s to print one line. No shell is used; write `[\"sh\", \"-c\", \"..\"]` for one. The key stays in memory. If the provider refuses it, the program runs once more.",
    },
    Key {
        name: "providers.NAME.api_key_file",
        kind: ValueType::KeyFile,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "A file with the key and nothing else. It must belong to you, and only you may read it (`chmod 600`). Only your own settings file may set it; a relative path starts in the directory of that file. It is read at each call.",
    },
    Key {
        name: "providers.NAME.script",
        kind: ValueType::Script,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The script of a [scripted model](scripted-model.md); a relative path starts in the directory of the settings file.",
    },
    Key {
        name: "providers.NAME.headers",
        kind: ValueType::Headers,
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
        meaning: "How many tokens the model can read. Set it for local models: some servers silently drop what does not fit.",
    },
    Key {
        name: "providers.NAME.max_output_tokens",
        kind: whole(1, 10_000_000),
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How many tokens one reply may have. When not set, a reply that was cut is asked for once more with the most tokens \
                  that its model is known to write.",
    },
    Key {
        name: "providers.NAME.temperature",
        kind: ValueType::Amount { max: 2 },
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "How freely the model picks its words. When not set, it is not sent. Many models that think refuse it, so it is also not sent to an Anthropic model that is asked to think.",
    },
    Key {
        name: "providers.NAME.tools",
        kind: ValueType::Truth,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "Set it to false for a model without tool calls. It then answers from the conversation alone, and its answer ends the run.",
    },
    Key {
        name: "providers.NAME.images",
        kind: ValueType::Truth,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "Whether its models accept images. When not set, Adjutant uses what it knows of the model, and no for an unknown one. A prompt with an image is refused if the model accepts none.",
    },
    Key {
        name: "providers.NAME.edit_tool",
        kind: ValueType::EditTool,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "The tool by which its models edit files: `edit_file` replaces quoted text, `apply_patch` takes a patch for several files. When not set: `apply_patch` for the models of OpenAI that were trained on it, `edit_file` for all others. A run keeps the tools of the model that it began with.",
    },
    Key {
        name: "http.proxy",
        kind: ValueType::Proxy,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "The proxy to providers, for example `http://USER:PASSWORD@HOST:PORT`; `none` means no proxy, also if the environment names one. When not set: `HTTPS_PROXY`, else `ALL_PROXY`, in small or large letters. A service on this machine is always called directly.",
    },
    Key {
        name: "http.no_proxy",
        kind: ValueType::Hosts,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "Hosts that are called without a proxy. A name includes all names below it; an address or a range such as `10.0.0.0/8` means itself; `*` means all. When not set: `NO_PROXY`.",
    },
    Key {
        name: "http.ca_file",
        kind: ValueType::CaFile,
        default: Literal::None,
        strict: Literal::Refuse,
        project: Project::Never,
        meaning: "A PEM file with one or more certificate authorities that are trusted in addition to those of the system, for example that of your company. Only your own settings file may set it; a relative path starts in the directory of that file. `SSL_CERT_FILE` in the environment replaces those of the system. No setting switches the checks off.",
    },
    Key {
        name: "permissions.deny",
        kind: ValueType::Rules,
        default: Literal::None,
        strict: Literal::DenyAll,
        project: Project::Add,
        meaning: "What no tool may do, as [rules that deny](#rules-that-deny). The lists of all layers are added, and a denial wins over everything.",
    },
    Key {
        name: "unattended.edit",
        kind: ValueType::Truth,
        default: Literal::Truth(true),
        strict: Literal::Truth(false),
        project: Project::TurnOff,
        meaning: "With `-y`: edits inside the workspace are made without asking.",
    },
    Key {
        name: "unattended.command",
        kind: ValueType::Truth,
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
                  in one piece. The limit is then a third of `limits.total_seconds`, if that is longer.",
    },
    Key {
        name: "limits.idle_seconds",
        kind: whole(1, 3_600),
        default: Literal::Whole(60),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long a stream may pause.",
    },
    Key {
        name: "limits.total_seconds",
        kind: whole(1, 86_400),
        default: Literal::Whole(1_800),
        strict: Literal::Whole(1_800),
        project: Project::Lower,
        meaning: "How long one model call may take as a whole.",
    },
    Key {
        name: "limits.silence_seconds",
        kind: whole(1, 3_600),
        default: Literal::Whole(10),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long the model may be silent before you see that Adjutant waits for it.",
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
        meaning: "How long a command may run before you are asked whether to stop it.",
    },
    Key {
        name: "limits.editor_seconds",
        kind: whole(1, 3_600),
        default: Literal::Whole(30),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long the editor may take to apply an edit or to save a file. After that, Adjutant looks at the text to see whether the edit was made.",
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
        name: "limits.tokens",
        kind: whole(0, MOST_TOKENS),
        default: Literal::None,
        strict: Literal::Nothing,
        project: Project::Lower,
        meaning: "Tokens of one run, read and written, before you are asked; unlimited when not set. What the provider has in its cache counts too. It is looked at before each request, so the last one may go beyond it. If a provider counts no tokens, they are estimated.",
    },
    Key {
        name: "limits.cost",
        kind: ValueType::Amount { max: MOST_MONEY },
        default: Literal::None,
        strict: Literal::Nothing,
        project: Project::Never,
        meaning: "What one run may cost before you are asked, in your `currency`; unlimited when not set. It needs `prices` of the model.",
    },
    Key {
        name: "limits.session_requests",
        kind: whole(0, 10_000_000),
        default: Literal::None,
        strict: Literal::Nothing,
        project: Project::Lower,
        meaning: "Model requests of a whole session; unlimited when not set. When they are used up, the session makes no further request until you raise it.",
    },
    Key {
        name: "limits.session_tokens",
        kind: whole(0, MOST_TOKENS),
        default: Literal::None,
        strict: Literal::Nothing,
        project: Project::Lower,
        meaning: "Tokens of a whole session, read and written; unlimited when not set. When they are used up, the session makes no further request until you raise it.",
    },
    Key {
        name: "limits.session_cost",
        kind: ValueType::Amount { max: MOST_MONEY },
        default: Literal::None,
        strict: Literal::Nothing,
        project: Project::Never,
        meaning: "What a whole session may cost, in your `currency`; unlimited when not set. When it is used up, the session makes no further request until you raise it. It needs `prices` of each model.",
    },
    Key {
        name: "currency",
        kind: ValueType::Currency,
        default: Literal::Text("USD"),
        strict: Literal::None,
        project: Project::Never,
        meaning: "The currency of your `prices`, for example \"EUR\". Nothing is converted.",
    },
    Key {
        name: "prices.NAME.input",
        kind: ValueType::Amount { max: MOST_MONEY },
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "What a million tokens of input cost. NAME is the model as \"PROVIDER/MODEL\", in quotes: `[prices.\"openai/MODEL\"]`. Adjutant knows no prices of its own: without `input` and `output`, a model has none, and no cost is shown.",
    },
    Key {
        name: "prices.NAME.output",
        kind: ValueType::Amount { max: MOST_MONEY },
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "What a million tokens of output cost.",
    },
    Key {
        name: "prices.NAME.cache_read",
        kind: ValueType::Amount { max: MOST_MONEY },
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "What a million tokens of input cost that the provider had in its cache. When not set, the same as other input.",
    },
    Key {
        name: "prices.NAME.cache_write",
        kind: ValueType::Amount { max: MOST_MONEY },
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "What a million tokens of input cost that the provider put into its cache. When not set, the same as other input.",
    },
    Key {
        name: "prompt.off",
        kind: ValueType::Names,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "What the prompt leaves out, as names of sections (`surroundings`, `instructions`, `skills`, `memory`, `reminder`) or of files as `adjutant sessions context` shows them. It counts from the next run.",
    },
    Key {
        name: "compact.model",
        kind: ValueType::Model,
        default: Literal::None,
        strict: Literal::None,
        project: Project::Never,
        meaning: "The model that writes the summaries of long conversations, for example a cheaper one. When not set, the model of the run. The model of the run also writes them if this one fails, or if the conversation does not fit its window.",
    },
    Key {
        name: "compact.outputs_percent",
        kind: whole(10, 100),
        default: Literal::Whole(50),
        strict: Literal::Whole(50),
        project: Project::Never,
        meaning: "How full the context window is, in percent, when large old outputs of tools become placeholders. The last three outputs stay, and nothing is done unless it frees a tenth of the window.",
    },
    Key {
        name: "compact.middle_percent",
        kind: whole(10, 100),
        default: Literal::Whole(60),
        strict: Literal::Whole(60),
        project: Project::Never,
        meaning: "How full the context window is, in percent, when a summary replaces the middle of the conversation.",
    },
    Key {
        name: "compact.all_percent",
        kind: whole(10, 100),
        default: Literal::Whole(75),
        strict: Literal::Whole(75),
        project: Project::Never,
        meaning: "How full the context window is, in percent, when a summary replaces everything but the last turns. With room for a reply of a tenth of the window missing, that is done anyway.",
    },
    Key {
        name: "edits.mode",
        kind: ValueType::Edits,
        default: Literal::None,
        strict: Literal::Text("ask"),
        project: Project::AskOnly,
        meaning: "What happens to an edit that nothing forbids. With \"ask\", you decide before anything changes. With \"review\", it is applied at once, and you keep or undo each change later. With \"auto\", it is applied and counts as kept. When not set: \"review\" in an editor that draws changes and says that you trust the workspace, else \"ask\". Files that may hold secrets, that run on build or that instruct agents always ask. A project file can only set \"ask\".",
    },
    Key {
        name: "edits.save",
        kind: ValueType::Saves,
        default: Literal::Text("as-left"),
        strict: Literal::Text("never"),
        project: Project::LessSaved,
        meaning: "Whether an open document is saved after an edit of the agent, an undo or a restore. With \"as-left\", it is saved if nothing in it was unsaved before; otherwise it stays unsaved. With \"never\", it stays unsaved until you save it; commands then see the file as it was. With \"always\", it is saved with whatever else is unsaved in it. A closed file is changed on disk. Only an editor that can be asked saves.",
    },
    Key {
        name: "edits.keep_mb",
        kind: whole(0, 1_000_000),
        default: Literal::Whole(500),
        strict: Literal::Whole(500),
        project: Project::Never,
        meaning: "How many megabytes of texts before edits are kept in all sessions, so that edits can be undone. When Adjutant starts and there are more, the oldest are removed, but none of a run that is not over, and none of a file with changes that nobody has looked at.",
    },
    Key {
        name: "asks.popup",
        kind: ValueType::Popup,
        default: Literal::Text(POPUP_AUTO),
        strict: Literal::None,
        project: Project::Never,
        meaning: "Whether a question may be a popup. With \"never\", questions are diagnostics, code actions and commands. Qt Creator and vim-lsp never get popups, because theirs cannot be answered.",
    },
    Key {
        name: "asks.popup_lines",
        kind: whole(1, 12),
        default: Literal::Whole(3),
        strict: Literal::Whole(3),
        project: Project::Never,
        meaning: "How many lines of 80 characters your editor's popup shows without hiding the first. A longer command or change cannot be allowed in the popup before you have opened it. Adjutant's set-up files set this for their editor.",
    },
    Key {
        name: "asks.followup_default_seconds",
        kind: whole(0, 86_400),
        default: Literal::Whole(0),
        strict: Literal::Whole(0),
        project: Project::Never,
        meaning: "How long a question of the model waits before the first answer that it suggested is used. 0 waits for ever. Only such questions are answered by time, never an edit, a command or a read.",
    },
    Key {
        name: "retry.base_ms",
        kind: whole(10, 60_000),
        default: Literal::Whole(500),
        strict: Literal::None,
        project: Project::Never,
        meaning: "How long to wait before a failed model call is repeated the first time.",
    },
    Key {
        name: "retry.cap_ms",
        kind: whole(10, 300_000),
        default: Literal::Whole(32_000),
        strict: Literal::None,
        project: Project::Never,
        meaning: "The longest such wait. It is never shorter than the first.",
    },
    Key {
        name: "retry.attempts",
        kind: whole(1, crate::machine::retry::MAX_ATTEMPTS as u64),
        default: Literal::Whole(crate::machine::retry::MAX_ATTEMPTS as u64),
        strict: Literal::None,
        project: Project::Lower,
        meaning: "How often one model call is tried, including the first time.",
    },
];

/// Returns the row of a key; `NAME` matches any segment.
pub(super) fn find(path: &[String]) -> Option<&'static Key> {
    KEYS.iter().find(|key| matches(key, path) == Some(true))
}

/// Returns whether there are keys below this path.
pub(super) fn is_group(path: &[String]) -> bool {
    KEYS.iter().any(|key| matches(key, path) == Some(false))
}

/// Returns the rows below a group, without rows that contain `NAME`.
pub(super) fn below(path: &[String]) -> impl Iterator<Item = &'static Key> + '_ {
    KEYS.iter().filter(|key| !key.name.contains("NAME") && matches(key, path) == Some(false))
}

/// Returns `Some(true)` if the path is this key, and `Some(false)` if the path is a group of it.
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

/// Returns the key that a mistyped path most likely means, as the user would write it.
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
    // The right name, but in the wrong table.
    KEYS.iter().find(|key| key.name.rsplit('.').next() == Some(last)).map(|key| key.name.to_owned())
}

/// Returns the candidate that differs from `given` by one typing error.
pub(super) fn nearest<'a>(given: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Two, because swapped letters are a distance of two.
    let most = if given.chars().count() < 4 { 1 } else { 2 };
    let (distance, near) = crate::tool::nearest_with_distance(given, candidates).into_iter().next()?;
    (distance <= most).then_some(near)
}
