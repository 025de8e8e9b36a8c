//! Deletes and moves whole files: what a call would do, how it is done and undone, and what became of it.
//!
//! Never believes a reply without the disk, never replaces another file, and never takes a file away from text that only
//! the editor has.

use std::fmt::Write as _;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::machine::input::{EditLocation, EditOutcome};
use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::policy::observation::EditRoute;
use adjutant_core::record::{EditCheck, FileChange, FileOperation, RunId};
use adjutant_core::session::AppliedChange;
use adjutant_core::text::edit::split_bom;
use adjutant_core::text::review::{Hunk, apply_hunks, hunks};
use tokio::time::Instant;

use super::{MAX_FILE, SETTLE, SessionWorld, put_blob};
use crate::aside::{self, aside};
use crate::documents::Text;
use crate::editor::{ApplyReply, FileEdit, NoAnswer};
use crate::faults::point;
use crate::tools::paths::{
    OpenRefusal, PathType, ResolvedPath, create_file, hash_of, move_file, open_read, remove_file, resolve,
};
use crate::uri;

/// How often the disk is looked at while the editor works; it sends no notification of its files.
const LOOK: Duration = Duration::from_millis(50);

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
struct FileContent {
    bytes: Vec<u8>,
    mode: u32,
}

fn read_content(at: &ResolvedPath) -> Result<FileContent, (Cause, String)> {
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
fn check_buffers(
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

fn route(place: &SessionWorld, is_open: bool, moves: bool) -> Option<EditRoute> {
    place.world.abilities().way_of_file(is_open, moves)
}

/// The reason for an operation that has no route.
fn no_route(name: &str, is_open: bool, moves: bool) -> String {
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
    let run = first.run.clone();
    let mut text = String::new();
    for owned in &changes {
        let change = &owned.change;
        let is_of_run = owned.session == place.id && change.run == run && change.operation.is_none();
        if !is_of_run || change.existed == (change.change_set == first.change_set) {
            return None;
        }
        let lines = change.hunks.iter().map(|hunk| change.lines_of(hunk).cloned());
        text = apply_hunks(&text, &lines.collect::<Option<Vec<Hunk>>>()?).ok()?;
    }
    let now = std::str::from_utf8(bytes).ok()?;
    (split_bom(now).1 == split_bom(&text).1).then_some(run)
}

/// One deletion or move: its names, and the content that the file must have.
#[derive(Clone)]
pub struct FileAct {
    from: FileName,
    to: Option<FileName>,
    /// Hash of the content.
    content: String,
}

/// A file as the user knows it, and the place that this meant.
#[derive(Clone)]
struct FileName {
    path: String,
    target: String,
}

/// What the disk says of an act.
enum ActState {
    Before(Box<ActPlaces>),
    After,
    /// Neither; with the reason.
    Neither(String),
}

struct ActPlaces {
    from: ResolvedPath,
    to: Option<ResolvedPath>,
    bytes: Vec<u8>,
}

/// Why an act was not done.
pub struct ActFailure {
    pub why: String,
    /// Whether it may still be done.
    pub in_doubt: bool,
}

impl FileAct {
    /// Returns the act of a change; `None` if it is an edit of lines.
    pub fn of(change: &FileChange) -> Option<Self> {
        let operation = change.operation.as_ref()?;
        Self::new(&change.path, &change.target, operation, change.before.as_ref()?)
    }

    /// Returns the act of an applied change; `None` if it is an edit of lines.
    pub fn of_applied(change: &AppliedChange) -> Option<Self> {
        let operation = change.operation.as_ref()?;
        Self::new(&change.path, &change.target, operation, change.before.as_ref()?)
    }

    fn new(path: &str, target: &str, operation: &FileOperation, content: &str) -> Option<Self> {
        let name = |path: &str, target: &str| FileName { path: path.to_owned(), target: target.to_owned() };
        let to = match operation {
            FileOperation::Delete { .. } => None,
            FileOperation::Move { path, target, .. } => Some(name(path, target)),
        };
        Some(Self { from: name(path, target), to, content: content.to_owned() })
    }

    /// Returns the act that takes a move back; `None` for a deletion.
    fn reversed(&self) -> Option<Self> {
        let to = self.to.clone()?;
        Some(Self { from: to, to: Some(self.from.clone()), content: self.content.clone() })
    }

    /// Whether the disk shows it as done, as not done, or neither. Blocks.
    pub fn check(&self, place: &SessionWorld) -> EditCheck {
        match self.state(place) {
            ActState::Before(_) => EditCheck::NotLanded,
            ActState::After => EditCheck::Landed,
            ActState::Neither(_) => EditCheck::Unclear,
        }
    }

    /// Fails with the reason if it is done, or cannot be done any more. Blocks.
    pub fn waits(&self, place: &SessionWorld) -> Result<(), String> {
        match self.state(place) {
            ActState::Before(_) => Ok(()),
            ActState::After => Err("it is done already".to_owned()),
            ActState::Neither(why) => Err(why),
        }
    }

    /// Looks at the disk. Blocks.
    fn state(&self, place: &SessionWorld) -> ActState {
        self.looked(place).unwrap_or_else(ActState::Neither)
    }

    fn looked(&self, place: &SessionWorld) -> Result<ActState, String> {
        let from = self.from.find(place)?;
        let to = self.to.as_ref().map(|to| to.find(place)).transpose()?;
        let there = to.as_ref().and_then(|to| to.kind);
        match (from.kind, &to, there) {
            (None, None, _) => Ok(ActState::After),
            (None, Some(to), Some(_)) => {
                self.content_at(to)?;
                Ok(ActState::After)
            }
            (None, Some(_), None) => Err(format!("\"{}\" is not there now", from.display)),
            (Some(_), Some(to), Some(_)) => Err(format!("\"{}\" exists already", to.display)),
            (Some(_), _, None) => {
                let bytes = self.content_at(&from)?;
                Ok(ActState::Before(Box::new(ActPlaces { from, to, bytes })))
            }
            (Some(_), None, Some(_)) => Err("its place is not clear".to_owned()),
        }
    }

    /// Returns the content of a file, if it is the expected one.
    fn content_at(&self, at: &ResolvedPath) -> Result<Vec<u8>, String> {
        let bytes = read_content(at).map_err(|(_, why)| why)?.bytes;
        if hex(&hash_of(&bytes)) != self.content {
            return Err(format!("\"{}\" has another content now", at.display));
        }
        Ok(bytes)
    }
}

impl FileName {
    /// Resolves the name again. Fails if it means another place now.
    fn find(&self, place: &SessionWorld) -> Result<ResolvedPath, String> {
        let at = resolve(&place.roots, &self.path).map_err(|why| why.to_string())?;
        if !at.inside || at.is_link || uri::of_path(&at.absolute) != self.target {
            return Err(format!("\"{}\" leads elsewhere now", self.path));
        }
        if at.has_other_names() {
            return Err(format!("\"{}\" has other names (hard links) now", self.path));
        }
        Ok(at)
    }
}

fn hex(sum: &[u8; 32]) -> String {
    sum.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// How an act continues after a look at the disk.
enum ActPlan {
    Done,
    Failed(String),
    OnDisk(Box<ActPlaces>),
    Send(FileEdit),
}

/// Does an allowed deletion or move, and says what became of it.
pub(super) async fn apply(place: &Arc<SessionWorld>, title: &str, act: FileAct) -> EditOutcome {
    match carry_out(place, title, act).await {
        Ok(()) => EditOutcome::Landed { location: EditLocation::Saved, exact: true },
        Err(ActFailure { why, in_doubt }) => EditOutcome::NotApplied { why, in_doubt },
    }
}

/// Deletes or moves a file, unless that is done already. Succeeds only if the disk shows it.
async fn carry_out(place: &Arc<SessionWorld>, title: &str, act: FileAct) -> Result<(), ActFailure> {
    let failed = |why: String| Err(ActFailure { why, in_doubt: false });
    let turns = turns(place, &act).await;
    let (here, owned, label) = (place.clone(), act.clone(), format!("Adjutant: {title}"));
    match aside(move || plan(&here, label, &owned)).await {
        ActPlan::Done => Ok(()),
        ActPlan::Failed(why) => failed(why),
        ActPlan::Send(edit) => send(place, edit, act).await,
        ActPlan::OnDisk(places) => {
            let locks = place.world.write_locks.clone();
            point("edit-sent");
            // A cancel ends the wait but not the work, which holds the locks until its end.
            let done = aside::attempt(move || {
                let _turns = turns;
                let ActPlaces { from, to, bytes } = *places;
                match to {
                    None => remove_file(&locks, &from, hash_of(&bytes)),
                    Some(to) => move_file(&locks, &from, &to, hash_of(&bytes)),
                }
            })
            .await;
            point("edit-answered");
            match done {
                Ok(Ok(())) => {
                    point("edit-landed");
                    point("edit-saved");
                    Ok(())
                }
                Ok(Err(why)) => failed(why.to_string()),
                Err(_) => failed("it broke inside Adjutant".to_owned()),
            }
        }
    }
}

/// Waits for the locks of all names of an act, in one order for every act.
async fn turns(place: &SessionWorld, act: &FileAct) -> Vec<tokio::sync::OwnedMutexGuard<()>> {
    let targets = [Some(&act.from), act.to.as_ref()].into_iter().flatten();
    let mut paths: Vec<_> = targets.filter_map(|name| uri::to_path(&name.target).ok()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut turns = Vec::new();
    for path in paths {
        turns.push(place.world.edit_turns.turn(&path).await);
    }
    turns
}

/// Looks at the disk and the open documents, and decides how the act is done. Blocks.
fn plan(place: &SessionWorld, label: String, act: &FileAct) -> ActPlan {
    let places = match act.state(place) {
        ActState::After => return ActPlan::Done,
        ActState::Neither(why) => return ActPlan::Failed(why),
        ActState::Before(places) => places,
    };
    let ActPlaces { from, to, bytes } = &*places;
    let is_open = match check_buffers(place, from, to.as_ref(), bytes) {
        Ok(is_open) => is_open,
        Err(why) => return ActPlan::Failed(why),
    };
    match route(place, is_open, to.is_some()) {
        Some(EditRoute::Disk) => ActPlan::OnDisk(places),
        Some(_) => {
            let name = |at: &ResolvedPath| place.world.documents.name_of(&at.absolute);
            ActPlan::Send(FileEdit { label, uri: name(from), to: to.as_ref().map(name) })
        }
        None => ActPlan::Failed(no_route(&from.display, is_open, to.is_some())),
    }
}

/// Sends an act to the editor and waits until the disk shows it.
async fn send(place: &Arc<SessionWorld>, edit: FileEdit, act: FileAct) -> Result<(), ActFailure> {
    let look = || {
        let (here, owned) = (place.clone(), act.clone());
        aside(move || owned.check(&here))
    };
    point("edit-sent");
    let request = place.world.link.file_edit(edit);
    tokio::pin!(request);
    let mut reply: Option<Result<ApplyReply, NoAnswer>> = None;
    // The client limits how long it waits for a reply; after it, the disk may take a moment.
    let mut deadline: Option<Instant> = None;
    let check = loop {
        tokio::select! {
            answer = &mut request, if reply.is_none() => {
                let is_refused = !matches!(answer, Ok(ApplyReply { applied: true, .. }));
                deadline = Some(Instant::now() + if is_refused { LOOK } else { SETTLE });
                reply = Some(answer);
                point("edit-answered");
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        let check = look().await;
        if check == EditCheck::Landed || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break check;
        }
    };
    if check == EditCheck::Landed {
        point("edit-landed");
        point("edit-saved");
        return Ok(());
    }
    let in_doubt = !matches!(reply, Some(Ok(ApplyReply { applied: false, .. }) | Err(NoAnswer::Unknown)));
    let why = match reply {
        Some(Ok(ApplyReply { applied: true, .. })) => {
            "the editor said that it was done, but the disk does not show it".to_owned()
        }
        Some(Ok(ApplyReply { applied: false, reason })) => {
            reason.unwrap_or_else(|| "the editor refused it without a reason".to_owned())
        }
        Some(Err(why)) => why.to_string(),
        None => "the editor did not answer".to_owned(),
    };
    Err(ActFailure { why, in_doubt: in_doubt || check == EditCheck::Unclear })
}

/// Takes back a deletion or a move, unless that is done already. Succeeds only if the disk shows it.
pub async fn undo(place: &Arc<SessionWorld>, change: &AppliedChange) -> Result<(), String> {
    let act = FileAct::of_applied(change).ok_or("its content is not kept any more")?;
    if let Some(back) = act.reversed() {
        let title = format!("move {} back", change.path);
        return carry_out(place, &title, back).await.map_err(sentence);
    }
    let Some(FileOperation::Delete { mode }) = change.operation else { return Ok(()) };
    let turns = turns(place, &act).await;
    let here = place.clone();
    aside(move || {
        let _turns = turns;
        make_again(&here, &act, mode)
    })
    .await
}

/// Does a deletion or a move again that was undone.
pub async fn restore(place: &Arc<SessionWorld>, change: &AppliedChange) -> Result<(), String> {
    let act = FileAct::of_applied(change).ok_or("its content is not kept any more")?;
    let title = if act.to.is_some() { "move" } else { "delete" };
    carry_out(place, &format!("{title} {} again", change.path), act).await.map_err(sentence)
}

fn sentence(ActFailure { why, in_doubt }: ActFailure) -> String {
    if in_doubt { format!("{why}; it may still happen") } else { why }
}

/// Makes a deleted file again, with the bytes and the permissions that it had. Blocks.
fn make_again(place: &SessionWorld, act: &FileAct, mode: u32) -> Result<(), String> {
    let at = match act.state(place) {
        ActState::Before(_) => return Ok(()),
        ActState::Neither(why) => return Err(format!("{why}; nothing is replaced")),
        ActState::After => act.from.find(place)?,
    };
    if !matches!(place.world.documents.text(&at.absolute), Text::Closed) {
        return Err(format!(
            "\"{}\" is open in the editor without its file; close it there first",
            at.display
        ));
    }
    let bytes = place.blobs.get(&act.content).map_err(|_| "its text is not kept any more".to_owned())?;
    create_file(&place.world.write_locks, &at, &bytes, mode).map_err(|why| why.to_string())?;
    Ok(())
}
