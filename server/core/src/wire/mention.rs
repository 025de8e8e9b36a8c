//! Parses the mentions in the words of a prompt, such as `@src/main.rs:10-20`, `@symbol:parse` and `@diff`.
//!
//! Never looks anything up: whether a path names a file is decided where the prompt is read. Never changes the words.

#[cfg(test)]
mod tests;

use std::ops::{Range, RangeInclusive};

/// Mentions of one prompt that are looked up; the words of the others stay as they are.
pub const MAX_LOOKED_UP: usize = 200;
/// The longest mention, in bytes.
const MAX_MENTION: usize = 4096;

/// The mentions that name no path, each with what it stands for.
pub const FIXED: &[(&str, MentionedThing, &str)] = &[
    ("selection", MentionedThing::Selection, "the lines that are selected"),
    ("diagnostics", MentionedThing::Diagnostics, "the problems that the editor reports"),
    ("diff", MentionedThing::Diff, "the changes of this session"),
    ("open", MentionedThing::Open, "the documents that are open, unsaved ones marked"),
];
/// What begins the mention of a symbol.
pub const SYMBOL: &str = "symbol:";

/// A word of a prompt that begins with `@` and may name something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// As the user wrote it, with the `@`.
    pub written: String,
    pub thing: MentionedThing,
}

/// What a mention names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MentionedThing {
    /// A file or folder, if there is one; `lines` count from one.
    Path {
        path: String,
        lines: Option<RangeInclusive<u32>>,
    },
    Symbol(String),
    Selection,
    Diagnostics,
    Diff,
    Open,
    /// A page of the web.
    Url(String),
}

impl Mention {
    /// Whether it can only be meant as a file: its words have a slash and an ending, or lines, or begin with a dot and a slash.
    pub fn is_surely_a_path(&self) -> bool {
        let MentionedThing::Path { path, lines } = &self.thing else { return false };
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let has_ending = name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && !end.is_empty());
        lines.is_some() || path.starts_with("./") || (!folder.is_empty() && has_ending)
    }
}

/// Returns the mentions in the words of a prompt, in their order, each once. Text in fences and backticks has none.
pub fn mentions(words: &str) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    for line in lines_outside_fences(words) {
        for at in marks(line) {
            if let Some(mention) = mention_at(&line[at..])
                && !found.contains(&mention)
            {
                found.push(mention);
            }
            if found.len() == MAX_LOOKED_UP {
                return found;
            }
        }
    }
    found
}

/// Returns the bytes of the mention that ends at `offset`, from its `@`; `None` if no mention is being written there.
pub fn written_at(words: &str, offset: usize) -> Option<Range<usize>> {
    let before = words.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = &before[line_start..];
    let is_outside = lines_outside_fences(before).last().is_some_and(|last| last == line);
    if !is_outside && !line.is_empty() {
        return None;
    }
    let at = marks(line).last()?;
    let is_quoted = line[at..].starts_with("@\"");
    let token = line[at + 1..].trim_start_matches('"');
    let is_over = if is_quoted { token.contains('"') } else { token.contains(ends_token) };
    (!is_over).then_some(line_start + at..offset)
}

/// Returns a path as a mention has it: in quotes if it has characters that end a mention.
pub fn written(path: &str) -> String {
    let is_plain = !path.contains(ends_token) && !path.ends_with(ends_sentence);
    if is_plain { format!("@{path}") } else { format!("@\"{path}\"") }
}

/// Returns the lines that are in no fenced code.
fn lines_outside_fences(words: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    words.split('\n').filter(move |line| {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, None) => true,
            (None, Some(mark)) => {
                fence = Some(mark);
                false
            }
            (Some(open), found) => {
                if found == Some(open) {
                    fence = None;
                }
                false
            }
        }
    })
}

/// Returns where an `@` of a line may begin a mention: after a blank, a bracket or a quote, and in no backticks.
fn marks(line: &str) -> impl Iterator<Item = usize> {
    let mut before: Option<char> = None;
    let mut code_until = 0;
    line.char_indices().filter_map(move |(at, c)| {
        let previous = before.replace(c);
        if at < code_until {
            return None;
        }
        if c == '`'
            && let Some(length) = line[at + 1..].find('`')
        {
            code_until = at + 1 + length + 1;
            return None;
        }
        let begins = previous.is_none_or(|c| c.is_whitespace() || "([{<\"'".contains(c));
        (c == '@' && begins).then_some(at)
    })
}

/// Parses a mention at the start of a text, which is an `@`.
fn mention_at(text: &str) -> Option<Mention> {
    let rest = text.strip_prefix('@')?;
    let (token, is_quoted, after) = match rest.strip_prefix('"') {
        Some(quoted) => {
            let (token, after) = quoted.split_once('"')?;
            (token, true, after)
        }
        None => {
            let token = without_end(&rest[..rest.find(ends_token).unwrap_or(rest.len())]);
            (token, false, "")
        }
    };
    let is_unfinished = !is_quoted && rest.starts_with(SYMBOL) && token.len() < SYMBOL.len();
    if token.is_empty() || token.len() > MAX_MENTION || token.starts_with('@') || is_unfinished {
        return None;
    }
    let fixed = FIXED.iter().find(|(name, ..)| *name == token && !is_quoted);
    let thing = if let Some((_, thing, _)) = fixed {
        thing.clone()
    } else if let Some(name) = token.strip_prefix(SYMBOL).filter(|_| !is_quoted) {
        MentionedThing::Symbol(name.to_owned())
    } else if ["http://", "https://"].iter().any(|scheme| token.starts_with(scheme)) {
        MentionedThing::Url(token.to_owned())
    } else if is_quoted {
        let suffix = after.find(ends_token).map_or(after, |end| &after[..end]);
        let lines = lines_of(without_end(suffix));
        MentionedThing::Path { path: token.to_owned(), lines }
    } else {
        let numbered = token.rfind(':').or_else(|| token.rfind('#'));
        let numbered = numbered.filter(|at| *at > 0).and_then(|at| Some((at, lines_of(&token[at..])?)));
        let (path, lines) = match numbered {
            Some((at, lines)) => (&token[..at], Some(lines)),
            None => (token, None),
        };
        MentionedThing::Path { path: path.to_owned(), lines }
    };
    let written = if is_quoted { format!("@\"{token}\"") } else { format!("@{token}") };
    Some(Mention { written, thing })
}

/// Parses the lines after a path: a colon and numbers, or what pages of code put after a `#`.
fn lines_of(suffix: &str) -> Option<RangeInclusive<u32>> {
    let numbers = suffix.strip_prefix(':').or_else(|| suffix.strip_prefix("#L"))?;
    let (first, last) = match numbers.split_once('-') {
        Some((first, last)) => (first, last.strip_prefix('L').unwrap_or(last)),
        None => (numbers, numbers),
    };
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(first..=last)
}

fn ends_token(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '`' | '<' | '>' | '|' | ',' | ';')
}

fn ends_sentence(c: char) -> bool {
    matches!(c, '.' | ':' | '!' | '?' | '\'')
}

/// Returns a token without what belongs to the sentence around it: its end, and a closing bracket that the token does not open.
fn without_end(token: &str) -> &str {
    let mut token = token;
    loop {
        let plain = token.trim_end_matches(ends_sentence);
        let pair = [('(', ')'), ('[', ']'), ('{', '}')]
            .into_iter()
            .find(|(open, close)| plain.ends_with(*close) && !plain.contains(*open));
        let next = if pair.is_some() { &plain[..plain.len() - 1] } else { plain };
        if next.len() == token.len() {
            return token;
        }
        token = next;
    }
}
