//! The transcript of a session: a client asks for it, a task writes it, and then it grows.
//!
//! Never reads a log: the task that writes the first part does, on a thread that may block.

use std::io;

use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::update::SessionUpdateParams;
use adjutant_protocol::{MessageId, SessionId};

use super::mailbox::{ClientError, Reply};
use super::transcript_files::TranscriptFile;
use crate::client::RenderedFile;

/// Updates that are kept while the first part is written. If a session publishes more in that time, its
/// transcript does not grow.
const MAX_SINCE: usize = 256;

/// The progress of a session's transcript.
#[derive(Default)]
pub enum TranscriptProgress {
    /// No client has asked for it, or it could not be written.
    #[default]
    Absent,
    /// The first part is being written. `since` has the updates published meanwhile, unless they are too many.
    Beginning { since: Option<Vec<SessionUpdateParams>>, replies: Vec<Reply<RenderedFile>> },
    /// Each published update is appended.
    Growing(TranscriptFile),
}

impl TranscriptProgress {
    /// Notes that a client asks for the transcript. Returns whether the caller must start to write it.
    pub fn begin(&mut self, reply: Reply<RenderedFile>) -> bool {
        if let TranscriptProgress::Beginning { replies, .. } = self {
            replies.push(reply);
            return false;
        }
        *self = TranscriptProgress::Beginning { since: Some(Vec::new()), replies: vec![reply] };
        true
    }

    /// Receives the first part, appends the updates published since, and answers the requests that wait.
    pub fn begun(&mut self, session: &SessionId, begun: Result<(TranscriptFile, RenderedFile), String>) {
        let TranscriptProgress::Beginning { since, replies } = std::mem::take(self) else { return };
        let answer = match begun {
            Ok((file, written)) => {
                match since {
                    Some(since) => {
                        *self = TranscriptProgress::Growing(file);
                        since.iter().for_each(|params| self.add_update(session, params));
                    }
                    None => {
                        tracing::warn!(%session, "too many updates while the transcript was begun; it does not grow")
                    }
                }
                Ok(written)
            }
            Err(why) => Err(ClientError::new(ErrorName::SessionNotFound, why)),
        };
        for reply in replies {
            let _ = reply.send(answer.clone());
        }
    }

    /// Appends a published update if it is a lasting one.
    pub fn add_update(&mut self, session: &SessionId, params: &SessionUpdateParams) {
        if params.sub.is_some() {
            return;
        }
        match self {
            TranscriptProgress::Absent => {}
            TranscriptProgress::Beginning { since, .. } => {
                since.take_if(|since| since.len() >= MAX_SINCE);
                since.iter_mut().for_each(|since| since.push(params.clone()));
            }
            TranscriptProgress::Growing(file) => {
                let appended = file.append(params.seq, &params.update);
                self.check(session, appended);
            }
        }
    }

    /// Appends the new whole lines of a text that streams; `text` is all of it so far.
    pub fn add_streamed(&mut self, session: &SessionId, message: &MessageId, text: &str) {
        // While the first part is written, nothing is kept: the next text has all of it.
        if let TranscriptProgress::Growing(file) = self {
            let appended = file.append_streamed(message, text);
            self.check(session, appended);
        }
    }

    /// Whether texts that stream are appended.
    pub fn grows(&self) -> bool {
        matches!(self, TranscriptProgress::Growing(_))
    }

    fn check(&mut self, session: &SessionId, appended: io::Result<()>) {
        if let Err(error) = appended {
            // The next request for the transcript writes it again.
            tracing::warn!(%error, %session, "the transcript does not grow any more");
            *self = TranscriptProgress::Absent;
        }
    }
}
