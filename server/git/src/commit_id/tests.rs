//! Tests of the name of a commit.

use super::*;

#[test]
fn a_commit_is_named_by_forty_digits() {
    let hex = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(CommitId::from_hex(hex).unwrap().to_string(), hex);
    for wrong in
        ["", "01234567", &hex[1..], &format!("{hex}0"), &format!("{}g", &hex[1..]), "HEAD", &hex.repeat(2)]
    {
        assert_eq!(CommitId::from_hex(wrong), None, "{wrong}");
    }
}
