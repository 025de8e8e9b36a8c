//! Prepares the edits of a turn: each on the text that those before it would leave, file by file.
//!
//! Never judges an edit, and changes nothing: if it is cancelled, at most blobs with texts before the edits are left.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_core::config::Denials;
use adjutant_core::machine::input::{PreparedEdits, PreparedFile, RefusedEdit};
use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::policy::observation::{EditRoute, ObservedOperation, ObservedPath};
use adjutant_core::policy::permission::{Act, forbidden_by, stricter};
use adjutant_core::record::{CallPart, FileChange};
use adjutant_core::session::Reads;
use adjutant_core::text::display::shown;
use adjutant_core::text::draft::Draft;
use adjutant_core::text::edit::lines;
use adjutant_core::text::freshness::{KnownLines, KnownText, line_hashes};
use adjutant_core::text::review::Hunk;
use adjutant_core::tool::Arguments;
use adjutant_protocol::ToolCallId;

use super::operation::{self, ProposedOperation};
use super::{CurrentFile, SessionWorld, current_file, no_way, put_blob, unseen};
use crate::aside::aside;
use crate::faults::point;
use crate::tools::paths::{PathRefusal, ResolvedPath, resolve};
use crate::tools::protected::{class_of, held_by};
use crate::tools::{EditedText, FileBefore};
use crate::uri;

/// Bytes of all hunks of one ask: a file of 8 MiB whose whole text is replaced. More does not fit a review.
const MAX_CHANGE: usize = 16 * 1024 * 1024;
/// Lines of all hunks of one ask: each line costs memory in addition to its text.
const MAX_CHANGED_LINES: usize = 500_000;
/// Hunks of one change times lines of its file: each hunk is searched in all lines.
const MAX_PLACES_BY_LINES: usize = 400_000_000;
/// Bytes of the files that are prepared together, because their texts are in memory at once.
const MAX_FILES: usize = 128 * 1024 * 1024;

/// The edits that one call asks for. All of them are made, or none.
pub struct GivenEdit {
    pub call: ToolCallId,
    pub tool: String,
    pub parts: Vec<EditPart>,
}

/// One edit of one file, as the model asked for it.
pub struct EditPart {
    pub given: Arguments,
    pub act: EditAct,
}

/// What an edit does to its file.
#[derive(Clone, Copy)]
pub enum EditAct {
    /// Gives it this text. `whole`: the model wrote all of it, and quotes nothing of the text before.
    Text {
        after: EditedText,
        whole: bool,
    },
    /// Gives the new file `to` the text of `path` after the edit, and deletes `path`.
    TextTo(EditedText),
    Delete,
    Move,
}

/// Resolves the paths, reads the texts and locates the changes. Returns the observations and the changes for the
/// verdict.
pub async fn prepare(
    place: &Arc<SessionWorld>,
    edits: Vec<GivenEdit>,
    rules: Denials,
    reads: Reads,
) -> PreparedEdits {
    let place = place.clone();
    aside(move || prepared(&place, &edits, &rules, &reads)).await
}

/// As [`prepare`]. Blocks.
fn prepared(place: &SessionWorld, edits: &[GivenEdit], rules: &Denials, reads: &Reads) -> PreparedEdits {
    let mut drafts =
        Drafts { place, rules, reads, files: Vec::new(), operations: Vec::new(), names: Vec::new() };
    let mut refused: Vec<RefusedEdit> = Vec::new();
    for edit in edits {
        if let Err(EditRefusal { seen, why, may_reveal }) = drafts.add_call(edit) {
            let seen = seen.map(|seen| *seen);
            refused.push(RefusedEdit { call: edit.call.clone(), seen, why, may_reveal });
        }
    }
    let mut files = drafts.operations;
    for file in drafts.files {
        match file.kept(place) {
            Ok(file) => files.push(file),
            Err(edits) => refused.extend(edits),
        }
    }
    PreparedEdits { files, refused }
}

/// Why an edit cannot be made.
struct EditRefusal {
    seen: Option<Box<ObservedPath>>,
    /// `None` if a rule forbids it.
    why: Option<Reason>,
    may_reveal: bool,
}

impl From<Reason> for EditRefusal {
    fn from(why: Reason) -> Self {
        Self { seen: None, why: Some(why), may_reveal: false }
    }
}

/// The files of the edits so far.
struct Drafts<'a> {
    place: &'a SessionWorld,
    rules: &'a Denials,
    reads: &'a Reads,
    files: Vec<DraftedFile>,
    /// The files that are deleted or moved.
    operations: Vec<PreparedFile>,
    /// Their names before and after.
    names: Vec<PathBuf>,
}

/// A file with the edits of the turn so far.
#[derive(Clone)]
struct DraftedFile {
    at: ResolvedPath,
    seen: ObservedPath,
    now: Arc<CurrentFile>,
    /// What the model knows of its lines of now.
    known: Arc<KnownText>,
    /// The lines of now that others changed, and in which edits replace only what they quote.
    placed: Vec<Range<usize>>,
    draft: Draft,
    calls: Vec<ToolCallId>,
}

/// A draft after one more edit, and the lines as in [`DraftedFile::placed`].
type PlacedDraft = (Draft, Vec<Range<usize>>);

impl Drafts<'_> {
    /// Adds the edits of one call: all of them, or none.
    fn add_call(&mut self, edit: &GivenEdit) -> Result<(), EditRefusal> {
        if let [only] = edit.parts.as_slice() {
            return self.add_part(edit, only);
        }
        let before = (self.files.clone(), self.operations.len(), self.names.len());
        let failed: Vec<EditRefusal> =
            edit.parts.iter().filter_map(|part| self.add_part(edit, part).err()).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let (files, operations, names) = before;
        self.files = files;
        self.operations.truncate(operations);
        self.names.truncate(names);
        Err(self.joined(failed, edit.parts.len()))
    }

    /// Returns why nothing of a call is done, of which these parts cannot be done.
    fn joined(&self, mut failed: Vec<EditRefusal>, of: usize) -> EditRefusal {
        // A rule that forbids one part forbids the call.
        if let Some(at) = failed.iter().position(|part| part.why.is_none()) {
            return failed.swap_remove(at);
        }
        let folders: Vec<String> =
            self.place.roots.paths().map(|root| root.to_string_lossy().into_owned()).collect();
        let first = failed.remove(0);
        let mut texts: Vec<String> = first.why.iter().map(|why| why.text.clone()).collect();
        for EditRefusal { seen, why, may_reveal } in failed {
            // The verdict looks at the file of the first reason, so no other may show text that the model must not read.
            let is_hidden = seen.filter(|_| may_reveal).filter(|seen| {
                let denied = self.rules.denial_of_file("read_file", &seen.path, &folders);
                seen.secret.is_some() || denied.is_some()
            });
            texts.extend(match is_hidden {
                Some(seen) => Some(format!("\"{}\" cannot be changed either", seen.path)),
                None => why.map(|why| why.text),
            });
        }
        let text = format!("{}\nNone of the {of} files of this patch was changed", texts.join("\n"));
        let cause = first.why.as_ref().map_or(Cause::Other, |why| why.cause);
        EditRefusal { why: Some(Reason::new(cause, text)), ..first }
    }

    fn add_part(&mut self, edit: &GivenEdit, part: &EditPart) -> Result<(), EditRefusal> {
        match part.act {
            EditAct::Text { after, .. } => self.add(edit, part, after),
            EditAct::TextTo(after) => self.add_elsewhere(edit, part, after),
            EditAct::Delete => self.add_operation(edit, part, "path", None),
            EditAct::Move => self.add_operation(edit, part, "from", Some("to")),
        }
    }

    /// Adds an edit that also gives its file another name: a new file with the text after it, and a deletion.
    fn add_elsewhere(
        &mut self,
        edit: &GivenEdit,
        part: &EditPart,
        after: EditedText,
    ) -> Result<(), EditRefusal> {
        let (path, to) = (part.given.text("path"), part.given.text("to"));
        let (seen, at) = observe(self.place, path)?;
        let operation = Some(ObservedOperation { to: None, made_by: None });
        let seen = ObservedPath { operation, ..seen };
        let Some(at) = at.filter(|_| !self.forbids(&edit.tool, &seen)) else {
            // It will be denied, so the text is neither read nor saved.
            return Err(EditRefusal { seen: Some(Box::new(seen)), why: None, may_reveal: false });
        };
        let about = |(why, may_reveal)| EditRefusal {
            seen: Some(Box::new(seen.clone())),
            why: Some(why),
            may_reveal,
        };
        if self.files.iter().any(|file| file.at.absolute == at.absolute) {
            return Err(about((touched_before(&at), false)));
        }
        if is_executable(&at) {
            let text = format!(
                "\"{}\" is executable, which a new file is not; move it by a part without hunks, and edit it by the next call",
                at.display
            );
            return Err(about((Reason::new(Cause::Other, text), false)));
        }
        let file = self
            .begin(ObservedPath { operation: None, ..seen.clone() }, at)
            .map_err(|why| about((why, false)))?;
        let (draft, _) = self.edited(&file, &file.seen, &edit.call, part, after).map_err(about)?;
        let mark = if file.now.has_bom { "\u{feff}" } else { "" };
        let text = format!("{mark}{}", draft.text());
        let new = EditPart {
            given: Arguments::of_texts(&[("path", to), ("text", &text)]),
            act: EditAct::Text { after: free_name, whole: true },
        };
        self.add_part(edit, &new)?;
        let gone = EditPart { given: Arguments::of_texts(&[("path", path)]), act: EditAct::Delete };
        self.add_part(edit, &gone)
    }

    /// Adds one edit to the draft of its file.
    fn add(&mut self, edit: &GivenEdit, part: &EditPart, after: EditedText) -> Result<(), EditRefusal> {
        point("call-prepared");
        let (seen, at) = observe(self.place, part.given.text("path"))?;
        let Some(at) = at.filter(|_| !self.forbids(&edit.tool, &seen)) else {
            // It will be denied, so the text is neither read nor saved.
            return Err(EditRefusal { seen: Some(Box::new(seen)), why: None, may_reveal: false });
        };
        let about = |(why, may_reveal)| EditRefusal {
            seen: Some(Box::new(seen.clone())),
            why: Some(why),
            may_reveal,
        };
        if self.names.contains(&at.absolute) {
            return Err(about((touched_before(&at), false)));
        }
        let index = match self.files.iter().position(|file| file.at.absolute == at.absolute) {
            Some(index) => {
                // Another name of the same file may be a special one.
                let known = &mut self.files[index].seen;
                known.write_class = stricter(known.write_class, seen.write_class);
                known.secret = known.secret.or(seen.secret);
                index
            }
            None => {
                let file = self.begin(seen.clone(), at).map_err(|why| about((why, false)))?;
                self.files.push(file);
                self.files.len() - 1
            }
        };
        let added = self.edited(&self.files[index], &seen, &edit.call, part, after).map_err(about);
        match added {
            Ok((draft, placed)) => {
                let file = &mut self.files[index];
                if file.now.exists && replaces_all(part) {
                    file.seen.unseen = unseen::of_rewrite(&file.known, &file.seen.path, draft.hunks());
                } else if file.seen.unseen.is_none() {
                    file.seen.unseen = unseen::of_quotes(&file.seen.path, &placed);
                }
                file.placed = placed;
                file.draft = draft;
                if file.calls.last() != Some(&edit.call) {
                    file.calls.push(edit.call.clone());
                }
                Ok(())
            }
            Err(why) => {
                self.files.retain(|file| !file.calls.is_empty());
                Err(why)
            }
        }
    }

    /// Whether a rule denies the edit for sure.
    fn forbids(&self, tool: &str, seen: &ObservedPath) -> bool {
        let folders = self.place.roots.paths().map(|root| root.to_string_lossy().into_owned());
        let folders: Vec<String> = folders.collect();
        forbidden_by(self.rules, &folders, tool, Act::Edit(seen)).is_some()
    }

    /// Adds the deletion of a file, or its move; `from` and `to` are the arguments with its names.
    fn add_operation(
        &mut self,
        edit: &GivenEdit,
        part: &EditPart,
        from: &str,
        to: Option<&str>,
    ) -> Result<(), EditRefusal> {
        point("call-prepared");
        let (seen, at) = observe(self.place, part.given.text(from))?;
        let to = to.map(|to| observe(self.place, part.given.text(to))).transpose()?;
        let (to_seen, to_at) = to.map_or((None, None), |(seen, at)| (Some(Box::new(seen)), Some(at)));
        let operation = |made_by: Option<String>| Some(ObservedOperation { to: to_seen.clone(), made_by });
        let seen = ObservedPath { operation: operation(None), ..seen };
        let is_forbidden = self.forbids(&edit.tool, &seen);
        let (Some(at), None | Some(Some(_)), false) = (at, &to_at, is_forbidden) else {
            // It will be denied, so the file is neither read nor saved.
            return Err(EditRefusal { seen: Some(Box::new(seen)), why: None, may_reveal: false });
        };
        let to_at = to_at.flatten();
        let about =
            |why| EditRefusal { seen: Some(Box::new(seen.clone())), why: Some(why), may_reveal: false };
        for name in [Some(&at), to_at.as_ref()].into_iter().flatten() {
            let is_drafted = self.files.iter().any(|file| file.at.absolute == name.absolute);
            if is_drafted || self.names.contains(&name.absolute) {
                return Err(about(touched_before(name)));
            }
        }
        let proposed = operation::proposed(self.place, &at, to_at.as_ref()).map_err(about)?;
        let ProposedOperation { mut change, route, made_by } = proposed;
        let others = self.files.iter().flat_map(|file| file.draft.hunks()).chain(self.operation_hunks());
        fits_review(others, &change.hunks, "", &at.display).map_err(about)?;
        let hunks = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
        change.parts = vec![CallPart { call: edit.call.clone(), hunks }];
        let seen = ObservedPath { route, operation: operation(made_by.map(|run| run.0)), ..seen };
        self.operations.push(PreparedFile { change, seen });
        self.names.extend([Some(at), to_at].into_iter().flatten().map(|at| at.absolute));
        Ok(())
    }

    fn operation_hunks(&self) -> impl Iterator<Item = &Hunk> {
        self.operations.iter().flat_map(|file| file.change.hunks.iter())
    }

    /// Reads a file for its first edit.
    fn begin(&self, seen: ObservedPath, at: ResolvedPath) -> Result<DraftedFile, Reason> {
        let now = current_file(self.place, &at)?;
        let route = self.place.world.abilities().way(now.open.is_some(), now.exists, now.has_bom);
        if route == EditRoute::Nowhere {
            // The user must not be asked to allow an edit that cannot be made.
            return Err(Reason::new(Cause::NotMade, no_way(&at.display)));
        }
        let bytes: usize = self.files.iter().map(|file| file.now.text.len()).sum();
        if bytes + now.text.len() > MAX_FILES {
            let text = format!(
                "the files that are edited in one turn have more than {} MiB; edit \"{}\" in the next turn",
                MAX_FILES >> 20,
                at.display
            );
            return Err(Reason::new(Cause::TooLarge, text));
        }
        let draft = Draft::of(now.text.as_str().into());
        let target = uri::of_path(&at.absolute);
        let known: Vec<&KnownLines> = self.reads.of(&target).map(|read| &read.lines).collect();
        let known = Arc::new(KnownText::of(known, &line_hashes(&now.text)));
        Ok(DraftedFile {
            seen: ObservedPath { route, ..seen },
            at,
            now: Arc::new(now),
            known,
            placed: Vec::new(),
            draft,
            calls: Vec::new(),
        })
    }

    /// Returns the draft of a file after one more edit, and all lines that others changed and of which its edits replace only
    /// quoted parts. The error says why that is not possible, and whether it may reveal text of the file.
    fn edited(
        &self,
        file: &DraftedFile,
        seen: &ObservedPath,
        call: &ToolCallId,
        part: &EditPart,
        after: EditedText,
    ) -> Result<PlacedDraft, (Reason, bool)> {
        let path = &seen.path;
        if *path != file.seen.path {
            // What was judged of one name need not be true of the other.
            let text = format!(
                "\"{path}\" is the file \"{}\", which this turn edits already; use that name",
                file.seen.path
            );
            return Err((Reason::new(Cause::SecondName, text), false));
        }
        let exists = file.now.exists || !file.calls.is_empty();
        let before = FileBefore { path, text: file.draft.text(), exists, has_mark: file.now.has_bom };
        let after =
            after(&part.given, &before).map_err(|why| (unseen::with_change(&file.known, why), exists))?;
        if exists && after == file.draft.text() {
            let text = format!("\"{path}\" has this content already; nothing to change");
            return Err((Reason::new(Cause::NothingToChange, text), true));
        }
        point("change-compared");
        let number = file.calls.iter().position(|known| known == call).unwrap_or(file.calls.len());
        let draft = file.draft.after(number, after.into());
        let others = self.files.iter().filter(|other| other.at.absolute != file.at.absolute);
        let others = others.flat_map(|file| file.draft.hunks()).chain(self.operation_hunks());
        fits_review(others, draft.hunks(), &file.now.text, path).map_err(|why| (why, false))?;
        let mut placed = file.placed.clone();
        if !replaces_all(part) {
            let quoted = part.given.optional("old_text").filter(|_| !part.given.flag("replace_all"));
            unseen::check_lines(&file.known, path, &file.now.text, draft.hunks(), quoted, &mut placed)
                .map_err(|why| (why, true))?;
        }
        Ok((draft, placed))
    }
}

impl DraftedFile {
    /// Saves the text before as a blob, and returns the change for the verdict; else its edits with the reason.
    fn kept(self, place: &SessionWorld) -> Result<PreparedFile, Vec<RefusedEdit>> {
        let Self { at, seen, now, draft, calls, .. } = self;
        let bytes = (now.exists && !draft.hunks().is_empty()).then(|| now.bytes_of(&now.text));
        let before = match bytes.map(|bytes| put_blob(place, &bytes)).transpose() {
            Ok(before) => before,
            Err(why) => {
                let why = Some(Reason::new(Cause::NotMade, why));
                let refused = |call| RefusedEdit {
                    call,
                    seen: Some(seen.clone()),
                    why: why.clone(),
                    may_reveal: false,
                };
                return Err(calls.into_iter().map(refused).collect());
            }
        };
        let target = uri::of_path(&at.absolute);
        let tasks = place.world.reviews.undecided_elsewhere(&target, &place.id);
        let part = |(edit, call): (usize, ToolCallId)| CallPart { call, hunks: draft.made_by(edit) };
        let change = FileChange {
            change_set: "".into(),
            parts: calls.into_iter().enumerate().map(part).collect(),
            path: at.display.clone(),
            uri: place.world.documents.name_of(&at.absolute),
            target,
            open: now.open.is_some(),
            existed: now.exists,
            always_ask: None,
            mark: None,
            tasks,
            before,
            operation: None,
            hunks: draft.hunks().into(),
        };
        Ok(PreparedFile { change, seen })
    }
}

/// Whether an edit gives its file a whole new text.
fn replaces_all(part: &EditPart) -> bool {
    matches!(part.act, EditAct::Text { whole: true, .. })
}

/// Returns the text of a file that gets its name from another, if no file has it.
fn free_name<'a>(given: &'a Arguments, before: &FileBefore<'_>) -> Result<Cow<'a, str>, Reason> {
    if before.exists {
        let text = format!(
            "\"{}\" exists already, and a move never replaces a file; choose another name, or delete it first",
            before.path
        );
        return Err(Reason::new(Cause::Other, text));
    }
    Ok(Cow::Borrowed(given.text("text")))
}

/// Whether a file may be run as a program.
fn is_executable(at: &ResolvedPath) -> bool {
    use std::os::unix::fs::PermissionsExt;
    at.absolute.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// The reason for a call about a file that an earlier call of the same reply edits, deletes or moves.
fn touched_before(at: &ResolvedPath) -> Reason {
    let text = format!(
        "an earlier call of this reply edits, deletes or moves \"{}\"; make this call again after that one",
        at.display
    );
    Reason::new(Cause::Changed, text)
}

/// Observes the path of an edit and resolves it; `None` outside the workspace, where nothing may be read yet.
fn observe(place: &SessionWorld, path: &str) -> Result<(ObservedPath, Option<ResolvedPath>), Reason> {
    // Only the given name is used.
    let outside = || Ok((ObservedPath::outside(shown(path)), None));
    let at = match resolve(&place.roots, path) {
        Ok(at) if at.inside => at,
        Ok(_) | Err(PathRefusal::Outside { .. }) => return outside(),
        Err(why) => return Err(why.into()),
    };
    Ok((observed(place, &at), Some(at)))
}

/// Returns the observation of a file in the workspace.
pub(super) fn observed(place: &SessionWorld, at: &ResolvedPath) -> ObservedPath {
    let own = place.world.own(&place.roots);
    let (class, holds) = (class_of(at, &own), held_by(at, &own));
    ObservedPath { write_class: class, secret: holds, ..ObservedPath::inside(&at.display) }
}

/// Refuses a change that is too large for a review, or that would cost too much memory or time. `others` are the
/// hunks of the other files that are asked together with it.
fn fits_review<'a>(
    others: impl Iterator<Item = &'a Hunk>,
    hunks: &'a [Hunk],
    before: &str,
    path: &str,
) -> Result<(), Reason> {
    let too_large = |size: usize, what: &str, limit: usize, alone: bool| {
        let text = if alone {
            format!("the change of \"{path}\" has {size} {what}; at most {limit} fit one review, so split it")
        } else {
            format!(
                "with the change of \"{path}\" the edits of this turn have {size} {what}; at most {limit} fit one \
                 review, so make it in the next turn"
            )
        };
        Reason::new(Cause::TooLarge, text)
    };
    let (own_bytes, own_lines) = size_of(hunks.iter());
    let (other_bytes, other_lines) = size_of(others);
    let (bytes, count) = (own_bytes + other_bytes, own_lines + other_lines);
    if bytes > MAX_CHANGE {
        return Err(too_large(bytes, "bytes", MAX_CHANGE, own_bytes > MAX_CHANGE || other_bytes == 0));
    }
    if count > MAX_CHANGED_LINES {
        let alone = own_lines > MAX_CHANGED_LINES || other_lines == 0;
        return Err(too_large(count, "lines", MAX_CHANGED_LINES, alone));
    }
    let places = MAX_PLACES_BY_LINES / lines(before).count().max(1);
    if hunks.len() > places {
        return Err(too_large(hunks.len(), "separate places", places, true));
    }
    Ok(())
}

/// Returns the bytes and the lines of hunks.
fn size_of<'a>(hunks: impl Iterator<Item = &'a Hunk>) -> (usize, usize) {
    let lines = hunks.flat_map(|hunk| hunk.removed.iter().chain(&hunk.inserted));
    lines.fold((0, 0), |(bytes, count), line| (bytes + line.len(), count + 1))
}

#[cfg(test)]
mod tests;
