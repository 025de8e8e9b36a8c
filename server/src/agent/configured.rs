//! The settings and workspace folders of the client, which it may change while the server runs.
//!
//! Changes take effect in the order of arrival: a prompt uses all changes that came before it. Never sends a
//! request to the client; its face does.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use adjutant_core::config::Problem;
use adjutant_core::text::display::one_line;
use serde_json::Value;

use crate::session::World;
use crate::settings::{Sources, UserFileState, load};
use crate::uri;

/// Workspace folders that one client may have; a message says that the others are not used.
const MAX_FOLDERS: usize = 1_000;
/// Characters of a folder in a message.
const MAX_SHOWN: usize = 200;

/// The settings and folders that the client has sent.
pub struct ClientConfiguration {
    /// Its roots are the workspace folders.
    sources: Mutex<Sources>,
    /// The user's file as it was last read.
    read: Mutex<UserFileState>,
    /// Whether the client has sent its section of settings. Until then the settings of the start count.
    said: Mutex<bool>,
}

impl ClientConfiguration {
    /// `read` is the state of the user's file when these settings were loaded.
    pub fn new(sources: Sources, read: UserFileState) -> Self {
        Self { sources: Mutex::new(sources), read: Mutex::new(read), said: Mutex::default() }
    }

    /// The workspace folders for new sessions.
    pub fn folders(&self) -> Vec<PathBuf> {
        lock(&self.sources).roots.clone()
    }

    /// Everything that the settings come from.
    pub fn sources(&self) -> Sources {
        lock(&self.sources).clone()
    }

    /// Whether the client has sent its section of settings since the start.
    pub fn was_said(&self) -> bool {
        *lock(&self.said)
    }

    /// Reads all settings again if the user's file was written since; open runs keep their settings. Returns the problems with it.
    ///
    /// No client watches that file: it is outside the workspace. So it is looked at whenever its settings are about to be used.
    pub fn refresh(&self, world: &World) -> Vec<String> {
        let sources = lock(&self.sources);
        if *lock(&self.read) == sources.user_file_state() {
            return Vec::new();
        }
        let file = sources.user_file().map(|path| path.to_string_lossy().into_owned());
        let mut problems = self.reload(world, &sources);
        // The user has read the others before.
        problems.retain(|problem| problem.file == file);
        problems.iter().map(ToString::to_string).collect()
    }

    fn reload(&self, world: &World, sources: &Sources) -> Vec<Problem> {
        let loaded = load(sources);
        *lock(&self.read) = loaded.read;
        world.set_settings(loaded.settings);
        loaded.problems
    }

    /// Replaces the editor's section of settings; open runs keep their settings. Returns the problems with it.
    pub fn set_section(&self, world: &World, section: Value) -> Vec<String> {
        if !section.is_object() {
            return vec![not_an_object(&section)];
        }
        *lock(&self.said) = true;
        let mut sources = lock(&self.sources);
        sources.editor = Some(section);
        self.reload(world, &sources).iter().map(ToString::to_string).collect()
    }

    /// Adds and removes workspace folders; sessions keep the folders they began with. Returns the problems with
    /// them.
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
        // Names are only added, because sessions continue in folders that were closed.
        world.documents.add_folders(&sources.roots);
        problems.extend(self.reload(world, &sources).iter().map(ToString::to_string));
        problems
    }
}

/// Removes the folders beyond `MAX_FOLDERS`, and returns a message if there were any.
pub fn bound(folders: &mut Vec<PathBuf>) -> Option<String> {
    if folders.len() <= MAX_FOLDERS {
        return None;
    }
    folders.truncate(MAX_FOLDERS);
    Some(format!("only the first {MAX_FOLDERS} workspace folders are used"))
}

/// Returns the folders for a session about a document: the folder that contains it is the first, because commands
/// run there. Reads the disk.
pub fn folders_for(mut folders: Vec<PathBuf>, uri: &str) -> Vec<PathBuf> {
    let Ok(path) = uri::to_path(uri) else { return folders };
    // The depth decides: of nested folders, the inner one is the first.
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

/// Whether settings mean "there are none": null, or an empty text or list.
pub fn says_nothing(settings: &Value) -> bool {
    match settings {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns the message for settings that are not an object. The settings from before stay in use.
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

/// Returns a message for each of these workspace folders that cannot be read. Waits for the disk.
pub async fn absent(folders: Vec<PathBuf>) -> Vec<String> {
    let check = move || folders.iter().take(MAX_FOLDERS).filter_map(|folder| unreadable(folder)).collect();
    tokio::task::spawn_blocking(check).await.unwrap_or_default()
}

/// Returns a message if a workspace folder cannot be read. The folder stays in the list, because it may be made
/// later.
fn unreadable(folder: &Path) -> Option<String> {
    let why = match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => return None,
        Ok(_) => "is not a folder",
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "does not exist",
        Err(_) => "cannot be read",
    };
    let folder = one_line(&folder.to_string_lossy(), MAX_SHOWN);
    Some(format!("a workspace folder {why}, so Adjutant does nothing there. Open another folder: {folder}"))
}
