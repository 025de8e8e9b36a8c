//! What the next request of a session holds, as lines for a terminal.
//!
//! Never decides what belongs to the request: the server does.

use adjutant_core::text::cells::cells;
use adjutant_core::text::display::one_line;
use adjutant_core::wire::transcript::tokens_line;
use adjutant_protocol::context::{ContextLifetime, ContextSection, SessionContextResult};

use crate::cli::page::{Ink, Printer};

/// Characters of the name and of the source of a section.
const MAX_SHOWN: usize = 80;

/// Prints the sections and the tools; with the texts, if the answer has them.
pub fn print(page: &mut Printer, context: &SessionContextResult) {
    let size = u64::from(context.context_size);
    page.line(&format!(
        "The next request to {} has about {} of {} tokens ({} %).",
        context.model,
        grouped(context.tokens),
        grouped(size),
        context.tokens.saturating_mul(100) / size.max(1),
    ));
    if context.spent.requests > 0 {
        let spent = tokens_line(context.spent.usage, context.spent.cost.as_ref());
        page.line(&format!(
            "The session has used {} requests: {spent}.",
            grouped(context.spent.requests.into())
        ));
    }
    page.line("");
    let rows: Vec<[String; 5]> = std::iter::once(head()).chain(context.sections.iter().map(row)).collect();
    let widest = |column: usize| rows.iter().map(|row| cells(&row[column])).max().unwrap_or(0);
    let widths = [widest(0), widest(1), widest(2), widest(3)];
    for row in &rows {
        let [name, bytes, tokens, lifetime, source] = row;
        let gap = |text: &str, column: usize| " ".repeat(widths[column].saturating_sub(cells(text)));
        page.line(&format!(
            "{name}{}  {}{bytes}  {}{tokens}  {lifetime}{}  {source}",
            gap(name, 0),
            gap(bytes, 1),
            gap(tokens, 2),
            gap(lifetime, 3),
        ));
    }
    page.line("");
    let offered: Vec<&str> =
        context.tools.iter().filter(|tool| tool.hidden.is_none()).map(|tool| tool.name.as_str()).collect();
    page.line(&match offered[..] {
        [] => "Tools: none".to_owned(),
        _ => format!("Tools: {}", offered.join(", ")),
    });
    for tool in &context.tools {
        if let Some(why) = &tool.hidden {
            page.line(&format!("Not offered: {}, because {why}", tool.name));
        }
    }
    for section in &context.sections {
        if let Some(text) = &section.text {
            page.line("");
            page.line_in(Ink::Bold, &format!("--- {} ({})", section.name, section.source));
            page.block(text);
        }
    }
}

fn head() -> [String; 5] {
    ["PART", "BYTES", "TOKENS", "CHANGES", "FROM"].map(str::to_owned)
}

fn row(section: &ContextSection) -> [String; 5] {
    let lifetime = match section.lifetime {
        _ if section.off => "off",
        ContextLifetime::Version => "never",
        ContextLifetime::Session => "with the session",
        ContextLifetime::Run => "when a run begins",
        ContextLifetime::Grows => "grows",
        ContextLifetime::Turn => "every time",
    };
    let (name, source) = (one_line(&section.name, MAX_SHOWN), one_line(&section.source, MAX_SHOWN));
    [name, grouped(section.bytes), grouped(section.tokens), lifetime.to_owned(), source]
}

/// Returns a number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
