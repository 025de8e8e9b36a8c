//! A normalised copy of a text for lenient comparison, with a map back to the bytes of the text.
//!
//! Never removes a line end: a view has the lines of its text.

use std::ops::Range;

use crate::text::edit::{line_end, lines};

/// Which differences a view removes. Each value includes those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fold {
    LineEnds,
    TrailingSpace,
    Typography,
}

/// A normalised text.
pub(super) struct View {
    pub text: String,
    /// The view ends with a line end that the text does not have.
    pub completed: bool,
    spans: Vec<Span>,
}

/// A part of the view and the bytes that it comes from.
struct Span {
    at: usize,
    length: usize,
    origin: Range<usize>,
    /// Both are equal byte for byte, so a match may begin or end inside.
    copied: bool,
}

impl View {
    /// Returns the view of a text or of a quotation.
    pub(super) fn new(text: &str, fold: Fold) -> Self {
        let mut view = View { text: String::with_capacity(text.len()), completed: false, spans: Vec::new() };
        let mut at = 0;
        for line in lines(text) {
            let end = line_end(line);
            let content = &line[..line.len() - end.len()];
            // White space after the last line end may be the indentation of an
            // incomplete line, so it stays.
            let is_incomplete = end.is_empty() && content.trim().is_empty();
            let trims = fold >= Fold::TrailingSpace && !is_incomplete;
            let trimmed = if trims { content.trim_end() } else { content };
            if fold == Fold::Typography {
                view.push_plain(trimmed, at);
            } else {
                view.copy(trimmed, at);
            }
            let end_at = at + content.len();
            match end {
                "" => {}
                "\n" => view.copy("\n", end_at),
                _ => view.replace_piece("\n", end_at..end_at + end.len()),
            }
            at += line.len();
        }
        view
    }

    /// Adds a final line end if the text has none. `length` is the length of the original text in bytes.
    pub(super) fn complete(mut self, length: usize) -> Self {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.replace_piece("\n", length..length);
            self.completed = true;
        }
        self
    }

    /// Returns the original bytes of a range of the view, or `None` if the range begins or ends inside a replaced
    /// character.
    pub(super) fn origin(&self, range: Range<usize>) -> Option<Range<usize>> {
        let first = self.span_at(range.start)?;
        let last = self.span_at(range.end.checked_sub(1)?)?;
        let start = match range.start - first.at {
            0 => first.origin.start,
            within if first.copied => first.origin.start + within,
            _ => return None,
        };
        let end = match last.at + last.length - range.end {
            0 => last.origin.end,
            within if last.copied => last.origin.end - within,
            _ => return None,
        };
        (start <= end).then_some(start..end)
    }

    fn span_at(&self, offset: usize) -> Option<&Span> {
        let after = self.spans.partition_point(|span| span.at <= offset);
        let span = self.spans.get(after.checked_sub(1)?)?;
        (offset < span.at + span.length).then_some(span)
    }

    fn copy(&mut self, piece: &str, from: usize) {
        if piece.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.copied && last.origin.end == from => {
                last.length += piece.len();
                last.origin.end += piece.len();
            }
            _ => self.spans.push(Span {
                at: self.text.len(),
                length: piece.len(),
                origin: from..from + piece.len(),
                copied: true,
            }),
        }
        self.text.push_str(piece);
    }

    fn replace_piece(&mut self, piece: &str, origin: Range<usize>) {
        self.spans.push(Span { at: self.text.len(), length: piece.len(), origin, copied: false });
        self.text.push_str(piece);
    }

    fn push_plain(&mut self, content: &str, from: usize) {
        let mut copied = 0;
        for (at, c) in content.char_indices() {
            let Some(plain) = plain(c) else { continue };
            self.copy(&content[copied..at], from + copied);
            copied = at + c.len_utf8();
            if !plain.is_empty() {
                self.replace_piece(plain, from + at..from + copied);
            }
        }
        self.copy(&content[copied..], from + copied);
    }
}

/// Returns the plain text for a typographic character; `None` for an ordinary one.
fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        _ if c.is_ascii() => return None,
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2b9}' | '\u{2bc}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2043}' => "-",
        '\u{2026}' => "...",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        // Characters without width: people and models do not see them.
        '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => "",
        _ => return None,
    })
}
