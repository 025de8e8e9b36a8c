//! Estimates how many tokens a text has, without a tokenizer.
//!
//! Never exact: `session/tokens.rs` corrects it by what the provider counts (S72).

use crate::prompt::message::{ModelMessage, Reply, ToolSpec};

/// Tokens that a provider adds for each message: its role and its marks.
const PER_MESSAGE: f64 = 4.0;
/// Tokens of an image. Providers count it by its size; this is what a screenshot costs at most of them.
const PICTURE: f64 = 1_100.0;

/// Letters that the first token of a word has room for.
const WORD: f64 = 9.0;
/// Letters of each further token of a long word.
const LETTERS: f64 = 4.5;
/// Letters of a token in capitals, which tokenizers know less well.
const CAPITALS: f64 = 2.6;
/// Digits of a token.
const DIGITS: f64 = 3.0;
/// Tokens of one mark before a word: common pairs, such as `.push`, are one token.
const JOINED_MARK: f64 = 0.45;
/// Tokens of the first of several marks.
const MARK: f64 = 0.95;
/// Tokens of each further mark that is another than the one before it.
const OTHER_MARK: f64 = 0.22;
/// Tokens of each further mark that is the same as the one before it: long lines of one mark are tokens of their own.
const SAME_MARK: f64 = 0.02;
/// Tokens of a line end after a mark, with which it mostly shares a token.
const JOINED_LINE_END: f64 = 0.15;
/// Tokens of one Chinese or Japanese character. Tokenizers differ by a half here.
const IDEOGRAPH: f64 = 0.8;
/// Tokens of one Korean syllable.
const SYLLABLE: f64 = 0.75;
/// Tokens of one letter of any other script.
const OTHER_SCRIPT: f64 = 0.35;
/// Tokens of an arrow, a typographic mark or an emoji.
const SYMBOL: f64 = 1.0;
/// Tokens of one character of base64 and of the like, which tokenizers have no words for.
const RANDOM: f64 = 0.7;
/// Base64 looks like a name until it has so many characters: then its letters and digits change kind far more often.
const LEAST_RANDOM: usize = 16;
/// In base64 a run of one kind of characters has on average fewer than so many.
const MOST_RANDOM_RUN: f64 = 2.9;

/// What the characters of a piece of text have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Lower,
    Upper,
    Digit,
    Mark,
    Ideograph,
    Syllable,
    Symbol,
    Other,
}

const fn kind_of(c: char) -> Kind {
    match c {
        'a'..='z' => Kind::Lower,
        'A'..='Z' => Kind::Upper,
        '0'..='9' => Kind::Digit,
        ' ' | '\t' | '\n' | '\r' => Kind::Blank,
        '!'..='~' => Kind::Mark,
        '\u{ac00}'..='\u{d7af}' => Kind::Syllable,
        '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' => Kind::Ideograph,
        '\u{2000}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => Kind::Symbol,
        _ => Kind::Other,
    }
}

/// The kinds of ASCII, so that most texts need no decoding. `None` is a part of another character.
const ASCII: [Option<Kind>; 256] = {
    let mut kinds = [None; 256];
    let mut byte = 0u8;
    while byte < 128 {
        kinds[byte as usize] = Some(kind_of(byte as char));
        byte += 1;
    }
    kinds
};

/// The characters of one kind that follow one another.
struct Piece<'a> {
    kind: Kind,
    text: &'a str,
    /// How many characters it has.
    length: usize,
}

/// Returns the pieces of a text, in their order.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let ascii = ASCII[usize::from(*bytes.first()?)];
        let (kind, end, length) = match ascii {
            Some(kind) => {
                let others = bytes.iter().position(|byte| ASCII[usize::from(*byte)] != ascii);
                let end = others.unwrap_or(bytes.len());
                (kind, end, end)
            }
            None => {
                let mut chars = rest.chars();
                let kind = kind_of(chars.next()?);
                let is_same = |next: &char| !next.is_ascii() && kind_of(*next) == kind;
                let more: (usize, usize) = chars
                    .take_while(is_same)
                    .fold((0, 0), |(bytes, count), c| (bytes + c.len_utf8(), count + 1));
                let first = rest.chars().next()?.len_utf8();
                (kind, first + more.0, 1 + more.1)
            }
        };
        let (text, after) = rest.split_at(end);
        rest = after;
        Some(Piece { kind, text, length })
    })
}

impl Piece<'_> {
    /// Returns about how many tokens it has between pieces of these kinds.
    fn tokens(&self, before: Option<Kind>, next: Option<Kind>) -> f64 {
        let length = self.length as f64;
        let is_before_letter = matches!(next, Some(Kind::Lower | Kind::Upper));
        match self.kind {
            Kind::Blank => self.blank_tokens(before, next),
            Kind::Lower => 1.0 + ((length - WORD) / LETTERS).max(0.0),
            // A capital belongs to the small letters after it.
            Kind::Upper if self.length == 1 && next == Some(Kind::Lower) => 0.0,
            Kind::Upper => (length / CAPITALS).max(1.0),
            Kind::Digit => (length / DIGITS).ceil(),
            Kind::Mark if self.length == 1 && is_before_letter => JOINED_MARK,
            Kind::Mark => {
                let others = self.text.as_bytes().windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
                MARK + others * OTHER_MARK + (length - 1.0 - others) * SAME_MARK
            }
            Kind::Ideograph => length * IDEOGRAPH,
            Kind::Syllable => length * SYLLABLE,
            Kind::Symbol => length * SYMBOL,
            Kind::Other => length * OTHER_SCRIPT,
        }
    }

    /// Returns the tokens of the line ends and of the blanks after the last one. The last blank belongs to the word after it.
    fn blank_tokens(&self, before: Option<Kind>, next: Option<Kind>) -> f64 {
        let line_ends = self.text.bytes().rposition(|byte| byte == b'\n').map_or(0, |last| last + 1);
        let is_joined = !matches!(next, None | Some(Kind::Digit));
        let blanks = match self.length - line_ends {
            0 => 0.0,
            1 if is_joined => 0.0,
            _ => 1.0,
        };
        let ends = match before {
            _ if line_ends == 0 => 0.0,
            Some(Kind::Mark) => JOINED_LINE_END,
            _ => 1.0,
        };
        blanks + ends
    }
}

/// Letters and digits without anything between them.
#[derive(Default)]
struct Word {
    tokens: f64,
    length: usize,
    /// How many pieces it has. A capital and the small letters after it are one, so that a name in camel case has few.
    pieces: usize,
    has_capitals: bool,
    has_small: bool,
}

impl Word {
    fn add(&mut self, piece: &Piece<'_>, tokens: f64, before: Option<Kind>) {
        self.tokens += tokens;
        self.length += piece.length;
        self.has_capitals |= piece.kind == Kind::Upper;
        self.has_small |= piece.kind == Kind::Lower;
        if piece.kind != Kind::Lower || before != Some(Kind::Upper) {
            self.pieces += 1;
        }
    }

    /// Returns the tokens of the whole word. Of hexadecimal digits their pieces say enough.
    fn tokens(&self) -> f64 {
        let is_random = self.length >= LEAST_RANDOM
            && self.has_capitals
            && self.has_small
            && self.length as f64 <= self.pieces as f64 * MOST_RANDOM_RUN;
        if is_random { self.length as f64 * RANDOM } else { self.tokens }
    }
}

/// Returns about how many tokens a text has. Takes time in proportion to its length.
pub fn of_text(text: &str) -> f64 {
    let (mut tokens, mut word, mut before) = (0.0, Word::default(), None);
    let mut pieces = pieces(text).peekable();
    while let Some(piece) = pieces.next() {
        let own = piece.tokens(before, pieces.peek().map(|next| next.kind));
        if matches!(piece.kind, Kind::Lower | Kind::Upper | Kind::Digit) {
            word.add(&piece, own, before);
        } else {
            tokens += std::mem::take(&mut word).tokens() + own;
        }
        before = Some(piece.kind);
    }
    tokens + word.tokens()
}

/// Returns about how many tokens a message adds to a request.
pub fn of_message(message: &ModelMessage) -> f64 {
    PER_MESSAGE
        + match message {
            ModelMessage::User { text, pictures, .. } => of_text(text) + PICTURE * pictures.len() as f64,
            ModelMessage::Assistant { reply } => of_reply(reply),
            ModelMessage::Tool { output, .. } => of_text(output),
        }
}

fn of_reply(reply: &Reply) -> f64 {
    let calls = reply.calls.iter().map(|call| PER_MESSAGE + of_text(&call.name) + of_text(&call.arguments));
    of_text(&reply.text) + calls.sum::<f64>()
}

/// Returns about how many tokens a list of tools has.
pub fn of_tools(tools: &[ToolSpec]) -> f64 {
    let tool = |tool: &ToolSpec| {
        PER_MESSAGE + of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.parameters.to_string())
    };
    tools.iter().map(tool).sum()
}

#[cfg(test)]
mod tests;
