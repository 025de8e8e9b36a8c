//! Tests of line ends.

use super::*;

#[test]
fn only_line_ends_of_the_whole_text_may_differ() {
    for (blob, work) in [
        ("", ""),
        ("a", "a"),
        ("a\nb\n", "a\nb\n"),
        ("a\nb", "a\r\nb"),
        ("\n\n", "\r\n\r\n"),
        ("a\r\n", "a\r\n"),
    ] {
        assert!(same_text(blob.as_bytes(), work), "{blob:?} {work:?}");
    }
    let different = [
        ("a\r\n", "a\n"),
        ("a\nb\n", "a\r\nb\n"),
        ("a\nb\n", "a\nb\r\n"),
        ("a\r\nb\n", "a\r\nb\r\n"),
        ("a\n", "a\r\n\r\n"),
        ("a", "a\r\n"),
        ("a\n", "a"),
        ("a\n", "a\r\r\n"),
        ("a\nb", "a\rb"),
        ("ab", "a\r\nb"),
        ("", "\r\n"),
    ];
    for (blob, work) in different {
        assert!(!same_text(blob.as_bytes(), work), "{blob:?} {work:?}");
    }
    assert!(!same_text(b"\xff\n", "\u{fffd}\n"));
}
