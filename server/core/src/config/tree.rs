//! Parses TOML text and JSON values into one tree with line numbers.
//!
//! Never checks a value, and never repeats file content in an error: a line that
//! does not parse may contain a secret.

use toml::de::{DeTable, DeValue};

/// A value as written, with its one-based line; no line for JSON.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: Option<u32>,
    pub(super) raw: Raw,
}

/// A value by its type.
#[derive(Debug)]
pub(super) enum Raw {
    Text(String),
    Whole(i64),
    Fraction(f64),
    Truth(bool),
    List(Vec<Node>),
    Table(Entries),
    /// A type that no key has, by its name for the error text.
    Other(&'static str),
}

/// The entries of a table.
pub(super) type Entries = Vec<(String, Node)>;

/// The part of a text that could be parsed, and the errors with their lines.
pub(super) struct ParsedText {
    pub(super) entries: Entries,
    pub(super) faults: Vec<(Option<u32>, String)>,
}

/// The most errors of one text that are reported.
const MOST_FAULTS: usize = 10;
/// The most characters of one error.
const MAX_MESSAGE: usize = 200;

impl Raw {
    /// Returns the name of the type, for an error text.
    pub(super) fn shape(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Whole(_) => "a whole number",
            Self::Fraction(_) => "a number with a fraction",
            Self::Truth(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(what) => what,
        }
    }
}

/// Parses TOML. Returns the valid parts even if other parts are invalid.
pub(super) fn from_toml(text: &str) -> ParsedText {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = LineStarts::new(text);
    let (root, errors) = DeTable::parse_recoverable(text);
    let faults = errors
        .iter()
        .take(MOST_FAULTS)
        .map(|e| {
            (
                e.span().map(|span| lines.at(span.start)),
                crate::text::display::one_line(e.message(), MAX_MESSAGE),
            )
        })
        .collect();
    ParsedText { entries: toml_entries(root.get_ref(), &lines), faults }
}

fn toml_entries(table: &DeTable<'_>, lines: &LineStarts) -> Entries {
    let mut entries: Entries = table
        .iter()
        .map(|(key, value)| {
            let line = Some(lines.at(key.span().start));
            (key.get_ref().to_string(), Node { line, raw: toml_raw(value.get_ref(), lines) })
        })
        .collect();
    // The parser sorts by name, but problems are reported by line.
    entries.sort_by_key(|(_, node)| node.line);
    entries
}

fn toml_raw(value: &DeValue<'_>, lines: &LineStarts) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Boolean(truth) => Raw::Truth(*truth),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Raw::Whole(number),
            Err(_) => Raw::Other("a number that is too large"),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Raw::Fraction(number),
            Err(_) => Raw::Other("a number with a fraction"),
        },
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(table) => Raw::Table(toml_entries(table, lines)),
        DeValue::Array(items) => Raw::List(
            items
                .iter()
                .map(|item| Node {
                    line: Some(lines.at(item.span().start)),
                    raw: toml_raw(item.get_ref(), lines),
                })
                .collect(),
        ),
    }
}

/// Converts a JSON object; `None` for any other value. `null` means "not set": editors send it for unset keys.
pub(super) fn from_json(value: &serde_json::Value) -> Option<Entries> {
    match json_raw(value) {
        Raw::Table(entries) => Some(entries),
        _ => None,
    }
}

fn json_raw(value: &serde_json::Value) -> Raw {
    use serde_json::Value;
    match value {
        Value::Null => Raw::Other("null"),
        Value::Bool(truth) => Raw::Truth(*truth),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Raw::Whole(number),
            (None, Some(fraction)) if number.is_f64() => Raw::Fraction(fraction),
            _ => Raw::Other("a number that is too large"),
        },
        Value::String(text) => Raw::Text(text.clone()),
        Value::Array(items) => {
            Raw::List(items.iter().map(|item| Node { line: None, raw: json_raw(item) }).collect())
        }
        Value::Object(entries) => Raw::Table(
            entries
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), Node { line: None, raw: json_raw(value) }))
                .collect(),
        ),
    }
}

/// Where each line of a text begins.
struct LineStarts {
    starts: Vec<usize>,
}

impl LineStarts {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Returns the one-based line of a byte offset.
    fn at(&self, offset: usize) -> u32 {
        let line = self.starts.partition_point(|start| *start <= offset);
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}
