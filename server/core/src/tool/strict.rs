//! From the text a model wrote to typed arguments, or to a sentence it can act on.
//!
//! Never guesses: what is not exactly as the schema says is refused, since two
//! readings of one call are how a check is passed by what is not run.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::{
    Arguments, MAX_ARGUMENTS, MAX_COMMAND, MAX_EDIT_ARGUMENTS, MAX_PATH, MAX_PATTERN, MAX_TIMEOUT_SECONDS,
    Mode, hidden, one_line, schema, shown,
};

/// The most lines of nothing between two lines of a command: more would push the
/// rest out of view when the command is shown.
const MAX_BLANK_LINES: usize = 8;
/// The most blanks in a row of a command, for the same reason.
const MAX_BLANKS: usize = 200;
/// The most bytes of a question, a summary or a reason.
const MAX_PROSE: usize = 64 * 1024;

/// Checks a call against the schema of its tool, or says what to do instead.
pub fn parse(name: &str, arguments: &str) -> Result<Arguments, String> {
    parse_for(Mode::Code, name, arguments)
}

/// Checks a call as [`parse`] does, with only the tools of a mode known.
pub fn parse_for(mode: Mode, name: &str, arguments: &str) -> Result<Arguments, String> {
    let Some(tool) = schema::names(mode).find(|known| *known == name) else {
        return Err(unknown_tool(mode, name));
    };
    let limit = match tool {
        "edit_file" | "write_file" => MAX_EDIT_ARGUMENTS,
        _ => MAX_ARGUMENTS,
    };
    if arguments.len() > limit {
        return Err(format!(
            "the arguments of {tool} have {} bytes and at most {limit} are taken; send less in one call",
            arguments.len()
        ));
    }
    let object: Object = serde_json::from_str(arguments).map_err(|error| {
        format!(
            "the arguments of {tool} are not one JSON object: {}; send {} and nothing around it",
            one_line(&error.to_string(), 200),
            form(tool)
        )
    })?;
    let mut fields = Fields { tool, fields: object.0 };
    fields.only_known()?;
    let parsed = typed(tool, &mut fields)?;
    Ok(parsed)
}

fn typed(tool: &str, fields: &mut Fields) -> Result<Arguments, String> {
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

fn edit(fields: &mut Fields) -> Result<Arguments, String> {
    let path = fields.path("path")?;
    let old_text = fields.text("old_text")?;
    let new_text = fields.text("new_text")?;
    let replace_all = fields.boolean("replace_all")?.unwrap_or(false);
    if old_text.is_empty() {
        return Err(
            "`old_text` of edit_file is empty; give the text to replace, or use write_file for a new file"
                .into(),
        );
    }
    if old_text == new_text {
        return Err("`old_text` and `new_text` of edit_file are equal, so nothing would change; give the changed text".into());
    }
    if old_text.replace('\r', "") == new_text.replace('\r', "") {
        return Err("`old_text` and `new_text` of edit_file differ only in line ends; a file keeps its line ends, so leave them as they are".into());
    }
    Ok(Arguments::EditFile { path, old_text, new_text, replace_all })
}

/// Refuses what cannot be shown to the user as it will run (A2).
fn command(command: String) -> Result<String, String> {
    if command.trim().is_empty() {
        return Err("`command` of run_command is empty; give a command line".into());
    }
    if let Some(c) = command.chars().find(|c| hidden(*c) && *c != '\n' && *c != '\t') {
        return Err(format!(
            "`command` of run_command holds the character {}, which cannot be shown to the user faithfully; write the command without control, bidirectional or invisible characters (printf can produce them)",
            shown(&c.to_string())
        ));
    }
    let mut blank_lines = 0;
    for line in command.trim().split('\n') {
        blank_lines = if line.trim().is_empty() { blank_lines + 1 } else { 0 };
        let longest = line.split(|c: char| !c.is_whitespace()).map(|run| run.chars().count()).max();
        if blank_lines > MAX_BLANK_LINES || longest.unwrap_or(0) > MAX_BLANKS {
            return Err("`command` of run_command holds a long stretch of white space that would push the rest out of the user's view; write it without".into());
        }
    }
    Ok(command)
}

fn unknown_tool(mode: Mode, name: &str) -> String {
    let known = nearest(name, schema::names(mode));
    let what = if schema::names(Mode::Code).any(|n| n == name) {
        format!("the tool `{name}` is not offered in this mode")
    } else {
        format!("there is no tool `{}`", one_line(name, 60))
    };
    format!("{what}; the tools are {}", known.join(", "))
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
    fn only_known(&self) -> Result<(), String> {
        let tool = self.tool;
        for (key, _) in &self.fields {
            if !schema::parameters(tool).any(|(name, _)| name == key) {
                let key = one_line(key, 60);
                return Err(format!("{tool} has no argument `{key}`; it takes {}", form(tool)));
            }
        }
        for (name, required) in schema::parameters(tool) {
            if required && !self.fields.iter().any(|(key, _)| key == name) {
                return Err(format!("{tool} needs the argument `{name}`; it takes {}", form(tool)));
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

    fn wrong(&self, key: &str, wanted: &str, found: &Value) -> String {
        let found = match found {
            Value::Null => "null".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            Value::String(text) => format!("the string \"{}\"", one_line(text, 40)),
            other => one_line(&other.to_string(), 40),
        };
        format!("`{key}` of {} must be {wanted}, and {found} was found", self.tool)
    }

    fn text(&mut self, key: &str) -> Result<String, String> {
        match self.take(key) {
            Value::String(text) => Ok(text),
            other => Err(self.wrong(key, "a string", &other)),
        }
    }

    fn bounded(&mut self, key: &str, limit: usize) -> Result<String, String> {
        let text = self.text(key)?;
        if text.is_empty() {
            return Err(format!("`{key}` of {} is empty", self.tool));
        }
        if text.len() > limit {
            return Err(format!(
                "`{key}` of {} has {} bytes and at most {limit} are taken; make it shorter",
                self.tool,
                text.len()
            ));
        }
        Ok(text)
    }

    fn path(&mut self, key: &str) -> Result<String, String> {
        let path = self.bounded(key, MAX_PATH)?;
        match path.chars().find(|c| c.is_control()) {
            Some(c) => Err(format!(
                "`{key}` of {} holds the control character {}; give the path without it",
                self.tool,
                c.escape_default()
            )),
            None => Ok(path),
        }
    }

    fn integer(&mut self, key: &str, least: u64, most: u64) -> Result<Option<u64>, String> {
        let value = self.take(key);
        if value.is_null() {
            return Ok(None);
        }
        match value.as_u64() {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(self.wrong(key, &format!("a whole number from {least} to {most}"), &value)),
        }
    }

    fn boolean(&mut self, key: &str) -> Result<Option<bool>, String> {
        match self.take(key) {
            Value::Null => Ok(None),
            Value::Bool(value) => Ok(Some(value)),
            other => Err(self.wrong(key, "true or false", &other)),
        }
    }

    fn options(&mut self) -> Result<Vec<String>, String> {
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

/// A JSON object as it was written: a key that comes twice is an error, because
/// parsers disagree on which one counts.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut fields: Vec<(String, Value)> = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    if fields.iter().any(|(name, _)| *name == key) {
                        let key = one_line(&key, 60);
                        return Err(serde::de::Error::custom(format!("the key `{key}` comes twice")));
                    }
                    // No tool has more than four arguments; a flood of keys stops here.
                    if fields.len() == 16 {
                        return Err(serde::de::Error::custom("it has more than 16 keys"));
                    }
                    fields.push((key, map.next_value()?));
                }
                Ok(Object(fields))
            }
        }
        // `deserialize_any` so that an array is refused too, not read as a struct.
        deserializer.deserialize_any(Keys)
    }
}
