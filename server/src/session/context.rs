//! Reads the texts of the prompt that are no part of the conversation: instructions, memory, skills, the surroundings.
//!
//! Never decides whether a text is new to the session, and never runs a program. All of it has a time limit: what is not read
//! by then is left out, and the run begins.

mod files;
mod surroundings;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use surroundings::elsewhere;

use adjutant_core::machine::input::Report;
use adjutant_core::prompt::reminder::{EditorNow, OpenDocument};
use adjutant_core::record::{ContextKind, ContextText};
use adjutant_core::session::Reads;

use super::{SessionWorld, World};
use crate::aside::aside;
use crate::tools::paths::Roots;

/// How long a run waits for the texts of its prompt at most: a file system may not answer.
const READ_WAIT: Duration = Duration::from_secs(3);
/// The least time between two looks at the surroundings: to read a large repository takes a core for some time.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a request waits for what the editor shows.
const NOW_WAIT: Duration = Duration::from_millis(500);

/// Reads the texts of the prompt of a run that begins.
pub async fn read(place: &Arc<SessionWorld>) -> Report {
    // What differs from the first surroundings is in the reminder, so that a later run does not wait for the repository.
    if place.surroundings.get().is_some() {
        return Report::ContextRead(files_of(&place.world, &place.roots).await);
    }
    let texts = texts(&place.world, &place.roots).await;
    if let Some(seen) = texts.iter().find(|text| text.kind == ContextKind::Surroundings) {
        place.surroundings.set(seen.clone());
    }
    Report::ContextRead(texts)
}

/// Reads the texts that the prompt of a run in these folders would have now.
pub async fn texts(world: &Arc<World>, roots: &Roots) -> Vec<ContextText> {
    let folders = roots.clone();
    let surroundings = tokio::time::timeout(READ_WAIT, aside(move || surroundings::text(&folders)));
    let (files, surroundings) = tokio::join!(files_of(world, roots), surroundings);
    surroundings.into_iter().chain(files).collect()
}

/// Reads the same without the surroundings.
async fn files_of(world: &Arc<World>, roots: &Roots) -> Vec<ContextText> {
    let (world, roots) = (world.clone(), roots.clone());
    let files = tokio::time::timeout(READ_WAIT, aside(move || files::all(&world, &roots))).await;
    files.unwrap_or_else(|_| {
        tracing::warn!("the instructions were not read in time; the run begins without them");
        Vec::new()
    })
}

/// Adds to a look at the files that the model knows the instructions of their folders.
pub async fn with_instructions(place: &Arc<SessionWorld>, reads: Reads, report: Report) -> Report {
    let Report::LookedOutside(Some(mut look)) = report else { return report };
    let here = place.clone();
    let found = tokio::time::timeout(
        READ_WAIT,
        aside(move || files::nested_instructions(&here.world, &here.roots, &reads)),
    );
    look.instructions = found.await.unwrap_or_default();
    Report::LookedOutside(Some(look))
}

/// The surroundings as they were last seen. A request never waits for them, because reading a large repository takes longer than
/// making the request.
#[derive(Default)]
pub struct LastSurroundings {
    seen: Mutex<Option<ContextText>>,
    is_looking: AtomicBool,
    looked: Mutex<Option<Instant>>,
}

impl LastSurroundings {
    fn get(&self) -> Option<ContextText> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, seen: ContextText) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }
}

/// Looks at the surroundings in the background, for the requests after this one. Not more often than each [`LOOK_EVERY`].
fn look_around(place: &Arc<SessionWorld>) {
    let mut looked = place.surroundings.looked.lock().unwrap_or_else(PoisonError::into_inner);
    if looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
        return;
    }
    *looked = Some(Instant::now());
    drop(looked);
    if place.surroundings.is_looking.swap(true, Ordering::AcqRel) {
        return;
    }
    let here = place.clone();
    tokio::spawn(async move {
        let looking = here.clone();
        let seen = tokio::time::timeout(READ_WAIT, aside(move || surroundings::text(&looking.roots))).await;
        if let Ok(seen) = seen {
            here.surroundings.set(seen);
        }
        here.surroundings.is_looking.store(false, Ordering::Release);
    });
}

/// Returns what the editor shows now, for the reminder of a request.
pub async fn now(place: &Arc<SessionWorld>) -> EditorNow {
    let surroundings = place.surroundings.get();
    look_around(place);
    EditorNow { surroundings, ..editor(&place.world, &place.roots).await }
}

/// Returns what the editor shows now, without the surroundings.
pub async fn editor(world: &Arc<World>, roots: &Roots) -> EditorNow {
    let (here, folders) = (world.clone(), roots.clone());
    let open = tokio::time::timeout(NOW_WAIT, aside(move || open_documents(&here, &folders))).await;
    EditorNow { open: open.unwrap_or_default(), cursor: None, surroundings: None }
}

/// Returns the open documents of the workspace, in the order of their names.
fn open_documents(world: &World, roots: &Roots) -> Vec<OpenDocument> {
    let buffers = world.documents.buffers();
    let unsaved = buffers.unsaved();
    let mut open: Vec<OpenDocument> = buffers
        .paths()
        .filter_map(|path| {
            let path = path.as_path();
            Some(OpenDocument {
                path: display(roots, path)?,
                unsaved: unsaved.iter().any(|other| other == path),
            })
        })
        .collect();
    open.sort_by(|one, other| one.path.cmp(&other.path));
    open
}

/// Returns a path of the workspace as the model knows it; `None` if it is in no folder of it.
fn display(roots: &Roots, path: &Path) -> Option<String> {
    let mut folders = roots.paths();
    let first = folders.next()?;
    if let Ok(below) = path.strip_prefix(first) {
        return Some(below.display().to_string());
    }
    folders.any(|root| path.starts_with(root)).then(|| path.display().to_string())
}

fn text_of(kind: ContextKind, source: String, text: String, left_out: u64) -> ContextText {
    let (name, summary) = Default::default();
    ContextText { kind, source, text: text.into(), name, summary, left_out }
}
