//! Where a conversation is printed: the answer on one page, all else on it or on another.
//!
//! At a terminal there is one page. Where standard output goes to a file or a program, it gets
//! the answer alone, and standard error the rest. Never writes half a line next to another one.

use super::page::Page;

/// The pages of one conversation.
pub struct Pages {
    answer: Page,
    /// None where everything goes to the first page.
    rest: Option<Page>,
}

impl Pages {
    /// Returns one page for everything.
    pub fn one(page: Page) -> Self {
        Pages { answer: page, rest: None }
    }

    /// Returns a page for the answer and one for everything else.
    pub fn two(answer: Page, rest: Page) -> Self {
        Pages { answer, rest: Some(rest) }
    }

    /// The page for the words of the model.
    pub fn answer(&mut self) -> &mut Page {
        &mut self.answer
    }

    /// The page for tool calls, asks, remarks and the end of a run.
    pub fn rest(&mut self) -> &mut Page {
        self.rest.as_mut().unwrap_or(&mut self.answer)
    }

    /// Begins a new line on every page where one is open.
    pub fn fresh_line(&mut self) {
        self.answer.fresh_line();
        if let Some(rest) = &mut self.rest {
            rest.fresh_line();
        }
    }

    /// Fails where not all of it was taken, as [`Page::written`].
    pub fn written(&mut self) -> anyhow::Result<()> {
        self.answer.written()?;
        self.rest.as_mut().map_or(Ok(()), Page::written)
    }

    /// Says whether a reader has gone.
    pub fn is_broken(&self) -> bool {
        self.answer.is_broken() || self.rest.as_ref().is_some_and(Page::is_broken)
    }
}
