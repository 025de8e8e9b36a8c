//! Keys, and how they are removed from every text (S1).
//!
//! Never shows, logs or serialises a key. A key is only sent in the header of a request to its own provider.

use std::sync::{Mutex, PoisonError};

use adjutant_core::policy::key_shape::is_key;

mod forms;

/// A key. Has no `Debug`, `Display` or `Serialize` on purpose.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    pub fn new(text: &str) -> Secret {
        Secret(text.to_owned())
    }

    /// Returns the key itself, for the one header that carries it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Replaces a key in a text.
const HIDDEN: &str = "[hidden]";

/// The first characters of well-known kinds of keys.
const KEY_SHAPES: [&str; 9] = ["sk-", "sk_", "pk-", "pk_", "rk_", "gsk_", "xai-", "AIza", "ghp_"];

/// The minimum length of a configured value that is hidden, in bytes. Hiding `1` or `true` would make texts unreadable.
const MIN_SECRET_BYTES: usize = 6;

/// Removes known keys, and values that look like keys, from texts.
///
/// One redactor serves a whole call, so that a key found during the call is hidden in all later texts.
#[derive(Default)]
pub(super) struct Redactor {
    known: Mutex<Vec<Secret>>,
}

impl Redactor {
    /// Adds a value that `redact` hides.
    pub fn hide(&self, secret: Secret) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.0.len() >= MIN_SECRET_BYTES && !known.contains(&secret) {
            known.push(secret);
            // Longest first: a value that contains another one is hidden as a whole.
            known.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        }
    }

    /// Returns `text` without any key.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.known.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            text = text.replace(&secret.0, HIDDEN);
            text = forms::hide(text, &secret.0, HIDDEN);
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let mut clean = String::with_capacity(text.len());
        let mut after_bearer = false;
        for piece in text.split_inclusive(|c: char| !is_word(c)) {
            let word = piece.trim_end_matches(|c: char| !is_word(c));
            let shaped = KEY_SHAPES.iter().any(|shape| word.len() > shape.len() && word.starts_with(shape));
            if shaped || is_key(word) || (after_bearer && word.len() >= MIN_SECRET_BYTES) {
                clean.push_str(HIDDEN);
                clean.push_str(&piece[word.len()..]);
            } else {
                clean.push_str(piece);
            }
            after_bearer = word.eq_ignore_ascii_case("bearer") || (after_bearer && word.is_empty());
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn s1_known_and_key_shaped_values_are_hidden() {
        let redactor = Redactor::default();
        redactor.hide(Secret::new("hunter2-hunter2"));
        redactor.hide(Secret::new("hunter2"));
        redactor.hide(Secret::new("on"));
        let check = |text: &str, expected: &str| assert_eq!(redactor.redact(text), expected);
        check("key hunter2-hunter2, hunter2 on", "key [hidden], [hidden] on");
        check("bad key sk-live-SECRETSECRET\"", "bad key [hidden]\"");
        check("Authorization: Bearer abcdefgh.rest", "Authorization: Bearer [hidden]");
        check("a bearer of news: sk- and AIza", "a bearer of news: sk- and AIza");
        check("", "");
    }

    #[test]
    fn finding_b11_a_key_in_another_form_is_hidden() {
        let redactor = Redactor::default();
        let key = "Kx/9+secret=value";
        redactor.hide(Secret::new(key));
        let base64 = |before: &str, after: &str| STANDARD.encode(format!("{before}{key}{after}"));
        let hex = key.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        let percent = key.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let mut forms = vec![
            hex.to_uppercase(),
            hex,
            percent.to_lowercase(),
            percent,
            "Kx%2F9%2Bsecret%3Dvalue".to_owned(),
            "Kx%2f9%2bsecret%3dvalue".to_owned(),
            "Kx\\/9+secret=value".to_owned(),
            "Kx&#47;9&#43;secret&#61;value".to_owned(),
            "Kx&#x2F;9&#x2b;secret&#x3D;value".to_owned(),
        ];
        // Text before the key shifts it within its base64 group, so its characters differ.
        for (before, after) in
            [("", ""), ("a", ""), ("ab", "c"), ("user:", ""), ("Bearer ", "\n"), ("abcd", "xyz")]
        {
            let plain = base64(before, after);
            forms.push(plain.trim_end_matches('=').to_owned());
            forms.push(plain.replace('+', "-").replace('/', "_"));
            forms.push(plain);
        }
        for form in forms {
            let redacted = redactor.redact(&format!("said \"{form}\" of it"));
            assert!(
                redacted.starts_with("said \"[hidden]") && redacted.ends_with("\" of it"),
                "{form}: {redacted}"
            );
            let rest = redacted.replace("[hidden]", "");
            assert!(rest.len() <= "said \"\" of it".len() + 2, "{form}: {redacted}");
        }
        for plain in ["Kx is a value", "c2VjcmV0", "S3gvOSs in part"] {
            assert_eq!(redactor.redact(plain), plain);
        }
        let shaped = "was ghp_abcdefghijklmnopqrstuvwxyz0123456789.";
        assert_eq!(redactor.redact(shaped), "was [hidden]");
    }
}
