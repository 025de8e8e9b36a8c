//! The arguments of one call, after its tool has checked them. Never has an unchecked value of a model.

use serde::Deserialize;
use serde_json::Value;

use crate::record::PlanStep;

/// Arguments by name. Optional arguments may be absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(Vec<(String, Value)>);

impl Arguments {
    pub(super) fn new(values: Vec<(String, Value)>) -> Self {
        Self(values)
    }

    /// Returns arguments of texts alone, for a title or a test.
    pub fn of_texts(texts: &[(&str, &str)]) -> Self {
        Self(texts.iter().map(|(name, text)| ((*name).to_owned(), Value::from(*text))).collect())
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns a required text; empty if it is absent.
    pub fn text(&self, name: &str) -> &str {
        self.optional(name).unwrap_or_default()
    }

    /// Returns a text, if present.
    pub fn optional(&self, name: &str) -> Option<&str> {
        self.value(name).and_then(Value::as_str)
    }

    /// Returns a number, if present.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.value(name).and_then(Value::as_u64)
    }

    /// Whether a flag is present and true.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns a list of texts; empty if absent.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.value(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns the steps of a plan; empty if absent.
    pub fn steps(&self, name: &str) -> Vec<PlanStep> {
        let items = self.value(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(|item| PlanStep::deserialize(item).ok()).collect()
    }

    /// Returns all arguments as one JSON object.
    pub fn to_json(&self) -> Value {
        Value::Object(self.0.iter().cloned().collect())
    }
}
