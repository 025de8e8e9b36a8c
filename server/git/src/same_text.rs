//! Compares a text of the work tree with a stored one.
//!
//! Never runs a filter: a text that a filter changes is a different text.

/// Whether a stored text is this text of the work tree.
///
/// A stored text with LF equals a text with CRLF if that is the only difference and every line end has it: git stores LF
/// where `core.autocrlf` or an attribute says so.
pub fn same_text(blob: &[u8], work: &str) -> bool {
    if blob == work.as_bytes() {
        return true;
    }
    // A CRLF in the stored text is content, or git would have changed it too.
    if blob.windows(2).any(|pair| pair == b"\r\n") {
        return false;
    }
    let mut stored = blob.split(|byte| *byte == b'\n');
    let mut lines = work.split("\r\n");
    loop {
        match (stored.next(), lines.next()) {
            (None, None) => return true,
            // A line with a single LF has another line end.
            (Some(stored), Some(line)) if stored == line.as_bytes() && !line.contains('\n') => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests;
