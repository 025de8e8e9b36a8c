//! From the text a model wrote to typed arguments, or to a sentence it can act on.
//!
//! Never guesses: what is not exactly as the schema says is refused, since two
//! readings of one call are how a check is passed by what is not run.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::cause::{Cause, Reason};
use crate::display::{hidden, one_line, shown};

use super::{
    Arguments, MAX_ARGUMENTS, MAX_COMMAND, MAX_EDIT_ARGUMENTS, MAX_PATH, MAX_PATTERN, MAX_TIMEOUT_SECONDS,
    Mode, schema,
};

/// The most lines of nothing between two lines of a command: more would push the
/// rest out of view when the command is shown.
const MAX_BLANK_LINES: usize = 8;
/// The most blanks in a row of a command, for the same reason.
const MAX_BLANKS: usize = 200;
/// The most bytes of a question, a summary or a reason.
const MAX_PROSE: usize = 64 * 1024;

/// Checks a call against the schema of its tool, or says what to do instead.
pub fn parse(name: &str, arguments: &str) -> Result<Arguments, Reason> {
    parse_for(Mode::Code, name, arguments)
}

/// Checks a call as [`parse`] does, with only the tools of a mode known.
pub fn parse_for(mode: Mode, name: &str, arguments: &str) -> Result<Arguments, Reason> {
    let Some(tool) = schema::names(mode).find(|known| *known == name) else {
        return Err(unknown_tool(mode, name));
    };
    let limit = match tool {
        "edit_file" | "write_file" => MAX_EDIT_ARGUMENTS,
        _ => MAX_ARGUMENTS,
    };
    if arguments.len() > limit {
        let text = format!(
            "the arguments of {tool} have {} bytes and at most {limit} are taken; send less in one call",
            arguments.len()
        );
        return Err(Reason::new(Cause::TooLong, text));
    }
    let no_object = |cause: Cause, why: &str| {
        let (why, form) = (one_line(why, 200), form(tool));
        let text = format!(
            "the arguments of {tool} are not one JSON object: {why}; send {form} and nothing around it"
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
    let mut fields = Fields { tool, fields: object.fields };
    fields.only_known()?;
    let parsed = typed(tool, &mut fields)?;
    Ok(parsed)
}

fn typed(tool: &str, fields: &mut Fields) -> Result<Arguments, Reason> {
    Ok(match tool {
        "list_files" => Arguments::ListFiles { path: fields.path("path")? },
        "read_file" => Arguments::ReadFile {
            path: fields.path("path")?,
            offset: fields.integer("offset", 1, u32::MAX as u64)?.map(|n| n as usize),
            limit: fields.integer("limit", 1, u32::MAX as u64)?.map(|n| n as usize),
        },
        "find_files" => Arguments::FindFiles { pattern: fields.bounded("pattern", MAX_PATTERN)? },
        "search_text" => Arguments::SearchText {
            pattern: fields.bounded("pattern", MAX_PATTERN)?,
            path: fields.has("path").then(|| fields.path("path")).transpose()?,
            glob: fields.has("glob").then(|| fields.bounded("glob", MAX_PATTERN)).transpose()?,
        },
        "edit_file" => edit(fields)?,
        "write_file" => Arguments::WriteFile { path: fields.path("path")?, content: fields.text("content")? },
        "run_command" => Arguments::RunCommand {
            command: command(fields.bounded("command", MAX_COMMAND)?)?,
            cwd: fields.has("cwd").then(|| fields.path("cwd")).transpose()?,
            timeout_seconds: fields.integer("timeout_seconds", 1, MAX_TIMEOUT_SECONDS)?,
        },
        "ask_user" => Arguments::AskUser {
            question: fields.bounded("question", MAX_PROSE)?,
            options: fields.options()?,
        },
        "task_complete" => Arguments::TaskComplete { summary: fields.bounded("summary", MAX_PROSE)? },
        _ => Arguments::Fail { reason: fields.bounded("reason", MAX_PROSE)? },
    })
}

fn edit(fields: &mut Fields) -> Result<Arguments, Reason> {
    let path = fields.path("path")?;
    let old_text = fields.text("old_text")?;
    let new_text = fields.text("new_text")?;
    let replace_all = fields.boolean("replace_all")?.unwrap_or(false);
    if old_text.is_empty() {
        return Err(Reason::new(
            Cause::WrongArgument,
            "`old_text` of edit_file is empty; give the text to replace, or use write_file for a new file",
        ));
    }
    if old_text == new_text {
        return Err(Reason::new(
            Cause::NothingToChange,
            "`old_text` and `new_text` of edit_file are equal, so nothing would change; give the changed text",
        ));
    }
    if old_text.replace('\r', "") == new_text.replace('\r', "") {
        return Err(Reason::new(
            Cause::LineEnds,
            "`old_text` and `new_text` of edit_file differ only in line ends; a file keeps its line ends, so leave them as they are",
        ));
    }
    Ok(Arguments::EditFile { path, old_text, new_text, replace_all })
}

/// Refuses what cannot be shown to the user as it will run.
fn command(command: String) -> Result<String, Reason> {
    if command.trim().is_empty() {
        return Err(Reason::new(
            Cause::WrongArgument,
            "`command` of run_command is empty; give a command line",
        ));
    }
    if let Some(c) = command.chars().find(|c| hidden(*c) && *c != '\n' && *c != '\t') {
        let text = format!(
            "`command` of run_command holds the character {}, which cannot be shown to the user faithfully; write the command without control, bidirectional or invisible characters (printf can produce them)",
            shown(&c.to_string())
        );
        return Err(Reason::new(Cause::NotShowable, text));
    }
    let mut blank_lines = 0;
    for line in command.trim().split('\n') {
        blank_lines = if line.trim().is_empty() { blank_lines + 1 } else { 0 };
        let longest = line.split(|c: char| !c.is_whitespace()).map(|run| run.chars().count()).max();
        if blank_lines > MAX_BLANK_LINES || longest.unwrap_or(0) > MAX_BLANKS {
            return Err(Reason::new(
                Cause::NotShowable,
                "`command` of run_command holds a long stretch of white space that would push the rest out of the user's view; write it without",
            ));
        }
    }
    Ok(command)
}

fn unknown_tool(mode: Mode, name: &str) -> Reason {
    let known = nearest(name, schema::names(mode));
    let (cause, what) = if schema::names(Mode::Code).any(|n| n == name) {
        (Cause::HiddenTool, format!("the tool `{name}` is not offered in this mode"))
    } else {
        (Cause::UnknownTool, format!("there is no tool `{}`", one_line(name, 60)))
    };
    Reason::new(cause, format!("{what}; the tools are {}", known.join(", ")))
}

/// Returns the candidates, the most alike to `wanted` first.
pub fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    nearest_with_distance(wanted, candidates).into_iter().map(|(_, c)| c).collect()
}

/// Returns the candidates with the number of changes that lead to them, the most alike first.
pub(crate) fn nearest_with_distance<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Vec<(usize, &'a str)> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().take(128).collect();
    let mut ranked: Vec<(usize, &str)> = candidates.map(|c| (distance(&wanted, c), c)).collect();
    ranked.sort_by_key(|(distance, _)| *distance);
    ranked
}

/// The number of single-character changes between two texts, over the first 128 characters.
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

/// The form of a call's arguments, for error texts: `{"path", "offset"?}`.
fn form(tool: &str) -> String {
    let keys: Vec<String> = schema::parameters(tool)
        .map(|(name, required)| format!("\"{name}\"{}", if required { "" } else { "?" }))
        .collect();
    format!("{{{}}}", keys.join(", "))
}

/// The fields of one call, taken out as they are checked.
struct Fields {
    tool: &'static str,
    fields: Vec<(String, Value)>,
}

impl Fields {
    fn only_known(&self) -> Result<(), Reason> {
        let tool = self.tool;
        for (key, _) in &self.fields {
            if !schema::parameters(tool).any(|(name, _)| name == key) {
                let key = one_line(key, 60);
                let text = format!("{tool} has no argument `{key}`; it takes {}", form(tool));
                return Err(Reason::new(Cause::UnknownArgument, text));
            }
        }
        for (name, required) in schema::parameters(tool) {
            if required && !self.fields.iter().any(|(key, _)| key == name) {
                let text = format!("{tool} needs the argument `{name}`; it takes {}", form(tool));
                return Err(Reason::new(Cause::MissingArgument, text));
            }
        }
        Ok(())
    }

    /// Whether an optional field is there; models also write an absent one as null.
    fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|(name, value)| name == key && !value.is_null())
    }

    fn take(&mut self, key: &str) -> Value {
        let found = self.fields.iter_mut().find(|(name, _)| name == key);
        found.map(|(_, value)| value.take()).unwrap_or(Value::Null)
    }

    fn wrong(&self, key: &str, wanted: &str, found: &Value) -> Reason {
        let found = match found {
            Value::Null => "null".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            Value::String(text) => format!("the string \"{}\"", one_line(text, 40)),
            other => one_line(&other.to_string(), 40),
        };
        let text = format!("`{key}` of {} must be {wanted}, and {found} was found", self.tool);
        Reason::new(Cause::WrongArgument, text)
    }

    fn text(&mut self, key: &str) -> Result<String, Reason> {
        match self.take(key) {
            Value::String(text) => Ok(text),
            other => Err(self.wrong(key, "a string", &other)),
        }
    }

    fn bounded(&mut self, key: &str, limit: usize) -> Result<String, Reason> {
        let text = self.text(key)?;
        if text.is_empty() {
            return Err(Reason::new(Cause::WrongArgument, format!("`{key}` of {} is empty", self.tool)));
        }
        if text.len() > limit {
            let (tool, bytes) = (self.tool, text.len());
            let text =
                format!("`{key}` of {tool} has {bytes} bytes and at most {limit} are taken; make it shorter");
            return Err(Reason::new(Cause::TooLong, text));
        }
        Ok(text)
    }

    fn path(&mut self, key: &str) -> Result<String, Reason> {
        let path = self.bounded(key, MAX_PATH)?;
        match path.chars().find(|c| c.is_control()) {
            Some(c) => {
                let (tool, c) = (self.tool, c.escape_default());
                let text =
                    format!("`{key}` of {tool} holds the control character {c}; give the path without it");
                Err(Reason::new(Cause::WrongArgument, text))
            }
            None => Ok(path),
        }
    }

    fn integer(&mut self, key: &str, least: u64, most: u64) -> Result<Option<u64>, Reason> {
        let value = self.take(key);
        if value.is_null() {
            return Ok(None);
        }
        match value.as_u64() {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(self.wrong(key, &format!("a whole number from {least} to {most}"), &value)),
        }
    }

    fn boolean(&mut self, key: &str) -> Result<Option<bool>, Reason> {
        match self.take(key) {
            Value::Null => Ok(None),
            Value::Bool(value) => Ok(Some(value)),
            other => Err(self.wrong(key, "true or false", &other)),
        }
    }

    fn options(&mut self) -> Result<Vec<String>, Reason> {
        const WANTED: &str = "an array of up to 10 strings of 1 to 1000 bytes";
        let items = match self.take("options") {
            Value::Null => return Ok(Vec::new()),
            Value::Array(items) if items.len() <= 10 => items,
            other => return Err(self.wrong("options", WANTED, &other)),
        };
        items
            .into_iter()
            .map(|item| match item {
                Value::String(text) if (1..=1000).contains(&text.len()) => Ok(text),
                other => Err(self.wrong("options", WANTED, &other)),
            })
            .collect()
    }
}

/// A JSON object as it was written: a key that comes twice is a flaw, because
/// parsers disagree on which one counts.
#[derive(Default)]
struct Object {
    fields: Vec<(String, Value)>,
    /// The first thing wrong with it as an object of arguments.
    flaw: Option<(Cause, String)>,
}

/// No tool has more than four arguments; a flood of keys is not kept.
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
        // `deserialize_any` so that an array is refused too, not read as a struct.
        deserializer.deserialize_any(Keys)
    }
}
