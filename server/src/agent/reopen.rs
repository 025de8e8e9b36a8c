//! What an earlier server left open, put before the user again.
//!
//! A client that takes asks as requests lists and resumes by itself. Never touches a
//! session that another process holds, and never answers anything.

use std::path::PathBuf;

use adjutant_protocol::session::SessionEntry;
use adjutant_protocol::state::State;

use crate::aside::aside;
use crate::clock::now_ms;
use crate::session::mailbox::Message;
use crate::sessions::Sessions;
use crate::uri;

/// Sessions opened at once; more are found by `adjutant.resume`.
const MAX_OPENED: usize = 3;
/// Sessions tried, where some are held by other processes.
const MAX_TRIED: usize = 10;
/// How long ago a session may have been left: seven days.
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
        // Held by another process, or damaged: whoever asks for it by name is told why.
        let Ok(mailbox) = sessions.get(&entry.session_id) else { continue };
        let resumed = mailbox.request(|reply| Message::Resume { from: None, unattended: false, reply });
        let Ok(resumed) = resumed else { continue };
        opened += usize::from(matches!(resumed.await, Ok(Ok(_))));
    }
}

/// The sessions of these folders that may wait for the user, newest first. Those that say they run
/// are among them: ours may be in the middle of being opened, and only opening tells whose it is.
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
