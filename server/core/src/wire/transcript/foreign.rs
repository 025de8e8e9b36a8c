//! Quotes text from the model, the user and tools in the transcript, so that a preview draws nothing but text.
//!
//! Such text is never outside of a quotation, so it cannot look like one of Adjutant's own lines. It is never drawn
//! as an image, HTML or a link; a link is shown with its target.

use crate::text::display::shown;

/// Languages whose code blocks some previews draw as pictures with links in them.
const DRAWN: [&str; 7] = ["mermaid", "math", "plantuml", "geojson", "topojson", "stl", "dot"];
/// Characters of the name of a language.
const MAX_LANGUAGE: usize = 20;
/// Columns from one tab stop to the next.
const TAB: usize = 4;

/// Returns a text with `\n` line ends and with invisible characters escaped.
pub(super) fn clean(text: &str) -> String {
    shown(&text.replace("\r\n", "\n")).into_owned()
}

/// Returns a text as a quotation. Each line gets `> `, so an open fence or HTML ends with the quotation.
pub(super) fn quoted(text: &str) -> String {
    let mut lines = Quotation::default().rest(text);
    lines.truncate(lines.trim_end_matches('\n').len());
    lines
}

/// A quotation that grows with its text. Blank lines wait for the line after them, because none ends a quotation.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotation {
    reader: Reader,
    /// Bytes of the text that it has; they end with a line.
    done: usize,
    /// Blank lines that wait. `None` before the first line.
    blank: Option<usize>,
}

impl Quotation {
    /// Returns the lines that this text, which only grows, has more than before, without one that may still grow.
    pub(super) fn whole_lines(&mut self, text: &str) -> String {
        let rest = text.get(self.done..).unwrap_or_default();
        let end = self.done + rest.rfind('\n').map_or(0, |at| at + 1);
        self.up_to(text, end)
    }

    /// Returns all lines that the text has more than before.
    pub(super) fn rest(&mut self, text: &str) -> String {
        self.up_to(text, text.len())
    }

    /// Whether this text is the one so far, or a longer one.
    pub(super) fn is_of(&self, text: &str) -> bool {
        text.is_char_boundary(self.done) && (self.done == 0 || text.as_bytes()[self.done - 1] == b'\n')
    }

    /// Begins a new quotation with the next line, because the transcript has another block before it.
    pub(super) fn begin_anew(&mut self) {
        (self.reader, self.blank) = (Reader::default(), None);
    }

    fn up_to(&mut self, text: &str, end: usize) -> String {
        let new = clean(text.get(self.done..end).unwrap_or_default());
        self.done = end;
        let mut out = String::with_capacity(new.len() + 16);
        // `Reader` must see each line as it will be written: without blanks at its end, and with spaces for its leading
        // tabs, because a tab has another width after `> `.
        for line in new.lines().map(|line| spaced(line.trim_end())) {
            if line.is_empty() {
                self.blank = self.blank.map(|blank| blank + 1);
                continue;
            }
            for _ in 0..self.blank.replace(0).unwrap_or_default() {
                self.reader.line("");
                out.push_str(">\n");
            }
            out.push_str(format!("> {}", self.reader.line(&line)).trim_end());
            out.push('\n');
        }
        out
    }
}

/// Returns a line with spaces for its leading tabs.
fn spaced(line: &str) -> String {
    let body = line.trim_start_matches([' ', '\t']);
    let stop = |width: usize, c| if c == '\t' { width / TAB * TAB + TAB } else { width + 1 };
    let width = line[..line.len() - body.len()].chars().fold(0, stop);
    format!("{}{body}", " ".repeat(width))
}

/// Where in a Markdown text the reader is.
#[derive(Clone, Debug, Default)]
enum MarkdownState {
    #[default]
    Text,
    /// In a code block for every Markdown parser. Only here are lines copied unchanged.
    Code(Fence),
    /// After an indented fence: it may belong to a list item, or may not count. After its end, no parser is in a code
    /// block.
    Indented(Fence),
    /// From here to the end, parsers may disagree about what is code, so no line counts as code.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Fence {
    indent: usize,
    mark: char,
    run: usize,
}

#[derive(Clone, Debug, Default)]
struct Reader {
    state: MarkdownState,
    /// Since the last empty line, there was a backtick that a later line may close. Until then it is unknown which
    /// text is code.
    has_open_tick: bool,
}

impl Reader {
    /// Returns the line escaped so that only text is drawn.
    fn line(&mut self, line: &str) -> String {
        let empty = line.is_empty();
        match self.state {
            MarkdownState::Code(fence) => {
                if fence.may_end(line) {
                    self.state = if fence.ends(line) { MarkdownState::Text } else { MarkdownState::Unknown };
                }
                line.to_owned()
            }
            MarkdownState::Indented(fence) => {
                if fence.ends(line) && indent(line) == fence.indent {
                    (self.state, self.has_open_tick) = (MarkdownState::Text, true);
                } else if !empty && (indent(line) < fence.indent || has_fence(line)) {
                    self.state = MarkdownState::Unknown;
                }
                escaped(line)
            }
            MarkdownState::Unknown => escaped(line),
            MarkdownState::Text if empty => {
                self.has_open_tick = false;
                String::new()
            }
            MarkdownState::Text => self.text(line),
        }
    }

    fn text(&mut self, line: &str) -> String {
        // Some previews draw mathematics between `$$`, and ignore fences in it.
        if !has_fence(line) && !line.contains("$$") {
            return self.plain(line);
        }
        match Fence::opened(line) {
            Some(fence) if fence.indent == 0 => {
                self.state = MarkdownState::Code(fence);
                self.has_open_tick = false;
                format!("{}{}", &line[..fence.run], language(&line[fence.run..]))
            }
            fence => {
                self.state = fence.map_or(MarkdownState::Unknown, MarkdownState::Indented);
                escaped(line)
            }
        }
    }

    fn plain(&mut self, line: &str) -> String {
        // In a table, the end of a cell ends a code span as well.
        if self.has_open_tick || line.contains("\\`") || (line.contains('|') && line.contains('`')) {
            self.has_open_tick |= line.contains(['`', '$']);
            return escaped(line);
        }
        let mut out = String::with_capacity(line.len() + 16);
        let mut rest = line;
        while let Some(at) = rest.find('`') {
            let before = &rest[..at];
            literal(before, &mut out);
            rest = &rest[at..];
            if may_cover_code(before) {
                break;
            }
            let run = ticks(rest);
            let end = closing(&rest[run..], run).map_or(run, |end| run + end);
            self.has_open_tick |= end == run;
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
        self.has_open_tick |= rest.contains(['`', '$']);
        literal(rest, &mut out);
        out
    }
}

/// Whether a text may end in mathematics or an address, which some parsers read before a code span.
fn may_cover_code(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    text.contains('$') || word.contains([':', '@']) || word.contains("www.")
}

impl Fence {
    fn opened(line: &str) -> Option<Self> {
        let indent = indent(line);
        let mark = line[indent..].chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let run = line[indent..].chars().take_while(|c| *c == mark).count();
        let named = &line[indent + run..];
        (run >= 3 && !named.contains(['`', '~', '$'])).then_some(Self { indent, mark, run })
    }

    /// Whether a line ends it for every parser.
    fn ends(&self, line: &str) -> bool {
        let plain = line.bytes().all(|byte| byte == b' ' || char::from(byte) == self.mark);
        self.may_end(line) && plain && indent(line) <= self.indent + 3
    }

    /// Whether a line may end it for some parser.
    fn may_end(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.run && line.chars().all(|c| c == self.mark)
    }
}

fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

fn has_fence(line: &str) -> bool {
    line.contains("```") || line.contains("~~~")
}

fn escaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 16);
    literal(line, &mut out);
    out
}

fn language(named: &str) -> &str {
    let named = named.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "+#._-".contains(c);
    let drawn = DRAWN.iter().any(|drawn| named.eq_ignore_ascii_case(drawn));
    if drawn || named.len() > MAX_LANGUAGE || !named.chars().all(plain) { "" } else { named }
}

fn ticks(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// Returns where the first run of exactly `run` backticks ends.
fn closing(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        let found = ticks(&text[at + next..]);
        at += next + found;
        if found == run {
            return Some(at);
        }
    }
    None
}

/// Appends a text with every `<` and `[` escaped, so that no tag, link or image begins.
fn literal(text: &str, out: &mut String) {
    for c in text.chars() {
        let escaped = out.ends_with('\\');
        match c {
            // After a backslash of the text, an added backslash would itself be escaped.
            '<' if escaped => out.push_str("&lt;"),
            '[' if escaped => out.push_str("&#91;"),
            '<' => out.push_str("\\<"),
            '[' => out.push_str("\\["),
            c => out.push(c),
        }
    }
}
