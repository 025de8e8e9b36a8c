//! Whether an edit replaces lines that the model has not seen as they are.
//!
//! Never looks at the file: it gets what the model knows of its lines of now.

use std::ops::Range;

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::policy::observation::UnseenLines;
use adjutant_core::policy::outside;
use adjutant_core::text::edit::lines;
use adjutant_core::text::freshness::{Freshness, KnownText, NotPlaced};
use adjutant_core::text::review::Hunk;

/// Returns why an edit cannot be made, with a word on the change if the file is not as the model saw it.
pub fn with_change(known: &KnownText, why: Reason) -> Reason {
    if known.stands() { why } else { Reason { text: outside::with_change(&why.text), ..why } }
}

/// Refuses an edit of quoted text inside what changed since the model read the file, but for a part of a line that others
/// changed elsewhere: the lines with that part are added to `placed`. Lines that the model never read are no reason: it
/// quotes them. `quoted` is `None` if all places of the text are replaced.
pub fn check_lines(
    known: &KnownText,
    path: &str,
    now: &str,
    hunks: &[Hunk],
    quoted: Option<&str>,
    placed: &mut Vec<Range<usize>>,
) -> Result<(), Reason> {
    let changed = |placed: &[Range<usize>]| {
        hunks.iter().find(|hunk| known.freshness_beyond(hunk, placed) == Freshness::Changed)
    };
    let Some(hunk) = changed(placed) else { return Ok(()) };
    let found = quoted.map(|quoted| known.quoted_lines(now, quoted));
    let others_gone = found == Some(Err(NotPlaced::OthersGone));
    if let Some(Ok(lines)) = found {
        placed.push(lines);
        if changed(placed).is_none() {
            return Ok(());
        }
        placed.pop();
    }
    let changed: Vec<&str> = lines(now).skip(hunk.line).take(hunk.removed.len()).collect();
    let text = outside::changed_inside(path, hunk.line, changed.into_iter(), others_gone);
    Err(Reason::new(Cause::Changed, text))
}

/// Returns the lines in which an edit replaces only what was quoted, as the user has to know them; `None` if there are none.
pub fn of_quotes(path: &str, placed: &[Range<usize>]) -> Option<UnseenLines> {
    let lines = placed.first()?;
    let why = outside::changed_beside(path, (lines.start + 1, lines.end));
    Some(UnseenLines { changed: true, stays: true, why })
}

/// Returns the lines that a whole new text would replace without that the model has seen them; `None` if it has seen all.
pub fn of_rewrite(known: &KnownText, path: &str, hunks: &[Hunk]) -> Option<UnseenLines> {
    // Lines that went since stand in no hunk. A whole text may bring them back, so any line that it adds may be one.
    let may_bring_back = |hunk: &Hunk| !known.stands() && !hunk.inserted.is_empty();
    let freshness = |hunk: &Hunk| match may_bring_back(hunk) {
        true => Freshness::Changed,
        false => known.freshness(hunk),
    };
    let going = hunks.iter().filter(|hunk| !hunk.removed.is_empty() || may_bring_back(hunk));
    let unseen: Vec<(Freshness, &Hunk)> = going
        .map(|hunk| (freshness(hunk), hunk))
        .filter(|(freshness, _)| *freshness != Freshness::Known)
        .collect();
    let changed = unseen.iter().any(|(freshness, _)| *freshness == Freshness::Changed);
    let places: Vec<(usize, usize)> =
        unseen.iter().map(|(_, hunk)| (hunk.line + 1, hunk.line + hunk.removed.len().max(1))).collect();
    let lines = || UnseenLines { changed, stays: false, why: outside::unseen_lines(path, changed, &places) };
    (!places.is_empty()).then(lines)
}
