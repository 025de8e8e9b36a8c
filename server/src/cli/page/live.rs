//! The end of the page of the loop: a status that text replaces, and output that waits while the user types.
//!
//! Never leaves a status on the page: it is erased before anything else is written.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use adjutant_core::text::cells::cells;

use super::{Ink, Printer};

/// How long the page must be unchanged before a status is drawn into a line that has text.
const STILL: Duration = Duration::from_millis(300);

/// What is drawn at the end of the page.
pub(super) struct Live {
    /// Whether the terminal can erase.
    erases: bool,
    /// Cells of the status.
    status: usize,
    written: Instant,
    /// Output that waits.
    held: Option<String>,
}

impl Live {
    pub(super) fn new(erases: bool) -> Self {
        Live { erases, status: 0, written: Instant::now(), held: None }
    }

    /// Returns what to write now for a text: it follows the status, which is erased, or waits.
    pub(super) fn pass<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        self.written = Instant::now();
        if let Some(held) = &mut self.held {
            held.push_str(text);
            return "".into();
        }
        match self.erase() {
            Some(erased) => (erased + text).into(),
            None => text.into(),
        }
    }

    fn erase(&mut self) -> Option<String> {
        let cells = std::mem::take(&mut self.status);
        (cells > 0).then(|| format!("\x1b[{cells}D\x1b[K"))
    }
}

impl Printer {
    /// Keeps output back from now on, on a line of its own.
    pub fn wait(&mut self) {
        if self.live.as_ref().is_none_or(|live| live.held.is_some()) {
            return;
        }
        // Writing erases the status.
        self.raw("");
        if self.column > 0 {
            self.gap.clear();
            self.newline();
        }
        self.flush();
        if let Some(live) = &mut self.live {
            live.held = Some(String::new());
        }
    }

    /// Writes what was kept back.
    pub fn go_on(&mut self) {
        if let Some(held) = self.live.as_mut().and_then(|live| live.held.take()) {
            self.raw(&held);
            self.flush();
        }
    }

    /// Whether a status can be drawn.
    pub fn has_status(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.erases)
    }

    /// Draws a status at the end of the page, if there is room.
    pub fn status(&mut self, text: &str) {
        let (column, look) = (self.column, self.look);
        let is_flowing = self.is_mid_line();
        let Some(live) = self.live.as_mut().filter(|live| live.erases && live.held.is_none()) else { return };
        if self.awaits || (is_flowing && live.written.elapsed() < STILL) {
            return;
        }
        let text = if column > 0 { format!("  {text}") } else { text.to_owned() };
        let erased = live.erase().unwrap_or_default();
        let size = cells(&text);
        let fits = column + size < look.width;
        live.status = if fits { size } else { 0 };
        let drawn = match (fits, look.colour) {
            (false, _) => erased,
            (true, true) => format!("{erased}\x1b[{}m{text}\x1b[0m", Ink::Dim.code()),
            (true, false) => erased + &text,
        };
        if self.broken.is_none() {
            self.broken = self.out.write_all(drawn.as_bytes()).err();
        }
        self.flush();
    }
}
