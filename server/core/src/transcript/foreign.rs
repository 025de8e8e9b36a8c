//! Texts of others in the transcript: quotations in which nothing is drawn but text.
//!
//! Never outside of a quotation, so that none looks like a line of ours; never an image, HTML or a
//! link: a link is shown with its target.

use crate::display::shown;

/// Languages whose fences some previews draw as pictures with links in them.
const DRAWN: [&str; 7] = ["mermaid", "math", "plantuml", "geojson", "topojson", "stl", "dot"];
/// Characters of the name of a language.
const MAX_LANGUAGE: usize = 20;

/// A text with line ends of one kind, odd characters escaped.
pub(super) fn clean(text: &str) -> String {
    shown(&text.replace("\r\n", "\n")).into_owned()
}

/// A text as a quotation: each line of it belongs to it, so an open fence and HTML end with it.
pub(super) fn quoted(text: &str) -> String {
    let text = clean(text);
    let mut reader = Reader::default();
    let lines = text.trim_matches('\n').trim_end().lines();
    let lines: Vec<String> =
        lines.map(|line| format!("> {}", reader.line(line)).trim_end().to_owned()).collect();
    lines.join("\n")
}

/// Where in a text of Markdown a reader is.
#[derive(Default)]
struct Reader {
    /// The fence that is open.
    fence: Option<(char, usize)>,
    /// A line since the last empty one left backticks that a later line may close: what is code and
    /// what is not cannot be told.
    loose: bool,
}

impl Reader {
    /// Returns a line in which nothing but text is drawn.
    fn line(&mut self, line: &str) -> String {
        if let Some((mark, least)) = self.fence {
            let body = line.trim_start_matches(' ');
            let run = body.chars().take_while(|c| *c == mark).count();
            if line.len() - body.len() <= 3 && run >= least && body[run..].trim().is_empty() {
                self.fence = None;
            }
            return line.to_owned();
        }
        if line.trim().is_empty() {
            self.loose = false;
            return String::new();
        }
        if let Some((mark, run)) = opens(line) {
            self.fence = Some((mark, run));
            self.loose = false;
            return format!("{}{}", &line[..run], language(&line[run..]));
        }
        self.plain(line)
    }

    fn plain(&mut self, line: &str) -> String {
        let mut out = String::with_capacity(line.len() + 16);
        if self.loose || line.contains("\\`") {
            self.loose |= line.contains('`');
            literal(line, &mut out);
            return out;
        }
        let mut rest = line;
        while let Some(at) = rest.find('`') {
            literal(&rest[..at], &mut out);
            let run = ticks(&rest[at..]);
            let span = at + run;
            let end = closing(&rest[span..], run).map_or(span, |end| span + end);
            self.loose |= end == span;
            out.push_str(&rest[at..end]);
            rest = &rest[end..];
        }
        literal(rest, &mut out);
        out
    }
}

/// The fence a line opens. One that is indented may belong to an item of a list, and end with it.
fn opens(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let run = line.chars().take_while(|c| *c == mark).count();
    (run >= 3 && !(mark == '`' && line[run..].contains('`'))).then_some((mark, run))
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
