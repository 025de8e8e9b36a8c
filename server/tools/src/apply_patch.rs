//! `apply_patch`: changes, creates, moves and deletes several files by one patch, for models that were trained on it.
//!
//! Each file of the patch is an edit of its own, like a call of another tool, but all of them are made or none. Never guesses: a
//! hunk whose lines are in the file several times refuses the patch.

use std::borrow::Cow;

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::text::patch::{PatchAct, files_of, parse, updated};
use adjutant_core::tool::{
    APPLY_PATCH, ArgumentType, Arguments, Effect, FREE_INPUT, MAX_EDIT_ARGUMENTS, Parameter, Tool,
};

use super::{Action, BuiltTool, EditedText, FileBefore};

/// The tool as data, and its action.
pub const TOOL: BuiltTool = BuiltTool {
    tool: Tool {
        name: Cow::Borrowed(APPLY_PATCH),
        effect: Effect::OwnEdit,
        description: Cow::Borrowed(
            "Edit files by a patch, all of it or nothing. It begins with `*** Begin Patch` and ends with `*** End Patch`; between \
             them each file has a part: `*** Update File: PATH` (then `*** Move to: PATH` to move it) and hunks, \
             `*** Add File: PATH` and each line with `+` before it, or `*** Delete File: PATH`. A hunk is `@@`, or `@@` and the \
             line of the class or function it is in, then lines that begin with a space (kept), `-` or `+`, with about 3 kept \
             lines around a change. Its old lines must be in the file exactly once.",
        ),
        parameters: Cow::Borrowed(PARAMETERS),
        most_bytes: MAX_EDIT_ARGUMENTS,
        check: is_a_patch,
        title,
    },
    act: Action::Patch(parts),
};

const PARAMETERS: &[Parameter] =
    &[Parameter::needed(FREE_INPUT, ArgumentType::Text, "The whole patch, and nothing around it.")];

/// The names of a title at most; the others are counted.
const TITLE_NAMES: usize = 2;

fn is_a_patch(given: &Arguments) -> Result<(), Reason> {
    parse(given.text(FREE_INPUT)).map(drop).map_err(|bad| Reason::new(Cause::WrongArgument, bad.to_string()))
}

fn title(given: &Arguments) -> String {
    let names = files_of(given.text(FREE_INPUT)).names;
    match names.len().checked_sub(TITLE_NAMES) {
        None | Some(0) => format!("Edit {}", names.join(", ")),
        Some(more) => format!("Edit {} and {more} more", names[..TITLE_NAMES].join(", ")),
    }
}

/// One edit of a patch, as a call of another tool would ask for it.
#[derive(Clone, Debug)]
pub struct PatchPart {
    pub given: Arguments,
    pub act: PartAct,
}

/// What a part of a patch does with its file.
#[derive(Clone, Copy, Debug)]
pub enum PartAct {
    /// Gives the file `path` this text.
    Text(EditedText),
    /// Gives the new file `to` the text of `path` after the hunks, and deletes `path`.
    TextTo(EditedText),
    /// Deletes the file `path`.
    Delete,
    /// Moves the file `from` to `to`.
    Move,
}

/// Returns the edits of a patch, in order.
fn parts(given: &Arguments) -> Result<Vec<PatchPart>, Reason> {
    let files =
        parse(given.text(FREE_INPUT)).map_err(|bad| Reason::new(Cause::WrongArgument, bad.to_string()))?;
    let part = |file: adjutant_core::text::patch::FilePatch<'_>| {
        let path = file.path;
        let (texts, act): (Vec<(&str, &str)>, PartAct) = match &file.act {
            PatchAct::Add { text } => (vec![("path", path), ("text", text)], PartAct::Text(new_text)),
            PatchAct::Delete => (vec![("path", path)], PartAct::Delete),
            PatchAct::Update { to: Some(to), hunks } if hunks.trim().is_empty() => {
                (vec![("from", path), ("to", to)], PartAct::Move)
            }
            PatchAct::Update { to: Some(to), hunks } => {
                (vec![("path", path), ("to", to), ("hunks", hunks)], PartAct::TextTo(changed_text))
            }
            PatchAct::Update { to: None, hunks } => {
                (vec![("path", path), ("hunks", hunks)], PartAct::Text(changed_text))
            }
        };
        PatchPart { given: Arguments::of_texts(&texts), act }
    };
    Ok(files.into_iter().map(part).collect())
}

fn new_text<'a>(given: &'a Arguments, before: &FileBefore<'_>) -> Result<Cow<'a, str>, Reason> {
    if before.exists {
        let text =
            format!("\"{}\" exists already, so the patch cannot add it; use `*** Update File:`", before.path);
        return Err(Reason::new(Cause::Other, text));
    }
    Ok(Cow::Borrowed(given.text("text")))
}

/// Returns the whole text of the file after the hunks. Runs while the call is prepared, so it only computes.
fn changed_text<'a>(given: &'a Arguments, before: &FileBefore<'_>) -> Result<Cow<'a, str>, Reason> {
    if !before.exists {
        let text = format!("\"{}\" does not exist; `*** Add File:` creates it", before.path);
        return Err(Reason::new(Cause::Missing, text));
    }
    updated(before.text, given.text("hunks"))
        .map(Cow::Owned)
        .map_err(|why| Reason::new(why.cause(), format!("\"{}\" was not changed: {why}", before.path)))
}
