//! Questions one after the other, at a terminal.
//!
//! Never shows a secret while it is typed, and gives the terminal back as it was.

use std::io::{self, IsTerminal};

use adjutant_core::display::one_line;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::page::{Ink, Page};
use crate::cli::present::{Person, Typed};

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Ctrl-C.
    Interrupted,
    /// The terminal is closed.
    Gone,
}

/// Where questions are asked and answered.
pub struct Desk {
    pub page: Page,
    person: Person,
    interrupt: Signal,
}

/// A terminal that shows nothing of what is typed, until it is dropped.
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

impl Desk {
    /// Returns a desk, if a person is at a terminal.
    pub fn at_terminal() -> anyhow::Result<Option<Desk>> {
        if !io::stdout().is_terminal() {
            return Ok(None);
        }
        let Some(person) = Person::at_terminal(false, false) else { return Ok(None) };
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Some(Desk { page: Page::of_stdout(), person, interrupt }))
    }

    /// Asks until something is said; nothing typed is the usual answer, where there is one.
    pub async fn ask(&mut self, question: &str, usual: Option<&str>) -> Result<String, Left> {
        loop {
            let hint = usual.map(|usual| format!(" [{usual}]")).unwrap_or_default();
            self.page.line_in(Ink::Bold, &format!("{question}{hint}"));
            self.page.prompt();
            let typed = self.typed().await?;
            match (typed.is_empty(), usual) {
                (false, _) => return Ok(typed),
                (true, Some(usual)) => return Ok(usual.to_owned()),
                (true, None) => self.page.line("this needs an answer; Ctrl-C ends setup and changes nothing"),
            }
        }
    }

    /// Asks for a text that nobody else may see; it may be empty.
    pub async fn secret(&mut self, question: &str) -> Result<String, Left> {
        // Silent before the question can be read: who pastes at once is not shown either.
        let silent = Silent::new();
        self.page.line_in(Ink::Bold, question);
        self.page.prompt();
        let typed = self.typed().await;
        drop(silent);
        // The line end that was typed was not shown.
        self.page.line("");
        typed
    }

    async fn typed(&mut self) -> Result<String, Left> {
        self.person.listen();
        let typed = tokio::select! {
            typed = self.person.typed() => typed,
            _ = self.interrupt.recv() => {
                self.page.fresh_line();
                return Err(Left::Interrupted);
            }
        };
        self.page.entered();
        match typed {
            Typed::Line { text, .. } => Ok(one_line(text.trim(), usize::MAX)),
            Typed::Gone => Err(Left::Gone),
        }
    }
}
