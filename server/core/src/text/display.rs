//! What a text of others looks like when it is shown: the one function for whatever the model, the
//! repository or the provider wrote and another program draws.
//!
//! Never changes the text that is run or written, only how it is displayed.

use std::borrow::Cow;
use std::fmt::Write;

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// Combining marks that a letter may carry; the scripts of the world need fewer.
const MAX_MARKS: usize = 6;

/// Who draws the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// One line of a client's message, menu or list, of at most so many characters.
    Line(usize),
    /// One line of a status bar, of at most so many characters: there `$(name)` is an icon, and
    /// `%{..}` may be code.
    Status(usize),
    /// Several lines of a client's message, of at most so many characters.
    Message(usize),
    /// A terminal or a file of plain text, where no markup means anything; the text is whole.
    Plain,
}

/// A text as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable<'a> {
    pub text: Cow<'a, str>,
    /// Whether it differs from the text it stands for.
    pub changed: bool,
}

/// Returns a text as it is shown on a surface: hidden characters and endless marks written
/// `\u{...}`, no link that hides where it leads, no more characters than there is room for.
/// To do it again changes nothing.
pub fn display(text: &str, on: Surface) -> Readable<'_> {
    let shown = match on {
        Surface::Plain => shown(text),
        Surface::Message(limit) => cut(text, limit, |start| without_links(shown(start)).into_owned()),
        Surface::Line(limit) => cut(text, limit, |start| without_links(folded(start).into()).into_owned()),
        Surface::Status(limit) => {
            cut(text, limit, |start| without_icons(&without_links(folded(start).into())))
        }
    };
    Readable { changed: shown != text, text: shown }
}

/// Returns a command as it is shown: blanks that a person cannot see, or cannot tell from others,
/// are written `\u{..}` as well.
pub fn display_command(command: &str, on: Surface) -> Readable<'_> {
    marked(command, on, visible_blanks)
}

/// Returns a diff as it is shown, likewise for the lines that it removes and inserts. Where all of
/// them end in CRLF the ends are left out; where the ends differ, that is part of the change and is seen.
pub fn display_diff(diff: &str, on: Surface) -> Readable<'_> {
    if !is_all_crlf(diff) {
        return marked(diff, on, changed_line);
    }
    let plain = diff.replace("\r\n", "\n");
    let Readable { text, changed } = marked(&plain, on, changed_line);
    Readable { text: Cow::Owned(text.into_owned()), changed }
}

fn changed_line(line: &str) -> Cow<'_, str> {
    if line.starts_with(['+', '-']) { visible_blanks(line) } else { Cow::Borrowed(line) }
}

/// Whether every line of the files in a diff ends in CRLF.
fn is_all_crlf(diff: &str) -> bool {
    let mut lines = diff
        .split_inclusive('\n')
        .skip_while(|line| !line.starts_with("@@"))
        .filter(|line| line.starts_with([' ', '+', '-']));
    diff.contains('\r') && lines.all(|line| line.ends_with("\r\n"))
}

fn marked<'a>(text: &'a str, on: Surface, mark: impl Fn(&'a str) -> Cow<'a, str>) -> Readable<'a> {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(mark).collect();
    if lines.iter().all(|line| matches!(line, Cow::Borrowed(_))) {
        return display(text, on);
    }
    let shown = display(&lines.join("\n"), on).text.into_owned();
    Readable { changed: true, text: Cow::Owned(shown) }
}

/// A line whose blanks are seen: those at its end, and those that are no space and no tab.
fn visible_blanks(line: &str) -> Cow<'_, str> {
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

/// Returns whether a character combines with the one before it and takes no place of its own.
pub fn is_mark(character: char) -> bool {
    const KINDS: icu_properties::CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
    character >= '\u{300}'
        && matches!(KINDS.get(character), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
}

/// Returns the text with every hidden character but line feed and tab written as `\u{...}`, and
/// every combining mark that has no letter, or is one of too many on it.
pub fn shown(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| (hidden(c) && c != '\n' && c != '\t') || is_mark(c);
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    // Marks at the start would stand on whatever is before this text.
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
        let stands = !(c.is_whitespace() || c.is_ascii_punctuation() || is_odd(c));
        marks = if stands { 0 } else { MAX_MARKS };
        if is_odd(c) { escape(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

fn escape(out: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\\u{{{:x}}}", c as u32);
}

/// Returns a text as it was before [`shown`] escaped characters of it.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        out.push_str(before);
        let meant = after.split_once('}').filter(|(code, _)| (1..=6).contains(&code.len())).and_then(
            |(code, after)| {
                let is_code = code.bytes().all(|digit| digit.is_ascii_hexdigit());
                let character =
                    is_code.then(|| u32::from_str_radix(code, 16).ok()).flatten().and_then(char::from_u32);
                Some((character?, after))
            },
        );
        match meant {
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

/// Returns a path as it is shown: as [`shown`], and [`unescaped`] gives this path and no other one.
pub fn shown_path(path: &str) -> Cow<'_, str> {
    match path.contains(ESCAPE) {
        true => Cow::Owned(shown(&path.replace(ESCAPE, "\\u{5c}u{")).into_owned()),
        false => shown(path),
    }
}

/// How an escaped character begins.
const ESCAPE: &str = "\\u{";

/// Returns a command as it is shown in a terminal or a file.
pub fn shown_command(command: &str) -> Cow<'_, str> {
    display_command(command, Surface::Plain).text
}

/// Returns the first hidden character of a line. Its line end, tabs and a byte-order mark at its start do not
/// count, nor does a character that joins or colours the sign before it, as in emoji.
pub fn unseen(line: &str) -> Option<char> {
    let mut before = ' ';
    line.trim_start_matches('\u{feff}').chars().find(|c| {
        let joins = matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}') && !before.is_ascii();
        before = *c;
        hidden(*c) && !matches!(c, '\n' | '\r' | '\t') && !joins
    })
}

/// Returns the text on one line of a client's message: white space folded, cut with `…` to at most
/// `limit` characters.
pub fn one_line(text: &str, limit: usize) -> String {
    display(text, Surface::Line(limit)).text.into_owned()
}

fn folded(text: &str) -> String {
    shown(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Draws the start of a text that can be seen at all, and cuts it with `…` to at most `limit` characters.
fn cut(text: &str, limit: usize, draw: impl Fn(&str) -> String) -> Cow<'_, str> {
    // What lies beyond a few times the room cannot be seen.
    let enough = text.char_indices().nth(limit.saturating_mul(8)).map_or(text.len(), |(at, _)| at);
    let mut line = draw(&text[..enough]);
    if enough == text.len() && line.chars().nth(limit).is_none() {
        return if line == text { Cow::Borrowed(text) } else { Cow::Owned(line) };
    }
    if let Some((at, _)) = line.char_indices().nth(limit.saturating_sub(1)) {
        line.truncate(at);
    }
    line.push('…');
    Cow::Owned(line)
}

/// Breaks every link in the manner of `[label](target)` that a client may draw as its label alone:
/// VS Code does so in notifications (`linkedText.ts`), others wherever they draw Markdown.
fn without_links(text: Cow<'_, str>) -> Cow<'_, str> {
    const LINK: &str = "](";
    let leads = |at: usize| leads_somewhere(&text[at + LINK.len()..]);
    if !text.match_indices(LINK).any(|(at, _)| leads(at)) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut from = 0;
    for (at, _) in text.match_indices(LINK).filter(|(at, _)| leads(*at)) {
        out.push_str(&text[from..=at]);
        escape(&mut out, '(');
        from = at + LINK.len();
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Whether what stands between the brackets of a link begins with a scheme.
fn leads_somewhere(target: &str) -> bool {
    let target = target.trim_start().trim_start_matches('<').trim_start();
    let Some((scheme, rest)) = target.split_once(':') else { return false };
    let letters = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    let known = ["http", "https", "command", "file"].iter().any(|one| scheme.eq_ignore_ascii_case(one));
    // `[&](std::string x)` is a piece of a program, and so is one that a blank or the cut ends. A scheme
    // that is opened is broken in any case: what follows it may be cut away.
    let piece =
        rest.is_empty() || rest.starts_with(|c: char| matches!(c, ':' | ')' | '…') || c.is_whitespace());
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && letters && (known || !piece)
}

/// Breaks what a status bar draws as an icon or evaluates: Vim's items are `%-0{minwid}.{maxwid}{item}`.
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

/// Whether a text ends in `%`, with the widths of an item or without.
fn follows_percent(text: &str) -> bool {
    let digits = |text: &'_ str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let text = &text[..digits(text)];
    let text = text.strip_suffix('.').map_or(text, |text| &text[..digits(text)]);
    text.strip_suffix('-').unwrap_or(text).ends_with('%')
}

#[cfg(test)]
mod tests;
