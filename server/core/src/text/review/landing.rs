//! Decides by the text alone whether an edit was made.

use std::collections::HashSet;
use std::slice::from_ref;

use super::{Hunk, Presence, has_in_context, present_all, text_after};
use crate::text::edit::lines;

/// Whether a text has all of these hunks, none of them, or neither is clear.
pub fn present_together(text: &str, hunks: &[Hunk]) -> Presence {
    let presences = present_all(text, hunks);
    let all = |wanted| presences.iter().all(|presence| *presence == wanted);
    match () {
        () if all(Presence::Landed) => Presence::Landed,
        () if all(Presence::NotLanded) => Presence::NotLanded,
        () => Presence::Unclear,
    }
}

/// Whether an edit was made whose report is missing. `hunks` are those that were on their way: the others of the same change, rejected
/// or made before, say nothing. `before` is the text for which the edit was made, if it is kept.
pub fn presence_of_cut_short(text: &str, before: Option<&str>, hunks: &[Hunk]) -> Presence {
    match before {
        Some(before) if text_after(before, hunks).is_some_and(|after| after == text) => Presence::Landed,
        Some(before) if before == text => Presence::NotLanded,
        // Other changes of the same lines may have been made or undone meanwhile.
        _ => match present_together(text, hunks) {
            Presence::Landed if !is_evident(text, before, hunks) => Presence::Unclear,
            // Lines that came to stand between a hunk and its context hide it from a search by context.
            Presence::Unclear if before.is_some_and(|before| have_come(text, before, hunks)) => {
                Presence::Landed
            }
            presence => presence,
        },
    }
}

/// Whether nothing but the edit can have brought the lines of its hunks. Where lines repeat, [`present`](super::present) can find the
/// lines of a hunk that no editor applied, so this asks for the whole context.
fn is_evident(text: &str, before: Option<&str>, hunks: &[Hunk]) -> bool {
    let known: Option<HashSet<&str>> = before.map(|before| lines(before).collect());
    hunks.iter().all(|hunk| {
        let is_new = |line: &String| known.as_ref().is_some_and(|known| !known.contains(line.as_str()));
        hunk.inserted.iter().any(is_new) || has_in_context(text, from_ref(hunk))
    })
}

/// How many lines of others may have come between a hunk and its context on each side.
const MOST_BETWEEN: usize = 16;

/// Whether each hunk has brought a line that `before` does not have: its lines stand once in the text, next to one line of their
/// context or between lines of both sides of it, and those that it removes are gone.
fn have_come(text: &str, before: &str, hunks: &[Hunk]) -> bool {
    let (now, before): (Vec<&str>, Vec<&str>) = (lines(text).collect(), lines(before).collect());
    hunks.iter().all(|hunk| {
        let (inserted, removed) = (as_strs(&hunk.inserted), as_strs(&hunk.removed));
        let [at] = places_of(&now, &inserted)[..] else { return false };
        let above = at.checked_sub(1).and_then(|line| now.get(line).copied());
        let below = now.get(at + inserted.len()).copied();
        let touches = above == hunk.context_before.last().map(String::as_str)
            || below == hunk.context_after.first().map(String::as_str)
            || stands_between(&now, at, inserted.len(), hunk);
        let is_gone = || places_of(&now, &removed).len() < places_of(&before, &removed).len();
        touches && inserted.iter().any(|line| !before.contains(line)) && (removed.is_empty() || is_gone())
    })
}

/// Whether lines of the context of a hunk stand above and below this place, perhaps with lines of others between.
fn stands_between(now: &[&str], at: usize, count: usize, hunk: &Hunk) -> bool {
    let has = |context: &[String], place: &[&str]| context.iter().any(|line| place.contains(&line.as_str()));
    let above = now.get(at.saturating_sub(MOST_BETWEEN)..at).unwrap_or_default();
    let from = at + count;
    let below = now.get(from..now.len().min(from + MOST_BETWEEN)).unwrap_or_default();
    has(&hunk.context_before, above) && has(&hunk.context_after, below)
}

fn as_strs(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

/// Returns where a block of lines stands; nowhere if it has none.
fn places_of(text: &[&str], block: &[&str]) -> Vec<usize> {
    let windows = text.windows(block.len().max(1)).enumerate();
    windows.filter(|(_, window)| *window == block).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::review::hunks;

    const BEFORE: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";

    #[test]
    fn n03_an_edit_is_found_though_a_line_around_it_was_changed_meanwhile() {
        let after = BEFORE.replace("d\n", "d\nnew\n");
        let edit = hunks(BEFORE, &after);
        let now = after.replace("c\n", "c!\n");
        assert_eq!(presence_of_cut_short(&now, Some(BEFORE), &edit), Presence::Landed);
        assert_eq!(presence_of_cut_short(&now, None, &edit), Presence::Unclear, "the line may be older");
        let never = BEFORE.replace("c\n", "c!\n");
        assert_ne!(presence_of_cut_short(&never, Some(BEFORE), &edit), Presence::Landed);
    }

    #[test]
    fn n03_of_an_edit_only_what_was_on_its_way_is_searched_for() {
        let edit = hunks(BEFORE, &BEFORE.replace("a\n", "a new\n").replace("h\n", "h new\n"));
        let now = format!("mine\n{}", BEFORE.replace("a\n", "a new\n"));
        assert_eq!(presence_of_cut_short(&now, Some(BEFORE), &edit[..1]), Presence::Landed);
        assert_eq!(presence_of_cut_short(&now, Some(BEFORE), &edit[1..]), Presence::NotLanded);
        assert_eq!(presence_of_cut_short(&now, Some(BEFORE), &edit), Presence::Unclear);
    }

    #[test]
    fn n03_an_edit_is_found_though_a_line_came_to_stand_right_above_it_meanwhile() {
        let text = (0..12).map(|number| format!("line {number:02}\n")).collect::<String>();
        let edit = hunks(&text, &text.replace("line 07\n", "line 07 new;\n"));
        let now = text.replace("line 07\n", "other;\nline 07 new;\n");
        assert_eq!(presence_of_cut_short(&now, Some(&text), &edit), Presence::Landed);
        assert_eq!(presence_of_cut_short(&now, None, &edit), Presence::Unclear, "the line may be older");
        let never = text.replace("line 07\n", "other;\nline 07\n");
        assert_ne!(presence_of_cut_short(&never, Some(&text), &edit), Presence::Landed);
        let around = now.replace("line 07 new;\n", "line 07 new;\nanother;\n");
        assert_eq!(
            presence_of_cut_short(&around, Some(&text), &edit),
            Presence::Landed,
            "lines on both sides"
        );
        let elsewhere = text.replace("line 07\n", "").replace("line 00\n", "line 07 new;\nline 00\n");
        assert_ne!(
            presence_of_cut_short(&elsewhere, Some(&text), &edit),
            Presence::Landed,
            "of somebody else"
        );
        let twice = now.replace("line 02\n", "line 02\nline 07 new;\n");
        assert_ne!(presence_of_cut_short(&twice, Some(&text), &edit), Presence::Landed, "which one is it?");
        let both = now.replace("line 02\n", "line 02\nline 07\n");
        assert_ne!(
            presence_of_cut_short(&both, Some(&text), &edit),
            Presence::Landed,
            "the old line is there"
        );
    }
}
