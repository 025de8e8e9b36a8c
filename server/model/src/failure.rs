//! Classifies a provider's error, and writes one sentence about it for the user.
//!
//! Never decides a retry, and never lets a key into a message.

use adjutant_core::config::KeySource;
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use serde_json::Value;

use super::page::text_of;
use super::secret::Redactor;
use super::waits::wait_in_words;

/// The maximum length of a provider's text that a message quotes, in characters.
const MAX_QUOTE_CHARS: usize = 300;
/// How much of a provider's text is searched for words to quote, in bytes. An error in a stream may have 32 MiB.
const MAX_SCANNED_BYTES: usize = 64 * 1024;
/// How much of a provider's text is searched for words that tell its class, in characters.
const MAX_SEARCHED_CHARS: usize = 4000;

/// Returns a failure that names no wait before the next attempt.
pub(super) fn failure(class: FailureClass, message: impl Into<String>) -> CallFailure {
    CallFailure { class, message: message.into(), retry_after_ms: None }
}

/// Returns the failure for a request that cannot be written as JSON.
pub(super) fn unwritable(error: serde_json::Error) -> CallFailure {
    failure(FailureClass::InvalidRequest, format!("could not write the request: {error}"))
}

/// The provider and model of a call, and the source of its key, for messages.
#[derive(Clone, Copy)]
pub(super) struct Endpoint<'a> {
    pub provider: &'a str,
    pub model: &'a str,
    pub key: Option<&'a KeySource>,
}

/// An error of a provider, parsed from any of the usual forms.
#[derive(Debug, Default)]
pub(super) struct Complaint {
    /// The machine-readable names: `code`, `type` and `status` of the error, joined.
    pub codes: String,
    /// The status inside the body, if it has one.
    pub status: Option<u16>,
    pub message: String,
}

impl Complaint {
    /// Parses the body of an error. A body that is not JSON becomes the message.
    pub fn from_body(body: &str) -> Complaint {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Complaint::from_json(&value),
            Err(_) => Complaint { message: body.to_owned(), ..Complaint::default() },
        }
    }

    /// Parses `{"error": {..}}`, `{"error": ".."}`, `{"message": ".."}`, a list of one, or the inner object itself.
    fn from_json(value: &Value) -> Complaint {
        let value = value.get(0).unwrap_or(value);
        let inner = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let text = |key: &str| [inner, value].iter().find_map(|at| at.get(key)?.as_str());
        let message =
            inner.as_str().or_else(|| text("message")).or_else(|| text("detail")).map(str::to_owned);
        let codes = ["code", "type", "status"].iter().filter_map(|key| inner.get(*key)?.as_str());
        let number =
            |key: &str| inner.get(key).and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        Complaint {
            codes: codes.collect::<Vec<_>>().join(" ").to_ascii_lowercase(),
            status: ["code", "status"].iter().find_map(|key| u16::try_from(number(key)?).ok()),
            message: message.unwrap_or_else(|| value.to_string()),
        }
    }

    fn refuses_tools(&self) -> bool {
        let message = self.message.chars().take(MAX_SEARCHED_CHARS).collect::<String>().to_ascii_lowercase();
        TOOL_WORDS.iter().any(|words| message.contains(words))
    }
}

/// Words of providers when a model does not support tools.
const TOOL_WORDS: [&str; 3] = ["not support tool", "support tool use", "tools is not supported"];

/// Returns the class and the message for an answer with `status` and `complaint`.
pub(super) fn classify(
    status: u16,
    complaint: &Complaint,
    endpoint: Endpoint<'_>,
    redactor: &Redactor,
) -> CallFailure {
    let quote = quote(&complaint.message, redactor);
    let class = class_of(status, complaint);
    let (what, hint) = what_and_hint(class, complaint, endpoint);
    // An error inside a stream comes with status 200, which says nothing about it.
    let quoted = match (status, quote.is_empty()) {
        (200, true) => String::new(),
        (200, false) => format!(" (\"{quote}\")"),
        (_, true) => format!(" ({status})"),
        (_, false) => format!(" ({status}: \"{quote}\")"),
    };
    let hint = if hint.is_empty() { hint } else { format!("; {hint}") };
    failure(class, format!("{what}{quoted}{hint}"))
}

/// Returns what happened, and what the user can do about it; the second is empty if there is nothing to do.
fn what_and_hint(class: FailureClass, complaint: &Complaint, endpoint: Endpoint<'_>) -> (String, String) {
    let Endpoint { provider, model, .. } = endpoint;
    match class {
        FailureClass::Auth => key_refused(endpoint),
        FailureClass::Quota => (
            format!("provider \"{provider}\" says that the credit or quota is used up"),
            "check the plan and billing of the account".to_owned(),
        ),
        FailureClass::ContextExceeded => {
            (format!("the conversation does not fit the window of model \"{model}\""), String::new())
        }
        FailureClass::ModelNotFound => (
            format!("provider \"{provider}\" does not know model \"{model}\" at this address"),
            "check the model's name and `base_url`".to_owned(),
        ),
        FailureClass::RateLimited => {
            (format!("provider \"{provider}\" limits the rate of requests"), String::new())
        }
        FailureClass::Overloaded => {
            (format!("provider \"{provider}\" has trouble or is overloaded"), String::new())
        }
        FailureClass::History => (
            format!("provider \"{provider}\" rejected the history of the conversation"),
            "start a new session, or choose another model".to_owned(),
        ),
        FailureClass::Images => (
            format!("provider \"{provider}\" refused an image of the conversation"),
            "from now on the model gets a text instead of each image".to_owned(),
        ),
        FailureClass::Broken => {
            (format!("provider \"{provider}\" reported an error in the stream"), String::new())
        }
        _ if complaint.refuses_tools() => (
            format!("model \"{model}\" does not support tools"),
            format!("choose another model, or set `tools = false` for provider \"{provider}\""),
        ),
        _ => (
            format!("provider \"{provider}\" refused the request"),
            "check the settings of this provider and model".to_owned(),
        ),
    }
}

/// Returns the same for a key that was rejected or is missing. The advice depends on the source of the key.
fn key_refused(Endpoint { provider, key, .. }: Endpoint<'_>) -> (String, String) {
    match key {
        Some(KeySource::Variable(name)) => (
            format!("the key in {name} was refused by provider \"{provider}\""),
            format!("set {name} to a valid key and try again"),
        ),
        Some(KeySource::Command(_)) => (
            format!("the key that `api_key_command` printed was refused by provider \"{provider}\""),
            "see that the command prints a valid key and try again".to_owned(),
        ),
        Some(KeySource::File(path)) => (
            format!("the key in the file {path:?} was refused by provider \"{provider}\""),
            "put a valid key into it and try again".to_owned(),
        ),
        None => (
            format!("provider \"{provider}\" needs a key"),
            "set `api_key_env` to the name of the variable that holds one".to_owned(),
        ),
    }
}

const CONTEXT_WORDS: [&str; 13] = [
    "context_length",
    "request too large for",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "too many tokens",
    "exceeds the maximum number of tokens",
    "exceed context limit",
    "request_too_large",
];
const QUOTA_WORDS: [&str; 8] = [
    "insufficient_quota",
    "billing_hard_limit",
    "exceeded your current quota",
    "credit balance",
    "insufficient balance",
    "insufficient credits",
    "billing_error",
    "api usage limits",
];
/// Words of a provider that rejects the history: it cannot pair calls with outputs, or cannot verify the reasoning.
const HISTORY_WORDS: [&str; 10] = [
    "tool_use ids",
    "tool_result",
    "tool_call_id",
    "tool_calls",
    "no tool output found",
    "no tool call found",
    "thinking block",
    "in `thinking`",
    "encrypted_content",
    "encrypted content",
];
/// Words of a provider that rejects an image: invalid, too large, or not supported.
const IMAGE_WORDS: [&str; 14] = [
    "image_url",
    "input_image",
    "image input",
    "image.source",
    "image dimensions",
    "image exceeds",
    "process image",
    "process the image",
    "invalid image",
    "invalid_image",
    "unsupported image",
    "valid image",
    "support image",
    "image_parse_error",
];
const MODEL_WORDS: [&str; 4] = ["model_not_found", "unknown model", "no such model", "invalid model name"];

fn class_of(status: u16, complaint: &Complaint) -> FailureClass {
    let words = format!(
        "{} {}",
        complaint.codes,
        complaint.message.chars().take(MAX_SEARCHED_CHARS).collect::<String>()
    )
    .to_ascii_lowercase();
    let mentions = |list: &[&str]| list.iter().any(|word| words.contains(word));
    // The status of a rejected key comes first: its body may also mention other problems.
    match status {
        401 => return FailureClass::Auth,
        402 => return FailureClass::Quota,
        403 if !mentions(&QUOTA_WORDS) => return FailureClass::Auth,
        _ => {}
    }
    // One provider also uses the word quota for its limit per minute.
    if mentions(&QUOTA_WORDS) && !complaint.codes.contains("resource_exhausted") {
        return FailureClass::Quota;
    }
    // Some servers report this with 429 or 500. With 429, the other words may mean tokens per minute.
    let too_long = if status == 429 { mentions(&CONTEXT_WORDS[..2]) } else { mentions(&CONTEXT_WORDS) };
    if status == 413 || too_long {
        return FailureClass::ContextExceeded;
    }
    match status {
        // A gateway that found no model that supports images.
        404 if mentions(&IMAGE_WORDS) => FailureClass::Images,
        // A gateway that found no provider that supports tools with this model.
        400 | 404 if complaint.refuses_tools() => FailureClass::InvalidRequest,
        404 => FailureClass::ModelNotFound,
        429 => FailureClass::RateLimited,
        408 | 409 | 425 | 500..=599 => FailureClass::Overloaded,
        // An error inside a stream: only its words tell the class.
        200 => class_of_words(&complaint.codes, &words),
        _ if mentions(&MODEL_WORDS) => FailureClass::ModelNotFound,
        400 | 422 if mentions(&HISTORY_WORDS) => FailureClass::History,
        400 | 415 | 422 if mentions(&IMAGE_WORDS) => FailureClass::Images,
        _ => FailureClass::InvalidRequest,
    }
}

fn class_of_words(codes: &str, words: &str) -> FailureClass {
    let code = |list: &[&str]| list.iter().any(|word| codes.contains(word));
    if code(&["rate_limit", "too_many_requests", "resource_exhausted", "slow_down"]) {
        FailureClass::RateLimited
    } else if code(&["overloaded", "server_error", "api_error", "timeout_error", "unavailable", "internal"]) {
        FailureClass::Overloaded
    } else if code(&["authentication", "invalid_api_key", "permission"]) {
        FailureClass::Auth
    } else if code(&["not_found_error"]) || MODEL_WORDS.iter().any(|word| words.contains(word)) {
        FailureClass::ModelNotFound
    } else if code(&["invalid_encrypted_content"])
        || (code(&["invalid_request"]) && HISTORY_WORDS.iter().any(|word| words.contains(word)))
    {
        FailureClass::History
    } else if code(&["invalid_image"])
        || (code(&["invalid_request"]) && IMAGE_WORDS.iter().any(|word| words.contains(word)))
    {
        FailureClass::Images
    } else if code(&["invalid_request", "invalid_prompt"]) {
        FailureClass::InvalidRequest
    } else {
        FailureClass::Broken
    }
}

/// Classifies an error that came inside a stream.
pub(super) fn classify_in_stream(error: &str, endpoint: Endpoint<'_>, redactor: &Redactor) -> CallFailure {
    let complaint = Complaint::from_body(error);
    let status = complaint.status.filter(|status| (400..600).contains(status)).unwrap_or(200);
    let mut failed = classify(status, &complaint, endpoint, redactor);
    // The headers were sent before the error, so only its message can name the wait.
    if failed.class == FailureClass::RateLimited {
        failed.retry_after_ms = wait_in_words(&complaint.message);
    }
    failed
}

/// Returns a provider's text for use in a message: without keys and HTML, on one line, and short.
pub(super) fn quote(text: &str, redactor: &Redactor) -> String {
    // Redact twice: markup may interrupt a key, or be part of one.
    let text = redactor.redact(text);
    let clean = redactor.redact(&text_of(start_of(&text, MAX_SCANNED_BYTES)));
    let mut quote = String::new();
    for (count, word) in
        clean.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).enumerate()
    {
        if count > 0 {
            quote.push(' ');
        }
        quote.push_str(word);
        if quote.len() > MAX_QUOTE_CHARS * 4 {
            break;
        }
    }
    match quote.char_indices().nth(MAX_QUOTE_CHARS) {
        Some((end, _)) => format!("{}...", &quote[..end]),
        None => quote,
    }
}

/// Returns at most `max_bytes` of the start of a text, cut between characters.
fn start_of(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests;
