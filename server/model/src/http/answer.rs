//! Reads one HTTP answer: checks its status and headers, then reads its body within the time limits.
//!
//! Never depends on a wire format, follows a redirect or decompresses a body.

use std::time::{Duration, SystemTime};

use adjutant_core::machine::retry::{CallFailure, FailureClass};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

use super::Post;
use crate::failure::{Complaint, classify, failure, quote};
use crate::waits::{in_words, retry_after_ms};

/// How much of an error's body is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// How long the body of an error is read. Its status alone is enough for a message.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);
/// How long the end of the body is awaited after the last event, so that the connection can be reused.
const DRAIN_WAIT: Duration = Duration::from_millis(100);
/// How long a complete reply waits for the events that usually follow, such as the usage.
const FINISHING_WAIT: Duration = Duration::from_secs(5);

/// What one piece of the body brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyProgress {
    /// Content: the idle limit starts again.
    Progress,
    /// Only a keep-alive (G4).
    KeepAlive,
    /// The reply is complete; only the usage may follow.
    Finishing,
    /// The last event.
    Done,
}

/// An answer whose status and headers show that it is a reply.
pub(crate) struct HttpAnswer<'a> {
    pub post: Post<'a>,
    pub(super) response: Response,
    pub(super) first_byte: Instant,
    pub(super) total: Instant,
}

impl<'a> HttpAnswer<'a> {
    pub(super) async fn checked(mut self) -> Result<HttpAnswer<'a>, CallFailure> {
        let status = self.response.status();
        if status.is_redirection() {
            return Err(self.redirected());
        }
        if !status.is_success() {
            return Err(self.refused(status.as_u16()).await);
        }
        let name = self.post.endpoint.provider;
        if let Some(encoding) = self.header(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
            let message = format!(
                "provider \"{name}\" answered in encoding \"{}\", which was not asked for",
                quote(encoding, &self.post.redactor)
            );
            return Err(failure(FailureClass::Broken, message));
        }
        if self.header(CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("text/html")) {
            let message = format!(
                "provider \"{name}\" answered with a web page in place of a reply; \
                 check `base_url`, and whether this network wants a login"
            );
            return Err(failure(FailureClass::InvalidRequest, message));
        }
        if let Some(charset) = self.header(CONTENT_TYPE).and_then(charset_of)
            && !["utf-8", "utf8", "us-ascii"].contains(&charset.as_str())
        {
            let message = format!(
                "provider \"{name}\" answered in the character set \"{}\"; only UTF-8 is read",
                quote(&charset, &self.post.redactor)
            );
            return Err(failure(FailureClass::InvalidRequest, message));
        }
        Ok(self)
    }

    /// Whether the answer is one JSON object and not a stream.
    pub fn is_whole(&self) -> bool {
        self.header(CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("application/json"))
    }

    fn header(&self, name: impl reqwest::header::AsHeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    fn redirected(&self) -> CallFailure {
        let target = self.header(LOCATION).and_then(|location| Url::parse(location).ok());
        let target = target.map_or_else(
            || "elsewhere".to_owned(),
            |url| format!("to {}", url.origin().ascii_serialization()),
        );
        let name = self.post.endpoint.provider;
        let message = format!(
            "provider \"{name}\" redirects {target}, which is not followed; set `base_url` to the final address"
        );
        failure(FailureClass::InvalidRequest, message)
    }

    async fn refused(&mut self, status: u16) -> CallFailure {
        let wait =
            retry_after_ms(self.header("retry-after-ms"), self.header("retry-after"), SystemTime::now());
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(piece)) = self.response.chunk().await {
                let room = MAX_ERROR_BYTES - body.len();
                body.extend_from_slice(&piece[..piece.len().min(room)]);
                if body.len() == MAX_ERROR_BYTES {
                    break;
                }
            }
        };
        // On a timeout or an error, the part that was read is enough.
        let _ = timeout_at(self.total.min(Instant::now() + ERROR_BODY_WAIT), read).await;
        let complaint = Complaint::from_body(&String::from_utf8_lossy(&body));
        let mut failed = classify(status, &complaint, self.post.endpoint, &self.post.redactor);
        if failed.class.is_passing()
            && let Some(wait) = wait
        {
            failed.message.push_str(&format!("; it asks to wait {}", in_words(wait)));
            failed.retry_after_ms = Some(wait);
        }
        failed
    }

    /// Passes the body to `sink` piece by piece, until `sink` returns `Done` or the body ends.
    ///
    /// Fails when a time limit is exceeded.
    pub async fn read_body(
        &mut self,
        mut sink: impl FnMut(&[u8]) -> Result<BodyProgress, CallFailure>,
    ) -> Result<(), CallFailure> {
        let idle = Duration::from_millis(self.post.limits.idle_ms);
        // Many servers send the headers first and process the prompt then. So the longer of the two limits applies
        // until the first content.
        let mut until = self.first_byte.max(Instant::now() + idle);
        let mut finishing = false;
        loop {
            let piece = match timeout_at(until.min(self.total), self.response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(self.post.network_failure(&error)),
                Err(_) if self.total <= until => return Err(self.post.total_failure()),
                Err(_) => return Err(self.post.stalled_failure()),
            };
            let progress = sink(&piece)?;
            let now = Instant::now();
            // If pieces are always ready, the timeout above never fires.
            if now >= self.total {
                return Err(self.post.total_failure());
            }
            match progress {
                BodyProgress::Progress => until = now + idle,
                BodyProgress::KeepAlive if now >= until => return Err(self.post.stalled_failure()),
                BodyProgress::KeepAlive => {}
                BodyProgress::Finishing if finishing => {}
                BodyProgress::Finishing => {
                    finishing = true;
                    until = now + idle.min(FINISHING_WAIT);
                }
                BodyProgress::Done => {
                    self.drain().await;
                    return Ok(());
                }
            }
        }
    }

    pub(super) async fn drain(&mut self) {
        let mut left = MAX_ERROR_BYTES;
        let rest = async {
            while let Ok(Some(piece)) = self.response.chunk().await {
                left = left.saturating_sub(piece.len());
                if left == 0 {
                    break;
                }
            }
        };
        let _ = timeout(DRAIN_WAIT, rest).await;
    }
}

/// Returns the character set in a `Content-Type`, in lower case.
fn charset_of(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}
