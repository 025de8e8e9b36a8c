//! How clients see a tool call: its kind, its files, its arguments and the end of its result.
//!
//! Pure, so that a replay of an older log gives the same. Never shows a text that is not safe to draw.

use adjutant_protocol::origin::{Position, Range};
use adjutant_protocol::update::{FileLocation, ToolCallView, ToolKind, ToolStatus};
use serde_json::Value;

use crate::record::{CallResult, FileChange, FileOperation};
use crate::session::{Call, Session};
use crate::text::display::{Surface, display, display_command, one_line, shown};
use crate::text::review::Hunk;
use crate::tool::{Effect, MAX_ARGUMENTS, fields_of};

/// The most characters of the arguments in an update.
const MAX_ARGUMENTS_SHOWN: usize = 1_000;
/// The most characters of a name that the model wrote, of a tool or an argument.
const MAX_NAME: usize = 100;
/// The most locations of a call.
const MAX_LOCATIONS: usize = 20;

/// Returns the view of a call. `result` is how it ended, if it did.
pub fn view(session: &Session, call: &Call, status: ToolStatus, result: Option<&CallResult>) -> ToolCallView {
    let (arguments, kind) = (arguments(call), kind(&call.tool, call.effect));
    ToolCallView {
        tool_call_id: call.id.clone(),
        tool: one_line(&call.tool, MAX_NAME),
        title: call.title.clone(),
        kind,
        status,
        locations: locations(session, call, result),
        arguments_text: display(&arguments, Surface::Message(MAX_ARGUMENTS_SHOWN)).text.into_owned(),
        minor: is_minor(kind, status),
        summary: None,
        elapsed_ms: None,
    }
}

/// Returns the end of a result, of at most `most` bytes before hidden characters are escaped, and how many bytes stand before
/// it. A result that is cut begins with a whole line, unless its last line is too long for that.
pub fn end_of_output(output: &str, most: usize) -> (String, usize) {
    let mut start = output.len().saturating_sub(most);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    let is_cut_line = start > 0 && !output[..start].ends_with('\n');
    if is_cut_line
        && let Some(at) = output[start..].find('\n')
        && start + at + 1 < output.len()
    {
        start += at + 1;
    }
    (shown(&output[start..]).into_owned(), start)
}

/// Whether a call only looks or thinks, and nothing has gone wrong with it so far. An edit and a command are never so: a command
/// may fail with an end of its own.
fn is_minor(kind: ToolKind, status: ToolStatus) -> bool {
    matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Fetch | ToolKind::Think)
        && matches!(status, ToolStatus::Pending | ToolStatus::InProgress | ToolStatus::Completed)
}

/// Returns the kind of a tool, by which a client chooses an icon. Of an unknown tool only the effect is known.
pub fn kind(tool: &str, effect: Effect) -> ToolKind {
    match tool {
        "read_file" => ToolKind::Read,
        "list_files" | "find_files" | "search_text" => ToolKind::Search,
        "edit_file" | "write_file" | "apply_patch" => ToolKind::Edit,
        "move_file" => ToolKind::Move,
        "delete_file" => ToolKind::Delete,
        "run_command" => ToolKind::Execute,
        "update_plan" => ToolKind::Think,
        _ => match effect {
            Effect::Read => ToolKind::Read,
            Effect::OwnEdit => ToolKind::Edit,
            Effect::Question | Effect::End | Effect::Opaque => ToolKind::Other,
        },
    }
}

/// Returns the arguments of a call for people: a line for each, longer texts below their names. Arguments that are no JSON
/// object stay as the model wrote them.
fn arguments(call: &Call) -> String {
    let Some(requested) = call.reply.calls.get(call.index) else { return String::new() };
    let written = &requested.arguments;
    let fields = Some(written).filter(|written| written.len() <= MAX_ARGUMENTS);
    let Some(fields) = fields.and_then(|written| fields_of(written)) else { return written.clone() };
    let mut lines = Vec::new();
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let text = match value {
            // As in its question.
            Value::String(line) if name == "command" => {
                display_command(line, Surface::Plain).text.into_owned()
            }
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // A name with a line break would look like another argument.
        let shown = one_line(name, MAX_NAME);
        if text.contains('\n') {
            lines.push(format!("{shown}:"));
            lines.extend(text.lines().map(|line| format!("  {line}")));
        } else {
            lines.push(format!("{shown}: {text}"));
        }
    }
    lines.join("\n")
}

/// Returns the files of a call as far as they are known: those that it changes, and after a read those that it read.
fn locations(session: &Session, call: &Call, result: Option<&CallResult>) -> Vec<FileLocation> {
    let changes = session.changes.values().filter(|state| state.is_of(&call.id));
    if let Some(latest) = session.change_of(call) {
        // A change that was made anew for a later text has the place of the one before.
        let others = changes.filter(|state| state.change.target != latest.change.target);
        let all = [latest].into_iter().chain(others).flat_map(|state| changed(&state.change, call));
        return all.take(MAX_LOCATIONS).collect();
    }
    let reads = result.into_iter().flat_map(|result| &result.reads).map(|read| FileLocation {
        uri: read.target.clone(),
        range: Some(of_lines(read.lines.first, read.lines.first + read.lines.hashes.len())),
    });
    reads.take(MAX_LOCATIONS).collect()
}

fn changed(change: &FileChange, call: &Call) -> Vec<FileLocation> {
    let whole = |uri: &String| FileLocation { uri: uri.clone(), range: None };
    match &change.operation {
        Some(FileOperation::Delete { .. }) => vec![whole(&change.uri)],
        Some(FileOperation::Move { uri, .. }) => vec![whole(&change.uri), whole(uri)],
        None => vec![FileLocation { uri: change.uri.clone(), range: changed_lines(change, call) }],
    }
}

/// Returns the lines of the text after the change that the hunks of a call cover.
fn changed_lines(change: &FileChange, call: &Call) -> Option<Range> {
    let part = change.parts.iter().find(|part| part.call == call.id);
    let is_of_call = |hunk: &Hunk| part.is_none_or(|part| part.hunks.contains(&hunk.id));
    let (mut inserted, mut removed, mut lines) = (0, 0, None::<(usize, usize)>);
    for hunk in change.hunks.iter() {
        if is_of_call(hunk) {
            let first = (hunk.line + inserted).saturating_sub(removed);
            lines = Some((lines.map_or(first, |(begin, _)| begin), first + hunk.inserted.len()));
        }
        inserted += hunk.inserted.len();
        removed += hunk.removed.len();
    }
    lines.map(|(first, end)| of_lines(first, end))
}

fn of_lines(first: usize, end: usize) -> Range {
    let at = |line: usize| Position { line: u32::try_from(line).unwrap_or(u32::MAX), character: 0 };
    Range { start: at(first), end: at(end) }
}

#[cfg(test)]
mod tests {
    use super::end_of_output;

    #[test]
    fn the_end_of_a_result_begins_with_a_whole_line_and_says_what_stands_before_it() {
        for (output, most, wanted) in [
            ("", 4, ("", 0)),
            ("ab\ncd\n", 6, ("ab\ncd\n", 0)),
            ("ab\ncd\n", 5, ("cd\n", 3)),
            ("ab\ncd\n", 3, ("cd\n", 3)),
            ("abcdef", 4, ("cdef", 2)),
            ("abcdef\n", 4, ("def\n", 3)),
            // A character is never cut.
            ("aéé", 3, ("é", 3)),
            ("\u{202e}a", 9, ("\\u{202e}a", 0)),
        ] {
            let (text, left_out) = end_of_output(output, most);
            assert_eq!((text.as_str(), left_out), wanted, "{output:?} {most}");
        }
    }
}
