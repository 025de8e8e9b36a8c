//! Estimates of texts whose tokens are known.
//!
//! Never calls a model.

use super::*;

#[test]
fn an_estimate_is_near_what_tokenizers_count_before_it_has_learned() {
    // About what current tokenizers count.
    let cases = [("The quick brown fox jumps over the lazy dog.", 10.0), ("hello", 1.0), ("1234567890", 4.0)];
    for (text, real) in cases {
        let estimate = of_text(text);
        assert!((estimate / real - 1.0).abs() < 0.35, "{text:?}: {estimate} of {real}");
    }
}

#[test]
fn an_estimate_grows_with_its_text() {
    assert_eq!(of_text(""), 0.0);
    assert!(of_text("a b") < of_text("a b c d"));
    assert!(of_text(&"x".repeat(1_000)) > 100.0);
}
