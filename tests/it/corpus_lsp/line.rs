//! One line of the corpus: read, and made into bytes where it is bytes.
//!
//! Never guesses: a member or a shape that is not known fails.

use serde_json::{Map, Value};

/// One line.
#[derive(Debug)]
pub struct Line {
    pub id: String,
    pub class: String,
    pub expect: String,
    pub why: String,
    /// What is sent; none where the line is steps.
    pub bytes: Option<Vec<u8>>,
    /// The most bytes the server may grow by.
    pub growth: Option<u64>,
}

/// Reads all lines of a file.
pub fn read(name: &str, text: &str) -> Vec<Line> {
    let line = |(at, line): (usize, &str)| {
        let value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{name}:{}: {why}", at + 1));
        one(value)
    };
    text.lines().enumerate().map(line).collect()
}

fn one(mut line: Map<String, Value>) -> Line {
    let mut text = |name: &str| match line.remove(name) {
        Some(Value::String(text)) => text,
        other => panic!("{name} is {other:?}"),
    };
    let (id, class, enc) = (text("id"), text("class"), text("enc"));
    let (expect, why, _source) = (text("expect"), text("why"), text("source"));
    let input = line.remove("input").unwrap_or_default();
    let asserts = line.remove("assert");
    assert!(line.is_empty(), "{id}: unknown members {line:?}");
    let bytes = match enc.as_str() {
        "b64" => Some(decoded(input["b64"].as_str().expect("b64 is text"))),
        "gen" => Some(generated(&input)),
        "steps" => None,
        other => panic!("{id}: unknown enc {other:?}"),
    };
    let growth = asserts.iter().flat_map(|all| all.as_array().expect("assert is a list")).map(|one| {
        let limit = one.as_str().and_then(|one| one.strip_prefix("rss_growth_mib<="));
        let limit: u64 = limit.and_then(|limit| limit.parse().ok()).unwrap_or_else(|| panic!("{id}: {one}"));
        limit << 20
    });
    let growth = growth.min();
    Line { id, class, expect, why, bytes, growth }
}

fn generated(input: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in input["parts"].as_array().expect("gen has parts") {
        match (part["text"].as_str(), part["repeat"].as_str(), part["n"].as_u64()) {
            (Some(text), None, None) => bytes.extend(text.bytes()),
            (None, Some(text), Some(count)) => (0..count).for_each(|_| bytes.extend(text.bytes())),
            _ => panic!("unknown part {part}"),
        }
    }
    if input["framed"] == true { super::raw::framed(&bytes) } else { bytes }
}

fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} is no digit of base 64"),
    };
    let digits: Vec<u32> = text.trim_end_matches('=').bytes().map(|byte| u32::from(digit(byte))).collect();
    let group = |group: &[u32]| {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

#[test]
fn base_64_is_read_as_it_is_written() {
    assert_eq!(decoded("TWFu"), b"Man");
    assert_eq!(decoded("TWE="), b"Ma");
    assert_eq!(decoded("TQ=="), b"M");
    assert_eq!(decoded("//4AAQ=="), [0xff, 0xfe, 0, 1]);
}
