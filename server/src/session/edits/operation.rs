//! Prepares the deletion or the move of a whole file: what a call would do, and why it may not.
//!
//! Never takes a file away from text that only the editor has.

use std::io::Read;

use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::policy::observation::EditRoute;
use adjutant_core::record::{FileChange, FileOperation, RunId};
use adjutant_core::text::edit::split_bom;
use adjutant_core::text::review::{Hunk, apply_hunks, hunks};

use super::{MAX_FILE, SessionWorld, put_blob};
use crate::documents::Text;
use crate::tools::paths::{OpenRefusal, PathType, ResolvedPath, open_read};
use crate::uri;

/// A file that a call would delete or move, ready for the verdict.
pub(super) struct ProposedOperation {
    pub change: FileChange,
    pub route: EditRoute,
    /// The run that made the file, if nobody else has written any of its text.
    pub made_by: Option<RunId>,
}

/// Returns the change that deletes the file `from`, or moves it to the name `to`. Keeps its content as a blob. Blocks.
pub(super) fn proposed(
    place: &SessionWorld,
    from: &ResolvedPath,
    to: Option<&ResolvedPath>,
) -> Result<ProposedOperation, Reason> {
    let name = &from.display;
    may_be_named(from, to)?;
    let content = read_content(from).map_err(|(cause, why)| Reason::new(cause, why))?;
    let is_open =
        check_buffers(place, from, to, &content.bytes).map_err(|why| Reason::new(Cause::NotMade, why))?;
    let route = route(place, is_open, to.is_some())
        .ok_or_else(|| Reason::new(Cause::NotMade, no_route(name, is_open, to.is_some())))?;
    let documents = &place.world.documents;
    let (operation, hunk) = match to {
        Some(to) => {
            let operation = FileOperation::Move {
                path: to.display.clone(),
                uri: documents.name_of(&to.absolute),
                target: uri::of_path(&to.absolute),
            };
            (operation, None)
        }
        None => {
            let text = std::str::from_utf8(&content.bytes).map_err(|_| {
                let text = format!(
                    "\"{name}\" is not UTF-8 text, so the user could not be shown what goes; ask the user to delete it"
                );
                Reason::new(Cause::NotText, text)
            })?;
            (FileOperation::Delete { mode: content.mode }, hunks(split_bom(text).1, "").pop())
        }
    };
    let before = put_blob(place, &content.bytes).map_err(|why| Reason::new(Cause::NotMade, why))?;
    let change = FileChange {
        change_set: "".into(),
        parts: Vec::new(),
        path: name.clone(),
        uri: documents.name_of(&from.absolute),
        target: uri::of_path(&from.absolute),
        // The disk says what became of it, also for a file that is open.
        open: false,
        existed: true,
        always_ask: None,
        mark: None,
        tasks: Vec::new(),
        before: Some(before),
        operation: Some(operation),
        hunks: [hunk.unwrap_or_else(unit)].into(),
    };
    let made_by = maker(place, &change.target, &content.bytes);
    Ok(ProposedOperation { change, route, made_by })
}

/// Returns the hunk of an operation that has no lines.
fn unit() -> Hunk {
    Hunk {
        id: "h1".to_owned(),
        line: 0,
        removed: Vec::new(),
        inserted: Vec::new(),
        context_before: Vec::new(),
        context_after: Vec::new(),
    }
}

/// Refuses names that are no file, or that are links, and a new name that is not free.
fn may_be_named(from: &ResolvedPath, to: Option<&ResolvedPath>) -> Result<(), Reason> {
    let refused = |cause, text: String| Err(Reason::new(cause, text));
    let name = &from.display;
    if from.is_link {
        let text = format!(
            "the path is a symbolic link to \"{name}\"; links are neither deleted nor moved, so ask the user, or name \
             the file itself"
        );
        return refused(Cause::BadLink, text);
    }
    match from.kind {
        Some(PathType::File) => {}
        None => return refused(Cause::Missing, format!("\"{name}\" does not exist")),
        Some(PathType::Directory) => {
            let text = format!("\"{name}\" is a folder; only files are deleted or moved, one by one");
            return refused(Cause::Directory, text);
        }
        Some(PathType::Special) => {
            let text = format!("\"{name}\" is a device, pipe or socket, which is neither deleted nor moved");
            return refused(Cause::Special, text);
        }
    }
    let Some(to) = to else { return Ok(()) };
    if to.is_link {
        let text =
            format!("the new name is a symbolic link that leads to \"{}\"; choose another name", to.display);
        return refused(Cause::BadLink, text);
    }
    if to.absolute == from.absolute {
        return refused(
            Cause::NothingToChange,
            format!("\"{name}\" has that name already; nothing to change"),
        );
    }
    match to.kind {
        None => Ok(()),
        Some(PathType::Directory) => {
            let text = format!("\"{}\" is a folder; give the whole new path of the file", to.display);
            refused(Cause::Directory, text)
        }
        Some(_) => {
            let text = format!(
                "\"{}\" exists already, and a move never replaces a file; choose another name, or delete it first",
                to.display
            );
            refused(Cause::Other, text)
        }
    }
}

/// The whole content of a file on disk.
pub(super) struct FileContent {
    pub bytes: Vec<u8>,
    mode: u32,
}

/// Reads a file that is small enough to be kept for an undo. Blocks.
pub(super) fn read_content(at: &ResolvedPath) -> Result<FileContent, (Cause, String)> {
    let name = &at.display;
    let unreadable =
        |error: std::io::Error| (Cause::Unreadable, format!("\"{name}\" cannot be read: {error}"));
    let mut file = open_read(at).map_err(|why| match why {
        OpenRefusal::Missing => (Cause::Missing, format!("\"{name}\" does not exist")),
        why => (why.cause(), format!("\"{name}\" cannot be read: {why}")),
    })?;
    let mode = {
        use std::os::unix::fs::PermissionsExt;
        file.metadata().map_err(unreadable)?.permissions().mode() & 0o777
    };
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE {
        let text =
            format!("\"{name}\" is larger than {MAX_FILE} bytes, so its content cannot be kept for an undo");
        return Err((Cause::TooLarge, text));
    }
    Ok(FileContent { bytes, mode })
}

/// Returns whether the file is open in the editor. Refuses a file with text that only the editor has, and a new name under
/// which the editor has a document.
pub(super) fn check_buffers(
    place: &SessionWorld,
    from: &ResolvedPath,
    to: Option<&ResolvedPath>,
    bytes: &[u8],
) -> Result<bool, String> {
    let documents = &place.world.documents;
    if let Some(to) = to
        && !matches!(documents.text(&to.absolute), Text::Closed)
    {
        return Err(format!("\"{}\" is open in the editor; choose another name", to.display));
    }
    let name = &from.display;
    match documents.text(&from.absolute) {
        Text::Closed => Ok(false),
        Text::Open(buffer) => {
            let buffer = buffer.string();
            let is_saved =
                std::str::from_utf8(bytes).is_ok_and(|disk| split_bom(disk).1 == split_bom(&buffer).1);
            if is_saved {
                return Ok(true);
            }
            Err(format!("\"{name}\" has text in the editor that is not saved; save it there first"))
        }
        Text::Unsynced(why) => Err(format!(
            "\"{name}\" is open in the editor, but its text is not known ({why}); close it there first"
        )),
    }
}

/// Returns how a file is deleted or moved; `None` if it must not be.
pub(super) fn route(place: &SessionWorld, is_open: bool, moves: bool) -> Option<EditRoute> {
    place.world.abilities().way_of_file(is_open, moves)
}

/// The reason for an operation that has no route.
pub(super) fn no_route(name: &str, is_open: bool, moves: bool) -> String {
    let verb = if moves { "moves" } else { "deletes" };
    if is_open {
        format!("\"{name}\" is open in the editor, which {verb} no files for Adjutant; close it there first")
    } else {
        format!(
            "\"{name}\" may be open in the editor, which does not tell Adjutant of every open file and {verb} none for \
             it; this has to be done by hand"
        )
    }
}

/// Returns the run of this session that made a file, if all of its text is of that run. Blocks.
fn maker(place: &SessionWorld, target: &str, bytes: &[u8]) -> Option<RunId> {
    let changes = place.world.reviews.of_file(target);
    let first = &changes.first()?.change;
    let run = first.maker.run.clone();
    let mut text = String::new();
    for owned in &changes {
        let change = &owned.change;
        let is_of_run = owned.session == place.id && change.maker.run == run && change.operation.is_none();
        if !is_of_run || change.existed == (change.change_set == first.change_set) {
            return None;
        }
        let lines = change.hunks.iter().map(|hunk| change.lines_of(hunk).cloned());
        text = apply_hunks(&text, &lines.collect::<Option<Vec<Hunk>>>()?).ok()?;
    }
    let now = std::str::from_utf8(bytes).ok()?;
    (split_bom(now).1 == split_bom(&text).1).then_some(run)
}
