//! Finds what the words of a prompt mention: files, folders, symbols, and what the editor and the session have now.
//!
//! Never words it (core's `attached` does). Never quotes a file that the user would have to allow first, and never one outside
//! the workspace folders.

use std::io::Read;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use adjutant_core::prompt::image::{Image, MAX_BYTES, MediaType, size};
use adjutant_core::text::display::shown_path;
use adjutant_core::text::document::Snapshot;
use adjutant_core::wire::mention::{Mention, MentionedThing, mentions};
use adjutant_core::wire::start::{AttachmentKind, problem_lines};
use adjutant_protocol::origin::{Origin, Position, Range};
use adjutant_protocol::problem::DocumentDiagnostics;

use super::blobs::hash_of;
use super::images::NewImage;
use super::quotable::{self, find};
use super::{SessionWorld, World, read_denied};
use crate::documents::{Documents, Text};
use crate::reviews::earlier::EarlierTexts;
use crate::tools::Stop;
use crate::tools::definitions::definitions;
use crate::tools::exclusions::Exclusions;
use crate::tools::list_files::list_files;
use crate::tools::paths::{PathType, ResolvedPath, Roots, open_read, resolve};
use crate::tools::protected::held_by;
use crate::uri;

/// How long a prompt waits for the search for one symbol.
const LONGEST_SEARCH: Duration = Duration::from_secs(2);
/// Definitions of one symbol that are listed.
const MAX_DEFINITIONS: usize = 20;
/// Problems that are listed.
const MAX_PROBLEMS: usize = 100;
/// How to write a word that is no mention.
const IN_BACKTICKS: &str = "put the word in backticks if it names nothing";

/// What a client says with a prompt that its mentions can name.
#[derive(Default)]
pub struct ClientContext {
    pub selection: Option<Origin>,
    pub problems: Vec<DocumentDiagnostics>,
    /// Whether the words are the beginning of the prompt, where a command may stand.
    pub begins_prompt: bool,
    /// Whether the words already come with the place and its problems.
    pub is_worded: bool,
}

/// The mentions of a prompt, with the texts that the editor had when it arrived.
#[derive(Default)]
pub struct PromptMentions {
    mentions: Vec<(Mention, Text)>,
    context: ClientContext,
    /// The selected lines, as the editor had them.
    selected: Option<Text>,
}

/// What an attachment or a mention names.
pub struct Resource {
    pub name: String,
    pub text: Option<Snapshot>,
    pub range: Option<Range>,
    pub kind: AttachmentKind,
}

impl Resource {
    /// Returns one that has a name alone: what the user reads and the model cannot.
    fn note(name: String) -> Self {
        Self { name, text: None, range: None, kind: AttachmentKind::List }
    }

    fn list(name: String, lines: &str) -> Self {
        let text = Some(Snapshot::of_file(&name, lines));
        Self { name, text, range: None, kind: AttachmentKind::List }
    }
}

/// What mentions name, found.
#[derive(Default)]
pub struct FoundMentions {
    pub resources: Vec<Resource>,
    pub images: Vec<NewImage>,
}

impl PromptMentions {
    /// Parses the words of a prompt. Takes the texts of open documents now, so that text typed later does not count.
    pub fn of(words: &str, context: ClientContext, documents: &Documents, folders: &[PathBuf]) -> Self {
        let found = mentions(words);
        let is_selection = |mention: &Mention| mention.thing == MentionedThing::Selection;
        let selected = context.selection.as_ref().filter(|_| found.iter().any(is_selection));
        let selected = selected.map(|origin| documents.under(&origin.uri));
        let with_text = |mention: Mention| {
            let open = match &mention.thing {
                MentionedThing::Path { path, .. } => open_text(path, documents, folders),
                _ => Text::Closed,
            };
            (mention, open)
        };
        Self { mentions: found.into_iter().map(with_text).collect(), context, selected }
    }

    pub fn is_empty(&self) -> bool {
        self.mentions.is_empty()
    }

    /// Finds what is mentioned; a word that names nothing is left as it is. Blocks. An error is one sentence for the user.
    pub fn read(self, place: &SessionWorld, folders: &[PathBuf]) -> Result<FoundMentions, String> {
        let Self { mentions, context, mut selected } = self;
        let (world, mut found) = (&*place.world, FoundMentions::default());
        for (mention, open) in mentions {
            let written = mention.written.as_str();
            let one = match &mention.thing {
                MentionedThing::Path { path, lines } => {
                    let is_sure = mention.is_surely_a_path();
                    match at_path(place, path)? {
                        Some(at) => of_path(place, &at, written, lines.clone(), open, &mut found.images)?,
                        None => is_sure
                            .then(|| Resource::note(format!("{written} (the workspace has no such file)"))),
                    }
                }
                MentionedThing::Symbol(name) => Some(of_symbol(place, name)),
                MentionedThing::Selection => {
                    of_selection(world, &context, selected.take().unwrap_or(Text::Closed), folders)?
                }
                MentionedThing::Diagnostics => of_problems(place, &context)?,
                MentionedThing::Diff => Some(of_changes(place)),
                MentionedThing::Open => Some(of_open(place)),
                MentionedThing::Url(_) => {
                    return Err(format!(
                        "the prompt mentions {written}, and Adjutant cannot read web pages yet; paste the text that \
                         matters, or leave out the @"
                    ));
                }
            };
            found.resources.extend(one);
        }
        Ok(found)
    }
}

/// Returns the editor's text of a path that is written in a prompt.
fn open_text(path: &str, documents: &Documents, folders: &[PathBuf]) -> Text {
    let mut texts = folders.iter().map(|folder| documents.under(&uri::of_path(&folder.join(path))));
    texts.find(|text| !matches!(text, Text::Closed)).unwrap_or(Text::Closed)
}

/// Resolves a path in the folders of the session, the first folder that has it first; `None` if nothing is there.
fn at_path(place: &SessionWorld, path: &str) -> Result<Option<ResolvedPath>, String> {
    let roots = &place.roots;
    let outside =
        || format!("\"{path}\" is outside the workspace folders; open its folder first, or {IN_BACKTICKS}");
    if let (Some(below), Some(home)) = (path.strip_prefix("~/"), &place.world.own.home) {
        return if home.join(below).exists() { Err(outside()) } else { Ok(None) };
    }
    let first = resolve(roots, path).ok();
    let others = roots.paths().skip(1).map(|root| root.join(path));
    let others = others.filter_map(|path| resolve(roots, path.to_str()?).ok());
    let there = |at: &ResolvedPath| at.exists() || is_open(place, at);
    let mut all = first.into_iter().chain(others).filter(there).peekable();
    match all.peek() {
        None => Ok(None),
        Some(first) if !first.inside => all.find(|at| at.inside).map(Some).ok_or_else(outside),
        Some(_) => Ok(all.next()),
    }
}

/// Whether a document that has no file yet is open at a path.
fn is_open(place: &SessionWorld, at: &ResolvedPath) -> bool {
    !matches!(place.world.documents.text(&at.absolute), Text::Closed)
}

/// Returns what is at a path; `None` for a folder that is mentioned without a slash, which is any word.
fn of_path(
    place: &SessionWorld,
    at: &ResolvedPath,
    written: &str,
    lines: Option<RangeInclusive<u32>>,
    open: Text,
    images: &mut Vec<NewImage>,
) -> Result<Option<Resource>, String> {
    if at.kind == Some(PathType::Directory) {
        return Ok(written.contains('/').then(|| of_folder(place, at)));
    }
    if at.kind == Some(PathType::Special) {
        return Ok(Some(Resource::note(format!("{} (no regular file)", at.display))));
    }
    place.world.documents.note_mentioned(&at.absolute);
    let text = quotable::text_of(&place.world, &place.roots, at, open)?;
    if text.is_none()
        && held_by(at, &place.world.own(&place.roots)).is_none()
        && read_denied(&place.world, &place.roots, at).is_none()
        && let Some(image) = image(at)?
    {
        images.push(image);
        return Ok(Some(Resource::note(format!("{} (as an image)", at.display))));
    }
    let range = lines.map(|lines| Range {
        start: Position { line: lines.start() - 1, character: 0 },
        end: Position { line: *lines.end(), character: 0 },
    });
    let range = match (range, &text) {
        // The last line has no line after it.
        (Some(range), Some(snapshot)) => Some(within(range, snapshot, &at.display)?),
        (range, _) => range,
    };
    Ok(Some(Resource { name: at.display.clone(), text, range, kind: AttachmentKind::File }))
}

/// Returns the range as far as the text has it.
fn within(range: Range, snapshot: &Snapshot, name: &str) -> Result<Range, String> {
    let text = &snapshot.text;
    let ends_with_line = text.len_bytes() > 0 && text.byte(text.len_bytes() - 1) == b'\n';
    let lines = text.len_lines() - usize::from(ends_with_line);
    if range.start.line as usize >= lines {
        let (wanted, count) = (range.start.line + 1, counted(lines, "line"));
        return Err(format!("the prompt mentions line {wanted} of \"{name}\", which has {count}"));
    }
    if range.end.line as usize >= text.len_lines() {
        let end = Position { line: lines as u32 - 1, character: u32::MAX };
        return Ok(Range { end, ..range });
    }
    Ok(range)
}

/// Returns the content of an image file; `None` for every other file.
fn image(at: &ResolvedPath) -> Result<Option<NewImage>, String> {
    let failed = |why: String| format!("\"{}\" cannot be read: {why}", at.display);
    let file = open_read(at).map_err(|refusal| failed(refusal.to_string()))?;
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content).map_err(|error| failed(error.to_string()))?;
    let Some(mime_type) = MediaType::of_bytes(&content) else { return Ok(None) };
    if content.len() as u64 > MAX_BYTES {
        return Err(format!(
            "the image \"{}\" may have {} at most; make it smaller",
            at.display,
            size(MAX_BYTES)
        ));
    }
    let image = Image { mime_type, bytes: content.len() as u64, hash: hash_of(&content) };
    Ok(Some(NewImage { image, content }))
}

fn exclusions(place: &SessionWorld) -> Exclusions {
    let world = &place.world;
    Exclusions::new(&place.roots, world.settings().deny.clone(), world.own(&place.roots))
}

fn of_folder(place: &SessionWorld, at: &ResolvedPath) -> Resource {
    let name = if at.display == "." { "./".to_owned() } else { format!("{}/", at.display) };
    let settings = place.world.settings();
    let root_names: Vec<String> =
        place.roots.paths().map(|root| root.to_string_lossy().into_owned()).collect();
    let is_denied = settings.deny.denial_of_file("list_files", &at.display, &root_names).is_some();
    if is_denied || held_by(at, &place.world.own(&place.roots)).is_some() {
        return Resource::note(name);
    }
    Resource::list(name, &list_files(at, &place.roots, &exclusions(place)).text)
}

fn of_symbol(place: &SessionWorld, name: &str) -> Resource {
    let title = format!("definitions of `{name}`");
    if place.world.settings().deny.denial_of_tool("search_text").is_some() {
        return Resource::note(format!("{title} (a rule denies to search)"));
    }
    let (buffers, stop) = (place.world.documents.buffers(), Stop::after(LONGEST_SEARCH));
    let found = definitions(name, &place.roots, &buffers, &exclusions(place), &stop);
    if found.lines.is_empty() {
        let why = if found.is_partial { "none was found in time" } else { "no line looks like one" };
        return Resource::note(format!("{title} ({why})"));
    }
    let more = found.lines.len().saturating_sub(MAX_DEFINITIONS);
    let mut lines: Vec<String> = found.lines.into_iter().take(MAX_DEFINITIONS).collect();
    if more > 0 || found.is_partial {
        lines.push("[there may be more; use search_text]".to_owned());
    }
    Resource::list(title, &lines.join("\n"))
}

fn of_selection(
    world: &World,
    context: &ClientContext,
    open: Text,
    folders: &[PathBuf],
) -> Result<Option<Resource>, String> {
    if context.is_worded {
        return Ok(None);
    }
    let selection = context.selection.as_ref();
    let Some((uri, range)) = selection.and_then(|origin| Some((&origin.uri, origin.range?))) else {
        return Err(format!(
            "the prompt mentions @selection, and no selection came with it; select lines in the editor, or {IN_BACKTICKS}"
        ));
    };
    let file = find(folders, world, uri, open)?;
    let name = file.display;
    Ok(Some(Resource { name, text: file.text, range: Some(range), kind: AttachmentKind::File }))
}

fn of_problems(place: &SessionWorld, context: &ClientContext) -> Result<Option<Resource>, String> {
    if context.is_worded {
        return Ok(None);
    }
    let mut lines = Vec::new();
    for document in &context.problems {
        let Ok(at) = resolve(&place.roots, &document.uri) else { continue };
        // Messages of compilers quote the lines that they are about.
        let is_withheld = held_by(&at, &place.world.own(&place.roots)).is_some()
            || read_denied(&place.world, &place.roots, &at).is_some();
        if at.inside && !is_withheld {
            let most = MAX_PROBLEMS.saturating_sub(lines.len());
            lines.extend(problem_lines(&at.display, &document.diagnostics, most));
        }
    }
    if lines.is_empty() {
        return Err(format!(
            "the prompt mentions @diagnostics, and no problems of the workspace came with it; if there are some, start from one \
             of them with a code action, or {IN_BACKTICKS}"
        ));
    }
    Ok(Some(Resource::list("problems that the editor reports".to_owned(), &lines.join("\n"))))
}

fn of_changes(place: &SessionWorld) -> Resource {
    let title = "changes of this session".to_owned();
    let world = &place.world;
    let denied = |roots: &Roots, at: &ResolvedPath| read_denied(world, roots, at);
    let texts = EarlierTexts { reviews: &world.reviews, documents: &world.documents, denied };
    let changes = texts.diff(|owned| owned.session == place.id);
    if changes.diff.is_empty() {
        return Resource::note(format!("{title} (there are none)"));
    }
    Resource::list(title, &changes.diff)
}

fn of_open(place: &SessionWorld) -> Resource {
    let title = "documents that are open in the editor".to_owned();
    let buffers = place.world.documents.buffers();
    let unsaved = buffers.unsaved();
    let mut lines = Vec::new();
    let first = place.roots.paths().next();
    for root in place.roots.paths() {
        for (path, _) in buffers.below(root) {
            let mark = if unsaved.contains(path) { " (not saved)" } else { "" };
            let below = first.and_then(|first| path.strip_prefix(first).ok()).unwrap_or(path);
            let line = format!("{}{mark}", shown_path(&below.to_string_lossy()));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    if lines.is_empty() {
        return Resource::note(format!("{title} (there are none in the workspace)"));
    }
    Resource::list(title, &lines.join("\n"))
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("one {what}") } else { format!("{count} {what}s") }
}
