//! The arguments of one call that passed every check of its tool.

use serde_json::Value;

/// Arguments by their names; what was left out is not there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(Vec<(String, Value)>);

impl Arguments {
    pub(super) fn new(values: Vec<(String, Value)>) -> Self {
        Self(values)
    }

    /// Arguments that are texts, for a title or a test.
    pub fn of_texts(texts: &[(&str, &str)]) -> Self {
        Self(texts.iter().map(|(name, text)| ((*name).to_owned(), Value::from(*text))).collect())
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns a text that has to be given; an empty one where the tool takes no such argument.
    pub fn text(&self, name: &str) -> &str {
        self.optional(name).unwrap_or_default()
    }

    /// Returns a text, if it was given.
    pub fn optional(&self, name: &str) -> Option<&str> {
        self.value(name).and_then(Value::as_str)
    }

    /// Returns a number, if it was given.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.value(name).and_then(Value::as_u64)
    }

    /// Says whether a flag was given and is true.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns a list of texts; empty where none was given.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.value(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns everything as one JSON object.
    pub fn to_json(&self) -> Value {
        Value::Object(self.0.iter().cloned().collect())
    }
}
