//! Questions one after the other, at a terminal.
//!
//! Never shows a secret while it is typed, and always restores the terminal, also while setup is suspended.

use std::io::{self, IsTerminal};

use adjutant_core::text::display::one_line;
use rustix::process::{Signal as Sent, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::page::{Ink, Printer};
use crate::cli::present::Person;
use crate::cli::typed::TerminalInput;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionEnd {
    /// Ctrl-C.
    Interrupted,
    /// A signal asked the process to end.
    Terminated,
    /// The terminal is closed.
    Gone,
}

/// Where questions are asked and answered.
pub struct QuestionDesk {
    pub page: Printer,
    person: Person,
    /// Ctrl-Z.
    suspend: Signal,
}

/// A terminal that does not show typed text, until it is dropped.
struct Silent(Termios);

impl Silent {
    fn new() -> Option<Silent> {
        let usual = tcgetattr(io::stdin()).ok()?;
        let mut silent = usual.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent).ok()?;
        Some(Silent(usual))
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

impl QuestionDesk {
    /// Returns a desk, if a person is at a terminal.
    pub fn at_terminal() -> anyhow::Result<Option<QuestionDesk>> {
        if !io::stdout().is_terminal() {
            return Ok(None);
        }
        let Some(person) = Person::at_terminal(false, false) else { return Ok(None) };
        // SIGTSTP; the same number on Linux, macOS and the BSDs has no name of its own in the library.
        let suspend = signal(SignalKind::from_raw(Sent::TSTP.as_raw()))?;
        Ok(Some(QuestionDesk { page: Printer::of_stdout(), person, suspend }))
    }

    /// Asks until there is an answer. An empty line means the usual answer, if there is one.
    pub async fn ask(&mut self, question: &str, usual: Option<&str>) -> Result<String, QuestionEnd> {
        loop {
            let hint = usual.map(|usual| format!(" [{usual}]")).unwrap_or_default();
            let typed = self.typed(&format!("{question}{hint}"), Echo::Shown).await?;
            match (typed.is_empty(), usual) {
                (false, _) => return Ok(typed),
                (true, Some(usual)) => return Ok(usual.to_owned()),
                (true, None) => self.page.line("this needs an answer; Ctrl-C ends setup and changes nothing"),
            }
        }
    }

    /// Asks for a secret text; it may be empty.
    pub async fn secret(&mut self, question: &str) -> Result<String, QuestionEnd> {
        let typed = self.typed(question, Echo::Hidden).await;
        // The line end that was typed was not shown.
        self.page.line("");
        typed
    }

    async fn typed(&mut self, question: &str, echo: Echo) -> Result<String, QuestionEnd> {
        let typed = loop {
            // Silent before the question appears, so that a text that is pasted at once is not shown either.
            let silent = if echo == Echo::Hidden { Silent::new() } else { None };
            // Earlier input is discarded. What is typed once the question can be seen is an answer.
            self.person.listen();
            self.page.line_in(Ink::Bold, question);
            self.page.prompt();
            tokio::select! {
                typed = self.person.typed() => break typed,
                _ = self.suspend.recv() => {
                    drop(silent);
                    self.page.fresh_line();
                    suspend();
                    // The question is asked again.
                }
            }
        };
        self.page.entered();
        match typed {
            TerminalInput::Line { text, .. } => Ok(one_line(text.trim(), usize::MAX)),
            // Only the loop has the others.
            TerminalInput::Gone | TerminalInput::Ready | TerminalInput::Key | TerminalInput::Prompt(_) => {
                Err(QuestionEnd::Gone)
            }
        }
    }
}

/// Whether a line can be seen while it is typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Shown,
    Hidden,
}

/// Stops this process until it is continued, as Ctrl-Z does in a program that does not listen for it.
fn suspend() {
    // It cannot fail; if it did, the question would only be asked again.
    let _ = kill_process(getpid(), Sent::STOP);
}
