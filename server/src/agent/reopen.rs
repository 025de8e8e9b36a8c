//! Opens sessions that an earlier server left open, so that the user sees their asks again.
//!
//! A client that supports asks as requests lists and resumes sessions itself. Never touches
//! a session that another process has open, and never answers an ask.

use std::path::PathBuf;

use adjutant_protocol::session::SessionEntry;
use adjutant_protocol::state::State;

use crate::aside::aside;
use crate::clock::now_ms;
use crate::sessions::Sessions;
use crate::uri;

/// Sessions that are opened; the user finds others with `adjutant.resume`.
const MAX_OPENED: usize = 3;
/// Sessions that are tried; other processes may have some of them open.
const MAX_TRIED: usize = 10;
/// The age of the last change up to which a session is opened: seven days.
const MAX_AGE_MS: u64 = 7 * 24 * 3_600 * 1_000;

/// Opens the newest sessions of these folders that wait for the user, so that their asks are
/// offered again.
pub async fn left_open(sessions: Sessions, folders: Vec<PathBuf>) {
    let oldest = now_ms().saturating_sub(MAX_AGE_MS);
    let waiting = waiting(&sessions, &folders).await;
    let mut opened = 0;
    for entry in waiting.into_iter().filter(|entry| entry.updated_at >= oldest).take(MAX_TRIED) {
        if opened >= MAX_OPENED {
            return;
        }
        // If it is in use or damaged, it is skipped; a request that names it gets the reason.
        opened += usize::from(sessions.resume(&entry.session_id, None, false).await.is_ok());
    }
}

/// Returns the sessions of these folders that may wait for the user, newest first. Includes sessions in the state
/// `running`: this process may just be opening one, and only opening it shows which process has it.
pub async fn waiting(sessions: &Sessions, folders: &[PathBuf]) -> Vec<SessionEntry> {
    let folders = folders.to_vec();
    let root = |folder: PathBuf| uri::of_path(&folder.canonicalize().unwrap_or(folder));
    let roots: Vec<String> = aside(move || folders.into_iter().map(root).collect()).await;
    let waits = |entry: &SessionEntry| {
        matches!(entry.state, State::Resumable | State::RequiresAction | State::Running)
    };
    match sessions.entries().await {
        Ok(listed) => {
            let here = listed.into_iter().filter(|entry| roots.contains(&entry.cwd));
            here.filter(waits).collect()
        }
        Err(refused) => {
            tracing::warn!(why = refused.message, "what was left open cannot be listed");
            Vec::new()
        }
    }
}
