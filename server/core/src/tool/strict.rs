//! Parses the arguments that a model wrote, or returns a sentence that says how to correct them.
//!
//! Never guesses: arguments that do not match the schema exactly are refused. If one call had two
//! readings, a check could pass one of them while the other one runs.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::{ArgumentType, Arguments, MAX_PATH, Parameter, Tool};
use crate::policy::cause::{Cause, Reason};
use crate::record::StepStatus;
use crate::record::plan::{MAX_STEP, MAX_STEPS};
use crate::text::display::one_line;

/// Returns the checked arguments of a call, or a reason that says what the model should do instead.
pub fn parse(tool: &Tool, arguments: &str) -> Result<Arguments, Reason> {
    let (name, limit) = (&tool.name, tool.most_bytes);
    if arguments.len() > limit {
        let text = format!(
            "the arguments of {name} have {} bytes and at most {limit} are taken; send less in one call",
            arguments.len()
        );
        return Err(Reason::new(Cause::TooLong, text));
    }
    let no_object = |cause: Cause, why: &str| {
        let (why, form) = (one_line(why, 200), form(tool));
        let text = format!(
            "the arguments of {name} are not one JSON object: {why}; send {form} and nothing around it"
        );
        Reason::new(cause, text)
    };
    let object: Object = serde_json::from_str(arguments).map_err(|error| {
        let cause = if error.is_data() { Cause::NotAnObject } else { Cause::NotJson };
        no_object(cause, &error.to_string())
    })?;
    if let Some((cause, why)) = object.flaw {
        return Err(no_object(cause, &why));
    }
    let mut fields = object.fields;
    only_known(tool, &fields)?;
    // Models also write an absent argument as null.
    fields.retain(|(key, value)| !value.is_null() || is_required(tool, key));
    for parameter in tool.parameters.iter() {
        let value = fields.iter().find(|(key, _)| *key == parameter.name).map(|(_, value)| value);
        value.map_or(Ok(()), |value| fits(name, parameter, value))?;
    }
    // The order of the schema, not of the model.
    fields.sort_by_key(|(key, _)| tool.parameters.iter().position(|parameter| parameter.name == *key));
    let given = Arguments::new(fields);
    (tool.check)(&given)?;
    Ok(given)
}

/// Returns the arguments of a call by name, unchecked and in the order of the model; `None` if they are not one JSON object.
pub fn fields_of(arguments: &str) -> Option<Vec<(String, Value)>> {
    serde_json::from_str::<Object>(arguments)
        .ok()
        .filter(|object| object.flaw.is_none())
        .map(|object| object.fields)
}

/// Returns why a mode does not offer a tool. `is_hidden` is true if another mode offers it.
pub fn unknown<'a>(is_hidden: bool, name: &str, known: impl Iterator<Item = &'a str>) -> Reason {
    let known = nearest(name, known);
    let (cause, what) = if is_hidden {
        (Cause::HiddenTool, format!("the tool `{name}` is not offered in this mode"))
    } else {
        (Cause::UnknownTool, format!("there is no tool `{}`", one_line(name, 60)))
    };
    Reason::new(cause, format!("{what}; the tools are {}", known.join(", ")))
}

/// Returns the candidates, the most similar to `wanted` first.
pub fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    nearest_with_distance(wanted, candidates).into_iter().map(|(_, c)| c).collect()
}

/// Returns the candidates with their edit distance to `wanted`, the most similar first.
pub(crate) fn nearest_with_distance<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Vec<(usize, &'a str)> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().take(128).collect();
    let mut ranked: Vec<(usize, &str)> = candidates.map(|c| (distance(&wanted, c), c)).collect();
    ranked.sort_by_key(|(distance, _)| *distance);
    ranked
}

/// Returns the edit distance of two texts, over the first 128 characters. `left` is in lower case.
fn distance(left: &[char], right: &str) -> usize {
    let right: Vec<char> = right.to_lowercase().chars().take(128).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (r, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(l != r);
            diagonal = *cell;
            before = replaced.min(*cell + 1).min(before + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Returns the form of a call's arguments for error texts: `{"path", "offset"?}`.
fn form(tool: &Tool) -> String {
    let keys: Vec<String> = tool
        .parameters
        .iter()
        .map(|parameter| format!("\"{}\"{}", parameter.name, if parameter.required { "" } else { "?" }))
        .collect();
    format!("{{{}}}", keys.join(", "))
}

fn is_required(tool: &Tool, key: &str) -> bool {
    tool.parameters.iter().any(|parameter| parameter.name == key && parameter.required)
}

fn only_known(tool: &Tool, fields: &[(String, Value)]) -> Result<(), Reason> {
    let name = &tool.name;
    for (key, _) in fields {
        if !tool.parameters.iter().any(|parameter| parameter.name == *key) {
            let key = one_line(key, 60);
            let text = format!("{name} has no argument `{key}`; it takes {}", form(tool));
            return Err(Reason::new(Cause::UnknownArgument, text));
        }
    }
    for parameter in tool.parameters.iter().filter(|parameter| parameter.required) {
        if !fields.iter().any(|(key, _)| *key == parameter.name) {
            let text = format!("{name} needs the argument `{}`; it takes {}", parameter.name, form(tool));
            return Err(Reason::new(Cause::MissingArgument, text));
        }
    }
    Ok(())
}

/// Checks that a value matches the type and the bounds of its parameter.
fn fits(tool: &str, parameter: &Parameter, value: &Value) -> Result<(), Reason> {
    let key = &parameter.name;
    let wrong = |wanted: &str, found: &Value| Err(wrong(tool, key, wanted, found));
    match (parameter.kind, value) {
        (ArgumentType::Text, Value::String(_)) | (ArgumentType::Flag, Value::Bool(_)) => Ok(()),
        (ArgumentType::Path, Value::String(text)) => {
            bounded(tool, key, text, MAX_PATH)?;
            match text.chars().find(|c| c.is_control()) {
                Some(c) => {
                    let c = c.escape_default();
                    let text = format!(
                        "`{key}` of {tool} holds the control character {c}; give the path without it"
                    );
                    Err(Reason::new(Cause::WrongArgument, text))
                }
                None => Ok(()),
            }
        }
        (ArgumentType::Bounded(most), Value::String(text)) => bounded(tool, key, text, most),
        (ArgumentType::Number(least, most), value) => match value.as_u64() {
            Some(number) if (least..=most).contains(&number) => Ok(()),
            _ => wrong(&format!("a whole number from {least} to {most}"), value),
        },
        (ArgumentType::Texts, value) => {
            const WANTED: &str = "an array of up to 10 strings of 1 to 1000 bytes";
            let Some(items) = value.as_array().filter(|items| items.len() <= 10) else {
                return wrong(WANTED, value);
            };
            let is_text = |item: &Value| item.as_str().is_some_and(|text| (1..=1000).contains(&text.len()));
            items.iter().find(|item| !is_text(item)).map_or(Ok(()), |item| wrong(WANTED, item))
        }
        (ArgumentType::Steps, value) => {
            let wanted = || {
                format!(
                    "an array of up to {MAX_STEPS} objects {{\"step\", \"status\"}}, where step has 1 to {MAX_STEP} bytes and \
                     status is pending, in_progress or completed"
                )
            };
            let Some(items) = value.as_array().filter(|items| items.len() <= MAX_STEPS) else {
                return wrong(&wanted(), value);
            };
            items.iter().find(|item| !is_step(item)).map_or(Ok(()), |item| wrong(&wanted(), item))
        }
        (ArgumentType::Path | ArgumentType::Text | ArgumentType::Bounded(_), other) => {
            wrong("a string", other)
        }
        (ArgumentType::Flag, other) => wrong("true or false", other),
    }
}

fn is_step(item: &Value) -> bool {
    let Some(fields) = item.as_object().filter(|fields| fields.len() == 2) else { return false };
    let text = |name| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    (1..=MAX_STEP).contains(&text("step").len()) && StepStatus::of(text("status")).is_some()
}

fn bounded(tool: &str, key: &str, text: &str, limit: usize) -> Result<(), Reason> {
    let bytes = text.len();
    if text.is_empty() {
        return Err(Reason::new(Cause::WrongArgument, format!("`{key}` of {tool} is empty")));
    }
    if bytes > limit {
        let text =
            format!("`{key}` of {tool} has {bytes} bytes and at most {limit} are taken; make it shorter");
        return Err(Reason::new(Cause::TooLong, text));
    }
    Ok(())
}

fn wrong(tool: &str, key: &str, wanted: &str, found: &Value) -> Reason {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("the string \"{}\"", one_line(text, 40)),
        other => one_line(&other.to_string(), 40),
    };
    let text = format!("`{key}` of {tool} must be {wanted}, and {found} was found");
    Reason::new(Cause::WrongArgument, text)
}

/// A JSON object in its written order. A repeated key is a flaw, because parsers
/// disagree about its value.
#[derive(Default)]
struct Object {
    fields: Vec<(String, Value)>,
    /// The first reason why it cannot be the arguments of a call.
    flaw: Option<(Cause, String)>,
}

/// The most keys that are kept. No tool has more than four arguments.
const MAX_KEYS: usize = 16;

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut object = Object::default();
                while let Some(key) = map.next_key::<String>()? {
                    if object.flaw.is_some() {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    if object.fields.iter().any(|(name, _)| *name == key) {
                        let why = format!("the key `{}` comes twice", one_line(&key, 60));
                        object.flaw = Some((Cause::RepeatedArgument, why));
                    } else if object.fields.len() == MAX_KEYS {
                        let why = format!("it has more than {MAX_KEYS} keys");
                        object.flaw = Some((Cause::UnknownArgument, why));
                    }
                    object.fields.push((key, map.next_value()?));
                }
                Ok(object)
            }
        }
        // `deserialize_any` also refuses an array, which could be read as a struct.
        deserializer.deserialize_any(Keys)
    }
}
