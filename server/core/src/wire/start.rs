//! Makes the prompt of a start (Fix, Explain, Write tests, Do what the comment says) from what the editor shows.
//!
//! No other file has these texts. It gets the text to quote as an argument and bounds every quote. Never reads a
//! document and never decides what may run.

mod attached;
mod comment;
mod excerpt;
#[cfg(test)]
mod tests;

use adjutant_protocol::start::{DiagnosticCode, StartDiagnostic, StartParams, Template};
use ropey::Rope;

use crate::record::Mode;
use crate::session::maker::{PLACE_OF_USER, REPORTED};
use crate::text::display::one_line;
use crate::text::position::{Encoding, PositionError, Range};
use crate::tool::MAX_TITLE;

pub use attached::{Attachment, AttachmentKind, MAX_ATTACHMENTS, MAX_MENTIONED, attached, attached_names};
pub use comment::touches_comment;

/// Diagnostics that one prompt lists; it gives the number of the others.
pub const MAX_DIAGNOSTICS: usize = 20;
/// Characters of one diagnostic's message.
pub const MAX_MESSAGE: usize = 2_000;
/// Characters of a title after its verb, of which "Write tests: " is the longest.
const TITLE_CHARS: usize = MAX_TITLE - 13;
/// Characters of a path or a symbol in the prompt.
const NAME_CHARS: usize = 300;

/// The file where the user starts a run.
#[derive(Clone, Debug)]
pub struct Passage<'a> {
    /// The path as tools accept it.
    pub path: &'a str,
    /// The text in the editor, else on disk. `None` for a file that is not quoted because it may contain secrets;
    /// the model must ask to read it.
    pub text: Option<&'a Rope>,
    pub encoding: Encoding,
}

/// The prompt of a start, with its title and, if it says one, its mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The words of the user or of a template.
    pub text: String,
    /// The problems and the user's place, which follow the words; empty without either.
    pub added: String,
    /// `None` means the first line of the text.
    pub title: Option<String>,
    /// `None` means the mode of the session.
    pub mode: Option<Mode>,
}

/// Why a start is not possible; the text is for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartProblem {
    #[error("say what to do: give a `text`, or a `template` with the `uri` and `range` it is about")]
    Nothing,
    #[error("a fix needs a diagnostic; give `diagnostics`, or say in `text` what is wrong")]
    NoDiagnostic,
    #[error("give the `uri` and `range` this is about")]
    NoPlace,
    #[error("there is no comment at line {0}; put the cursor on one")]
    NoComment(usize),
    #[error("the editor and the server do not have the same text, so nothing was started; try again: {0}")]
    Elsewhere(PositionError),
}

/// Returns the prompt of a start.
pub fn task(params: &StartParams, passage: Option<&Passage<'_>>) -> Result<Task, StartProblem> {
    let place = StartPlace::new(params, passage)?;
    let added = params.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let Some(template) = params.template else {
        let text = added.ok_or(StartProblem::Nothing)?;
        return Ok(Task { text: text.to_owned(), added: place.added(params), title: None, mode: None });
    };
    let Instruction { words, title } = match template {
        Template::Fix => fix(params, &place, added)?,
        Template::Explain => explain(params, &place)?,
        Template::WriteTests => write_tests(params, &place)?,
        Template::Comment => do_comment(&place)?,
    };
    let words = match added {
        Some(text) => format!("{words}\n\nThe user adds: {text}"),
        None => words,
    };
    let mode = (template == Template::Explain).then_some(Mode::Ask);
    Ok(Task { text: words, added: place.added(params), title: Some(title), mode })
}

/// What a template asks of the model, and the title of its run.
struct Instruction {
    words: String,
    title: String,
}

fn fix(
    params: &StartParams,
    place: &StartPlace<'_>,
    added: Option<&str>,
) -> Result<Instruction, StartProblem> {
    let (what, title) = match (params.diagnostics.as_slice(), added) {
        ([], None) => return Err(StartProblem::NoDiagnostic),
        ([], Some(text)) => ("what the user names below".to_owned(), one_line(text, TITLE_CHARS)),
        ([one], _) => ("this problem".to_owned(), one_line(&one.message, TITLE_CHARS)),
        (many, _) => {
            let count = format!("{} problems", many.len());
            (format!("these {count}"), format!("{count} in {}", place.name()))
        }
    };
    let words = format!(
        "Fix {what} in {}. Find the cause and fix it with the smallest possible change; leave everything else as it is.",
        place.name()
    );
    Ok(Instruction { words, title: format!("Fix: {title}") })
}

fn explain(params: &StartParams, place: &StartPlace<'_>) -> Result<Instruction, StartProblem> {
    let name = place.required_path()?;
    if let Some(first) = params.diagnostics.first() {
        let words = format!(
            "Explain what is reported in {name}: what it means, what causes it here, and how it could be solved. Change nothing."
        );
        return Ok(Instruction {
            words,
            title: format!("Explain: {}", one_line(&first.message, TITLE_CHARS)),
        });
    }
    let words = format!(
        "Explain {} of {name}: what it does and why, and what is surprising or wrong about it. Change nothing.",
        place.subject(params)
    );
    Ok(Instruction { words, title: format!("Explain: {}", place.title(params)) })
}

fn write_tests(params: &StartParams, place: &StartPlace<'_>) -> Result<Instruction, StartProblem> {
    let name = place.required_path()?;
    let words = format!(
        "Write tests for {} of {name}, in the place and the style of this project's other tests, and run them. \
         Leave the code under test as it is; if a test shows that it is wrong, say so.",
        place.subject(params)
    );
    Ok(Instruction { words, title: format!("Write tests: {}", place.title(params)) })
}

fn do_comment(place: &StartPlace<'_>) -> Result<Instruction, StartProblem> {
    let name = place.required_path()?;
    let (Some(text), Some(range)) = (place.text, place.range) else { return Err(StartProblem::NoPlace) };
    let line = range.start.line as usize;
    let (lines, comment) = comment::at(text, range, name).ok_or(StartProblem::NoComment(line + 1))?;
    let words = format!(
        "The user asks you to do what the comment in {name}, {}, says. These are the user's own words:\n\n{comment}\n\n\
         When it is done, remove the comment if readers of the code do not need it any more.",
        excerpt::lines_named(&lines)
    );
    Ok(Instruction { words, title: format!("Comment: {}", one_line(&comment, TITLE_CHARS)) })
}

/// The place of a start. Its range is valid in the text.
struct StartPlace<'a> {
    path: Option<String>,
    text: Option<&'a Rope>,
    encoding: Encoding,
    /// The range of the request, else the range of the first diagnostic.
    range: Option<Range>,
}

impl<'a> StartPlace<'a> {
    fn new(params: &StartParams, passage: Option<&Passage<'a>>) -> Result<Self, StartProblem> {
        let first = params.diagnostics.first().and_then(|diagnostic| diagnostic.range.as_ref());
        let range = params.range.as_ref().or(first).map(|range| (*range).into());
        let text = passage.and_then(|passage| passage.text);
        let encoding = passage.map(|passage| passage.encoding).unwrap_or_default();
        if let (Some(text), Some(range)) = (text, range) {
            crate::text::position::offsets_of(text, range, encoding).map_err(StartProblem::Elsewhere)?;
        }
        let path = passage.map(|passage| one_line(passage.path, NAME_CHARS));
        Ok(Self { path, text, encoding, range })
    }

    fn name(&self) -> &str {
        self.path.as_deref().unwrap_or("the workspace")
    }

    fn required_path(&self) -> Result<&str, StartProblem> {
        self.path.as_deref().ok_or(StartProblem::NoPlace)
    }

    /// Returns the subject of a template for a sentence: the symbol, the lines, or the whole file.
    fn subject(&self, params: &StartParams) -> String {
        match (symbol(params), self.range) {
            (Some(symbol), _) => format!("`{symbol}`"),
            (None, Some(range)) => excerpt::lines_named(&excerpt::lines_of(range)),
            (None, None) => "the whole".to_owned(),
        }
    }

    fn title(&self, params: &StartParams) -> String {
        let lines = self.range.map(excerpt::lines_of);
        let line = lines.map(|lines| {
            let (first, last) = (lines.start() + 1, lines.end() + 1);
            if first == last { format!(":{first}") } else { format!(":{first}-{last}") }
        });
        match symbol(params) {
            Some(symbol) => one_line(&format!("{symbol} in {}", self.name()), TITLE_CHARS),
            None => one_line(&format!("{}{}", self.name(), line.unwrap_or_default()), TITLE_CHARS),
        }
    }

    /// Returns what follows the words: the diagnostics, then the user's place and the lines around it.
    fn added(&self, params: &StartParams) -> String {
        let mut text = String::new();
        if !params.diagnostics.is_empty() {
            text.push_str(REPORTED);
            let listed = params.diagnostics.iter().take(MAX_DIAGNOSTICS);
            listed.for_each(|diagnostic| text.push_str(&self.diagnostic_line(diagnostic)));
            let more = params.diagnostics.len().saturating_sub(MAX_DIAGNOSTICS);
            if more > 0 {
                text.push_str(&format!("- and {more} more\n"));
            }
        }
        let Some(path) = &self.path else { return text };
        let inside = symbol(params).map(|symbol| format!(", in `{symbol}`")).unwrap_or_default();
        let end = text.trim_end().len();
        text.truncate(end);
        match (self.text, self.range) {
            (Some(rope), Some(range)) => {
                let at = excerpt::selected(rope, range, self.encoding);
                text.push_str(&format!(
                    "{PLACE_OF_USER}at {at} of {path}{inside}. The lines around it, as the editor has them now, unsaved changes included:\n\n"
                ));
                text.push_str(&excerpt::numbered(rope, &excerpt::lines_of(range)));
            }
            (_, Some(range)) => {
                let at = excerpt::lines_named(&excerpt::lines_of(range));
                text.push_str(&format!("{PLACE_OF_USER}at {at} of {path}{inside}."));
            }
            (_, None) => text.push_str(&format!("{PLACE_OF_USER}in {path}{inside}.")),
        }
        text
    }

    fn diagnostic_line(&self, diagnostic: &StartDiagnostic) -> String {
        let place = diagnostic.range.as_ref().map(|range| (*range).into());
        let at = place.map(|range| match self.text {
            Some(text) => format!(" at {}", excerpt::selected(text, range, self.encoding)),
            None => format!(" at {}", excerpt::lines_named(&excerpt::lines_of(range))),
        });
        format!("- {}\n", diagnostic_words(diagnostic, &at.unwrap_or_default()))
    }
}

/// Returns a diagnostic in words, with its place after its severity.
fn diagnostic_words(diagnostic: &StartDiagnostic, at: &str) -> String {
    let severity = match diagnostic.severity {
        Some(1) => "error",
        Some(2) => "warning",
        Some(3) => "information",
        Some(4) => "hint",
        _ => "problem",
    };
    let code = diagnostic.code.as_ref().map(|code| match code {
        DiagnosticCode::Number(number) => number.to_string(),
        DiagnosticCode::Name(name) => one_line(name, 100),
    });
    let source = diagnostic.source.as_ref().map(|source| one_line(source, 100));
    let by: Vec<String> = source.into_iter().chain(code).collect();
    let by = if by.is_empty() { String::new() } else { format!(" [{}]", by.join(" ")) };
    let message: String =
        crate::text::display::shown(diagnostic.message.trim()).chars().take(MAX_MESSAGE).collect();
    format!("{severity}{at}{by}: {}", message.replace('\n', "\n  "))
}

/// Returns a line for each problem of a file, at most `most`, for a list of problems.
pub fn problem_lines(path: &str, diagnostics: &[StartDiagnostic], most: usize) -> Vec<String> {
    let line = |diagnostic: &StartDiagnostic| {
        let range = diagnostic.range.as_ref().map(|range| excerpt::lines_of((*range).into()));
        let at = range.map_or_else(|| path.to_owned(), |lines| format!("{path}:{}", lines.start() + 1));
        format!("{at}: {}", diagnostic_words(diagnostic, ""))
    };
    diagnostics.iter().take(most).map(line).collect()
}

fn symbol(params: &StartParams) -> Option<String> {
    let symbol = params.symbol.as_deref().map(str::trim).filter(|symbol| !symbol.is_empty())?;
    Some(one_line(symbol, NAME_CHARS))
}
