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
    if arguments.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
    {
        return Cow::Borrowed(arguments);
    }
    let shown = arguments.chars().take(SHOWN_CHARS).collect::<String>();
    Cow::Owned(serde_json::json!({ "invalid_arguments": shown }).to_string())
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
