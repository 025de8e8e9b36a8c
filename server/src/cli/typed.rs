//! What a person at the terminal typed.
//!
//! Never says what it means, and never takes a line of a paste for a line that a person typed.

use std::fs::File;
use std::io::Read;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// One input from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalInput {
    Line {
        text: String,
        at: Instant,
    },
    /// In the loop: what is typed from now on is the answer.
    Ready,
    /// In the loop: a key was pressed while a run works. It is the first of a prompt.
    Key,
    Prompt(PromptEnd),
    /// The terminal is closed, so no person is there any more.
    Gone,
}

/// How a prompt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptEnd {
    Entered(String),
    /// Ctrl-C, and the text so far.
    Interrupted(String),
    /// Ctrl-D on an empty line, or the terminal is gone.
    Left,
}

/// Adds the lines that came together with a typed one, at most `most` bytes in all. A paste is one text: its first line may be
/// `y`, which is no answer then.
pub fn read_rest_of_paste(terminal: &mut File, bytes: &mut Vec<u8>, most: usize) {
    let mut part = [0; 4096];
    while bytes.len() < most && has_input(terminal) {
        match terminal.read(&mut part) {
            Ok(length) if length > 0 => bytes.extend_from_slice(&part[..length]),
            _ => return,
        }
    }
    bytes.truncate(most);
}

fn has_input(terminal: &File) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut watched = [PollFd::new(terminal, PollFlags::IN)];
    poll(&mut watched, Some(&now)).is_ok_and(|ready| ready > 0)
        && watched[0].revents().contains(PollFlags::IN)
}
