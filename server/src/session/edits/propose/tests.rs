//! Tests what fits one review. The integration tests play whole edits.
//!
//! Touches no file.

use super::*;

#[test]
fn s111_f13_hunks_that_would_each_be_looked_for_in_a_long_text_are_refused() {
    let hunk = Hunk {
        id: "h1".to_owned(),
        line: 0,
        removed: vec!["a\n".to_owned()],
        inserted: vec!["b\n".to_owned()],
        context_before: Vec::new(),
        context_after: Vec::new(),
    };
    let hunks = vec![hunk; 10_001];
    assert_eq!(fits_review([].iter(), &hunks, &"a\n".repeat(10_001), "a.txt"), Ok(()));
    let why = fits_review([].iter(), &hunks, &"a\n".repeat(40_000), "a.txt").unwrap_err();
    assert_eq!(
        why.text,
        "the change of \"a.txt\" has 10001 separate places; at most 10000 fit one review, so split it"
    );
}

#[test]
fn all_files_of_a_turn_share_one_review() {
    let hunk = |bytes: usize| Hunk {
        id: "h1".to_owned(),
        line: 0,
        removed: Vec::new(),
        inserted: vec!["x".repeat(bytes)],
        context_before: Vec::new(),
        context_after: Vec::new(),
    };
    let (large, small) = ([hunk(MAX_CHANGE - 10)], [hunk(10)]);
    assert_eq!(fits_review(large.iter(), &small, "a\n", "b.txt"), Ok(()));
    let why = fits_review(large.iter(), &[hunk(11)], "a\n", "b.txt").unwrap_err();
    assert!(why.text.ends_with("so make it in the next turn"), "{why}");
    let why = fits_review(small.iter(), &[hunk(MAX_CHANGE + 1)], "a\n", "b.txt").unwrap_err();
    assert!(why.text.ends_with("so split it"), "{why}");
}
