//! What a model is told of each tool: name, one description, JSON Schema.
//!
//! Never depends on the session: the order and the text are frozen, so that
//! providers can cache the prompt.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use super::Mode;
use crate::message::ToolSpec;

/// One parameter: name, JSON type, description, whether it must be given.
type Parameter = (&'static str, &'static str, &'static str, bool);

const PATH: Parameter = ("path", "string", "Path relative to the workspace folder, or absolute.", true);

/// Name, whether it changes anything, description, parameters; in frozen order.
const TABLE: &[(&str, bool, &str, &[Parameter])] = &[
    (
        "list_files",
        false,
        "List one directory: its files and its directories (with a trailing slash), leaving out what ignore files exclude.",
        &[(
            "path",
            "string",
            "Directory, relative to the workspace folder or absolute; `.` is the workspace folder.",
            true,
        )],
    ),
    (
        "read_file",
        false,
        "Read a text file with line numbers, as it is in the editor, unsaved changes included; at most 2000 lines a call.",
        &[
            PATH,
            ("offset", "integer", "First line to read, counted from 1.", false),
            ("limit", "integer", "Number of lines to read, at most 2000.", false),
        ],
    ),
    (
        "find_files",
        false,
        "Find files by name with a glob such as `**/*.rs` or `test_*.py`; a pattern without a slash matches in every directory.",
        &[("pattern", "string", "Glob; `*` stops at a slash, `**` does not, `{a,b}` and `[ab]` work.", true)],
    ),
    (
        "search_text",
        false,
        "Search the text of the workspace's files line by line with a regular expression, unsaved changes included.",
        &[
            (
                "pattern",
                "string",
                "Regular expression in Rust syntax; escape literal ( ) [ ] { } . * + ? | ^ $ with a backslash.",
                true,
            ),
            ("path", "string", "File or directory to search; the whole workspace without it.", false),
            (
                "glob",
                "string",
                "Search only files that match this glob, e.g. `*.rs`; a leading `!` excludes.",
                false,
            ),
        ],
    ),
    (
        "edit_file",
        true,
        "Replace text in an existing file: `old_text` must be there exactly once, white space included, unless `replace_all` is true.",
        &[
            PATH,
            (
                "old_text",
                "string",
                "Text to replace, copied exactly, without line numbers; enough lines to be unique.",
                true,
            ),
            ("new_text", "string", "Text to put in its place; empty to delete.", true),
            ("replace_all", "boolean", "Replace every occurrence; false without it.", false),
        ],
    ),
    (
        "write_file",
        true,
        "Create a file, or replace the whole text of one; prefer edit_file for changes to an existing file.",
        &[PATH, ("content", "string", "The complete text of the file.", true)],
    ),
    (
        "run_command",
        true,
        "Run a shell command to its end, without input or a terminal; background processes are stopped when it ends.",
        &[
            ("command", "string", "The command line, run by bash.", true),
            ("cwd", "string", "Directory to run it in; the workspace folder without it.", false),
            ("timeout_seconds", "integer", "Time limit, 1 to 3600; 120 without it.", false),
        ],
    ),
    (
        "ask_user",
        false,
        "Ask the user one question that you cannot settle with the other tools, and wait for the answer.",
        &[
            ("question", "string", "The question, complete in itself.", true),
            (
                "options",
                "strings",
                "Up to 10 short answers to choose from; the user may also answer freely.",
                false,
            ),
        ],
    ),
    (
        "task_complete",
        false,
        "End the task when it is done and checked.",
        &[("summary", "string", "What was done, in a few sentences for the user.", true)],
    ),
    (
        "fail",
        false,
        "End the task when it cannot be done.",
        &[("reason", "string", "What is in the way and what the user could do, in a few sentences.", true)],
    ),
];

/// Returns every tool, in frozen order.
pub fn specs() -> Arc<[ToolSpec]> {
    specs_for(Mode::Code)
}

/// Returns the tools of a mode, in frozen order.
pub fn specs_for(mode: Mode) -> Arc<[ToolSpec]> {
    static CODE: LazyLock<Arc<[ToolSpec]>> = LazyLock::new(|| build(Mode::Code));
    static ASK: LazyLock<Arc<[ToolSpec]>> = LazyLock::new(|| build(Mode::Ask));
    match mode {
        Mode::Code => CODE.clone(),
        Mode::Ask => ASK.clone(),
    }
}

/// Returns the names of a mode's tools, in frozen order.
pub(crate) fn names(mode: Mode) -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(move |(_, changes, ..)| mode == Mode::Code || !changes).map(|(name, ..)| *name)
}

/// Returns the parameters of a tool as (name, required), in the order of the schema.
pub(super) fn parameters(tool: &str) -> impl Iterator<Item = (&'static str, bool)> {
    TABLE
        .iter()
        .filter(move |(name, ..)| *name == tool)
        .flat_map(|(.., parameters)| parameters.iter().map(|p| (p.0, p.3)))
}

fn build(mode: Mode) -> Arc<[ToolSpec]> {
    TABLE
        .iter()
        .filter(|(_, changes, ..)| mode == Mode::Code || !changes)
        .map(|(name, _, description, parameters)| ToolSpec {
            name,
            description,
            parameters: object(parameters),
        })
        .collect()
}

fn object(parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|(name, kind, description, _)| {
            let value = match *kind {
                "strings" => {
                    json!({"type": "array", "items": {"type": "string"}, "description": description})
                }
                kind => json!({"type": kind, "description": description}),
            };
            ((*name).to_owned(), value)
        })
        .collect();
    let required: Vec<&str> = parameters.iter().filter(|p| p.3).map(|p| p.0).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
