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
    assert_eq!(fits_review(&hunks, &"a\n".repeat(10_001), "a.txt"), Ok(()));
    let why = fits_review(&hunks, &"a\n".repeat(40_000), "a.txt").unwrap_err();
    assert_eq!(
        why.text,
        "the change of \"a.txt\" has 10001 separate places; at most 10000 fit one review, so split it"
    );
}
