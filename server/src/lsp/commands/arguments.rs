//! The arguments of a command: one object, or plain strings.
//!
//! Some editors send nothing but strings, one for each word; they are joined.
//! Never guesses: an object with an unknown name is refused.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::agent::Result;
use crate::transport::ErrorBody;

/// The arguments of a command.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CommandArguments {
    Nothing,
    Text(String),
    Object(Map<String, Value>),
}

impl CommandArguments {
    /// Reads the arguments of a request; `null` means nothing.
    pub(super) fn of(arguments: Vec<Value>) -> Result<Self> {
        let mut words = Vec::new();
        let mut object = None;
        for argument in arguments {
            match argument {
                Value::Null => {}
                Value::String(word) => words.push(word),
                // Editors that read arguments as JSON make numbers of words that look like one.
                Value::Number(_) | Value::Bool(_) => words.push(argument.to_string()),
                Value::Object(map) if object.is_none() => object = Some(map),
                Value::Object(_) | Value::Array(_) => return Err(wrong()),
            }
        }
        match (words.join(" ").trim(), object) {
            ("", None) => Ok(CommandArguments::Nothing),
            ("", Some(map)) => Ok(CommandArguments::Object(map)),
            (text, None) => Ok(CommandArguments::Text(text.to_owned())),
            (_, Some(_)) => Err(wrong()),
        }
    }
}

fn wrong() -> ErrorBody {
    ErrorBody::invalid_params("a command accepts one object, or plain strings")
}

/// Reads arguments as the type of a command; plain strings are the value of `field`.
pub(super) fn read<T: DeserializeOwned>(given: CommandArguments, field: &str) -> Result<T> {
    let map = match given {
        CommandArguments::Nothing => Map::new(),
        CommandArguments::Text(text) => Map::from_iter([(field.to_owned(), Value::String(text))]),
        CommandArguments::Object(map) => map,
    };
    serde_json::from_value(Value::Object(map))
        .map_err(|why| ErrorBody::invalid_params(format!("the arguments cannot be read: {why}")))
}

#[cfg(test)]
mod tests {
    use adjutant_protocol::commands::CancelArguments;
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_joined_and_objects_stand_alone() {
        let of = |value: Value| CommandArguments::of(value.as_array().cloned().unwrap_or_default());
        assert_eq!(of(json!([])), Ok(CommandArguments::Nothing));
        assert_eq!(of(json!([null, " "])), Ok(CommandArguments::Nothing));
        assert_eq!(
            of(json!(["fix", "the", 3, true])),
            Ok(CommandArguments::Text("fix the 3 true".to_owned()))
        );
        assert!(matches!(of(json!([{ "a": 1 }])), Ok(CommandArguments::Object(_))));
        for wrong in [json!([{}, {}]), json!([[1]]), json!(["a", {}])] {
            assert!(of(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_by_name() {
        let map = Map::from_iter([("sesion".to_owned(), json!("s"))]);
        let error =
            read::<CancelArguments>(CommandArguments::Object(map), "runId").expect_err("it is unknown");
        assert!(error.message.contains("sesion"), "{error:?}");
        let read = read::<CancelArguments>(CommandArguments::Text("run-1".to_owned()), "runId");
        assert_eq!(read.map(|read| read.run_id), Ok(Some("run-1".into())));
    }
}
