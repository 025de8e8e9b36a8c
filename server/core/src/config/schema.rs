//! The table of keys as a JSON Schema, for editors that complete and check settings while they are written.
//!
//! Never has a key that an editor may not set, and never a value of the user.

use serde_json::{Map, Value, json};

use super::KEYS;
use super::keys::{Key, Literal, ValueType};

/// Returns the JSON Schema (draft 7) of an editor's section `adjutant`. The description of a key is Markdown.
pub fn editor_schema() -> Value {
    let mut whole = group();
    for key in KEYS.iter().filter(|key| is_useful(key)) {
        put(&mut whole, key.name, leaf(key));
    }
    whole["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    whole["title"] = "Adjutant".into();
    whole
}

/// Whether an editor may set a key, and it changes something there: nothing runs unattended in an editor.
fn is_useful(key: &Key) -> bool {
    key.kind.is_for_editors() && !key.name.starts_with("unattended.")
}

fn group() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// Puts the schema of a key at its dotted path. `NAME` stands for every property.
fn put(within: &mut Value, path: &str, leaf: Value) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let place = match first {
        "NAME" => &mut within["additionalProperties"],
        name => &mut within["properties"][name],
    };
    match rest {
        None => *place = leaf,
        Some(rest) => {
            if !place.is_object() {
                *place = group();
            }
            put(place, rest, leaf);
        }
    }
}

fn leaf(key: &Key) -> Value {
    let mut leaf = type_of(key.kind);
    leaf.insert("description".to_owned(), without_links(key.meaning).into());
    let default = match key.default {
        Literal::Text(text) => text.into(),
        Literal::Truth(truth) => truth.into(),
        Literal::Whole(number) => number.into(),
        Literal::None | Literal::DenyAll | Literal::Refuse | Literal::Nothing => Value::Null,
    };
    if !default.is_null() {
        leaf.insert("default".to_owned(), default);
    }
    Value::Object(leaf)
}

fn type_of(kind: ValueType) -> Map<String, Value> {
    let model = || json!({ "type": "string", "pattern": "^[^/]+/.+$" });
    let schema = match kind {
        ValueType::Model => model(),
        ValueType::Models => json!({ "type": "array", "items": model() }),
        ValueType::Url => json!({ "type": "string", "pattern": "^https?://" }),
        ValueType::Headers => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        ValueType::Rules | ValueType::Command | ValueType::Names => {
            json!({ "type": "array", "items": { "type": "string" } })
        }
        ValueType::Truth => json!({ "type": "boolean" }),
        ValueType::Whole { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        ValueType::Amount { max } => json!({ "type": "number", "minimum": 0, "maximum": max }),
        ValueType::Level
        | ValueType::Wire
        | ValueType::EditTool
        | ValueType::Popup
        | ValueType::Edits
        | ValueType::Saves
        | ValueType::Detail => {
            json!({ "type": "string", "enum": kind.choices() })
        }
        ValueType::Currency => json!({ "type": "string", "pattern": "^[A-Za-z]{1,8}$" }),
        ValueType::Variable
        | ValueType::Script
        | ValueType::KeyFile
        | ValueType::CaFile
        | ValueType::Proxy
        | ValueType::Hosts => json!({ "type": "string" }),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// A link of the configuration page leads nowhere in an editor; its words stay.
fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, words, after)) = next_link(rest) {
        text.push_str(before);
        text.push_str(words);
        rest = after;
    }
    text + rest
}

/// Returns the text before the next `[words](target)`, its words, and the text after it.
fn next_link(text: &str) -> Option<(&str, &str, &str)> {
    let (head, tail) = text.split_once("](")?;
    let (before, words) = head.rsplit_once('[')?;
    let (_, after) = tail.split_once(')')?;
    Some((before, words, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a path through the properties; `NAME` is any property.
    fn at<'a>(schema: &'a Value, path: &str) -> &'a Value {
        path.split('.').fold(schema, |schema, name| match name {
            "NAME" => &schema["additionalProperties"],
            name => &schema["properties"][name],
        })
    }

    #[test]
    fn p26_every_key_that_an_editor_may_set_is_in_the_schema_and_no_other() {
        let schema = editor_schema();
        for key in KEYS {
            let found = at(&schema, key.name);
            assert_eq!(found.is_object(), is_useful(key), "{}", key.name);
        }
        assert!(at(&schema, "unattended").is_null());
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(at(&schema, "limits")["additionalProperties"], false);
        assert_eq!(at(&schema, "providers")["properties"], json!({}));
        assert!(
            at(&schema, "providers.NAME.api_key_command").is_null(),
            "only the user's own file may set it"
        );
        assert!(at(&schema, "providers.NAME.api_key_env").is_null(), "an editor names no variable");
    }

    #[test]
    fn p26_the_schema_says_types_bounds_choices_and_defaults() {
        let schema = editor_schema();
        let limit = at(&schema, "limits.idle_seconds");
        assert_eq!((&limit["type"], &limit["minimum"]), (&json!("integer"), &json!(1)));
        assert!(limit["default"].is_u64(), "{limit}");
        let mode = at(&schema, "edits.mode");
        assert_eq!(mode["enum"], json!(["ask", "review", "auto"]));
        assert_eq!(at(&schema, "model")["default"], Value::Null, "what is not set has no default");
        assert_eq!(at(&schema, "providers.NAME.wire")["enum"].as_array().map(Vec::len), Some(4));
        let script = at(&schema, "providers.NAME.script")["description"].as_str().unwrap_or_default();
        assert!(script.contains("of a scripted model;") && !script.contains(']'), "{script}");
    }
}
