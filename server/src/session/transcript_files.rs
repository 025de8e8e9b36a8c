//! Files in a session's folder for the user to read: the subjects of asks, and the
//! transcript.
//!
//! They are derived, never read back and never synced.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_core::wire::transcript::Transcript;
use adjutant_protocol::ask::AskView;
use adjutant_protocol::update::Update;
use adjutant_protocol::{MessageId, SessionId};

use super::catalog::{Catalog, is_id};
use super::replay;
use super::storage::{StoredFile, append_all, replace};
use crate::client::RenderedFile;
use crate::client::backfill::{LastingMessage, UpdateRange};
use crate::uri;

/// The folder for the subjects of asks, in the folder of the session.
const ASKS: &str = "asks";
const TRANSCRIPT: &str = "transcript.md";
/// The largest transcript, in bytes. Its last line then says how to print all of it.
const MAX_TRANSCRIPT: u64 = 4 << 20;

/// Writes the whole subject of an ask to a file in the folder of its session. Blocks.
pub fn write_subject(
    catalog: &Catalog,
    ask: &AskView,
    text: &str,
    ending: &str,
) -> Result<RenderedFile, String> {
    let place = catalog.place(&ask.session_id.0).map_err(|error| error.to_string())?;
    if !is_id(&ask.ask_id.0) {
        return Err(format!("\"{}\" is not a valid ask id", ask.ask_id));
    }
    let dir = place.dir.join(ASKS);
    let path = dir.join(format!("{}.{ending}", ask.ask_id));
    let storage = &*place.storage;
    let written = storage.create_dir(&dir).and_then(|()| replace(storage, &path, text.as_bytes()).map(drop));
    written.map_err(|error| format!("\"{}\" could not be written: {error}", path.display()))?;
    Ok(written_at(path))
}

fn written_at(path: PathBuf) -> RenderedFile {
    RenderedFile { uri: uri::of_path(&path), path }
}

/// The transcript of a session on disk. It grows by whole blocks, and by whole lines while a text streams.
pub struct TranscriptFile {
    transcript: Transcript,
    file: Arc<dyn StoredFile>,
    /// Bytes that may still be added; 0 once the last line is written.
    left: u64,
    session: SessionId,
    /// Number of the last update in the file.
    seq: u64,
}

impl TranscriptFile {
    /// Writes the updates 1 to `last`. Blocks.
    pub fn begin(catalog: &Catalog, session: &SessionId, last: u64) -> Result<(Self, RenderedFile), String> {
        let place = catalog.place(&session.0).map_err(|error| error.to_string())?;
        let path = place.dir.join(TRANSCRIPT);
        let (mut transcript, mut text, mut left) = (Transcript::default(), String::new(), MAX_TRANSCRIPT);
        replay::replay_range(catalog, session, UpdateRange::of_updates(1, last), |message| {
            if let LastingMessage::Update(params) = message {
                text.push_str(&fitted(transcript.block(&params.update), &mut left, session));
            }
        })
        .map_err(|why| format!("the log could not be read: {why}"))?;
        let file = replace(&*place.storage, &path, text.as_bytes())
            .map_err(|error| format!("\"{}\" could not be written: {error}", path.display()))?;
        Ok((Self { transcript, file, left, session: session.clone(), seq: last }, written_at(path)))
    }

    /// Appends the block of a new update, unless the file has that update already.
    pub fn append(&mut self, seq: u64, update: &Update) -> io::Result<()> {
        if seq <= self.seq {
            return Ok(());
        }
        self.seq = seq;
        let block = self.transcript.block(update);
        append_all(&*self.file, fitted(block, &mut self.left, &self.session).as_bytes())
    }

    /// Appends the new whole lines of a text that streams; `text` is all of it so far.
    pub fn append_streamed(&mut self, message: &MessageId, text: &str) -> io::Result<()> {
        let lines = self.transcript.streamed(message, text);
        append_all(&*self.file, fitted(Some(lines), &mut self.left, &self.session).as_bytes())
    }
}

/// Returns a block, and subtracts its bytes from `left`. If it does not fit, returns the last line of the file instead.
fn fitted(block: Option<String>, left: &mut u64, session: &SessionId) -> String {
    let block = block.unwrap_or_default();
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
            // A text that streams may not end with an empty line.
            format!("\n*This file ends here. `adjutant sessions show {session}` prints all of it.*\n")
        }
    }
}
