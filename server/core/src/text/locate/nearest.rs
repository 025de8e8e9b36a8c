//! The place most like a quotation that is nowhere, as help for the model.
//!
//! Never more than one pass over the text; an approximate answer is enough,
//! for nothing is ever changed on its strength.

use std::collections::HashMap;

use crate::text::edit::lines;

/// Lines of a quotation that are compared, and seats of one and the same line in it.
const MAX_LINES: usize = 200;
const MAX_SEATS: usize = 4;
/// Size of an excerpt.
const MAX_EXCERPT_LINES: usize = 8;
const MAX_EXCERPT_CHARS: usize = 160;
/// Bytes of one line that are compared.
const MAX_LINE_BYTES: usize = 400;

/// The place most like a quotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// One-based.
    pub line: usize,
    /// A few lines from there, cut to a bounded size, joined by `\n`.
    pub excerpt: String,
}

/// Returns the place most like the quotation; `None` if none is much like it.
pub(super) fn nearest(text: &str, old: &str) -> Option<Nearest> {
    let wanted: Vec<&str> = lines(old).take(MAX_LINES).map(str::trim).collect();
    let present: Vec<&str> = lines(text).map(str::trim).collect();
    let start = by_equal_lines(&present, &wanted).or_else(|| by_similar_line(&present, &wanted))?;
    let shown = lines(text).skip(start).take(wanted.len().clamp(1, MAX_EXCERPT_LINES));
    let cut = |line: &str| line.trim_end().chars().take(MAX_EXCERPT_CHARS).collect::<String>();
    Some(Nearest { line: start + 1, excerpt: shown.map(cut).collect::<Vec<_>>().join("\n") })
}

/// Lets each line that is also in the quotation vote for where it would begin.
fn by_equal_lines(present: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut seats: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in wanted.iter().enumerate().filter(|(_, line)| weight(line) > 0) {
        let known = seats.entry(line).or_default();
        if known.len() < MAX_SEATS {
            known.push(index);
        }
    }
    let mut votes = vec![0; present.len()];
    for (at, line) in present.iter().enumerate() {
        for seat in seats.get(line).into_iter().flatten() {
            votes[at.saturating_sub(*seat)] += weight(line);
        }
    }
    // Equal votes go to the first place.
    let (start, best) = votes.into_iter().enumerate().rev().max_by_key(|(_, votes)| *votes)?;
    (best > 0).then_some(start)
}

/// How much a line tells: braces and blank lines are everywhere and tell nothing.
fn weight(line: &str) -> usize {
    let letters = line.chars().filter(|c| c.is_alphanumeric()).take(40).count();
    if letters < 3 { 0 } else { letters }
}

/// Looks for the line most like the longest of the quotation, by its triples of bytes.
fn by_similar_line(present: &[&str], wanted: &[&str]) -> Option<usize> {
    let (seat, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let mut known = vec![false; 1 << 16];
    for triple in triples(longest) {
        known[triple] = true;
    }
    let total = triples(longest).count();
    let mut best = None;
    for (at, line) in present.iter().enumerate() {
        let common = triples(line).filter(|triple| known[*triple]).count();
        // Dice's coefficient in thousandths; half alike is the least worth showing.
        let alike = 2_000 * common / (total + triples(line).count()).max(1);
        if alike >= 500 && best.is_none_or(|(most, _)| alike > most) {
            best = Some((alike, at));
        }
    }
    best.map(|(_, at)| at.saturating_sub(seat))
}

fn triples(line: &str) -> impl Iterator<Item = usize> {
    let bytes = &line.as_bytes()[..line.len().min(MAX_LINE_BYTES)];
    let mix = |t: &[u8]| (usize::from(t[0]) << 8) ^ (usize::from(t[1]) << 4) ^ usize::from(t[2]);
    bytes.windows(3).map(move |triple| mix(triple) & 0xffff)
}
