//! Makes a foreign text safe to display. Every text of the model, the repository or the provider that
//! another program displays goes through here.
//!
//! Never changes the text that runs or is written, only how it is displayed.

use std::borrow::Cow;
use std::fmt::Write;

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// The most combining marks on a letter; all scripts need fewer.
const MAX_MARKS: usize = 6;

/// Where the text is displayed. Limits are in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// One line of a client's message, menu or list.
    Line(usize),
    /// One line of a status bar, where `$(name)` is an icon and `%{..}` may be code.
    Status(usize),
    /// Several lines of a client's message.
    Message(usize),
    /// A terminal or a plain text file. There is no markup and no limit.
    Plain,
}

/// A text in its displayed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable<'a> {
    pub text: Cow<'a, str>,
    /// Whether it differs from the original text.
    pub changed: bool,
}

/// Returns the displayed form of a text: hidden characters and too many combining marks are written as
/// `\u{...}`, links cannot hide their target, and the text is cut to the limit. Idempotent.
pub fn display(text: &str, on: Surface) -> Readable<'_> {
    let shown = match on {
        Surface::Plain => shown(text),
        Surface::Message(limit) => cut(text, limit, |start| without_links(shown(start)).into_owned()),
        Surface::Line(limit) => {
            cut(text, limit, |start| without_links(on_one_line(start).into()).into_owned())
        }
        Surface::Status(limit) => {
            cut(text, limit, |start| without_icons(&without_links(on_one_line(start).into())))
        }
    };
    Readable { changed: shown != text, text: shown }
}

/// Returns the displayed form of a command. White space that a person cannot see, or cannot tell from a
/// plain space, is also written as `\u{..}`.
pub fn display_command(command: &str, on: Surface) -> Readable<'_> {
    display_lines(command, on, visible_white_space)
}

/// Returns the displayed form of a diff, with visible white space in removed and inserted lines. If all
/// lines end in CRLF, the CR is left out. If line ends differ, the CR is part of the change and is visible.
pub fn display_diff(diff: &str, on: Surface) -> Readable<'_> {
    if !is_all_crlf(diff) {
        return display_lines(diff, on, changed_line);
    }
    let plain = diff.replace("\r\n", "\n");
    let Readable { text, changed } = display_lines(&plain, on, changed_line);
    Readable { text: Cow::Owned(text.into_owned()), changed }
}

fn changed_line(line: &str) -> Cow<'_, str> {
    if line.starts_with(['+', '-']) { visible_white_space(line) } else { Cow::Borrowed(line) }
}

/// Whether every line of the files in a diff ends in CRLF.
fn is_all_crlf(diff: &str) -> bool {
    let mut lines = diff
        .split_inclusive('\n')
        .skip_while(|line| !line.starts_with("@@"))
        .filter(|line| line.starts_with([' ', '+', '-']));
    diff.contains('\r') && lines.all(|line| line.ends_with("\r\n"))
}

/// Returns the displayed form of a text whose lines are converted with `convert` first.
fn display_lines<'a>(text: &'a str, on: Surface, convert: impl Fn(&'a str) -> Cow<'a, str>) -> Readable<'a> {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(convert).collect();
    if lines.iter().all(|line| matches!(line, Cow::Borrowed(_))) {
        return display(text, on);
    }
    let shown = display(&lines.join("\n"), on).text.into_owned();
    Readable { changed: true, text: Cow::Owned(shown) }
}

/// Returns a line with escapes for white space at its end and for white space outside ASCII.
fn visible_white_space(line: &str) -> Cow<'_, str> {
    let end = line.trim_end_matches([' ', '\t']).len();
    let odd = |c: char| c.is_whitespace() && !c.is_ascii();
    if end == line.len() && !line.contains(odd) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + 16);
    for (at, c) in line.char_indices() {
        if at >= end || odd(c) { escape(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Whether a character is a control, bidirectional or invisible character, so that a text with it does not
/// look like what it is.
pub fn hidden(character: char) -> bool {
    let code = character as u32;
    character.is_control()
        || matches!(code,
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164
            | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// Whether a character combines with the one before it and has no width of its own.
pub fn is_mark(character: char) -> bool {
    const KINDS: icu_properties::CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
    character >= '\u{300}'
        && matches!(KINDS.get(character), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
}

/// Returns the text with `\u{...}` for hidden characters, except line feed and tab. Combining marks without
/// a letter, or too many on one letter, are escaped too.
pub fn shown(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| (hidden(c) && c != '\n' && c != '\t') || is_mark(c);
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    // Marks at the start would combine with the character before this text.
    let mut marks = MAX_MARKS;
    for c in text.chars() {
        if is_mark(c) && !hidden(c) {
            marks += 1;
            if marks <= MAX_MARKS {
                out.push(c)
            } else {
                escape(&mut out, c)
            }
            continue;
        }
        let carries_marks = !(c.is_whitespace() || c.is_ascii_punctuation() || is_odd(c));
        marks = if carries_marks { 0 } else { MAX_MARKS };
        if is_odd(c) { escape(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

fn escape(out: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\\u{{{:x}}}", c as u32);
}

/// Returns a text without the escapes of [`shown`].
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        out.push_str(before);
        let decoded = after.split_once('}').filter(|(code, _)| (1..=6).contains(&code.len())).and_then(
            |(code, after)| {
                let is_code = code.bytes().all(|digit| digit.is_ascii_hexdigit());
                let character =
                    is_code.then(|| u32::from_str_radix(code, 16).ok()).flatten().and_then(char::from_u32);
                Some((character?, after))
            },
        );
        match decoded {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                out.push_str(ESCAPE);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the displayed form of a path, like [`shown`], in one line. [`unescaped`] returns exactly this path again.
pub fn shown_path(path: &str) -> Cow<'_, str> {
    let shown = if path.contains(ESCAPE) {
        Cow::Owned(shown(&path.replace(ESCAPE, "\\u{5c}u{")).into_owned())
    } else {
        shown(path)
    };
    if shown.contains(['\n', '\t']) {
        Cow::Owned(shown.replace('\n', "\\u{a}").replace('\t', "\\u{9}"))
    } else {
        shown
    }
}

/// The beginning of an escaped character.
const ESCAPE: &str = "\\u{";

/// Returns the displayed form of a command in a terminal or a file.
pub fn shown_command(command: &str) -> Cow<'_, str> {
    display_command(command, Surface::Plain).text
}

/// Returns the first hidden character of a line. Its line end, tabs and a byte order mark at its start do not
/// count. Joiners and variation selectors after a non-ASCII character do not count either: emoji have them.
pub fn unseen(line: &str) -> Option<char> {
    let mut before = ' ';
    line.trim_start_matches('\u{feff}').chars().find(|c| {
        let joins = matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}') && !before.is_ascii();
        before = *c;
        hidden(*c) && !matches!(c, '\n' | '\r' | '\t') && !joins
    })
}

/// Returns the displayed form of a text in one line: white space becomes single spaces, and the text is cut
/// with `…` to at most `limit` characters.
pub fn one_line(text: &str, limit: usize) -> String {
    display(text, Surface::Line(limit)).text.into_owned()
}

fn on_one_line(text: &str) -> String {
    shown(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Converts the start of a text with `convert`, and cuts it with `…` to at most `limit` characters.
fn cut(text: &str, limit: usize, convert: impl Fn(&str) -> String) -> Cow<'_, str> {
    // Only the start is converted: text after eight times the limit would be cut anyway.
    let enough = text.char_indices().nth(limit.saturating_mul(8)).map_or(text.len(), |(at, _)| at);
    let mut line = convert(&text[..enough]);
    if enough == text.len() && line.chars().nth(limit).is_none() {
        return if line == text { Cow::Borrowed(text) } else { Cow::Owned(line) };
    }
    if let Some((at, _)) = line.char_indices().nth(limit.saturating_sub(1)) {
        line.truncate(at);
    }
    line.push('…');
    Cow::Owned(line)
}

/// Breaks every link of the form `[label](target)`, because a client may display only its label. VS Code does so
/// in notifications (`linkedText.ts`), other clients in Markdown.
fn without_links(text: Cow<'_, str>) -> Cow<'_, str> {
    const LINK: &str = "](";
    let is_link = |at: usize| is_link_target(&text[at + LINK.len()..]);
    if !text.match_indices(LINK).any(|(at, _)| is_link(at)) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut from = 0;
    for (at, _) in text.match_indices(LINK).filter(|(at, _)| is_link(*at)) {
        out.push_str(&text[from..=at]);
        escape(&mut out, '(');
        from = at + LINK.len();
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Whether the text after `](` begins with a URI scheme.
fn is_link_target(target: &str) -> bool {
    let target = target.trim_start().trim_start_matches('<').trim_start();
    let Some((scheme, rest)) = target.split_once(':') else { return false };
    let letters = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    let known = ["http", "https", "command", "file"].iter().any(|one| scheme.eq_ignore_ascii_case(one));
    // `[&](std::string x)` is code, not a link; so is a scheme before white space or the cut. A scheme that clients
    // open always counts, because its target may be cut away.
    let is_code =
        rest.is_empty() || rest.starts_with(|c: char| matches!(c, ':' | ')' | '…') || c.is_whitespace());
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && letters && (known || !is_code)
}

/// Breaks icons and code of a status bar. Items of Vim have the form `%-0{minwid}.{maxwid}{item}`.
fn without_icons(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        let breaks = match c {
            '(' => text[..at].ends_with('$'),
            '{' | '@' | '!' => follows_percent(&text[..at]),
            _ => false,
        };
        if breaks { escape(&mut out, c) } else { out.push(c) }
    }
    out
}

/// Whether a text ends in `%`, with or without the widths of an item.
fn follows_percent(text: &str) -> bool {
    let digits = |text: &'_ str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let text = &text[..digits(text)];
    let text = text.strip_suffix('.').map_or(text, |text| &text[..digits(text)]);
    text.strip_suffix('-').unwrap_or(text).ends_with('%')
}

#[cfg(test)]
mod tests;
