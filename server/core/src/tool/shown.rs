//! Which characters a person cannot see, and how they are shown instead.
//!
//! Never changes the text that is run or written, only how it is displayed.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns whether a character is a control, bidirectional or invisible one:
/// text that holds it does not look like what it is.
pub fn hidden(character: char) -> bool {
    let code = character as u32;
    character.is_control()
        || matches!(code,
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164
            | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// Returns the text with every hidden character but line feed and tab written as `\u{...}`.
pub fn shown(text: &str) -> Cow<'_, str> {
    let odd = |c: char| hidden(c) && c != '\n' && c != '\t';
    if !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if odd(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Returns a command as it is shown where it is asked about: blanks at the end of a line, which nobody
/// would see, are written `\u{20}` as well.
pub fn shown_command(command: &str) -> Cow<'_, str> {
    let unseen = |line: &str| line.ends_with([' ', '\t']);
    if !command.split('\n').any(unseen) {
        return shown(command);
    }
    let lines = command.split('\n').map(|line| {
        let seen = line.trim_end_matches([' ', '\t']);
        let blanks: String =
            line[seen.len()..].chars().map(|blank| format!("\\u{{{:x}}}", blank as u32)).collect();
        shown(seen).into_owned() + &blanks
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the first character of a line that nobody would see in it: a hidden one, but for its end, tabs,
/// a byte-order mark at its start, and what joins or colours the sign before it, as in emoji.
pub fn unseen(line: &str) -> Option<char> {
    let mut before = ' ';
    line.trim_start_matches('\u{feff}').chars().find(|c| {
        let joins = matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}') && !before.is_ascii();
        before = *c;
        hidden(*c) && !matches!(c, '\n' | '\r' | '\t') && !joins
    })
}

/// Returns the text on one line, white space folded, odd characters escaped,
/// cut with `…` to at most `limit` characters.
pub fn one_line(text: &str, limit: usize) -> String {
    // A title is short: what lies beyond a few times its length cannot be seen.
    let start: String = text.chars().take(limit.saturating_mul(8)).collect();
    let line = shown(&start).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= limit {
        return line;
    }
    let mut cut: String = line.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
