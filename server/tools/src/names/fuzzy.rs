//! How well a path fits a few typed letters.
//!
//! Compares bytes, ASCII letters in any case. Never allocates for a path.

/// What was typed.
pub struct FuzzyQuery {
    /// In lower case.
    typed: Vec<u8>,
    letters: u64,
    has_slash: bool,
}

/// What is known of the last name of a path without a look at it.
#[derive(Clone, Copy)]
pub struct LastName {
    /// The byte at which it begins.
    pub start: usize,
    pub letters: u64,
    pub depth: u8,
}

/// A letter that was found.
const FOUND: i32 = 16;
/// A letter next to the one before.
const ADJACENT: i32 = 14;
/// A letter that begins a word.
const BEGINS_WORD: i32 = 12;
/// All letters are in the last name.
const IN_LAST: i32 = 30;
/// The last name, or the path, begins with what was typed.
const PREFIX: i32 = 60;
/// The last name is what was typed, with or without its ending.
const WHOLE: i32 = 40;
/// The most that a gap costs.
const MAX_GAP: i32 = 8;

impl FuzzyQuery {
    pub fn new(typed: &str) -> Self {
        let typed: Vec<u8> = typed.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
        Self { letters: mask(&typed), has_slash: typed.contains(&b'/'), typed }
    }

    /// Whether a path with these letters can fit.
    pub fn may_fit(&self, letters: u64) -> bool {
        letters & self.letters == self.letters
    }

    /// What a recently used path has in addition; `place` counts from the last used.
    pub fn recent_bonus(&self, place: usize) -> i32 {
        // Without letters, what was used comes first; with letters, it decides between similar fits.
        let most = if self.typed.is_empty() { 1_000_000 } else { 24 };
        most - (place as i32).min(20)
    }

    /// Returns how well a path fits; `None` if it does not have the letters in their order.
    pub fn score(&self, path: &str, last: LastName) -> Option<i32> {
        let bytes = path.as_bytes();
        let shape = -i32::from(last.depth) * 2 - (bytes.len() as i32) / 8;
        if self.typed.is_empty() {
            return Some(shape);
        }
        let name = bytes.get(last.start..).unwrap_or_default();
        let may_fit = !self.has_slash && self.may_fit(last.letters);
        let in_last = if may_fit { self.letters_score(bytes, last.start) } else { None };
        let score = match in_last {
            Some(score) => score + IN_LAST,
            None => self.letters_score(bytes, 0)?,
        };
        let mut bonus = 0;
        if starts_with(name, &self.typed) {
            bonus += PREFIX;
            let rest = name.get(self.typed.len()..).unwrap_or_default();
            bonus += if rest.is_empty() || rest.first() == Some(&b'.') { WHOLE } else { 0 };
        } else if self.has_slash && starts_with(bytes, &self.typed) {
            bonus += PREFIX;
        }
        Some(score + bonus + shape)
    }

    /// Scores the letters in a path from a byte on.
    fn letters_score(&self, bytes: &[u8], from: usize) -> Option<i32> {
        // The first way forwards says where the letters end; the way back from there finds the closest ones.
        let mut end = from;
        for typed in &self.typed {
            end += bytes.get(end..)?.iter().position(|byte| byte.eq_ignore_ascii_case(typed))? + 1;
        }
        let mut score = 0;
        let mut at = end;
        let mut after: Option<usize> = None;
        for typed in self.typed.iter().rev() {
            at = bytes.get(from..at)?.iter().rposition(|byte| byte.eq_ignore_ascii_case(typed))? + from;
            score += FOUND;
            score += if begins_word(bytes, at) { BEGINS_WORD } else { 0 };
            if let Some(after) = after {
                let gap = (after - at - 1) as i32;
                score += if gap == 0 { ADJACENT } else { -gap.min(MAX_GAP) };
            }
            after = Some(at);
        }
        Some(score)
    }
}

fn starts_with(bytes: &[u8], typed: &[u8]) -> bool {
    bytes.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed))
}

fn begins_word(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| bytes.get(before)) else { return true };
    let here = bytes.get(at).copied().unwrap_or_default();
    matches!(before, b'/' | b'_' | b'-' | b'.' | b' ')
        || (before.is_ascii_lowercase() && here.is_ascii_uppercase())
}

/// Returns which letters a path has.
pub fn letters(path: &str) -> u64 {
    mask(path.as_bytes())
}

fn mask(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |letters, byte| {
        let bit = match byte.to_ascii_lowercase() {
            letter @ b'a'..=b'z' => letter - b'a',
            digit @ b'0'..=b'9' => 26 + digit - b'0',
            b'/' => 36,
            b'.' => 37,
            b'_' => 38,
            b'-' => 39,
            other => 40 + other % 24,
        };
        letters | 1 << bit
    })
}
