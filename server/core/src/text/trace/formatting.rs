//! What a formatter made of the lines of an edit while the editor saved it.
//!
//! Never says who changed the lines: a user who types during the save looks the same.

use super::{HunkText, PastChange, PastHunk, Side, trace_all};
use crate::text::edit::lines;
use crate::text::review::Hunk;

/// Returns the lines that are in the text now in the place of the inserted ones, hunk after hunk, where they differ from
/// those. `before` is the text before the edit, `now` the text after the save.
pub fn reformatted(before: &str, hunks: &[Hunk], now: &str) -> Vec<String> {
    let past = |hunk| PastHunk { hunk, amended: None, expected: Side::After };
    let change = PastChange { before: Some(before), hunks: hunks.iter().map(past).collect() };
    let all: Vec<&str> = lines(now).collect();
    let traces = trace_all(now, &[change]).into_iter().flatten();
    let changed = traces.filter(|trace| matches!(trace.found, HunkText::Amended { .. }));
    changed.map(|trace| all.get(trace.lines).unwrap_or_default().concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::review::hunks;

    #[test]
    fn n06_only_the_lines_of_the_edit_are_said_to_be_formatted() {
        let before = "a  = 1\n.\n.\n.\n.\n.\nb = 2\n.\n.\n.\n.\n.\nc = 3\n";
        let after = "a  = 1\n.\n.\n.\n.\n.\nb  =  3\nd  = 4\n.\n.\n.\n.\n.\nc = 4\n";
        let edit = hunks(before, after);
        let saved = after.replace("  ", " ");
        assert_eq!(reformatted(before, &edit, &saved), ["b = 3\nd = 4\n"]);
        let elsewhere = after.replacen("a  = 1", "a = 1", 1);
        assert_eq!(reformatted(before, &edit, &elsewhere), Vec::<String>::new());
        assert_eq!(reformatted(before, &edit, after), Vec::<String>::new());
    }
}
