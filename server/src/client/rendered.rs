//! Files that the editor can open: the whole subject of an ask, and the transcript
//! of a session.
//!
//! Never writes a file: it sends requests to `session`, which writes them.

use std::path::PathBuf;
use std::sync::Arc;

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskView;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait to be written; when it is full, the caller waits.
const ROOM: usize = 64;

/// The content of a rendered file.
#[derive(Clone, Debug)]
pub enum RenderedContent {
    /// The whole subject of an ask, and the extension of the file.
    Subject { ask: Arc<AskView>, text: String, ending: &'static str },
    /// The conversation; the file grows while the server lives.
    Transcript(SessionId),
}

/// Where a rendered file is.
#[derive(Clone, Debug)]
pub struct RenderedFile {
    pub path: PathBuf,
    /// The same place, as the editor names it.
    pub uri: String,
}

/// One file to write, and the slot for its place or the reason of a failure.
#[derive(Debug)]
pub struct RenderRequest {
    pub content: RenderedContent,
    pub reply: oneshot::Sender<Result<RenderedFile, String>>,
}

/// The sender of requests for rendered files.
#[derive(Clone)]
pub struct RenderedFiles(mpsc::Sender<RenderRequest>);

impl RenderedFiles {
    pub fn new() -> (Self, mpsc::Receiver<RenderRequest>) {
        let (sender, receiver) = mpsc::channel(ROOM);
        (Self(sender), receiver)
    }

    /// Requests a file and returns where it is.
    pub async fn write(&self, content: RenderedContent) -> Result<RenderedFile, String> {
        let (reply, written) = oneshot::channel();
        let gone = || "the server is stopping".to_owned();
        self.0.send(RenderRequest { content, reply }).await.map_err(|_| gone())?;
        written.await.map_err(|_| gone())?
    }
}
