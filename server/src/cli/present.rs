//! The person at the terminal: whether there is one, and what they type.
//!
//! Reads only while an answer is wanted, and discards earlier input. Never counts a
//! line as the answer to a question that was not on the screen when it was typed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::fd::AsFd;
use std::sync::mpsc as blocking;
use std::time::Instant;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

use super::line::{Line, Reading};
use super::typed::{TerminalInput, read_rest_of_paste};

/// The most bytes of one typed line.
const MOST_TYPED: u64 = 64 * 1024;

/// A person who can be asked.
pub struct Person {
    hands: Hands,
    lines: mpsc::Receiver<TerminalInput>,
}

/// How a person types.
enum Hands {
    /// Only answers.
    Answers {
        /// The terminal, to discard earlier input.
        terminal: Option<File>,
        /// Starts one read.
        want: blocking::Sender<()>,
        /// A read is under way; it may be older than the question.
        reading: bool,
    },
    /// Also prompts.
    Line(Line),
}

impl Person {
    /// Returns the person at the terminal, if there is one. If the task came by standard
    /// input, `/dev/tty` is read. If standard output is for a program, questions are
    /// visible only on standard error.
    pub fn at_terminal(stdin_was_read: bool, stdout_is_taken: bool) -> Option<Self> {
        let seen = (io::stdout().is_terminal() && !stdout_is_taken) || io::stderr().is_terminal();
        if !seen {
            return None;
        }
        let terminal = if stdin_was_read {
            File::open("/dev/tty").ok()?
        } else if io::stdin().is_terminal() {
            File::from(io::stdin().as_fd().try_clone_to_owned().ok()?)
        } else {
            return None;
        };
        let to_flush = terminal.try_clone().ok()?;
        Self::reading(terminal, Some(to_flush))
    }

    /// Returns a person who types into this stream.
    pub fn reading(stream: impl Read + Send + 'static, terminal: Option<File>) -> Option<Self> {
        let (want, wanted) = blocking::channel::<()>();
        let (read, lines) = mpsc::channel(4);
        let mut pasted = terminal.as_ref().and_then(|terminal| terminal.try_clone().ok());
        // A thread of its own and not of the runtime: a read that never returns must not keep the
        // process from ending.
        let started = std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            let mut stream = BufReader::with_capacity(1024, stream);
            while wanted.recv().is_ok() {
                let typed = read_line(&mut stream, pasted.as_mut());
                let over = typed == TerminalInput::Gone;
                if read.blocking_send(typed).is_err() || over {
                    return;
                }
            }
        });
        started.ok()?;
        Some(Person { hands: Hands::Answers { terminal, want, reading: false }, lines })
    }

    /// Returns a person who also types prompts.
    pub fn at_line((line, lines): (Line, mpsc::Receiver<TerminalInput>)) -> Self {
        Person { hands: Hands::Line(line), lines }
    }

    /// Returns the line of the loop.
    pub fn line(&mut self) -> Option<&mut Line> {
        match &mut self.hands {
            Hands::Line(line) => Some(line),
            Hands::Answers { .. } => None,
        }
    }

    /// Begins to listen; input from before is discarded. Returns whether what is typed from now on is the
    /// answer; in the loop, `Ready` says so later.
    pub fn listen(&mut self) -> bool {
        let (terminal, want, reading) = match &mut self.hands {
            Hands::Answers { terminal, want, reading } => (terminal, want, reading),
            Hands::Line(line) => {
                line.read(Reading::Answer);
                return false;
            }
        };
        if let Some(terminal) = terminal {
            // If it cannot be flushed, the minimum time of an ask still protects.
            let _ = tcflush(terminal.as_fd(), QueueSelector::IFlush);
        }
        while self.lines.try_recv().is_ok() {
            *reading = false;
        }
        if !*reading {
            *reading = want.send(()).is_ok();
        }
        true
    }

    /// Returns the next line. The future may be dropped, and the function called again.
    pub async fn typed(&mut self) -> TerminalInput {
        loop {
            let typed = self.lines.recv().await.unwrap_or(TerminalInput::Gone);
            match &mut self.hands {
                Hands::Answers { reading, .. } => *reading = false,
                Hands::Line(line) => {
                    if !line.heard(&typed) {
                        continue;
                    }
                }
            }
            return typed;
        }
    }
}

/// Reads a line; of a terminal, with what was pasted together with it.
fn read_line(stream: &mut impl BufRead, terminal: Option<&mut File>) -> TerminalInput {
    let mut bytes = Vec::new();
    match stream.take(MOST_TYPED).read_until(b'\n', &mut bytes) {
        Err(_) => TerminalInput::Gone,
        // A line that the end of the input cut off is no answer: the user did not press Enter.
        Ok(length) if bytes.last() != Some(&b'\n') && (length as u64) < MOST_TYPED => TerminalInput::Gone,
        Ok(_) => {
            if let Some(terminal) = terminal {
                read_rest_of_paste(terminal, &mut bytes, MOST_TYPED as usize);
            }
            TerminalInput::Line { text: String::from_utf8_lossy(&bytes).into_owned(), at: Instant::now() }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn lines_are_read_when_wanted_and_the_end_is_told() {
        let (reader, mut writer) = io::pipe().unwrap_or_else(|error| panic!("{error}"));
        let Some(mut person) = Person::reading(reader, None) else { panic!("no thread") };
        person.listen();
        writer.write_all(b"yes\n").unwrap_or_else(|error| panic!("{error}"));
        let TerminalInput::Line { text, .. } = person.typed().await else { panic!("no line") };
        assert_eq!(text, "yes\n");
        person.listen();
        drop(writer);
        assert_eq!(person.typed().await, TerminalInput::Gone);
        person.listen();
        assert_eq!(person.typed().await, TerminalInput::Gone);
    }
}
