//! The kept corpus: one file for each target, one line for each input, with a name.
//!
//! An input is text if it is UTF-8, and hexadecimal digits otherwise. Never knows a target.

use std::path::Path;

use serde_json::Value;

/// An input and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub name: String,
    pub input: Vec<u8>,
}

/// Returns the corpus of one target, in its order.
///
/// # Errors
/// Names the line that cannot be read.
pub fn read(corpus: &Path) -> Result<Vec<Kept>, String> {
    let text = std::fs::read_to_string(corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
    let line = |(at, line)| kept(line).ok_or_else(|| format!("{}:{}: no input", corpus.display(), at + 1));
    text.lines().enumerate().map(line).collect()
}

fn kept(line: &str) -> Option<Kept> {
    let line: Value = serde_json::from_str(line).ok()?;
    let name = line["name"].as_str()?.to_owned();
    let input = match line["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => bytes(line["hex"].as_str()?)?,
    };
    Some(Kept { name, input })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

/// Returns the line of an input; JSON escapes a line feed in it as `\n`.
pub fn line(kept: &Kept) -> String {
    let (kind, input) = match std::str::from_utf8(&kept.input) {
        Ok(text) => ("text", text.to_owned()),
        Err(_) => ("hex", hex(&kept.input)),
    };
    format!("{{\"name\":{},\"{kind}\":{}}}\n", Value::from(&*kept.name), Value::from(input))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
