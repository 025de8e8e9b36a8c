//! Tests of the bytes of an index.

use super::*;

/// Returns an index with this version, entry count and content, without a checksum.
fn bytes(version: u32, count: u32, content: &[u8]) -> Vec<u8> {
    [b"DIRC", &version.to_be_bytes()[..], &count.to_be_bytes(), content, &[0; CHECKSUM]].concat()
}

#[track_caller]
fn unknown(bytes: Vec<u8>) -> String {
    decode(bytes).map(|_| ()).expect_err("the index is unknown").to_string()
}

#[test]
fn an_empty_index_has_no_entries() {
    assert_eq!(decode(bytes(2, 0, b"")).unwrap().entries().count(), 0);
    assert_eq!(decode(bytes(4, 0, b"TREE\0\0\0\x04abcd")).unwrap().entries().count(), 0);
}

#[test]
fn what_cannot_be_an_index_is_unknown() {
    assert!(unknown(vec![]).contains("damaged"));
    assert!(unknown(b"DIRC".to_vec()).contains("damaged"));
    assert!(unknown(bytes(5, 0, b"")).contains("version 5"));
    assert!(unknown(bytes(2, u32::MAX, b"")).contains("damaged"));
    assert!(unknown(bytes(2, 1, &[0; 61])).contains("damaged"));
    assert!(unknown(bytes(4, 1, &[0xff; 200])).contains("damaged"));
    assert!(unknown(bytes(2, 0, b"TREE\0\0\0\x05abcd")).contains("damaged"));
    assert!(unknown(bytes(2, 0, b"abc")).contains("damaged"));
    assert!(unknown(bytes(2, 0, b"newx\0\0\0\0")).contains("does not know"));
    assert!(unknown(bytes(2, 0, b"link\0\0\0\0")).contains("split index"));
    let mut signed = bytes(2, 0, b"");
    *signed.last_mut().unwrap() = 1;
    assert!(unknown(signed).contains("damaged"));
}
