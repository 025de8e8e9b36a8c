//! Decodes server-sent events from a stream of bytes.
//!
//! Looks at each byte once, no matter how the stream is cut into chunks. Never holds more than one event, and never
//! interprets one.

/// The maximum size of one event, in bytes: the largest complete reply, with each character escaped.
pub const MAX_EVENT_BYTES: usize = 32 << 20;

/// One event. Its fields live until the next one is decoded.
#[derive(Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event:` field before the data, empty if there was none.
    pub name: &'a str,
    /// The last `id:` field of the stream so far.
    pub id: &'a str,
    /// The `data:` lines, joined by line feeds.
    pub data: &'a str,
}

/// Why a stream cannot be decoded further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("read an event of the stream: it is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("read an event of the stream: it is not valid UTF-8")]
    NotUtf8,
}

/// An incremental decoder of one stream.
#[derive(Debug)]
pub struct Decoder {
    /// The incomplete line.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    id: Vec<u8>,
    /// The last byte was a CR, so an LF after it belongs to the same line end.
    after_cr: bool,
    /// No line has ended yet, so the line may begin with a byte-order mark.
    first_line: bool,
    limit: usize,
    /// How many bytes were searched for a line end. It equals the bytes fed, which proves that the decoder is linear.
    scanned: u64,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::with_limit(MAX_EVENT_BYTES)
    }
}

impl Decoder {
    /// Returns a decoder whose events may have at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Decoder {
        Decoder {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: Vec::new(),
            id: Vec::new(),
            after_cr: false,
            first_line: true,
            limit,
            scanned: 0,
        }
    }

    /// Decodes one chunk and passes each event that it completes to `sink`.
    pub fn feed<E: From<SseError>>(
        &mut self,
        mut chunk: &[u8],
        sink: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(&first) = chunk.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                self.scanned += 1;
                chunk = &chunk[1..];
                continue;
            }
            let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.scanned += chunk.len() as u64;
                self.buffer(chunk)?;
                break;
            };
            self.scanned += end as u64 + 1;
            self.after_cr = chunk[end] == b'\r';
            if self.line.is_empty() {
                self.end_line(&chunk[..end], sink)?;
            } else {
                self.buffer(&chunk[..end])?;
                self.end_buffered_line(sink)?;
            }
            chunk = &chunk[end + 1..];
        }
        Ok(())
    }

    /// Ends the stream. Passes the last event to `sink` if its blank line is missing.
    ///
    /// Returns whether there was such an event.
    pub fn finish<E: From<SseError>>(
        mut self,
        sink: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, sink)?;
        }
        let trailing = self.has_data;
        self.dispatch(sink)?;
        Ok(trailing)
    }

    /// Returns how many bytes were searched for a line end.
    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// Returns the size of the incomplete event in bytes.
    ///
    /// Comments do not count, because servers send them only to keep the connection open.
    pub fn pending(&self) -> usize {
        let line = if self.line.first() == Some(&b':') { 0 } else { self.line.len() };
        self.data.len() + self.name.len() + line
    }

    fn buffer(&mut self, piece: &[u8]) -> Result<(), SseError> {
        self.check_room(self.line.len() + piece.len())?;
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn check_room(&self, more: usize) -> Result<(), SseError> {
        if self.data.len() + self.name.len() + self.id.len() + more > self.limit {
            return Err(SseError::TooLong { limit: self.limit });
        }
        Ok(())
    }

    /// Ends a line that came in several chunks.
    ///
    /// It may be the whole of a large event, so its bytes become the event's data without a copy.
    fn end_buffered_line<E: From<SseError>>(
        &mut self,
        sink: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut line = std::mem::take(&mut self.line);
        match line.strip_prefix(b"data:") {
            Some(value) if !self.has_data && !self.first_line => {
                let value = value.strip_prefix(b" ").unwrap_or(value);
                let before = line.len() - value.len();
                line.drain(..before);
                self.has_data = true;
                std::mem::swap(&mut self.data, &mut line);
            }
            _ => self.end_line(&line, sink)?,
        }
        // Reuse the allocation for the next line.
        self.line = line;
        self.line.clear();
        Ok(())
    }

    fn end_line<E: From<SseError>>(
        &mut self,
        mut line: &[u8],
        sink: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let colon = line.iter().take(6).position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        self.check_room(value.len() + 1)?;
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                // A name after data begins the next event. The last event needs no blank line, so its name must not
                // change after its data.
                if self.has_data {
                    self.dispatch(sink)?;
                }
                self.name = value.to_vec();
            }
            // The grammar ignores an id that contains a NUL.
            b"id" if !value.contains(&0) => self.id = value.to_vec(),
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E: From<SseError>>(
        &mut self,
        sink: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.has_data) {
            let text = |bytes| std::str::from_utf8(bytes).map_err(|_| SseError::NotUtf8);
            sink(Event { name: text(&self.name)?, id: text(&self.id)?, data: text(&self.data)? })?;
        }
        self.data.clear();
        self.name.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
