//! The other forms in which a known key can stand in a text: base64, hexadecimal, percent signs,
//! escapes of JSON and HTML.
//!
//! Never decodes the text: it looks for what the key becomes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The fewest letters by which a form is recognised; fewer are in every text.
const FEWEST: usize = 6;

/// How a form is written, and so how it is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// In upper or lower case; it begins and ends with the key.
    SignBySign,
    /// What stands around it in the same word encodes what stood around the key, and its ends.
    Base64,
}

/// Returns `text` with `hidden` in place of every such form of `key`.
pub(super) fn hide(mut text: String, key: &str, hidden: &str) -> String {
    for form in escaped(key) {
        text = without(&text, &form, hidden, Spelling::SignBySign);
    }
    for form in base64(key) {
        text = without(&text, &form, hidden, Spelling::Base64);
    }
    text
}

/// Every way to write the key sign by sign, in lower case.
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

/// The letters that do not depend on what stands before and after the key, for each of the three
/// places where a byte can stand in base64; in both alphabets.
fn base64(key: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for (before, skipped) in [("", 0), ("a", 2), ("aa", 3)] {
        let whole = STANDARD_NO_PAD.encode(format!("{before}{key}"));
        // The last letter holds bits of the byte that follows, unless the key ends with a group.
        let open = !(before.len() + key.len()).is_multiple_of(3);
        let end = whole.len() - usize::from(open);
        if end.saturating_sub(skipped) >= FEWEST {
            let form = whole[skipped..end].to_owned();
            forms.push(form.replace('+', "-").replace('/', "_"));
            forms.push(form);
        }
    }
    forms
}

fn is_base64_sign(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '+' | '/' | '-' | '_' | '=')
}

/// Returns `text` with `hidden` in place of every `form`.
fn without(text: &str, form: &str, hidden: &str, spelling: Spelling) -> String {
    let (searched, of_word): (_, fn(char) -> bool) = match spelling {
        Spelling::SignBySign => (text.to_ascii_lowercase(), |_| false),
        Spelling::Base64 => (text.to_owned(), is_base64_sign),
    };
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    // Lower case of ASCII keeps every place in the text.
    while let Some(at) = searched[done..].find(form).map(|at| at + done) {
        let start = text[done..at].trim_end_matches(of_word).len() + done;
        let after = &text[at + form.len()..];
        let end = text.len() - after.trim_start_matches(of_word).len();
        clean.push_str(&text[done..start]);
        clean.push_str(hidden);
        done = end;
    }
    clean.push_str(&text[done..]);
    clean
}
