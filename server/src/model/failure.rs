//! What a provider's refusal means: its class and one sentence for the user.
//!
//! Decides no retry, and never lets a key through into a message.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjutant_core::config::KeySource;
use adjutant_core::retry::{CallFailure, FailureClass};
use serde_json::Value;

use super::secret::Redactor;

/// The most characters of a provider's own words in a message of ours.
const MAX_QUOTE_CHARS: usize = 300;
/// The most characters of it that are searched for what it means.
const MOST_SEARCHED: usize = 4000;

/// Makes a failure without a wait.
pub(super) fn failure(class: FailureClass, message: impl Into<String>) -> CallFailure {
    CallFailure { class, message: message.into(), retry_after_ms: None }
}

/// Makes the failure of a request that cannot be written.
pub(super) fn unwritable(error: serde_json::Error) -> CallFailure {
    failure(FailureClass::InvalidRequest, format!("could not write the request: {error}"))
}

/// Who was asked, for the sentences.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub provider: &'a str,
    pub model: &'a str,
    pub key: Option<&'a KeySource>,
}

/// What a provider said about an error, in any of the usual shapes.
#[derive(Debug, Default)]
pub(super) struct Complaint {
    /// The machine-readable names: `error.code` and `error.type`, joined.
    pub codes: String,
    /// A status given inside the body.
    pub status: Option<u16>,
    pub message: String,
}

impl Complaint {
    /// Reads the body of an error answer; what is not JSON is taken as text.
    pub fn from_body(body: &str) -> Complaint {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Complaint::from_json(&value),
            Err(_) => Complaint { message: body.to_owned(), ..Complaint::default() },
        }
    }

    /// Reads `{"error": {..}}`, `{"error": ".."}`, `{"message": ".."}`, a list of one, or the inner object itself.
    pub fn from_json(value: &Value) -> Complaint {
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
        let said = self.message.chars().take(MOST_SEARCHED).collect::<String>().to_ascii_lowercase();
        TOOL_WORDS.iter().any(|words| said.contains(words))
    }
}

/// How providers say that a model takes no tools.
const TOOL_WORDS: [&str; 3] = ["not support tool", "support tool use", "tools is not supported"];

/// Says what the answer with `status` and `complaint` means.
pub(super) fn classify(
    status: u16,
    complaint: &Complaint,
    asked: Asked<'_>,
    redactor: &Redactor,
) -> CallFailure {
    let quote = quote(&complaint.message, redactor);
    let Asked { provider, model, key } = asked;
    let class = class_of(status, complaint);
    let (what, hint) = match class {
        FailureClass::Auth => match key {
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
                format!("provider \"{provider}\" wants a key"),
                "set `api_key_env` to the name of the variable that holds one".to_owned(),
            ),
        },
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
            format!("provider \"{provider}\" does not take the conversation as it stands"),
            "start a new session, or choose another model".to_owned(),
        ),
        FailureClass::Images => (
            format!("provider \"{provider}\" refused an image of the conversation"),
            "the model is told of the images in words from now on".to_owned(),
        ),
        FailureClass::Broken => {
            (format!("provider \"{provider}\" reported an error in the stream"), String::new())
        }
        _ if complaint.refuses_tools() => (
            format!("model \"{model}\" takes no tools"),
            format!("choose another model, or set `tools = false` for provider \"{provider}\""),
        ),
        _ => (
            format!("provider \"{provider}\" refused the request"),
            "check the settings of this provider and model".to_owned(),
        ),
    };
    // Inside a stream the status was good and says nothing.
    let said = match (status, quote.is_empty()) {
        (200, true) => String::new(),
        (200, false) => format!(" (\"{quote}\")"),
        (_, true) => format!(" ({status})"),
        (_, false) => format!(" ({status}: \"{quote}\")"),
    };
    let hint = if hint.is_empty() { hint } else { format!("; {hint}") };
    failure(class, format!("{what}{said}{hint}"))
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
/// Words of a provider that does not take the conversation back as it was: calls it cannot pair with
/// outputs, and reasoning that is not, or no longer, its own.
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
/// Words of a provider about an image: one it cannot read, one that is too large, or any at all.
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
    let words =
        format!("{} {}", complaint.codes, complaint.message.chars().take(MOST_SEARCHED).collect::<String>())
            .to_ascii_lowercase();
    let speaks_of = |list: &[&str]| list.iter().any(|word| words.contains(word));
    // A refused key comes first: what else its body speaks of does not matter.
    match status {
        401 => return FailureClass::Auth,
        402 => return FailureClass::Quota,
        403 if !speaks_of(&QUOTA_WORDS) => return FailureClass::Auth,
        _ => {}
    }
    // One provider speaks of quota also when a minute's worth is used up.
    if speaks_of(&QUOTA_WORDS) && !complaint.codes.contains("resource_exhausted") {
        return FailureClass::Quota;
    }
    // Some servers say this with 429 or 500; only a shorter request helps there
    // too. With 429, other words of tokens mean tokens per minute.
    let too_long = if status == 429 { speaks_of(&CONTEXT_WORDS[..2]) } else { speaks_of(&CONTEXT_WORDS) };
    if status == 413 || too_long {
        return FailureClass::ContextExceeded;
    }
    match status {
        // A gateway finds no model that would take them.
        404 if speaks_of(&IMAGE_WORDS) => FailureClass::Images,
        // A gateway says so of a model that nobody serves with tools.
        400 | 404 if complaint.refuses_tools() => FailureClass::InvalidRequest,
        404 => FailureClass::ModelNotFound,
        429 => FailureClass::RateLimited,
        408 | 409 | 425 | 500..=599 => FailureClass::Overloaded,
        // An error inside a stream that began well: its words are all there is.
        200 => class_of_words(&complaint.codes, &words),
        _ if speaks_of(&MODEL_WORDS) => FailureClass::ModelNotFound,
        400 | 422 if speaks_of(&HISTORY_WORDS) => FailureClass::History,
        400 | 415 | 422 if speaks_of(&IMAGE_WORDS) => FailureClass::Images,
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

/// Classifies an error object that came inside a stream.
pub(super) fn classify_in_stream(error: &Value, asked: Asked<'_>, redactor: &Redactor) -> CallFailure {
    let complaint = Complaint::from_json(error);
    let status = complaint.status.filter(|status| (400..600).contains(status)).unwrap_or(200);
    let mut failed = classify(status, &complaint, asked, redactor);
    // There are no headers any more that could say it.
    if failed.class == FailureClass::RateLimited {
        failed.retry_after_ms = wait_in_words(&complaint.message);
    }
    failed
}

/// Finds the wait in words such as "Please try again in 1m2.5s."
fn wait_in_words(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let mut rest = message.split_once("try again in ")?.1.trim_start();
    let mut wait = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].parse::<f64>() else { return wait };
        let unit = rest[digits..].trim_start();
        let letters = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let milliseconds = match &unit[..letters] {
            "ms" | "milliseconds" => 1.0,
            "s" | "second" | "seconds" => 1000.0,
            "m" | "minute" | "minutes" => 60_000.0,
            "h" | "hour" | "hours" => 3_600_000.0,
            _ => return wait,
        };
        wait = Some(wait.unwrap_or(0_u64).saturating_add((number * milliseconds).ceil() as u64));
        rest = &unit[letters..];
    }
}

/// Makes foreign text fit for a sentence: no keys, one line, bounded.
pub(super) fn quote(text: &str, redactor: &Redactor) -> String {
    let clean = redactor.redact(text);
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

/// Reads `retry-after-ms`, or `Retry-After` in seconds or as a date; what is neither counts as absent.
pub(super) fn retry_after_ms(
    milliseconds: Option<&str>,
    after: Option<&str>,
    now: SystemTime,
) -> Option<u64> {
    let number = |text: Option<&str>| {
        text?.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
    };
    if let Some(wait) = number(milliseconds) {
        return Some(wait.ceil() as u64);
    }
    if let Some(seconds) = number(after) {
        return Some((seconds * 1000.0).ceil() as u64);
    }
    let until = http_date(after?)?;
    let wait = until.duration_since(now).unwrap_or(Duration::ZERO);
    u64::try_from(wait.as_millis()).ok()
}

/// Reads the one date format servers may still write: `Wed, 21 Oct 2026 07:28:00 GMT`.
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let words = text.split_ascii_whitespace().collect::<Vec<_>>();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    let month = MONTHS.as_bytes().chunks(3).position(|name| name == month.as_bytes())? as u64 + 1;
    let (day, year) = (day.parse::<u64>().ok()?, year.parse::<u64>().ok()?);
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if !(1..=31).contains(&day) || !(1970..=9999).contains(&year) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days of the Gregorian calendar, years counted from March so that the
    // leap day is the last of its year.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    let days_to_1970 = 719_468;
    let seconds = (days - days_to_1970) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Says a wait the way a person would.
pub(super) fn in_words(milliseconds: u64) -> String {
    let seconds = milliseconds.div_ceil(1000);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds.div_ceil(60)),
        7200..=172_799 => format!("{} h", seconds.div_ceil(3600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

#[cfg(test)]
mod tests;
