//! The only way to print text for the user: escaped, wrapped and coloured.
//!
//! Every character that a person cannot see is printed escaped (S3). Never panics
//! on a broken pipe: the printer remembers it and writes nothing more.

mod live;
mod markdown;

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use adjutant_core::text::cells::{cells, width_of};
use adjutant_core::text::display::{hidden, shown};

use live::Live;
use markdown::Markdown;

/// Cells of a line if the width is unknown.
pub const USUAL_WIDTH: usize = 80;
/// The least cells of a line, also on a narrower terminal.
const LEAST_WIDTH: usize = 20;

/// How a page looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub width: usize,
    pub colour: bool,
    /// Whether running text is wrapped. Text for a file or a program keeps its lines.
    pub wrap: bool,
}

/// The colours; all of them are readable on any background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    #[default]
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Cyan,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Ink::Plain => "0",
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Red => "31",
            Ink::Green => "32",
            Ink::Cyan => "36",
        }
    }
}

/// The output is not whole, for this reason.
#[derive(Debug, thiserror::Error)]
#[error("the output could not be written and is cut short: {0}")]
pub struct OutputCut(String);

/// A stream of text with a margin.
pub struct Printer {
    out: Box<dyn Write + Send>,
    look: Look,
    /// Cells written on the current line.
    column: usize,
    /// White space that is written only if a word follows on the same line.
    gap: String,
    /// The beginning of a word that may continue in the next piece.
    word: String,
    /// The text is between two Markdown fences, where lines are not wrapped.
    fenced: bool,
    /// Backticks at the beginning of the current line; `None` after any other character.
    ticks: Option<usize>,
    /// The prompt sign is the last text on the page.
    awaits: bool,
    /// Why nothing more is written.
    broken: Option<io::Error>,
    /// In the loop: a status at the end of the page, and output that waits.
    live: Option<Live>,
    /// In the loop: the inks of running text, one for each character of `word`.
    markdown: Option<Markdown>,
}

impl Printer {
    /// Returns a page on any stream.
    pub fn new(out: impl Write + Send + 'static, look: Look) -> Self {
        Printer {
            out: Box::new(out),
            look,
            column: 0,
            gap: String::new(),
            word: String::new(),
            fenced: false,
            ticks: Some(0),
            awaits: false,
            broken: None,
            live: None,
            markdown: None,
        }
    }

    /// Returns the page of the loop: running text is rendered lightly, and there is a status line unless the
    /// terminal is too plain.
    pub fn of_loop() -> Self {
        let mut page = Printer::of_stdout();
        page.live = Some(Live::new(!is_dumb()));
        page.markdown = Some(Markdown::default());
        page
    }

    pub fn of_stdout() -> Self {
        let stdout = io::stdout();
        let look = detect_look(&stdout, stdout.is_terminal());
        Printer::new(stdout, look)
    }

    pub fn of_stderr() -> Self {
        let stderr = io::stderr();
        let look = detect_look(&stderr, stderr.is_terminal());
        Printer::new(stderr, look)
    }

    pub fn width(&self) -> usize {
        self.look.width
    }

    /// Whether the reader has gone, or the output has failed.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Whether the current line has text.
    fn is_mid_line(&self) -> bool {
        self.column > 0 || !self.word.is_empty()
    }

    /// Writes a line of its own. It is wrapped, and its further lines are indented.
    pub fn line(&mut self, text: &str) {
        self.line_in(Ink::Plain, text);
    }

    /// As `line`, in colour.
    pub fn line_in(&mut self, ink: Ink, text: &str) {
        self.open_line(ink, text);
        self.newline();
        self.flush();
    }

    /// Writes a line of its own but not its end, so that more may follow.
    pub fn open_line(&mut self, ink: Ink, text: &str) {
        self.fresh_line();
        self.add(ink, text);
    }

    /// Adds to an open line.
    pub fn add(&mut self, ink: Ink, text: &str) {
        let text = shown(text).replace(['\n', '\t'], " ");
        let coloured = self.look.colour && ink != Ink::Plain;
        if coloured {
            self.raw(&format!("\x1b[{}m", ink.code()));
        }
        let before = if self.column == 0 { text.len() - text.trim_start_matches(' ').len() } else { 0 };
        let indent = " ".repeat(2 + before.min(self.look.width / 4));
        for (at, word) in text.split(' ').enumerate() {
            let space = usize::from(at > 0);
            if self.column > indent.len() && self.column + space + cells(word) > self.look.width {
                self.newline();
                self.put(&indent);
            } else if at > 0 {
                self.put(" ");
            }
            self.put_long(word, &indent);
        }
        if coloured {
            self.raw("\x1b[0m");
        }
        self.flush();
    }

    /// Writes lines as they are, escaped and not wrapped.
    pub fn block(&mut self, text: &str) {
        for line in text.lines() {
            self.verbatim(Ink::Plain, line);
        }
        self.flush();
    }

    /// Writes one line as it is, escaped and not wrapped, because the subject of an approval is shown whole.
    pub fn verbatim(&mut self, ink: Ink, line: &str) {
        self.fresh_line();
        let line = shown(line);
        if self.look.colour && ink != Ink::Plain {
            self.raw(&format!("\x1b[{}m{line}\x1b[0m", ink.code()));
        } else {
            self.raw(&line);
        }
        self.newline();
    }

    /// Writes a text with its own lines, in which everything invisible is escaped already.
    pub fn blocks(&mut self, text: &str) {
        self.fresh_line();
        self.raw(text);
        self.flush();
    }

    /// Writes one line of JSON. Invisible characters are escaped as in JSON.
    pub fn json(&mut self, line: &str) {
        self.fresh_line();
        let mut units = [0; 2];
        let mut escaped = String::with_capacity(line.len() + 1);
        for character in line.chars() {
            if hidden(character) {
                for unit in character.encode_utf16(&mut units) {
                    // Writing to a String cannot fail.
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            } else {
                escaped.push(character);
            }
        }
        self.raw(&escaped);
        self.newline();
        self.flush();
    }

    /// Fails with [`OutputCut`] if not everything could be written. A reader that has gone is no failure, because it wanted no more.
    pub fn written(&mut self) -> anyhow::Result<()> {
        self.flush();
        match &self.broken {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(OutputCut(error.to_string()).into())
            }
            _ => Ok(()),
        }
    }

    /// Writes the prompt sign.
    pub fn prompt(&mut self) {
        self.fresh_line();
        self.put("> ");
        self.awaits = true;
        self.flush();
    }

    /// Whether the prompt sign is the last text on the page.
    pub fn awaits(&self) -> bool {
        self.awaits
    }

    /// Notes that the user has typed a line, which ended the current one.
    pub fn entered(&mut self) {
        self.column = 0;
        self.awaits = false;
    }

    /// Writes running text, except a word at its end that may still have to move to the next line.
    pub fn flow(&mut self, text: &str) {
        let text = shown(text);
        if self.look.wrap {
            text.chars().for_each(|character| self.flow_one(character));
        } else {
            self.raw(&text);
            match text.rsplit_once('\n') {
                Some((_, last)) => self.column = cells(last),
                None => self.column += cells(&text),
            }
        }
        self.flush();
    }

    /// Ends running text: writes the word that was held back, and ends the line.
    pub fn end_flow(&mut self) {
        self.put_word();
        self.gap.clear();
        self.fenced = false;
        self.ticks = Some(0);
        if let Some(markdown) = &mut self.markdown {
            *markdown = Markdown::default();
        }
        if self.column > 0 {
            self.newline();
        }
        self.flush();
    }

    /// Ends the current line, if it has text.
    pub fn fresh_line(&mut self) {
        if self.is_mid_line() {
            self.end_flow();
        }
    }

    fn flow_one(&mut self, character: char) {
        self.ticks = match (self.ticks, character) {
            (_, '\n') => Some(0),
            (Some(ticks), '`') => Some(ticks + 1),
            _ => None,
        };
        if self.ticks == Some(3) {
            self.fenced = !self.fenced;
        }
        if let Some(markdown) = &mut self.markdown {
            let in_word = character != '\n' && (self.fenced || !matches!(character, ' ' | '\t'));
            markdown.read(character, in_word);
        }
        match character {
            '\n' => {
                self.put_word();
                self.gap.clear();
                self.newline();
            }
            ' ' | '\t' if !self.fenced => {
                self.put_word();
                self.gap.push(character);
            }
            _ => {
                self.word.push(character);
                // A word longer than a line is not held back, nor is text between fences.
                if self.fenced || cells(&self.word) + 1 >= self.look.width {
                    self.put_word();
                }
            }
        }
    }

    fn put_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let gap = std::mem::take(&mut self.gap);
        let full = self.column + cells(&gap) + cells(&word) > self.look.width;
        if !full || self.fenced {
            self.put(&gap);
        } else if self.column > 0 {
            self.newline();
            let indent = self.markdown.as_ref().map_or(0, |markdown| markdown.indent(self.look.width));
            self.put(&" ".repeat(indent));
        }
        let Some(markdown) = self.markdown.as_mut().filter(|_| self.look.colour) else {
            if let Some(markdown) = &mut self.markdown {
                markdown.take();
            }
            return self.put(&word);
        };
        for (ink, piece) in markdown.pieces(&word) {
            self.column += cells(&piece);
            match ink {
                Ink::Plain => self.raw(&piece),
                ink => self.raw(&format!("\x1b[{}m{piece}\x1b[0m", ink.code())),
            }
        }
    }

    /// Writes a word; one that is longer than a line is split.
    fn put_long(&mut self, word: &str, indent: &str) {
        for character in word.chars() {
            if self.column + width_of(character) > self.look.width {
                self.newline();
                self.put(indent);
            }
            let mut bytes = [0; 4];
            self.put(character.encode_utf8(&mut bytes));
        }
    }

    fn put(&mut self, text: &str) {
        self.column += cells(text);
        self.raw(text);
    }

    fn newline(&mut self) {
        self.column = 0;
        self.awaits = false;
        self.raw("\n");
    }

    fn raw(&mut self, text: &str) {
        let text = match &mut self.live {
            Some(live) => live.pass(text),
            None => text.into(),
        };
        if self.broken.is_none() {
            self.broken = self.out.write_all(text.as_bytes()).err();
        }
    }

    fn flush(&mut self) {
        if self.broken.is_none() {
            self.broken = self.out.flush().err();
        }
    }
}

/// Writes a line about the program itself on standard error; at a terminal it is wrapped.
pub fn note(text: &str) {
    if io::stderr().is_terminal() {
        let mut page = Printer::of_stderr();
        return text.lines().for_each(|line| page.line(line));
    }
    // If standard error is closed, there is no way left to report it.
    let _ = writeln!(io::stderr(), "{}", shown(text));
}

/// Whether the terminal can only write forward.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|name| name == "dumb")
}

fn detect_look(stream: &impl AsFd, terminal: bool) -> Look {
    let size = if terminal { rustix::termios::tcgetwinsize(stream).ok() } else { None };
    let size = size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    let columns =
        std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok()).filter(|width| *width > 0);
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Look {
        width: size.or(columns).unwrap_or(USUAL_WIDTH).clamp(LEAST_WIDTH, 1000),
        colour: terminal && !no_colour && !is_dumb(),
        wrap: terminal || columns.is_some(),
    }
}

#[cfg(test)]
pub mod tests;
