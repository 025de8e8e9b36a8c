//! Extracts the text of an HTML or XML page that a gateway sends instead of an error.
//!
//! Never renders or loads anything. A text that is not a page is returned unchanged.

use std::borrow::Cow;

/// Returns the text of a page without its markup.
pub(super) fn text_of(document: &str) -> Cow<'_, str> {
    if !is_page(document) {
        return Cow::Borrowed(document);
    }
    let mut pieces = Pieces { rest: document };
    let (mut title, mut body) = (String::new(), String::new());
    let mut in_title = false;
    while let Some(piece) = pieces.next() {
        match piece {
            HtmlPiece::Text(text) if in_title => title.push_str(text),
            HtmlPiece::Text(text) => body.push_str(text),
            HtmlPiece::Tag(name) => {
                match name.as_str() {
                    "title" => in_title = true,
                    "/title" => in_title = false,
                    "script" | "style" | "svg" | "noscript" => pieces.skip_to_end_of(&name),
                    _ => {}
                }
                // A block element separates words. An inline element may be inside a word.
                if !INLINE.contains(&name.trim_start_matches('/')) {
                    body.push(' ');
                }
            }
        }
    }
    // Most error pages have the same text in title and body.
    Cow::Owned(if body.trim().is_empty() { unescaped(&title) } else { unescaped(&body) })
}

const INLINE: [&str; 12] =
    ["a", "abbr", "b", "big", "code", "em", "font", "i", "small", "span", "strong", "tt"];

/// The maximum length of the name in a character reference such as `&quot;`.
const MAX_NAME: usize = 8;

fn is_page(document: &str) -> bool {
    let start: String = document.trim_start_matches('\u{feff}').trim_start().chars().take(300).collect();
    let start = start.to_ascii_lowercase();
    let opens =
        ["<!doctype", "<html", "<head", "<body", "<?xml", "<!--", "<title", "<h1", "<center", "<p>", "<div"];
    opens.iter().any(|open| start.starts_with(open))
}

enum HtmlPiece<'a> {
    Text(&'a str),
    /// The name in lower case; an end tag begins with a slash.
    Tag(String),
}

struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    fn next(&mut self) -> Option<HtmlPiece<'a>> {
        if let Some(comment) = self.rest.strip_prefix("<!--") {
            self.rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            return Some(HtmlPiece::Tag(String::new()));
        }
        if let Some(tag) = self.rest.strip_prefix('<') {
            let name = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric);
            let slash = if tag.starts_with('/') { "/" } else { "" };
            let name = format!("{slash}{}", name.collect::<String>().to_ascii_lowercase());
            self.rest = &tag[end_of_tag(tag)..];
            return Some(HtmlPiece::Tag(name));
        }
        let end = self.rest.find('<').unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!text.is_empty()).then_some(HtmlPiece::Text(text))
    }

    /// Skips the content of an element. `name` is in lower case.
    fn skip_to_end_of(&mut self, name: &str) {
        let is_end = |at: &usize| {
            let found = self.rest.get(at + 2..at + 2 + name.len());
            found.is_some_and(|found| found.eq_ignore_ascii_case(name))
        };
        let at = self.rest.match_indices("</").map(|(at, _)| at).find(is_end);
        self.rest = at.map_or("", |at| &self.rest[at..]);
    }
}

/// Returns where a tag ends. A `>` in quotes does not end it.
fn end_of_tag(tag: &str) -> usize {
    let mut quote = None;
    for (at, character) in tag.char_indices() {
        match (quote, character) {
            (None, '>') => return at + 1,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    tag.len()
}

/// Replaces character references such as `&amp;` and `&#47;`, once.
fn unescaped(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        clean.push_str(before);
        let end = after.bytes().take(MAX_NAME + 1).position(|byte| byte == b';');
        let named = end.map(|end| (&after[..end], &after[end + 1..]));
        match named.and_then(|(name, rest)| Some((character_of(name)?, rest))) {
            Some((character, after_reference)) => {
                clean.push(character);
                rest = after_reference;
            }
            None => {
                clean.push('&');
                rest = after;
            }
        }
    }
    clean.push_str(rest);
    clean
}

fn character_of(name: &str) -> Option<char> {
    let number = |text: &str, base| u32::from_str_radix(text, base).ok().filter(|number| *number != 0);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = match name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")) {
                Some(hex) => number(hex, 16),
                None => number(name.strip_prefix('#')?, 10),
            };
            number.and_then(char::from_u32)
        }
    }
}
