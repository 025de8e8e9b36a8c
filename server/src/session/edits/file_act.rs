//! Does, undoes and restores the deletion or the move of a file, and says by the disk what became of it.
//!
//! Never believes a reply without the disk, and never replaces another file.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::machine::input::{EditLocation, EditOutcome};
use adjutant_core::policy::observation::EditRoute;
use adjutant_core::record::{EditCheck, FileChange, FileOperation};
use adjutant_core::session::AppliedChange;
use adjutant_core::text::trace::Formatting;
use tokio::time::Instant;

use super::operation::{check_buffers, no_route, read_content, route};
use super::{SETTLE, SessionWorld};
use crate::aside::{self, aside};
use crate::documents::Text;
use crate::editor::{ApplyReply, FileEdit, NoAnswer};
use crate::faults::point;
use crate::tools::paths::{ResolvedPath, create_file, hash_of, move_file, remove_file, resolve};
use crate::uri;

/// How often the disk is looked at while the editor works; it sends no notification of its files.
const LOOK: Duration = Duration::from_millis(50);

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
        Ok(()) => EditOutcome::Landed {
            location: EditLocation::Saved,
            exact: true,
            formatted: Formatting::default(),
        },
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
        ActState::Neither(why) => {
            let other = act.from.find(place).ok().filter(|at| at.kind.is_some());
            let why = other.map_or(why, |at| format!("another file is at \"{}\"", at.display));
            return Err(format!("{why}; nothing is replaced"));
        }
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
