//! Texts of others in the transcript: quotations in which nothing is drawn but text.
//!
//! Never outside of a quotation, so that none looks like a line of ours; never an image, HTML or a
//! link: a link is shown with its target.

use crate::text::display::shown;

/// Languages whose fences some previews draw as pictures with links in them.
const DRAWN: [&str; 7] = ["mermaid", "math", "plantuml", "geojson", "topojson", "stl", "dot"];
/// Characters of the name of a language.
const MAX_LANGUAGE: usize = 20;
/// Columns from one stop of the tabs to the next.
const TAB: usize = 4;

/// A text with line ends of one kind, odd characters escaped.
pub(super) fn clean(text: &str) -> String {
    shown(&text.replace("\r\n", "\n")).into_owned()
}

/// A text as a quotation: each line of it belongs to it, so an open fence and HTML end with it.
pub(super) fn quoted(text: &str) -> String {
    let text = clean(text);
    let mut reader = Reader::default();
    let lines = text.trim_matches('\n').trim_end().lines();
    // What is judged is what is written: without the blanks at its end, and without tabs before it,
    // which are of another width behind the sign of a quotation.
    let lines = lines.map(|line| spaced(line.trim_end()));
    let lines: Vec<String> =
        lines.map(|line| format!("> {}", reader.line(&line)).trim_end().to_owned()).collect();
    lines.join("\n")
}

/// A line with spaces for the tabs it begins with.
fn spaced(line: &str) -> String {
    let body = line.trim_start_matches([' ', '\t']);
    let stop = |width: usize, c| if c == '\t' { width / TAB * TAB + TAB } else { width + 1 };
    let width = line[..line.len() - body.len()].chars().fold(0, stop);
    format!("{}{body}", " ".repeat(width))
}

/// Where in a text of Markdown a reader is.
#[derive(Default)]
enum MarkdownState {
    #[default]
    Text,
    /// In a fence that every reader sees: only there are lines copied as they are.
    Code(Fence),
    /// After an indented fence: of an item, or none at all. Where it ends, no reader is in a fence.
    Indented(Fence),
    /// Some readers may be in a fence and others not, to the end of the text: nothing is code.
    Unknown,
}

#[derive(Clone, Copy)]
struct Fence {
    indent: usize,
    mark: char,
    run: usize,
}

#[derive(Default)]
struct Reader {
    place: MarkdownState,
    /// Since the last empty line, a backtick was opened that a later line may close. Until then nobody knows
    /// which text is code.
    loose: bool,
}

impl Reader {
    /// Returns a line in which nothing but text is drawn.
    fn line(&mut self, line: &str) -> String {
        let empty = line.is_empty();
        match self.place {
            MarkdownState::Code(fence) => {
                if fence.may_end(line) {
                    self.place = if fence.ends(line) { MarkdownState::Text } else { MarkdownState::Unknown };
                }
                line.to_owned()
            }
            MarkdownState::Indented(fence) => {
                if fence.ends(line) && indent(line) == fence.indent {
                    (self.place, self.loose) = (MarkdownState::Text, true);
                } else if !empty && (indent(line) < fence.indent || has_fence(line)) {
                    self.place = MarkdownState::Unknown;
                }
                escaped(line)
            }
            MarkdownState::Unknown => escaped(line),
            MarkdownState::Text if empty => {
                self.loose = false;
                String::new()
            }
            MarkdownState::Text => self.text(line),
        }
    }

    fn text(&mut self, line: &str) -> String {
        // Some previews draw mathematics, and see no fences in it.
        if !has_fence(line) && !line.contains("$$") {
            return self.plain(line);
        }
        match Fence::opened(line) {
            Some(fence) if fence.indent == 0 => {
                self.place = MarkdownState::Code(fence);
                self.loose = false;
                format!("{}{}", &line[..fence.run], language(&line[fence.run..]))
            }
            fence => {
                self.place = fence.map_or(MarkdownState::Unknown, MarkdownState::Indented);
                escaped(line)
            }
        }
    }

    fn plain(&mut self, line: &str) -> String {
        // The cells of a table end in code as well.
        if self.loose || line.contains("\\`") || (line.contains('|') && line.contains('`')) {
            self.loose |= line.contains(['`', '$']);
            return escaped(line);
        }
        let mut out = String::with_capacity(line.len() + 16);
        let mut rest = line;
        while let Some(at) = rest.find('`') {
            let before = &rest[..at];
            literal(before, &mut out);
            rest = &rest[at..];
            if reaches_on(before) {
                break;
            }
            let run = ticks(rest);
            let end = closing(&rest[run..], run).map_or(run, |end| run + end);
            self.loose |= end == run;
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
        self.loose |= rest.contains(['`', '$']);
        literal(rest, &mut out);
        out
    }
}

/// Whether a text may end in what some readers take before code: mathematics or an address.
fn reaches_on(text: &str) -> bool {
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

    /// Whether a line ends it for every reader.
    fn ends(&self, line: &str) -> bool {
        let plain = line.bytes().all(|byte| byte == b' ' || char::from(byte) == self.mark);
        self.may_end(line) && plain && indent(line) <= self.indent + 3
    }

    /// Whether some reader may see its end in a line.
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

/// Where the first run of exactly so many backticks ends.
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

/// Takes its meaning from everything that begins a tag, a link or an image.
fn literal(text: &str, out: &mut String) {
    for c in text.chars() {
        let escaped = out.ends_with('\\');
        match c {
            // A backslash before it would take the meaning from ours.
            '<' if escaped => out.push_str("&lt;"),
            '[' if escaped => out.push_str("&#91;"),
            '<' => out.push_str("\\<"),
            '[' => out.push_str("\\["),
            c => out.push(c),
        }
    }
}
