//! Old tool calls in a form that every provider takes back.
//!
//! Never changes arguments that are a JSON object.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// The longest name of a tool that every server takes.
const MAX_NAME: usize = 64;

/// Returns arguments a server can read back. Many parse those of old calls and
/// refuse the whole conversation for one that a model got wrong.
pub(super) fn sendable(arguments: &str) -> Cow<'_, str> {
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
    // Half of an escaped character is passed over by a reader that builds no text; servers refuse it.
    match json.contains("\\u") {
        true => serde_json::from_str::<serde_json::Value>(json).is_ok(),
        false => serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok(),
    }
}

/// Returns the name of a tool as it is taken, for a model may make one up.
pub(super) fn named(name: &str) -> Cow<'_, str> {
    match lettered(name) {
        long if long.len() > MAX_NAME => Cow::Owned(long.chars().take(MAX_NAME).collect()),
        name => name,
    }
}

/// Returns the id of a call in the length that is taken; other providers' ids may be longer.
pub(super) fn paired(id: &str, most: usize) -> Cow<'_, str> {
    if id.len() <= most {
        return Cow::Borrowed(id);
    }
    let digest = Sha256::digest(id.as_bytes());
    let digest = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    Cow::Owned(format!("call_{digest}"))
}

/// Returns an id or a name in the letters that are taken; other providers' ids have others.
pub(super) fn lettered(text: &str) -> Cow<'_, str> {
    let taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !text.is_empty() && text.chars().all(taken) {
        return Cow::Borrowed(text);
    }
    let letters = text.chars().map(|c| if taken(c) { c } else { '_' });
    Cow::Owned(if text.is_empty() { "_".to_owned() } else { letters.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s20_a_name_is_sent_in_letters_and_length_that_are_taken() {
        let long = "n".repeat(MAX_NAME);
        for fine in ["read_file", "a-1", &long] {
            assert_eq!(named(fine), fine);
        }
        assert_eq!(named("a.b c"), "a_b_c");
        assert_eq!(named(""), "_");
        assert_eq!(named(&format!("{long}é")), long);
    }

    #[test]
    fn s20_only_a_sound_object_is_sent_back_as_it_is() {
        for sound in ["{}", " {\"a\": 1.50}\n", r#"{"a":"\u00e9 \ud83d\ude00"}"#] {
            assert_eq!(sendable(sound), sound);
        }
        assert_eq!(sendable(" \n"), "{}");
        for broken in ["[1]", "{", "{} {}", "null", r#"{"a":"\ud83d"}"#, "{\"a\":\"\u{1}\"}"] {
            let sent: serde_json::Value = serde_json::from_str(&sendable(broken)).unwrap();
            assert_eq!(sent["invalid_arguments"], broken);
        }
    }
}
