//! The transcript of a session as it is asked for, written beside the session, and grown.
//!
//! Never reads a log: whoever begins a transcript does, on a thread of its own.

use adjutant_protocol::SessionId;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::update::SessionUpdateParams;

use super::mailbox::{ClientError, Reply};
use super::transcript_files::TranscriptFile;
use crate::client::RenderedFile;

/// Updates kept while the transcript is begun. A session that tells more in that time has one that
/// does not grow.
const MAX_SINCE: usize = 256;

/// How far the transcript of a session is.
#[derive(Default)]
pub enum TranscriptProgress {
    /// No client wants to see it, or it could not be written.
    #[default]
    Absent,
    /// The log is read for it. `since` has what was told meanwhile, unless that was too much.
    Beginning { since: Option<Vec<SessionUpdateParams>>, replies: Vec<Reply<RenderedFile>> },
    /// It grows with what is told.
    Growing(TranscriptFile),
}

impl TranscriptProgress {
    /// Notes that a client wants the transcript. Returns whether it has to be written for that.
    pub fn begin(&mut self, reply: Reply<RenderedFile>) -> bool {
        if let TranscriptProgress::Beginning { replies, .. } = self {
            replies.push(reply);
            return false;
        }
        *self = TranscriptProgress::Beginning { since: Some(Vec::new()), replies: vec![reply] };
        true
    }

    /// Takes the transcript that was written, adds what was told since, and answers those who wait.
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
                        tracing::warn!(%session, "too much was told while the transcript was begun; it does not grow")
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

    /// Adds an update that was told, if it is a lasting one.
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
                if let Err(error) = file.append(params.seq, &params.update) {
                    // It is written again when a client asks for it again.
                    tracing::warn!(%error, %session, "the transcript does not grow any more");
                    *self = TranscriptProgress::Absent;
                }
            }
        }
    }
}
