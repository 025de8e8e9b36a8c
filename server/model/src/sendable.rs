//! Earlier tool calls in a form that every provider accepts in a history.
//!
//! Never changes arguments that are a JSON object.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// The maximum length of a tool name that every server accepts, in bytes.
const MAX_NAME: usize = 64;

/// Returns the arguments as a JSON object: unchanged if they are one, else wrapped in one.
///
/// Many servers parse the arguments of earlier calls, and reject the whole request if a model wrote invalid ones.
pub(super) fn sendable_arguments(arguments: &str) -> Cow<'_, str> {
    const SHOWN_CHARS: usize = 2000;
    if arguments.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    if arguments.trim_start().starts_with('{') && is_sound(arguments) {
        return Cow::Borrowed(arguments);
    }
    let shown = arguments.chars().take(SHOWN_CHARS).collect::<String>();
    Cow::Owned(serde_json::json!({ "invalid_arguments": shown }).to_string())
}

fn is_sound(json: &str) -> bool {
    // `IgnoredAny` is faster, but it accepts half of a surrogate pair (`\ud83d`), which servers reject.
    if json.contains("\\u") {
        serde_json::from_str::<serde_json::Value>(json).is_ok()
    } else {
        serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok()
    }
}

/// Returns the name of a tool with allowed characters and length. A model may invent an invalid name.
pub(super) fn sendable_name(name: &str) -> Cow<'_, str> {
    match allowed_chars(name) {
        long if long.len() > MAX_NAME => Cow::Owned(long.chars().take(MAX_NAME).collect()),
        name => name,
    }
}

/// Returns the id of a call: unchanged up to `max_bytes`, else a digest of it. Other providers' ids may be longer.
pub(super) fn sendable_call_id(id: &str, max_bytes: usize) -> Cow<'_, str> {
    if id.len() <= max_bytes {
        return Cow::Borrowed(id);
    }
    let digest = Sha256::digest(id.as_bytes());
    let digest = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    Cow::Owned(format!("call_{digest}"))
}

/// Returns an id or a name with each character that is not allowed replaced by `_`. Other providers' ids may have such
/// characters.
pub(super) fn allowed_chars(text: &str) -> Cow<'_, str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !text.is_empty() && text.chars().all(is_allowed) {
        return Cow::Borrowed(text);
    }
    let letters = text.chars().map(|c| if is_allowed(c) { c } else { '_' });
    Cow::Owned(if text.is_empty() { "_".to_owned() } else { letters.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s20_a_name_is_sent_in_letters_and_length_that_are_taken() {
        let long = "n".repeat(MAX_NAME);
        for fine in ["read_file", "a-1", &long] {
            assert_eq!(sendable_name(fine), fine);
        }
        assert_eq!(sendable_name("a.b c"), "a_b_c");
        assert_eq!(sendable_name(""), "_");
        assert_eq!(sendable_name(&format!("{long}é")), long);
    }

    #[test]
    fn s20_only_a_sound_object_is_sent_back_as_it_is() {
        for sound in ["{}", " {\"a\": 1.50}\n", r#"{"a":"\u00e9 \ud83d\ude00"}"#] {
            assert_eq!(sendable_arguments(sound), sound);
        }
        assert_eq!(sendable_arguments(" \n"), "{}");
        for broken in ["[1]", "{", "{} {}", "null", r#"{"a":"\ud83d"}"#, "{\"a\":\"\u{1}\"}"] {
            let sent: serde_json::Value = serde_json::from_str(&sendable_arguments(broken)).unwrap();
            assert_eq!(sent["invalid_arguments"], broken);
        }
    }
}
