//! The place most similar to a quotation that was not found, as help for the model.
//!
//! Never reads the text more than a few times. An approximate answer is enough,
//! because no edit depends on it.

use std::collections::HashMap;

use crate::text::edit::lines;

/// The most lines of a quotation that are compared.
const MAX_LINES: usize = 200;
/// The most positions of equal lines in a quotation.
const MAX_POSITIONS: usize = 4;
/// The most lines of an excerpt, and the most characters of each.
const MAX_EXCERPT_LINES: usize = 8;
const MAX_EXCERPT_CHARS: usize = 160;
/// The most bytes of one line that are compared.
const MAX_LINE_BYTES: usize = 400;

/// The place most similar to a quotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// From one.
    pub line: usize,
    /// A few lines from there, each cut to a limit, joined by `\n`.
    pub excerpt: String,
}

/// Returns the place most similar to the quotation, or `None` if no place is similar enough.
pub(super) fn nearest(text: &str, old: &str) -> Option<Nearest> {
    let wanted: Vec<&str> = lines(old).take(MAX_LINES).map(str::trim).collect();
    let present: Vec<&str> = lines(text).map(str::trim).collect();
    let start = by_equal_lines(&present, &wanted).or_else(|| by_similar_line(&present, &wanted))?;
    let shown = lines(text).skip(start).take(wanted.len().clamp(1, MAX_EXCERPT_LINES));
    let cut = |line: &str| line.trim_end().chars().take(MAX_EXCERPT_CHARS).collect::<String>();
    Some(Nearest { line: start + 1, excerpt: shown.map(cut).collect::<Vec<_>>().join("\n") })
}

/// Returns the line where the quotation most probably begins. Each line of the text that is also in the quotation
/// votes for one beginning.
fn by_equal_lines(present: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut positions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in wanted.iter().enumerate().filter(|(_, line)| vote_of(line) > 0) {
        let known = positions.entry(line).or_default();
        if known.len() < MAX_POSITIONS {
            known.push(index);
        }
    }
    let mut votes = vec![0; present.len()];
    for (at, line) in present.iter().enumerate() {
        for position in positions.get(line).into_iter().flatten() {
            votes[at.saturating_sub(*position)] += vote_of(line);
        }
    }
    // In a tie the first line wins.
    let (start, best) = votes.into_iter().enumerate().rev().max_by_key(|(_, votes)| *votes)?;
    (best > 0).then_some(start)
}

/// Returns how much a line counts. Braces and blank lines count nothing, because they are everywhere.
fn vote_of(line: &str) -> usize {
    let letters = line.chars().filter(|c| c.is_alphanumeric()).take(40).count();
    if letters < 3 { 0 } else { letters }
}

/// Finds the line most similar to the longest line of the quotation, by triples of bytes.
fn by_similar_line(present: &[&str], wanted: &[&str]) -> Option<usize> {
    let (position, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let mut known = vec![false; 1 << 16];
    for triple in triples(longest) {
        known[triple] = true;
    }
    let total = triples(longest).count();
    let mut best = None;
    for (at, line) in present.iter().enumerate() {
        let common = triples(line).filter(|triple| known[*triple]).count();
        // Dice's coefficient in thousandths. A line less than half similar is no help.
        let similarity = 2_000 * common / (total + triples(line).count()).max(1);
        if similarity >= 500 && best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, at));
        }
    }
    best.map(|(_, at)| at.saturating_sub(position))
}

fn triples(line: &str) -> impl Iterator<Item = usize> {
    let bytes = &line.as_bytes()[..line.len().min(MAX_LINE_BYTES)];
    let mix = |t: &[u8]| (usize::from(t[0]) << 8) ^ (usize::from(t[1]) << 4) ^ usize::from(t[2]);
    bytes.windows(3).map(move |triple| mix(triple) & 0xffff)
}
