//! Frames of protocols with one message a line: the body ends before `\n`.
//!
//! The decoder is incremental like that of headers, and has the same limits.

use super::framing::{BODY_LIMIT, FrameError, SKIP_LIMIT};

/// The first allocation for a line, in bytes; it grows as bytes arrive.
const LINE_STEP: usize = 4 * 1024;

/// Cuts a stream into lines. Empty lines are ignored.
#[derive(Debug, Default)]
pub struct LineDecoder {
    line: Vec<u8>,
    /// The length so far of a line that is over the limit and is skipped.
    skipped: u64,
}

impl LineDecoder {
    pub fn new() -> Self {
        Self { line: Vec::with_capacity(LINE_STEP), skipped: 0 }
    }

    /// Consumes bytes up to the end of a line. Returns `None` when all input is consumed and no line has ended.
    pub fn feed(&mut self, input: &mut &[u8]) -> Option<Result<Vec<u8>, FrameError>> {
        while !input.is_empty() {
            let end = input.iter().position(|byte| *byte == b'\n');
            let (taken, rest) = input.split_at(end.map_or(input.len(), |at| at + 1));
            *input = rest;
            let body = if end.is_some() { &taken[..taken.len() - 1] } else { taken };
            self.push(body);
            if self.skipped > SKIP_LIMIT {
                return Some(Err(FrameError::Absurd(self.skipped)));
            }
            if end.is_some()
                && let Some(line) = self.end_line()
            {
                return Some(line);
            }
        }
        None
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.skipped > 0 || self.line.len() + bytes.len() > BODY_LIMIT {
            self.skipped += (std::mem::take(&mut self.line).len() + bytes.len()) as u64;
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) -> Option<Result<Vec<u8>, FrameError>> {
        if self.skipped > 0 {
            return Some(Err(FrameError::TooLarge(std::mem::take(&mut self.skipped))));
        }
        let line = std::mem::replace(&mut self.line, Vec::with_capacity(LINE_STEP));
        (!line.trim_ascii().is_empty()).then_some(Ok(line))
    }

    /// Fails with `Truncated` if the stream ends inside a line here.
    pub fn finish(&self) -> Result<(), FrameError> {
        let whole = self.skipped == 0 && self.line.trim_ascii().is_empty();
        if whole { Ok(()) } else { Err(FrameError::Truncated) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> (Vec<Result<Vec<u8>, FrameError>>, bool) {
        let mut decoder = LineDecoder::new();
        let mut found = Vec::new();
        for piece in pieces {
            let mut input = *piece;
            while let Some(line) = decoder.feed(&mut input) {
                found.push(line);
            }
        }
        (found, decoder.finish().is_ok())
    }

    #[test]
    fn the_same_lines_however_the_stream_is_cut() {
        let stream = b"{\"a\":1}\n\n  \r\n{\"b\":\"\xc3\xa9\"}\r\n{}\n";
        let (whole, finished) = cut(&[stream]);
        let lines: Vec<_> = whole.iter().map(|line| line.as_deref().unwrap().trim_ascii()).collect();
        assert_eq!(lines, [b"{\"a\":1}".as_slice(), b"{\"b\":\"\xc3\xa9\"}", b"{}"]);
        assert!(finished);
        for at in 0..stream.len() {
            assert_eq!(cut(&[&stream[..at], &stream[at..]]).0, whole, "cut at {at}");
        }
        assert!(!cut(&[b"{}\n{"]).1, "it ended inside a line");
    }

    #[test]
    fn a_line_over_the_limit_is_refused_without_being_kept_and_the_next_one_counts() {
        let mut decoder = LineDecoder::new();
        let step = vec![b'x'; 1 << 20];
        let mut taken = 0;
        while taken <= BODY_LIMIT {
            assert!(decoder.feed(&mut step.as_slice()).is_none());
            taken += step.len();
        }
        assert_eq!(decoder.line.capacity(), 0, "nothing of it is kept");
        let mut rest: &[u8] = b"y\n{}\n";
        let length = taken as u64 + 1;
        assert_eq!(decoder.feed(&mut rest), Some(Err(FrameError::TooLarge(length))));
        assert_eq!(decoder.feed(&mut rest), Some(Ok(b"{}".to_vec())));
    }
}
