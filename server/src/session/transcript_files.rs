//! Files in a session's folder that are only there to be shown: the subjects of
//! asks, and the transcript.
//!
//! Derived, never read back, never synced; a session needs none of them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_core::wire::transcript::Transcript;
use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskView;
use adjutant_protocol::update::Update;

use super::catalog::{Catalog, is_id};
use super::replay;
use super::storage::{StoredFile, append_all, replace};
use crate::client::RenderedFile;
use crate::client::backfill::{LastingMessage, UpdateRange};
use crate::uri;

/// The folder of what asks are about, in that of the session.
const ASKS: &str = "asks";
const TRANSCRIPT: &str = "transcript.md";
/// The largest transcript; behind it stands where the whole is.
const MAX_TRANSCRIPT: u64 = 4 << 20;

/// Writes the whole of what an ask is about beside the log of its session. Blocks.
pub fn write_subject(
    catalog: &Catalog,
    ask: &AskView,
    text: &str,
    ending: &str,
) -> Result<RenderedFile, String> {
    let place = catalog.place(&ask.session_id.0).map_err(|error| error.to_string())?;
    if !is_id(&ask.ask_id.0) {
        return Err(format!("show \"{}\": that is no name of an ask", ask.ask_id));
    }
    let dir = place.dir.join(ASKS);
    let path = dir.join(format!("{}.{ending}", ask.ask_id));
    let storage = &*place.storage;
    let written = storage.create_dir(&dir).and_then(|()| replace(storage, &path, text.as_bytes()).map(drop));
    written.map_err(|error| format!("write \"{}\": {error}", path.display()))?;
    Ok(written_at(path))
}

fn written_at(path: PathBuf) -> RenderedFile {
    RenderedFile { uri: uri::of_path(&path), path }
}

/// The transcript of a session on disk, growing by whole blocks.
pub struct TranscriptFile {
    transcript: Transcript,
    file: Arc<dyn StoredFile>,
    /// What it may still grow; nothing once the last line stands.
    left: u64,
    session: SessionId,
    /// The last update it has.
    seq: u64,
}

impl TranscriptFile {
    /// Writes what was told as far as update `last`. Blocks.
    pub fn begin(catalog: &Catalog, session: &SessionId, last: u64) -> Result<(Self, RenderedFile), String> {
        let place = catalog.place(&session.0).map_err(|error| error.to_string())?;
        let path = place.dir.join(TRANSCRIPT);
        let (mut transcript, mut text, mut left) = (Transcript::default(), String::new(), MAX_TRANSCRIPT);
        replay::replay_range(catalog, session, UpdateRange::of_updates(1, last), |told| {
            if let LastingMessage::Update(params) = told {
                text.push_str(&block_of(&mut transcript, &params.update, &mut left, session));
            }
        })
        .map_err(|why| format!("write the transcript: {why}"))?;
        let file = replace(&*place.storage, &path, text.as_bytes())
            .map_err(|error| format!("write \"{}\": {error}", path.display()))?;
        Ok((Self { transcript, file, left, session: session.clone(), seq: last }, written_at(path)))
    }

    /// Adds what a new update says.
    pub fn append(&mut self, seq: u64, update: &Update) -> io::Result<()> {
        if seq <= self.seq {
            return Ok(());
        }
        self.seq = seq;
        let block = block_of(&mut self.transcript, update, &mut self.left, &self.session);
        append_all(&*self.file, block.as_bytes())
    }
}

/// The block an update adds, within what is left of the room.
fn block_of(transcript: &mut Transcript, update: &Update, left: &mut u64, session: &SessionId) -> String {
    let block = transcript.block(update).unwrap_or_default();
    if block.is_empty() || *left == 0 {
        return String::new();
    }
    match left.checked_sub(block.len() as u64) {
        Some(rest) => {
            *left = rest;
            block
        }
        None => {
            *left = 0;
            format!("*This file ends here. `adjutant sessions show {session}` prints all of it.*\n")
        }
    }
}
