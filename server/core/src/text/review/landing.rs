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
}
