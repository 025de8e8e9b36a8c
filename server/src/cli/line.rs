//! The line of the loop: prompts with editing and history, and keys that are pressed while a run works.
//!
//! One thread reads the terminal and sets its modes, so that no two readers share a key press. Never
//! takes a key that was pressed before a question as a part of its answer.

mod editor;
mod history;

use std::fs::File;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc as blocking;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use super::typed::{TerminalInput, read_rest_of_paste};
use editor::LineEditor;
use history::History;

/// The most bytes of an answer.
const MOST_ANSWER: usize = 64 * 1024;

/// What the terminal is read for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// An answer to a question that is on the screen.
    Answer,
    /// Any key while a run works.
    Key,
    /// A prompt, which begins with this text.
    Prompt(String),
}

/// The loop's line. Dropping it restores the modes of the terminal.
pub struct Line {
    terminal: File,
    modes: Termios,
    want: blocking::Sender<Reading>,
    wake: PipeWriter,
    /// What is read now.
    current: Option<Reading>,
}

impl Line {
    /// Starts the line on standard input, with the history of this folder, and returns it with its input.
    /// Returns `None` if no person can type there.
    pub fn start(state: Option<&Path>) -> Option<(Line, mpsc::Receiver<TerminalInput>)> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return None;
        }
        let terminal = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
        let modes = tcgetattr(&terminal).ok()?;
        let (woken, wake) = io::pipe().ok()?;
        let (want, wanted) = blocking::channel();
        let (send, inputs) = mpsc::channel(4);
        let editor = LineEditor::new(History::open(state))?;
        let reader = TerminalReader {
            terminal: terminal.try_clone().ok()?,
            modes: modes.clone(),
            woken,
            wanted,
            send,
            editor,
        };
        // A thread of its own and not of the runtime: a read that never returns must not keep the process
        // from ending.
        std::thread::Builder::new().name("terminal".to_owned()).spawn(move || reader.run()).ok()?;
        Some((Line { terminal, modes, want, wake, current: None }, inputs))
    }

    /// Reads this from now on. A prompt that is being typed is finished first.
    pub fn read(&mut self, what: Reading) {
        if self.current.as_ref() == Some(&what) || self.is_typing() {
            return;
        }
        if self.want.send(what.clone()).is_ok() && self.wake.write_all(&[0]).is_ok() {
            self.current = Some(what);
        }
    }

    /// Whether a prompt is being typed.
    pub fn is_typing(&self) -> bool {
        matches!(self.current, Some(Reading::Prompt(_)))
    }

    /// Notes an input. Returns `false` for one of a reading that something else has replaced.
    pub fn heard(&mut self, input: &TerminalInput) -> bool {
        let is_current = matches!(
            (input, &self.current),
            (TerminalInput::Ready | TerminalInput::Line { .. }, Some(Reading::Answer))
                | (TerminalInput::Key, Some(Reading::Key))
                | (TerminalInput::Prompt(_), Some(Reading::Prompt(_)))
                | (TerminalInput::Gone, _)
        );
        if is_current && *input != TerminalInput::Ready {
            self.current = None;
        }
        is_current
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.modes);
    }
}

/// The thread that reads.
struct TerminalReader {
    terminal: File,
    modes: Termios,
    woken: PipeReader,
    wanted: blocking::Receiver<Reading>,
    send: mpsc::Sender<TerminalInput>,
    editor: LineEditor,
}

/// Why waiting for input ended.
enum Woken {
    Input,
    /// Something else is read from now on.
    Instead(Reading),
    Gone,
}

impl TerminalReader {
    fn run(mut self) {
        while let Ok(first) = self.wanted.recv() {
            // Only the last wish counts.
            let mut what = self.wanted.try_iter().last().unwrap_or(first);
            loop {
                let input = match &what {
                    Reading::Prompt(initial) => {
                        self.set(OptionalActions::Now, true);
                        Ok(TerminalInput::Prompt(self.editor.read(initial)))
                    }
                    Reading::Key => self.key(),
                    Reading::Answer => self.answer(),
                };
                match input {
                    Err(instead) => what = instead,
                    Ok(input) => {
                        if self.send.blocking_send(input).is_err() {
                            return;
                        }
                        break;
                    }
                }
            }
        }
    }

    /// Sets the modes of the terminal: whole lines with echo, or single keys without.
    fn set(&self, when: OptionalActions, lines: bool) {
        let mut modes = self.modes.clone();
        if !lines {
            modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        }
        // The terminal may be gone, which the next read says.
        let _ = tcsetattr(&self.terminal, when, &modes);
    }

    /// Waits for a key, and leaves it to the prompt.
    fn key(&mut self) -> Result<TerminalInput, Reading> {
        self.set(OptionalActions::Now, false);
        match self.wait() {
            Woken::Input => Ok(TerminalInput::Key),
            Woken::Instead(what) => Err(what),
            Woken::Gone => Ok(TerminalInput::Gone),
        }
    }

    /// Reads a line. Keys from before are discarded.
    fn answer(&mut self) -> Result<TerminalInput, Reading> {
        self.set(OptionalActions::Flush, true);
        if self.send.blocking_send(TerminalInput::Ready).is_err() {
            return Ok(TerminalInput::Gone);
        }
        match self.wait() {
            Woken::Input => {}
            Woken::Instead(what) => return Err(what),
            Woken::Gone => return Ok(TerminalInput::Gone),
        }
        let mut bytes = vec![0; MOST_ANSWER];
        let length = self.terminal.read(&mut bytes).unwrap_or(0);
        bytes.truncate(length);
        read_rest_of_paste(&mut self.terminal, &mut bytes, MOST_ANSWER);
        // A line that the end of the input cut off is no answer: the user did not press Enter.
        if bytes.last() != Some(&b'\n') {
            return Ok(TerminalInput::Gone);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(TerminalInput::Line { text, at: Instant::now() })
    }

    fn wait(&mut self) -> Woken {
        loop {
            let mut watched =
                [PollFd::new(&self.terminal, PollFlags::IN), PollFd::new(&self.woken, PollFlags::IN)];
            match poll(&mut watched, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return Woken::Gone,
            }
            let [keys, wake] = watched.map(|watched| watched.revents());
            if !wake.is_empty() {
                // One byte a wish; one that was already read for says nothing new.
                if self.woken.read(&mut [0; 16]).unwrap_or(0) == 0 {
                    return Woken::Gone;
                }
                if let Some(what) = self.wanted.try_iter().last() {
                    return Woken::Instead(what);
                }
            } else if keys.contains(PollFlags::IN) {
                return Woken::Input;
            } else if !keys.is_empty() {
                return Woken::Gone;
            }
        }
    }
}
