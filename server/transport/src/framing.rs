//! Frames of the base protocol: `Content-Length` headers, then a body.
//!
//! The decoder is incremental and does not know its source. Never allocates the size that a peer
//! announces: memory grows with the bytes that arrive.

/// The longest header block that is accepted, in bytes.
pub const HEADER_LIMIT: usize = 8 * 1024;
/// The longest body that is accepted, in bytes.
pub const BODY_LIMIT: usize = 64 * 1024 * 1024;
/// The longest body that is skipped, in bytes; a longer one ends the connection.
pub const SKIP_LIMIT: u64 = 1024 * 1024 * 1024;

/// After this many header blocks in a row without a length, the connection ends.
const ASTRAY_LIMIT: u32 = 16;
/// The first allocation for a body, in bytes; it grows as bytes arrive.
const BODY_STEP: usize = 64 * 1024;

/// What is wrong with a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The header block does not end within the limit.
    #[error("read a header of more than {HEADER_LIMIT} bytes")]
    HeaderTooLong,
    /// A header block without `Content-Length`.
    #[error("find \"Content-Length\" in the header")]
    NoLength,
    /// A header block has `Content-Length` twice.
    #[error("read a header with two \"Content-Length\" lines")]
    DuplicateLength,
    /// `Content-Length` is not a decimal number of 64 bits.
    #[error("read \"Content-Length\": \"{0}\" is not a length")]
    BadLength(String),
    /// The body is over the limit and is skipped.
    #[error("accept a message of {0} bytes, the limit is {BODY_LIMIT}")]
    TooLarge(u64),
    /// The body is too large to be skipped.
    #[error("skip a message of {0} bytes, the limit is {SKIP_LIMIT}")]
    Absurd(u64),
    /// Too many header blocks in a row have no length.
    #[error("find the next message after {ASTRAY_LIMIT} headers without a length")]
    Astray,
    /// The stream ended inside a frame.
    #[error("read a whole message, the stream ended inside it")]
    Truncated,
}

impl FrameError {
    /// Whether the next frame cannot be found after this error.
    pub fn ends_connection(&self) -> bool {
        !matches!(self, FrameError::NoLength | FrameError::TooLarge(_))
    }
}

#[derive(Debug)]
enum Place {
    Header,
    Body { left: usize, body: Vec<u8> },
    Skip { left: u64 },
    Dead,
}

/// Cuts a stream of bytes into bodies.
#[derive(Debug)]
pub struct Decoder {
    place: Place,
    line: Vec<u8>,
    header_bytes: usize,
    length: Option<u64>,
    astray: u32,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Returns a decoder at the start of a header.
    pub fn new() -> Self {
        Decoder { place: Place::Header, line: Vec::new(), header_bytes: 0, length: None, astray: 0 }
    }

    /// Consumes bytes from the front of `input` until a frame is complete or has an error. Returns `None`
    /// when all input is consumed.
    pub fn feed(&mut self, input: &mut &[u8]) -> Option<Result<Vec<u8>, FrameError>> {
        while !input.is_empty() || self.body_is_complete() {
            let event = match &mut self.place {
                Place::Header => self.feed_header(input),
                Place::Body { left, body } => {
                    let taken = split_front(input, *left);
                    body.extend_from_slice(taken);
                    *left -= taken.len();
                    (*left == 0).then(|| Ok(std::mem::take(body)))
                }
                Place::Skip { left } => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    *left -= split_front(input, most).len() as u64;
                    if *left == 0 {
                        self.place = Place::Header;
                    }
                    None
                }
                Place::Dead => {
                    *input = &[];
                    None
                }
            };
            match event {
                Some(Ok(body)) => {
                    self.place = Place::Header;
                    self.astray = 0;
                    return Some(Ok(body));
                }
                Some(Err(error)) => {
                    if error.ends_connection() {
                        self.place = Place::Dead;
                    }
                    return Some(Err(error));
                }
                None => {}
            }
        }
        None
    }

    /// Fails with `Truncated` if the stream ends inside a frame here.
    pub fn finish(&self) -> Result<(), FrameError> {
        match self.place {
            Place::Header if self.header_bytes > 0 => Err(FrameError::Truncated),
            Place::Body { .. } | Place::Skip { .. } => Err(FrameError::Truncated),
            Place::Header | Place::Dead => Ok(()),
        }
    }

    /// Returns the memory of an incomplete frame, in bytes.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn held(&self) -> usize {
        let body = if let Place::Body { body, .. } = &self.place { body.capacity() } else { 0 };
        self.line.capacity() + body
    }

    /// A body of no bytes is complete before any byte of it arrives.
    fn body_is_complete(&self) -> bool {
        matches!(self.place, Place::Body { left: 0, .. })
    }

    fn feed_header(&mut self, input: &mut &[u8]) -> Option<Result<Vec<u8>, FrameError>> {
        let (upto, whole) = match input.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (input.len(), false),
        };
        self.header_bytes = self.header_bytes.saturating_add(upto);
        if self.header_bytes > HEADER_LIMIT {
            self.line = Vec::new();
            return Some(Err(FrameError::HeaderTooLong));
        }
        self.line.extend_from_slice(split_front(input, upto));
        if !whole {
            return None;
        }
        let mut line = std::mem::take(&mut self.line);
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let result = if line.is_empty() { self.end_header() } else { self.field(&line) };
        line.clear();
        self.line = line;
        result.err().map(Err)
    }

    /// Parses one header line. Lines without a length, such as `Content-Type` or a stray print, are
    /// ignored.
    fn field(&mut self, line: &[u8]) -> Result<(), FrameError> {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return Ok(());
        };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if !name.eq_ignore_ascii_case(b"content-length") {
            return Ok(());
        }
        if self.length.is_some() {
            return Err(FrameError::DuplicateLength);
        }
        let bad = || FrameError::BadLength(excerpt(value));
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(bad());
        }
        let text = std::str::from_utf8(value).map_err(|_| bad())?;
        self.length = Some(text.parse().map_err(|_| bad())?);
        Ok(())
    }

    fn end_header(&mut self) -> Result<(), FrameError> {
        self.header_bytes = 0;
        let Some(length) = self.length.take() else {
            self.astray += 1;
            return Err(if self.astray >= ASTRAY_LIMIT { FrameError::Astray } else { FrameError::NoLength });
        };
        if length > SKIP_LIMIT {
            return Err(FrameError::Absurd(length));
        }
        match usize::try_from(length) {
            Ok(left) if left <= BODY_LIMIT => {
                let body = Vec::with_capacity(left.min(BODY_STEP));
                self.place = Place::Body { left, body };
                Ok(())
            }
            _ => {
                self.place = Place::Skip { left: length };
                Err(FrameError::TooLarge(length))
            }
        }
    }
}

/// Splits at most `most` bytes off the front of `input`.
fn split_front<'a>(input: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (front, rest) = input.split_at(most.min(input.len()));
    *input = rest;
    front
}

/// Returns the first bytes, escaped for an error text.
fn excerpt(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(32)];
    head.escape_ascii().to_string()
}

/// Appends the header of a body of `length` bytes to `to`.
pub fn push_header(to: &mut Vec<u8>, length: usize) {
    to.extend_from_slice(b"Content-Length: ");
    to.extend_from_slice(length.to_string().as_bytes());
    to.extend_from_slice(b"\r\n\r\n");
}

/// Returns a frame: the header, then the body.
pub fn encode(body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(body.len() + 40);
    push_header(&mut frame, body.len());
    frame.extend_from_slice(body);
    frame
}

#[cfg(test)]
mod tests;
