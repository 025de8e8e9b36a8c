//! Hides the encoded forms of a known key: base64, hexadecimal, percent-encoding, and escapes of JSON and HTML.
//!
//! Never decodes the text. It encodes the key and searches for the result.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The minimum length of a form that is searched. Shorter ones appear in ordinary text.
const MIN_FORM_LENGTH: usize = 6;

/// How a form is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Each byte is encoded on its own. The search ignores case and hides exactly the form.
    ByteByByte,
    /// The search is exact and hides the whole word, because its other characters encode the ends of the key.
    Base64,
}

/// Replaces every encoded form of `key` in `text` with `hidden`.
pub(super) fn hide(mut text: String, key: &str, hidden: &str) -> String {
    for form in escaped(key) {
        text = replace_form(&text, &form, hidden, Spelling::ByteByByte);
    }
    for form in base64(key) {
        text = replace_form(&text, &form, hidden, Spelling::Base64);
    }
    text
}

/// Returns all forms of the key that encode each byte on its own, in lower case.
fn escaped(key: &str) -> Vec<String> {
    let each = |write: &dyn Fn(u8) -> String| key.bytes().map(write).collect::<String>();
    let special = |write: fn(u8) -> String| {
        each(&|byte| match byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            true => char::from(byte).to_string(),
            false => write(byte),
        })
    };
    let mut forms = vec![
        each(&|byte| format!("{byte:02x}")),
        each(&|byte| format!("%{byte:02x}")),
        special(|byte| format!("%{byte:02x}")),
        special(|byte| format!("&#{byte};")),
        special(|byte| format!("&#x{byte:x};")),
        special(|byte| format!("\\u{byte:04x}")),
        key.replace('\\', "\\\\").replace('"', "\\\"").replace('/', "\\/"),
        key.replace('\\', "\\\\").replace('"', "\\\""),
        key.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
    ];
    forms.iter_mut().for_each(|form| form.make_ascii_lowercase());
    forms.retain(|form| *form != key.to_ascii_lowercase());
    forms
}

/// Returns the base64 characters that depend only on the key and not on the text around it.
///
/// A key can begin at each of the three bytes of a base64 group. All three are returned, in both alphabets.
fn base64(key: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for (before, skipped) in [("", 0), ("a", 2), ("aa", 3)] {
        let whole = STANDARD_NO_PAD.encode(format!("{before}{key}"));
        // The last character has bits of the next byte, unless the key ends with a group.
        let open = !(before.len() + key.len()).is_multiple_of(3);
        let end = whole.len() - usize::from(open);
        if end.saturating_sub(skipped) >= MIN_FORM_LENGTH {
            let form = whole[skipped..end].to_owned();
            forms.push(form.replace('+', "-").replace('/', "_"));
            forms.push(form);
        }
    }
    forms
}

fn is_base64_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=')
}

/// Replaces every `form` in `text` with `hidden`.
fn replace_form(text: &str, form: &str, hidden: &str, spelling: Spelling) -> String {
    let (searched, is_hidden_too): (_, fn(char) -> bool) = match spelling {
        Spelling::ByteByByte => (text.to_ascii_lowercase(), |_| false),
        Spelling::Base64 => (text.to_owned(), is_base64_char),
    };
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    // ASCII lower case does not move any byte, so positions in `searched` are positions in `text`.
    while let Some(at) = searched[done..].find(form).map(|at| at + done) {
        let start = text[done..at].trim_end_matches(is_hidden_too).len() + done;
        let after = &text[at + form.len()..];
        let end = text.len() - after.trim_start_matches(is_hidden_too).len();
        clean.push_str(&text[done..start]);
        clean.push_str(hidden);
        done = end;
    }
    clean.push_str(&text[done..]);
    clean
}
