//! Which hunks of a decision are in files of which this process has another text open than the disk has. The process that
//! carries the decision out does not know that text, and would change the file beneath it.
//!
//! Never changes a file, and never decides.

use std::collections::BTreeSet;
use std::path::PathBuf;

use adjutant_core::machine::input::ReviewAct;
use adjutant_core::record::HunkSet;
use adjutant_core::session::{AppliedChange, NameOfFile, Session};
use adjutant_core::text::display::shown_path;
use adjutant_core::wire::review::applied_states;
use adjutant_protocol::SessionId;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{DecidedHunk, ReviewAction, ReviewDecideParams};
use adjutant_protocol::rewind::RewindParams;
use adjutant_tools::documents::Buffers;
use serde_json::Value;

use crate::client::Level;
use crate::session::World;
use crate::session::inbox::ReviewRequest;
use crate::session::mailbox::ClientError;
use crate::session::replay;
use crate::uri;

/// Takes the hunks out of an undo or a restore whose files have another text in this editor than on disk, and returns them with
/// the reason. Blocks.
///
/// # Errors
///
/// A rewind of such a file is refused whole, because it is what its preview showed or nothing.
pub(super) fn take_out(world: &World, request: &mut ReviewRequest) -> Result<Vec<DecidedHunk>, ClientError> {
    match request {
        ReviewRequest::Decide(decision) => take_out_hunks(world, decision),
        ReviewRequest::Rewind(params) => refuse_rewind(world, params).map(|()| Vec::new()),
        ReviewRequest::Preview(_) | ReviewRequest::Comment(_) => Ok(Vec::new()),
    }
}

fn refuse_rewind(world: &World, params: &RewindParams) -> Result<(), ClientError> {
    let unsaved = differing(world);
    if unsaved.is_empty() {
        return Ok(());
    }
    let session = fold(world, &params.session_id)?;
    match rewound(&session, params).find(|name| unsaved.contains(&name.target)) {
        Some(name) => {
            let verb = if params.restore { "restore" } else { "undo" };
            let why = format!("nothing was changed: {}", reason(&shown_path(&name.path), verb));
            Err(ClientError::new(ErrorName::HunkConflict, why))
        }
        None => Ok(()),
    }
}

/// Returns the files that a rewind is about, each by all its names.
fn rewound<'a>(session: &'a Session, params: &'a RewindParams) -> impl Iterator<Item = NameOfFile> + 'a {
    session.applied.all().into_iter().flat_map(|change| {
        // A file that was moved has two names, and the rewind changes both.
        let names = change.names();
        let is_meant = names.iter().any(|name| params.expect.contains_key(&name.target))
            || params.expect.contains_key(&change.uri);
        if is_meant { names } else { Vec::new() }
    })
}

/// The texts that this editor had when a request was left for another process.
pub(super) struct TextsThen(Buffers);

impl TextsThen {
    pub(super) fn of(world: &World) -> Self {
        Self(world.documents.buffers())
    }

    /// Returns what the user typed since into the files that the request changes. Blocks.
    pub(super) fn typed(&self, world: &World, request: &ReviewRequest) -> Vec<TypedText> {
        let typed: Vec<PathBuf> = world.documents.buffers().typed_since(&self.0);
        if typed.is_empty() {
            return Vec::new();
        }
        // What cannot be read is refused by the process that has the session.
        let Ok(session) = fold(world, request.session()) else { return Vec::new() };
        let names: Vec<NameOfFile> = match request {
            ReviewRequest::Decide(ReviewDecideParams {
                action: ReviewAction::Undo | ReviewAction::Restore,
                targets,
                ..
            }) => {
                let changes = targets.iter().filter_map(|target| session.applied.get(&target.change_set_id));
                changes.flat_map(|change| change.names()).collect()
            }
            ReviewRequest::Rewind(params) => rewound(&session, params).collect(),
            ReviewRequest::Decide(_) | ReviewRequest::Preview(_) | ReviewRequest::Comment(_) => Vec::new(),
        };
        let meant = |path: PathBuf| {
            let target = uri::of_path(&path);
            let name = names.iter().find(|name| name.target == target)?;
            Some(TypedText { path: name.path.clone(), is_beneath: !self.0.is_on_disk(&path) })
        };
        typed.into_iter().filter_map(meant).collect()
    }
}

/// A file in which the user typed while another process was to change it.
pub(super) struct TypedText {
    path: String,
    /// Whether its text on disk was changed meanwhile.
    is_beneath: bool,
}

impl TypedText {
    /// Tells the user if the file changed beneath what was typed.
    pub(super) fn tell(&self, world: &World) {
        if self.is_beneath {
            let text = format!(
                "Adjutant: {} was changed on disk while you typed in it here. Your text is still here; compare the two \
                 before you save.",
                shown_path(&self.path)
            );
            world.link.say(Level::Warning, &text);
        }
    }
}

fn fold(world: &World, id: &SessionId) -> Result<Session, ClientError> {
    replay::fold(&world.catalog, id).map_err(|why| {
        ClientError::new(ErrorName::SessionReadOnly, format!("read the changes of session {id}: {why}"))
    })
}

/// Whether nothing is left to decide about.
pub(super) fn is_empty(request: &ReviewRequest) -> bool {
    matches!(request, ReviewRequest::Decide(decision) if decision.targets.is_empty())
}

/// Returns the result of a decision together with the hunks that were taken out of it.
pub(super) fn with(mut done: Value, refused: &[DecidedHunk]) -> Result<Value, ClientError> {
    if let Value::Array(hunks) = &mut done {
        for hunk in refused {
            hunks.push(serde_json::to_value(hunk).map_err(|error| {
                ClientError::new(ErrorName::Overloaded, format!("the result is lost: {error}"))
            })?);
        }
    }
    Ok(done)
}

/// Returns the files that have another text in this editor than on disk, as URIs. Blocks.
fn differing(world: &World) -> BTreeSet<String> {
    world.documents.buffers().unsaved().iter().map(|path| uri::of_path(path)).collect()
}

fn reason(path: &str, verb: &str) -> String {
    format!(
        "the text of {path} in this editor is not the one on disk; save it, or load the file again, then {verb}"
    )
}

fn take_out_hunks(world: &World, decision: &mut ReviewDecideParams) -> Result<Vec<DecidedHunk>, ClientError> {
    let (act, verb) = match decision.action {
        ReviewAction::Undo => (ReviewAct::Undo, "undo"),
        ReviewAction::Restore => (ReviewAct::Restore, "restore"),
        ReviewAction::Apply | ReviewAction::Reject | ReviewAction::Keep => return Ok(Vec::new()),
    };
    let unsaved = differing(world);
    if unsaved.is_empty() {
        return Ok(Vec::new());
    }
    let session = fold(world, &decision.session_id)?;
    let path_of = |change: &AppliedChange| {
        let of_file = change.names().into_iter().find(|name| unsaved.contains(&name.target));
        of_file.map(|name| name.path)
    };
    let mut refused = Vec::new();
    decision.targets.retain_mut(|target| {
        let Some(change) = session.applied.get(&target.change_set_id) else { return true };
        let Some(path) = path_of(change) else { return true };
        let is_whole = target.hunk_ids.is_empty();
        let hunks: Vec<String> = match is_whole {
            true => act.possible(change).collect(),
            // An unknown one is refused by the process that has the session.
            false => target.hunk_ids.extract_if(.., |id| change.hunk(id).is_some()).collect(),
        };
        let set = HunkSet { change_set: target.change_set_id.clone(), hunks };
        let why = reason(&path, verb);
        refused.extend(applied_states(&session, &[set], |_, _| Some(why.clone())));
        !is_whole && !target.hunk_ids.is_empty()
    });
    Ok(refused)
}
