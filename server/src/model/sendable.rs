//! Old tool calls in a form that every provider takes back.
//!
//! Never changes arguments that are a JSON object.

use std::borrow::Cow;

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

/// Returns an id or a name in the letters that are taken. Other providers' ids have others, and a model
/// may make a name up.
pub(super) fn named(text: &str) -> Cow<'_, str> {
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
