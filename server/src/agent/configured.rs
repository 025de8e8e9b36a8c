//! What the client may change while the server runs: its settings and its workspace folders.
//!
//! Takes effect in the order of arrival: a prompt sees what was said before it. Never asks the
//! client; its face does.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use adjutant_core::text::display::one_line;
use serde_json::Value;

use crate::session::World;
use crate::settings::{Sources, load};
use crate::uri;

/// Workspace folders one client may have; the rest are left out, and that is told.
const MAX_FOLDERS: usize = 1_000;
/// Characters of a folder in a message.
const MAX_SHOWN: usize = 200;

/// Settings and folders as the client says they are.
pub struct ClientConfiguration {
    /// Its roots are the workspace folders.
    sources: Mutex<Sources>,
    /// Whether the section of the editor was ever there: until then what it said at the start counts.
    said: Mutex<bool>,
}

impl ClientConfiguration {
    pub fn new(sources: Sources) -> Self {
        Self { sources: Mutex::new(sources), said: Mutex::default() }
    }

    /// The folders that later sessions get.
    pub fn folders(&self) -> Vec<PathBuf> {
        lock(&self.sources).roots.clone()
    }

    /// Whether the client has said its settings since it started.
    pub fn was_said(&self) -> bool {
        *lock(&self.said)
    }

    /// Takes another section of the editor; runs keep their settings. Returns what is wrong with it.
    pub fn set_section(&self, world: &World, section: Value) -> Vec<String> {
        if !section.is_object() {
            return vec![not_an_object(&section)];
        }
        *lock(&self.said) = true;
        let mut sources = lock(&self.sources);
        sources.editor = Some(section);
        reload(world, &sources)
    }

    /// Takes folders in and out; sessions keep those they began with. Returns what is wrong with them.
    pub fn change_folders(&self, world: &World, added: Vec<PathBuf>, removed: &[PathBuf]) -> Vec<String> {
        let mut problems = Vec::new();
        let mut sources = lock(&self.sources);
        sources.roots.retain(|folder| !removed.contains(folder));
        for folder in added {
            if !sources.roots.contains(&folder) {
                sources.roots.push(folder);
            }
        }
        problems.extend(bound(&mut sources.roots));
        // Sessions go on in folders that were closed, so their names stay known.
        world.documents.add_folders(&sources.roots);
        problems.extend(reload(world, &sources));
        problems
    }
}

/// Leaves out the folders that are too many, and says so.
pub fn bound(folders: &mut Vec<PathBuf>) -> Option<String> {
    if folders.len() <= MAX_FOLDERS {
        return None;
    }
    folders.truncate(MAX_FOLDERS);
    Some(format!("only the first {MAX_FOLDERS} workspace folders are used"))
}

/// Returns the folders in the order that a session about this document gets them: the one that holds
/// it is the first, in which its commands run. Looks at the disk.
pub fn folders_for(mut folders: Vec<PathBuf>, uri: &str) -> Vec<PathBuf> {
    let Ok(path) = uri::to_path(uri) else { return folders };
    // Of folders within folders the inner one is meant.
    let holds = |folder: &Path| {
        let named = path.starts_with(folder);
        let resolved = || folder.canonicalize().is_ok_and(|resolved| path.starts_with(resolved));
        (named || resolved()).then(|| folder.components().count())
    };
    let home = folders.iter().enumerate().filter_map(|(at, folder)| Some((holds(folder)?, at)));
    if let Some((_, at)) = home.max_by_key(|(depth, at)| (*depth, std::cmp::Reverse(*at))) {
        let home = folders.remove(at);
        folders.insert(0, home);
    }
    folders
}

/// Whether settings are how a client writes "there are none": null, or an empty text or list.
pub fn says_nothing(settings: &Value) -> bool {
    match settings {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Says that settings have the wrong shape, so that those from before stay in use.
fn not_an_object(settings: &Value) -> String {
    let shape = match settings {
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        _ => "a single value",
    };
    format!(
        "the editor's settings for \"adjutant\" are {shape}, so they are not used. Write them as an object, such as \
         {{\"model\": \"PROVIDER/MODEL\"}}"
    )
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reload(world: &World, sources: &Sources) -> Vec<String> {
    let loaded = load(sources);
    world.set_settings(loaded.settings);
    loaded.problems.iter().map(ToString::to_string).collect()
}

/// Says in which of these workspace folders nothing can be read. Waits for the disk.
pub async fn absent(folders: Vec<PathBuf>) -> Vec<String> {
    let look = move || folders.iter().take(MAX_FOLDERS).filter_map(|folder| not_there(folder)).collect();
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// Says why nothing can be read in a workspace folder. It stays one: it may be made later.
fn not_there(folder: &Path) -> Option<String> {
    let why = match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => return None,
        Ok(_) => "is not a folder",
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "does not exist",
        Err(_) => "cannot be read",
    };
    let folder = one_line(&folder.to_string_lossy(), MAX_SHOWN);
    Some(format!("a workspace folder {why}, so Adjutant does nothing there. Open another folder: {folder}"))
}
