//! Files that are written to be shown: the whole of what an ask is about, and
//! the transcript of a session.
//!
//! Only asks for them; sessions are written by `session` alone.

use std::path::PathBuf;
use std::sync::Arc;

use adjutant_protocol::SessionId;
use adjutant_protocol::ask::AskView;
use tokio::sync::{mpsc, oneshot};

/// Papers that wait to be written; who asks for more waits.
const ROOM: usize = 64;

/// What is to be on the paper.
#[derive(Clone, Debug)]
pub enum RenderedContent {
    /// The text of an ask's subject, whole, and the ending of the file's name.
    Subject { ask: Arc<AskView>, text: String, ending: &'static str },
    /// The conversation, growing while the server lives.
    Transcript(SessionId),
}

/// Where a paper is.
#[derive(Clone, Debug)]
pub struct RenderedFile {
    pub path: PathBuf,
    /// The same as the editor is told it.
    pub uri: String,
}

/// One paper to be written, and who waits for its place.
#[derive(Debug)]
pub struct PaperRequest {
    pub paper: RenderedContent,
    pub reply: oneshot::Sender<Result<RenderedFile, String>>,
}

/// The end where papers are asked for.
#[derive(Clone)]
pub struct RenderedFiles(mpsc::Sender<PaperRequest>);

impl RenderedFiles {
    pub fn new() -> (Self, mpsc::Receiver<PaperRequest>) {
        let (sender, receiver) = mpsc::channel(ROOM);
        (Self(sender), receiver)
    }

    /// Has a paper written and returns where it is.
    pub async fn write(&self, paper: RenderedContent) -> Result<RenderedFile, String> {
        let (reply, written) = oneshot::channel();
        let gone = || "nobody writes it any more".to_owned();
        self.0.send(PaperRequest { paper, reply }).await.map_err(|_| gone())?;
        written.await.map_err(|_| gone())?
    }
}
