//! Where a conversation is printed: the answer on one page, everything else on the same or on another.
//!
//! At a terminal there is one page. If standard output goes to a file or a program, it gets only the
//! answer, and standard error gets the rest. Never writes half a line next to another one.

use super::page::Printer;

/// The pages of one conversation.
pub struct Pages {
    answer: Printer,
    /// `None` if everything goes to the first page.
    rest: Option<Printer>,
}

impl Pages {
    /// Returns one page for everything.
    pub fn one(page: Printer) -> Self {
        Pages { answer: page, rest: None }
    }

    /// Returns a page for the answer and one for everything else.
    pub fn two(answer: Printer, rest: Printer) -> Self {
        Pages { answer, rest: Some(rest) }
    }

    /// Returns the page for the words of the model.
    pub fn answer(&mut self) -> &mut Printer {
        &mut self.answer
    }

    /// Returns the page for tool calls, asks, remarks and the end of a run.
    pub fn rest(&mut self) -> &mut Printer {
        self.rest.as_mut().unwrap_or(&mut self.answer)
    }

    /// Ends the open line of each page.
    pub fn fresh_line(&mut self) {
        self.answer.fresh_line();
        if let Some(rest) = &mut self.rest {
            rest.fresh_line();
        }
    }

    /// Keeps output back while the user types a line.
    pub fn wait(&mut self) {
        self.rest().wait();
    }

    /// Writes what was kept back.
    pub fn go_on(&mut self) {
        self.rest().go_on();
    }

    /// Fails if not everything could be written, as [`Printer::written`].
    pub fn written(&mut self) -> anyhow::Result<()> {
        self.answer.written()?;
        self.rest.as_mut().map_or(Ok(()), Printer::written)
    }

    /// Whether a reader has gone.
    pub fn is_broken(&self) -> bool {
        self.answer.is_broken() || self.rest.as_ref().is_some_and(Printer::is_broken)
    }
}
