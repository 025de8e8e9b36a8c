//! The socket through which a test controls an Emacs.
//!
//! One line of Lisp in, one line of text out. Never waits longer than the deadline.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use crate::stage::DEADLINE;

/// The socket of an Emacs.
pub struct Lisp {
    socket: PathBuf,
}

impl Lisp {
    pub fn at(socket: PathBuf) -> Lisp {
        Lisp { socket }
    }

    /// Evaluates Lisp in the buffer of the file and returns its value as text.
    pub fn evaluate(&self, code: &str) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        stream.write_all(code.replace('\n', " ").as_bytes())?;
        stream.write_all(b"\n")?;
        let mut value = String::new();
        stream.read_to_string(&mut value)?;
        Ok(value)
    }
}

/// Returns a text as a Lisp string.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
