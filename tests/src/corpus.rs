//! Bad inputs as data, one line of JSON each. Every test that plays them reads them with this file.
//!
//! Never guesses: an unknown member or shape fails. The test that plays a line decides what its
//! values mean.

use serde_json::{Map, Value};

/// One line of a corpus.
#[derive(Clone, Debug)]
pub struct Line {
    pub id: String,
    pub class: String,
    pub input: Value,
    /// The encoding of `input`: `b64`, `gen` or `steps`; none if `input` is literal.
    pub enc: Option<String>,
    /// What the test has to set up first.
    pub setup: Vec<String>,
    pub expect: String,
    /// The least result that passes, if less than `expect` passes.
    pub min: Option<String>,
    /// The class of the reason; the original lines have none.
    pub reason: Option<String>,
    /// Further conditions that must hold.
    pub asserts: Vec<String>,
    /// The operating system that the line applies to; none for all.
    pub os: Option<String>,
    /// Whether the input may only be judged and never executed.
    pub never_run: bool,
    pub why: String,
}

/// Reads all lines of a file.
pub fn read(name: &str, text: &str) -> Vec<Line> {
    let line = |(at, line): (usize, &str)| {
        let value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{name}:{}: {why}", at + 1));
        one(name, value)
    };
    let lines: Vec<Line> = text.lines().enumerate().map(line).collect();
    assert!(!lines.is_empty(), "{name} has no lines");
    for (at, line) in lines.iter().enumerate() {
        assert!(
            lines[..at].iter().all(|other| other.id != line.id),
            "{name}: the id {} is there twice",
            line.id
        );
    }
    lines
}

fn one(name: &str, mut line: Map<String, Value>) -> Line {
    let mut maybe = |member: &str| match line.remove(member) {
        Some(Value::String(text)) => Some(text),
        None => None,
        other => panic!("{name}: {member} is {other:?}"),
    };
    let [id, class, expect, why, source] = ["id", "class", "expect", "why", "source"].map(&mut maybe);
    let [enc, min, reason, os] = ["enc", "min", "reason", "os"].map(&mut maybe);
    let must = |text: Option<String>| text.unwrap_or_else(|| panic!("{name}: a member is missing: {line:?}"));
    let (id, class, expect, why, _) = (must(id), must(class), must(expect), must(why), must(source));
    let mut list = |member: &str| match line.remove(member) {
        Some(Value::Array(items)) => {
            let text = |item: &Value| item.as_str().unwrap_or_else(|| panic!("{id}: {item}")).to_owned();
            items.iter().map(text).collect()
        }
        None => Vec::new(),
        other => panic!("{id}: {member} is {other:?}"),
    };
    let (setup, asserts) = (list("setup"), list("assert"));
    let never_run = line.remove("never_run").is_some_and(|value| value == true);
    let input = line.remove("input").unwrap_or_else(|| panic!("{id} has no input"));
    assert!(line.is_empty(), "{id}: unknown members {line:?}");
    Line { id, class, input, enc, setup, expect, min, reason, asserts, os, never_run, why }
}

impl Line {
    /// Returns the text of the input at this JSON pointer. A generated text is written out.
    pub fn text(&self, pointer: &str) -> Option<String> {
        let value = self.input.pointer(pointer)?;
        Some(match value {
            Value::String(text) => text.clone(),
            made => String::from_utf8(generated(made)).unwrap_or_else(|why| panic!("{}: {why}", self.id)),
        })
    }

    /// Returns the steps of a line; fails if its input is not a list of steps.
    pub fn steps(&self) -> Vec<&str> {
        let steps = self.input.as_array().unwrap_or_else(|| panic!("{} has no steps", self.id));
        steps.iter().map(|step| step.as_str().unwrap_or_else(|| panic!("{}: {step}", self.id))).collect()
    }

    /// Returns the bytes of a line; none for a line of steps.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self.enc.as_deref() {
            Some("b64") => Some(decoded(self.input["b64"].as_str().expect("b64 is text"))),
            Some("gen") => Some(generated(&self.input)),
            Some("steps") => None,
            other => panic!("{}: unknown enc {other:?}", self.id),
        }
    }
}

/// Replaces each `{{NAME}}` by the real path; fails for an unknown name.
pub fn filled(text: &str, place: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or_else(|| panic!("{text:?} does not close"));
        out.push_str(before);
        out.push_str(&place(name).unwrap_or_else(|| panic!("the place {name:?} is unknown")));
        rest = after;
    }
    out + rest
}

/// Returns the bytes of `{"parts": [..]}` or of one part: `{"text": ..}`, `{"repeat": .., "n": ..}`.
pub fn generated(value: &Value) -> Vec<u8> {
    if let Some(parts) = value["parts"].as_array() {
        return parts.iter().flat_map(generated).collect();
    }
    match (value["text"].as_str(), value["repeat"].as_str(), value["n"].as_u64()) {
        (Some(text), None, None) => text.as_bytes().to_vec(),
        (None, Some(text), Some(count)) => text.repeat(count as usize).into_bytes(),
        _ => panic!("unknown part {value}"),
    }
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

#[cfg(test)]
mod tests;
